"""Outages of a cluster as their records tell them: phases, instants, steps, the brake, and the curve."""

from datetime import datetime

import pytest
from msgspec.structs import replace

from kubeapi.core import Taint
from leeward.api.cluster import Cluster
from leeward.api.outage import OutageCounts, OutagePhase, OutageStatus, OutageStep, StepKind
from leeward.core.outages.fold import newly_recovered
from leeward.core.outages.record import OutageRecord, begin, recall, render
from leeward.operations.outage_story import return_to_come
from tests.builders import at
from tests.unit.core.outages.looks import NO_EXECUTE, gone, here, look, lost, with_sight

DEAD, BACK = lost(NO_EXECUTE), lost(ready_since=at(690))
WHY = "cluster is not reachable"
PROBED = OutageStep(at(0), StepKind.FAILED_PROBE, "ClusterNotReachable", WHY)
TURNED = OutageStep(at(30), StepKind.NOT_READY, "Ready=False", WHY)
TAINTED = OutageStep(at(330), StepKind.NO_EXECUTE, "cluster.karmada.io/not-ready:NoExecute")
RUNNING = OutageStatus(
    reason="ClusterNotReachable",
    message=WHY,
    failed_at=at(0),
    not_ready_at=at(30),
    steps=(PROBED, TURNED),
    curve=(OutageCounts(at(40), due=1),),
)
"""Status after the first look, with one application that is due."""


def failing(since: float, ready_at: float | None, *taints: Taint) -> Cluster:
    """A cluster that fails anew, with another word than before."""
    there = lost(*taints)
    ready, seen = there.status.conditions
    turned = at(ready_at) if ready_at is not None else None
    conditions = (
        replace(ready, reason="Anew", message="it fails anew", last_transition_time=turned),
        replace(seen, last_transition_time=at(since)),
    )
    return replace(there, status=replace(there.status, conditions=conditions))


def begun() -> OutageRecord:
    return look(begin(lost()), 40, lost(), here())


def test_an_outage_begins_with_the_first_failure_and_what_ready_says() -> None:
    assert begun().status == RUNNING
    undated = look(begin(lost()), 40, failing(0, None), here())
    assert [(step.at, step.kind) for step in undated.status.steps] == [
        (at(0), StepKind.FAILED_PROBE),
        (at(40), StepKind.NOT_READY),
    ]
    again = look(begun(), 50, failing(0, 45), here())
    assert again.status == RUNNING, "it is not told again while it lasts"


NOW_TAINTED = Taint("cluster.karmada.io/not-ready", "NoExecute")
BARRED = Taint("cluster.karmada.io/not-ready", "NoSchedule", time_added=at(300))
DRAINED = Taint("leeward.dev/drain", "NoExecute", time_added=at(300))


@pytest.mark.parametrize(
    ("taints", "at_instant"),
    [
        ((NO_EXECUTE,), at(330)),
        ((BARRED, DRAINED, NO_EXECUTE), at(330)),
        ((NOW_TAINTED,), at(400)),
        ((BARRED,), None),
        ((DRAINED,), None),
        ((), None),
    ],
    ids=["tainted", "beside others", "undated", "barred", "drained", "no taint"],
)
def test_the_taint_that_evicts_is_told_once(taints: tuple[Taint, ...], at_instant: datetime | None) -> None:
    record = look(begun(), 400, lost(*taints), here())
    record = look(record, 401, lost(*taints), here())
    told = () if at_instant is None else (replace(TAINTED, at=at_instant),)
    assert (record.status.no_execute_at, record.status.steps) == (at_instant, (PROBED, TURNED, *told))


def test_an_outage_that_fails_again_is_told_as_the_same_one() -> None:
    record = look(begun(), 400, DEAD, here())
    record = look(record, 700, BACK, here())
    assert (record.status.phase, record.status.lasted) == (OutagePhase.OVER, "11m30s")
    record = look(record, 800, failing(720, 750), here())
    assert record.status == replace(
        RUNNING,
        reason="Anew",
        message="it fails anew",
        failed_at=at(720),
        not_ready_at=at(750),
        failures=2,
        steps=(
            PROBED,
            TURNED,
            TAINTED,
            OutageStep(at(690), StepKind.RETURNED),
            OutageStep(at(720), StepKind.FAILED_AGAIN, "Anew", "it fails anew"),
            OutageStep(at(750), StepKind.NOT_READY, "Ready=False", "it fails anew"),
        ),
        curve=(OutageCounts(at(40), due=1), OutageCounts(at(700), returned=1), OutageCounts(at(800), due=1)),
    )


def test_what_was_cleaned_up_is_so_no_more_when_it_fails_again() -> None:
    done = with_sight(gone(is_replaced=True), task=None, is_behind=False)
    record = look(look(begun(), 650, DEAD, gone(is_replaced=True)), 700, BACK, done)
    assert (record.status.returned_at, record.status.cleaned_at) == (at(690), at(700))
    assert record.status.steps[-1] == OutageStep(at(700), StepKind.CLEANED, applications=1)
    again = look(record, 800, failing(720, 750), done).status
    assert (again.returned_at, again.cleaned_at, again.no_execute_at) == (None, None, None)


