"""The check before a decision is written: what is wrong is found by its id, and what is decided is right."""

from dataclasses import replace
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given

from kubeapi.core import Taint
from kubeapi.meta import ObjectMeta
from leeward.api.names import POLICY_TAINTS_ANNOTATION
from leeward.api.policy import ClusterAffinityTerm
from leeward.api.purge_mode import PurgeMode
from leeward.api.work import GracefulEvictionTask, ResourceBinding, ResourceBindingStatus, TargetCluster
from leeward.core.eviction.due_evictions import Eviction
from leeward.core.placement import Decision, PlacementSettings, Snapshot, decide
from leeward.core.placement.check import check, refused
from leeward.core.scheduling import Placed, Unplaceable
from tests.builders import aggregated, at, binding, cluster, dead, divided, duplicated, fleet, targets, works
from tests.outages import Outage, outages

SHARED = binding(divided({"a": 1, "b": 1}), 4, targets(a=2, b=2))
COPIED = binding(duplicated("a", "b"), 2, targets(a=2, b=2))
CLUSTERS = fleet(dead("a"), cluster("b"), cluster("c"))
TAINT = dead("a").spec.taints[-1]


def task(name: str, mode: PurgeMode = PurgeMode.GRACEFULLY) -> GracefulEvictionTask:
    return GracefulEvictionTask(name, "TaintUntolerated", "TaintManager", mode.value)


def moved(*tasks: GracefulEvictionTask, taint: Taint = TAINT, **placed: int) -> Decision:
    """A decision to leave, and to be there."""
    clusters = tuple(TargetCluster(name, replicas) for name, replicas in placed.items())
    evicted = tuple(Eviction(each.from_cluster, (taint,)) for each in tasks)
    return Decision(clusters, tasks, Placed(clusters), evicted=evicted)


def back(*withdrawn: str, **placed: int) -> Decision:
    """A decision that takes back what was evicted."""
    clusters = targets(**placed)
    return Decision(clusters, (), Placed(clusters), withdrawn=withdrawn)


LEFT_TWICE = binding(divided({"a": 1, "b": 1}), 4, targets(a=2, b=2), (task("a"), task("a")))


@pytest.mark.parametrize(
    ("bound", "decision", "found"),
    [
        (SHARED, moved(task("a"), b=4), []),
        (SHARED, moved(task("a"), b=3), ["S3", "S11"]),
        (SHARED, moved(task("a"), b=5), ["S3"]),
        (SHARED, moved(b=5, c=-1), ["S2", "S3"]),
        (SHARED, moved(task("a"), b=2, gone=2), ["S2"]),
        (SHARED, moved(task("a"), b=2, c=2), ["S2"]),
        (SHARED, moved(task("a"), task("a"), b=4), ["C3"]),
        (LEFT_TWICE, moved(task("a"), task("a"), b=4), []),
        (LEFT_TWICE, moved(task("a"), task("a"), task("a"), b=4), ["C3"]),
        (SHARED, moved(task("b"), a=4), ["S11"]),
        (SHARED, moved(task("a"), task("b")), ["S3", "S11", "S11"]),
        (COPIED, moved(task("a"), b=2), ["S12"]),
        (COPIED, moved(task("a"), taint=Taint(key="maintenance", effect="NoExecute"), b=2), []),
        (COPIED, moved(task("a", PurgeMode.DIRECTLY), b=2), []),
        (COPIED, replace(moved(task("a"), b=2), evicted=()), ["S12"]),
        (COPIED, moved(task("b"), a=2, b=3), ["S2", "S12"]),
    ],
)
def test_what_a_decision_would_break_is_found(bound: ResourceBinding, decision: Decision, found: list[str]) -> None:
    assert [each.invariant for each in check(Snapshot(bound, CLUSTERS, now=at(0)), decision)] == found


FLOODED = Taint(key="example.com/flooded", effect="NoExecute")


@pytest.mark.parametrize(("listed", "found"), [("example.com/flooded:NoExecute", ["S12"]), ("", [])])
def test_a_taint_that_a_policy_has_added_is_nobodys_wish_to_lose_a_copy(listed: str, found: list[str]) -> None:
    """S12 excuses what a person has tainted, not what a ClusterTaintPolicy has."""
    metadata = ObjectMeta(name="a", annotations={POLICY_TAINTS_ANNOTATION: listed})
    flooded = msgspec.structs.replace(cluster("a", taints=(FLOODED,)), metadata=metadata)
    snapshot = Snapshot(COPIED, fleet(flooded, cluster("b")), now=at(0))
    assert [each.invariant for each in check(snapshot, moved(task("a"), taint=FLOODED, b=2))] == found


