"""Failover between the terms of `clusterAffinities`: nothing that is well is torn down, and there is a way back."""

import msgspec
import pytest

from kubeapi.codec import encode
from kubeapi.core import Taint
from leeward.api.cluster import Cluster
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION, DRAIN_TAINT
from leeward.api.policy import ClusterAffinityTerm, Placement
from leeward.api.work import GracefulEvictionTask, ResourceBinding, TargetCluster, Work
from leeward.core import placement
from leeward.core.placement import Decision, PlacementSettings, Snapshot
from leeward.core.scheduling import Placed
from tests.builders import aggregated, at, binding, cluster, dead, divided, duplicated, fleet, targets, works

SETTINGS = PlacementSettings()


def between(*terms: tuple[str, ...], on: str, clusters: tuple[str, ...], groups: int = 0) -> ResourceBinding:
    """Two copies, Duplicated; the terms are named `t0`, `t1`, ...; it is in the term `on` now."""
    named = tuple(ClusterAffinityTerm(affinity_name=f"t{n}", cluster_names=names) for n, names in enumerate(terms))
    placement: Placement = msgspec.structs.replace(
        duplicated(groups=groups), cluster_affinity=None, cluster_affinities=named
    )
    bound = aggregated(binding(placement, 2, tuple(TargetCluster(name, 2) for name in clusters)))
    status = msgspec.structs.replace(bound.status, scheduler_observing_affinity_name=on)
    return msgspec.structs.replace(bound, status=status)


def decide(
    bound: ResourceBinding,
    *clusters: Cluster,
    seconds: float = 300,
    copies: dict[str, Work] | None = None,
    settings: PlacementSettings = SETTINGS,
) -> Decision:
    return placement.decide(Snapshot(bound, fleet(*clusters), copies or {}, settings=settings, now=at(seconds)))


def after(bound: ResourceBinding, decision: Decision, term: str) -> ResourceBinding:
    """The binding with the decision written to it."""
    tasks = decision.eviction_tasks
    spec = msgspec.structs.replace(bound.spec, clusters=decision.clusters, graceful_eviction_tasks=tasks)
    status = msgspec.structs.replace(bound.status, scheduler_observing_affinity_name=term)
    return msgspec.structs.replace(bound, spec=spec, status=status)


def names(decision: Decision) -> list[str]:
    return [target.name for target in decision.clusters]


def left(decision: Decision) -> list[str]:
    return [task.from_cluster for task in decision.eviction_tasks]


PRIMARY_AND_BACKUP = between(("a", "b"), ("c", "d"), on="t0", clusters=("a", "b"), groups=2)
BACKUP = (cluster("c"), cluster("d"))


def test_s1_a_copy_that_is_well_leaves_its_term_as_gracefully_as_the_lost_one() -> None:
    decision = decide(PRIMARY_AND_BACKUP, dead("a"), cluster("b"), *BACKUP)
    assert (names(decision), left(decision), decision.followed) == (["c", "d"], ["a", "b"], ("b",))
    assert [eviction.cluster for eviction in decision.evicted] == ["a"]
    assert [task.reason for task in decision.eviction_tasks] == ["TaintUntolerated", "AffinityTermLeft"]
    moved = after(PRIMARY_AND_BACKUP, decision, "t1")
    early = decide(
        moved, dead("a"), cluster("b"), *BACKUP, copies=works({"a": 2, "b": 2, "c": 2, "d": 1}), seconds=2_000
    )
    assert early.finished == ("a",), "b and c serve all that is asked for, and b stays for d"
    done = decide(moved, dead("a"), cluster("b"), *BACKUP, copies=works({"b": 2, "c": 2, "d": 2}), seconds=310)
    assert done.finished == ("a", "b")


def test_in_karmada_it_is_gone_at_once() -> None:
    karmada = PlacementSettings(keep_without_place=False, withdraw=False, exact_health=True)
    decision = decide(PRIMARY_AND_BACKUP, dead("a"), cluster("b"), *BACKUP, settings=karmada)
    assert (names(decision), left(decision)) == (["c", "d"], ["a"])


