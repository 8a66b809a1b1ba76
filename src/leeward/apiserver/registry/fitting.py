"""Reading an object of a built-in kind as its structure: unknown fields go, and types must be right.

For built-in kinds null is the same as absent, so it goes, too, and so does an empty value where it says no more. In
lists and maps, null is the empty value of their type.

What does not fit is told in the words of the JSON decoder of Kubernetes, which clients show to their users.
"""

import base64
import re
from collections.abc import Iterator
from typing import Any, cast

from leeward.api import codec
from leeward.api.meta import format_time, parse_time
from leeward.apiserver.forms.json_text import json_name
from leeward.apiserver.structure import Structure, empty

_SECONDS = "2006-01-02T15:04:05Z07:00"
_MICROSECONDS = "2006-01-02T15:04:05.000000Z07:00"
_CLOCK = (
    (r"\d{4}", "2006"), ("-", "-"), (r"(0[1-9]|1[0-2])", "01"), ("-", "-"), (r"\d\d", "02"), ("T", "T"),
    (r"\d\d", "15"), (":", ":"), (r"\d\d", "04"), (":", ":"), (r"\d\d", "05"),
)  # fmt: skip
_WHOLE_SECONDS = re.compile(r"\d{4}-(0[1-9]|1[0-2])-\d\dT\d\d:\d\d:\d\dZ")
_NULL = b"null"
_ZONE = (r"(Z|[+-]\d\d:\d\d)$", "Z07:00")
_QUANTITY = r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_INT_BITS = {"int32": 31, "int64": 63}
_GO_NAMES = {"double": "float64", "bytes": "[]uint8", "quantity": "resource.Quantity", "time": "v1.Time"}
_AT_ONCE = {"string": str, "bool": bool, "double": float}
_PACKAGES = "v1"
_CONVERTIBLE = (("string", "int64"), ("int32", "float64"), ("int64", "float64"))
"""Types that Go can convert, but its converter does not; of others it knows nothing."""


class Misfit(Exception):
    """A value has the wrong type; the message says where.

    `conversion` is what the same is called where no text is read: a strategic merge patch is applied to the object.
    """

    def __init__(self, message: str, conversion: str = "") -> None:
        super().__init__(message)
        self.conversion = conversion or message


def fit(structure: Structure, value: Any, known: Any = None) -> list[str]:
    """Drops unknown fields and nulls from `value` in place; returns the paths of the former, in the order of the text.

    `known` is a value of the structure that fits: what `value` has from there, as the same objects, is not looked at.
    Raises: Misfit.
    """
    return list(_fit(structure, value, _Place(structure.type, "", ""), known))


class _Place:
    """Where the reader is: for messages (`owner`, `fields`), and for reports (`path`)."""

    __slots__ = ("fields", "owner", "path")

    def __init__(self, owner: str, fields: str, path: str) -> None:
        self.owner, self.fields, self.path = owner, fields, path

    def field(self, name: str, owner: str) -> "_Place":
        return _Place(owner, _joined(self.fields, name), _joined(self.path, name))

    def entry(self, name: str) -> "_Place":
        return _Place(self.owner, self.fields, _joined(self.path, name))

    def item(self, index: int) -> "_Place":
        return _Place(self.owner, self.fields, f"{self.path}[{index}]")

    def wrong(self, value: Any, structure: Structure, got: str = "") -> Misfit:
        into = f"Go struct field {self.owner}.{self.fields}" if self.fields else "Go value"
        said = f"json: cannot unmarshal {got or json_name(value)} into {into} of type {go_type(structure)}"
        return Misfit(said, _conversion(structure, value))


def go_type(structure: Structure) -> str:
    """The name of the type in Kubernetes' own source."""
    match structure.form:
        case "struct":
            return f"{_PACKAGES}.{structure.type}"
        case "map":
            return f"map[string]{go_type(structure.item)}"
        case "list":
            return f"[]{go_type(structure.item)}"
        case _:
            return _GO_NAMES.get(structure.type, structure.type or "interface {}")


def _fit(structure: Structure, value: Any, place: _Place, known: Any) -> Iterator[str]:
    match structure.form:
        case "any":
            if _NULL in codec.encode(value):
                _drop_nulls(value)
        case "list":
            yield from _fit_list(structure, value, place)
        case "scalar":
            _check_scalar(structure, value, place)
        case _:
            yield from _fit_map(structure, value, place, known)


def _fit_list(structure: Structure, value: Any, place: _Place) -> Iterator[str]:
    if not isinstance(value, list):
        raise place.wrong(value, structure)
    items = cast(list[Any], value)
    for index, item in enumerate(items):
        if item is None:
            items[index] = empty(structure.item)
        elif not _fits_at_once(structure.item, item):
            yield from _fit_child(items, index, structure.item, place.item(index), None)


