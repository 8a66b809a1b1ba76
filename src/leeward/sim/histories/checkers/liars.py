"""S10: what a member says of itself changes nothing of what is known of the others, and absurd amounts are cut down."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import cast

from kubeapi.meta import Manifest
from kubeapi.quantity import Quantity, parse_quantity
from leeward.api.cluster import Cluster
from leeward.api.meta import find_condition
from leeward.api.names import DOUBTFUL_CONDITION
from leeward.api.work import AggregatedStatusItem, ResourceBinding
from leeward.sim.histories.checkers.scene import Scene, Violation
from leeward.sim.histories.truth import Change

MOST = Decimal(2**63 - 1)


class LiarsChecker:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind == "/cluster.karmada.io/clusters/" and change.new is not None:
            for message in self._summary(change.new):
                yield Violation("S10", change.seconds, f"{change.key.name} {message}")
        elif change.kind == "/work.karmada.io/resourcebindings/" and change.new is not None:
            for message in self._statuses(change.old, change.new):
                yield Violation("S10", change.seconds, f"{change.key}: {message}")

    def _summary(self, cluster: Cluster) -> Iterator[str]:
        summary = cluster.status.resource_summary
        if summary is not None:
            for amounts in (summary.allocatable, summary.allocating, summary.allocated):
                yield from _absurd(amounts)
        doubtful = find_condition(cluster.status.conditions, DOUBTFUL_CONDITION)
        if doubtful is not None and cluster.name not in self._scene.liars:
            yield f"has said nothing that is absurd, and is doubted: {doubtful.message}"

    def _statuses(self, old: ResourceBinding | None, new: ResourceBinding) -> Iterator[str]:
        """What is newly said of copies in honest members is what they really ran."""
        before = {item.cluster_name: item for item in old.status.aggregated_status} if old is not None else {}
        for item in new.status.aggregated_status:
            name = item.cluster_name
            if name in self._scene.liars or item == before.get(name):
                continue
            ready = _ready_in(item)
            best = self._scene.truth.copies(name, new).best_since(self._scene.evidence_since(name))
            if ready > max(0, best):
                yield f"{ready} replicas are said to be ready in {name}, where it was {best} at most"


def _absurd(amounts: Mapping[str, Quantity]) -> Iterator[str]:
    for resource, quantity in amounts.items():
        if not 0 <= parse_quantity(quantity) <= MOST:
            yield f"has {quantity} of {resource}"


def _ready_in(item: AggregatedStatusItem) -> int:
    status = cast(Manifest, item.status or {})
    return status.get("readyReplicas", 0)