def test_s2_who_returns_takes_all_back_or_nothing() -> None:
    moved = after(PRIMARY_AND_BACKUP, decide(PRIMARY_AND_BACKUP, dead("a"), cluster("b"), *BACKUP), "t1")
    half = works({"a": None, "b": 2, "c": 2, "d": 0})
    waiting = decide(moved, cluster("a"), cluster("b"), *BACKUP, copies=half, seconds=400)
    assert (waiting.withdrawn, names(waiting)) == ((), ["c", "d"]), "b beside c would be no placement"
    whole = works({"a": 2, "b": 2, "c": 2, "d": 0})
    back = decide(moved, cluster("a"), cluster("b"), *BACKUP, copies=whole, seconds=400)
    assert (back.withdrawn, names(back), left(back)) == (("a", "b"), ["a", "b"], [])
    assert back.result == Placed(back.clusters, "t0")


def written(bound: ResourceBinding, told: bool, divided_as: dict[str, int] | None = None) -> ResourceBinding:
    """The binding after one more write of its spec; `told`: its status followed."""
    generation = bound.metadata.generation + 1
    spec, status = bound.spec, bound.status
    if divided_as is not None:
        placement = msgspec.structs.replace(
            divided(divided_as),
            cluster_affinity=None,
            cluster_affinities=(spec.placement or Placement()).cluster_affinities,
        )
        spec = msgspec.structs.replace(spec, placement=placement, replicas=sum(divided_as.values()))
    seen = generation if told else generation - 1
    status = msgspec.structs.replace(status, scheduler_observed_generation=seen)
    metadata = msgspec.structs.replace(
        bound.metadata,
        generation=generation,
        annotations={APPLIED_PLACEMENT_ANNOTATION: encode(spec.placement).decode()},
    )
    return msgspec.structs.replace(bound, metadata=metadata, spec=spec, status=status)


ALL_FOUR = (cluster("a"), cluster("b"), *BACKUP)
BACK_AGAIN = between(("a", "b"), ("c", "d"), on="t1", clusters=("a", "b"), groups=2)


def test_s1_what_has_just_been_placed_in_another_term_stays_before_the_status_says_so() -> None:
    decision = decide(written(BACK_AGAIN, told=False), *ALL_FOUR)
    assert (names(decision), left(decision)) == (["a", "b"], [])
    assert decision.result == Placed(decision.clusters, "t0")


def test_s1_a_divided_application_is_told_of_the_term_that_it_was_placed_in() -> None:
    bound = written(BACK_AGAIN, told=False, divided_as={"a": 2, "b": 2})
    decision = decide(bound, *ALL_FOUR)
    assert decision.result == Placed(bound.spec.clusters, "t0")


def test_s2_what_is_not_in_its_term_any_more_leaves_it_where_the_status_was_told() -> None:
    assert names(decide(written(BACK_AGAIN, told=True), *ALL_FOUR)) == ["c", "d"]


def test_in_karmada_the_status_alone_tells_the_term() -> None:
    karmada = PlacementSettings(keep_without_place=False, withdraw=False, exact_health=True)
    assert names(decide(written(BACK_AGAIN, told=False), *ALL_FOUR, settings=karmada)) == ["c", "d"]


def test_l2_what_has_fled_to_the_last_term_flees_back_from_there() -> None:
    bound = between(("a",), ("b",), on="t1", clusters=("b",))
    decision = decide(bound, cluster("a"), dead("b"))
    assert (names(decision), left(decision)) == (["a"], ["b"])
    assert getattr(decision.result, "affinity_name", "") == "t0"


def test_later_terms_come_before_earlier_ones() -> None:
    bound = between(("a",), ("b",), ("c",), on="t1", clusters=("b",))
    assert names(decide(bound, cluster("a"), dead("b"), cluster("c"))) == ["c"]


