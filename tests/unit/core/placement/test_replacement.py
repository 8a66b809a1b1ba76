"""Places to which a copy may go: clusters that are asked, and the fate of leaving parts, the held down, the dead."""

from typing import Any, Literal

import msgspec
import pytest

from kubeapi.core import Taint, Toleration
from leeward.api.cluster import Cluster
from leeward.api.names import FLAPPING_TAINT
from leeward.api.policy import ClusterAffinityTerm, Placement, ReplicaSchedulingStrategy, SpreadConstraint
from leeward.api.work import GracefulEvictionTask, ResourceBinding, TargetCluster
from leeward.core.cluster_health.flap_damping import tolerating_hold_down
from leeward.core.placement import Snapshot, decide
from leeward.core.placement.ranks import ClusterRank, candidates, find_replacement, is_copy_lost
from leeward.core.placement.replacement import (
    find_partial_replacement,
    place_anew,
)
from leeward.core.scheduling import Placed, Trace, Unplaceable
from leeward.core.scheduling.reschedule import is_unjoined
from leeward.core.scheduling.selection import is_spread
from leeward.planning import Fleet
from tests.builders import at, binding, cluster, dead, divided, duplicated, fleet, targets
from tests.rooms import AGGREGATED, DYNAMIC, roomy, spread

WELL = cluster("well")
LOST = cluster("lost", taints=(Taint("cluster.karmada.io/not-ready", "NoExecute", time_added=at(0)),))
BY_HAND = cluster("by-hand", taints=(Taint("example.com/maintenance", "NoExecute", time_added=at(0)),))
ALL = fleet(WELL, LOST, BY_HAND)
PLACEMENT = duplicated("well", "lost", "by-hand")


def deleted(there: Cluster) -> Cluster:
    return msgspec.structs.replace(there, metadata=msgspec.structs.replace(there.metadata, deletion_timestamp=at(0)))


def held_down(name: str) -> Cluster:
    return cluster(name, taints=(Taint(FLAPPING_TAINT, "NoSchedule", time_added=at(0)),))


def leaving(name: str, replicas: int | None = None) -> GracefulEvictionTask:
    return GracefulEvictionTask(
        name, "TaintUntolerated", "TaintManager", "Gracefully", replicas=replicas, creation_timestamp=at(0)
    )


def found(result: Placed | Unplaceable | None) -> dict[str, int] | None:
    return {target.name: target.replicas for target in result.clusters} if isinstance(result, Placed) else None


@pytest.mark.parametrize("as_arrays", [False, True])
@pytest.mark.parametrize(
    ("placement", "held", "seconds", "but", "names"),
    [
        (PLACEMENT, {}, 299, (), ["by-hand", "lost", "well"]),
        (PLACEMENT, {}, 300, (), ["by-hand", "well"]),
        (PLACEMENT, {"lost": 1}, 300, (), ["by-hand", "lost", "well"]),
        (PLACEMENT, {"lost": 1}, 300, ("lost", "elsewhere"), ["by-hand", "well"]),
        (PLACEMENT, {"well": 1}, 299, ("well",), ["by-hand", "lost"]),
        (None, {}, 300, (), ["by-hand", "lost", "well"]),
    ],
    ids=["in time", "its time is over", "it is there", "there and barred", "barred", "without a placement"],
)
def test_c1_asked_is_who_would_not_have_to_be_left_again_at_once(
    placement: Placement | None,
    held: dict[str, int],
    seconds: float,
    but: tuple[str, ...],
    names: list[str],
    *,
    as_arrays: bool,
) -> None:
    spec = msgspec.structs.replace(binding(PLACEMENT, 1, targets(**held)).spec, placement=placement)
    clusters = Fleet(ALL.values()) if as_arrays else ALL
    assert [there.name for there in candidates(spec, clusters, at(seconds), but)] == names


def test_arrays_tell_bindings_apart_that_tolerate_different_things() -> None:
    clusters = Fleet(ALL.values())
    patient = binding(PLACEMENT, 1).spec
    impatient = msgspec.structs.replace(
        PLACEMENT, cluster_tolerations=(Toleration(operator="Exists", toleration_seconds=9),)
    )
    assert len(candidates(patient, clusters, at(100))) == 3
    assert [c.name for c in candidates(binding(impatient, 1).spec, clusters, at(100))] == ["well"]
    assert len(candidates(patient, clusters, at(100))) == 3


