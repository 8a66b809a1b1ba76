"""Places of bindings, and what users asked for, in the end of a history, and when two such ends agree."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from leeward.api.moves_with import MOVES_WITH_ANNOTATION
from leeward.api.names import FLAPPING_TAINT, MEMORY_ANNOTATION
from leeward.api.work import ResourceBinding, ResourceBindingSpec
from simulator.histories.checkers.quotas import EXCEEDED, refusal_in
from simulator.histories.generator import LARGE_CPU
from simulator.histories.ground_truth import GroundTruth
from simulator.histories.manifests import BATCHES


@dataclass(frozen=True, slots=True)
class Place:
    """Clusters and replicas with which a binding runs in the end. `choosy`: which clusters it runs on is up to scores,
    beside the room there.

    `roomless`: it is divided by room, and its replicas take none in the members. Room is told in grades of nodes
    (4, 8 or 16 replicas in the same cluster, as the Pods of others lie on its nodes), and what is assigned counts as
    room beside it for a result that is made afresh: shares differ with both. On how many clusters it is does not.

    `crowded`: it is divided by room, and its replicas take half a node each. Where no cluster has room beside them, a
    result that is made afresh is the one before.
    """

    replicas: Mapping[str, int]
    divided: bool
    choosy: bool
    roomless: bool = False
    crowded: bool = False

    def agrees(self, other: "Place") -> bool:
        """Tells whether the difference is a tie at most."""
        here, there = self.replicas, other.replicas
        if self.crowded:
            return sum(here.values()) == sum(there.values())
        if self.roomless:
            return sum(here.values()) == sum(there.values()) and len(here) == len(there)
        if self.choosy:
            return sorted(here.values()) == sorted(there.values())
        if not self.divided:
            return here == there
        same = sum(here.values()) == sum(there.values())
        return same and all(abs(here.get(name, 0) - there.get(name, 0)) <= 1 for name in {*here, *there})


def wanted(truth: GroundTruth) -> dict[str, object]:
    """Wishes of users. Where it runs, `places` tell."""
    policies = truth.of("/policy.karmada.io/propagationpolicies/").items()
    templates = truth.of("/apps/deployments/").items()
    placements: dict[str, object] = {f"policy {key}": p["spec"]["placement"] for key, p in policies}
    return placements | {f"template {key}": t["spec"] for key, t in templates}


def places(truth: GroundTruth) -> dict[str, Place]:
    """Places by binding. None where a cluster is held down because it flapped: nothing goes there for an hour. None
    either where room is short, or a quota refuses somebody: who has it is up to who came first; nor where application
    failover has left clusters, for one that takes as long as copies need to begin leaves those that begin together; nor
    where a group is parted: which of its members could move was up to the order of wishes and outages."""
    if any(taint.key == FLAPPING_TAINT for cluster in truth.clusters.values() for taint in cluster.taints):
        return {}
    if any(_has_failed(binding) for binding in truth.bindings.values()):
        return {}
    placed = {key: binding for key, binding in truth.bindings.items() if binding.spec.placement is not None}
    if any(_is_short(binding.spec) or refusal_in(binding) == EXCEEDED for binding in placed.values()):
        return {}
    if _is_parted(truth.bindings.values()):
        return {}
    return {str(key): place_of(binding) for key, binding in placed.items()}


def place_of(binding: ResourceBinding) -> Place:
    spec = binding.spec
    placement = spec.placement
    strategy = placement.replica_scheduling if placement is not None else None
    packs = strategy is not None and strategy.replica_division_preference == "Aggregated"
    choosy = packs or bool(placement is not None and placement.spread_constraints)
    weights = strategy.weight_preference if strategy is not None else None
    by_room = packs or (weights is not None and bool(weights.dynamic_weight))
    roomless = spec.is_divided and by_room and spec.resource.kind == BATCHES.kind
    asked = spec.replica_requirements.resource_request.get("cpu") if spec.replica_requirements is not None else None
    crowded = spec.is_divided and by_room and asked == str(LARGE_CPU)
    replicas = {target.name: target.replicas for target in spec.clusters}
    return Place(replicas, spec.is_divided, choosy, roomless, crowded)


def _is_parted(bindings: Iterable[ResourceBinding]) -> bool:
    """Tells whether members of a group are in more than one cluster."""
    places = {
        (group, target.name)
        for binding in bindings
        if (group := binding.metadata.annotations.get(MOVES_WITH_ANNOTATION))
        for target in binding.spec.clusters
    }
    return len(places) > len({group for group, _ in places})


def _has_failed(binding: ResourceBinding) -> bool:
    memory = json.loads(binding.metadata.annotations.get(MEMORY_ANNOTATION, "{}"))
    return any(row.get("tried") for row in memory.get("clusters", {}).values())


def _is_short(spec: ResourceBindingSpec) -> bool:
    placed = sum(target.replicas for target in spec.clusters)
    return not spec.clusters or (spec.is_divided and placed < spec.replicas)
