"""Parts of the one decision, each where it is asked for, and what is told first of several things."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
import pytest

from kubeapi.codec import encode
from kubeapi.core import Taint
from leeward.api.cluster import Cluster
from leeward.api.names import (
    FAILBACK_AFTER_ANNOTATION,
    FAILBACK_ANNOTATION,
    HOME_ANNOTATION,
    MEMORY_ANNOTATION,
    OUTAGE_CONFIRMED_ANNOTATION,
)
from leeward.api.policy import ApplicationFailover, DecisionConditions, FailoverBehavior
from leeward.api.purge_mode import PurgeMode
from leeward.api.work import BindingResource, BindingSuspension, GracefulEvictionTask, ResourceBinding, Work
from leeward.core import placement
from leeward.core.cluster_health.watched_time import UNKEPT, Attention, Gap, WatchedTime
from leeward.core.copies.memory import BindingMemory
from leeward.core.eviction.due_evictions import Eviction
from leeward.core.eviction.held_reasons import Deferral
from leeward.core.placement import Decision, EvictionBudget, PlacementSettings, Snapshot
from leeward.core.scheduling import Placed
from tests.builders import aggregated, at, binding, cluster, dead, divided, duplicated, fleet, targets, work, works
from tests.unit.core.copies.test_job_copies import job

SETTINGS = PlacementSettings()
EXACT = PlacementSettings(keep_without_place=False, withdraw=False, exact_health=True)
PURGED = PlacementSettings(purge_mode=PurgeMode.DIRECTLY)
SHARES = divided({"a": 1, "b": 1, "c": 1})
ONE = duplicated("a", "b", "c", groups=1)
A, B, C = cluster("a"), cluster("b"), cluster("c")


def task(name: str, replicas: int | None = None, **fields: object) -> GracefulEvictionTask:
    opened = GracefulEvictionTask(
        name, "TaintUntolerated", "TaintManager", "Gracefully", replicas=replicas, creation_timestamp=at(0)
    )
    return msgspec.structs.replace(opened, **fields)


def annotated(bound: ResourceBinding, **annotations: str) -> ResourceBinding:
    merged = {**bound.metadata.annotations, **annotations}
    return msgspec.structs.replace(bound, metadata=msgspec.structs.replace(bound.metadata, annotations=merged))


def changed(bound: ResourceBinding, **spec: object) -> ResourceBinding:
    return msgspec.structs.replace(bound, spec=msgspec.structs.replace(bound.spec, **spec))


NO_WORKS: Mapping[str, Work] = {}


class Turns(EvictionBudget):
    """Budget of which others have the first turns, in the clusters that are named."""

    def defers(self, evictions: Sequence[Eviction], now: datetime) -> Mapping[str, Deferral]:
        return {each.cluster: Deferral.RATE for each in evictions if each.cluster in self.exhausted}


def decide(
    bound: ResourceBinding,
    *clusters: Cluster,
    copies: Mapping[str, Work] = NO_WORKS,
    seconds: float = 300,
    settings: PlacementSettings = SETTINGS,
    brake: bool = False,
    waits: tuple[str, ...] = (),
    attention: Attention = UNKEPT,
) -> Decision:
    budget = Turns(exhausted=dict.fromkeys(waits, 1))
    return placement.decide(
        Snapshot(bound, fleet(*clusters), copies, brake, budget, attention, settings, now=at(seconds))
    )


def kept(decision: Decision) -> dict[str, int]:
    return {target.name: target.replicas for target in decision.clusters}


def left(decision: Decision) -> list[str]:
    return [opened.from_cluster for opened in decision.eviction_tasks]


def reason(decision: Decision) -> str:
    return decision.held.reason if decision.held is not None else ""


# the way home

RETURNS = {FAILBACK_ANNOTATION: "Automatic", FAILBACK_AFTER_ANNOTATION: "60s"}
PLACED = annotated(aggregated(binding(SHARES, 4, targets(a=2, b=2))), **RETURNS)


def after(bound: ResourceBinding, decision: Decision) -> ResourceBinding:
    """The binding once the decision is written."""
    annotations = {**bound.metadata.annotations, **decision.annotations}
    stays = {name: text for name, text in annotations.items() if text is not None}
    metadata = msgspec.structs.replace(bound.metadata, annotations=stays)
    return changed(
        msgspec.structs.replace(bound, metadata=metadata),
        clusters=decision.clusters,
        graceful_eviction_tasks=decision.eviction_tasks,
    )


def without_annotation(bound: ResourceBinding, name: str) -> ResourceBinding:
    annotations = {key: text for key, text in bound.metadata.annotations.items() if key != name}
    return msgspec.structs.replace(bound, metadata=msgspec.structs.replace(bound.metadata, annotations=annotations))


def test_where_failback_is_asked_for_an_outage_is_remembered() -> None:
    decision = decide(PLACED, dead("a"), B)
    assert (kept(decision), set(decision.annotations)) == ({"b": 4}, {HOME_ANNOTATION, MEMORY_ANNOTATION})
    again = decide(after(PLACED, decision), dead("a"), B, copies=works({"b": 4}), seconds=310)
    forgotten = {MEMORY_ANNOTATION: None}
    assert (again.finished, dict(again.annotations)) == (("a",), forgotten), "and kept"
    without = aggregated(binding(SHARES, 4, targets(a=2, b=2)))
    assert set(decide(without, dead("a"), B).annotations) == {MEMORY_ANNOTATION}


AWAY = without_annotation(after(PLACED, decide(PLACED, dead("a"), B)), MEMORY_ANNOTATION)
MOVED = changed(AWAY, graceful_eviction_tasks=())
WELL = works({"b": 4})


def test_a_step_home_is_a_decision_of_its_own() -> None:
    decision = decide(MOVED, A, B, copies=WELL, seconds=400)
    assert (kept(decision), left(decision)) == ({"a": 1, "b": 3}, ["b"])
    assert (dict(decision.returning), dict(decision.annotations)) == ({"a": 1}, {})
    assert decision.result is None
    early = decide(MOVED, A, B, copies=WELL, seconds=59)
    assert (kept(early), early.wake_at) == ({"b": 4}, at(60))
    home = changed(MOVED, clusters=targets(a=2, b=2))
    assert dict(decide(home, A, B, copies=works({"a": 2, "b": 2}), seconds=400).annotations) == {HOME_ANNOTATION: None}


@pytest.mark.parametrize(
    ("bound", "clusters", "settings", "brake"),
    [
        (MOVED, (A, B), SETTINGS, True),
        (MOVED, (A, B), PlacementSettings(graceful=False), False),
        (MOVED, (A, B), PlacementSettings(place=False), False),
        (changed(MOVED, suspension=BindingSuspension(scheduling=True)), (A, B), SETTINGS, False),
        (changed(MOVED, scheduler_name="another"), (A, B), SETTINGS, False),
        (changed(MOVED, graceful_eviction_tasks=(task("c", 1, suppress_deletion=True),)), (A, B), SETTINGS, False),
        (changed(MOVED, replicas=5), (A, B), SETTINGS, False),
    ],
    ids=["the brake", "no tasks", "placed elsewhere", "suspended", "another's", "something leaves", "it grows"],
)
def test_no_step_home_is_taken_while_anything_else_happens(
    bound: ResourceBinding, clusters: tuple[Cluster, ...], settings: PlacementSettings, *, brake: bool
) -> None:
    decision = decide(bound, *clusters, copies=WELL, seconds=400, settings=settings, brake=brake)
    assert dict(decision.returning) == {}


def test_s4_no_step_home_is_taken_out_of_a_cluster_that_is_to_be_left() -> None:
    drained = cluster("b", taints=(Taint("leeward.dev/drain", "NoExecute", time_added=at(0)),))
    held = decide(MOVED, A, drained, copies=WELL, seconds=400, waits=("b",))
    assert (kept(held), dict(held.returning)) == ({"b": 4}, {})
    leaving = decide(MOVED, A, drained, copies=WELL, seconds=400)
    assert (kept(leaving), left(leaving), dict(leaving.returning)) == ({"a": 4}, ["b"], {})


def test_a_way_home_that_is_given_up_is_forgotten_and_another_withdrawal_is_not() -> None:
    homeward = changed(MOVED, clusters=targets(a=1, b=3), graceful_eviction_tasks=(task("b", 1, reason="Failback"),))
    late = decide(homeward, A, B, copies=works({"a": 0, "b": 4}), seconds=601)
    assert (late.withdrawn, kept(late), dict(late.annotations)) == (("b",), {"b": 4}, {HOME_ANNOTATION: None})
    assert late.result is None
    back = decide(AWAY, A, B, copies=works({"a": 2, "b": 2}), seconds=310)
    assert (back.withdrawn, kept(back), dict(back.annotations)) == (("a",), {"a": 2, "b": 2}, {})


def test_a_withdrawal_into_another_term_says_which() -> None:
    bound = changed(aggregated(binding(ONE, 2, targets(b=2), (task("a", 2),))), failover=None)
    same = decide(bound, A, B, copies=works({"a": 2, "b": 0}), seconds=60)
    assert (same.withdrawn, same.result) == (("a",), None)


# what is asked for


@pytest.mark.parametrize(
    ("settings", "tells"),
    [
        (SETTINGS, True),
        (PlacementSettings(finish=False), False),
        (PlacementSettings(place=False), True),
        (PlacementSettings(place=False, finish=False), True),
        (PlacementSettings(place=False, evict=False), False),
        (PlacementSettings(evict=False), True),
    ],
)
def test_of_the_parts_that_run_apart_one_tells_what_is_held(settings: PlacementSettings, *, tells: bool) -> None:
    assert decide(PLACED, A, B, settings=settings).foreign_held is not tells


OPEN = aggregated(binding(SHARES, 4, targets(b=4), (task("a", 2),)))
SEEN = msgspec.structs.replace(OPEN, status=msgspec.structs.replace(OPEN.status, scheduler_observed_generation=1))


@pytest.mark.parametrize(
    ("bound", "settings", "finished"),
    [
        (OPEN, SETTINGS, ("a",)),
        (OPEN, PlacementSettings(finish=False), ()),
        (OPEN, PlacementSettings(place=False), ()),
        (SEEN, PlacementSettings(place=False), ("a",)),
        (SEEN, PlacementSettings(place=False, finish=False), ()),
    ],
)
def test_tasks_end_here_where_that_is_asked_for_and_their_scheduler_has_seen_them(
    bound: ResourceBinding, settings: PlacementSettings, finished: tuple[str, ...]
) -> None:
    decision = decide(bound, dead("a"), B, copies=works({"b": 4}), seconds=10, settings=settings)
    assert decision.finished == finished
    assert decision.eviction_tasks == (() if finished else OPEN.spec.graceful_eviction_tasks)


def test_with_karmadas_rules_time_ends_a_task_wherever_it_was_scheduled() -> None:
    apart = PlacementSettings(place=False, exact_health=True)
    assert decide(OPEN, dead("a"), B, seconds=601, settings=apart).finished == ("a",)


def test_s13_a_grace_period_and_a_toleration_run_over_watched_time() -> None:
    missed = WatchedTime((Gap(at(100), at(160)),))
    whole = aggregated(binding(ONE, 2, targets(b=2), (task("a", 2),)))
    copies = works({"a": 0, "b": 1})
    assert decide(whole, A, B, copies=copies, seconds=601).finished == ("a",)
    assert decide(whole, A, B, copies=copies, seconds=601, attention=Attention(missed)).finished == ()
    assert kept(decide(PLACED, dead("a"), B, seconds=300, attention=Attention(missed))) == {"a": 2, "b": 2}
    assert kept(decide(PLACED, dead("a"), B, seconds=360, attention=Attention(missed))) == {"b": 4}


LEFT_IN_VAIN = BindingMemory("", 2).noting(tried=("b",))


def vain(bound: ResourceBinding) -> ResourceBinding:
    return annotated(bound, **{MEMORY_ANNOTATION: encode(LEFT_IN_VAIN).decode()})


def test_where_it_was_in_vain_is_remembered_by_every_move() -> None:
    bound = vain(binding(ONE, 2, targets(a=2)))
    assert kept(decide(bound, dead("a"), B, C)) == {"c": 2}
    assert kept(decide(vain(binding(ONE, 2)), dead("a"), B, C)) == {"c": 2}
    apart = PlacementSettings(watch=False)
    forgotten = decide(bound, dead("a"), B, C, settings=apart)
    assert (kept(forgotten), dict(forgotten.annotations)) == ({"b": 2}, {}), "nor is anything written of it"


def made(name: str, ready: int) -> Work:
    copy = work(name, ready)
    return msgspec.structs.replace(copy, metadata=msgspec.structs.replace(copy.metadata, creation_timestamp=at(0)))


STALLED = aggregated(binding(ONE, 2, targets(b=2), (task("a", 2),)))
NOTHING_SERVES = {"a": work("a", 2), "b": made("b", 0)}


@pytest.mark.parametrize(
    ("settings", "brake", "moves"),
    [
        (SETTINGS, False, True),
        (SETTINGS, True, False),
        (PlacementSettings(watch=False), False, False),
        (PlacementSettings(exact_health=True), False, False),
    ],
)
def test_l2_what_a_target_does_not_take_goes_on_where_that_is_watched(
    settings: PlacementSettings, *, brake: bool, moves: bool
) -> None:
    around = (dead("a"), B, C)
    decision = decide(STALLED, *around, copies=NOTHING_SERVES, seconds=601, settings=settings, brake=brake)
    assert kept(decision) == ({"c": 2} if moves else {"b": 2})
    if moves:
        assert left(decision) == ["a", "b"]
        assert MEMORY_ANNOTATION in decision.annotations
        early = decide(STALLED, *around, copies=NOTHING_SERVES, seconds=600)
        assert (kept(early), early.wake_at) == ({"b": 2}, at(600.000001))


def test_s13_what_a_target_does_not_take_is_judged_over_watched_time() -> None:
    missed = Attention(WatchedTime((Gap(at(100), at(160)),)))
    around = (dead("a"), B, C)
    assert kept(decide(STALLED, *around, copies=NOTHING_SERVES, seconds=660, attention=missed)) == {"b": 2}
    assert kept(decide(STALLED, *around, copies=NOTHING_SERVES, seconds=661, attention=missed)) == {"c": 2}


def test_what_is_finished_is_a_failover_no_more() -> None:
    purged = changed(STALLED, graceful_eviction_tasks=(task("a", 2, purge_mode="Directly"),))
    decision = decide(purged, dead("a"), B, C, copies={"b": made("b", 0)}, seconds=1_201)
    assert (decision.finished, kept(decision), left(decision)) == (("a",), {"b": 2}, [])


def test_where_no_other_takes_it_the_rest_is_placed_as_ever() -> None:
    grown = changed(aggregated(binding(SHARES, 4, targets(b=2), (task("a", 2),))), replicas=4)
    decision = decide(grown, dead("a"), B, copies={"b": made("b", 0)}, seconds=601)
    assert kept(decision) == {"b": 4}


def test_a_failed_copy_leaves_in_the_same_decision() -> None:
    application = FailoverBehavior(application=ApplicationFailover(DecisionConditions(60)))
    record = BindingMemory("", 2).noting({"a": at(0)})
    bound = changed(binding(ONE, 2, targets(a=2)), failover=application)
    bound = annotated(bound, **{MEMORY_ANNOTATION: encode(record).decode()})
    decision = decide(bound, A, B, copies=works({"a": None}), seconds=61)
    assert (kept(decision), left(decision)) == ({"b": 2}, ["a"])
    assert decision.eviction_tasks[0].creation_timestamp == at(61)


# what is told


def confirmed(there: Cluster, heartbeat: str) -> Cluster:
    marks = {OUTAGE_CONFIRMED_ANNOTATION: heartbeat}
    return msgspec.structs.replace(there, metadata=msgspec.structs.replace(there.metadata, annotations=marks))


def test_s13_what_nobody_has_confirmed_is_told() -> None:
    decision = decide(PLACED, confirmed(dead("a"), "zero"), B, attention=Attention(heartbeat="one"))
    assert (kept(decision), reason(decision)) == ({"a": 2, "b": 2}, "NotConfirmed")
    assert reason(decide(PLACED, confirmed(dead("a"), "one"), B, attention=Attention(heartbeat="one"))) == ""


def test_who_waits_for_a_turn_is_told_and_the_others_leave() -> None:
    both = aggregated(binding(SHARES, 6, targets(a=2, b=2, c=2)))
    decision = decide(both, dead("a"), dead("b"), C, waits=("a",))
    assert (kept(decision), left(decision), reason(decision)) == ({"a": 2, "c": 4}, ["b"], "WaitingForTurn")
    held = decide(both, dead("a"), dead("b"), C, waits=("a",), brake=True)
    assert (kept(held), reason(held)) == ({"a": 2, "b": 2, "c": 2}, "BrakeEngaged")


def namespace() -> ResourceBinding:
    bound = aggregated(binding(duplicated("a", "b"), 0, targets(a=0)))
    return changed(bound, resource=BindingResource("v1", "Namespace", "web"))


def test_s12_what_others_live_in_stays_and_says_so_until_karmadas_rules_are_asked_for() -> None:
    decision = decide(namespace(), dead("a"), seconds=300)
    assert (kept(decision), reason(decision)) == ({"a": 0}, "SharedResource")
    assert decision.held is not None
    assert "in a Namespace would be deleted" in decision.held.message
    early = decide(namespace(), dead("a"), seconds=299)
    assert (reason(early), early.wake_at) == ("", at(300))
    assert left(decide(namespace(), dead("a"), B, settings=EXACT)) == ["a"]


def test_s12_a_job_that_has_ended_stays_and_says_so_but_by_karmadas_rules() -> None:
    copies = {"a": job({"type": "Complete", "status": "True"})}
    bound = aggregated(binding(duplicated("a", "b", groups=1), 1, targets(a=1)))
    decision = decide(bound, dead("a"), B, copies=copies)
    assert (kept(decision), left(decision), reason(decision)) == ({"a": 1}, [], "NothingToGain")
    assert decision.held is not None
    assert decision.held.message.endswith("it has ended there, and would run again elsewhere")
    assert left(decide(bound, dead("a"), B, copies={"a": job()})) == ["a"]
    assert left(decide(bound, dead("a"), B, copies=copies, settings=EXACT)) == ["a"]
    drained = cluster("a", taints=(Taint("leeward.dev/drain", "NoExecute", time_added=at(0)),))
    assert (kept(drain := decide(bound, drained, B, copies=copies)), reason(drain)) == ({"a": 1}, "NothingToGain")


def test_s12_a_job_that_runs_in_a_drained_cluster_ends_first_but_with_directly() -> None:
    drained = cluster("a", taints=(Taint("leeward.dev/drain", "NoExecute", time_added=at(0)),))
    bound = aggregated(binding(duplicated("a", "b", groups=1), 1, targets(a=1)))
    for ready, why in ((1, "RunUnderWay"), (0, "")):
        decision = decide(bound, drained, B, copies={"a": job(active=1, ready=ready)})
        assert (left(decision), reason(decision)) == ([] if why else ["a"], why)
    directly = decide(bound, drained, B, copies={"a": job(active=1)}, settings=PURGED)
    assert left(directly) == ["a"]


def test_what_needs_somebody_is_told_before_what_is_kept_because_that_is_better() -> None:
    everywhere = duplicated("a", "b")
    nothing_gained = aggregated(binding(everywhere, 2, targets(a=2, b=2)))
    assert reason(decide(nothing_gained, dead("a"), B)) == "NothingToGain"
    overdue = changed(nothing_gained, graceful_eviction_tasks=(task("z", 2),))
    overdue = decide(overdue, dead("a"), B, cluster("z"), seconds=700)
    assert reason(overdue) == "ReplacementMissing"
    nowhere = aggregated(binding(SHARES, 4, targets(a=4), (task("z", 2),)))
    assert reason(decide(nowhere, dead("a"), cluster("z"), seconds=700)) == "NoPlaceToGo"


def test_the_result_of_scheduling_is_told_where_there_was_something_to_do() -> None:
    decision = decide(binding(SHARES, 2), A, B)
    assert isinstance(decision.result, Placed)
    assert (decision.foreign, decision.wake_at) == (False, None)
    assert decide(PLACED, A, B).result is None