SHARES = divided({"a": 1, "b": 1, "c": 1})
SUSPECTED = {"b": ClusterRank.KEPT}


def of(placement: Placement, replicas: int, *tasks: GracefulEvictionTask, **held: int) -> ResourceBinding:
    return binding(placement, replicas, targets(**held), tasks)


def anew(bound: ResourceBinding, *clusters: Cluster, tried: tuple[str, ...] = ()) -> Placed | Unplaceable:
    return place_anew(bound, bound.spec, fleet(*clusters), at(10), dict.fromkeys(tried, ClusterRank.TRIED))


FADING = cluster("z", taints=LOST.spec.taints)
"""A cluster that nobody asks for, and whose taints are tolerated for a while."""
A, B, C = cluster("a"), cluster("b"), cluster("c")


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        (of(SHARES, 6, leaving("a", 1), a=2), {"a": 2, "b": 2, "c": 2}),
        (of(SHARES, 3, leaving("a", 1), leaving("b", 1), b=1, a=2), {"a": 2, "b": 1}),
        (of(SHARES, 6, a=2), {"a": 2, "b": 2, "c": 2}),
        (of(SHARES, 6, leaving("a", 1)), {"b": 3, "c": 3}),
        (of(duplicated("a", "b", "c"), 2, leaving("a"), a=2), {"b": 2, "c": 2}),
    ],
    ids=["a part", "parts are all that is asked for", "nothing is leaving", "all of it is leaving", "a whole copy"],
)
def test_a_target_of_which_a_part_is_leaving_keeps_the_other_part_and_gets_no_more(
    bound: ResourceBinding, expected: dict[str, int]
) -> None:
    assert found(anew(bound, A, B, C)) == expected


def test_where_parts_are_all_that_is_asked_for_the_term_stays_and_they_come_in_order() -> None:
    bound = of(SHARES, 3, leaving("a", 1), leaving("b", 1), b=1, a=2)
    bound = msgspec.structs.replace(
        bound, status=msgspec.structs.replace(bound.status, scheduler_observing_affinity_name="primary")
    )
    assert anew(bound) == Placed((TargetCluster("a", 2), TargetCluster("b", 1)), "primary")


def test_parts_that_are_more_than_is_asked_for_are_divided_afresh() -> None:
    assert found(anew(of(SHARES, 2, leaving("a", 1), a=3), A, B, C)) == {"b": 1, "c": 1}


def test_nothing_new_goes_where_it_was_in_vain_unless_nobody_else_takes_it() -> None:
    one = duplicated("a", "b", groups=1)
    assert found(anew(of(one, 1), A, B)) == {"a": 1}
    assert found(anew(of(one, 1), A, B, tried=("a",))) == {"b": 1}
    assert found(anew(of(one, 1), A, FADING, tried=("a",))) == {"a": 1}
    assert found(anew(of(one, 1, a=1), A, B, tried=("a",))) == {"a": 1}, "what is there may stay"
    both = of(SHARES, 4, a=2)
    assert found(anew(both, A, B, tried=("a",))) == {"a": 2, "b": 2}


def test_c1_what_is_held_down_is_a_last_resort() -> None:
    one = duplicated("a", "b", groups=1)
    assert found(anew(of(one, 1), held_down("a"), B)) == {"b": 1}
    assert found(anew(of(one, 1), held_down("a"), dead("b"))) == {"a": 1}
    refused = anew(of(one, 1), dead("a"), dead("b"))
    assert isinstance(refused, Unplaceable)
    maintained = cluster("a", taints=(*held_down("a").spec.taints, Taint("example.com/x", "NoSchedule")))
    assert isinstance(anew(of(one, 1), maintained), Unplaceable), "nobody tolerates its other taint"
    assert found(anew(of(one, 1), held_down("a"), FADING)) == {"a": 1}


