"""The structures of kinds as OpenAPI schemas: one definition for each struct, which refer to each other.

What the types and their fields mean, and which must be given, stands in Kubernetes' documents (`documentation.py`).

Written in two dialects: version 3, where a reference with anything beside it must stand in `allOf`, and version 2,
which has no alternatives.

Never says how a list is merged by a strategic patch: only which lists are maps, sets or atoms.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubeserver.discovery.documentation import documentation_of
from kubeserver.kinds.kind import Kind
from kubeserver.structures.builtin import package_of, published_name, structure_of
from kubeserver.structures.structure import Structure
from kubeserver.values import section

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
_ANY_OBJECT = "io.k8s.api.core.v1.ConfigMap"
_PACKAGES = {
    "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    "apiregistration.k8s.io": "io.k8s.kube-aggregator.pkg.apis.apiregistration",
}
"""Packages of the groups that have APIs of their own; all others are together."""


def definition_name(kind: Kind) -> str:
    """The name of the kind's schema: the group backwards, version, kind."""
    if not kind.custom:
        return f"{_package(kind)}.{kind.kind}"
    return ".".join([*reversed(kind.group.split(".")), kind.version, kind.kind])


def identity(kind: Kind) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def definitions(kinds: Iterable[Kind], prefix: str) -> dict[str, Any]:
    """Definitions of all types that the schemas of `kinds` are made of, by name. `prefix` is V2 or V3."""
    writer = _Definitions(prefix)
    for kind in kinds:
        writer.add(kind)
    return writer.found


def _package(kind: Kind) -> str:
    package = _PACKAGES.get(kind.group) or f"io.k8s.api.{kind.group.partition('.')[0] or 'core'}"
    return f"{package}.{kind.version}"


@dataclass
class _Definitions:
    prefix: str
    found: dict[str, Any] = field(default_factory=dict[str, Any])

    def add(self, kind: Kind) -> None:
        name = definition_name(kind)
        wire = dict(kind.schema.wire()) if kind.schema is not None else self._struct(kind.structure, name)
        texts = documentation_of(_ANY_OBJECT).fields
        common = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": self._meta()}
        common = {name: self._described(schema, texts[name]) for name, schema in common.items()}
        wire["properties"] = {**section(wire, "properties"), **common}
        self.found[name] = {**wire, "x-kubernetes-group-version-kind": [identity(kind)]}

    def _meta(self) -> dict[str, Any]:
        meta = structure_of("ObjectMeta")
        assert meta is not None
        return self._refer(META, meta)

    def _described(self, schema: dict[str, Any], text: str) -> dict[str, Any]:
        if not text:
            return schema
        if "$ref" in schema and self.prefix == V3:
            return {"allOf": [schema], "description": text}
        return {**schema, "description": text}

    def _struct(self, structure: Structure, name: str) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "object"}
        package, documentation = name.rpartition(".")[0], documentation_of(name)
        if documentation.text:
            schema["description"] = documentation.text
        if structure.fields:
            schema["properties"] = {
                field: self._described(self._schema(child, package), documentation.fields.get(field, ""))
                for field, child in structure.fields.items()
            }
        if documentation.required:
            schema["required"] = list(documentation.required)
        if structure.atomic:
            schema["x-kubernetes-map-type"] = "atomic"
        return schema

    def _schema(self, structure: Structure, package: str) -> dict[str, Any]:
        match structure.form:
            case "struct":
                home = package_of(structure.type) or package
                return self._refer(f"{home}.{published_name(structure.type)}", structure)
            case "map":
                atomic = {"x-kubernetes-map-type": "atomic"} if structure.atomic else {}
                return {"type": "object", "additionalProperties": self._schema(structure.item, package), **atomic}
            case "list":
                return {"type": "array", "items": self._schema(structure.item, package), **_list_type(structure)}
            case "any":
                return {"x-kubernetes-preserve-unknown-fields": True}
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

    def _refer(self, name: str, structure: Structure) -> dict[str, Any]:
        if name not in self.found:
            self.found[name] = {}
            self.found[name] = self._struct(structure, name)
        return {"$ref": self.prefix + name}


def _list_type(structure: Structure) -> dict[str, Any]:
    if structure.atomic:
        return {"x-kubernetes-list-type": "atomic"}
    if not structure.keys:
        return {"x-kubernetes-list-type": "set"}
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(structure.keys)}
