"""Outlook of an outage: since when, what is expected, and that the decision keeps to it."""

from datetime import datetime
from typing import Any

import msgspec
import pytest

from kubeapi.core import Taint, Toleration
from kubeapi.meta import format_time
from leeward.api.cluster import Cluster, NodeSummary
from leeward.api.meta import Condition, find_condition
from leeward.api.names import LAST_SEEN_CONDITION, LEAVES_AT, NOT_SEEN_SINCE, OUTAGE_ANNOTATION
from leeward.api.work import AggregatedStatusItem, ResourceBinding
from leeward.core.cluster_health.outage import (
    Outage,
    OutageReport,
    Outcome,
    departures_in,
    marked,
    marks_in,
    not_seen_since,
    with_last_seen,
)
from leeward.core.cluster_health.watched_time import Attention, Gap, WatchedTime
from leeward.core.outlook import TaintExpectation, expected_taints, foresee
from leeward.core.placement import PlacementSettings, Snapshot, decide
from tests.builders import at, binding, cluster, dead, divided, duplicated, fleet, targets
from tests.rooms import DYNAMIC, roomy, spread

SETTINGS = PlacementSettings()
EXPECTATION = TaintExpectation()
PLACED = binding(divided({"member1": 1, "member2": 2}), 3, targets(member1=1, member2=2))


def lost(name: str, reason: str = "ClusterNotReachable", since: float = 0) -> Cluster:
    """Cluster that has not been Ready since then, noted and tainted against new copies."""
    taint = Taint(key="cluster.karmada.io/not-ready", effect="NoSchedule", time_added=at(since))
    found = cluster(name, ready="False", taints=(taint,))
    ready = Condition("Ready", "False", reason, last_transition_time=at(since))
    return msgspec.structs.replace(
        found,
        metadata=msgspec.structs.replace(found.metadata, annotations={OUTAGE_ANNOTATION: format_time(at(since))}),
        status=msgspec.structs.replace(found.status, conditions=(ready,)),
    )


def report(
    bound: ResourceBinding,
    *clusters: Cluster,
    seconds: float = 10,
    brake: bool = False,
    settings: PlacementSettings = SETTINGS,
    expectation: TaintExpectation = EXPECTATION,
) -> OutageReport | None:
    now = at(seconds)
    decided = decide(Snapshot(bound, fleet(*clusters), brake=brake, settings=settings, now=now))
    as_it_will_be = fleet(*(expected_taints(c, now, expectation) for c in clusters))
    return foresee(Snapshot(bound, as_it_will_be, brake=brake, settings=settings, now=now), decided)


def outcome(told: OutageReport | None) -> Outcome:
    assert told is not None
    return told.outlooks[0].outcome


def test_the_instant_and_the_place_of_an_eviction_are_those_that_the_decision_will_have() -> None:
    told = report(PLACED, lost("member1"), cluster("member2"))
    assert told is not None
    (outlook,) = told.outlooks
    assert (outlook.outcome, outlook.at, outlook.to) == (Outcome.EVICTION, at(600), ("member2",))
    assert told.not_seen == {"member1": at(0)}
    tainted = fleet(expected_taints(lost("member1"), at(10), EXPECTATION), cluster("member2"))
    for seconds, evicted in ((599, 0), (600, 1)):
        assert len(decide(Snapshot(PLACED, tainted, now=at(seconds))).evicted) == evicted


def test_the_sentence_stays_the_same_from_the_first_moment_to_the_last() -> None:
    told = report(PLACED, lost("member1"), cluster("member2"))
    no_execute = Taint(key="cluster.karmada.io/not-ready", effect="NoExecute", time_added=at(300))
    late = lost("member1")
    late = msgspec.structs.replace(
        late, spec=msgspec.structs.replace(late.spec, taints=(*late.spec.taints, no_execute))
    )
    again = report(PLACED, late, cluster("member2"), seconds=590)
    assert told is not None
    assert again is not None
    assert told.condition == again.condition
    assert list(again.news(told.condition)) == []
    assert list(again.news(None)) == list(again.outlooks)