DRAINED = cluster("b", taints=(Taint(key=DRAIN_TAINT, effect="NoExecute", time_added=at(300)),))


def test_s1_a_copy_in_a_dead_cluster_leaves_its_term_with_a_task_and_not_at_once() -> None:
    """The copy's own eviction is not due yet; left where it is, it would be in no term, and go without a task."""
    bound = between(("a", "b"), ("c",), on="t0", clusters=("a", "b"))
    seen = (dead("a", since=200), DRAINED, cluster("c"))
    decision = decide(bound, *seen)
    assert (names(decision), left(decision), decision.followed) == (["c"], ["b", "a"], ("a",))
    again = decide(after(bound, decision, "t1"), *seen, seconds=301)
    assert (names(again), left(again)) == (["c"], ["b", "a"])
    settled = decide(after(bound, decision, "t1"), *seen, copies=works({"c": 2}), seconds=2_000)
    assert settled.finished == ("b", "a")


def test_s3_the_replicas_of_a_dead_cluster_find_a_place_in_the_other_term_too() -> None:
    bound = between(("a", "b"), ("c",), on="t0", clusters=("a", "b"))
    assert bound.spec.placement is not None
    strategy = divided({"a": 1, "b": 1, "c": 1}).replica_scheduling
    shared = msgspec.structs.replace(bound.spec.placement, replica_scheduling=strategy)
    counts = (TargetCluster("a", 1), TargetCluster("b", 1))
    bound = msgspec.structs.replace(bound, spec=msgspec.structs.replace(bound.spec, placement=shared, clusters=counts))
    decision = decide(bound, dead("a", since=200), DRAINED, cluster("c"))
    assert [(target.name, target.replicas) for target in decision.clusters] == [("c", 2)]
    assert left(decision) == ["b", "a"]


def test_who_returns_waits_for_nobody_that_took_it_in_vain() -> None:
    """a was lost, b never took it, c never gets it healthy: a is back, and b's task goes on until it has taken over."""
    bound = between(("a",), ("b",), ("c",), on="t2", clusters=("c",))
    tasks = tuple(
        GracefulEvictionTask(name, reason, "Leeward", "Gracefully", replicas=2, creation_timestamp=at(100))
        for name, reason in (("a", "TaintUntolerated"), ("b", "ReplacementFailed"))
    )
    moved = msgspec.structs.replace(bound, spec=msgspec.structs.replace(bound.spec, graceful_eviction_tasks=tasks))
    copies = works({"a": 2, "b": None, "c": None})
    back = decide(moved, cluster("a"), cluster("b"), cluster("c"), copies=copies, seconds=400)
    assert (back.withdrawn, names(back), left(back)) == (("a",), ["a"], ["b"])
    lost = decide(moved, dead("a"), cluster("b"), cluster("c"), copies=copies, seconds=400)
    assert (lost.withdrawn, names(lost)) == ((), ["c"])


OVERLAPPING = between(("a", "b", "c"), ("b", "c", "d"), on="t0", clusters=("a", "b", "c"), groups=3)


@pytest.mark.parametrize("ready", [0, 1, None], ids=["none", "half", "unhealthy"])
def test_s12_what_both_terms_have_stays_when_the_first_is_taken_up_again(ready: int | None) -> None:
    rest = (cluster("b"), cluster("c"), cluster("d"))
    decision = decide(OVERLAPPING, dead("a"), *rest, copies=works({"a": 2, "b": 2, "c": 2}))
    assert (names(decision), left(decision)) == (["b", "c", "d"], ["a"])
    moved = after(OVERLAPPING, decision, "t1")
    copies = works({"a": 2, "b": 2, "c": 2, "d": ready})
    back = decide(moved, cluster("a"), *rest, copies=copies, seconds=400)
    assert (back.withdrawn, names(back), left(back)) == (("a",), ["a", "b", "c"], [])
    assert getattr(back.result, "affinity_name", "") == "t0"