def test_to_tolerate_the_hold_down_changes_nothing_else() -> None:
    spec = of(SHARES, 3, a=3).spec
    tolerant = tolerating_hold_down(spec)
    assert tolerant.placement is not None
    assert tolerant.placement.cluster_tolerations == (
        *SHARES.cluster_tolerations,
        Toleration(key=FLAPPING_TAINT, operator="Exists"),
    )
    assert msgspec.structs.replace(tolerant, placement=SHARES) == spec
    bare = tolerating_hold_down(msgspec.structs.replace(spec, placement=None))
    assert bare.placement == Placement(cluster_tolerations=(Toleration(key=FLAPPING_TAINT, operator="Exists"),))


def place_of(bound: ResourceBinding, *clusters: Cluster, **how: Any) -> Placed | Unplaceable:
    return find_replacement(bound, bound.spec, fleet(*clusters), at(10), **how)


def test_c1_a_failover_goes_to_what_is_held_down_only_as_a_last_resort() -> None:
    left = of(SHARES, 3, leaving("a", 3))
    assert isinstance(place_of(left, dead("a"), held_down("b")), Unplaceable)
    assert found(place_of(left, dead("a"), held_down("b"), FADING, upto=ClusterRank.HELD_DOWN)) == {"b": 3}
    assert found(place_of(left, dead("a"), held_down("b"), C, upto=ClusterRank.HELD_DOWN)) == {"c": 3}


@pytest.mark.parametrize(
    ("bound", "clusters", "how", "expected"),
    [
        (of(SHARES, 6, leaving("a", 2), b=2, c=2), (dead("a"), B, C), {}, {"b": 3, "c": 3}),
        (of(SHARES, 6, leaving("a", 2), b=2, c=2), (dead("a"), dead("b"), C), {}, {"b": 2, "c": 4}),
        (of(SHARES, 6, leaving("a", 2), b=2, c=2), (dead("a"), B, C), {"ranks": SUSPECTED}, {"b": 2, "c": 4}),
        (of(SHARES, 6, leaving("a", 2), b=2, c=2), (dead("a"), C), {}, {"b": 2, "c": 4}),
        (of(SHARES, 6, leaving("a", 2), b=2, c=2), (dead("a"), deleted(B), C), {}, {"b": 2, "c": 4}),
        (of(SHARES, 6, leaving("a", 2), b=4), (dead("a"), dead("b"), dead("c")), {}, None),
        (of(SHARES, 6, leaving("a", 2), b=4), (dead("a"), B), {"ranks": SUSPECTED}, None),
        (of(SHARES, 3, leaving("a", 3)), (dead("a"), cluster("b", ready="False"), C), {}, {"c": 3}),
        (of(SHARES, 3, leaving("a", 3)), (dead("a"), cluster("b", ready="False")), {}, None),
    ],
    ids=[
        "all are well", "a target is lost", "a target is suspected", "a target is not listed", "one is being deleted",
        "nobody is left", "only excluded ones are left", "one looks dead without a taint", "nothing but that",
    ],
)  # fmt: skip
def test_what_leaves_finds_its_place_among_those_that_live_and_the_others_keep_what_they_have(
    bound: ResourceBinding, clusters: tuple[Cluster, ...], how: dict[str, object], expected: dict[str, int] | None
) -> None:
    result = place_of(bound, *clusters, **how)
    assert found(result) == expected
    if isinstance(result, Placed):
        assert [target.name for target in result.clusters] == sorted(expected or {})


WIDER = divided({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1})


@pytest.mark.parametrize("strategy", [DYNAMIC, AGGREGATED])
def test_c2_a_target_of_which_a_part_is_leaving_keeps_the_other_part_in_a_failover(
    strategy: ReplicaSchedulingStrategy,
) -> None:
    bound = of(Placement(replica_scheduling=strategy), 4, leaving("c", 1), a=1, c=2)
    alive = [roomy(cluster(name), 9) for name in "abc"]
    placed = found(place_of(bound, *alive))
    assert placed is not None
    assert placed["c"] == 2, "neither less, nor more"
    assert sum(placed.values()) == 4


