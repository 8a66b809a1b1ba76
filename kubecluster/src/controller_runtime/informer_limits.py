"""Limits that the informers of all servers of a process share, so that neither grows with the number of servers.

turns   those at which they take in what was told: all of them together leave time for others
recent  the objects of their caches that are not packed
"""

from dataclasses import dataclass, field

from controller_runtime.packing import RecentObjects
from kubeapi.loop import Turns


@dataclass(frozen=True, slots=True)
class InformerLimits:
    turns: Turns = field(default_factory=Turns)
    recent: RecentObjects = field(default_factory=RecentObjects)
