"""Two replicas of each component, apart, in one process (`serve`), or with shards beside it: the leader of each dies,
or is paused for longer than its lease and resumes, in the middle of a failover (S8).
"""

import signal
from collections.abc import Callable, Generator

import pytest

from tests.e2e.applications import BINDING, has_moved_to, is_cleaned_up, place_divided, ready_in, remove
from tests.e2e.fleet import DECISION, DETECTION, ELECTION, UNSERVED, Fleet
from tests.e2e.program import Program

OPTIONS = {"controller-manager": (*DETECTION, *DECISION), "scheduler": DECISION, "serve": (*DETECTION, *DECISION)}
MANAGER, SCHEDULER = "karmada-controller-manager", "karmada-scheduler"
SHARDED = "serve with shards"
LEASES = {
    "controller-manager": (MANAGER,),
    "scheduler": (SCHEDULER,),
    "serve": (MANAGER, SCHEDULER),
    SHARDED: (MANAGER, SCHEDULER),
}
APART, TOGETHER = ("controller-manager", "scheduler"), ("serve",)
Pairs = dict[str, tuple[Program, Program]]


@pytest.fixture
def pairs(request: pytest.FixtureRequest, fleet: Fleet) -> Generator[Pairs]:
    """Both replicas of each; the first ones lead. The suite's own `serve` stands aside meanwhile."""
    fleet.serve.stop()
    pairs = {verb: (replica(fleet, verb, 1), replica(fleet, verb, 2)) for verb in request.param}
    try:
        for number in range(2):
            for verb, replicas in pairs.items():
                replicas[number].log.unlink(missing_ok=True)
                replicas[number].start()
                if number == 0:
                    fleet.eventually(lambda verb=verb: has_led(pairs, verb, 0), f"the first {verb} leads")
        yield pairs
    finally:
        for replicas in pairs.values():
            for program in replicas:
                program.stop()
        fleet.serve.start()


def replica(fleet: Fleet, verb: str, number: int) -> Program:
    if verb == SHARDED:
        options = (*OPTIONS["serve"], "--shards=2")
        return fleet.component("serve", *options, *ELECTION, *UNSERVED, name=f"serve-with-shards-{number}")
    return fleet.component(verb, *OPTIONS[verb], *ELECTION, *UNSERVED, name=f"{verb}-{number}")


def has_led(pairs: Pairs, verb: str, number: int) -> bool:
    return says(pairs, verb, number, "leads")


def says(pairs: Pairs, verb: str, number: int, what: str) -> bool:
    """Tells whether its log says so of every lease that it works with."""
    told = pairs[verb][number].told()
    return all(f"{what} {lease}" in told for lease in LEASES[verb])


def pause(program: Program) -> None:
    program.send(signal.SIGSTOP)


@pytest.mark.parametrize(
    ("pairs", "strike"),
    [
        pytest.param(APART, Program.kill, id="apart-killed"),
        pytest.param(APART, pause, id="apart-paused"),
        pytest.param(TOGETHER, Program.kill, id="serve-killed"),
        pytest.param(TOGETHER, pause, id="serve-paused"),
        pytest.param((SHARDED,), pause, id="shards-paused"),
    ],
    indirect=["pairs"],
)
def test_s8_l6_the_second_ones_take_over_in_the_middle_of_a_failover_and_nothing_is_done_twice(
    fleet: Fleet, pairs: Pairs, strike: Callable[[Program], None]
) -> None:
    place_divided(fleet, "member1", "member2")
    uid = fleet.get("deployment", "nginx", context="member2")["metadata"]["uid"]
    fleet.members["member1"].kill()
    fleet.eventually(lambda: bool(fleet.taints("member1")), "member1 has its first taint")
    for first, _ in pairs.values():
        strike(first)
    for verb in pairs:
        fleet.eventually(lambda verb=verb: has_led(pairs, verb, 1), f"the second {verb} takes over")
    fleet.eventually(lambda: has_moved_to(fleet, {"member2": 3}), "member2 has 3 and the task is gone")
    for verb, (first, _) in pairs.items():
        if first.runs:
            first.send(signal.SIGCONT)
            fleet.eventually(lambda verb=verb: says(pairs, verb, 0, "has lost"), f"{verb} stands back")
    assert ready_in(fleet, "member2") == 3
    assert fleet.get("deployment", "nginx", context="member2")["metadata"]["uid"] == uid, "the copy was never removed"
    assert not fleet.exists("deployment", "nginx", context="member3")
    fleet.members["member1"].restart()
    fleet.eventually(lambda: is_cleaned_up(fleet, "member1"), "the old copy is removed")
    assert fleet.assigned(BINDING) == {"member2": 3}
    remove(fleet)
    fleet.release("member1")