def test_what_finds_no_place_is_told_to_be_held_beforehand_and_then() -> None:
    alone = binding(duplicated("member1"), 2, targets(member1=2))
    before = report(alone, lost("member1"), cluster("member2"))
    assert outcome(before) is Outcome.HELD
    tainted = expected_taints(lost("member1"), at(10), EXPECTATION)
    for seconds in (600, 601, 9_999):
        assert report(alone, tainted, cluster("member2"), seconds=seconds) == before


def test_what_tolerates_nothing_is_held_since_the_taint_was_added() -> None:
    placement = msgspec.structs.replace(duplicated("member1"), cluster_tolerations=())
    alone = binding(placement, 2, targets(member1=2))
    told = [report(alone, dead("member1", since=100), cluster("member2"), seconds=seconds) for seconds in (100, 500)]
    assert told[0] == told[1]
    assert told[0] is not None
    assert told[0].outlooks[0].at == at(100)


def test_s4_while_the_brake_holds_no_instant_is_told() -> None:
    told = report(PLACED, lost("member1"), cluster("member2"), brake=True)
    assert outcome(told) is Outcome.HELD
    assert told is not None
    assert told.outlooks[0].at is None
    assert "leeward-brake" in told.outlooks[0].why


@pytest.mark.parametrize(
    ("reason", "settings", "expectation", "expected"),
    [
        ("StatusCollectionFailed", SETTINGS, EXPECTATION, Outcome.NOT_COLLECTED),
        ("StatusCollectionFailed", SETTINGS, TaintExpectation(could_not_look=False), Outcome.EVICTION),
        ("ClusterNotReady", SETTINGS, TaintExpectation(failover=False), Outcome.NOT_EVICTED),
        ("ClusterNotReady", PlacementSettings(evict=False), EXPECTATION, Outcome.NOT_EVICTED),
        ("ClusterNotReady", SETTINGS, EXPECTATION, Outcome.EVICTION),
    ],
)
def test_what_is_not_evicted_says_why(
    reason: str, settings: PlacementSettings, expectation: TaintExpectation, expected: Outcome
) -> None:
    told = report(PLACED, lost("member1", reason), cluster("member2"), settings=settings, expectation=expectation)
    assert outcome(told) is expected


def test_what_tolerates_it_for_ever_stays() -> None:
    placement = msgspec.structs.replace(
        divided({"member1": 1, "member2": 2}), cluster_tolerations=(Toleration(operator="Exists"),)
    )
    bound = binding(placement, 3, targets(member1=1, member2=2))
    assert outcome(report(bound, lost("member1"), cluster("member2"))) is Outcome.TOLERATED


def test_until_the_outage_is_noted_as_a_taint_what_is_told_already_stands() -> None:
    assert report(PLACED, cluster("member1", ready="False"), cluster("member2")) is None


def test_nothing_is_told_of_clusters_that_are_well_or_left() -> None:
    told = report(PLACED, cluster("member1"), cluster("member2"))
    assert told is not None
    assert (told.condition, told.not_seen) == (None, {})
    moving = report(PLACED, dead("member1"), cluster("member2"), seconds=300)
    assert moving is not None
    assert (moving.condition, moving.not_seen) == (None, {"member1": at(0)}), "its copy is on its way out"


def test_a_cluster_without_a_node_that_is_ready_is_told_and_is_seen() -> None:
    found = cluster("member1")
    found = msgspec.structs.replace(
        found, status=msgspec.structs.replace(found.status, node_summary=NodeSummary(total_num=3, ready_num=0))
    )
    told = report(PLACED, found, cluster("member2"))
    assert outcome(told) is Outcome.NODES_NOT_READY
    assert told is not None
    assert told.condition is not None
    assert told.condition.message.startswith("The API of member1 answers, but none of its 3 nodes is ready: ")
    assert told.not_seen == {}


