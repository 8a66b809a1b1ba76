"""Containers of a workload, to be changed: init containers and ephemeral ones are none of them.

Karmada: pkg/util/overridemanager; same kinds.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubeapi.json_document import Document
from kubeapi.meta import Manifest
from leeward.core.interpreter.fields import value_at

_TEMPLATE = ("spec", "template", "spec", "containers")
CONTAINERS: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": ("spec", "containers"),
    "Deployment": _TEMPLATE,
    "ReplicaSet": _TEMPLATE,
    "DaemonSet": _TEMPLATE,
    "StatefulSet": _TEMPLATE,
    "Job": _TEMPLATE,
}
"""Paths of the containers, by kind; of other kinds nothing is known."""


def containers_in(document: Document, name: str | None = None) -> Iterator[Manifest]:
    """The containers, or those with this name. Raises: ValueError when one is no mapping."""
    where = CONTAINERS.get(document.root.get("kind"))
    if where is None or not isinstance(value_at(document.root, *where), list):
        return
    containers: list[Any] = document.own(list(where))
    for place, container in enumerate(containers):
        if not isinstance(container, dict):
            raise ValueError(f"the container {place} is no mapping")
        if name is None or container.get("name") == name:  # pyright: ignore[reportUnknownMemberType]
            yield document.own_item(containers, place)
