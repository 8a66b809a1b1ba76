"""Containers of a workload, to be changed: init containers and ephemeral ones are none of them.

Karmada: pkg/util/overridemanager; same kinds.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kubeapi.json_document import Document
from kubeapi.meta import Manifest
from leeward.core.interpreter.fields import value_at
from leeward.core.overrides.effort import Effort, Steps, naming

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


Overrider = tuple[str, int, Callable[[Any, Any, Effort], None], Any]
"""Field and index of an overrider, its change (which raises ValueError) of a container or the document, and itself."""


def override_containers(changes: Sequence[Overrider], document: Document, effort: Effort) -> Steps[None]:
    """Makes all changes of each container, in order, in one pass. Raises: ValueError that names the overrider."""
    where = CONTAINERS.get(document.root.get("kind"))
    if where is None or not isinstance(value_at(document.root, *where), list):
        return
    containers: list[Any] = document.own(list(where))
    for place, container in enumerate(containers):
        with naming(*changes[0][:2]):
            effort.spend(len(changes))
            if not isinstance(container, dict):
                raise ValueError(f"the container {place} is no mapping")
        owned: Manifest = document.own_item(containers, place)
        for field, index, change, overrider in changes:
            with naming(field, index):
                change(owned, overrider, effort)
        yield