def test_a_cluster_is_not_seen_since_the_first_look_that_failed() -> None:
    well = Condition("Ready", "True", "ClusterReady", last_transition_time=at(0))
    failing = Condition("leeward.dev/Failing", "True", "ClusterNotReachable", last_transition_time=at(100))
    gone = Condition("Ready", "False", "ClusterNotReachable", last_transition_time=at(130))
    conditions = with_last_seen((well, failing), (gone,), at(130))
    found = find_condition(conditions, LAST_SEEN_CONDITION)
    assert found is not None
    assert (found.status, found.last_transition_time) == ("False", at(100))
    assert with_last_seen(conditions, conditions, at(140)) == conditions
    down = cluster("member1", ready="False")
    down = msgspec.structs.replace(down, status=msgspec.structs.replace(down.status, conditions=conditions))
    assert not_seen_since(down) == at(100)
    assert with_last_seen(conditions, (well,), at(200)) == (well,)


def test_marks_stand_in_what_the_member_said_and_leave_nothing_behind() -> None:
    items = (AggregatedStatusItem("member1", status={"readyReplicas": 2}), AggregatedStatusItem("member2"))
    once = marked(items, {"member1": at(0), "member2": at(5)})
    assert once[0].status == {"readyReplicas": 2, NOT_SEEN_SINCE: format_time(at(0))}
    assert marks_in(once) == {"member1": at(0), "member2": at(5)}
    assert marked(once, marks_in(once)) == once
    assert marked(once, {}) == items
    leaving = marked(once, marks_in(once), {"member1": at(9), "member3": at(9)})
    assert leaving[0].status == {"readyReplicas": 2, NOT_SEEN_SINCE: format_time(at(0)), LEAVES_AT: format_time(at(9))}
    assert (leaving[1], departures_in(leaving)) == (once[1], {"member1": at(9)})
    assert marked(leaving, marks_in(leaving), departures_in(leaving)) == leaving
    assert marked(leaving, marks_in(leaving)) == once
    assert marked(leaving, {}, departures_in(leaving)) == items
    spoilt = (AggregatedStatusItem("member1", status={NOT_SEEN_SINCE: "yesterday"}),)
    assert marks_in(spoilt) == {}


def told_of(bound: ResourceBinding, *clusters: Cluster, **how: Any) -> tuple[Outcome, str, datetime | None]:
    """The first outlook: what is expected, the sentence without its head, and when."""
    told = report(bound, *clusters, **how)
    assert told is not None
    (outlook,) = told.outlooks
    assert outlook.outage in (Outage("member1", at(0)), Outage("member1", at(0), verb="cannot be observed"))
    return outlook.outcome, outlook.sentence.partition(": ")[2], outlook.at


def driven_out(name: str) -> Cluster:
    no_execute = Taint(key="cluster.karmada.io/not-ready", effect="NoExecute", time_added=at(0))
    there = lost(name)
    spec = msgspec.structs.replace(there.spec, taints=(*there.spec.taints, no_execute))
    return msgspec.structs.replace(there, spec=spec)


FOR_EVER = msgspec.structs.replace(
    divided({"member1": 1, "member2": 2}),
    cluster_tolerations=(Toleration(key="cluster.karmada.io/not-ready", operator="Exists"),),
)
TOLERANT = msgspec.structs.replace(PLACED, spec=msgspec.structs.replace(PLACED.spec, placement=FOR_EVER))


def test_each_outcome_is_told_of_its_outage() -> None:
    uncollected = lost("member1", "StatusCollectionFailed")
    assert told_of(PLACED, uncollected, cluster("member2"))[:2] == (
        Outcome.NOT_COLLECTED,
        "the copy in member1 stays, because a cluster that cannot be observed may be well.",
    )
    off = PlacementSettings(evict=False)
    assert told_of(PLACED, driven_out("member1"), cluster("member2"), settings=off)[:2] == (
        Outcome.NOT_EVICTED,
        "the copy in member1 stays, because evictions are switched off.",
    )
    assert told_of(TOLERANT, driven_out("member1"), cluster("member2"))[:2] == (
        Outcome.TOLERATED,
        "the copy in member1 stays, because the policy tolerates the outage for ever.",
    )
    braked = told_of(PLACED, driven_out("member1"), cluster("member2"), brake=True)
    assert braked[0] == Outcome.HELD
    assert braked[1].startswith("the copy in member1 stays. Too many clusters are down")


