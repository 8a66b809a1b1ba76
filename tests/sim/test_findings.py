"""Findings of the histories in the product: each is cut down to its story, and must not come back."""

import pytest

from simulator.histories.model import (
    AnyStep,
    ClockIsWrong,
    ControllersAreKilled,
    CutOff,
    Deploy,
    History,
    HubIsRestored,
    LimitUsage,
    MemberComesBackOld,
    MemberFlaps,
    MemberHangs,
    MemberIsUnready,
    MemberLosesData,
    MemberStops,
    Mode,
    NodesAreCordoned,
    Partition,
    Plan,
    Provide,
    Read,
    Recreate,
    Rejoin,
    Relabel,
    Release,
    Replan,
    Scale,
    Share,
    Storm,
    TwoLeaders,
    Withdraw,
)
from simulator.histories.playing import play
from simulator.histories.rare_restores import CLEARED, STAYING

BOTH = Plan(division="Duplicated", clusters=("m1", "m2"))
EVENLY = Plan(division="Static", clusters=("m1", "m2"), weights=(1, 1))
PUSHED: tuple[tuple[str, Mode], ...] = (("m1", "Push"), ("m2", "Push"), ("m3", "Push"))
PATIENT = Plan(division="Static", clusters=("m1", "m2"), weights=(1, 3), toleration_seconds=40)
DIRECTLY = Plan(division="Static", clusters=("m1", "m2"), weights=(2, 1), directly=True)


def plays(*steps: AnyStep) -> list[str]:
    """The violations in a fleet of a Push and a Pull cluster."""
    run = play(History(seed=1, members=(("m1", "Push"), ("m2", "Pull")), steps=steps))
    return [str(violation) for violation in run.violations]


@pytest.mark.parametrize("cut_off", [(), (CutOff(at=79, lasts=30),)], ids=["reachable", "cut off"])
def test_a_pull_cluster_with_applications_can_leave_and_join_again(cut_off: tuple[AnyStep, ...]) -> None:
    """The agent lost its rights, with the execution space, before it could clean up (seed 48)."""
    assert plays(Deploy(at=45, app="web", plan=BOTH, replicas=2), *cut_off, Rejoin(at=80, cluster="m2")) == []


def test_an_outage_tells_of_what_was_on_its_way_when_its_cluster_left() -> None:
    """Nothing had room for it, so it had left and not moved; the checker asked for more (seed 713)."""
    deployed = Deploy(at=45, app="web", plan=EVENLY, replicas=2)
    full = NodesAreCordoned(at=75, lasts=120, member="m2")
    steps = (deployed, full, MemberStops(at=81, lasts=110, member="m1"), Rejoin(at=149, cluster="m1"))
    run = play(History(seed=713, members=(("m1", "Pull"), ("m2", "Push")), steps=steps))
    assert run.violations == []


def test_with_directly_an_application_comes_back_after_both_of_its_clusters_were_lost() -> None:
    """Two tasks of purge mode Directly barred the only two clusters for ever (seed 16)."""
    steps = (
        Deploy(at=45, app="web", plan=DIRECTLY, replicas=4),
        MemberIsUnready(at=80, lasts=90, member="m1"),
        MemberStops(at=125, lasts=120, member="m2"),
    )
    assert plays(*steps) == []


def test_a_pull_cluster_that_is_dead_leaves_and_takes_nothing_that_others_wrote_along() -> None:
    """The finalizers of its Works were taken off without naming the version that was seen (seeds 23 and 27)."""
    steps = (Deploy(at=45, app="web", plan=BOTH, replicas=2), MemberStops(at=80, lasts=90, member="m2"))
    assert plays(*steps, Rejoin(at=140, cluster="m2")) == []


def test_what_a_member_brings_back_from_its_past_is_removed_again_once_it_is_ready() -> None:
    """The object was seen before the cluster was Ready again, when nothing is written, and never after (seed 125)."""
    steps = (
        Deploy(at=45, app="web", plan=BOTH, replicas=2),
        Deploy(at=46, app="other", plan=BOTH, replicas=1),
        MemberComesBackOld(at=80, lasts=90, member="m1"),
        Withdraw(at=90, app="web"),
    )
    assert plays(*steps) == []


def test_a_cluster_is_ready_again_though_the_clock_was_an_hour_ahead_when_it_answered_first() -> None:
    """The threshold was counted from an instant that was still to come (seeds 543 and 652)."""
    steps = (
        MemberIsUnready(at=80, lasts=60, member="m1"),
        ClockIsWrong(at=130, lasts=20, who="controllers", seconds=3600),
    )
    assert plays(*steps) == []


