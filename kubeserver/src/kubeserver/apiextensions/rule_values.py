"""Values as rules see them: a `number` of a schema is a double in CEL, even where the object has a whole number.

Kubernetes: apiserver/pkg/cel/common; the same. Differs: strings with a format of times and durations stay strings, for
the library takes no such values; `timestamp(...)` and `duration(...)` read them.
"""

from typing import Any, cast

from kubeserver.apiextensions.node import Node


def seen_by_rules(node: Node, value: Any) -> Any:
    """`value` itself, where nothing in it is a number of the schema."""
    if not node.holds_numbers:
        return value
    match value:
        case bool() | None:
            return value
        case int() if node.raw.get("type") == "number":
            return float(value)
        case dict():
            return {name: _of_field(node, name, item) for name, item in cast(dict[str, Any], value).items()}
        case list() if node.items is not None:
            return [seen_by_rules(node.items, item) for item in cast(list[Any], value)]
        case _:
            return value


def _of_field(node: Node, name: str, value: Any) -> Any:
    child = node.properties.get(name) or node.additional
    return value if child is None else seen_by_rules(child, value)
