"""The structures of kinds as OpenAPI schemas: one definition for each struct, which refer to each other.

Written in two dialects: version 3, where a reference with anything beside it must stand in `allOf`, and version 2,
which has no alternatives.

Never says how a list is merged by a strategic patch: only which lists are maps, sets or atoms.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from leeward.apiserver.kinds.kind import Kind
from leeward.apiserver.kinds.structures import package_of, required_of, structure_of
from leeward.apiserver.structure import Structure
from leeward.apiserver.values import section

META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
TIME = "io.k8s.apimachinery.pkg.apis.meta.v1.Time"
MICRO_TIME = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime"
V2, V3 = "#/definitions/", "#/components/schemas/"

_SCALARS: Mapping[str, Mapping[str, str]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "double": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
}
_NAMED = {"quantity": QUANTITY, "intstr": INT_OR_STRING, "time": TIME, "microtime": MICRO_TIME}
_DATE_TIME = {"type": "string", "format": "date-time"}
_DESCRIPTIONS = {
    "apiVersion": "The version of the object's schema.",
    "kind": "What the object represents.",
    "metadata": "Standard object's metadata.",
    "spec": "What is wanted.",
    "status": "What was last observed.",
}


def definition_name(kind: Kind) -> str:
    """The name of the kind's schema: the group backwards, version, kind."""
    if not kind.custom:
        return f"{_package(kind)}.{kind.kind}"
    return ".".join([*reversed(kind.group.split(".")), kind.version, kind.kind])


def identity(kind: Kind) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def definitions(kinds: Iterable[Kind], prefix: str) -> dict[str, Any]:
    """All that the schemas of `kinds` are made of, by name. `prefix` is V2 or V3."""
    writer = _Definitions(prefix)
    for kind in kinds:
        writer.add(kind)
    return writer.found


def _package(kind: Kind) -> str:
    return f"io.k8s.api.{kind.group.partition('.')[0] or 'core'}.{kind.version}"


@dataclass
class _Definitions:
    prefix: str
    found: dict[str, Any] = field(default_factory=dict[str, Any])

    def add(self, kind: Kind) -> None:
        wire = dict(kind.schema.wire()) if kind.schema is not None else self._struct(kind.structure, _package(kind))
        common = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": self._meta()}
        properties = {**section(wire, "properties"), **common}
        wire["properties"] = {name: self._described(name, schema) for name, schema in properties.items()}
        self.found[definition_name(kind)] = {**wire, "x-kubernetes-group-version-kind": [identity(kind)]}

    def _meta(self) -> dict[str, Any]:
        meta = structure_of("ObjectMeta")
        assert meta is not None
        return self._refer(META, meta, "")

    def _described(self, name: str, schema: dict[str, Any]) -> dict[str, Any]:
        text = _DESCRIPTIONS.get(name)
        if text is None or "description" in schema:
            return schema
        if "$ref" in schema and self.prefix == V3:
            return {"allOf": [schema], "description": text}
        return {**schema, "description": text}

    def _struct(self, structure: Structure, package: str) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "object"}
        if structure.fields:
            schema["properties"] = {name: self._schema(child, package) for name, child in structure.fields.items()}
        if required := required_of(structure.type):
            schema["required"] = list(required)
        if structure.atomic:
            schema["x-kubernetes-map-type"] = "atomic"
        return schema

    def _schema(self, structure: Structure, package: str) -> dict[str, Any]:
        match structure.form:
            case "struct":
                package = package_of(structure.type) or package
                return self._refer(f"{package}.{structure.type}", structure, package)
            case "map":
                atomic = {"x-kubernetes-map-type": "atomic"} if structure.atomic else {}
                return {"type": "object", "additionalProperties": self._schema(structure.item, package), **atomic}
            case "list":
                return {"type": "array", "items": self._schema(structure.item, package), **_list_type(structure)}
            case "any":
                return {"description": "Any value.", "x-kubernetes-preserve-unknown-fields": True}
            case _:
                return self._scalar(structure.type)

    def _scalar(self, name: str) -> dict[str, Any]:
        if name not in _NAMED:
            return dict(_SCALARS[name])
        self.found.setdefault(_NAMED[name], self._named(name))
        return {"$ref": self.prefix + _NAMED[name]}

    def _named(self, name: str) -> dict[str, Any]:
        if name in ("time", "microtime"):
            return dict(_DATE_TIME)
        mark = {"format": "int-or-string"} if name == "intstr" else {}
        if self.prefix == V2:
            return {"type": "string", **mark}
        other = "integer" if name == "intstr" else "number"
        return {"oneOf": [{"type": other}, {"type": "string"}], **mark}

    def _refer(self, name: str, structure: Structure, package: str) -> dict[str, Any]:
        if name not in self.found:
            self.found[name] = {}
            self.found[name] = self._struct(structure, package)
        return {"$ref": self.prefix + name}


def _list_type(structure: Structure) -> dict[str, Any]:
    if structure.atomic:
        return {"x-kubernetes-list-type": "atomic"}
    if not structure.keys:
        return {"x-kubernetes-list-type": "set"}
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(structure.keys)}