def test_s2_what_keeps_its_place_fills_its_groups() -> None:
    unseen = cluster("b", ready="False", region="x")
    there = cluster("c", region="y")
    assert found(place_of(of(constrained(2, 2), 1, leaving("a"), b=1), dead("a"), unseen, there)) == {"b": 1, "c": 1}
    by_region = of(constrained(2, 2, "region"), 1, leaving("a"), b=1)
    assert found(place_of(by_region, dead("a"), unseen, there)) == {"b": 1, "c": 1}
    beside = cluster("d", region="x")
    assert found(place_of(by_region, dead("a"), unseen, there, beside)) == {"b": 1, "c": 1}
    assert found(place_of(by_region, dead("a"), unseen, beside)) is None, "both are in one region"
    one_region = of(constrained(1, 1, "region"), 1, leaving("a"), b=1)
    assert found(place_of(one_region, dead("a"), unseen, there)) is None, "it would be in a second one"
    three = of(constrained(3, 3, "region"), 1, leaving("a"), b=1)
    assert found(place_of(three, dead("a"), unseen, there)) is None, "there is no third one"


def test_what_is_kept_in_a_lost_cluster_is_no_part_of_what_the_others_hold() -> None:
    left = spread(DYNAMIC, {"b": 2, "c": 2})
    left = msgspec.structs.replace(left, spec=msgspec.structs.replace(left.spec, replicas=6))
    assert found(place_of(left, cluster("b", ready="False"), roomy(C, 2))) == {"b": 2, "c": 4}
    assert found(place_of(left, cluster("b", ready="False"), roomy(C, 1), roomy(cluster("d"), 1))) == {
        "b": 2,
        "c": 3,
        "d": 1,
    }


def test_c2_where_one_turns_out_to_look_dead_the_others_still_keep_what_they_have() -> None:
    unseen = cluster("d", ready="False")
    lost_too = of(WIDER, 6, leaving("a", 2), b=2, c=2)
    assert found(place_of(lost_too, dead("a"), cluster("b", ready="False"), C, unseen, FADING)) == {"b": 2, "c": 4}
    uneven = of(WIDER, 6, leaving("a", 2), c=4)
    assert found(place_of(uneven, dead("a"), C, unseen, cluster("e"), FADING)) == {"c": 4, "e": 2}


def test_c2_no_survivor_is_left_beside_what_is_kept_in_a_lost_cluster() -> None:
    """A constraint that was narrowed leaves no room for both survivors; what is kept gives none of them up."""
    narrow = SpreadConstraint(spread_by_field="cluster", min_groups=1, max_groups=2)
    bound = spread(DYNAMIC, {"b": 4, "c": 1, "d": 1})
    placement = msgspec.structs.replace(bound.spec.placement or Placement(), spread_constraints=(narrow,))
    bound = msgspec.structs.replace(bound, spec=msgspec.structs.replace(bound.spec, replicas=7, placement=placement))
    refused = place_of(bound, cluster("b", ready="False"), roomy(C, 9), roomy(cluster("d"), 8))
    assert isinstance(refused, Unplaceable)
    assert refused.message == "the placement could only be met by taking replicas from d"


def in_terms(placement: Placement, *terms: str) -> Placement:
    named = tuple(ClusterAffinityTerm(affinity_name=names, cluster_names=tuple(names)) for names in terms)
    return msgspec.structs.replace(placement, cluster_affinity=None, cluster_affinities=named)


UNSEEN = cluster("a", ready="False")


@pytest.mark.parametrize(
    ("bound", "how", "expected"),
    [
        (of(in_terms(duplicated(), "ab", "cd"), 2, a=2), {}, {"c": 2, "d": 2}),
        (of(in_terms(duplicated(), "ab", "acd"), 2, a=2), {}, {"a": 2, "c": 2, "d": 2}),
        (of(in_terms(duplicated(), "ab", "cde"), 2, a=2, e=2), {}, {"c": 2, "d": 2, "e": 2}),
        (of(in_terms(SHARES, "ab", "cd"), 4, a=2), {}, {"c": 4}),
        (of(in_terms(SHARES, "ab", "cd"), 4, a=2), {"ranks": {"a": ClusterRank.OWN}}, {"a": 2, "c": 2}),
        (of(in_terms(duplicated(), "ab", "cd"), 2, a=2), {"ranks": {"c": ClusterRank.KEPT}}, {"d": 2}),
    ],
    ids=["a copy", "it is in both", "another is in the second", "a share", "what stays in any case", "not everywhere"],
)
def test_s2_what_is_lost_is_kept_where_the_term_of_the_new_place_has_it(
    bound: ResourceBinding, how: dict[str, object], expected: dict[str, int]
) -> None:
    result = place_of(bound, UNSEEN, dead("b"), C, cluster("d"), cluster("e", ready="False"), **how)
    assert found(result) == expected


