"""The decision about a binding: evict, place and finish as one."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeapi.codec import encode
from kubeapi.core import Taint
from leeward.api.cluster import Cluster
from leeward.api.failback import FailbackOptions
from leeward.api.meta import find_condition
from leeward.api.names import (
    APPLIED_PLACEMENT_ANNOTATION,
    DRAIN_TAINT,
    EVICTION_HELD_CONDITION,
    FAILBACK_ANNOTATION,
    FLAPPING_TAINT,
    HOME_ANNOTATION,
    MEMORY_ANNOTATION,
)
from leeward.api.policy import ClusterAffinityTerm, ClusterFailover, FailoverBehavior, Placement
from leeward.api.rules.bounds import MOST_AFFINITIES
from leeward.api.work import BindingSuspension, GracefulEvictionTask, ResourceBinding, Work
from leeward.core.cluster_health.watched_time import Attention
from leeward.core.eviction.due_evictions import Eviction
from leeward.core.eviction.failback import Failback
from leeward.core.eviction.held_reasons import Deferral, HeldReason
from leeward.core.eviction.original_placement import (
    OriginalPlacement,
    original_placement_patch,
    parse_original_placement,
    remembered_placement,
)
from leeward.core.eviction.stalled_replacements import StalledTarget, StalledTargets
from leeward.core.placement import Decision, EvictionBudget, PlacementSettings, Snapshot, decide
from leeward.core.placement.actions import move_on, place
from leeward.core.placement.check import check
from leeward.core.placement.phases import fail_back, withdraw
from leeward.core.placement.situation import Situation
from leeward.core.placement.snapshot import authority_over
from leeward.core.scheduling import Placed, Trace, Unplaceable
from tests.builders import aggregated, at, binding, cluster, dead, divided, duplicated, fleet, targets, works

SETTINGS = PlacementSettings()
ONE_TO_TWO = divided({"member1": 1, "member2": 2})


def task(cluster: str, started: float = 0, **fields: object) -> GracefulEvictionTask:
    base = GracefulEvictionTask(
        cluster, "TaintUntolerated", "TaintManager", "Gracefully", creation_timestamp=at(started)
    )
    return msgspec.structs.replace(base, **fields)


MOVED = aggregated(binding(ONE_TO_TWO, 3, targets(member2=3), (task("member1", replicas=1),)))


def replicas(decision: Decision) -> dict[str, int]:
    return {target.name: target.replicas for target in decision.clusters}


def test_a_new_binding_is_divided_by_weight() -> None:
    decision = decide(
        Snapshot(binding(ONE_TO_TWO, 3), fleet(cluster("member1"), cluster("member2")), settings=SETTINGS, now=at(0))
    )
    assert replicas(decision) == {"member1": 1, "member2": 2}


def test_s12_what_stays_keeps_the_order_in_which_another_scheduler_named_it() -> None:
    held = targets(member2=3, member1=3)
    placed = binding(duplicated("member1", "member2"), 3, held)
    decision = decide(
        Snapshot(placed, fleet(cluster("member1"), cluster("member2")), settings=SETTINGS, now=at(0)), Trace()
    )
    assert decision.result is not None, "a Duplicated binding is scheduled again each time"
    assert decision.clusters is held


def test_nothing_moves_before_the_toleration_ends() -> None:
    placed = binding(ONE_TO_TWO, 3, targets(member1=1, member2=2))
    decision = decide(Snapshot(placed, fleet(dead("member1"), cluster("member2")), settings=SETTINGS, now=at(299)))
    assert (replicas(decision), decision.eviction_tasks) == ({"member1": 1, "member2": 2}, ())
    assert decision.wake_at == at(300)


def test_when_the_toleration_ends_evicting_and_placing_are_one_decision() -> None:
    placed = binding(ONE_TO_TWO, 3, targets(member1=1, member2=2))
    decision = decide(Snapshot(placed, fleet(dead("member1"), cluster("member2")), settings=SETTINGS, now=at(300)))
    assert replicas(decision) == {"member2": 3}
    (opened,) = decision.eviction_tasks
    assert (opened.from_cluster, opened.replicas, opened.reason) == ("member1", 1, "TaintUntolerated")
    assert (opened.producer, opened.purge_mode, opened.creation_timestamp) == ("TaintManager", "Gracefully", at(300))


def test_s11_nothing_is_evicted_when_there_is_no_place_to_go() -> None:
    placed = binding(ONE_TO_TWO, 3, targets(member1=1, member2=2))
    decision = decide(Snapshot(placed, fleet(dead("member1"), dead("member2")), settings=SETTINGS, now=at(300)))
    assert (replicas(decision), decision.eviction_tasks) == ({"member1": 1, "member2": 2}, ())
    assert decision.held is not None
    assert decision.held.type == EVICTION_HELD_CONDITION
    assert "member1 (cluster.karmada.io/not-ready:NoExecute)" in decision.held.message


def test_s11_a_duplicated_template_stays_when_fewer_clusters_than_min_groups_fit() -> None:
    placed = binding(duplicated("member1", "member2", groups=2), 2, targets(member1=2, member2=2))
    decision = decide(Snapshot(placed, fleet(dead("member1"), cluster("member2")), settings=SETTINGS, now=at(300)))
    assert (replicas(decision), decision.eviction_tasks) == ({"member1": 2, "member2": 2}, ())
    assert decision.held is not None


def test_a_duplicated_template_keeps_its_healthy_copy_and_gains_another() -> None:
    placement = duplicated("member1", "member2", "member3", "member5", groups=2)
    placed = binding(placement, 2, targets(member1=2, member2=2))
    others = [cluster(name) for name in ("member2", "member3", "member4", "member5")]
    decision = decide(Snapshot(placed, fleet(dead("member1"), *others), settings=SETTINGS, now=at(300)))
    assert replicas(decision) == {"member2": 2, "member3": 2}


def test_with_directly_a_copy_leaves_even_without_a_place_to_go() -> None:
    failover = FailoverBehavior(cluster=ClusterFailover(purge_mode="Directly"))
    placed = binding(ONE_TO_TWO, 3, targets(member1=3), failover=failover)
    decision = decide(Snapshot(placed, fleet(dead("member1"), dead("member2")), settings=SETTINGS, now=at(300)))
    assert replicas(decision) == {}
    assert [t.purge_mode for t in decision.eviction_tasks] == ["Directly"]
    assert isinstance(decision.result, Unplaceable)


def test_a_suspended_binding_is_not_evicted_because_it_could_not_be_placed() -> None:
    placed = binding(ONE_TO_TWO, 3, targets(member1=1, member2=2), suspension=BindingSuspension(scheduling=True))
    decision = decide(Snapshot(placed, fleet(dead("member1"), cluster("member2")), settings=SETTINGS, now=at(300)))
    assert replicas(decision) == {"member1": 1, "member2": 2}
    assert decision.held is not None
    assert "suspended" in decision.held.message


def test_without_the_gate_nothing_is_evicted() -> None:
    placed = binding(ONE_TO_TWO, 3, targets(member1=1, member2=2))
    decision = decide(
        Snapshot(
            placed, fleet(dead("member1"), cluster("member2")), settings=PlacementSettings(evict=False), now=at(9_999)
        )
    )
    assert replicas(decision) == {"member1": 1, "member2": 2}


def test_a_task_ends_when_the_replacement_is_seen_healthy() -> None:
    decision = _decide(MOVED, works({"member1": 1, "member2": 3}))
    assert (decision.eviction_tasks, decision.finished) == ((), ("member1",))


@pytest.mark.parametrize(
    ("story", "report"),
    [
        ("a health reported before the replica was added", works({"member2": 2})),
        ("an unhealthy replacement", works({"member2": None})),
        ("no report", {}),
        ("contents that are not applied yet", works({"member2": 3}, applied=0)),
        ("a report on earlier contents", works({"member2": 3}, carried=0)),
        ("a report from before the cluster last became ready", works({"member2": 3}, reflected=-1)),
    ],
)
def test_s1_a_task_stays_open_on(story: str, report: dict[str, Work]) -> None:
    assert len(_decide(MOVED, report).eviction_tasks) == 1, story


def test_s1_health_that_was_aggregated_for_an_earlier_generation_is_no_health() -> None:
    stale = aggregated(MOVED, generation=0)
    assert len(_decide(stale, works({"member2": 3})).eviction_tasks) == 1


def test_s1_an_empty_result_is_never_all_healthy() -> None:
    emptied = binding(ONE_TO_TWO, 3, (), (task("member1"),))
    decision = decide(Snapshot(emptied, fleet(dead("member1"), dead("member2")), settings=SETTINGS, now=at(10_000)))
    assert len(decision.eviction_tasks) == 1


def test_s1_time_alone_ends_nothing_where_the_old_copy_cannot_be_seen() -> None:
    assert len(_decide(MOVED, {}, 10_000).eviction_tasks) == 1


@pytest.mark.parametrize(("suppress", "open_tasks"), [(True, 1), (False, 0)])
def test_suppress_deletion_overrules_everything(suppress: bool, open_tasks: int) -> None:
    moved = aggregated(binding(ONE_TO_TWO, 3, targets(member2=3), (task("member1", suppress_deletion=suppress),)))
    assert len(_decide(moved, works({"member2": 3}), 10_000).eviction_tasks) == open_tasks


def test_after_recovery_nothing_moves_back() -> None:
    moved = binding(ONE_TO_TWO, 3, targets(member2=3))
    decision = decide(Snapshot(moved, fleet(cluster("member1"), cluster("member2")), settings=SETTINGS, now=at(2_000)))
    assert (replicas(decision), decision.result) == ({"member2": 3}, None)


def test_a_duplicated_template_is_filled_up_again_after_recovery() -> None:
    moved = binding(duplicated("member1", "member2"), 2, targets(member2=2))
    decision = decide(Snapshot(moved, fleet(cluster("member1"), cluster("member2")), settings=SETTINGS, now=at(2_000)))
    assert replicas(decision) == {"member1": 2, "member2": 2}


def test_a_deleted_cluster_is_left_whatever_its_taints() -> None:
    leaving = cluster("member1")
    leaving = msgspec.structs.replace(
        leaving, metadata=msgspec.structs.replace(leaving.metadata, deletion_timestamp=at(0))
    )
    placed = binding(ONE_TO_TWO, 3, targets(member1=1, member2=2))
    decision = decide(Snapshot(placed, fleet(leaving, cluster("member2")), settings=SETTINGS, now=at(1)))
    assert replicas(decision) == {"member2": 3}


def _decide(moved: ResourceBinding, reports: dict[str, Work], seconds: float = 1) -> Decision:
    return decide(
        Snapshot(moved, fleet(dead("member1"), cluster("member2")), reports, settings=SETTINGS, now=at(seconds))
    )


def test_recovery_withdraws_an_eviction_whose_replacement_is_not_healthy_yet() -> None:
    decision = decide(
        Snapshot(
            MOVED,
            fleet(cluster("member1"), cluster("member2")),
            works({"member1": 1, "member2": 2}),
            settings=SETTINGS,
            now=at(400),
        )
    )
    assert (replicas(decision), decision.eviction_tasks) == ({"member1": 1, "member2": 2}, ())
    assert decision.withdrawn == ("member1",)


@pytest.mark.parametrize(
    ("story", "report"),
    [
        ("the old copy is not known to be healthy", works({"member1": 1}, reflected=-1) | works({"member2": 2})),
        ("the old copy is unhealthy", works({"member1": None, "member2": 2})),
        ("the replacement is healthy", works({"member1": 1, "member2": 3})),
    ],
)
def test_recovery_withdraws_nothing_when(story: str, report: dict[str, Work]) -> None:
    decision = decide(
        Snapshot(MOVED, fleet(cluster("member1"), cluster("member2")), report, settings=SETTINGS, now=at(400))
    )
    assert (replicas(decision), decision.withdrawn) == ({"member2": 3}, ()), story


def beyond_bounds(found: ResourceBinding) -> ResourceBinding:
    """The binding with as good a placement, of more affinity terms than are scheduled by."""
    term = ClusterAffinityTerm(affinity_name="", cluster_names=("member1", "member2", "member3"))
    terms = tuple(msgspec.structs.replace(term, affinity_name=f"t{n}") for n in range(MOST_AFFINITIES + 1))
    placement = msgspec.structs.replace(
        found.spec.placement or Placement(), cluster_affinity=None, cluster_affinities=terms
    )
    applied = {APPLIED_PLACEMENT_ANNOTATION: encode(placement).decode()}
    metadata = msgspec.structs.replace(found.metadata, annotations={**found.metadata.annotations, **applied})
    spec = msgspec.structs.replace(found.spec, placement=placement)
    return msgspec.structs.replace(found, metadata=metadata, spec=spec)


@pytest.mark.parametrize(
    ("healthy", "expected"),
    [({"member1": 1, "member2": 2}, {"member1": 1, "member2": 2}), ({"member1": None, "member2": 3}, {"member2": 3})],
    ids=["withdrawn", "finished"],
)
def test_s1_an_eviction_goes_on_by_a_placement_beyond_its_bounds(
    healthy: dict[str, int | None], expected: dict[str, int]
) -> None:
    there, reports = fleet(cluster("member1"), cluster("member2"), cluster("member3")), works(healthy)
    snapshot = Snapshot(beyond_bounds(MOVED), there, reports, settings=SETTINGS, now=at(400))
    decision = decide(snapshot)
    assert (replicas(decision), decision.eviction_tasks) == (expected, ())
    assert isinstance(decision.result, Unplaceable)
    assert "Too many: 101" in decision.result.message
    assert (decision.foreign, check(snapshot, decision)) == (False, ())


def test_s11_nothing_gets_a_place_by_a_placement_beyond_its_bounds() -> None:
    placed = beyond_bounds(aggregated(binding(ONE_TO_TWO, 3, targets(member1=1, member2=2))))
    there = fleet(dead("member1"), cluster("member2"), cluster("member3"))
    decision = decide(Snapshot(placed, there, works({"member2": 2}), settings=SETTINGS, now=at(1_000)))
    assert (decision.clusters, decision.eviction_tasks) == (placed.spec.clusters, ())
    assert decision.held is not None
    assert decision.held.reason == HeldReason.NO_PLACE_TO_GO
    assert "Too many: 101" in decision.held.message


def test_s3_a_part_that_comes_back_alone_is_not_told_as_placed() -> None:
    """No term had a place for what was left, and one of six replicas was there to come back (seed 11032)."""
    first = ClusterAffinityTerm(affinity_name="first", cluster_names=("member1",))
    placement = msgspec.structs.replace(ONE_TO_TWO, cluster_affinity=None, cluster_affinities=(first,))
    moved = aggregated(binding(placement, 6, targets(), (task("member1", replicas=1),)))
    snapshot = Snapshot(moved, fleet(cluster("member1")), works({"member1": 1}), settings=SETTINGS, now=at(400))
    decision = decide(snapshot)
    assert (replicas(decision), decision.withdrawn, decision.result) == ({"member1": 1}, ("member1",), None)
    assert check(snapshot, decision) == ()


STAYS = {"member2": 3}
REPLANNED = msgspec.structs.replace(MOVED, spec=msgspec.structs.replace(MOVED.spec, placement=divided({"member1": 1})))
DRAINED = cluster("member1", taints=(Taint(DRAIN_TAINT, "NoExecute", time_added=at(0)),))


@pytest.mark.parametrize(
    ("there", "report", "settings", "brake", "expected"),
    [
        (cluster("member1"), works({"member1": 1}), SETTINGS, False, ({"member1": 3}, 0)),
        (cluster("member1"), works({"member1": 1}), SETTINGS, True, (STAYS, 1)),
        (cluster("member1"), works({"member1": 1}), PlacementSettings(withdraw=False), False, (STAYS, 1)),
        (cluster("member1"), works({"member1": None}), SETTINGS, False, (STAYS, 1)),
        (DRAINED, works({"member1": 1}), SETTINGS, False, (STAYS, 1)),
    ],
    ids=["well again", "the brake is engaged", "nothing is withdrawn", "its copy is not well", "it is drained"],
)
def test_a_changed_placement_has_a_cluster_that_is_being_left_once_it_is_well_again(
    there: Cluster,
    report: dict[str, Work],
    settings: PlacementSettings,
    expected: tuple[dict[str, int], int],
    *,
    brake: bool,
) -> None:
    snapshot = Snapshot(
        REPLANNED, fleet(there, cluster("member2")), report, settings=settings, now=at(400), brake=brake
    )
    decision = decide(snapshot)
    assert (replicas(decision), len(decision.eviction_tasks), check(snapshot, decision)) == (*expected, ())


def test_recovery_of_a_duplicated_template_gives_the_unhealthy_newcomer_up() -> None:
    placement = duplicated("member1", "member2", "member3", groups=2)
    moved = aggregated(binding(placement, 2, targets(member2=2, member3=2), (task("member1", replicas=2),)))
    everyone = fleet(cluster("member1"), cluster("member2"), cluster("member3"))
    reports = works({"member1": 2, "member2": 2, "member3": None})
    decision = decide(Snapshot(moved, everyone, reports, settings=SETTINGS, now=at(400)))
    assert replicas(decision) == {"member1": 2, "member2": 2}


def test_s4_the_brake_holds_evictions_from_clusters_that_look_dead() -> None:
    placed = binding(ONE_TO_TWO, 3, targets(member1=1, member2=2))
    decision = decide(
        Snapshot(placed, fleet(dead("member1"), cluster("member2")), brake=True, settings=SETTINGS, now=at(300))
    )
    assert replicas(decision) == {"member1": 1, "member2": 2}
    assert decision.held is not None
    assert decision.held.reason == "BrakeEngaged"


def test_s4_the_brake_does_not_hold_what_someone_wants() -> None:
    wanted = Taint(key="example.com/maintenance", effect="NoExecute", time_added=at(0))
    placed = binding(ONE_TO_TWO, 3, targets(member1=1, member2=2))
    assert replicas(
        decide(
            Snapshot(
                placed,
                fleet(cluster("member1", taints=(wanted,)), cluster("member2")),
                brake=True,
                settings=SETTINGS,
                now=at(0),
            )
        )
    ) == {"member2": 3}


@given(
    weights=st.lists(st.integers(1, 9), min_size=2, max_size=7),
    wanted=st.integers(1, 40),
    victim=st.integers(0, 6),
    before=st.lists(st.integers(0, 20), min_size=7, max_size=7),
)
def test_s3_c2_a_failover_moves_all_replicas_and_shrinks_no_survivor(
    weights: list[int], wanted: int, victim: int, before: list[int]
) -> None:
    names = [f"member{number}" for number in range(len(weights))]
    lost = names[victim % len(names)]
    held = {name: count for name, count in zip(names, before, strict=False) if count}
    held[lost] = held.get(lost, 0) or 1
    placed = binding(divided(dict(zip(names, weights, strict=True))), sum(held.values()), targets(**held))
    world = fleet(dead(lost), *(cluster(name) for name in names if name != lost))
    decision = decide(Snapshot(placed, world, settings=SETTINGS, now=at(300)))
    assert isinstance(decision.result, Placed)
    after = replicas(decision)
    assert sum(after.values()) == placed.spec.replicas
    assert lost not in after
    assert all(after.get(name, 0) >= count for name, count in held.items() if name != lost)
    assert find_condition((decision.held,) if decision.held else (), EVICTION_HELD_CONDITION) is None


def test_l3_a_cluster_that_is_held_down_takes_its_eviction_back_when_the_replacement_is_late() -> None:
    """The copy that runs there stays; but not before the replacement has had its time (C1)."""
    held_down = cluster("member1", taints=(Taint(key=FLAPPING_TAINT, effect="NoSchedule", time_added=at(0)),))
    opened = MOVED.spec.graceful_eviction_tasks[0].creation_timestamp
    assert opened is not None
    for seconds, withdrawn in ((500, ()), (601, ("member1",))):
        decision = decide(
            Snapshot(
                MOVED,
                fleet(held_down, cluster("member2")),
                works({"member1": 1, "member2": 2}),
                settings=SETTINGS,
                now=opened + timedelta(seconds=seconds),
            )
        )
        assert decision.withdrawn == withdrawn


WITHDRAWABLE = works({"member1": 1, "member2": 0})


@pytest.mark.parametrize(
    "authority",
    [{"suspension": BindingSuspension(scheduling=True)}, {"scheduler_name": "another"}],
    ids=["suspended", "another scheduler's"],
)
def test_who_must_not_place_does_not_withdraw_an_eviction_either(authority: dict[str, object]) -> None:
    back = fleet(cluster("member1"), cluster("member2"))
    ours = decide(Snapshot(MOVED, back, WITHDRAWABLE, settings=SETTINGS, now=at(60)))
    assert (ours.withdrawn, replicas(ours)) == (("member1",), {"member1": 1, "member2": 2})
    spec = msgspec.structs.replace(MOVED.spec, **authority)
    theirs = msgspec.structs.replace(MOVED, spec=spec)
    decision = decide(Snapshot(theirs, back, WITHDRAWABLE, settings=SETTINGS, now=at(60)))
    assert (decision.withdrawn, decision.clusters) == ((), MOVED.spec.clusters)
    assert decision.eviction_tasks == MOVED.spec.graceful_eviction_tasks
    assert decision.foreign, "nothing is said of its scheduling"


def test_s4_nothing_is_withdrawn_and_no_task_ends_while_the_brake_is_engaged() -> None:
    back = fleet(cluster("member1"), cluster("member2"))
    for copies in (WITHDRAWABLE, works({"member2": 3})):
        decision = decide(Snapshot(MOVED, back, copies, brake=True, settings=SETTINGS, now=at(10_000)))
        assert (decision.clusters, decision.eviction_tasks) == (MOVED.spec.clusters, MOVED.spec.graceful_eviction_tasks)


PLACED = binding(ONE_TO_TWO, 3, targets(member1=1, member2=2))
DRAIN = Taint(key=DRAIN_TAINT, effect="NoExecute", time_added=at(0))


def deciding(budget: EvictionBudget, *clusters: Cluster, now: float = 300, trace: Trace | None = None) -> Decision:
    return decide(Snapshot(PLACED, fleet(*clusters), budget=budget, settings=SETTINGS, now=at(now)), trace)


def test_c4_an_eviction_waits_until_the_rate_lets_it_begin() -> None:
    waits = deciding(EvictionBudget(at(310)), dead("member1"), cluster("member2"))
    assert (replicas(waits), waits.evicted, waits.deferred) == (
        {"member1": 1, "member2": 2},
        (),
        {"member1": Deferral.RATE},
    )
    assert waits.wake_at == at(310)
    begins = deciding(EvictionBudget(at(300)), dead("member1"), cluster("member2"))
    assert (replicas(begins), begins.deferred) == ({"member2": 3}, {})
    assert waits.held is not None


def test_a_drain_waits_for_its_budget_and_no_instant_can_be_told() -> None:
    drained = cluster("member1", taints=(DRAIN,))
    waits = deciding(EvictionBudget(exhausted={"member1": 1}), drained, cluster("member2"))
    assert (replicas(waits), waits.deferred) == ({"member1": 1, "member2": 2}, {"member1": Deferral.DRAIN_BUDGET})
    assert waits.wake_at is None
    both = deciding(EvictionBudget(at(310), {"member1": 1}), drained, cluster("member2"))
    assert (both.deferred, both.wake_at) == ({"member1": Deferral.DRAIN_BUDGET}, None)
    assert replicas(deciding(EvictionBudget(exhausted={"member2": 1}), drained, cluster("member2"))) == {"member2": 3}
    theirs = msgspec.structs.replace(DRAIN, key="theirs")
    mixed = cluster("member1", taints=(DRAIN, theirs))
    assert replicas(deciding(EvictionBudget(exhausted={"member1": 1}), mixed, cluster("member2"))) == {"member2": 3}


def test_where_an_eviction_is_taken_back_nothing_else_has_ended() -> None:
    thirds = divided({"member1": 1, "member2": 1, "member3": 1})
    ended = task("member3", replicas=1, suppress_deletion=False)
    moved = aggregated(binding(thirds, 3, targets(member2=3), (task("member1", replicas=1), ended)))
    everyone = fleet(cluster("member1"), cluster("member2"), cluster("member3"))
    decision = decide(Snapshot(moved, everyone, WITHDRAWABLE, settings=SETTINGS, now=at(60)))
    assert (decision.withdrawn, decision.finished, decision.eviction_tasks) == (("member1",), (), (ended,))


@pytest.mark.parametrize(("kind", "held"), [("Deployment", True), ("PersistentVolumeClaim", False)])
def test_s13_what_stays_in_any_case_does_not_wait_for_an_outage_to_be_confirmed(kind: str, *, held: bool) -> None:
    resource = msgspec.structs.replace(PLACED.spec.resource, api_version="v1", kind=kind)
    bound = msgspec.structs.replace(PLACED, spec=msgspec.structs.replace(PLACED.spec, resource=resource))
    clusters = fleet(dead("member1"), cluster("member2"))
    snapshot = Snapshot(bound, clusters, attention=Attention(heartbeat="one"), settings=SETTINGS, now=at(400))
    assert (decide(snapshot).held is not None) is held


def test_while_an_eviction_waits_what_is_due_earlier_is_looked_at_first() -> None:
    both = binding(divided({"member1": 1, "member2": 1, "member3": 1}), 3, targets(member1=1, member2=2))
    clusters = fleet(dead("member1"), dead("member2", since=100), cluster("member3"))
    for turn, wakes in ((at(310), at(310)), (at(2_000), at(400))):
        decision = decide(Snapshot(both, clusters, budget=EvictionBudget(turn), settings=SETTINGS, now=at(300)))
        assert (decision.deferred, decision.wake_at) == ({"member1": Deferral.RATE}, wakes)


def test_why_copies_go_where_they_go_is_told_also_while_an_eviction_waits() -> None:
    grown = msgspec.structs.replace(PLACED, spec=msgspec.structs.replace(PLACED.spec, replicas=6))
    trace, clusters = Trace(), fleet(dead("member1"), cluster("member2"))
    decision = decide(Snapshot(grown, clusters, budget=EvictionBudget(at(310)), settings=SETTINGS, now=at(300)), trace)
    assert isinstance(decision.result, Placed)
    assert trace.terms


@pytest.mark.parametrize(
    ("settings", "foreign_held"),
    [(SETTINGS, False), (PlacementSettings(evict=False, finish=False), True)],
)
def test_s9_what_is_held_is_said_by_whom_it_belongs_to(settings: PlacementSettings, *, foreign_held: bool) -> None:
    clusters = fleet(dead("member1"), cluster("member2"))
    assert decide(Snapshot(PLACED, clusters, settings=settings, now=at(0))).foreign_held is foreign_held


def test_what_was_thought_of_before_it_had_to_wait_is_not_told() -> None:
    trace, alone = Trace(), Trace()
    deciding(EvictionBudget(at(310)), dead("member1"), cluster("member2"), trace=trace)
    deciding(EvictionBudget(), dead("member1"), cluster("member2"), now=299, trace=alone)
    assert trace.terms == alone.terms
    told = Trace()
    deciding(EvictionBudget(), dead("member1"), cluster("member2"), trace=told)
    assert told.terms


HOME = OriginalPlacement("", at(0), {"member1": 1, "member2": 2})
AWAY = aggregated(binding(ONE_TO_TWO, 3, targets(member2=3)))
HEALTHY = works({"member2": 3})


def returning(bound: ResourceBinding = AWAY, seconds: float = 2_000, *, brake: bool = False, **found: Any) -> Situation:
    """Situation of what has a way home, from where its replicas are healthy."""
    there = fleet(cluster("member1"), cluster("member2"))
    snapshot = Snapshot(bound, there, HEALTHY, settings=SETTINGS, now=at(seconds), brake=brake)
    options = FailbackOptions(automatic=True, after_seconds=600, step=100)
    situation = Situation(snapshot)
    vars(situation).update({"original": HOME, "failback_options": options, **found})
    return situation


def test_one_step_back_is_taken_once_a_cluster_has_been_well_for_long_enough() -> None:
    home = fail_back(returning())
    assert home is not None
    assert home.clusters == targets(member1=1, member2=2)
    assert [(opened.from_cluster, opened.replicas, opened.reason) for opened in home.eviction_tasks] == [
        ("member2", 1, "Failback")
    ]
    assert home.failback is not None
    assert (home.failback.moved, home.failback.original, home.wake_at) == ({"member1": 1}, HOME, None)
    early = fail_back(returning(seconds=599))
    assert early == replace(place(returning(seconds=599)), failback=Failback(HOME, wake_at=at(600)), wake_at=at(600))


@pytest.mark.parametrize(
    "situation",
    [
        returning(original=None),
        returning(guarded={HeldReason.WAITING_FOR_TURN: (Eviction("member1"),)}),
        returning(brake=True),
        returning(authority=replace(authority_over(AWAY, SETTINGS), returns=False)),
        returning(aggregated(binding(ONE_TO_TWO, 3, targets(member2=3), (task("member3"),)))),
        returning(aggregated(binding(ONE_TO_TWO, 3))),
        returning(aggregated(binding(ONE_TO_TWO, 4, targets(member2=3)))),
    ],
    ids=[
        "no home is known", "an eviction waits", "the brake is engaged", "others place it",
        "something is leaving", "it has no place", "something is to be placed",
    ],
)  # fmt: skip
def test_no_step_back_is_taken_where_something_else_happens(situation: Situation) -> None:
    assert fail_back(situation) is None


def automatic(bound: ResourceBinding, home: OriginalPlacement | None = None) -> ResourceBinding:
    """The binding of a policy that brings copies home, with what is remembered."""
    wanted = {**bound.metadata.annotations, FAILBACK_ANNOTATION: "Automatic"}
    asked = msgspec.structs.replace(bound, metadata=msgspec.structs.replace(bound.metadata, annotations=wanted))
    noted = {key: text for key, text in original_placement_patch(asked, home).items() if text is not None}
    return msgspec.structs.replace(
        asked, metadata=msgspec.structs.replace(asked.metadata, annotations={**wanted, **noted})
    )


def test_all_that_is_remembered_of_an_eviction_is_written_with_it_and_brings_it_home() -> None:
    placed = automatic(binding(ONE_TO_TWO, 3, targets(member1=1, member2=2)))
    lost = decide(Snapshot(placed, fleet(dead("member1"), cluster("member2")), settings=SETTINGS, now=at(300)))
    assert set(lost.annotations) == {HOME_ANNOTATION, MEMORY_ANNOTATION}
    noted = {**placed.metadata.annotations, HOME_ANNOTATION: lost.annotations[HOME_ANNOTATION] or ""}
    known = msgspec.structs.replace(placed, metadata=msgspec.structs.replace(placed.metadata, annotations=noted))
    home = parse_original_placement(known)
    assert home is not None
    assert (home.at, home.clusters) == (at(300), {"member1": 1, "member2": 2})
    away, there = automatic(AWAY, home), fleet(cluster("member1"), cluster("member2"))
    early, late = (decide(Snapshot(away, there, HEALTHY, settings=SETTINGS, now=at(seconds))) for seconds in (599, 600))
    assert (early.returning, early.wake_at, replicas(early)) == ({}, at(600), {"member2": 3})
    assert (late.returning, replicas(late)) == ({"member1": 1}, {"member1": 1, "member2": 2})


@pytest.mark.parametrize(
    ("release", "told"),
    [("1", None), ("2", {"release": "2", "replicas": 3, "releasedAt": "2026-01-01T00:07:30Z"})],
)
def test_a_release_in_the_middle_of_a_failover_is_remembered_as_of_the_decision_that_sees_it(
    release: str, told: object
) -> None:
    def released(bound: ResourceBinding, version: str, **annotations: str | None) -> ResourceBinding:
        resource = msgspec.structs.replace(bound.spec.resource, resource_version=version)
        noted: Any = {**bound.metadata.annotations, **annotations}
        metadata = msgspec.structs.replace(bound.metadata, annotations=noted)
        return msgspec.structs.replace(
            bound, metadata=metadata, spec=msgspec.structs.replace(bound.spec, resource=resource)
        )

    there = fleet(dead("member1"), cluster("member2"))
    placed = released(binding(ONE_TO_TWO, 3, targets(member1=1, member2=2)), "1")
    began = decide(Snapshot(placed, there, settings=SETTINGS, now=at(300))).annotations
    assert set(began) == {MEMORY_ANNOTATION}
    moving = released(MOVED, release, **began)
    text = decide(Snapshot(moving, there, settings=SETTINGS, now=at(450))).annotations.get(MEMORY_ANNOTATION)
    assert (text and json.loads(text)) == told


@pytest.mark.parametrize(("term", "is_told"), [("both", False), ("another", True)])
def test_what_is_taken_back_is_told_as_placed_where_it_was_in_another_term(term: str, *, is_told: bool) -> None:
    both = ClusterAffinityTerm(affinity_name="both", cluster_names=("member1", "member2"))
    placement = msgspec.structs.replace(ONE_TO_TWO, cluster_affinity=None, cluster_affinities=(both,))
    moved = aggregated(binding(placement, 3, targets(member2=3), (task("member1", replicas=1),)))
    status = msgspec.structs.replace(moved.status, scheduler_observing_affinity_name=term)
    there, copies = fleet(cluster("member1"), cluster("member2")), works({"member1": 1, "member2": 2})
    bound = msgspec.structs.replace(moved, status=status)
    taken = withdraw(Situation(Snapshot(bound, there, copies, settings=SETTINGS, now=at(400))))
    assert taken is not None
    back = targets(member1=1, member2=2)
    assert (taken.clusters, taken.result) == (back, Placed(back, "both") if is_told else None)


def test_what_waits_for_its_turn_is_told_before_what_gains_nothing() -> None:
    names = ("member1", "member2", "member3")
    copies = binding(duplicated(*names), 2, targets(**dict.fromkeys(names, 2)))
    for taints, reason in (((), "NothingToGain"), ((DRAIN,), "WaitingForTurn")):
        there = fleet(dead("member1"), cluster("member2", taints=taints), cluster("member3"))
        budget = EvictionBudget(exhausted={"member2": 1})
        held = decide(Snapshot(copies, there, budget=budget, settings=SETTINGS, now=at(300))).held
        assert held is not None
        assert held.reason == reason


def test_what_has_no_place_is_told_before_what_cannot_be_finished() -> None:
    bound = binding(ONE_TO_TWO, 3, targets(member1=3), (task("member2", replicas=1),))
    lost, well = dead("member1"), cluster("member1")
    told = [
        decide(Snapshot(aggregated(bound), fleet(there, dead("member2")), settings=SETTINGS, now=at(10_000))).held
        for there in (lost, well)
    ]
    assert [held and held.reason for held in told] == ["NoPlaceToGo", "ReplacementMissing"]


def test_what_stalls_moves_on_to_a_cluster_that_was_not_tried() -> None:
    bound = binding(duplicated("member1", "member2", "member3", groups=1), 2, targets(member2=2), (task("member1"),))
    there = fleet(dead("member1"), cluster("member2"), cluster("member3"))
    situation = Situation(Snapshot(bound, there, settings=SETTINGS, now=at(900)))
    assert not situation.stalled.targets
    vars(situation)["stalled"] = StalledTargets((StalledTarget("member2", 0, 0, "which does not take it"),))
    onward = move_on(situation)
    assert onward is not None
    assert onward.clusters == targets(member3=2)


def home_after(bound: ResourceBinding, seconds: float, reports: dict[str, Work], *clusters: Cluster) -> object:
    """Change of what is remembered of the original placement; False where there is none."""
    decision = decide(Snapshot(bound, fleet(*clusters), reports, settings=SETTINGS, now=at(seconds)))
    assert replicas(decision) != {target.name: target.replicas for target in bound.spec.clusters}, "it moves"
    return decision.annotations.get(HOME_ANNOTATION, False)


def test_the_original_placement_is_remembered_until_a_way_home_is_given_up() -> None:
    wanted = binding(ONE_TO_TWO, 3, targets(member1=1, member2=2))
    home = remembered_placement(
        None, wanted.spec, (Eviction("member1", dead("member1").spec.taints),), fleet(dead("member1")), at(0)
    )
    assert home is not None
    back = works({"member1": 1, "member2": 2})
    assert home_after(automatic(MOVED, home), 60, back, cluster("member1"), cluster("member2")) is False
    again = automatic(wanted, home)
    assert home_after(again, 300, {}, dead("member1"), cluster("member2")) is False, "the first one is kept"
    returning_step = task("member2", replicas=1, reason="Failback", producer="Leeward")
    stuck = aggregated(binding(ONE_TO_TWO, 3, targets(member1=1, member2=2), (returning_step,)))
    reports = works({"member1": None, "member2": 3})
    assert home_after(automatic(stuck, home), 700, reports, cluster("member1"), cluster("member2")) is None


def test_what_replaces_a_copy_without_a_task_is_awaited_and_what_is_taken_back_changes_nothing_of_that() -> None:
    there = fleet(dead("member1"), cluster("member2"))
    at_once = PlacementSettings(graceful=False)
    lost = decide(Snapshot(PLACED, there, settings=at_once, now=at(300))).annotations[MEMORY_ANNOTATION]
    assert lost is not None
    assert json.loads(lost) == {"replicas": 3, "clusters": {"member2": {"awaitedSince": "2026-01-01T00:05:00Z"}}}
    noted = {**MOVED.metadata.annotations, MEMORY_ANNOTATION: lost}
    awaited = msgspec.structs.replace(MOVED, metadata=msgspec.structs.replace(MOVED.metadata, annotations=noted))
    back, reports = fleet(cluster("member1"), cluster("member2")), works({"member1": 1, "member2": 2})
    taken = decide(Snapshot(awaited, back, reports, settings=SETTINGS, now=at(400)))
    assert taken.withdrawn == ("member1",)
    assert MEMORY_ANNOTATION not in taken.annotations
