"""S10: what a member says of itself changes nothing of what is known of the others, and absurd amounts are cut down."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import cast

from controller_runtime import Key
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest
from kubeapi.quantity import Quantity, parse_quantity
from leeward.api.cluster import Cluster
from leeward.api.meta import find_condition
from leeward.api.names import DOUBTFUL_CONDITION, NOT_SEEN_SINCE, cluster_of_execution_space
from leeward.api.work import AggregatedStatusItem, ResourceBinding, Work
from leeward.core.cluster_health.outage import marked, marks_in
from simulator.histories.checkers.scene import Scene, Violation, seconds_of
from simulator.histories.ground_truth import Change, owner_of

MOST = Decimal(2**63 - 1)
HEARSAY_SECONDS = 60.0
"""Seconds until members were looked at again (20 s), and what waits longest was told (20 s), after the watches are
back."""


class ByzantineChecker:
    """`_told`: how many were ready of each copy, by what a restored control plane held; by binding and cluster."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._told: dict[tuple[Key, str], set[int]] = {}

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind == "/cluster.karmada.io/clusters/" and change.new is not None:
            for message in self._summary(change.new):
                yield Violation("S10", change.seconds, f"{change.key.name} {message}")
        elif change.restored:
            self._note(change)
        elif change.kind == "/work.karmada.io/resourcebindings/" and change.new is not None:
            for message in self._statuses(change.key, change.old, change.new):
                yield Violation("S10", change.seconds, f"{change.key}: {message}")

    def _note(self, change: Change) -> None:
        match change.new:
            case ResourceBinding():
                for item in change.new.status.aggregated_status:
                    self._told.setdefault((change.key, item.cluster_name), set()).add(_ready_in(item))
            case Work() if (owner := owner_of(change.new)) is not None:
                told = self._told.setdefault((owner, cluster_of_execution_space(change.key.namespace)), set())
                told.update(_ready(status.status) for status in change.new.status.manifest_statuses)
            case _:
                pass

    def _is_hearsay(self, binding: Key, member: str, ready: int) -> bool:
        """Tells whether a backup said so, and nobody need have heard anything else since: nothing is done on it before
        members were looked at again (decision 48), and that nothing is known yet is told last (`runtime.statuses`)."""
        is_early = self._scene.truth.now() <= self._scene.followed_at + HEARSAY_SECONDS
        return is_early and ready in self._told.get((binding, member), ())

    def _summary(self, cluster: Cluster) -> Iterator[str]:
        summary = cluster.status.resource_summary
        if summary is not None:
            for amounts in (summary.allocatable, summary.allocating, summary.allocated):
                yield from _absurd(amounts)
        doubtful = find_condition(cluster.status.conditions, DOUBTFUL_CONDITION)
        if doubtful is not None and cluster.name not in self._scene.liars:
            yield f"has said nothing that is absurd, and is doubted: {doubtful.message}"

    def _statuses(self, key: Key, old: ResourceBinding | None, new: ResourceBinding) -> Iterator[str]:
        """Judges what is newly said of copies in honest members: they really ran it when they were last seen."""
        before = {item.cluster_name: item for item in old.status.aggregated_status} if old is not None else {}
        for item in new.status.aggregated_status:
            name = item.cluster_name
            if name in self._scene.liars or item == before.get(name) or _is_kept(item, before.get(name)):
                continue
            ready, not_seen_since = _ready_in(item), marks_in([item]).get(name)
            seen_at = seconds_of(not_seen_since) if not_seen_since is not None else None
            best = self._scene.truth.copies(name, new).best_since(self._scene.evidence_since(name, seen_at))
            if ready > max(0, best) and not self._is_hearsay(key, name, ready):
                yield f"{ready} replicas are said to be ready in {name}, where it was {best} at most"


def _is_kept(item: AggregatedStatusItem, before: AggregatedStatusItem | None) -> bool:
    """Tells whether the item says what it said before, and that nothing was seen of the cluster since
    (`NOT_SEEN_SINCE`)."""
    is_marked = NOT_SEEN_SINCE in cast(Manifest, item.status or {})
    return is_marked and before is not None and is_equal(marked([item], {}), marked([before], {}))


def _absurd(amounts: Mapping[str, Quantity]) -> Iterator[str]:
    for resource, quantity in amounts.items():
        if not 0 <= parse_quantity(quantity) <= MOST:
            yield f"has {quantity} of {resource}"


def _ready_in(item: AggregatedStatusItem) -> int:
    return _ready(item.status)


def _ready(status: object) -> int:
    return cast(Manifest, status or {}).get("readyReplicas", 0)
