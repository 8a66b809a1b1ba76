"""Binding whose copies leave clusters: the targets that stay, and the tasks that say what leaves."""

from functools import partial

import msgspec
import pytest

from leeward.api.policy import ClusterFailover, FailoverBehavior, StatePreservation, StatePreservationRule
from leeward.api.purge_mode import PurgeMode
from leeward.api.work import (
    AggregatedStatusItem,
    GracefulEvictionTask,
    ResourceBinding,
    ResourceBindingSpec,
    ResourceBindingStatus,
    TargetCluster,
)
from leeward.core.eviction.due_evictions import Eviction
from leeward.core.eviction.state_preservation import StateNotPreserved
from leeward.core.eviction.tasks import (
    TaskReason,
    ended_by_a_person,
    eviction_task,
    following_task,
    leave,
    leave_further,
    leave_term,
    own_task,
)
from tests.builders import at, binding, divided, targets

SHARES = divided({"m1": 1, "m2": 1, "m3": 1})


def task(name: str, replicas: int | None = None, seconds: float = 0, **fields: object) -> GracefulEvictionTask:
    opened = GracefulEvictionTask(
        name, "TaintUntolerated", "TaintManager", "Gracefully", creation_timestamp=at(seconds)
    )
    return msgspec.structs.replace(opened, replicas=replicas, **fields)


def placed(*tasks: GracefulEvictionTask, **replicas: int) -> ResourceBindingSpec:
    return binding(SHARES, sum(replicas.values()), targets(**replicas), tasks).spec


def kept(spec: ResourceBindingSpec) -> dict[str, int]:
    return {target.name: target.replicas for target in spec.clusters}


@pytest.mark.parametrize(
    ("staying", "clusters", "opened"),
    [
        ({}, {"m2": 2, "m3": 1}, [task("m1", 5)]),
        ({"m1": 2}, {"m1": 2, "m2": 2, "m3": 1}, [task("m1", 3)]),
        ({"m1": 5}, {"m1": 5, "m2": 2, "m3": 1}, [task("m1")]),
        ({"m2": 1}, {"m2": 1, "m3": 1}, [task("m1", 5)]),
    ],
    ids=["all of it", "a part", "nothing", "another's part"],
)
def test_what_leaves_gets_a_task_that_says_how_many_and_what_stays_remains_a_target(
    staying: dict[str, int], clusters: dict[str, int], opened: list[GracefulEvictionTask]
) -> None:
    left = leave(placed(m1=5, m2=2, m3=1), [task("m1")], staying)
    assert (kept(left), list(left.graceful_eviction_tasks)) == (clusters, opened)


def test_a_target_whose_number_stays_keeps_all_that_is_said_of_it() -> None:
    spec = placed(m1=5, m2=2)
    left = leave(spec, [task("m1")], {"m1": 5})
    assert left.clusters == spec.clusters


def test_what_is_no_target_or_is_being_left_opens_no_task() -> None:
    before = task("m2", 1, seconds=-60)
    left = leave(placed(before, m1=5, m2=2), [task("m1"), task("m2"), task("m4")])
    assert kept(left) == {}
    assert left.graceful_eviction_tasks == (before, task("m1", 5))


@pytest.mark.parametrize(
    ("before", "staying", "joint"),
    [
        (task("m1", 2, seconds=-60), {}, task("m1", 7)),
        (task("m1", 2, seconds=-60), {"m1": 4}, task("m1", 3)),
        (task("m1", None, seconds=-60), {}, task("m1", 5)),
        (task("m1", None, seconds=-60), {"m1": 5}, task("m1", None)),
    ],
    ids=["the rest follows", "more follows", "of unknown size", "nothing follows"],
)
def test_what_follows_a_part_that_is_leaving_joins_its_task_whose_time_begins_anew(
    before: GracefulEvictionTask, staying: dict[str, int], joint: GracefulEvictionTask
) -> None:
    other = task("m9", 1, seconds=-90)
    left = leave_further(placed(other, before, m1=5, m2=2), [task("m1"), task("m2")], staying)
    assert left.graceful_eviction_tasks == (other, joint, task("m2", 2))
    assert kept(left) == staying


def test_a_task_of_what_is_no_target_any_more_stays_as_it_is() -> None:
    before = task("m1", 2, seconds=-60)
    left = leave_further(placed(before, m2=2), [task("m1")])
    assert (kept(left), left.graceful_eviction_tasks) == ({"m2": 2}, (before,))


