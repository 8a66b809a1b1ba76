"""The ways in which a binding moves, as the decision that is written: clusters, tasks, what is told, and when again."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec
import pytest

from kubeapi.codec import encode
from kubeapi.core import Taint
from leeward.api.cluster import Cluster
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION, CLAIMS_ANNOTATION, FLAPPING_TAINT
from leeward.api.policy import (
    ApplicationFailover,
    ClusterAffinityTerm,
    ClusterFailover,
    DecisionConditions,
    FailoverBehavior,
    Placement,
    SpreadConstraint,
    StatePreservation,
    StatePreservationRule,
)
from leeward.api.purge_mode import PurgeMode
from leeward.api.work import (
    AggregatedStatusItem,
    BindingSuspension,
    GracefulEvictionTask,
    ResourceBinding,
)
from leeward.core.copies.memory import BindingMemory
from leeward.core.eviction.application import FailedCopies
from leeward.core.eviction.due_evictions import Eviction
from leeward.core.eviction.stalled_replacements import StalledTarget, StalledTargets
from leeward.core.placement import PlacementSettings, Snapshot
from leeward.core.placement.actions import evict, fail_over, move_on, place
from leeward.core.placement.decision import Outcome
from leeward.core.placement.situation import ExactSituation, Situation
from leeward.core.scheduling import Placed, Trace, Unplaceable
from tests.builders import at, binding, cluster, dead, divided, duplicated, fleet, targets
from tests.rooms import AGGREGATED, DYNAMIC, roomy, spread

SETTINGS = PlacementSettings()
UNGRACEFUL = PlacementSettings(graceful=False)
EXACT = PlacementSettings(keep_without_place=False, withdraw=False, exact_health=True)
NOT_READY = Taint("cluster.karmada.io/not-ready", "NoExecute", time_added=at(0))
DRAIN = Taint("leeward.dev/drain", "NoExecute", time_added=at(0))
SHARES = divided({"a": 1, "b": 1, "c": 1})
A, B, C = cluster("a"), cluster("b"), cluster("c")
LEFT_AT_ONCE = cluster("z", taints=(Taint("cluster.karmada.io/not-ready", "NoExecute", time_added=at(-1_000)),))
"""Cluster of each fleet that a copy would have to leave again at once."""
SHAKY = cluster("b", taints=(Taint(FLAPPING_TAINT, "NoSchedule", time_added=at(0)),))
DIRECTLY = FailoverBehavior(cluster=ClusterFailover("Directly"))


def task(name: str, replicas: int | None = None, seconds: float = 0, **fields: object) -> GracefulEvictionTask:
    opened = GracefulEvictionTask(
        name, "TaintUntolerated", "TaintManager", "Gracefully", replicas=replicas, creation_timestamp=at(seconds)
    )
    return msgspec.structs.replace(opened, **fields)


def bound_to(placement: Placement, replicas: int, *tasks: GracefulEvictionTask, **held: int) -> ResourceBinding:
    return binding(placement, replicas, targets(**held), tasks)


def changed(bound: ResourceBinding, **spec: object) -> ResourceBinding:
    return msgspec.structs.replace(bound, spec=msgspec.structs.replace(bound.spec, **spec))


def kept(decision: Outcome | None) -> dict[str, int]:
    assert decision is not None
    return {target.name: target.replicas for target in decision.clusters}


def left(decision: Outcome | None) -> dict[str, int | None]:
    assert decision is not None
    return {task.from_cluster: task.replicas for task in decision.eviction_tasks}


def told(decision: Outcome) -> tuple[str, str]:
    assert decision.held is not None
    return decision.held.reason, decision.held.message


def situation(
    bound: ResourceBinding,
    clusters: Mapping[str, Cluster],
    now: datetime,
    settings: PlacementSettings = SETTINGS,
    **found: object,
) -> Situation:
    """Situation of `bound`, of which these parts are found already; otherwise nothing is due."""
    kind = ExactSituation if settings.exact_health else Situation
    at = kind(Snapshot(bound, fleet(*clusters.values()), settings=settings, now=now))
    vars(at).update({"spec": bound.spec, "failures": FailedCopies(BindingMemory()), **found})
    return at


SUSPENDED = {"suspension": BindingSuspension(scheduling=True)}
THEIRS = {"scheduler_name": "another"}


# place


@pytest.mark.parametrize("authority", [SUSPENDED, THEIRS])
def test_who_must_not_place_leaves_all_as_it_is(authority: dict[str, object]) -> None:
    opened = task("c", 1)
    bound = changed(bound_to(SHARES, 5, opened, a=2), **authority)
    assert place(situation(bound, fleet(A, B), at(10))) == Outcome(targets(a=2), (opened,))


def test_where_nothing_is_due_nothing_is_asked() -> None:
    opened = task("c", 1)
    bound = bound_to(SHARES, 4, opened, a=2, b=2)
    assert place(situation(bound, fleet(A, B), at(10))) == Outcome(targets(a=2, b=2), (opened,))


def test_what_is_asked_for_is_placed_and_its_tasks_go_on() -> None:
    opened = task("c", 1)
    bound = bound_to(SHARES, 4, opened, a=2)
    decision = place(situation(bound, fleet(A, B, C), at(10)))
    assert decision == Outcome(targets(a=2, b=2), (opened,), Placed(targets(a=2, b=2), ""))
    tried = FailedCopies(BindingMemory().noting(tried=("a",)))
    elsewhere = place(situation(bound_to(SHARES, 2), fleet(A, B), at(10), failures=tried))
    assert kept(elsewhere) == {"b": 2}


def test_where_no_cluster_fits_or_all_are_too_small_what_is_there_is_kept() -> None:
    nowhere = bound_to(divided({"z": 1}), 3, a=2)
    for exact, left in ((False, {"a": 2}), (True, {})):
        nobody = place(situation(nowhere, fleet(A), at(10), replace(SETTINGS, exact_health=exact)))
        assert isinstance(nobody.result, Unplaceable)
        assert (kept(nobody), nobody.result.kind) == (left, "FitError")
    small = changed(spread(DYNAMIC, {"a": 2, "b": 1}), replicas=9)
    gone = msgspec.structs.replace(A, metadata=msgspec.structs.replace(A.metadata, deletion_timestamp=at(0)))
    for there, expected in ((A, {"a": 2, "b": 1}), (gone, {"b": 1})):
        decision = place(situation(small, fleet(roomy(there, 1), roomy(B, 1)), at(10)))
        assert isinstance(decision.result, Unplaceable)
        assert kept(decision) == expected


def in_first_term(bound: ResourceBinding) -> ResourceBinding:
    """The binding as it was placed: in the term of a and b, by its present placement."""
    applied = encode(bound.spec.placement).decode()
    metadata = msgspec.structs.replace(bound.metadata, annotations={APPLIED_PLACEMENT_ANNOTATION: applied})
    status = msgspec.structs.replace(bound.status, scheduler_observing_affinity_name="t0")
    return msgspec.structs.replace(bound, metadata=metadata, status=status)


def test_s1_what_is_well_leaves_its_term_gracefully_where_a_cluster_was_unjoined() -> None:
    bound = in_first_term(bound_to(terms("ab", "cd", of=duplicated(groups=2)), 2, a=2, b=2))
    decision = place(situation(bound, fleet(B, C, cluster("d")), at(10)))
    assert (kept(decision), left(decision), decision.followed) == ({"c": 2, "d": 2}, {"b": 2}, ("b",))
    assert decision.result == Placed(targets(c=2, d=2), "t1"), "the new term is told"
    (leaving,) = decision.eviction_tasks
    assert (leaving.reason, leaving.producer, leaving.purge_mode) == ("AffinityTermLeft", "Leeward", "Gracefully")
    assert leaving.creation_timestamp == at(10)


def test_a_placement_that_a_user_has_changed_leaves_its_term_at_once_as_in_karmada() -> None:
    bound = bound_to(terms("ab", "cd", of=duplicated(groups=2)), 2, b=2)
    asked = changed(in_first_term(bound), reschedule_triggered_at=at(5))
    asked = msgspec.structs.replace(asked, status=msgspec.structs.replace(asked.status, last_scheduled_time=at(1)))
    replaced = changed(in_first_term(bound), placement=terms("a", "cd", of=duplicated(groups=2)))
    there = fleet(B, C, cluster("d"))
    for moved, settings in ((replaced, SETTINGS), (asked, SETTINGS), (in_first_term(bound), UNGRACEFUL)):
        decision = place(situation(moved, there, at(10), settings))
        assert (kept(decision), left(decision), decision.followed) == ({"c": 2, "d": 2}, {}, ())


def replanned(*names: str, groups: int = 0) -> ResourceBinding:
    """Six in c, behind three that leave a; the user wants them in these clusters by now."""
    placement = msgspec.structs.replace(divided(dict.fromkeys(names, 1)), replica_scheduling=DYNAMIC)
    spread_over = (SpreadConstraint(spread_by_field="cluster", min_groups=groups, max_groups=groups),) if groups else ()
    wanted = msgspec.structs.replace(placement, spread_constraints=spread_over)
    return changed(bound_to(SHARES, 6, task("a", 3), task("b", 1), c=6), placement=wanted)


def test_a_changed_placement_takes_what_is_well_again_where_it_finds_no_other_place() -> None:
    there = fleet(roomy(A, 9), roomy(B, 9), roomy(C, 9), roomy(cluster("d"), 9))
    well: dict[str, Any] = {"well_again": frozenset({"a", "b"})}
    taken = place(situation(replanned("a"), there, at(10), **well))
    assert (kept(taken), left(taken)) == ({"a": 6}, {"b": 1}), "what it does not take goes on being left"
    assert taken.result == Placed(targets(a=6), ""), "scheduling is told to have succeeded"
    both = place(situation(replanned("a", "d", groups=2), there, at(10), **well))
    assert (set(kept(both)), left(both), sum(kept(both).values())) == ({"a", "d"}, {"b": 1}, 6)
    elsewhere = place(situation(replanned("a", "d"), there, at(10), **well))
    assert (kept(elsewhere), left(elsewhere)) == ({"d": 6}, {"a": 3, "b": 1})


def test_a_changed_placement_that_finds_no_place_with_what_is_well_again_ends_no_eviction() -> None:
    asked = situation(replanned("a", "d", groups=2), fleet(roomy(A, 9), roomy(C, 9)), at(10))
    once, twice = (replace(asked, trace=Trace()) for _ in range(2))
    for each, well in ((once, frozenset[str]()), (twice, frozenset({"a"}))):
        vars(each).update({**vars(asked), "trace": each.trace, "well_again": well})
        refused = place(each)
        assert isinstance(refused.result, Unplaceable)
        assert left(refused) == {"a": 3, "b": 1}
    assert once.trace is not None
    assert twice.trace is not None
    assert len(twice.trace.terms) == len(once.trace.terms) + 1, "each question is told"


# evict


def lost(*names: str, taint: Taint = NOT_READY) -> tuple[Eviction, ...]:
    return tuple(Eviction(name, (taint,)) for name in names)


def evicted(
    bound: ResourceBinding,
    due: tuple[Eviction, ...],
    *clusters: Cluster,
    seconds: float = 300,
    settings: PlacementSettings = SETTINGS,
    tried: tuple[str, ...] = (),
) -> Outcome:
    failures = FailedCopies(BindingMemory().noting(tried=tried))
    there = fleet(*clusters, LEFT_AT_ONCE)
    return evict(situation(bound, there, at(seconds), settings, due=due, failures=failures))


def test_leaving_and_placing_are_one_decision() -> None:
    bound = bound_to(SHARES, 4, a=2, b=2)
    decision = evicted(bound, lost("a"), dead("a"), B, C)
    assert decision == Outcome(
        targets(b=2, c=2),
        (task("a", 2, 300),),
        Placed(targets(b=2, c=2), ""),
        evicted=lost("a"),
    )


def test_without_graceful_eviction_a_copy_leaves_no_task_and_those_of_others_go_on() -> None:
    bound = bound_to(SHARES, 4, task("c", 1), task("a", 1), a=2, b=2)
    decision = evicted(bound, lost("a"), dead("a"), B, settings=UNGRACEFUL)
    assert (kept(decision), left(decision)) == ({"b": 4}, {"c": 1})
    assert (decision.evicted, decision.followed) == (lost("a"), ())


def test_what_was_tried_in_vain_is_asked_when_no_other_takes_it() -> None:
    bound = bound_to(SHARES, 2, a=2)
    assert kept(evicted(bound, lost("a"), dead("a"), B, C, tried=("b",))) == {"c": 2}
    assert kept(evicted(bound, lost("a"), dead("a"), B, tried=("b",))) == {"b": 2}
    shaky = cluster("c", taints=SHAKY.spec.taints)
    assert kept(evicted(bound, lost("a"), dead("a"), B, shaky, tried=("b",))) == {"b": 2}
    assert kept(evicted(bound, lost("a"), dead("a"), B, shaky, seconds=1_800, tried=("b",))) == {"b": 2}
    assert kept(evicted(bound, lost("a"), dead("a"), shaky, seconds=1_800, tried=("b",))) == {"c": 2}


@pytest.mark.parametrize(
    ("authority", "why"),
    [
        (SUSPENDED, "scheduling of this binding is suspended"),
        (THEIRS, "it is placed by another scheduler, another"),
    ],
)
@pytest.mark.parametrize("directly", [False, True])
def test_who_must_not_place_evicts_only_directly(authority: dict[str, object], why: str, *, directly: bool) -> None:
    bound = changed(bound_to(SHARES, 4, a=2, b=2), failover=DIRECTLY if directly else None, **authority)
    decision = evicted(bound, lost("a"), dead("a"), B, C)
    if directly:
        assert (kept(decision), left(decision)) == ({"b": 2}, {"a": 2})
        assert decision.result == Unplaceable("Error", why, {})
    else:
        assert (kept(decision), left(decision)) == ({"a": 2, "b": 2}, {})
        assert told(decision)[0] == "NoPlaceToGo"
        assert told(decision)[1].endswith(f"because there is no place to go: {why}")


def test_c1_what_is_held_down_takes_it_once_the_taints_have_stood_for_half_an_hour() -> None:
    bound = bound_to(SHARES, 2, a=2)
    early = evicted(bound, lost("a"), dead("a"), SHAKY, seconds=1_799)
    assert (kept(early), early.wake_at) == ({"a": 2}, at(1_800))
    late = evicted(bound, lost("a"), dead("a"), SHAKY, seconds=1_800)
    assert (kept(late), left(late), late.wake_at) == ({"b": 2}, {"a": 2}, None)
    nowhere = evicted(bound, lost("a"), dead("a"), dead("b"), seconds=1_800)
    assert (kept(nowhere), nowhere.wake_at) == ({"a": 2}, None)
    at_once = evicted(changed(bound, failover=DIRECTLY), lost("a"), dead("a"), SHAKY, seconds=300)
    assert kept(at_once) == {"b": 2}
    undated = evicted(bound, lost("a", taint=Taint("example.com/x", "NoExecute")), dead("a"), SHAKY, seconds=300)
    assert (kept(undated), undated.wake_at) == ({"a": 2}, at(2_100))


def test_c1_a_part_goes_to_what_is_held_down_at_the_same_time() -> None:
    bound = spread(DYNAMIC, {"a": 5})
    early = evicted(bound, lost("a"), dead("a"), roomy(SHAKY, 2), seconds=1_799)
    assert (kept(early), early.wake_at) == ({"a": 5}, at(1_800))
    late = evicted(bound, lost("a"), dead("a"), roomy(SHAKY, 2), seconds=1_800)
    assert (kept(late), left(late)) == ({"a": 3, "b": 2}, {"a": 2})


def test_s1_what_is_well_leaves_its_term_as_gracefully_beside_a_part() -> None:
    bound = spread(DYNAMIC, {"a": 5, "b": 1})
    placement = terms("ab", "c", of=bound.spec.placement)
    decision = evicted(changed(bound, placement=placement), lost("a"), dead("a"), roomy(B, 0), roomy(C, 3))
    assert (kept(decision), left(decision)) == ({"a": 3, "c": 3}, {"a": 2, "b": 1})
    assert decision.followed == ("b",)


def test_the_flag_says_how_copies_leave_where_the_policy_does_not() -> None:
    bound = bound_to(SHARES, 2, a=2)
    decision = evicted(
        bound, lost("a"), dead("a"), dead("b"), settings=PlacementSettings(purge_mode=PurgeMode.DIRECTLY)
    )
    assert [opened.purge_mode for opened in decision.eviction_tasks] == ["Directly"]
    assert kept(decision) == {}


def test_a_state_that_would_be_lost_keeps_the_copy_and_the_rest_is_still_placed() -> None:
    rules = StatePreservation((StatePreservationRule("job", "{ .job.id }"),))
    bound = changed(bound_to(SHARES, 6, a=2, b=2), failover=FailoverBehavior(cluster=ClusterFailover("", rules)))
    decision = evicted(bound, lost("a"), A, B, C)
    assert (kept(decision), left(decision)) == ({"a": 2, "b": 2, "c": 2}, {})
    assert told(decision)[0] == "StateNotPreserved"


COPIES = duplicated("a", "b", "c", "d")


def test_s12_of_automatic_evictions_those_begin_that_gain_a_new_place() -> None:
    pair = duplicated("a", "b", "c", groups=2)
    bound = bound_to(pair, 2, a=2, b=2)
    decision = evicted(bound, lost("a", "b"), dead("a"), dead("b"), C)
    assert (kept(decision), left(decision)) == ({"a": 2, "b": 2}, {}), "one of two would be no placement"
    wide = bound_to(duplicated("a", "b", "c"), 2, a=2, b=2)
    decision = evicted(wide, lost("a", "b"), dead("a"), dead("b"), C)
    assert (kept(decision), left(decision)) == ({"b": 2, "c": 2}, {"a": 2})
    assert decision.evicted == lost("a")
    assert isinstance(decision.result, Placed)
    assert decision.result.clusters == decision.clusters
    assert told(decision)[0] == "NothingToGain"
    assert told(decision)[1].startswith("not evicted from b (cluster.karmada.io/not-ready:NoExecute), because ")


def test_s12_what_gains_nothing_stays_and_what_a_person_wants_goes() -> None:
    bound = bound_to(COPIES, 2, a=2, b=2, c=2)
    stays = evicted(bound, lost("a"), dead("a"), B, C)
    assert (kept(stays), left(stays), stays.evicted) == ({"a": 2, "b": 2, "c": 2}, {}, ())
    assert told(stays)[0] == "NothingToGain"
    drained = cluster("b", taints=(DRAIN,))
    both = evicted(bound, (*lost("a"), *lost("b", taint=DRAIN)), dead("a"), drained, C)
    assert (kept(both), left(both), both.evicted) == ({"a": 2, "c": 2}, {"b": 2}, lost("b", taint=DRAIN))
    wanted = evicted(bound, lost("b", taint=DRAIN), A, drained, C)
    assert (kept(wanted), left(wanted), wanted.held) == ({"a": 2, "c": 2}, {"b": 2}, None)
    for asked in (EXACT, PlacementSettings(keep_without_place=False)):
        assert left(evicted(bound, lost("a"), dead("a"), B, C, settings=asked)) == {"a": 2}
    assert left(evicted(changed(bound, failover=DIRECTLY), lost("a"), dead("a"), B, C)) == {"a": 2}


def test_s2_what_stays_beside_what_is_new_is_a_placement_or_all_go() -> None:
    """A limit of two of four: one new place for two that are lost and one that is well would be three."""
    pair = duplicated("a", "b", "c", "d", groups=2)
    bound = bound_to(pair, 2, a=2, b=2)
    decision = evicted(bound, lost("a", "b"), dead("a"), dead("b"), C, cluster("d"))
    assert (kept(decision), left(decision), decision.held) == ({"c": 2, "d": 2}, {"a": 2, "b": 2}, None)


def terms(*named: str, of: Placement | None = None) -> Placement:
    listed = tuple(
        ClusterAffinityTerm(affinity_name=f"t{n}", cluster_names=tuple(names)) for n, names in enumerate(named)
    )
    return msgspec.structs.replace(of or duplicated(), cluster_affinity=None, cluster_affinities=listed)


def test_s2_where_the_new_place_is_in_another_term_all_go() -> None:
    decision = evicted(bound_to(terms("ab", "c"), 2, a=2, b=2), lost("a", "b"), dead("a"), dead("b"), C)
    assert (kept(decision), left(decision), decision.held) == ({"c": 2}, {"a": 2, "b": 2}, None)


@pytest.mark.parametrize(
    ("settings", "failover", "followed"),
    [
        (SETTINGS, None, ("b",)),
        (SETTINGS, DIRECTLY, ("b",)),
        (UNGRACEFUL, None, ()),
        (UNGRACEFUL, DIRECTLY, ()),
        (PlacementSettings(exact_health=True), None, ()),
        (EXACT, None, ()),
    ],
)
def test_s1_what_is_well_leaves_its_term_with_what_is_lost_where_copies_leave_gracefully(
    settings: PlacementSettings, failover: FailoverBehavior | None, followed: tuple[str, ...]
) -> None:
    bound = changed(bound_to(terms("ab", "cd", of=duplicated(groups=2)), 2, a=2, b=2), failover=failover)
    decision = evicted(bound, lost("a"), dead("a"), B, C, cluster("d"), settings=settings)
    leaving = {"a", *followed} if settings.graceful else set[str]()
    assert (kept(decision), set(left(decision)), decision.followed) == ({"c": 2, "d": 2}, leaving, followed)


def test_s2_where_the_new_place_is_in_another_region_than_a_constraint_allows_all_go() -> None:
    constraint = SpreadConstraint(spread_by_field="region", min_groups=1, max_groups=1)
    one_region = msgspec.structs.replace(duplicated("a", "b", "c"), spread_constraints=(constraint,))
    clusters = (dead("a", region="x"), dead("b", region="x"), cluster("c", region="y"))
    decision = evicted(bound_to(one_region, 2, a=2, b=2), lost("a", "b"), *clusters)
    assert (kept(decision), left(decision), decision.held) == ({"c": 2}, {"a": 2, "b": 2}, None)


def test_s11_as_many_replicas_as_find_room_leave_and_only_they_are_told_as_evicted() -> None:
    bound = spread(DYNAMIC, {"a": 2, "b": 3, "c": 1})
    due = (*lost("a", taint=DRAIN), *lost("b"))
    drained = cluster("a", taints=(DRAIN,))
    decision = evicted(bound, due, drained, dead("b"), roomy(C, 3))
    assert (kept(decision), left(decision)) == ({"a": 2, "c": 4}, {"b": 3})
    assert decision.evicted == lost("b")
    assert told(decision)[0] == "NoPlaceToGo"
    assert told(decision)[1] == (
        "No room for all replicas, because c and z have too little free capacity, and a is being drained, "
        "and b is down. "
        "2 replicas stay in a (leeward.dev/drain:NoExecute), because there is no place to go: "
        "failed to assign replicas: failed to scale up: Clusters available replicas 3 are not enough to schedule."
    )


def test_s11_where_nothing_finds_room_nothing_leaves() -> None:
    bound = spread(DYNAMIC, {"a": 2, "c": 1})
    decision = evicted(bound, lost("a"), dead("a"), roomy(C, 0))
    assert (kept(decision), left(decision), decision.evicted) == ({"a": 2, "c": 1}, {}, ())
    assert "2 replicas stay in " in told(decision)[1]
    karmada = evicted(bound, lost("a"), dead("a"), roomy(C, 0), settings=EXACT)
    assert (kept(karmada), left(karmada), karmada.evicted) == ({"c": 1}, {"a": 2}, lost("a"))
    assert isinstance(karmada.result, Unplaceable)


# fail_over


def failed(*names: str, left: tuple[str, ...] = ()) -> FailedCopies:
    items = tuple(AggregatedStatusItem(cluster_name=name, health="Unhealthy") for name in names)
    return FailedCopies(BindingMemory().noting(dict.fromkeys(names, at(0)), left), items)


def app(bound: ResourceBinding, **how: object) -> ResourceBinding:
    application = ApplicationFailover(DecisionConditions(60), **how)  # type: ignore[arg-type]
    return changed(bound, failover=FailoverBehavior(application=application))


def fails(
    bound: ResourceBinding, failures: FailedCopies, *clusters: Cluster, settings: PlacementSettings = SETTINGS
) -> Outcome:
    return fail_over(situation(bound, fleet(*clusters, LEFT_AT_ONCE), at(60), settings, failures=failures))


def test_a_failed_copy_goes_where_its_release_has_not_failed() -> None:
    bound = app(bound_to(SHARES, 4, a=2, b=2))
    decision = fails(bound, failed("a"), A, B, C)
    assert (kept(decision), left(decision), decision.evicted) == ({"b": 2, "c": 2}, {"a": 2}, (Eviction("a"),))
    assert [opened.creation_timestamp for opened in decision.eviction_tasks] == [at(60)]
    one = app(bound_to(duplicated("a", "b", "c", groups=1), 2, a=2))
    assert kept(fails(one, failed("a", left=("b",)), A, B, C)) == {"c": 2}
    assert kept(fails(one, failed("a", left=("b",)), A, B, C, settings=EXACT)) == {"b": 2}, "Karmada forgets it"


def test_s1_a_failed_copy_of_which_a_part_leaves_already_joins_its_task() -> None:
    bound = app(bound_to(SHARES, 3, task("a", 1), a=2, b=1))
    decision = fails(bound, failed("a"), A, B, C)
    assert (sum(kept(decision).values()), left(decision)) == (3, {"a": 3})


def test_a_failed_copy_without_a_place_stays_and_in_karmada_it_goes() -> None:
    bound = app(bound_to(SHARES, 2, a=2))
    stays = fails(bound, failed("a"), A)
    assert (kept(stays), left(stays), stays.evicted) == ({"a": 2}, {}, ())
    assert told(stays)[0] == "NoPlaceToGo"
    assert told(stays)[1].startswith(
        "not evicted from a (unhealthy since 2026-01-01T00:00:00Z), because there is no place"
    )
    assert not told(stays)[1].endswith("None"), "the scheduler's word is told"
    goes = fails(bound, failed("a"), A, settings=EXACT)
    assert (kept(goes), left(goes), goes.evicted) == ({}, {"a": 2}, (Eviction("a"),))
    assert isinstance(goes.result, Unplaceable)


def test_what_is_asked_for_beside_a_failed_copy_goes_nowhere_where_it_has_failed() -> None:
    bound = app(bound_to(SHARES, 6, a=2))
    assert kept(fails(bound, failed("a", left=("b",)), A, B)) == {"a": 6}


def test_s1_a_copy_that_is_well_leaves_its_term_with_a_failed_one() -> None:
    bound = app(bound_to(terms("ab", "cd", of=duplicated(groups=2)), 2, a=2, b=2))
    decision = fails(bound, failed("a"), A, B, C, cluster("d"))
    assert (kept(decision), left(decision)) == ({"c": 2, "d": 2}, {"a": 2, "b": 2})
    assert decision.followed == ("b",)


def test_without_graceful_eviction_a_failed_copy_leaves_no_task() -> None:
    bound = app(bound_to(SHARES, 4, task("c", 1), a=2, b=2))
    decision = fails(bound, failed("a"), A, B, settings=UNGRACEFUL)
    assert (kept(decision), left(decision)) == ({"b": 4}, {"c": 1})


@pytest.mark.parametrize("authority", [SUSPENDED, THEIRS])
def test_who_must_not_place_fails_over_nothing(authority: dict[str, object]) -> None:
    bound = changed(app(bound_to(SHARES, 4, a=2, b=2)), **authority)
    decision = fails(bound, failed("a"), A, B, C)
    assert (kept(decision), left(decision)) == ({"a": 2, "b": 2}, {})
    assert told(decision)[0] == "NoPlaceToGo"


def test_a_failed_copy_whose_state_would_be_lost_stays_and_the_rest_is_still_placed() -> None:
    rules = StatePreservation((StatePreservationRule("job", "{ .job.id }"),))
    bound = app(bound_to(SHARES, 6, a=2), state_preservation=rules)
    decision = fails(bound, failed("a", left=("b",)), A, B, C)
    assert (kept(decision), left(decision)) == ({"a": 3, "c": 3}, {}), "nothing new goes where it has failed"
    assert told(decision)[0] == "StateNotPreserved"
    assert told(decision)[1].endswith("the label job: the status in a has not been collected yet")


@pytest.mark.parametrize("settings", [SETTINGS, EXACT])
def test_s12_a_failed_copy_stays_with_its_volumes_and_the_rest_is_still_placed(settings: PlacementSettings) -> None:
    bound = app(bound_to(SHARES, 6, a=2))
    annotated = msgspec.structs.replace(bound.metadata, annotations={CLAIMS_ANNOTATION: "data"})
    bound = msgspec.structs.replace(bound, metadata=annotated)
    decision = fails(bound, failed("a", left=("b",)), A, B, C, settings=settings)
    if settings is EXACT:
        assert (left(decision), decision.held) == ({"a": 2}, None), "Karmada moves it"
        return
    assert (kept(decision), left(decision)) == ({"a": 3, "c": 3}, {}), "nothing new goes where it has failed"
    assert told(decision)[0] == "VolumesStay"
    assert told(decision)[1].startswith(
        "not evicted from a (unhealthy since 2026-01-01T00:00:00Z), because the volumes of the claims (data) "
    )


# move_on


def goes_on(
    bound: ResourceBinding,
    stalled: tuple[StalledTarget, ...],
    *clusters: Cluster,
    tried: tuple[str, ...] = (),
    settings: PlacementSettings = SETTINGS,
) -> Outcome | None:
    found = {"failures": FailedCopies(BindingMemory().noting(tried=tried)), "stalled": StalledTargets(stalled)}
    return move_on(situation(bound, fleet(*clusters, LEFT_AT_ONCE), at(900), settings, **found))


STALLED = StalledTarget("b", 0, 0, "which does not take it: disk full")


def test_l2_what_is_not_taken_goes_to_the_next_cluster_and_says_why() -> None:
    bound = bound_to(SHARES, 2, task("a", 2), b=2)
    decision = goes_on(bound, (STALLED,), dead("a"), B, C)
    assert (kept(decision), left(decision)) == ({"c": 2}, {"a": 2, "b": 2})
    assert decision is not None
    further = decision.eviction_tasks[1]
    assert (further.reason, further.purge_mode, further.creation_timestamp) == (
        "ReplacementFailed", "Gracefully", at(900),
    )  # fmt: skip
    assert decision.evicted == (Eviction("b", why="which does not take it: disk full"),)


def test_s1_what_serves_there_stays_there() -> None:
    bound = bound_to(SHARES, 4, task("a", 4), b=4)
    decision = goes_on(bound, (replace(STALLED, staying=3, serving=3),), dead("a"), B, C)
    assert (kept(decision), left(decision)) == ({"b": 3, "c": 1}, {"a": 4, "b": 1})


@pytest.mark.parametrize(
    ("room", "expected"),
    [(4, ({"c": 4}, {"a": 4, "b": 4})), (2, None)],
    ids=["all of it has a place", "there is none for all"],
)
def test_l2_all_goes_on_where_one_cluster_is_to_have_it(
    room: int, expected: tuple[dict[str, int], dict[str, int]] | None
) -> None:
    bound = changed(spread(AGGREGATED, {"b": 4}, groups=(1, 1)), graceful_eviction_tasks=(task("a", 4),))
    stalled = replace(STALLED, staying=2, serving=2)
    decision = goes_on(bound, (stalled,), dead("a"), roomy(B, 4), roomy(C, room))
    assert (decision and (kept(decision), left(decision))) == expected


@pytest.mark.parametrize(
    ("mode", "serving", "goes"), [("Gracefully", 1, True), ("Directly", 0, True), ("Directly", 1, False)]
)
def test_s7_what_left_directly_goes_on_so_unless_a_part_of_it_serves(mode: str, serving: int, *, goes: bool) -> None:
    bound = bound_to(duplicated("a", "b", "c", groups=1), 2, task("a", 2, purge_mode=mode), b=2)
    decision = goes_on(bound, (replace(STALLED, serving=serving),), dead("a"), B, C)
    assert (decision is not None) is goes
    if decision is not None:
        assert decision.eviction_tasks[-1].purge_mode == mode


@pytest.mark.parametrize(
    ("policy", "opened", "further"),
    [
        (None, "Gracefully", "Gracefully"),
        (None, "", "Gracefully"),
        (DIRECTLY, "Gracefully", "Gracefully"),
        (DIRECTLY, "", "Directly"),
    ],
)
def test_s7_what_stalls_leaves_as_its_tasks_did_and_without_tasks_as_the_policy_says(
    policy: FailoverBehavior | None, opened: str, further: str
) -> None:
    tasks = (task("a", 2, purge_mode=opened),) if opened else ()
    bound = changed(bound_to(duplicated("a", "b", "c", groups=1), 2, *tasks, b=2), failover=policy)
    decision = goes_on(bound, (STALLED,), dead("a"), B, C)
    assert (kept(decision), decision and decision.eviction_tasks[-1].purge_mode) == ({"c": 2}, further)


def test_where_no_other_cluster_takes_it_it_stays() -> None:
    bound = bound_to(SHARES, 2, task("a", 2), b=2)
    assert goes_on(bound, (STALLED,), dead("a"), B) is None
    assert goes_on(bound, (STALLED,), dead("a"), B, C, tried=("c",)) is None
    assert goes_on(changed(bound, **SUSPENDED), (STALLED,), dead("a"), B, C) is None
    copies = bound_to(duplicated("a", "b", "c"), 2, task("a", 2), b=2, c=2)
    assert goes_on(copies, (STALLED,), dead("a"), B, C) is None, "the copy in c is no new one"
    grown = bound_to(SHARES, 4, task("a", 2), b=2, c=2)
    assert kept(goes_on(grown, (STALLED,), dead("a"), B, C)) == {"c": 4}, "a share may grow"


def test_s1_what_is_well_leaves_its_term_as_gracefully_as_what_stalls() -> None:
    bound = changed(spread(DYNAMIC, {"b": 3, "d": 1}), graceful_eviction_tasks=(task("a", 3),))
    bound = changed(bound, placement=terms("abd", "c", of=bound.spec.placement))
    decision = goes_on(bound, (STALLED,), dead("a"), roomy(B, 0), roomy(cluster("d"), 0), roomy(C, 5))
    assert (kept(decision), left(decision)) == ({"c": 4}, {"a": 3, "b": 3, "d": 1})
    assert decision is not None
    assert decision.followed == ("d",)


def test_without_graceful_eviction_what_stalls_leaves_no_task() -> None:
    bound = bound_to(SHARES, 2, task("a", 2), b=2)
    decision = goes_on(bound, (STALLED,), dead("a"), B, C, settings=UNGRACEFUL)
    assert (kept(decision), left(decision)) == ({"c": 2}, {"a": 2})


# the trace, and what is placed beside what stays


def traced(**found: object) -> tuple[Situation, Trace]:
    """Copies in a and b, and a trace that is told of what is asked."""
    trace = Trace()
    bound = app(bound_to(SHARES, 4, a=2, b=2))
    at_300 = Situation(Snapshot(bound, fleet(A, B, C, LEFT_AT_ONCE), settings=SETTINGS, now=at(300)), trace=trace)
    vars(at_300).update({"spec": bound.spec, "failures": FailedCopies(BindingMemory()), **found})
    return at_300, trace


def test_each_action_tells_why_copies_go_where_they_go() -> None:
    placed_anew, of_place = traced()
    place(situation_with(placed_anew, replicas=6))
    evicting, of_eviction = traced(due=lost("a"))
    evict(evicting)
    again, of_second = traced(due=lost("a"), failures=FailedCopies(BindingMemory().noting(tried=("b",))))
    evict(again)
    failing, of_failure = traced(failures=failed("a"))
    fail_over(failing)
    stalling, of_stall = traced(stalled=StalledTargets((STALLED,)))
    move_on(stalling)
    told_of = [bool(trace.terms) for trace in (of_place, of_eviction, of_second, of_failure, of_stall)]
    assert told_of == [True] * 5


def situation_with(before: Situation, **spec: object) -> Situation:
    vars(before)["spec"] = msgspec.structs.replace(before.spec, **spec)
    return before


def test_what_is_asked_for_beside_what_stays_goes_nowhere_where_it_was_tried_in_vain() -> None:
    rules = StatePreservation((StatePreservationRule("job", "{ .job.id }"),))
    bound = changed(bound_to(SHARES, 6, a=2, b=2), failover=FailoverBehavior(cluster=ClusterFailover("", rules)))
    assert kept(evicted(bound, lost("a"), A, B, C, tried=("c",))) == {"a": 3, "b": 3}
