"""Embedded resources: places of a schema at which a custom object carries another object.

Such an object has an apiVersion and a kind, and metadata as all objects have.
Kubernetes: apiextensions-apiserver/pkg/apiserver/schema/objectmeta; the same rules. Differs: what is as it was is let
be.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from kubeapi.diff import is_equal
from kubeapi.status import Problem
from kubeserver import names
from kubeserver.apiextensions.node import Node
from kubeserver.kinds.label_selectors import label_problems
from kubeserver.kinds.metadata import annotation_problems
from kubeserver.values import section


class Embedded(NamedTuple):
    path: str
    resource: dict[str, Any]


def embedded_resources(node: Node, value: Any, path: str = "") -> Iterator[Embedded]:
    """All embedded resources at and below `path`."""
    if not node.holds_embedded:
        return
    if isinstance(value, dict):
        mapping = cast(dict[str, Any], value)
        if node.embedded:
            yield Embedded(path, mapping)
        for name, item in mapping.items():
            child = node.properties.get(name) or node.additional
            if child is not None:
                yield from embedded_resources(child, item, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and node.items is not None:
        for index, item in enumerate(cast(list[Any], value)):
            yield from embedded_resources(node.items, item, f"{path}[{index}]")


def embedded_problems(node: Node, value: Any, old: Any) -> Iterator[Problem]:
    if not node.holds_embedded:
        return
    before: dict[str, dict[str, Any]] = dict(embedded_resources(node, old))
    for path, resource in embedded_resources(node, value):
        if not is_equal(resource, before.get(path)):
            yield from _type_problems(path, resource)
            yield from _metadata_problems(f"{path}.metadata", section(resource, "metadata"))


def _type_problems(path: str, resource: Mapping[str, Any]) -> Iterator[Problem]:
    version, kind = (resource.get(name) for name in ("apiVersion", "kind"))
    for name, text in (("apiVersion", version), ("kind", kind)):
        if not text:
            yield Problem.required(f"{path}.{name}")
        elif not isinstance(text, str):
            yield Problem.invalid(f"{path}.{name}", text, "must be a string")
    if isinstance(version, str) and version.count("/") > 1:
        yield Problem.invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    if isinstance(kind, str) and kind:
        for said in names.dns_1035_label(kind.lower()):
            yield Problem.invalid(f"{path}.kind", kind, f"may have mixed case, but should otherwise match: {said}")


def _metadata_problems(path: str, metadata: Mapping[str, Any]) -> Iterator[Problem]:
    for said in names.path_segment(metadata.get("name", "")):
        yield Problem.invalid(f"{path}.name", metadata["name"], said)
    yield from label_problems(section(metadata, "labels"), f"{path}.labels")
    yield from annotation_problems(section(metadata, "annotations"), f"{path}.annotations")
