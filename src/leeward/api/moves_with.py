"""The group that moves together, by the annotation `leeward.dev/moves-with`: its name, within one namespace."""

from collections.abc import Mapping

MOVES_WITH_ANNOTATION = "leeward.dev/moves-with"
"""Annotation on a policy or template, and its bindings: the group with which it is in one cluster (ours)."""
MOST_CHARACTERS = 63
GROUP_LEFT = "GroupLeft"
"""Reason of an eviction task: the others of its group leave the cluster. Such a task is never taken back (ours)."""


def name_fault(annotations: Mapping[str, object]) -> str | None:
    """Fault of a group's name; None where it has none, or there is no name."""
    name = annotations.get(MOVES_WITH_ANNOTATION)
    if name is None or (isinstance(name, str) and 0 < len(name) <= MOST_CHARACTERS):
        return None
    return f"name a group, with 1 to {MOST_CHARACTERS} characters"
