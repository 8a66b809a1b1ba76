"""Values that do not fit, told in the words of the JSON decoder of Kubernetes, which clients show to their users."""

from typing import Any

from kubeserver.serialization.json_text import json_name
from kubeserver.structures.structure import Structure

_GO_NAMES = {"double": "float64", "bytes": "[]uint8", "quantity": "resource.Quantity", "time": "v1.Time"}
_CONVERTIBLE = (("string", "int64"), ("int32", "float64"), ("int64", "float64"))
"""Types that Go can convert, but its converter does not; of others it knows nothing."""


class DecodingError(Exception):
    """A value has the wrong type; the message says where.

    `conversion` is what the same is called where no text is read: a strategic merge patch is applied to the object.
    """

    def __init__(self, message: str, conversion: str = "") -> None:
        super().__init__(message)
        self.conversion = conversion or message


class Place:
    """Place where the reader is: for messages (`owner`, `fields`), and for reports (`path`)."""

    __slots__ = ("fields", "owner", "path")

    def __init__(self, owner: str, fields: str, path: str) -> None:
        self.owner, self.fields, self.path = owner, fields, path

    def field(self, name: str, owner: str) -> "Place":
        return Place(owner, _joined(self.fields, name), _joined(self.path, name))

    def entry(self, name: str) -> "Place":
        return Place(self.owner, self.fields, _joined(self.path, name))

    def item(self, index: int) -> "Place":
        return Place(self.owner, self.fields, f"{self.path}[{index}]")

    def wrong(self, value: Any, structure: Structure, got: str = "") -> DecodingError:
        into = f"Go struct field {self.owner}.{self.fields}" if self.fields else "Go value"
        said = f"json: cannot unmarshal {got or json_name(value)} into {into} of type {go_type(structure)}"
        return DecodingError(said, _conversion(structure, value))


def go_type(structure: Structure) -> str:
    """The name of the type in Kubernetes' own source."""
    match structure.form:
        case "struct":
            return f"v1.{structure.type}"
        case "map":
            return f"map[string]{go_type(structure.item)}"
        case "list":
            return f"[]{go_type(structure.item)}"
        case _:
            return _GO_NAMES.get(structure.type, structure.type or "interface {}")


def _conversion(structure: Structure, value: Any) -> str:
    """Words of Go's converter when it is to make this type of that value."""
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