def test_what_was_cleaned_up_in_an_earlier_failure_is_not_cleaned_up_again() -> None:
    done = with_sight(gone(is_replaced=True), task=None, is_behind=False)
    record = look(look(begun(), 650, DEAD, gone(is_replaced=True)), 700, BACK, done)
    failed = look(record, 800, failing(720, 750), done)
    back = lost(ready_since=at(900))
    assert steps_of(look(failed, 910, back, done)) == [(at(700), 1)]
    assert return_to_come(render(failed)) is None
    moving = gone("other", left=850, is_replaced=True)
    failed = look(look(failed, 810, failing(720, 750), here("other")), 860, failing(720, 750), moving)
    coming = return_to_come(render(failed))
    assert coming is not None
    assert coming.sentence == "when member1 returns, the old copies of 1 application are deleted there"
    gone_there = with_sight(moving, task=None, is_behind=False)
    assert steps_of(look(failed, 910, back, done, gone_there)) == [(at(700), 1), (at(910), 1)]


def steps_of(record: OutageRecord) -> list[tuple[datetime, int]]:
    return [(step.at, step.applications) for step in record.status.steps if step.kind is StepKind.CLEANED]


def braked(*looks: tuple[float, Cluster, bool]) -> tuple[bool, list[tuple[datetime, StepKind]]]:
    record = begun()
    for seconds, there, brake in looks:
        record = look(record, seconds, there, here(), braked=brake)
    told = {StepKind.BRAKE_ENGAGED, StepKind.BRAKE_RELEASED}
    assert all(step == OutageStep(step.at, step.kind) for step in record.status.steps if step.kind in told)
    return record.status.braked, [(step.at, step.kind) for step in record.status.steps if step.kind in told]


def test_s4_the_brake_is_told_when_it_holds_this_cluster_and_when_it_does_no_more() -> None:
    engaged, released = (at(50), StepKind.BRAKE_ENGAGED), (at(60), StepKind.BRAKE_RELEASED)
    leaving = lost()
    leaving = replace(leaving, metadata=replace(leaving.metadata, deletion_timestamp=at(45)))
    assert braked((50, lost(), True)) == (True, [engaged])
    assert braked((50, lost(), True), (60, lost(), True)) == (True, [engaged])
    assert braked((50, lost(), True), (60, lost(), False)) == (False, [engaged, released])
    assert braked((50, lost(), True), (60, lost(ready_since=at(55)), True)) == (False, [engaged, released])
    assert braked((50, lost(), False), (60, lost(ready_since=at(55)), True)) == (False, [])
    assert braked((60, leaving, True)) == (False, []), "what leaves the fleet is no outage"


def test_a_cluster_that_leaves_the_fleet_ends_its_outage() -> None:
    left = OutageStep(at(900), StepKind.UNJOINED)
    running = look(begun(), 900, None)
    over = replace(RUNNING, phase=OutagePhase.OVER, lasted="15m0s", steps=(PROBED, TURNED, left))
    assert (running.status, running.applications) == (over, begun().applications)
    assert look(running, 950, None) == running, "it is told once"
    returned = look(look(begun(), 650, DEAD, gone()), 700, BACK, gone())
    assert returned.status.phase is OutagePhase.RETURNED
    ended = look(returned, 900, None).status
    assert ended == replace(returned.status, phase=OutagePhase.OVER, steps=(*returned.status.steps, left))


def test_an_outage_is_not_over_while_something_is_on_its_way() -> None:
    record = look(begun(), 650, DEAD, gone())
    on_its_way = with_sight(gone(), is_behind=False)
    record = look(record, 700, BACK, on_its_way)
    assert record.status.phase is OutagePhase.RETURNED
    record = look(record, 710, BACK, with_sight(gone(is_replaced=True), task=None, is_behind=False))
    assert (record.status.phase, record.status.steps[-1].applications) == (OutagePhase.OVER, 1)


def test_who_takes_over_waits_with_the_end_until_all_were_looked_at() -> None:
    outage = render(look(begun(), 650, DEAD, gone(is_replaced=True)))
    done = with_sight(gone(is_replaced=True), task=None, is_behind=False)
    taken = recall(replace(outage, status=replace(outage.status, applications=3)))
    taken = look(taken, 700, BACK, done)
    assert (taken.status.phase, taken.expected, taken.unnamed) == (OutagePhase.RETURNED, 3, 0)
    taken = look(taken, 710, BACK, done, whole=True)
    assert (taken.status.phase, taken.expected, taken.unnamed) == (OutagePhase.OVER, None, 2)
    assert taken.status.steps[-1] == OutageStep(at(710), StepKind.CLEANED, applications=3)


def test_what_is_new_and_well_elsewhere_has_recovered() -> None:
    before = begun()
    after = look(before, 650, DEAD, gone(is_replaced=True), gone("other", is_replaced=True))
    assert [each.recovery_seconds for each in newly_recovered(before, after)] == [650, 650]
