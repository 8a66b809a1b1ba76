"""Taints that the control plane has set: the record of them, who takes them off, and when they are written again."""

from datetime import datetime

import pytest
from msgspec import structs

from kubeapi.core import Taint
from kubeapi.meta import Manifest, format_time
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import DRAIN_TAINT, NOT_READY_TAINT, OUTAGE_ANNOTATION, POLICY_TAINTS_ANNOTATION
from leeward.api.taint_record import NO_RECORD, RecordedTaint, TaintRecord, parse_record, render_record
from leeward.core.cluster_health.condition_taints import decide_taints, outage_since
from leeward.core.cluster_health.standing_taints import (
    LONGEST_PAUSE_SECONDS,
    note_undone,
    note_write,
    record_taints,
    removed_taints,
    removers_in,
    removers_of,
    with_record,
)
from tests.builders import at, cluster

SCHEDULE = Taint(NOT_READY_TAINT, "NoSchedule", time_added=at(0))
EXECUTE = Taint(NOT_READY_TAINT, "NoExecute", time_added=at(300))
OF_POLICY = Taint("gpu", "NoExecute", "broken", at(60))
RECORD = TaintRecord(
    at(0),
    (RecordedTaint(SCHEDULE), RecordedTaint(EXECUTE), RecordedTaint(OF_POLICY, by_policy=True)),
    ("False", at(0)),
)


def recorded(*taints: Taint, ready: str = "False", record: TaintRecord = RECORD) -> Cluster:
    there = cluster("m1", ready, taints=taints)
    listed = {POLICY_TAINTS_ANNOTATION: "gpu:NoExecute"}
    there = structs.replace(there, metadata=structs.replace(there.metadata, annotations=listed))
    return structs.replace(there, status=with_record(there.status, record, (), at(300)))


def test_the_record_is_read_as_it_was_written() -> None:
    assert parse_record(render_record(RECORD)) == RECORD
    assert parse_record("") == parse_record("nonsense: of any kind; x") == NO_RECORD


def test_a_record_that_an_agent_has_made_up_sets_no_taint_of_a_person() -> None:
    made_up = f"{DRAIN_TAINT}:NoExecute since 2026-01-01T00:00:00Z; gpu:NoExecute"
    assert parse_record(made_up) == NO_RECORD


def test_taints_are_in_force_that_somebody_has_taken_off() -> None:
    assert recorded().taints == (SCHEDULE, EXECUTE, OF_POLICY)
    assert recorded().has_no_execute
    assert removed_taints(recorded(SCHEDULE)) == {(NOT_READY_TAINT, "NoExecute"), ("gpu", "NoExecute")}


def test_those_of_an_outage_end_with_it() -> None:
    assert recorded(ready="True").taints == (OF_POLICY,)


def turned(there: Cluster, status: str, seconds: int, **annotations: str) -> Cluster:
    """The cluster with another `Ready`, and with these annotations alone."""
    ready = Condition("Ready", status, "Test", "", at(seconds))
    status_then = structs.replace(there.status, conditions=(ready, *there.status.conditions[1:]))
    return structs.replace(there, status=status_then, metadata=structs.replace(there.metadata, annotations=annotations))


@pytest.mark.parametrize("outage", [("False", at(0)), None])
@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_s13_a_record_of_an_earlier_outage_evicts_nothing(status: str, outage: tuple[str, datetime] | None) -> None:
    """Nobody has kept the record meanwhile: weeks later the cluster is not Ready since this instant."""
    stale = turned(recorded(record=in_outage(RECORD, outage)), status, 2_000_000)
    assert stale.taints == ()
    assert outage_since(stale) is None
    decision = decide_taints(stale, at(2_000_000), last_seen=at(2_000_000), eviction_seconds=300)
    assert [(taint.effect, taint.time_added) for taint in decision.taints] == [("NoSchedule", at(2_000_000))]
    assert decision.outage_since == at(2_000_000)


def test_l2_an_outage_goes_on_with_another_status_of_ready() -> None:
    later = turned(recorded(), "Unknown", 400, **{OUTAGE_ANNOTATION: format_time(at(0))})
    assert later.taints == (SCHEDULE, EXECUTE)
    assert outage_since(later) == at(0)


def test_a_record_without_its_outage_is_of_the_present_one_if_it_is_dated_in_it() -> None:
    old = in_outage(RECORD, None)
    assert turned(recorded(record=old), "False", 0).taints == (SCHEDULE, EXECUTE)
    assert turned(recorded(record=old), "False", 1).taints == ()


def test_s13_a_taint_of_a_policy_that_nobody_confirms_is_not_in_force() -> None:
    """A record dates the taint that its policy adds again."""
    there = turned(recorded(), "True", 0)
    assert there.taints == ()
    again = structs.replace(OF_POLICY, time_added=at(900))
    assert structs.replace(there, spec=structs.replace(there.spec, taints=(again,))).taints == (OF_POLICY,)


def in_outage(record: TaintRecord, outage: tuple[str, datetime] | None) -> TaintRecord:
    return TaintRecord(record.outage_since, record.entries, outage)


