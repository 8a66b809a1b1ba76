"""Containers of a workload, by the path at which they are: init containers and ephemeral ones are none of them.

Karmada: pkg/util/overridemanager; same kinds.
"""

from collections.abc import Mapping
from typing import Final

from kubeapi.meta import ReadOnlyManifest
from leeward.core.interpreter.fields import list_at, text_at

_TEMPLATE = ("spec", "template", "spec", "containers")
CONTAINERS: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": ("spec", "containers"),
    "Deployment": _TEMPLATE,
    "ReplicaSet": _TEMPLATE,
    "DaemonSet": _TEMPLATE,
    "StatefulSet": _TEMPLATE,
    "Job": _TEMPLATE,
}
"""Where the containers are, by kind; of other kinds nothing is known."""


def container_paths(manifest: ReadOnlyManifest, name: str | None = None) -> list[list[str]]:
    """The paths of the containers, or of those with this name."""
    where = CONTAINERS.get(manifest.get("kind", ""))
    if where is None:
        return []
    return [
        [*where, str(index)]
        for index, container in enumerate(list_at(manifest, *where))
        if name is None or text_at(container, "name") == name
    ]
