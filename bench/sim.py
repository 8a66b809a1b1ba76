"""Fault histories per second and core; the yardstick of the same run is decoding and encoding ResourceBindings.

Played as in a campaign: after one that warms up, and without the collector, for which a history is too short.
"""

import gc
import time

from bench.walkthrough import YARDSTICK_OBJECTS, handle_objects
from simulator.histories.campaign import WARM_UP
from simulator.histories.generator import draw_history
from simulator.histories.playing import play

HISTORIES = 20
GOAL_PER_SECOND = 2.0


def run() -> None:
    began = time.process_time()
    handle_objects()
    yardstick = time.process_time() - began
    play(WARM_UP)
    gc.freeze()
    gc.disable()
    began = time.process_time()
    for seed in range(HISTORIES):
        play(draw_history(seed))
    seconds = (time.process_time() - began) / HISTORIES
    print(f"{YARDSTICK_OBJECTS} ResourceBindings decoded and encoded   {yardstick:6.2f} s   (yardstick)")
    print(
        f"{HISTORIES} histories: {1 / seconds:.2f} per second and core, each {seconds / yardstick:.2f} x yardstick   "
        f"goal {GOAL_PER_SECOND:g} per second"
    )