def ended(name: str, **placed: int) -> Decision:
    """A decision that finishes the only eviction."""
    clusters = targets(**placed)
    return Decision(clusters, (), finished=(name,))


@pytest.mark.parametrize(
    ("replicas", "left", "found"),
    [
        (6, task("a"), ["S1"]),
        (4, task("a"), []),
        (6, task("a", PurgeMode.DIRECTLY), []),
        (6, msgspec.structs.replace(task("a"), suppress_deletion=False), []),
    ],
    ids=["missing", "replaced", "purged", "confirmed"],
)
def test_an_eviction_that_ends_while_others_do_not_serve_enough_is_found(
    replicas: int, left: GracefulEvictionTask, found: list[str]
) -> None:
    bound = binding(divided({"a": 1, "b": 1}), replicas, targets(b=4), (left,))
    snapshot = Snapshot(bound, CLUSTERS, works({"a": 2, "b": 4}), now=at(0))
    assert [each.invariant for each in check(snapshot, ended("a", b=4))] == found
    exact = replace(snapshot, settings=PlacementSettings(exact_health=True))
    assert check(exact, ended("a", b=4)) == ()


ENDED = "S1: the copy in a goes, and others do not surely serve all that is asked for"
GIVEN_UP = "S1: b may serve what nobody else surely serves, and is given up"


def test_an_eviction_is_ended_where_it_is_finished_and_not_begun_again() -> None:
    bound = binding(divided({"a": 1, "b": 1}), 6, targets(b=4), (task("a"),))
    snapshot = Snapshot(bound, CLUSTERS, works({"a": 2, "b": 4}), now=at(0))
    assert [str(each) for each in check(snapshot, ended("a", b=4))] == [ENDED]
    again = replace(ended("a", b=4), eviction_tasks=(task("a"),))
    assert check(snapshot, again) == ()
    assert check(snapshot, replace(ended("a", b=4), finished=())) == (), "it was taken back, or given up"


def test_what_a_cluster_that_is_being_deleted_gets_is_found() -> None:
    leaving = msgspec.structs.replace(cluster("c").metadata, deletion_timestamp=at(0))
    clusters = fleet(*CLUSTERS.values(), msgspec.structs.replace(cluster("c"), metadata=leaving))
    bound = binding(divided({"a": 1, "c": 1}), 4, targets(a=4))
    found = check(Snapshot(bound, clusters, now=at(0)), moved(task("a"), c=4))
    assert [str(each) for each in found] == ["S2: c gets replicas, and is not there or being deleted"]


def test_what_leaves_without_a_place_is_found_unless_karmadas_rules_are_asked_for() -> None:
    snapshot = Snapshot(SHARED, CLUSTERS, now=at(0))
    decision = replace(moved(task("a"), b=2), result=Unplaceable("Error", "no room", {}))
    assert {each.invariant for each in check(snapshot, decision)} == {"S11"}
    karmada = replace(snapshot, settings=PlacementSettings(keep_without_place=False))
    assert check(karmada, decision) == ()


ONE = binding(duplicated("a", "b", groups=1), 5, targets(b=5), (task("a"),))


SMALL = binding(duplicated("a", "b", groups=1), 1, targets(b=1), (task("a"),))


@pytest.mark.parametrize(
    ("bound", "ready", "decision", "found"),
    [
        (ONE, {"a": 2, "b": 4}, back("a", a=5), [GIVEN_UP]),
        (ONE, {"a": 2, "b": 2}, back("a", a=5), [GIVEN_UP]),
        (ONE, {"a": 2, "b": 4}, back("a", a=5, b=5), []),
        (ONE, {"a": 2}, back("a", a=5), []),
        (ONE, {"a": 5, "b": 5}, back("a", a=5), ["S1: b is well, and is dropped for what comes back"]),
        (ONE, {"b": 4}, back("a", a=5), [GIVEN_UP]),
        (SMALL, {"a": 1, "b": 2}, back("a", a=1), ["S1: b is well, and is dropped for what comes back"]),
        (COPIED, {"a": 2, "b": 2}, moved(a=2), []),
    ],
    ids=[
        "less",
        "degraded in both",
        "beside it",
        "nothing is known",
        "well",
        "what is not known serves nothing",
        "a Pod beyond the replicas does not count",
        "nothing comes back",
    ],
)
def test_s1_what_comes_back_takes_nothing_from_what_serves(
    bound: ResourceBinding, ready: dict[str, int | None], decision: Decision, found: list[str]
) -> None:
    snapshot = Snapshot(aggregated(bound), fleet(cluster("a"), cluster("b")), works(ready), now=at(60))
    assert [str(each) for each in check(snapshot, decision)] == found