def test_what_is_scaled_to_nothing_leaves_a_cluster_that_was_being_evicted() -> None:
    """Nothing could replace what nobody asked for, and the eviction went on for ever (seed 788)."""
    steps = (
        Deploy(at=45, app="web", plan=EVENLY, replicas=2),
        MemberHangs(at=80, lasts=100, member="m1"),
        Scale(at=150, app="web", replicas=0),
    )
    assert plays(*steps) == []


def test_s4_a_removal_that_is_held_stays_under_the_brake_while_a_clock_is_wrong() -> None:
    """The deletion was dated by one clock, and the return of the cluster by another, an hour behind (seed 496)."""
    steps = (
        Deploy(at=52, app="web", plan=PATIENT, replicas=6),
        MemberHangs(at=97, lasts=119, member="m1"),
        ClockIsWrong(at=168, lasts=77, who="controllers", seconds=-3600),
        Scale(at=174, app="web", replicas=1),
        MemberFlaps(at=174, lasts=73, member="m2", period=45),
    )
    assert plays(*steps) == []


@pytest.mark.parametrize("killed_at", [131, 150])
def test_c4_a_restart_of_the_controllers_does_not_hurry_evictions(killed_at: float) -> None:
    """The time since the last one was known to the process only, and the next one followed at once."""
    apps = tuple(Deploy(at=45 + number, app=f"app{number}", plan=EVENLY, replicas=2) for number in range(3))
    lost = MemberStops(at=80, lasts=250, member="m1")
    steps = (*apps, lost, ControllersAreKilled(at=killed_at, lasts=1))
    run = play(History(seed=9, members=PUSHED, steps=steps, evictions_per_second=0.05))
    assert (run.reached["an eviction starts"], run.violations) == (3, [])


def test_s10_that_a_member_is_not_seen_any_more_is_no_news_of_its_copies() -> None:
    """The mark of the outage was taken for a count that a member had reported after its return (seed 2032)."""
    steps = (
        MemberComesBackOld(at=63, lasts=55.6, member="m3"),
        Deploy(at=63.6, app="web", plan=Plan(division="Static", clusters=("m1", "m3"), weights=(2, 1)), replicas=6),
        MemberStops(at=110.8, lasts=118.2, member="m3"),
        Partition(at=120, lasts=51.7, who="controllers", whom="control-plane"),
    )
    run = play(History(seed=1, members=(("m1", "Pull"), ("m3", "Push")), steps=steps))
    assert (run.reached["Ready becomes False"], run.violations) == (1, [])


def test_s19_an_outage_is_not_over_while_an_eviction_is_held_behind_the_return_of_its_cluster() -> None:
    """The held eviction did not count as on its way out: the Outage was over, and told of it no more (seed 820008)."""
    patient = Plan(division="Dynamic", clusters=("m1", "m3"), directly=True, toleration_seconds=40)
    steps = (Deploy(at=59, app="web", plan=patient, replicas=2), MemberStops(at=87, lasts=115, member="m1"))
    members: tuple[tuple[str, Mode], ...] = (("m1", "Pull"), ("m2", "Push"), ("m3", "Push"))
    assert play(History(seed=1, members=members, steps=steps)).violations == []


def test_s19_an_outage_that_others_have_begun_is_not_ended_by_what_was_so_before_it() -> None:
    """The process that took it up had not heard yet that the cluster was lost, and took it for back (seed 820024)."""
    storm = Storm(
        at=112.225,
        lasts=27.422,
        who="controllers",
        whom="control-plane",
        rate=0.05,
        mishaps=("lost",),
        lag_seconds=0.5,
        repeats=0.3,
        jitter_seconds=0.05,
    )
    steps = (CutOff(at=96.908, lasts=64.283), storm, TwoLeaders(at=114.379, lasts=60))
    for seed in range(820020, 820026):
        assert play(History(seed=seed, members=PUSHED, steps=steps)).violations == []


def test_l3_an_orphan_namespace_that_is_deleted_after_a_restore_has_ended_when_that_is_judged() -> None:
    """The Namespace was still on its way out when its deletion had just been asked for (seed 3164)."""
    restored = HubIsRestored(at=61, lasts=158, down_seconds=45, controllers_after=46.272)
    shared = Share(at=61, app="shared", what="Namespace", clusters=("m1", "m2"))
    run = play(History(seed=3164, members=PUSHED[:2], steps=(restored, shared)))
    assert (run.reached[CLEARED], run.violations) == (1, [])


