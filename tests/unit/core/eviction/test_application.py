"""Application failover inside the one decision: what fails leaves, once around, and never into nowhere."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leeward.api.meta import Condition
from leeward.api.names import MEMORY_ANNOTATION
from leeward.api.policy import (
    ApplicationFailover,
    DecisionConditions,
    FailoverBehavior,
    Placement,
    StatePreservation,
    StatePreservationRule,
)
from leeward.api.purge_mode import PurgeMode
from leeward.api.work import (
    AggregatedStatusItem,
    BindingSuspension,
    ClusterResourceBinding,
    GracefulEvictionTask,
    Health,
    ResourceBinding,
    Work,
)
from leeward.core import placement
from leeward.core.cluster_health.watched_time import UNKEPT, Attention, Gap, WatchedTime
from leeward.core.copies.memory import BindingMemory, parse_memory
from leeward.core.eviction.application import (
    FailedCopies,
    application_purge_mode,
    failure_task,
    failures_of,
    find_failures,
    held_failure,
    remember_failures,
    seen_items,
    toleration_seconds,
)
from leeward.core.eviction.state_preservation import StateNotPreserved, preserved_state_patch, state_to_inject
from leeward.core.placement import Decision, PlacementSettings, Snapshot
from leeward.core.scheduling import Unplaceable
from tests.builders import at, binding, cluster, dead, divided, duplicated, fleet, targets, work, works

CLUSTERS = ("member1", "member2", "member3")
FLEET = fleet(*map(cluster, CLUSTERS))
ONE_COPY = duplicated(*CLUSTERS, groups=1)
SETTINGS = PlacementSettings()


def failover(**application: Any) -> FailoverBehavior:
    """Failover after 60 seconds."""
    return FailoverBehavior(application=ApplicationFailover(DecisionConditions(60), **application))


def preserving(*paths: str) -> StatePreservation:
    return StatePreservation(tuple(StatePreservationRule(f"label-{i}", path) for i, path in enumerate(paths)))


def app(placement: Placement = ONE_COPY, *, copies: Mapping[str, int], **spec: Any) -> ResourceBinding:
    spec = {"failover": failover(), **spec}
    strategy = placement.replica_scheduling
    is_divided = strategy is not None and strategy.replica_scheduling_type == "Divided"
    replicas = sum(copies.values()) if is_divided else 2
    return binding(placement, replicas, targets(**copies), **spec)


def after(before: ResourceBinding, decision: Decision) -> ResourceBinding:
    """The binding once the decision is written."""
    annotations = {**before.metadata.annotations, **decision.annotations}
    kept = {name: text for name, text in annotations.items() if text is not None}
    spec = msgspec.structs.replace(
        before.spec, clusters=decision.clusters, graceful_eviction_tasks=decision.eviction_tasks
    )
    return msgspec.structs.replace(
        before, metadata=msgspec.structs.replace(before.metadata, annotations=kept), spec=spec
    )


UNSEEN = {**FLEET, **fleet(cluster("member1", ready="Unknown"))}


def decide(
    before: ResourceBinding,
    reports: dict[str, Work],
    seconds: float,
    around: Mapping[str, Any] = FLEET,
    using: PlacementSettings = SETTINGS,
) -> Decision:
    return placement.decide(Snapshot(before, fleet(*around.values()), reports, settings=using, now=at(seconds)))


def fail(before: ResourceBinding, reports: dict[str, Work], start: float = 0, **how: Any) -> Decision:
    """Decision when this is what was reported for longer than is tolerated."""
    seen = decide(before, reports, start, **how)
    return decide(after(before, seen), reports, start + 61, **how)


def placed(decision: Decision) -> dict[str, int]:
    return {target.name: target.replicas for target in decision.clusters}


def reason(decision: Decision) -> str:
    return decision.held.reason if decision.held is not None else ""


def test_a_copy_leaves_when_it_is_unhealthy_for_longer_than_is_tolerated() -> None:
    seen = decide(app(copies={"member1": 2}), works({"member1": None}), 0)
    assert (placed(seen), seen.evicted) == ({"member1": 2}, ())
    assert seen.wake_at is not None
    assert at(60) < seen.wake_at < at(60.1)
    remembered = after(app(copies={"member1": 2}), seen)
    assert placed(decide(remembered, works({"member1": None}), 60)) == {"member1": 2}
    moved = decide(remembered, works({"member1": None}), 60.1)
    assert placed(moved) == {"member2": 2}
    assert [(task.from_cluster, task.reason) for task in moved.eviction_tasks] == [("member1", "ApplicationFailure")]
    assert parse_memory(after(remembered, moved), at(0)).tried == ("member1",)


@pytest.mark.parametrize(
    ("story", "report", "around"),
    [
        ("contents that are not applied yet", work("member1", None, applied=0), FLEET),
        ("a report on earlier contents", work("member1", None, carried=0), FLEET),
        ("a report from before the cluster became ready", work("member1", None, reflected=-1), FLEET),
        (
            "a cluster that cannot be seen",
            work("member1", None),
            UNSEEN,
        ),
    ],
)
def test_s5_nobody_leaves_for_what_is_not_known_now(story: str, report: Work, around: Mapping[str, Any]) -> None:
    decision = fail(app(copies={"member1": 2}), {"member1": report}, around=around)
    assert (placed(decision), decision.annotations) == ({"member1": 2}, {}), story


def test_a_clock_goes_on_while_the_cluster_cannot_be_seen_but_does_not_strike() -> None:
    started = after(app(copies={"member1": 2}), decide(app(copies={"member1": 2}), works({"member1": None}), 0))
    unseen = decide(started, works({"member1": None}), 100, UNSEEN)
    assert (placed(unseen), unseen.annotations) == ({"member1": 2}, {})
    assert placed(decide(started, works({"member1": None}), 101)) == {"member2": 2}


def test_a_copy_that_recovers_within_the_toleration_starts_anew() -> None:
    start = app(copies={"member1": 2})
    unhealthy = after(start, decide(start, works({"member1": None}), 0))
    healthy = after(unhealthy, decide(unhealthy, works({"member1": 2}), 50))
    assert MEMORY_ANNOTATION not in healthy.metadata.annotations
    again = after(healthy, decide(healthy, works({"member1": None}), 55))
    assert placed(decide(again, works({"member1": None}), 100)) == {"member1": 2}


def test_divided_replicas_move_to_copies_that_are_healthy() -> None:
    shared = app(divided({"member1": 1, "member2": 1}), copies={"member1": 2, "member2": 2})
    assert placed(fail(shared, works({"member1": None, "member2": 2}))) == {"member2": 4}


def test_divided_replicas_do_not_move_to_a_copy_that_is_unhealthy_itself() -> None:
    shared = app(divided({"member1": 1, "member2": 1}), copies={"member1": 2, "member2": 2})
    first = after(shared, decide(shared, works({"member1": None, "member2": 2}), 0))
    both = after(first, decide(first, works({"member1": None, "member2": None}), 30))
    decision = decide(both, works({"member1": None, "member2": None}), 61)
    assert (placed(decision), reason(decision)) == ({"member1": 2, "member2": 2}, "UnhealthyEverywhere")


@pytest.mark.parametrize("mode", ["Gracefully", "Directly", "Never"])
def test_s11_a_failed_copy_stays_without_a_place_to_go(mode: Any) -> None:
    alone = app(duplicated("member1"), copies={"member1": 2}, failover=failover(purge_mode=mode))
    decision = fail(alone, works({"member1": None}))
    assert (placed(decision), decision.eviction_tasks, reason(decision)) == ({"member1": 2}, (), "NoPlaceToGo")


def test_s11_a_suspended_binding_says_why_its_failed_copy_stays() -> None:
    decision = fail(app(copies={"member1": 2}, suspension=BindingSuspension(scheduling=True)), works({"member1": None}))
    assert (placed(decision), reason(decision)) == ({"member1": 2}, "NoPlaceToGo")
    assert decision.held is not None
    assert "suspended" in decision.held.message


def test_karmada_exact_evicts_also_into_nowhere_and_remembers_no_round() -> None:
    exact = PlacementSettings(keep_without_place=False, exact_health=True)
    item = AggregatedStatusItem("member1", health="Unhealthy")
    start = app(duplicated("member1"), copies={"member1": 2})
    reported = msgspec.structs.replace(start, status=msgspec.structs.replace(start.status, aggregated_status=(item,)))
    decision = fail(reported, {}, using=exact)
    assert (placed(decision), len(decision.eviction_tasks)) == ({}, 1)
    assert decision.annotations == {MEMORY_ANNOTATION: None}


def test_without_the_gate_nothing_is_watched() -> None:
    decision = fail(
        app(copies={"member1": 2}), works({"member1": None}), using=PlacementSettings(evict=False, watch=False)
    )
    assert (placed(decision), decision.annotations) == ({"member1": 2}, {})


def test_what_was_remembered_goes_when_the_policy_no_longer_asks_for_it() -> None:
    start = app(copies={"member1": 2})
    seen = after(start, decide(start, works({"member1": None}), 0))
    plain = msgspec.structs.replace(seen, spec=msgspec.structs.replace(seen.spec, failover=None))
    assert decide(plain, works({"member1": None}), 100).annotations == {MEMORY_ANNOTATION: None}


def test_an_annotation_that_nobody_can_read_starts_the_clock_anew() -> None:
    start = app(copies={"member1": 2})
    spoiled = after(start, Decision(start.spec.clusters, (), annotations={MEMORY_ANNOTATION: "{"}))
    assert placed(decide(spoiled, works({"member1": None}), 0)) == {"member1": 2}


def once_around() -> ResourceBinding:
    """A copy that has failed in member1 and member2, and is in member3 since 122 s."""
    state = app(copies={"member1": 2})
    for number, name in enumerate(("member1", "member2")):
        state = after(state, fail(state, works({name: None}), number * 61))
    assert placed(decide(state, {}, 122)) == {"member3": 2}
    return state


def left_behind(state: ResourceBinding) -> ResourceBinding:
    """Binding once all evictions are finished."""
    return msgspec.structs.replace(state, spec=msgspec.structs.replace(state.spec, graceful_eviction_tasks=()))


def changed(state: ResourceBinding, replicas: int = 2) -> ResourceBinding:
    resource = msgspec.structs.replace(state.spec.resource, resource_version="2")
    spec = msgspec.structs.replace(state.spec, resource=resource, replicas=replicas)
    return msgspec.structs.replace(state, spec=spec)


def test_after_one_round_a_workload_stays_and_says_that_the_release_is_bad() -> None:
    decision = fail(once_around(), works({"member3": None}), 122)
    assert (placed(decision), reason(decision)) == ({"member3": 2}, "UnhealthyEverywhere")
    assert decision.held is not None
    assert "unhealthy in member1, member2, member3" in decision.held.message


def test_a_new_release_begins_a_new_round_and_has_the_whole_toleration() -> None:
    stuck = after(once_around(), fail(once_around(), works({"member3": None}), 122))
    released = decide(changed(stuck), works({"member3": None}), 200)
    assert (placed(released), reason(released)) == ({"member3": 2}, "")
    assert parse_memory(after(changed(stuck), released), at(0)).tried == ()


def test_scaling_is_no_new_release() -> None:
    assert parse_memory(changed(once_around(), replicas=5), at(0)).tried == ("member1", "member2")


def test_a_round_ends_when_the_workload_was_healthy_for_long() -> None:
    state = after(once_around(), decide(once_around(), works({"member3": 2}), 122))
    replaced = after(state, decide(state, works({"member3": 2}), 999))
    assert parse_memory(replaced, at(999)).tried, "not while it is being replaced"
    begun = left_behind(once_around())
    state = after(begun, decide(begun, works({"member3": 2}), 122))
    early = after(state, decide(state, works({"member3": 2}), 421))
    assert parse_memory(early, at(421)).tried == ("member1", "member2")
    calm = after(state, decide(state, works({"member3": 2}), 422))
    assert MEMORY_ANNOTATION not in calm.metadata.annotations
    assert placed(fail(left_behind(calm), works({"member3": None}), 430)) == {"member1": 2}


def test_a_duplicated_template_is_not_filled_up_where_it_has_just_failed() -> None:
    everywhere = app(duplicated(*CLUSTERS), copies=dict.fromkeys(CLUSTERS, 2))
    moved = after(everywhere, fail(everywhere, works({"member1": None, "member2": 2, "member3": 2})))
    assert placed(decide(left_behind(moved), works({"member2": 2, "member3": 2}), 70)) == {"member2": 2, "member3": 2}


def test_a_dead_cluster_goes_first() -> None:
    start = app(copies={"member1": 2})
    seen = after(start, decide(start, works({"member1": None}), 0))
    decision = decide(seen, works({"member1": None}), 300, {**FLEET, **fleet(dead("member1"))})
    assert [task.reason for task in decision.eviction_tasks] == ["TaintUntolerated"]


def failed(name: str, **status: Any) -> AggregatedStatusItem:
    return AggregatedStatusItem(name, status=status or None, health="Unhealthy")


def test_state_is_preserved_by_label_with_the_clusters_of_before() -> None:
    state = app(copies={"member1": 2}, failover=failover(state_preservation=preserving("{.job.id}", "{.job.step}")))
    task = failure_task(state, failed("member1", job={"id": "abc", "step": 7}), at(0))
    assert task.preserved_label_state == {"label-0": "abc", "label-1": "7"}
    assert task.clusters_before_failover == ("member1",)


def test_state_is_carried_forward_through_a_second_failover() -> None:
    wanted = failover(state_preservation=preserving("{.job.id}", "{.job.step}"))
    earlier = GracefulEvictionTask(
        "member1",
        "ApplicationFailure",
        "someone",
        "Directly",
        preserved_label_state={"label-0": "abc", "label-1": "7"},
        clusters_before_failover=("member1",),
    )
    moved = app(copies={"member2": 2}, failover=wanted, tasks=(earlier,))
    assert failure_task(moved, failed("member2")).preserved_label_state == {"label-0": "abc", "label-1": "7"}
    newer = failure_task(moved, failed("member2", job={"step": 8}))
    assert newer.preserved_label_state == {"label-0": "abc", "label-1": "8"}
    assert newer.clusters_before_failover == ("member2",)


BROUGHT = GracefulEvictionTask(
    "member1",
    "ApplicationFailure",
    "someone",
    "Directly",
    preserved_label_state={"label-0": "abc"},
    clusters_before_failover=("member1",),
)
KEPT = '{"cluster":"member2","labels":{"label-0":"abc"}}'


def keeping(kept: str | None, state: ResourceBinding) -> ResourceBinding:
    """`state` with that annotation."""
    annotations = {} if kept is None else {"leeward.dev/preserved-state": kept}
    return msgspec.structs.replace(state, metadata=msgspec.structs.replace(state.metadata, annotations=annotations))


def test_what_was_preserved_is_kept_when_the_eviction_has_ended_and_brought_along_by_the_next() -> None:
    moved = app(copies={"member2": 2}, tasks=(BROUGHT,))
    assert preserved_state_patch(moved, targets(member2=2), {"member1"}) == {}
    assert preserved_state_patch(moved, targets(member2=2), set()) == {"leeward.dev/preserved-state": KEPT}
    wanted = failover(state_preservation=preserving("{.job.id}"))
    settled = keeping(KEPT, app(copies={"member2": 2}, failover=wanted))
    assert state_to_inject(settled, "member2") == {"label-0": "abc"}
    assert state_to_inject(settled, "member3") == {}
    assert preserved_state_patch(settled, targets(member2=2), set()) == {}
    assert failure_task(settled, failed("member2")).preserved_label_state == {"label-0": "abc"}


def test_what_the_last_failover_has_brought_is_given_to_the_replacement_and_nothing_of_those_before() -> None:
    second = msgspec.structs.replace(
        BROUGHT,
        from_cluster="member2",
        preserved_label_state={"label-0": "new"},
        clusters_before_failover=("member2",),
    )
    moved_twice = app(copies={"member3": 2}, tasks=(BROUGHT, second))
    assert state_to_inject(moved_twice, "member3") == {"label-0": "new"}
    kept = '{"cluster":"member3","labels":{"label-0":"new"}}'
    assert preserved_state_patch(moved_twice, targets(member3=2), set()) == {"leeward.dev/preserved-state": kept}
    back = app(copies={"member2": 2}, tasks=(BROUGHT, second))
    assert state_to_inject(back, "member2") == {}, "it is where it was before"
    assert preserved_state_patch(back, targets(member2=2), set()) == {}
    without = msgspec.structs.replace(BROUGHT, preserved_label_state={})
    settled = keeping(KEPT, app(copies={"member2": 2}, tasks=(without,)))
    assert preserved_state_patch(settled, targets(member2=2), set()) == {}, "a failover that preserved nothing"


def test_a_copy_leaves_gracefully_where_the_policy_does_not_say_how() -> None:
    assert application_purge_mode(app(copies={"member1": 2}, failover=None).spec) is PurgeMode.GRACEFULLY
    asked = app(copies={"member1": 2}, failover=failover(purge_mode="Never"))
    assert application_purge_mode(asked.spec) is PurgeMode.NEVER


@pytest.mark.parametrize(
    ("present", "after"), [(KEPT, {"member3": 2}), (KEPT, {"member2": 2, "member3": 2}), ("nonsense", {"member2": 2})]
)
def test_what_was_preserved_for_where_it_is_no_more_is_forgotten(present: str, after: dict[str, int]) -> None:
    state = keeping(present, app(copies={"member2": 2}))
    assert preserved_state_patch(state, targets(**after), set()) == {"leeward.dev/preserved-state": None}


@pytest.mark.parametrize(("path", "says"), [("{.job.id}", "job is not found"), ("{.job", "not closed")])
def test_a_copy_whose_state_cannot_be_preserved_stays_and_says_so(path: str, says: str) -> None:
    state = app(copies={"member1": 2}, failover=failover(state_preservation=preserving(path)))
    decision = fail(state, works({"member1": None}))
    assert (placed(decision), reason(decision)) == ({"member1": 2}, "StateNotPreserved")
    assert decision.held is not None
    assert "label-0" in decision.held.message
    assert says in decision.held.message


def test_a_status_that_was_not_collected_has_no_state() -> None:
    state = app(copies={"member1": 2}, failover=failover(state_preservation=preserving("{.job.id}")))
    with pytest.raises(StateNotPreserved, match="status in member1 has not been collected yet"):
        failure_task(state, failed("member1"))


def test_a_cluster_scoped_binding_names_its_own_producer() -> None:
    namespaced = app(copies={"member1": 2})
    metadata = msgspec.structs.replace(namespaced.metadata, namespace="")
    task = failure_task(ClusterResourceBinding(metadata=metadata, spec=namespaced.spec), failed("member1"))
    assert task.producer == "cluster-resource-binding-application-failover-controller"


HEALTH = st.sampled_from([2, None])


@settings(max_examples=60)
@given(history=st.lists(st.fixed_dictionaries(dict.fromkeys(CLUSTERS, HEALTH)), max_size=30))
def test_c1_within_a_round_a_workload_visits_each_cluster_at_most_once(history: list[dict[str, int | None]]) -> None:
    state, visited, start = app(copies={"member1": 2}), ["member1"], 0.0
    for report in history:
        start += 35
        decision = decide(state, works(report), start)
        assert sum(placed(decision).values()) == 2
        if decision.evicted:
            visited += placed(decision)
        state = after(state, decision)
        if not parse_memory(state, at(0)).tried:
            visited = list(placed(decision))
        assert len(visited) == len(set(visited))


def test_of_several_failed_copies_each_is_named() -> None:
    items = tuple(AggregatedStatusItem(cluster_name=name, health="Unhealthy") for name in ("a", "b"))
    watched = FailedCopies(BindingMemory().noting({"a": at(0), "b": at(60)}), items)
    assert watched.describe() == "a (unhealthy since 2026-01-01T00:00:00Z), b (unhealthy since 2026-01-01T00:01:00Z)"


def reported(**health: Health) -> tuple[AggregatedStatusItem, ...]:
    return tuple(AggregatedStatusItem(cluster_name=name, health=how) for name, how in health.items())


SPEC = app(copies={"member1": 2}).spec
TRIED = BindingMemory().noting(tried=("member9",))


def test_s13_the_clock_of_a_copy_runs_over_watched_time_and_strikes_when_it_was_looked_at_again() -> None:
    items, record = reported(member1="Unhealthy"), BindingMemory().noting({"member1": at(0)})
    assert find_failures(SPEC, items, record, at(60)) == FailedCopies(record, (), at(60.000001))
    assert find_failures(SPEC, items, record, at(61)) == FailedCopies(record, items)
    settling = Attention(heartbeat="one", settled_at=at(90))
    assert find_failures(SPEC, items, record, at(61), settling) == FailedCopies(record, (), at(90.000001))
    assert find_failures(SPEC, items, record, at(90), settling) == FailedCopies(record, items, at(90.000001))
    assert find_failures(SPEC, items, record, at(91), settling) == FailedCopies(record, items)
    well = reported(member1="Healthy")
    assert find_failures(SPEC, well, BindingMemory(), at(61), settling) == FailedCopies(BindingMemory())
    missed = Attention(WatchedTime((Gap(at(10), at(40)),)))
    assert find_failures(SPEC, items, record, at(61), missed) == FailedCopies(record, (), at(90.000001))


def test_without_a_toleration_a_copy_has_five_minutes() -> None:
    plain = app(copies={"member1": 2}, failover=FailoverBehavior(application=ApplicationFailover(DecisionConditions())))
    for spec in (plain.spec, binding(ONE_COPY, 2, targets(member1=2)).spec):
        assert toleration_seconds(spec) == 300
    assert toleration_seconds(SPEC) == 60


def test_a_round_ends_when_all_have_been_well_for_long() -> None:
    well = reported(member1="Healthy")
    begun = msgspec.structs.replace(TRIED, healthy_since=at(10))
    assert find_failures(SPEC, well, TRIED, at(10)) == FailedCopies(begun, (), at(310))
    assert find_failures(SPEC, well, begun, at(309)) == FailedCopies(begun, (), at(310))
    assert find_failures(SPEC, well, begun, at(310)) == FailedCopies(BindingMemory())
    assert find_failures(SPEC, (), begun, at(310)) == FailedCopies(TRIED), "it begins anew"
    both = app(copies={"member1": 2, "member2": 2}).spec
    assert find_failures(both, well, begun, at(310)) == FailedCopies(TRIED), "not by one of two"
    assert find_failures(msgspec.structs.replace(SPEC, clusters=()), (), begun, at(310)) == FailedCopies(TRIED)


def test_without_application_failover_only_the_round_is_remembered() -> None:
    well, record = reported(member1="Healthy"), TRIED.noting({"member1": at(0)})
    begun = msgspec.structs.replace(TRIED, healthy_since=at(10))
    assert remember_failures(SPEC, well, record, at(10)) == FailedCopies(begun, (), at(310))
    assert remember_failures(SPEC, well, begun, at(310)) == FailedCopies(BindingMemory())
    assert remember_failures(SPEC, reported(member1="Unhealthy"), record, at(10)) == FailedCopies(TRIED)


def test_a_cluster_that_was_left_is_remembered_once_and_its_clock_is_gone() -> None:
    record = BindingMemory().noting({"a": at(0), "b": at(1)}, ("c",))
    assert record.after_leaving(("a", "c"), remember=True) == BindingMemory().noting({"b": at(1)}, ("a", "c"))
    assert record.after_leaving(("a",), remember=False) == BindingMemory().noting({"b": at(1)}, ("c",))


def test_what_is_held_back_says_since_when_it_fails_and_where_else_it_has() -> None:
    alone = FailedCopies(BindingMemory().noting({"a": at(0)}), reported(a="Unhealthy"))
    assert held_failure(alone, Unplaceable("FitError", "none fits", {})) == Condition(
        "leeward.dev/EvictionHeld",
        "True",
        "NoPlaceToGo",
        "not evicted from a (unhealthy since 2026-01-01T00:00:00Z), because there is no place to go: none fits",
    )
    both = FailedCopies(BindingMemory().noting({"b": at(0)}, ("a",)), reported(b="Unhealthy"))
    assert held_failure(both, Unplaceable("FitError", "none fits", {})) == Condition(
        "leeward.dev/EvictionHeld",
        "True",
        "UnhealthyEverywhere",
        "not evicted from b (unhealthy since 2026-01-01T00:00:00Z), because the application is or was unhealthy "
        "in a, b, as by a bad release, and no other cluster fits: none fits",
    )


@pytest.mark.parametrize(
    ("mode", "told", "grace", "suppress"),
    [("", "Gracefully", 30, None), ("Gracefully", "Gracefully", 30, None), ("Directly", "Directly", None, None),
     ("Never", "Never", None, True)],
)  # fmt: skip
def test_a_failed_copy_leaves_as_the_policy_says(
    mode: Any, told: Any, grace: int | None, suppress: bool | None
) -> None:
    bound = app(copies={"member1": 2}, failover=failover(purge_mode=mode, grace_period_seconds=30))
    (item,) = reported(member1="Unhealthy")
    assert failure_task(bound, item, at(7.5)) == GracefulEvictionTask(
        "member1",
        "ApplicationFailure",
        "resource-binding-application-failover-controller",
        told,
        grace_period_seconds=grace,
        suppress_deletion=suppress,
        creation_timestamp=at(7),
    )
    assert failure_task(bound, item).creation_timestamp is None


def test_s13_reports_count_of_targets_whose_cluster_is_there_and_only_in_a_failover_by_what_is_assigned() -> None:
    """An autoscaler in its cluster wants 3 of a copy of 2, and 2 are ready."""
    larger = work("member1", 2)
    (told,) = larger.status.manifest_statuses
    counts = {"readyReplicas": 2, "replicas": 3, "updatedReplicas": 3, "generation": 1, "observedGeneration": 1}
    counts |= {"leeward.dev/replicas": 3}
    told = msgspec.structs.replace(told, status=counts, health="Unhealthy")
    larger = msgspec.structs.replace(larger, status=msgspec.structs.replace(larger.status, manifest_statuses=(told,)))
    known = {"member1": larger, "gone": work("gone", 2)}
    task = GracefulEvictionTask("member3", "R", "P")
    for tasks, health in (((), "Unhealthy"), ((task,), "Healthy")):
        spec = app(copies={"member1": 2, "gone": 2}, tasks=tasks).spec
        assert [(item.cluster_name, item.health) for item in seen_items(spec, FLEET, known)] == [("member1", health)]


def test_without_application_failover_nothing_is_read_for_a_binding_that_remembers_no_cluster() -> None:
    def reports() -> tuple[AggregatedStatusItem, ...]:
        raise AssertionError

    spec = app(copies={"member1": 2}, failover=None).spec
    memory = BindingMemory(healthy_since=at(0))
    assert failures_of(spec, reports, memory, at(1), UNKEPT) == FailedCopies(BindingMemory())
