"""Text that others have written, as it is shown to people: on a terminal, in a log, in a message.

A name may hold the codes that move a terminal's cursor, an end of a line that forges another one, or marks that turn
the direction of what follows. Here it is what it is: one line, in which all that is not to be seen is escaped.
"""

import unicodedata

MAX_SHOWN = 4096
"""Letters; longer text is cut, and says so."""
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_JOINERS = frozenset("\u200c\u200d")
"""Within words of some languages, and within emoji; they neither hide nor move anything."""


def shown(text: str, most: int = MAX_SHOWN) -> str:
    """`text` in one line: what cannot be seen is written as \\x1b or \\u202e, and what is too long is cut."""
    if len(text) > most:
        text = f"{text[: most - 3]}..."
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


def shown_lines(text: str, most: int = MAX_SHOWN) -> str:
    """The same for text of several lines, whose ends and tabs stay."""
    if len(text) > most:
        text = f"{text[: most - 3]}..."
    return "\n".join(shown(line.replace("\t", "    "), len(line) * 4) for line in text.split("\n"))


def _shown(letter: str) -> str:
    if letter == " " or letter in _JOINERS or unicodedata.category(letter) not in _UNSEEN | {"Zs"}:
        return letter
    if unicodedata.category(letter) == "Zs":
        return " "
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