def test_s19_what_was_seen_before_a_restore_is_told_of_no_outage_after_it() -> None:
    """Controllers that went on told of an outage that the backup did not have, and of a move (seeds 4048 and 5021)."""
    steps = (
        Deploy(at=45, app="web", plan=EVENLY, replicas=2),
        MemberIsUnready(at=80, lasts=130, member="m1"),
        HubIsRestored(at=195, lasts=170, controllers_stay=True),
        CutOff(at=203, lasts=62),
        Replan(at=270, app="web", plan=Plan(division="Static", clusters=("m1",), weights=(1,))),
    )
    run = play(History(seed=5021, members=PUSHED[:2], steps=steps))
    assert (run.reached[STAYING], run.reached["an eviction ends"], run.violations) == (1, 1, [])


def test_l1_a_limit_that_a_restored_hub_does_not_know_waits_until_somebody_reads_of_it() -> None:
    """The checker asked for its end, though nobody removes what the control plane does not know (seed 5038)."""
    limited = LimitUsage(at=86, cpu=4, assigned=("m1", "m2"))
    steps = (HubIsRestored(at=69, lasts=169, down_seconds=20, controllers_stay=True), limited)
    run = play(History(seed=5038, members=PUSHED[:2], steps=steps))
    assert (run.reached[CLEARED], run.violations) == (1, [])


def test_l1_a_quota_refuses_copies_in_all_clusters_when_there_is_room_for_one_only() -> None:
    """The checker counted one copy of those that are not divided (seed 5090)."""
    steps = (LimitUsage(at=45, cpu=3), Deploy(at=60, app="web", plan=BOTH, replicas=2))
    assert plays(*steps) == []


def test_s1_a_quota_that_refuses_a_placement_leaves_what_runs_where_the_placement_names_nothing_more() -> None:
    """Three of five replicas went from the cluster that was left, and came nowhere (seed 8026)."""
    steps = (
        Deploy(
            at=47, app="app1", plan=Plan(division="Static", clusters=("m1", "m2", "m3"), weights=(1, 1, 3)), replicas=1
        ),
        LimitUsage(at=147, cpu=6),
        Scale(at=196, app="app1", replicas=5),
        Replan(at=196, app="app1", plan=BOTH),
    )
    assert play(History(seed=8026, members=PUSHED, steps=steps)).violations == []


def test_s1_what_serves_stays_until_another_affinity_term_has_taken_over_from_what_was_unjoined() -> None:
    """The last copy went at once, for a term whose clusters had none yet (seed 9167)."""
    plan = Plan(division="Duplicated", clusters=("m1", "m2", "m3", "m4"), groups=(2, 3), terms=2, overlap=True)
    steps = (
        Deploy(at=45, app="web", plan=plan, replicas=2),
        MemberIsUnready(at=145, lasts=49, member="m2"),
        Rejoin(at=209, cluster="m1"),
    )
    assert play(History(seed=9167, members=(*PUSHED, ("m4", "Push")), steps=steps)).violations == []


def test_l1_what_was_made_of_a_deleted_template_waits_for_nothing_that_came_after_it() -> None:
    """The removal waited for a copy that was reported well while the clock was wrong (seed 15086)."""
    steps = (
        Deploy(at=43, app="app1", plan=Plan(division="Dynamic", clusters=("m1", "m3")), replicas=2, cpu=7),
        MemberHangs(at=191, lasts=90, member="m3"),
        Recreate(at=246, app="app1", replicas=4),
        Relabel(at=256, app="app1", value=5),
        ClockIsWrong(at=256, lasts=24, who="controllers", seconds=-3600),
    )
    run = play(History(seed=15086, members=(("m1", "Push"), ("m3", "Push")), steps=steps, revisions=20))
    assert run.violations == []


def test_s12_a_claim_goes_with_the_custom_resource_that_its_user_deletes_and_makes_again() -> None:
    """The checker took the new template for that of the copy, which was not gone yet (seed 150224)."""
    plan = Plan(division="Duplicated", clusters=("m1", "m2", "m3"), terms=3)
    steps = (
        Deploy(at=42, app="orders", plan=plan, operated="claiming"),
        Recreate(at=310, app="orders", replicas=3),
    )
    assert play(History(seed=150224, members=PUSHED, steps=steps)).violations == []


