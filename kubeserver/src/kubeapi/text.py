"""Text that others have written, as it is shown to people: on a terminal, in a log, in a message.

A name may hold the codes that move a terminal's cursor, an end of a line that forges another one, or marks that turn
the direction of what follows. Here it is what it is: one line, in which all that is not to be seen is escaped.
"""

import unicodedata

MAX_SHOWN = 4096
"""Letters of one text; a longer one is cut, and says so."""
MAX_LINE = 16 * 1024
MAX_MARKS = 4
"""Accents on one letter; more of them are drawn over the lines around."""
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_MARKS = frozenset(("Mn", "Me"))


def shown(text: str, most: int = MAX_SHOWN) -> str:
    r"""`text` in one line: what cannot be seen is written as \x1b or \u202e, and what is too long is cut."""
    text = _cut(text, most)
    if text.isascii() and text.isprintable():
        return text
    letters: list[str] = []
    marks = 0
    for letter in text:
        category = unicodedata.category(letter)
        marks = marks + 1 if category in _MARKS else 0
        letters.append(escaped(letter) if category in _UNSEEN or marks > MAX_MARKS else letter)
    return _cut("".join(letters), most)


def shown_lines(text: str) -> str:
    """Text of several lines made fit for a terminal; the ends of its lines stay."""
    return "\n".join(shown(line, MAX_LINE) for line in text.split("\n"))


def shortened(text: str, most: int) -> str:
    """`text` of at most so many letters: of a longer one the beginning and the end, and how long it is."""
    if len(text) <= most:
        return text
    told = f"… ({len(text)} characters) …"
    left = most - len(told)
    return f"{text[: left - left // 4]}{told}{text[len(text) - left // 4 :]}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def escaped(letter: str) -> str:
    r"""Letter as Python writes it: \n, \x1b, \u202e."""
    return letter.encode("unicode_escape").decode()
