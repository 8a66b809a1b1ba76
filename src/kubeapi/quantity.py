"""Kubernetes quantities: exact arithmetic on `100m`, `1.5Gi`, `3e2`, and their canonical text.

Source of the rules: apimachinery's `resource.Quantity`. Precision finer than a nano is rounded up, as there.
"""

import re
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Decimal, localcontext
from functools import lru_cache

Quantity = str | int | float
"""The wire form: text, or a bare JSON number."""

_BINARY = {"Ki": 1024, "Mi": 1024**2, "Gi": 1024**3, "Ti": 1024**4, "Pi": 1024**5, "Ei": 1024**6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_PATTERN = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+))(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d+)?$")
_NANO = Decimal("1e-9")
MAX_EXPONENT = 30
"""Greater exponents and amounts are cut to this: no machine has as much, and what is absurd must stay finite."""
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
    match = _PATTERN.match(text)
    if match is None:
        return None
    number, suffix = Decimal(match[1]), match[2] or ""
    with localcontext(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN):
        if suffix in _BINARY:
            amount = number * _BINARY[suffix]
        elif suffix in _DECIMAL:
            amount = number.scaleb(_DECIMAL[suffix])
        else:
            amount = number.scaleb(_exponent(suffix[1:]))
        amount = max(-_LARGEST, min(amount, _LARGEST))
        return amount.quantize(_NANO, rounding=ROUND_CEILING) if amount % _NANO else amount


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
    """The same amount as Kubernetes writes it, with suffixes of the same kind. Raises: ValueError."""
    return format_quantity(parse_quantity(quantity), is_binary(quantity))


def is_binary(quantity: Quantity) -> bool:
    """Tells whether the text uses a binary suffix, which sums of it should keep."""
    return str(quantity).endswith("i")