def test_what_is_refused_stays_and_says_why() -> None:
    snapshot = Snapshot(SHARED, CLUSTERS, now=at(0))
    decision = refused(snapshot, check(snapshot, moved(task("a"), b=5)))
    assert (decision.clusters, decision.eviction_tasks, decision.wake_at) == (SHARED.spec.clusters, (), at(60))
    assert isinstance(decision.result, Unplaceable)
    assert "S3: 5 replicas are assigned, 4 are asked for" in decision.result.message


def test_what_is_refused_is_held_as_well() -> None:
    snapshot = Snapshot(SHARED, CLUSTERS, now=at(0))
    held = refused(snapshot, check(snapshot, moved(task("a"), b=5))).held
    assert held is not None
    assert (held.reason, held.status) == ("DecisionRefused", "True")
    assert "S3: 5 replicas are assigned, 4 are asked for" in held.message


@pytest.mark.parametrize(
    ("settings", "foreign", "foreign_held"),
    [
        (PlacementSettings(), False, False),
        (PlacementSettings(place=False, finish=False), True, False),
        (PlacementSettings(evict=False, finish=False), False, True),
        (PlacementSettings(scheduler_name="another"), True, False),
    ],
)
def test_s9_what_is_refused_says_no_more_than_is_its_own_to_say(
    settings: PlacementSettings, foreign: bool, foreign_held: bool
) -> None:
    snapshot = Snapshot(SHARED, CLUSTERS, settings=settings, now=at(0))
    decision = refused(snapshot, check(snapshot, moved(task("a"), b=5)))
    assert (decision.foreign, decision.foreign_held) == (foreign, foreign_held)


@given(outages())
def test_what_is_decided_in_an_outage_breaks_nothing(outage: Outage) -> None:
    snapshot = Snapshot(outage.binding, fleet(*outage.fleet.values()), now=at(10_000))
    assert check(snapshot, decide(snapshot)) == ()


SICK = cluster("c", ready="False")
ANYWHERE = binding(divided({"a": 1, "b": 1, "c": 1}), 4, targets(a=2, b=2))


@pytest.mark.parametrize(
    ("bound", "decision", "said"),
    [
        (SHARED, moved(task("a"), b=5), ["S3: 5 replicas are assigned, 4 are asked for"]),
        (SHARED, moved(b=5, a=-1), ["S3: a is to have -1 replicas"]),
        (SHARED, moved(task("a"), task("a"), b=4), ["C3: a is left 2 times"]),
        (
            SHARED,
            moved(task("a"), task("b")),
            [
                "S3: 0 replicas are assigned, 4 are asked for",
                "S11: a, b is left without a place to go",
                "S11: a, b is left, and 0 of 4 replicas are placed",
            ],
        ),
        (ANYWHERE, moved(task("a"), b=3, c=1), ["S11: a is left for c, which looks dead"]),
        (COPIED, moved(task("a"), b=2), ["S12: a is left, and no cluster is new"]),
        (COPIED, moved(task("a"), task("b"), a=2, b=2), ["S12: a, b is left, and no cluster is new"]),
        (
            COPIED,
            moved(task("b"), a=2, b=3),
            ["S2: b is a target, and is being left", "S12: b is left, and no cluster is new"],
        ),
        (COPIED, moved(a=2, b=2), []),
        (binding(duplicated("b", "c"), 0, targets(b=0)), moved(b=0, c=0), []),
    ],
)
def test_what_is_wrong_is_said_in_words(bound: ResourceBinding, decision: Decision, said: list[str]) -> None:
    clusters = fleet(*CLUSTERS.values(), SICK)
    assert [str(each) for each in check(Snapshot(bound, clusters, now=at(0)), decision)] == said