def test_s17_a_lazy_policy_that_changes_while_it_takes_effect_does_so_once() -> None:
    """Writes of the binding and of the template had its change between them (seed 5204)."""
    evenly = Plan(division="Static", clusters=("m1", "m2"), weights=(1, 1), lazy=True)
    packed = Plan(division="Aggregated", clusters=("m1", "m2"), lazy=True)
    steps = (
        Deploy(at=48.0, app="app2", plan=evenly, replicas=2),
        Storm(at=109.283, lasts=20, who="controllers", whom="control-plane", lag_seconds=0.5, jitter_seconds=0.3),
        Release(at=109.662, app="app2", version=5),
        Replan(at=109.914, app="app2", plan=packed),
        Scale(at=110.117, app="app2", replicas=5),
    )
    assert play(History(seed=5204, members=PUSHED[:2], steps=steps, sync_seconds=0.02)).violations == []


def test_l1_a_removal_that_was_held_goes_on_when_all_is_seen_well_again() -> None:
    """A report replaced the one that confirmed the return of a cluster before that was written (seed 6026)."""
    steps = (
        Deploy(at=41, app="app1", plan=Plan(division="Static", clusters=("m1", "m2"), weights=(3, 1)), replicas=2),
        MemberStops(at=144, lasts=146, member="m1"),
        Replan(at=194, app="app1", plan=Plan(division="Static", clusters=("m2", "m3"), weights=(3, 3))),
        Scale(at=194, app="app1", replicas=2),
        Partition(at=234, lasts=44, who="controllers", whom="control-plane"),
        Release(at=244, app="app1", version=8),
        MemberStops(at=244, lasts=53, member="m2"),
    )
    assert play(History(seed=6026, members=PUSHED, steps=steps)).violations == []


def test_l1_what_is_read_no_more_leaves_a_cluster_that_is_back() -> None:
    """A report replaced the one that confirmed its return before that was written (seed 6000)."""
    plan = Plan(division="Dynamic", clusters=("m1", "m2"), groups=(2, 2), follows=True)
    steps = (
        Provide(at=39, name="password", what="Secret"),
        Deploy(at=48, app="app1", plan=plan, replicas=2, cpu=7, reads=("password",)),
        MemberStops(at=169, lasts=129, member="m1"),
        Read(at=233, app="app1", reads=("settings",)),
    )
    assert play(History(seed=6000, members=PUSHED[:2], steps=steps)).violations == []


def test_s19_what_was_made_anew_before_its_cluster_failed_again_has_not_moved() -> None:
    """An outage took it for what it had known of that name in the first failure (seed 7136)."""
    plan = Plan(division="Aggregated", clusters=("m1", "m4", "m5"))
    steps = (
        Deploy(at=49, app="app1", plan=plan, replicas=2, cpu=7),
        CutOff(at=73, lasts=57),
        Recreate(at=78, app="app1", replicas=4),
        CutOff(at=191, lasts=114),
    )
    members: tuple[tuple[str, Mode], ...] = (("m1", "Push"), ("m4", "Push"), ("m5", "Push"))
    assert play(History(seed=7136, members=members, steps=steps)).violations == []


def test_l1_a_copy_that_was_to_be_made_before_a_restore_is_not_made_after_it() -> None:
    """A cache had its Work still when the member came back, a moment after the restore (seed 6201)."""
    later = Plan(division="Static", clusters=("m2", "m3"), weights=(1, 1))
    steps = (
        HubIsRestored(at=75, lasts=70, controllers_stay=True),
        MemberLosesData(at=75.378, lasts=63, member="m3"),
        Deploy(at=82, app="later", plan=later, replicas=2),
        MemberIsUnready(at=100, lasts=120, member="m1"),
    )
    members: tuple[tuple[str, Mode], ...] = (("m1", "Push"), ("m2", "Pull"), ("m3", "Push"))
    run = play(History(seed=6201, members=members, steps=steps))
    assert (run.reached[CLEARED], run.violations) == (1, [])


def test_what_is_deleted_and_made_again_while_all_is_cut_off_is_removed_where_it_was_and_made_anew() -> None:
    """The removal was held under the brake, for a binding that had no target yet, and then for good (seed 20816)."""
    steps = (
        Deploy(at=45, app="web", plan=EVENLY, replicas=3),
        CutOff(at=80, lasts=40),
        Recreate(at=105, app="web", replicas=5),
    )
    assert plays(*steps) == []


def test_a_limit_in_a_member_that_came_back_old_is_seen() -> None:
    """The checker took the object for that of a Work which had ended before, and missed the limit (seed 771016)."""
    steps = MemberComesBackOld(at=66, lasts=60, member="m2"), LimitUsage(at=88, cpu=12, assigned=("m2",))
    assert play(History(seed=1, members=PUSHED[:2], steps=steps)).violations == []
