"""Old values, as each was before: members of mappings have a counterpart by name, items of lists only where they have
keys."""

from typing import Any, cast

import msgspec

from kubeserver.apiextensions.node import Node
from kubeserver.values import texts

ABSENT: Any = object()
"""Stand-in for a value where there was nothing, or nobody can tell which it was."""


class KeyedItems(msgspec.Struct, frozen=True):
    """The items of a list by the values of their keys."""

    keys: tuple[str, ...] = ()
    items: dict[str, Any] = {}

    def like(self, item: Any) -> Any:
        """The item with the same keys."""
        return self.items.get(_named(item, self.keys), ABSENT) if self.items else ABSENT


def keyed_items(node: Node, old: Any) -> KeyedItems:
    keys = tuple(texts(node.raw, "x-kubernetes-list-map-keys"))
    if not isinstance(old, list) or node.raw.get("x-kubernetes-list-type") != "map":
        return KeyedItems()
    return KeyedItems(keys, {_named(item, keys): item for item in cast(list[Any], old)})


def _named(item: Any, keys: tuple[str, ...]) -> str:
    return repr([cast(dict[str, Any], item).get(key) for key in keys]) if isinstance(item, dict) and keys else ""