def told(bound: ResourceBinding, *clusters: Cluster, is_anew: bool = False, **how: Any) -> list[str]:
    """Terms that a trace was told of, in their order."""
    trace, ask = Trace(), place_anew if is_anew else find_replacement
    ask(bound, bound.spec, fleet(*clusters), at(10), trace=trace, **how)
    return [term.affinity_name for term in trace.terms]


def test_each_question_that_is_asked_is_told() -> None:
    one = duplicated("a", "b", groups=1)
    assert len(told(of(one, 1), A, FADING, is_anew=True, ranks={"a": ClusterRank.TRIED})) == 2, (
        "where it was tried in vain, too"
    )
    assert len(told(of(one, 1), held_down("a"), dead("b"), is_anew=True)) == 2, "what is held down, too"
    lost = of(SHARES, 3, leaving("a", 3))
    assert len(told(lost, dead("a"), held_down("b"), upto=ClusterRank.HELD_DOWN)) == 2
    assert len(told(lost, dead("a"), cluster("b", ready="False"), C)) == 2, "one turned out to look dead"
    assert len(told(of(in_terms(duplicated(), "ab", "cd"), 2, a=2), UNSEEN, dead("b"), C, cluster("d"))) == 4


def test_s11_that_nobody_lives_is_no_result_and_says_so() -> None:
    lost = place_of(of(duplicated("a", "b"), 2, a=2), dead("a"))
    assert isinstance(lost, Unplaceable)
    refused = Unplaceable("Error", "no cluster that is alive would hold a copy", {})
    assert place_of(spread(DYNAMIC, {"a": 2}), dead("a"), roomy(B, 0)) == refused
    for wanted in (2, 1):
        assert place_of(of(SHARES, wanted, a=2), dead("a"), B) == refused, "what is lost would be all that there is"


def test_s3_a_drain_does_not_leave_the_lost_as_all_that_is_asked_for_beside_targets_of_none() -> None:
    """Scaled down at the same instant: `b` left, what was in the dead `a` was kept, and others got no replicas."""
    drained = cluster("b", taints=(Taint("leeward.dev/drain", "NoExecute", time_added=at(0)),))
    bound = binding(divided({"a": 1, "b": 1, "c": 1}), 2, targets(a=2, b=3))
    decision = decide(Snapshot(bound, fleet(dead("a"), drained, C), now=at(10)))
    assert all(target.replicas for target in decision.clusters)
    assert sum(target.replicas for target in decision.clusters) == 2
    assert decision.eviction_tasks == ()
    assert decision.held is not None
    assert decision.held.reason == "NoPlaceToGo"


def constrained(least: int, most: int, field: Literal["cluster", "region"] = "cluster") -> Placement:
    constraint = SpreadConstraint(spread_by_field=field, min_groups=least, max_groups=most)
    return msgspec.structs.replace(duplicated("a", "b", "c", "d"), spread_constraints=(constraint,))


@pytest.mark.parametrize(
    ("least", "most", "staying", "expected"),
    [
        (2, 2, (), {"b": 1, "c": 1}),
        (1, 2, (), {"b": 1, "c": 1}),
        (3, 3, (), {"b": 1, "c": 1, "d": 1}),
        (1, 1, ("b",), None),
        (2, 3, ("b",), {"b": 1, "c": 1, "d": 1}),
    ],
    ids=["the dead is one of two", "at most two", "of three", "no room", "room"],
)
def test_s2_what_keeps_its_place_counts_for_the_groups_unless_it_is_to_leave(
    least: int, most: int, staying: tuple[str, ...], expected: dict[str, int] | None
) -> None:
    """`b` is dead and keeps its copy."""
    left = of(constrained(least, most), 1, leaving("a"), b=1)
    clusters = (dead("a"), cluster("b", ready="False"), C, cluster("d"))
    assert found(place_of(left, *clusters, ranks=dict.fromkeys(staying, ClusterRank.OWN))) == expected


