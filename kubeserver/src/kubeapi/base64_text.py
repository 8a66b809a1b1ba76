"""Bytes in JSON: base64, as Go reads it. Line ends count for nothing, so text that was wrapped is read, too."""

import base64
import re

_LINE_ENDS = re.compile(r"[\r\n]+")
_DATA = re.compile(r"[A-Za-z0-9+/]")


def read_base64(text: str) -> bytes:
    """Raises: ValueError in the words of Go's reader."""
    try:
        return base64.b64decode(_LINE_ENDS.sub("", text), validate=True)
    except ValueError:
        raise ValueError(f"illegal base64 data at input byte {_first_illegal(text)}") from None


def write_base64(data: bytes) -> str:
    """One line, as whoever reads it expects."""
    return base64.b64encode(data).decode()


def _first_illegal(text: str) -> int:
    """Index at which the text stops to be base64: at a foreign letter, at a wrong padding, or at its end."""
    letters = [(place, letter) for place, letter in enumerate(text) if letter not in "\r\n"]
    wrong = next((index for index, (_, letter) in enumerate(letters) if not _DATA.match(letter)), len(letters))
    if wrong == len(letters):
        return len(text) - wrong % 4
    place, letter = letters[wrong]
    if letter != "=" or wrong % 4 < 2:
        return place
    padded = wrong + 4 - wrong % 4
    missing = [where for where, sign in letters[wrong:padded] if sign != "="]
    if missing:
        return missing[0]
    return letters[padded][0] if padded < len(letters) else len(text)
