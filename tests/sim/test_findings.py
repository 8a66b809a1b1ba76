"""What the histories have found in the product: each is cut down to its story, and must not come back."""

import pytest

from leeward.sim.histories.model import (
    AnyStep,
    CutOff,
    Deploy,
    History,
    MemberComesBackOld,
    MemberIsUnready,
    MemberStops,
    Plan,
    Rejoin,
    Withdraw,
)
from leeward.sim.histories.playing import play

BOTH = Plan(division="Duplicated", clusters=("m1", "m2"))
DIRECTLY = Plan(division="Static", clusters=("m1", "m2"), weights=(2, 1), directly=True)


def plays(*steps: AnyStep) -> list[str]:
    """The violations in a fleet of a Push and a Pull cluster."""
    run = play(History(seed=1, members=(("m1", "Push"), ("m2", "Pull")), steps=steps))
    return [str(violation) for violation in run.violations]


@pytest.mark.parametrize("cut_off", [(), (CutOff(at=79, lasts=30),)], ids=["reachable", "cut off"])
def test_a_pull_cluster_with_applications_can_leave_and_join_again(cut_off: tuple[AnyStep, ...]) -> None:
    """The agent lost its rights, with the execution space, before it could clean up (seed 48)."""
    assert plays(Deploy(at=45, app="web", plan=BOTH, replicas=2), *cut_off, Rejoin(at=80, cluster="m2")) == []


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
    """It was seen before the cluster was Ready again, when nothing is written, and never after (seed 125)."""
    steps = (
        Deploy(at=45, app="web", plan=BOTH, replicas=2),
        Deploy(at=46, app="other", plan=BOTH, replicas=1),
        MemberComesBackOld(at=80, lasts=90, member="m1"),
        Withdraw(at=90, app="web"),
    )
    assert plays(*steps) == []