def test_s12_a_replacement_that_is_well_stays_though_a_copy_of_both_terms_is_not() -> None:
    moved = after(OVERLAPPING, decide(OVERLAPPING, dead("a"), *map(cluster, "bcd")), "t1")
    copies = works({"a": 2, "b": 2, "c": 1, "d": 2})
    assert names(decide(moved, *map(cluster, "abcd"), copies=copies, seconds=400)) == ["b", "c", "d"]


def test_s2_who_returns_leaves_no_more_clusters_than_the_policy_allows() -> None:
    """The copy in c would be one too many beside a and b; it is ready and stays, and one of them returns."""
    away = tuple(
        GracefulEvictionTask(name, "TaintUntolerated", "Leeward", "Gracefully", replicas=2, creation_timestamp=at(100))
        for name in ("a", "b")
    )
    bound = between(("a", "b", "c"), ("b", "c", "d"), on="t1", clusters=("c", "d"), groups=2)
    bound = msgspec.structs.replace(bound, spec=msgspec.structs.replace(bound.spec, graceful_eviction_tasks=away))
    copies = works({"a": 2, "b": 2, "c": 2, "d": 0})
    back = decide(bound, *map(cluster, "abcd"), copies=copies, seconds=400)
    assert (back.withdrawn, names(back), left(back)) == (("a",), ["a", "c"], ["b"])


@pytest.mark.parametrize(
    ("moved", "away", "expected"),
    [
        ({"b": 2, "c": 2}, {"a": 2}, {"a": 2, "b": 2}),
        ({"b": 1, "c": 3}, {"a": 2, "b": 1}, {"b": 2, "c": 2}),
        ({"b": 1, "c": 3}, {"a": 2}, {"b": 1, "c": 3}),
    ],
    ids=["all of a copy", "a part within the term comes first", "not all of it"],
)
def test_s3_shares_return_to_what_stayed_of_them_where_they_add_up(
    moved: dict[str, int], away: dict[str, int], expected: dict[str, int]
) -> None:
    """Nothing of the copy in c is given up for a part of the earlier copies."""
    terms = tuple(ClusterAffinityTerm(affinity_name=name, cluster_names=tuple(name)) for name in ("ab", "bc"))
    strategy = divided({"a": 1, "b": 1, "c": 1}).replica_scheduling
    placement: Placement = msgspec.structs.replace(
        duplicated(), cluster_affinity=None, cluster_affinities=terms, replica_scheduling=strategy
    )
    tasks = tuple(
        GracefulEvictionTask(name, "TaintUntolerated", "Leeward", "Gracefully", replicas=n, creation_timestamp=at(100))
        for name, n in away.items()
    )
    bound = aggregated(binding(placement, 4, targets(**moved), tasks))
    status = msgspec.structs.replace(bound.status, scheduler_observing_affinity_name="bc")
    copies = works({"a": 2, "b": 2, "c": None})
    back = decide(msgspec.structs.replace(bound, status=status), *map(cluster, "abc"), copies=copies, seconds=400)
    assert {target.name: target.replicas for target in back.clusters} == expected


def test_s1_all_that_returns_at_its_old_size_takes_nothing_from_what_serves_more() -> None:
    moved = after(PRIMARY_AND_BACKUP, decide(PRIMARY_AND_BACKUP, dead("a"), dead("b"), *BACKUP), "t1")
    scaled = msgspec.structs.replace(moved.spec, replicas=5, clusters=targets(c=5, d=5))
    bound = msgspec.structs.replace(moved, spec=scaled)
    alive = (cluster("a"), cluster("b"), *BACKUP)
    serving = decide(bound, *alive, copies=works({"a": 2, "b": 2, "c": 5, "d": 4}), seconds=400)
    assert (serving.withdrawn, names(serving)) == ((), ["c", "d"])
    failing = decide(bound, *alive, copies=works({"a": 2, "b": 2, "c": 0, "d": 0}), seconds=400)
    assert [(target.name, target.replicas) for target in failing.clusters] == [("a", 5), ("b", 5)]