def test_a_taint_that_is_dated_anew_keeps_its_time() -> None:
    again = structs.replace(EXECUTE, time_added=at(900))
    assert recorded(SCHEDULE, again, OF_POLICY).taints == (SCHEDULE, EXECUTE, OF_POLICY)


def test_what_a_cluster_is_given_is_all_that_is_in_force() -> None:
    assert recorded().with_taints((SCHEDULE,), {}).taints == (SCHEDULE,)
    assert recorded().with_taints((), {}).taint_record == NO_RECORD


def test_a_time_that_was_recorded_stays() -> None:
    there = recorded()
    late = there.with_taints((SCHEDULE, structs.replace(EXECUTE, time_added=at(900)), OF_POLICY), {})
    assert record_taints(there, late, at(0)) == RECORD
    assert record_taints(cluster("m1", None), late, None) == NO_RECORD


@pytest.mark.parametrize("is_off", [False, True])
def test_a_record_that_is_dated_ahead_is_right_after_one_look(is_off: bool) -> None:
    """A clock that was an hour ahead has dated it, and is set right."""
    began = Condition("Ready", "False", "ClusterNotReachable", "", at(0))
    ahead = TaintRecord(at(0), tuple(_dated(each, 4200) for each in RECORD.entries))
    there = recorded(*(() if is_off else (_dated(RecordedTaint(EXECUTE), 4200).taint,)), record=ahead)
    there = structs.replace(
        there, status=structs.replace(there.status, conditions=(began, *there.status.conditions[1:]))
    )
    dated: list[datetime | None] = []
    for seconds in (600, 660, 720):
        decision = decide_taints(there, at(seconds), last_seen=None, eviction_seconds=300)
        record = record_taints(there, there.with_taints(decision.taints, {}), decision.outage_since)
        there = structs.replace(there, status=with_record(there.status, record, (), at(seconds)))
        dated += [
            taint.time_added for taint in there.taints if taint.key == NOT_READY_TAINT and taint.effect == "NoExecute"
        ]
    assert dated == [at(600)] * 3, "it moves once, whether the taint is written to the spec or not"


def test_a_recorded_time_counts_unless_the_taint_has_an_earlier_one() -> None:
    undated = TaintRecord(at(0), (RecordedTaint(structs.replace(EXECUTE, time_added=None)),))
    assert recorded(EXECUTE, record=undated).taints == (EXECUTE,)
    early = structs.replace(EXECUTE, time_added=at(200))
    assert recorded(early).taints[0] == early
    there = recorded(record=undated)
    assert record_taints(there, there.with_taints((EXECUTE,), {}), at(0)).entries == (RecordedTaint(EXECUTE),)


def _dated(entry: RecordedTaint, seconds: int) -> RecordedTaint:
    return RecordedTaint(structs.replace(entry.taint, time_added=at(seconds)), entry.by_policy)


def test_all_that_take_taints_off_are_named_until_the_record_ends() -> None:
    status = with_record(recorded().status, RECORD, ["flux"], at(300))
    status = with_record(status, RECORD, ["argocd"], at(310))
    assert removers_in(status) == ["argocd", "flux"]
    assert removers_in(with_record(status, NO_RECORD, (), at(320))) == []


def entry(manager: str, seconds: int, *, owns: bool = False, subresource: str = "") -> Manifest:
    fields: Manifest = {"f:spec": {"f:taints": {}}} if owns else {"f:metadata": {}}
    time = f"2026-01-01T00:{seconds // 60:02}:{seconds % 60:02}Z"
    return {"manager": manager, "time": time, "fieldsV1": fields, "subresource": subresource}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ((entry("flux", 10, owns=True), entry("kubectl", 20)), ["flux"]),
        ((entry("flux", 2, owns=True), entry("kubectl", 20)), ["kubectl"]),
        ((entry("ours", 30, owns=True), entry("kubectl", 20)), ["kubectl"]),
        ((entry("flux", 10), entry("kubectl", 20), entry("agent", 30, subresource="status")), ["kubectl"]),
        ((entry("old", 2, owns=True),), []),
        ((), []),
    ],
)
def test_who_takes_taints_off(entries: tuple[Manifest, ...], expected: list[str]) -> None:
    assert removers_of({"metadata": {"managedFields": list(entries)}}, "ours", at(5)) == expected


def test_a_write_that_has_stood_is_repeated_at_once_and_another_waits_longer_each_time() -> None:
    write = note_write(None, [SCHEDULE], 0)
    assert note_undone(write, [EXECUTE], 1) is None
    stood = note_undone(write, [SCHEDULE], 5)
    assert stood is not None
    assert stood.left(5) == 0
    pauses: list[float] = []
    now = 0.0
    for _ in range(9):
        undone = note_undone(write, [SCHEDULE], now)
        assert undone is not None
        pauses.append(undone.left(now))
        now += pauses[-1]
        assert undone.left(now) == 0
        write = note_write(undone, [SCHEDULE], now)
    assert pauses == [1, 2, 4, 8, 16, 32, LONGEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS]
