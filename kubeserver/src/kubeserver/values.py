"""Typed looks into plain JSON values, and whether a text is one."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from kubeapi.meta import Manifest

_DIGITS = 6
"""Digits before the point that Go writes of a float without an exponent."""
_SPECIAL = {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}


def section(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The mapping under `key`; an empty one, not part of `value`, where there is none."""
    return value.get(key) or {}


def entries(value: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """The list of mappings under `key`; empty where there is none."""
    return value.get(key) or []


def texts(value: Mapping[str, Any], key: str) -> list[str]:
    """The list of strings under `key`; empty where there is none."""
    return value.get(key) or []


def grown(value: Manifest, key: str) -> dict[str, Any]:
    """The mapping under `key`, which is put there when it is missing."""
    return value.setdefault(key, {})


def is_set(query: Mapping[str, str], name: str) -> bool:
    """Tells whether a parameter of a request says yes: it is there, and neither 0 nor false."""
    return name in query and query[name].lower() not in ("0", "false")


def holds(read: Callable[[str], Any]) -> Callable[[str], bool]:
    """Tells whether a text can be read: `read` raises ValueError for one that cannot."""

    def check(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return check


def go_number(number: float) -> str:
    """The number as Go writes it: of a float in its shortest form."""
    if isinstance(number, int) or repr(number) in _SPECIAL:
        return _SPECIAL.get(repr(number), str(number))
    decimal = Decimal(repr(number)).normalize()
    if decimal and not -5 < decimal.adjusted() < _DIGITS:
        _, digits, _ = decimal.as_tuple()
        fraction = "".join(map(str, digits[1:]))
        return f"{'-' * (number < 0)}{digits[0]}{'.' * bool(fraction)}{fraction}e{decimal.adjusted():+03}"
    return f"{decimal:f}"
