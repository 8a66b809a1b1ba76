"""Plain words of YAML and their meaning to Kubernetes, for all who read or write YAML: one table of what is no text.

Kubernetes reads with sigs.k8s.io/yaml 1.6 over goyaml v2 2.4: YAML 1.1 with its short booleans, Go's numbers (`0o17`,
`1_000`), and those of YAML 1.2 (`08` is 8, `1e3` is 1000); `=` and numbers to the base of sixty are text. A date is
text to its readers, and quoted by its writers. `tests/data/yaml` has its recorded answers.
"""

import math
import re
import struct
from typing import Any, Final

STR: Final = "tag:yaml.org,2002:str"
INT: Final = "tag:yaml.org,2002:int"
FLOAT: Final = "tag:yaml.org,2002:float"
BOOL: Final = "tag:yaml.org,2002:bool"
NULL: Final = "tag:yaml.org,2002:null"
TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"

_WORDS: Final[dict[str, tuple[str, Any]]] = {
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], (BOOL, True)),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], (BOOL, False)),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (NULL, None)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), (FLOAT, math.nan)),
    **{sign + word: (FLOAT, math.inf) for sign in ("", "+") for word in (".inf", ".Inf", ".INF")},
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), (FLOAT, -math.inf)),
}
_MAY_BE_NUMBER: Final = frozenset("+-.0123456789")
_INTEGER: Final = re.compile(
    r"(?P<sign>[+-]?)(?:0[bB](?P<binary>[01]+)|0[xX](?P<hex>[0-9a-fA-F]+)|0[oO]?(?P<octal>[0-7]+)|(?P<decimal>0|[1-9]\d*))",
    re.ASCII,
)
_BASES: Final = {"binary": 2, "hex": 16, "octal": 8, "decimal": 10}
_FLOAT: Final = re.compile(r"[+-]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][+-]?\d+)?", re.ASCII)
_DOTTED: Final = re.compile(r"\.\d+(?:_\d+)*(?:[eE][+-]?\d+(?:_\d+)*)?", re.ASCII)
_SIGNED_BINARY: Final = re.compile(r"0b([+-][01]+)")
_DATE: Final = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?:[Tt ]\s*\d.*)?", re.ASCII)
_SEXAGESIMAL: Final = re.compile(r"[+-]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?", re.ASCII)
_OF_OTHERS: Final = frozenset(("=", "<<"))
"""Words that are text to Kubernetes where they are values, and something else to YAML 1.1."""
_LIKE_NUMBERS: Final = re.compile(r"[+-]{2}|[+.-]_+$")
"""Beginnings of words, and words, that a reader of YAML 1.2 takes for a number, or fails on."""
_INFINITIES: Final = ("-.inf", ".inf")
_MOST_SINGLE: Final = (2 - 2**-23) * 2.0**127
_LEAST, _MOST, _EXACT = -(2**63), 2**64, 2**63
_MOST_DIGITS: Final = 80
"""Digits beyond which no number fits into 64 bits."""


def resolve(text: str) -> tuple[str, Any]:
    """Tag and value of a plain word."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _MAY_BE_NUMBER:
        return STR, text
    if _DATE.fullmatch(text):
        return TIMESTAMP, text
    if text[0] == "." and not _DOTTED.fullmatch(text):
        return STR, text
    plain = text.replace("_", "")
    whole = _integer(plain)
    if whole is not None:
        return INT, whole
    if _FLOAT.fullmatch(plain) and math.isfinite(number := float(plain)):
        return FLOAT, number
    return STR, text


def is_text(text: str) -> bool:
    """Tells whether a plain word is text to everybody: to Kubernetes, and to readers of YAML 1.1 and 1.2."""
    if resolve(text)[0] != STR or text in _OF_OTHERS or _SEXAGESIMAL.fullmatch(text):
        return False
    return not (_FLOAT.fullmatch(text.replace("_", "")) or _LIKE_NUMBERS.match(text))


def as_json(number: float) -> float:
    """Number as it is once it went through JSON, as all goes that Kubernetes reads: 8.0 is 8."""
    return int(number) if number.is_integer() and abs(number) < _EXACT else number


def key_of(value: Any) -> str:
    """Text of a key that is no text: JSON has no other keys. Raises: ValueError."""
    match value:
        case None:
            raise ValueError("unsupported map key of type: null")
        case bool():
            return "true" if value else "false"
        case int() if value >= _EXACT:
            raise ValueError("unsupported map key of type: uint64")
        case float():
            return _single(value)
        case _:
            return str(value)


def _single(number: float) -> str:
    """The shortest text of a number of 32 bits, as Go formats it: with an exponent below 1e-4 and from 1e+06 on."""
    if math.isnan(number):
        return ".nan"
    if abs(number) > _MOST_SINGLE:
        return _INFINITIES[number > 0]
    single = struct.pack("f", number)
    texts = (f"{struct.unpack('f', single)[0]:.{digits}e}" for digits in range(17))
    text = next(text for text in texts if struct.pack("f", float(text)) == single)
    digits, exponent = text.split("e")
    places = max(0, len(digits.partition(".")[2]) - int(exponent))
    return f"{float(text):.{places}f}" if -4 <= int(exponent) < 6 else text


def _integer(plain: str) -> int | None:
    if len(plain) > _MOST_DIGITS:
        return None
    if binary := _SIGNED_BINARY.fullmatch(plain):
        return int(binary[1], 2)
    found = _INTEGER.fullmatch(plain)
    if found is None or found.lastgroup is None:
        return None
    value = int(found["sign"] + found[found.lastgroup], _BASES[found.lastgroup])
    is_unsigned = value >= _EXACT and not found["sign"]
    return value if _LEAST <= value < _EXACT or (is_unsigned and value < _MOST) else None
