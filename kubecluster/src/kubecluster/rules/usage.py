"""Usage of processor and memory by simulated Pods: nothing to speak of, unless an annotation says so.

    leeward.dev/simulated-cpu: "2"         leeward.dev/simulated-memory: 1Gi

On a Pod it is what that Pod uses. On the workload that a Pod belongs to (its ReplicaSet, Deployment, StatefulSet, ...)
it is the load of all its ready Pods together, of which each takes an equal part.
"""

import math
from collections.abc import Sequence
from decimal import Decimal

from kubeapi.meta import ReadOnlyManifest
from kubeapi.quantity import parse_quantity
from kubeapi.unstructured import list_at, mapping_at, text_at

CPU_ANNOTATION, MEMORY_ANNOTATION = "leeward.dev/simulated-cpu", "leeward.dev/simulated-memory"
_ANNOTATIONS = {"cpu": CPU_ANNOTATION, "memory": MEMORY_ANNOTATION}
_IDLE = {"cpu": Decimal("0.001"), "memory": Decimal(8 * 1024 * 1024)}
Usage = dict[str, Decimal]


def usage_of(pod: ReadOnlyManifest, owners: Sequence[ReadOnlyManifest], sharing: int) -> Usage:
    """Usage of one Pod, in cores and bytes. `owners` begins with the nearest; `sharing` Pods bear their load."""
    return {name: _amount(pod, name) or _share(owners, name, sharing) or idle for name, idle in _IDLE.items()}


def amount_text(name: str, amount: Decimal) -> str:
    """Text as metrics show it: thousandths of cores, or bytes in units of 1024."""
    return f"{math.ceil(amount * 1000)}m" if name == "cpu" else f"{math.ceil(amount / 1024)}Ki"


def container_usage(pod: ReadOnlyManifest, usage: Usage) -> list[tuple[str, Usage]]:
    """Usage in equal parts, by the names of the Pod's containers."""
    names = [text_at(container, "name") for container in list_at(pod, "spec", "containers")]
    return [(name, {key: amount / len(names) for key, amount in usage.items()}) for name in names]


def _share(owners: Sequence[ReadOnlyManifest], name: str, sharing: int) -> Decimal | None:
    loads = (_amount(owner, name) for owner in owners)
    load = next((load for load in loads if load is not None), None)
    return load / max(1, sharing) if load is not None else None


def _amount(manifest: ReadOnlyManifest, name: str) -> Decimal | None:
    """Amount that an annotation gives; none where it is no quantity."""
    text = mapping_at(manifest, "metadata", "annotations").get(_ANNOTATIONS[name])
    try:
        return parse_quantity(str(text)) if text is not None else None
    except ValueError:
        return None