@pytest.mark.parametrize(
    ("before", "after", "is_conserved"),
    [
        ({"a": 1, "b": 1}, {"b": 4}, True),
        ({"a": 1, "b": 1}, {"b": 2}, True),
        ({"a": 1, "b": 1}, {"b": 3}, False),
        ({"a": 4, "b": 4}, {"b": 8}, True),
        ({"a": 4, "b": 4}, {"b": 4}, True),
    ],
)
def test_what_is_asked_for_or_what_there_was_is_placed(
    before: dict[str, int], after: dict[str, int], is_conserved: bool
) -> None:
    bound = binding(divided({"a": 1, "b": 1}), 4, targets(**before))
    found = check(Snapshot(bound, fleet(cluster("a"), cluster("b")), now=at(0)), moved(**cast(Any, after)))
    assert ("S3" not in [each.invariant for each in found]) == is_conserved


TAINTED = cluster("c", taints=(Taint(key="theirs", effect="NoSchedule"),))


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, ["S2: c is a new target, though: "]),
        ({"withdrawn": ("c",)}, []),
        ({"returning": {"c": 1}}, []),
        ({"withdrawn": ("b",), "returning": {"b": 1}}, ["S2", "S1: b comes back, and is no target"]),
    ],
)
def test_a_copy_that_is_still_there_or_comes_back_is_no_new_target(
    changes: dict[str, object], found: list[str]
) -> None:
    bound = binding(divided({"a": 1, "b": 1, "c": 1}), 4, targets(a=2, b=2))
    clusters = fleet(cluster("a"), cluster("b"), TAINTED)
    told = check(Snapshot(bound, clusters, now=at(0)), replace(moved(a=2, c=2), **changes))  # type: ignore[arg-type]
    assert len(told) == len(found)
    assert all(str(each).startswith(text) for each, text in zip(told, found, strict=True))


def terms(observed: str, **by_term: str) -> ResourceBinding:
    """A binding in `a`, whose affinity terms name one cluster each."""
    named = tuple(ClusterAffinityTerm(affinity_name=term, cluster_names=(name,)) for term, name in by_term.items())
    placement = msgspec.structs.replace(duplicated(), cluster_affinity=None, cluster_affinities=named)
    bound = binding(placement, 2, targets(a=2))
    return msgspec.structs.replace(bound, status=ResourceBindingStatus(scheduler_observing_affinity_name=observed))


@pytest.mark.parametrize(
    ("observed", "result", "is_legal"),
    [
        ("first", Placed(targets(b=2), "second"), True),
        ("second", Placed(targets(b=2), "first"), False),
        ("second", None, True),
        ("first", None, False),
        ("second", Unplaceable("Error", "", {}), True),
    ],
)
def test_a_new_target_is_judged_by_the_term_that_was_found_or_else_observed(
    observed: str, result: Placed | Unplaceable | None, is_legal: bool
) -> None:
    bound = terms(observed, first="a", second="b")
    found = check(Snapshot(bound, fleet(cluster("a"), cluster("b")), now=at(0)), replace(moved(b=2), result=result))
    assert [each.invariant for each in found] == ([] if is_legal else ["S2"])


def test_s1_what_is_well_makes_way_when_its_term_is_left() -> None:
    placement = terms("", first="a", second="b").spec.placement or duplicated()
    bound = aggregated(binding(placement, 2, targets(b=2), (task("a"),)))
    returned = replace(back("a", a=2), result=Placed(targets(a=2), "first"))
    snapshot = Snapshot(bound, fleet(cluster("a"), cluster("b")), works({"a": 2, "b": 2}), now=at(60))
    assert check(snapshot, returned) == ()


def test_what_was_left_is_a_target_again_when_that_has_ended() -> None:
    bound = binding(duplicated("a", "c"), 2, targets(a=2), (task("c"),))
    found = check(Snapshot(bound, fleet(cluster("a"), cluster("c")), now=at(0)), moved(a=2, c=2))
    assert found == ()


def test_a_refusal_names_all_that_is_wrong_and_is_an_error() -> None:
    snapshot = Snapshot(SHARED, CLUSTERS, now=at(0))
    result = refused(snapshot, check(snapshot, moved(task("a"), b=3))).result
    why = "S3: 3 replicas are assigned, 4 are asked for; S11: a is left, and 3 of 4 replicas are placed"
    message = f"the decision was refused, which is a bug of Leeward ({why})"
    assert result == Unplaceable("Error", message, {})
