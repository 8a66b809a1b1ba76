"""Paths to fields of a schema: `.a.b` and `['a']`, as the rules and the selectable fields of a definition have them."""

import re

from kubeapi.field import Node

_STEP = re.compile(r"\.(?P<name>[A-Za-z_]\w*)|\['(?P<key>(?:[^'\\]|\\.)+)'\]")


def field_at(schema: Node, path: str) -> Node | None:
    """The schema of the field; None where there is none."""
    position, found = 0, schema
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            return None
        name = step["name"] or step["key"].replace("\\'", "'")
        declared = found["properties"].mapping.get(name, found["additionalProperties"].mapping or None)
        if declared is None:
            return None
        found, position = Node(f"{found.path}.properties[{name}]", declared), step.end()
    return found
