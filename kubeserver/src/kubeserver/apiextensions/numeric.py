"""Limits of numbers in schemas: `minimum`, `maximum`, `multipleOf`, and the formats of numbers.

Kubernetes: kube-openapi/pkg/validation/validate, values.go; the same answers. A whole number is compared with a limit
without its fraction: 1 is not below a `minimum` of 1.5, and is no multiple of 0.01. The type alone lets an integer be
off by a billionth of it. Differs: a limit beyond 64 bits stays one; on some processors it is the lowest number there.
"""

import math
import struct
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from kubeapi.status import Problem
from kubeserver.values import go_number

_LARGEST_EXACT = 2.0**53 - 1
_NEAR = 1e-9
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_INTEGERS: Mapping[str, tuple[int, int]] = {"int32": (-(2**31), 2**31 - 1), "int64": (_LOWEST, _HIGHEST)}


def is_whole(value: Any) -> bool:
    """Tells whether a number passes for an integer of 64 bits."""
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return _LOWEST <= value <= _HIGHEST
    return isinstance(value, float) and _is_nearly_whole(value)


def number_problems(raw: Mapping[str, Any], value: float, path: str) -> Iterator[Problem]:
    """Problems of a number; its type may be wrong as well."""
    if isinstance(value, int) and not is_whole(value):
        value = _float(value)
    yield from _range_problems(raw, value, "Checked", path)
    for name, said in (("maximum", "Maximum boundary"), ("minimum", "Minimum boundary"), ("multipleOf", "MultipleOf")):
        if raw.get(name) is None:
            continue
        limit = _float(raw[name])
        wrong = list(_range_problems(raw, limit, said, path))
        yield from wrong
        native = _without_fraction(limit) if isinstance(value, int) and not wrong else limit
        yield from _limit_problems(raw, name, value, native, path)


def _limit_problems(raw: Mapping[str, Any], name: str, value: float, limit: float, path: str) -> Iterator[Problem]:
    within = f"{path} in body should be"
    if name == "multipleOf":
        if isinstance(limit, int) and limit <= 0:
            said = f"factor MultipleOf declared for {path} must be positive: {limit}"
            yield _invalid(path, limit, said)
        elif not _is_multiple(value, limit):
            yield _invalid(path, value, f"{within} a multiple of {go_number(limit)}")
        return
    exclusive = raw.get("exclusiveMaximum" if name == "maximum" else "exclusiveMinimum")
    beyond = value > limit if name == "maximum" else value < limit
    if beyond or (exclusive and not (value < limit or value > limit)):
        than = ("less" if name == "maximum" else "greater") + " than" + ("" if exclusive else " or equal to")
        yield _invalid(path, value, f"{within} {than} {go_number(limit)}")


def _range_problems(raw: Mapping[str, Any], value: float, said: str, path: str) -> Iterator[Problem]:
    """Problem of a number, or of a limit, that its type and format have no room for."""
    kind, form = raw.get("type"), raw.get("format", "")
    if kind == "integer":
        low, high = _INTEGERS.get(form, (_LOWEST, _HIGHEST))
        fits = float(value).is_integer() and low <= Decimal(repr(value)) <= high
    else:
        fits = kind != "number" or form != "float" or _fits_32_bits(value)
    if not fits:
        of_format = f"with format {form}" if kind == "number" or form in _INTEGERS else "(default format)"
        yield Problem.invalid("", "", f"{said} value must be of type {kind} {of_format} in {path}")


def _fits_32_bits(value: float) -> bool:
    try:
        struct.pack("<f", value)
    except OverflowError:
        return False
    return True


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int) and isinstance(factor, int):
        return value % factor == 0
    return factor > 0 and _is_nearly_whole(1 / factor * value if factor < 1 else value / factor)


def _is_nearly_whole(value: float) -> bool:
    if not abs(value) <= _LARGEST_EXACT:
        return False
    nearest = math.floor(abs(value) + 0.5)
    return abs(abs(value) - nearest) < _NEAR * nearest or value == 0


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _without_fraction(limit: float) -> int:
    return int(max(_LOWEST, min(_HIGHEST, limit)))


def _invalid(path: str, value: float, message: str) -> Problem:
    return Problem(path, "FieldValueInvalid", f"Invalid value: {go_number(value)}: {message}")