@pytest.mark.parametrize(
    ("constraint", "regions", "expected"),
    [
        ((1, 2, "cluster"), ("x", "x"), True),
        ((2, 2, "cluster"), ("x", "x"), True),
        ((3, 3, "cluster"), ("x", "x"), False),
        ((1, 1, "cluster"), ("x", "x"), False),
        ((1, 0, "cluster"), ("x", "x"), True),
        ((1, 1, "region"), ("x", "x"), True),
        ((2, 2, "region"), ("x", "x"), False),
        ((2, 2, "region"), ("x", "y"), True),
        ((1, 1, "region"), ("x", "y"), False),
        ((1, 0, "region"), ("x", "y"), True),
        ((2, 2, "region"), ("x", ""), False),
    ],
)
def test_s2_targets_are_spread_when_each_constraint_has_as_many_groups_as_it_asks_for(
    constraint: tuple[int, int, Literal["cluster", "region"]], regions: tuple[str, str], *, expected: bool
) -> None:
    spec = of(constrained(*constraint), 1, a=1, b=1, elsewhere=1).spec
    clusters = fleet(cluster("a", region=regions[0]), cluster("b", region=regions[1]), cluster("c", region="z"))
    assert is_spread(spec, clusters) is expected


def test_static_weights_ask_for_no_groups_as_in_karmada() -> None:
    constraint = SpreadConstraint(spread_by_field="cluster", min_groups=3, max_groups=3)
    static = msgspec.structs.replace(SHARES, spread_constraints=(constraint,))
    assert is_spread(of(static, 2, a=2).spec, fleet(A))


@pytest.mark.parametrize(
    ("there", "died", "goes"),
    [
        (A, False, False),
        (dead("a"), True, False),
        (cluster("a", ready="Unknown"), True, False),
        (deleted(A), True, True),
        (None, True, True),
    ],
)
def test_a_copy_counts_as_lost_where_its_cluster_is_or_goes(there: Cluster | None, *, died: bool, goes: bool) -> None:
    assert (is_copy_lost(there), is_unjoined(there)) == (died, goes)


def part_of(
    bound: ResourceBinding, gone: tuple[str, ...], *clusters: Cluster, **how: ClusterRank
) -> tuple[object, object]:
    part = find_partial_replacement(bound, bound.spec, gone, fleet(*clusters), at(10), **how)
    return (None, None) if part is None else (found(part[0]), dict(part[1]))


@pytest.mark.parametrize("room", range(7))
def test_s11_a_part_is_as_large_as_the_room_that_there_is(room: int) -> None:
    bound = spread(DYNAMIC, {"a": 7, "b": 1})
    expected = ({"a": 7 - room, "b": 1 + room}, {"a": 7 - room}) if room else (None, None)
    assert part_of(bound, ("a",), dead("a"), roomy(B, room)) == expected


def test_s11_what_stays_of_several_stays_in_those_that_live_by_name() -> None:
    bound = spread(AGGREGATED, {"b": 2, "a": 2, "c": 2, "d": 1})
    assert part_of(bound, ("a", "b", "c"), dead("a"), B, C, roomy(cluster("d"), 3)) == (
        {"b": 2, "c": 1, "d": 4},
        {"b": 2, "c": 1},
    )


def test_a_whole_copy_moves_in_no_parts() -> None:
    assert part_of(of(duplicated("a", "b"), 7, a=7), ("a",), dead("a"), roomy(B, 3)) == (None, None)


def test_a_part_goes_to_what_is_held_down_only_as_a_last_resort() -> None:
    bound = spread(DYNAMIC, {"a": 5})
    shaky = roomy(held_down("b"), 2)
    assert part_of(bound, ("a",), dead("a"), shaky) == (None, None)
    assert part_of(bound, ("a",), dead("a"), shaky, upto=ClusterRank.HELD_DOWN) == ({"a": 3, "b": 2}, {"a": 3})
