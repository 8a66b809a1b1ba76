"""Reading scalars of built-in kinds: texts, numbers, instants, bytes and quantities, as they are kept."""

import re
from typing import Any

from kubeapi import codec
from kubeapi.base64_text import read_base64, write_base64
from kubeapi.meta import exact_time, format_micro_time, format_time
from kubeapi.quantity import canonical_quantity
from kubeserver.registry.decoding_errors import DecodingError, Place
from kubeserver.serialization.json_text import json_name
from kubeserver.structures.structure import Structure

_SECONDS = "2006-01-02T15:04:05Z07:00"
_MICROSECONDS = "2006-01-02T15:04:05.000000Z07:00"
_CLOCK = (
    (r"\d{4}", "2006"), ("-", "-"), (r"(0[1-9]|1[0-2])", "01"), ("-", "-"), (r"\d\d", "02"), ("T", "T"),
    (r"\d\d?", "15"), (":", ":"), (r"\d\d", "04"), (":", ":"), (r"\d\d", "05"),
)  # fmt: skip
_DAY_AND_TIME = r"\d{4}-(0[1-9]|1[0-2])-\d\dT\d\d:\d\d:\d\d"
_AS_KEPT = {"time": re.compile(f"{_DAY_AND_TIME}Z"), "microtime": re.compile(rf"{_DAY_AND_TIME}\.\d{{6}}Z")}
_ZONE = (r"(Z|[+-]\d\d:\d\d)$", "Z07:00")
_QUANTITY = r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_INT_BITS = {"int32": 31, "int64": 63}


def read_scalar(structure: Structure, value: Any, place: Place) -> Any:
    """The value as it is kept. Raises: DecodingError."""
    match structure.type:
        case "string":
            return _of_type(isinstance(value, str), structure, value, place)
        case "bool":
            return _of_type(isinstance(value, bool), structure, value, place)
        case "int32" | "int64":
            return _of_type(_is_integer(value, _INT_BITS[structure.type]), structure, value, place)
        case "double":
            return _of_type(isinstance(value, int | float) and not isinstance(value, bool), structure, value, place)
        case "time" | "microtime":
            return _read_time(structure.type, value)
        case "bytes":
            return _read_bytes(_of_type(isinstance(value, str), structure, value, place))
        case "quantity":
            return _read_quantity(value)
        case _:
            whole = isinstance(value, int | str) and not isinstance(value, bool)
            return value if whole else _of_type(False, Structure("scalar", "int32"), value, place)


def _of_type(fits: bool, structure: Structure, value: Any, place: Place) -> Any:
    if not fits:
        is_number = structure.type in _INT_BITS and isinstance(value, int | float) and not isinstance(value, bool)
        got = f"number {codec.encode(value).decode()}" if is_number else ""
        raise place.wrong(value, structure, got)
    return value


def _is_integer(value: Any, bits: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << bits) <= value < 1 << bits


def _read_bytes(text: str) -> str:
    """The bytes as they are kept: in one line, however they were sent."""
    try:
        return write_base64(read_base64(text))
    except ValueError as error:
        raise DecodingError(str(error), f"error decoding from json: {error}") from None


def _read_quantity(value: Any) -> str:
    text = codec.encode(value).decode() if isinstance(value, int | float) and not isinstance(value, bool) else value
    try:
        return canonical_quantity(text.strip() if isinstance(text, str) else "")
    except ValueError:
        raise DecodingError(f"quantities must match the regular expression '{_QUANTITY}'") from None


def _read_time(kind: str, value: Any) -> str:
    if not isinstance(value, str):
        raise DecodingError(f"json: cannot unmarshal {json_name(value)} into Go value of type string")
    if _AS_KEPT[kind].fullmatch(value) and _is_instant(value):
        return value
    exact = kind == "microtime"
    fraction = (r"[.,]\d{6}", ".000000") if exact else (r"([.,]\d+)?", "")
    rest = value
    for pattern, part in (*_CLOCK, fraction, _ZONE):
        found = re.match(pattern, rest)
        if found is None:
            layout = _MICROSECONDS if exact else _SECONDS
            raise DecodingError(f'parsing time "{value}" as "{layout}": cannot parse "{rest}" as "{part}"')
        rest = rest[found.end() :]
    try:
        instant = exact_time(re.sub(r"(?<=T)(?=\d:)", "0", value))
        return format_micro_time(instant) if exact else format_time(instant)
    except (ValueError, OverflowError):
        raise DecodingError(f'parsing time "{value}": day out of range') from None


def _is_instant(text: str) -> bool:
    """Days and hours have an end: who reads it later relies on that."""
    try:
        exact_time(text)
    except ValueError:
        return False
    return True