def test_s1_what_is_well_leaves_its_term_as_gracefully_as_what_is_lost() -> None:
    lost = task("m1", 5, purge_mode="Gracefully", preserved_label_state={"job": "42"})
    task_of = partial(following_task, followed=lost, one_writer=False)
    left, behind = leave_term(placed(lost, m2=2, m3=1), [TargetCluster("m3", 8)], task_of)
    assert (kept(left), behind) == ({"m3": 1}, ("m2",))
    follows = msgspec.structs.replace(lost, from_cluster="m2", reason="AffinityTermLeft", replicas=2)
    assert left.graceful_eviction_tasks == (lost, follows)
    same, nobody = leave_term(placed(lost, m2=2), [TargetCluster("m2", 7)], task_of)
    assert (kept(same), nobody, same.graceful_eviction_tasks) == ({"m2": 2}, (), (lost,))


@pytest.mark.parametrize(
    ("lost", "one_writer", "follows"),
    [
        ("Directly", False, "Gracefully"),
        ("Directly", True, "Directly"),
        ("Gracefully", False, "Gracefully"),
        ("Never", False, "Never"),
    ],
)
def test_s1_what_is_well_is_not_purged_with_what_is_lost(lost: str, one_writer: bool, follows: str) -> None:
    following = following_task("m2", task("m1", 5, purge_mode=lost), one_writer=one_writer)
    assert (following.from_cluster, following.purge_mode) == ("m2", follows)


def test_a_stalled_target_is_left_in_the_name_of_leeward() -> None:
    assert own_task("m1", TaskReason.REPLACEMENT_FAILED, PurgeMode.DIRECTLY, at(60)) == GracefulEvictionTask(
        "m1", "ReplacementFailed", "Leeward", "Directly", creation_timestamp=at(60)
    )


def stateful(*reported: AggregatedStatusItem, preserves: bool = True) -> ResourceBinding:
    rules = (StatePreservationRule("job", "{ .job.id }"),)
    preservation = StatePreservation(rules) if preserves else None
    failover = FailoverBehavior(cluster=ClusterFailover("Directly", preservation))
    bound = binding(SHARES, 5, targets(m1=3, m2=2), failover=failover)
    return msgspec.structs.replace(bound, status=ResourceBindingStatus(aggregated_status=reported))


REPORTS = (
    AggregatedStatusItem(cluster_name="m2", status={"job": {"id": "7"}}),
    AggregatedStatusItem(cluster_name="m1", status={"job": {"id": "42"}}),
)


def test_the_task_of_a_taint_carries_the_state_of_the_copy_that_leaves_and_where_it_came_from() -> None:
    assert eviction_task(stateful(*REPORTS), Eviction("m1"), PurgeMode.DIRECTLY, at(60)) == GracefulEvictionTask(
        "m1",
        "TaintUntolerated",
        "TaintManager",
        "Directly",
        creation_timestamp=at(60),
        preserved_label_state={"job": "42"},
        clusters_before_failover=("m1", "m2"),
    )


def test_where_no_state_is_to_be_preserved_the_task_carries_none() -> None:
    plain = GracefulEvictionTask("m1", "TaintUntolerated", "TaintManager", "Gracefully", creation_timestamp=at(60))
    for bound in (stateful(*REPORTS, preserves=False), binding(SHARES, 5, targets(m1=3, m2=2))):
        assert eviction_task(bound, Eviction("m1"), PurgeMode.GRACEFULLY, at(60)) == plain


def test_a_state_that_was_not_reported_is_not_taken_from_another_copy() -> None:
    with pytest.raises(StateNotPreserved, match="the label job: the status in m1 has not been collected yet"):
        eviction_task(stateful(REPORTS[0]), Eviction("m1"), PurgeMode.DIRECTLY, at(60))


def test_a_state_that_an_earlier_failover_has_brought_goes_on_with_the_copy() -> None:
    """The copy came from `m9` to `m1`, which has never reported one of its own."""
    earlier = (
        task("m8", preserved_label_state={"job": "7"}, clusters_before_failover=("m7",)),
        task("m9", preserved_label_state={"job": "42", "more": "1"}, clusters_before_failover=("m9",)),
    )
    bound = stateful()
    bound = msgspec.structs.replace(bound, spec=msgspec.structs.replace(bound.spec, graceful_eviction_tasks=earlier))
    left = eviction_task(bound, Eviction("m1"), PurgeMode.DIRECTLY, at(60))
    assert left.preserved_label_state == {"job": "42", "more": "1"}
    with pytest.raises(StateNotPreserved):
        eviction_task(bound, Eviction("m9"), PurgeMode.DIRECTLY, at(60))


def test_a_person_ends_an_eviction_with_the_word_false_alone_and_none_of_a_target() -> None:
    words = {"m1": False, "m2": True, "m4": None, "m3": False}
    spec = placed(*(task(name, suppress_deletion=word) for name, word in words.items()), m3=1)
    assert ended_by_a_person(spec) == {"m1"}
