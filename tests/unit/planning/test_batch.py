"""Bindings decided in one batch: none gets what is reserved for another, and alone each gets what it gets alone."""

import random
from collections import Counter
from collections.abc import Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kubeapi.meta import ObjectMeta
from leeward.api.cluster import Cluster
from leeward.api.work import (
    Binding,
    BindingSchedulePriority,
    ResourceBinding,
    ResourceBindingSpec,
    ResourceBindingStatus,
    TargetCluster,
)
from leeward.core.placement import Decision, PlacementSettings, Snapshot, decide
from leeward.core.scheduling import Placed, schedule
from leeward.planning import Fleet, plan
from leeward.planning.batch import priority_of, turn_of, urgency
from tests.builders import NOW, binding, dead, divided
from tests.placements import binding_spec, cluster, fleets, specs, task

SETTINGS = PlacementSettings()
DYNAMIC = {
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }
}


def stored(name: str, spec: ResourceBindingSpec, priority: int = 0) -> ResourceBinding:
    spec = msgspec.structs.replace(spec, schedule_priority=BindingSchedulePriority(priority))
    return ResourceBinding(metadata=ObjectMeta(name=name, namespace="default", generation=1), spec=spec)


def planned(clusters: Sequence[Cluster], bindings: dict[str, ResourceBinding]) -> dict[str, Decision]:
    fleet = Fleet(clusters)
    return plan(fleet, bindings, lambda _, each: decide(Snapshot(each, fleet, settings=SETTINGS, now=NOW)))


def replicas(decision: Decision) -> dict[str, int]:
    return {target.name: target.replicas for target in decision.clusters}


@given(specs, fleets)
def test_one_binding_gets_in_a_batch_what_it_gets_alone(spec: ResourceBindingSpec, clusters: list[Cluster]) -> None:
    alone = stored("a", spec)
    assert planned(clusters, {"a": alone})["a"] == decide(Snapshot(alone, Fleet(clusters), settings=SETTINGS, now=NOW))


many = st.lists(st.tuples(specs, st.integers(0, 3)), min_size=2, max_size=6)


@given(many, fleets, st.randoms(use_true_random=False))
def test_the_order_in_which_bindings_come_does_not_matter(
    asked: list[tuple[ResourceBindingSpec, int]], clusters: list[Cluster], shuffler: random.Random
) -> None:
    bindings = {f"b{n}": stored(f"b{n}", spec, priority) for n, (spec, priority) in enumerate(asked)}
    shuffled = list(bindings.items())
    shuffler.shuffle(shuffled)
    assert planned(clusters, dict(shuffled)) == planned(clusters, bindings)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=12), st.lists(st.integers(0, 25), min_size=1, max_size=5))
def test_reservations_never_exceed_capacity(wanted: list[int], pods: list[int]) -> None:
    clusters = [cluster(f"m{n}", pods=room) for n, room in enumerate(pods)]
    bindings = {f"b{n}": stored(f"b{n}", binding_spec(DYNAMIC, count)) for n, count in enumerate(wanted)}
    decisions = planned(clusters, bindings)
    taken = Counter[str]()
    for decision in decisions.values():
        taken.update(replicas(decision))
    assert all(taken[each.name] <= room for each, room in zip(clusters, pods, strict=True))
    unplaced = [name for name, decision in decisions.items() if not isinstance(decision.result, Placed)]
    assert all(bindings[name].spec.replicas > sum(pods) - taken.total() for name in unplaced)


def test_the_most_urgent_binding_gets_the_last_room() -> None:
    bindings = {name: stored(name, binding_spec(DYNAMIC, 6), rank) for name, rank in (("low", 1), ("high", 9))}
    decisions = planned([cluster("m1", pods=8)], bindings)
    assert replicas(decisions["high"]) == {"m1": 6}
    assert replicas(decisions["low"]) == {}


def test_the_bindings_of_a_dead_cluster_do_not_pile_onto_one_survivor() -> None:
    clusters = [dead("m0", since=-900), *(cluster(f"m{n}", pods=40) for n in range(1, 5))]
    asked = {f"b{n}": stored(f"b{n}", binding_spec(DYNAMIC, 4, {"m0": 4})) for n in range(40)}
    decisions = planned(clusters, asked)
    taken = Counter[str]()
    for decision in decisions.values():
        assert [eviction.cluster for eviction in decision.evicted] == ["m0"]
        taken.update(replicas(decision))
    assert taken == {"m1": 40, "m2": 40, "m3": 40, "m4": 40}


def test_a_reservation_is_kept_until_the_cluster_reports_anew() -> None:
    fleet, spec = Fleet([cluster("m1", pods=10)]), binding_spec(DYNAMIC, 6)
    fleet.reserve("default/a", spec, (TargetCluster("m1", 6),))
    assert not isinstance(schedule(spec, ResourceBindingStatus(), fleet.view()), Placed)
    fleet.put(cluster("m1", pods=10, region="elsewhere"))
    assert not isinstance(schedule(spec, ResourceBindingStatus(), fleet.view()), Placed)
    fleet.put(cluster("m1", pods=11))
    assert isinstance(schedule(spec, ResourceBindingStatus(), fleet.view()), Placed)