def test_a_copy_that_gets_nothing_for_it_is_held_and_the_reason_is_told() -> None:
    there = driven_out("member1")
    alone = binding(divided({"member1": 1}), 1, targets(member1=1))
    nowhere = told_of(alone, there, seconds=10)
    assert nowhere[0] == Outcome.HELD
    assert nowhere[1] == (
        "the copy in member1 is due to leave at 2026-01-01T00:05:00Z, but stays. The policy allows member1 only, and "
        "member1 is down."
    )
    over = told_of(alone, there, seconds=300)
    assert over == nowhere == (Outcome.HELD, nowhere[1], at(300))


def test_where_it_goes_is_who_gets_more_than_it_had() -> None:
    more = divided({"member1": 1, "member2": 1, "member3": 1})
    bound = binding(more, 6, targets(member1=2, member2=2, member3=2))
    told = report(bound, driven_out("member1"), cluster("member2"), cluster("member3"))
    assert told is not None
    assert told.outlooks[0].to == ("member2", "member3")
    uneven = binding(more, 4, targets(member1=1, member2=1, member3=2))
    told = report(uneven, driven_out("member1"), cluster("member2"), cluster("member3"))
    assert told is not None
    assert told.outlooks[0].to == ("member2",)
    assert told.outlooks[0].why == ""


def test_s13_what_nobody_watched_puts_off_the_taint_and_the_end_of_its_toleration() -> None:
    unwatched = WatchedTime((Gap(at(100), at(200)),))
    tainted = expected_taints(lost("member1"), at(250), EXPECTATION, unwatched)
    assert [taint.time_added for taint in tainted.spec.taints if taint.effect == "NoExecute"] == [at(400)]
    later = Attention(time=WatchedTime((Gap(at(450), at(550)),)))
    snapshot = Snapshot(PLACED, fleet(tainted, cluster("member2")), attention=later, now=at(600))
    told = foresee(snapshot, decide(snapshot))
    assert told is not None
    assert [(outlook.outcome, outlook.at) for outlook in told.outlooks] == [(Outcome.EVICTION, at(800))]


def test_nothing_is_told_of_a_binding_that_moves_for_another_reason() -> None:
    scaled = binding(divided({"member1": 1, "member2": 2}), 6, targets(member1=1, member2=2))
    assert report(scaled, lost("member1"), cluster("member2")) is None


def test_what_was_due_and_is_not_decided_yet_is_neither_evicted_nor_held() -> None:
    tainted = fleet(expected_taints(lost("member1"), at(10), EXPECTATION), cluster("member2"))
    before = decide(Snapshot(PLACED, tainted, now=at(599)))
    told = foresee(Snapshot(PLACED, tainted, now=at(600)), before)
    assert told is not None
    (outlook,) = told.outlooks
    assert (outlook.outage.cluster, outlook.outcome, outlook.at, outlook.why) == (
        "member1",
        Outcome.UNDECIDED,
        at(600),
        "",
    )


def test_replicas_that_will_find_no_room_are_told_beside_those_that_move() -> None:
    told = report(spread(DYNAMIC, {"member1": 5, "member2": 2}), lost("member1"), roomy(cluster("member2"), 3))
    assert told is not None
    (outlook,) = told.outlooks
    assert (outlook.outcome, outlook.at, outlook.to) == (Outcome.EVICTION, at(600), ("member2",))
    assert "2 replicas stay in member1 " in outlook.why
    assert outlook.why.startswith(
        "No room for all replicas, because member1 is down, and member2 has too little free capacity. "
    )
