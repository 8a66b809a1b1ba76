"""Each safety switch by itself: what Leeward does by default, and what Karmada does, which is one setting away."""

from collections.abc import Mapping

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.work import GracefulEvictionTask, ResourceBinding, Work
from leeward.core import placement
from leeward.core.cluster_health.brake import BrakeSettings, is_alarming
from leeward.core.cluster_health.condition_taints import decide_taints
from leeward.core.placement import Decision, PlacementSettings, Snapshot
from tests.builders import aggregated, at, binding, cluster, dead, divided, fleet, targets, works

ONE_TO_TWO = divided({"member1": 1, "member2": 2})
NO_EXECUTE = "cluster.karmada.io/not-ready:NoExecute"


def moved() -> ResourceBinding:
    """Binding that moved from member1, which has an open task, to member2."""
    task = GracefulEvictionTask(
        "member1", "TaintUntolerated", "TaintManager", "Gracefully", replicas=1, creation_timestamp=at(0)
    )
    return aggregated(binding(ONE_TO_TWO, 3, targets(member2=3), (task,)))


def decide(
    bound: ResourceBinding,
    clusters: Mapping[str, Cluster],
    seconds: float,
    settings: PlacementSettings,
    reports: Mapping[str, Work] | None = None,
) -> Decision:
    return placement.decide(
        Snapshot(bound, fleet(*clusters.values()), reports or {}, settings=settings, now=at(seconds))
    )


def replicas(decision: Decision) -> dict[str, int]:
    return {target.name: target.replicas for target in decision.clusters}


def test_s11_without_a_place_to_go_a_copy_stays_and_in_karmada_it_goes() -> None:
    placed = binding(ONE_TO_TWO, 3, targets(member1=1, member2=2))
    around = fleet(dead("member1"), dead("member2"))
    ours = decide(placed, around, 400, PlacementSettings())
    assert replicas(ours) == {"member1": 1, "member2": 2}
    assert ours.held is not None
    assert ours.held.reason == "NoPlaceToGo"
    karmada = decide(placed, around, 400, PlacementSettings(keep_without_place=False))
    assert (replicas(karmada), len(karmada.eviction_tasks)) == ({}, 2)


def test_s1_time_ends_no_eviction_without_a_replacement_and_in_karmada_it_does() -> None:
    nowhere = msgspec.structs.replace(moved().spec, clusters=())
    emptied = msgspec.structs.replace(moved(), spec=nowhere)
    around = fleet(dead("member1"), dead("member2"))
    ours = decide(emptied, around, 10_000, PlacementSettings())
    assert len(ours.eviction_tasks) == 1
    karmada = decide(emptied, around, 10_000, PlacementSettings(exact_health=True))
    assert (karmada.eviction_tasks, karmada.finished) == ((), ("member1",))


def test_a_cluster_that_is_back_takes_its_eviction_back_and_in_karmada_it_stays_barred() -> None:
    around, reports = fleet(cluster("member1"), cluster("member2")), works({"member1": 1, "member2": 2})
    ours = decide(moved(), around, 400, PlacementSettings(), reports)
    assert (ours.withdrawn, ours.eviction_tasks) == (("member1",), ())
    karmada = decide(moved(), around, 400, PlacementSettings(withdraw=False), reports)
    assert (karmada.withdrawn, len(karmada.eviction_tasks)) == ((), 1)


def test_what_could_not_be_looked_at_is_not_dead_and_in_karmada_it_is() -> None:
    refused = Condition("Ready", "False", "StatusCollectionFailed", last_transition_time=at(0))
    uncollected = cluster("member1", ready="False")
    uncollected = msgspec.structs.replace(
        uncollected, status=msgspec.structs.replace(uncollected.status, conditions=(refused,))
    )

    def taints(*, could_not_look: bool) -> set[str]:
        since = decide_taints(uncollected, at(0), last_seen=None, eviction_seconds=300, could_not_look=could_not_look)
        annotations = {key: value for key, value in since.annotations.items() if value is not None}
        metadata = msgspec.structs.replace(uncollected.metadata, annotations=annotations)
        later: Cluster = msgspec.structs.replace(uncollected, metadata=metadata)
        decision = decide_taints(later, at(300), last_seen=None, eviction_seconds=300, could_not_look=could_not_look)
        return {str(taint) for taint in decision.taints}

    assert NO_EXECUTE not in taints(could_not_look=True)
    assert NO_EXECUTE in taints(could_not_look=False)


def test_s4_a_fleet_that_looks_dead_raises_the_alarm_and_in_karmada_it_does_not() -> None:
    version = "v1.30.0"
    fallen = [msgspec.structs.replace(d, status=msgspec.structs.replace(d.status, kubernetes_version=version))
              for d in (dead("member1"), dead("member2"), dead("member3"))]  # fmt: skip
    assert is_alarming(fallen, BrakeSettings())
    assert not is_alarming(fallen, BrakeSettings(enabled=False))
