"""Structure of a custom kind, from its compiled schema: server-side apply walks along it."""

from kubeserver.apiextensions.node import Node
from kubeserver.structures.builtin import structure_of
from kubeserver.structures.structure import ANY, Structure
from kubeserver.values import texts

_ROOT = ("apiVersion", "kind")


def structure_of_schema(root: Node, kind: str) -> Structure:
    """A custom kind as a whole: its schema, with Kubernetes' own metadata."""
    structure = _structure(root)
    structure.type = kind
    if structure is ANY or structure.form != "struct":
        structure = Structure("struct", kind, free=True)
    return _with_metadata(structure)


def _with_metadata(structure: Structure) -> Structure:
    metadata = structure_of("ObjectMeta")
    assert metadata is not None
    scalars = {name: Structure("scalar", "string") for name in _ROOT}
    structure.fields = {**structure.fields, **scalars, "metadata": metadata}
    return structure


def _structure(node: Node) -> Structure:
    raw = node.raw
    default = node.default if node.has_default else None
    if raw.get("x-kubernetes-int-or-string"):
        return Structure("scalar", "intstr", default=default)
    match raw.get("type", ""):
        case "object":
            return _object(node)
        case "array":
            list_type = raw.get("x-kubernetes-list-type", "atomic")
            keys = tuple(texts(raw, "x-kubernetes-list-map-keys")) if list_type == "map" else ()
            element = _structure(node.items) if node.items is not None else ANY
            return Structure("list", element=element, atomic=list_type == "atomic", keys=keys)
        case "":
            return Structure("any")
        case scalar:
            return Structure("scalar", scalar, default=default)


def _object(node: Node) -> Structure:
    atomic = node.raw.get("x-kubernetes-map-type") == "atomic"
    if node.additional is not None:
        return Structure("map", element=_structure(node.additional), atomic=atomic)
    fields = {name: _structure(child) for name, child in node.properties.items()}
    structure = Structure("struct", fields=fields, atomic=atomic, free=node.preserves)
    return _with_metadata(structure) if node.embedded else structure