def _fit_map(structure: Structure, value: Any, place: _Place, known: Any) -> Iterator[str]:
    if not isinstance(value, dict):
        raise place.wrong(value, structure)
    mapping = cast(dict[str, Any], value)
    before = cast(dict[str, Any], known) if isinstance(known, dict) else {}
    for name, item in list(mapping.items()):
        if item is not None and item is before.get(name):
            continue
        child = structure.child(name)
        if child is not None and _fits_at_once(child, item) and (item or name not in structure.silent):
            continue
        declared = structure.form == "struct"
        where = place.field(name, structure.type) if declared else place.entry(name)
        if child is None:
            del mapping[name]
            yield where.path
        elif item is None:
            _fit_null(structure, mapping, name)
        else:
            yield from _fit_child(mapping, name, child, where, before.get(name))
            _fit_empty(structure, mapping, name)


def _fit_null(structure: Structure, mapping: dict[str, Any], name: str) -> None:
    if structure.form == "map":
        mapping[name] = empty(structure.item)
    else:
        del mapping[name]


def _fit_empty(structure: Structure, mapping: dict[str, Any], name: str) -> None:
    if mapping[name] or mapping[name] is None:
        return
    if name in structure.silent:
        del mapping[name]
    elif mapping[name] == [] and name in structure.always:
        mapping[name] = None


def _fits_at_once(structure: Structure, value: Any) -> bool:
    """Whether it is a scalar that needs no second look, as most values are."""
    return structure.form == "scalar" and type(value) is _AT_ONCE.get(structure.type)


def _drop_nulls(value: Any) -> None:
    if isinstance(value, dict):
        mapping = cast(dict[str, Any], value)
        for key in [key for key, item in mapping.items() if item is None]:
            del mapping[key]
        for item in mapping.values():
            _drop_nulls(item)
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            _drop_nulls(item)


def _fit_child(owner: Any, key: Any, child: Structure, place: _Place, known: Any) -> Iterator[str]:
    if child.form == "scalar":
        owner[key] = _read_scalar(child, owner[key], place)
    else:
        yield from _fit(child, owner[key], place, known)


def _check_scalar(structure: Structure, value: Any, place: _Place) -> None:
    _read_scalar(structure, value, place)


def _read_scalar(structure: Structure, value: Any, place: _Place) -> Any:
    """The value as it is kept. Raises: Misfit."""
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


def _of_type(fits: bool, structure: Structure, value: Any, place: _Place) -> Any:
    if not fits:
        is_number = structure.type in _INT_BITS and isinstance(value, int | float) and not isinstance(value, bool)
        got = f"number {codec.encode(value).decode()}" if is_number else ""
        raise place.wrong(value, structure, got)
    return value


def _is_integer(value: Any, bits: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << bits) <= value < 1 << bits


def _read_bytes(text: str) -> str:
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        said = f"illegal base64 data at input byte {_first_illegal(text)}"
        raise Misfit(said, f"error decoding from json: {said}") from None
    return text


def _first_illegal(text: str) -> int:
    """Where the text stops to be base64: at a foreign letter, at a wrong padding, or at its end."""
    found = re.search(r"[^A-Za-z0-9+/\n\r]", text)
    if found is None:
        return len(text) - len(text) % 4
    return found.start()


def _read_quantity(value: Any) -> str:
    text = codec.encode(value).decode() if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not re.fullmatch(_QUANTITY, text):
        raise Misfit(f"quantities must match the regular expression '{_QUANTITY}'")
    return text


def _read_time(kind: str, value: Any) -> str:
    if not isinstance(value, str):
        raise Misfit(f"json: cannot unmarshal {json_name(value)} into Go value of type string")
    exact = kind == "microtime"
    if not exact and _WHOLE_SECONDS.fullmatch(value) and _is_instant(value):
        return value
    fraction = (r"\.\d{6}", ".000000") if exact else (r"(\.\d+)?", "")
    rest = value
    for pattern, part in (*_CLOCK, fraction, _ZONE):
        found = re.match(pattern, rest)
        if found is None:
            layout = _MICROSECONDS if exact else _SECONDS
            raise Misfit(f'parsing time "{value}" as "{layout}": cannot parse "{rest}" as "{part}"')
        rest = rest[found.end() :]
    try:
        instant = parse_time(value)
        return value if exact or (value.endswith("Z") and "." not in value) else format_time(instant)
    except (ValueError, OverflowError):
        raise Misfit(f'parsing time "{value}": day out of range') from None


def _is_instant(text: str) -> bool:
    """Days and hours have an end: who reads it later relies on that."""
    try:
        parse_time(text)
    except ValueError:
        return False
    return True


def _conversion(structure: Structure, value: Any) -> str:
    """What Go's converter says when it is to make this type of that value."""
    kind = _go_kind(value)
    match structure.form:
        case "struct":
            return f"cannot restore struct from: {kind}"
        case "map" | "list":
            return f"cannot restore {'map' if structure.form == 'map' else 'slice'} from {kind}"
        case _:
            convertible = (structure.type, kind) in _CONVERTIBLE
            return (
                f"cannot convert {kind} to {structure.type}" if convertible else f"unrecognized type: {structure.type}"
            )


def _go_kind(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return "int64"
        case float():
            return "float64"
        case str():
            return "string"
        case _:
            return "map" if isinstance(value, dict) else "slice"


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
