"""Claims of a Pod, and their meaning for its scheduling.

Kubernetes: pkg/scheduler, the plug-in VolumeBinding; the same messages, but none about preemption.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import text_at
from kubecluster.rules.fitting import Unschedulable
from kubecluster.rules.pods import is_leaving
from kubecluster.rules.volume_binding import class_name, is_bound, waits_for_consumer


@dataclass(frozen=True, slots=True)
class ClaimNeeds:
    """`obstacle`: why no node will do. `waiting`: the claims that are bound once a node has been chosen."""

    obstacle: str = ""
    waiting: tuple[Manifest, ...] = ()

    def refusal(self, nodes: int) -> Unschedulable | None:
        return Unschedulable(f"0/{nodes} nodes are available: {self.obstacle}.") if self.obstacle else None


NO_CLAIMS = ClaimNeeds()


def claim_needs(
    names: Iterable[str],
    find_claim: Callable[[str], Manifest | None],
    find_class: Callable[[str], ReadOnlyManifest | None],
) -> ClaimNeeds:
    waiting: list[Manifest] = []
    for name in names:
        claim = find_claim(name)
        if claim is None:
            return ClaimNeeds(f'persistentvolumeclaim "{name}" not found')
        if is_leaving(claim):
            return ClaimNeeds(f'persistentvolumeclaim "{name}" is being deleted')
        if text_at(claim, "status", "phase") == "Lost":
            volume = text_at(claim, "spec", "volumeName")
            return ClaimNeeds(f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"')
        if is_bound(claim):
            continue
        if not waits_for_consumer(find_class(class_name(claim))):
            return ClaimNeeds("pod has unbound immediate PersistentVolumeClaims")
        waiting.append(claim)
    return ClaimNeeds(waiting=tuple(waiting))
