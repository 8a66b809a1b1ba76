"""A structural schema, compiled: a tree of nodes that pruning, defaulting and checking walk along a value."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from kubeserver.apiextensions.checked_lists_cache import Memory
from kubeserver.values import section

_ABSENT = object()
_PLAIN: Mapping[str, type] = {"string": str, "boolean": bool, "number": float, "integer": int}
_UNLIMITED = frozenset(("type", "description", "default", "nullable"))
"""Keywords that take nothing away from a type."""
_OF_INTEGERS = frozenset((None, "int32", "int64"))


@dataclass(slots=True)
class Node:
    """One place in a schema. `raw` is the schema's own text, for its limits and for OpenAPI."""

    raw: Mapping[str, Any]
    properties: dict[str, "Node"] = field(default_factory=dict[str, "Node"])
    items: "Node | None" = None
    additional: "Node | None" = None
    default: Any = _ABSENT
    preserves: bool = False
    embedded: bool = False
    holds_embedded: bool = False
    """Tells whether a resource is embedded here, or anywhere below."""
    holds_numbers: bool = False
    """Tells whether a `number` is here, or anywhere below."""
    all_of: tuple["Node", ...] = ()
    any_of: tuple["Node", ...] = ()
    one_of: tuple["Node", ...] = ()
    negated: "Node | None" = None
    plain: type | None = None
    """Values of exactly this type are right, whatever they are, but for integers beyond `most`; None where a value
    has more to it than its type."""
    most: int = 2**63 - 1
    sound: Memory = field(default_factory=Memory)
    """Lists whose items have no problem."""
    pruned: Memory = field(default_factory=Memory)
    """Lists whose items have no unknown field."""
    full: Memory = field(default_factory=Memory)
    """Lists whose items lack no default."""
    fills: bool = False
    """Tells whether a default is here, or anywhere below."""
    defaulted: dict[str, "Node"] = field(default_factory=dict[str, "Node"])
    """Properties that have a default."""
    rules: tuple[object, ...] | None = None
    """The compiled rules, once somebody has asked for them."""

    @property
    def has_default(self) -> bool:
        return self.default is not _ABSENT

    @property
    def nullable(self) -> bool:
        return bool(self.raw.get("nullable"))


def compile_schema(raw: Mapping[str, Any]) -> Node:
    node = _compile(raw)
    parts = [part for part in (*node.properties.values(), node.items, node.additional) if part is not None]
    node.holds_embedded = node.embedded or any(part.holds_embedded for part in parts)
    node.fills = node.has_default or any(part.fills for part in parts)
    node.defaulted = {name: each for name, each in node.properties.items() if each.has_default}
    node.holds_numbers = raw.get("type") == "number" or any(part.holds_numbers for part in parts)
    return node


def _compile(raw: Mapping[str, Any]) -> Node:
    additional = raw.get("additionalProperties")
    return Node(
        raw=raw,
        properties={name: compile_schema(child) for name, child in section(raw, "properties").items()},
        items=compile_schema(raw["items"]) if isinstance(raw.get("items"), dict) else None,
        additional=compile_schema(cast(dict[str, Any], additional)) if isinstance(additional, dict) else None,
        default=raw.get("default", _ABSENT),
        preserves=bool(raw.get("x-kubernetes-preserve-unknown-fields")) or additional is True,
        embedded=bool(raw.get("x-kubernetes-embedded-resource")),
        all_of=_compile_all(raw.get("allOf")),
        any_of=() if raw.get("x-kubernetes-int-or-string") else _compile_all(raw.get("anyOf")),
        one_of=_compile_all(raw.get("oneOf")),
        negated=compile_schema(raw["not"]) if isinstance(raw.get("not"), dict) else None,
        plain=_plain(raw),
        most=2**31 - 1 if raw.get("format") == "int32" else 2**63 - 1,
    )


def _plain(raw: Mapping[str, Any]) -> type | None:
    is_integer = raw.get("type") == "integer" and raw.get("format") in _OF_INTEGERS
    unlimited = _UNLIMITED | {"format"} if is_integer else _UNLIMITED
    return _PLAIN.get(raw.get("type", "")) if raw.keys() <= unlimited else None


def _compile_all(parts: Iterable[Mapping[str, Any]] | None) -> tuple[Node, ...]:
    return tuple(compile_schema(part) for part in parts or ())
