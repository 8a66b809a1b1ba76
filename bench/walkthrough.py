"""The failover walkthrough with Karmada's default timings, Push and Pull, on the virtual clock.

The whole product in one process: about forty minutes of outage, recovery and quiet. The yardstick of the same run is
a loop that only decodes and encodes a ResourceBinding: what the machine gives to plain object handling.
"""

import time
from collections.abc import Callable

from kubeapi.codec import decode, encode
from leeward.api.work import ResourceBinding
from tests.builders import binding, divided, targets
from tests.world import test_walkthrough as stories

GOAL_SECONDS = 3.0
YARDSTICK_OBJECTS = 50_000
TRIES = 3


def run() -> None:
    yardstick = _best(handle_objects)
    print(f"{YARDSTICK_OBJECTS} ResourceBindings decoded and encoded   {yardstick:6.2f} s   (yardstick)")
    for name, story in (
        ("Push member stopped and started", stories.test_push_member_stopped_and_started_again),
        ("Pull member stopped and started", stories.test_pull_member_stopped_and_started_again),
    ):
        seconds = _best(story)
        print(
            f"{name:<48} {seconds:6.2f} s   {seconds / yardstick:5.2f} x yardstick   goal {GOAL_SECONDS:g} s for both"
        )


def handle_objects() -> None:
    """The yardstick: what the machine gives to plain object handling."""
    wire = encode(binding(divided({"member1": 1, "member2": 2}), 3, targets(member1=1, member2=2)))
    for _ in range(YARDSTICK_OBJECTS):
        encode(decode(wire, ResourceBinding))


def _best(work: Callable[[], None]) -> float:
    """The shortest of a few tries: the machine is shared."""
    times: list[float] = []
    for _ in range(TRIES):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)
