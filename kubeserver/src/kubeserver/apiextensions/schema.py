"""Structural schemas: pruning, defaulting and checking of custom objects, compiled once per version.

Unknown fields go, defaults come, and `checks.py`
says what is wrong with the rest. Values below `x-kubernetes-preserve-unknown-fields` stay as they are, and those of an
embedded resource keep their apiVersion, kind and metadata.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from kubeapi import codec
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.status import Problem
from kubeserver.apiextensions.checks import NOWHERE, below, check
from kubeserver.apiextensions.embedded import embedded_problems, embedded_resources
from kubeserver.apiextensions.node import Node, compile_schema
from kubeserver.apiextensions.old_values import ABSENT
from kubeserver.apiextensions.rules import check_rules, has_rules
from kubeserver.apiextensions.structure import structure_of_schema
from kubeserver.structures.structure import Structure
from kubeserver.values import section

_TYPE_FIELDS = ("apiVersion", "kind", "metadata")
_NAMES = ("name", "generateName")
_BLOCKING = frozenset(f"FieldValue{kind}" for kind in ("NotSupported", "Required", "TooLong", "TooMany", "TypeInvalid"))
_UNASKED = Problem.invalid(
    NOWHERE,
    None,
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation",
)


class StructuralSchema:
    """The schema of one version of a custom kind."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._root = compile_schema(raw)
        self._has_rules = has_rules(self._root)

    def unknown_fields(self, manifest: ReadOnlyManifest) -> list[str]:
        found = list(_prune_object(self._root, cast(Manifest, manifest), "", root=True, drop=False))
        return sorted(found)

    def embedded_resources(self, manifest: Manifest) -> list[tuple[str, dict[str, Any]]]:
        return list(embedded_resources(self._root, manifest))

    def prune(self, manifest: Manifest) -> None:
        for _ in _prune_object(self._root, manifest, "", root=True, drop=True):
            pass

    def default(self, manifest: Manifest) -> None:
        nulls = b"null" in codec.encode(manifest)
        if nulls or self._root.fills:
            _default_object(self._root, manifest, nulls, root=True)

    def validate(self, manifest: ReadOnlyManifest, old: ReadOnlyManifest | None) -> list[Problem]:
        """The schema holds for the object as a whole: it may require `metadata`, and restrict its name."""
        before = ABSENT if old is None else old
        return [*below("", check(self._root, manifest, before)), *embedded_problems(self._root, manifest, before)]

    def judge(
        self, manifest: ReadOnlyManifest, old: ReadOnlyManifest | None, found: Sequence[Problem]
    ) -> list[Problem]:
        """Problems that the rules find; only that they were not asked where what was `found` does not let them be."""
        if not self._has_rules:
            return []
        if any(problem.kind in _BLOCKING for problem in found):
            return [_UNASKED]
        before = ABSENT if old is None else _seen_by_rules(old)
        return list(check_rules(self._root, _seen_by_rules(manifest), before))

    def validate_status(self, manifest: ReadOnlyManifest, old: ReadOnlyManifest | None) -> list[Problem]:
        """Messages name fields from the status on, as kube-apiserver's do."""
        node = self._root.properties.get("status")
        if node is None or "status" not in manifest:
            return []
        before = ABSENT if old is None else old.get("status", ABSENT)
        return below("status", check(node, manifest["status"], before))

    def wire(self) -> Mapping[str, Any]:
        return self._root.raw

    def structure(self, kind: str) -> Structure:
        return structure_of_schema(self._root, kind)


def prune_value(node: Node, value: Any) -> None:
    """Takes away what the schema does not know."""
    for _ in _prune(node, value, "", drop=True):
        pass


def _seen_by_rules(manifest: ReadOnlyManifest) -> Manifest:
    """The object as rules see it: of its metadata, they know the name alone."""
    metadata = section(manifest, "metadata")
    return {**manifest, "metadata": {name: metadata[name] for name in _NAMES if name in metadata}}


def _prune(node: Node, value: Any, path: str, drop: bool) -> Iterator[str]:
    if isinstance(value, dict):
        yield from _prune_object(node, cast(dict[str, Any], value), path, root=node.embedded, drop=drop)
    elif isinstance(value, list) and node.items is not None:
        yield from _prune_list(node, node.items, cast(list[Any], value), path, drop)


def _prune_list(node: Node, each: Node, value: list[Any], path: str, drop: bool) -> Iterator[str]:
    text = node.pruned.text_of(value)
    if node.pruned.knows(text):
        return
    found = False
    for index, item in enumerate(value):
        for where in _prune(each, item, f"{path}[{index}]", drop):
            found = True
            yield where
    if not found:
        node.pruned.keep(text)


def _prune_object(node: Node, value: dict[str, Any], path: str, *, root: bool, drop: bool) -> Iterator[str]:
    for name in list(value):
        if root and name in _TYPE_FIELDS:
            continue
        child = node.properties.get(name) or node.additional
        if child is not None and not isinstance(value[name], dict | list):
            continue
        where = f"{path}.{name}" if path else name
        if child is not None:
            yield from _prune(child, value[name], where, drop)
        elif not node.preserves:
            yield where
            if drop:
                del value[name]


def _default(node: Node, value: Any, nulls: bool) -> None:
    """Defaults what is in `value`. Where `nulls` says so there are none anywhere in the object."""
    if not (nulls or node.fills):
        return
    if isinstance(value, dict):
        _default_object(node, cast(dict[str, Any], value), nulls, root=False)
    elif isinstance(value, list) and node.items is not None:
        _default_list(node, node.items, cast(list[Any], value), nulls)


def _default_list(node: Node, each: Node, value: list[Any], nulls: bool) -> None:
    if node.full.knows(node.full.text_of(value)):
        return
    for index, item in enumerate(value):
        if item is None and each.has_default and not each.nullable:
            value[index] = copy.deepcopy(each.default)
        _default(each, value[index], nulls)
    node.full.keep(node.full.text_of(value))


def _default_object(node: Node, value: dict[str, Any], nulls: bool, *, root: bool) -> None:
    """Defaults what is missing. A null where null is not allowed is the same as nothing."""
    if nulls and None in value.values():
        _drop_nulls(node, value, root=root)
    for name, child in node.defaulted.items():
        if name not in value and not (root and name in _TYPE_FIELDS):
            value[name] = copy.deepcopy(child.default)
            _default(child, value[name], nulls=True)
    for name, item in value.items():
        if isinstance(item, dict | list) and not (root and name in _TYPE_FIELDS):
            child = node.properties.get(name) or node.additional
            if child is not None:
                _default(child, item, nulls)


def _drop_nulls(node: Node, value: dict[str, Any], *, root: bool) -> None:
    """Takes nulls away that make way for a default, if there is one."""
    for name in [name for name, item in value.items() if item is None and not (root and name in _TYPE_FIELDS)]:
        child = node.properties.get(name) or node.additional
        if child is not None and not child.nullable:
            del value[name]
            if child.has_default:
                value[name] = copy.deepcopy(child.default)
