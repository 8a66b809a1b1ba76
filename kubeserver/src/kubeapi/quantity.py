"""Kubernetes quantities: exact arithmetic on `100m`, `1.5Gi`, `3e2`, and their canonical text.

Source of the rules: apimachinery's `resource.Quantity`. Precision finer than a nano is rounded up, as there.
"""

import re
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_UP, Decimal, localcontext
from functools import lru_cache

Quantity = str | int | float
"""The wire form: text, or a bare JSON number."""

_BINARY = {"Ki": 1024, "Mi": 1024**2, "Gi": 1024**3, "Ti": 1024**4, "Pi": 1024**5, "Ei": 1024**6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_PATTERN = re.compile(
    r"(?P<number>[+-]?0*+(?P<whole>\d*+)(?:\.(?P<part>\d*+))?)(?P<suffix>Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d+|)",
    re.ASCII,
)
_NANO = Decimal("1e-9")
MAX_EXPONENT = 30
"""Greater exponents and amounts are cut to this: no machine has as much, and what is absurd must stay finite."""
_LARGEST_BINARY = Decimal(2**63 - 1)
_MOST_DIGITS = 18
"""Digits that 64 bits surely hold; Kubernetes keeps the text of such a quantity where it is as short as can be."""
_LARGEST, _LONGEST_EXPONENT = Decimal(f"1e{MAX_EXPONENT}"), 10
LONGEST_REMEMBERED = 32
"""Most letters of the texts whose amount is remembered: a fleet has few different ones, and each is read again and
again."""


def parse_quantity(quantity: Quantity) -> Decimal:
    """The exact amount in the base unit. Raises: ValueError."""
    text = str(quantity)
    amount = _remembered(text) if len(text) <= LONGEST_REMEMBERED else _amount(text)
    if amount is None:
        raise ValueError(f"quantities must match a number with an optional suffix such as m, k, Mi or e3: {quantity!r}")
    return amount


def _amount(text: str) -> Decimal | None:
    """None for what is no quantity."""
    match = _PATTERN.fullmatch(text)
    if match is None or not text:
        return None
    digits, suffix = match["number"].rstrip("."), match["suffix"]
    number = Decimal(digits if digits.strip("+-.") else 0)
    with localcontext(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN):
        if suffix in _BINARY:
            amount = max(-_LARGEST_BINARY, min(number * _BINARY[suffix], _LARGEST_BINARY))
        elif suffix in _DECIMAL:
            amount = number.scaleb(_DECIMAL[suffix])
        else:
            amount = number.scaleb(_exponent(suffix[1:]))
        amount = max(-_LARGEST, min(amount, _LARGEST))
        return amount.quantize(_NANO, rounding=ROUND_UP) if amount % _NANO else amount


def _exponent(text: str) -> int:
    if len(text) > _LONGEST_EXPONENT:
        return -MAX_EXPONENT if text.startswith("-") else MAX_EXPONENT
    return max(-MAX_EXPONENT, min(int(text), MAX_EXPONENT))


_remembered = lru_cache(maxsize=4096)(_amount)


def whole(quantity: Quantity) -> int:
    """The amount in units, rounded up (`Quantity.Value()`)."""
    return int(parse_quantity(quantity).to_integral_value(rounding=ROUND_CEILING))


def milli(quantity: Quantity) -> int:
    """The amount in thousandths, rounded up (`Quantity.MilliValue()`)."""
    return int((parse_quantity(quantity) * 1000).to_integral_value(rounding=ROUND_CEILING))


def format_quantity(amount: Decimal, binary: bool = False) -> str:
    """Canonical text: the largest suffix that leaves a whole number. `binary` prefers Ki, Mi, ... where they divide."""
    if amount == 0:
        return "0"
    if binary and amount == amount.to_integral_value() and abs(amount) >= 1024:
        units = int(amount)
        suffix = next((s for s, size in reversed(_BINARY.items()) if units % size == 0), "")
        return f"{units // _BINARY[suffix]}{suffix}" if suffix else str(units)
    for suffix, exponent in reversed(_DECIMAL.items()):
        scaled = amount.scaleb(-exponent)
        if scaled == scaled.to_integral_value():
            return f"{int(scaled)}{suffix}"
    return f"{int(amount.scaleb(9).to_integral_value(rounding=ROUND_CEILING))}n"


def canonical_quantity(quantity: Quantity) -> str:
    """The same amount as Kubernetes writes it, with suffixes of the same kind. Raises: ValueError.

    A text without a shorter one stays as it is: `1e3`, `+1`, `69.329k`.
    """
    amount, text = parse_quantity(quantity), str(quantity)
    match = _PATTERN.fullmatch(text)
    if match is None or not amount:
        return "0"
    whole_part, fraction, suffix = match["whole"], match["part"] or "", match["suffix"]
    digits = whole_part + fraction
    if suffix in _BINARY:
        room = _MOST_DIGITS - 4 - 3 * (1 + list(_BINARY).index(suffix))
        if not fraction and len(digits) <= room and int(digits) % 8:
            return text
        return format_quantity(amount, binary=True)
    exponent = _DECIMAL[suffix] if suffix in _DECIMAL else _exponent(suffix[1:])
    scale = exponent - len(fraction)
    if whole_part and len(digits) <= _MOST_DIGITS and scale >= -9 and scale % 3 == 0 and digits[-3:] != "000":
        return text
    return format_quantity(amount) if suffix in _DECIMAL else _with_exponent(amount)


def format_like(text: str, amount: Decimal) -> str:
    """Canonical text of an amount, with suffixes of the kind that another text has."""
    match = _PATTERN.fullmatch(text)
    if match is not None and match["suffix"] not in (*_BINARY, *_DECIMAL):
        return _with_exponent(amount) if amount else "0"
    return format_quantity(amount, is_binary(text))


def _with_exponent(amount: Decimal) -> str:
    exponent = (amount.normalize().adjusted() // 3) * 3
    while amount.scaleb(-exponent) % 1:
        exponent -= 3
    return f"{int(amount.scaleb(-exponent))}" + (f"e{exponent}" if exponent else "")


def is_binary(quantity: Quantity) -> bool:
    """Tells whether the text uses a binary suffix, which sums of it should keep."""
    return str(quantity).endswith("i")