def test_a_reservation_is_released_when_the_binding_did_not_go_there() -> None:
    fleet, spec = Fleet([cluster("m1", pods=10)]), binding_spec(DYNAMIC, 6)
    there = (TargetCluster("m1", 6),)
    fleet.reserve("default/a", spec, there)
    fleet.release("default/a", unless_at=there)
    assert not isinstance(schedule(spec, ResourceBindingStatus(), fleet.view()), Placed)
    fleet.release("default/a", unless_at=())
    assert isinstance(schedule(spec, ResourceBindingStatus(), fleet.view()), Placed)


def test_no_survivor_shrinks_in_a_failover_also_with_static_weights_c2() -> None:
    clusters = [dead("m0", since=-900), cluster("m1"), cluster("m2"), cluster("m3")]
    before = {"m0": 4, "m1": 1, "m2": 5}
    asked = binding(
        divided({"m0": 1, "m1": 1, "m2": 1, "m3": 1}), 10, tuple(TargetCluster(n, c) for n, c in before.items())
    )
    after = replicas(planned(clusters, {"a": asked})["a"])
    assert sum(after.values()) == 10
    assert all(after[name] >= before[name] for name in ("m1", "m2"))


def test_who_is_more_urgent_is_decided_first_whatever_its_key_is() -> None:
    spec = binding_spec({}, 1)
    named = {"1": ("b", 0), "2": ("a", 0), "3": ("c", 5)}
    bindings = {key: stored(name, spec, priority) for key, (name, priority) in named.items()}
    asked: list[str] = []

    def noted(key: str, each: Binding) -> Decision:
        asked.append(key)
        return Decision(each.spec.clusters, ())

    plan(Fleet([]), bindings, noted)
    assert asked == ["3", "2", "1"]


def test_what_was_decided_and_is_not_written_yet_is_decided_again_in_the_same_room() -> None:
    """Room that is reserved for a binding is its own; and what it has been given is not given to the next."""
    fleet, spec = Fleet([cluster("m1", pods=3)]), binding_spec(DYNAMIC, 3)
    first, second = stored("a", spec), stored("b", spec)

    def placed(*bindings: ResourceBinding) -> list[dict[str, int]]:
        by_name = {each.name: each for each in bindings}
        found = plan(fleet, by_name, lambda _, each: decide(Snapshot(each, fleet, settings=SETTINGS, now=NOW)))
        return [replicas(found[each.name]) for each in bindings]

    assert placed(first) == [{"m1": 3}]
    assert placed(first) == [{"m1": 3}], "it has not been written"
    written = stored("a", binding_spec(DYNAMIC, 3, {"m1": 3}))
    assert placed(written, second) == [{"m1": 3}, {}], "its cluster has not told of it yet"


def test_a_binding_without_a_priority_is_as_urgent_as_one_of_none() -> None:
    without = msgspec.structs.replace(stored("a", binding_spec({}, 1)).spec, schedule_priority=None)
    bare = ResourceBinding(metadata=ObjectMeta(name="z", namespace="default"), spec=without)
    assert priority_of(bare) == 0
    assert sorted([stored("b", without, 1), bare, stored("c", without, -1)], key=urgency)[1] is bare


def test_what_rests_is_decided_after_all_that_does_not_and_each_by_priority() -> None:
    """A process that begins in the middle of a failover looks at everything, and most of that is well."""
    spec = binding_spec(DYNAMIC, 4, clusters=[{"name": "member1", "replicas": 4}])
    placed = ResourceBindingStatus(scheduler_observed_generation=1)
    resting, urgent, unplaced, left, waiting = (
        msgspec.structs.replace(stored(name, each, priority), status=placed)
        for name, each, priority in (
            ("resting", spec, 0),
            ("urgent", spec, 2**31 - 1),
            ("unplaced", msgspec.structs.replace(spec, clusters=()), -(2**31)),
            ("left", msgspec.structs.replace(spec, clusters=(TargetCluster("member2", 4),)), -5),
            (
                "waiting",
                binding_spec(DYNAMIC, 4, clusters=[{"name": "member1"}], gracefulEvictionTasks=[task("member3")]),
                0,
            ),
        )
    )
    changed = msgspec.structs.replace(stored("changed", spec, 7), status=ResourceBindingStatus())
    order = sorted(
        (resting, urgent, unplaced, left, waiting, changed), key=lambda each: turn_of(each, {"member2": None}.keys())
    )
    assert [each.name for each in order] == ["changed", "waiting", "left", "unplaced", "urgent", "resting"]
