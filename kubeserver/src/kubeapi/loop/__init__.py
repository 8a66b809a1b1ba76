"""The clock, the supervisor, and seeded randomness: what every asynchronous part is given, and nothing else.

Real and virtual time are told apart only here. This package never talks to the outside world.
"""

from kubeapi.loop.clock import Clock, Deadline, SystemClock, VirtualClock
from kubeapi.loop.lag import EventLoopLag
from kubeapi.loop.lives import Life
from kubeapi.loop.offloading import read_beside, run_beside
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.turns import Turns
from kubeapi.loop.virtual import DeadlockError, EndlessError, VirtualLoop, run_virtual

__all__ = [
    "Clock",
    "Deadline",
    "DeadlockError",
    "EndlessError",
    "EventLoopLag",
    "Life",
    "Randomness",
    "Supervisor",
    "SystemClock",
    "Turns",
    "VirtualClock",
    "VirtualLoop",
    "read_beside",
    "run_beside",
    "run_virtual",
]
