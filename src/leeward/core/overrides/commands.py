"""CommandOverriders and ArgsOverriders: words added to or removed from what a container runs.

Karmada: pkg/util/overridemanager/commandargsoverride.go; same.
"""

from typing import Any, Literal, cast

from kubeapi.meta import Manifest
from leeward.api.override import CommandArgsOverrider
from leeward.core.overrides.effort import Effort, units_of


def override_words(
    field: Literal["command", "args"], container: Manifest, overrider: CommandArgsOverrider, effort: Effort
) -> None:
    """Changes a container of the overrider's name. Raises: ValueError when the field is no list."""
    if container.get("name") != overrider.container_name:
        return
    before: Any = container.get(field)
    if before is not None and not isinstance(before, list):
        raise ValueError(f"{field} of the container {overrider.container_name} is no list")
    words = cast(list[Any], before or [])
    effort.spend(len(words) + units_of(overrider.value))
    if overrider.operator == "add":
        container[field] = [*words, *overrider.value]
    else:
        gone = set(overrider.value)
        container[field] = [word for word in words if word not in gone]
