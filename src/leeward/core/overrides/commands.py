"""CommandOverriders and ArgsOverriders: words added to or removed from what a container runs.

Karmada: pkg/util/overridemanager/commandargsoverride.go; same.
"""

from typing import Any, Literal, cast

from kubeapi.json_document import Document
from leeward.api.override import CommandArgsOverrider
from leeward.core.overrides.containers import containers_in


def override_words(document: Document, field: Literal["command", "args"], overrider: CommandArgsOverrider) -> None:
    """Changes all containers of the overrider's name. Raises: ValueError when the field is no list."""
    for container in containers_in(document, overrider.container_name):
        before: Any = container.get(field)
        if before is not None and not isinstance(before, list):
            raise ValueError(f"{field} of the container {overrider.container_name} is no list")
        words = cast(list[Any], before or [])
        if overrider.operator == "add":
            container[field] = [*words, *overrider.value]
        else:
            gone = set(overrider.value)
            container[field] = [word for word in words if word not in gone]
