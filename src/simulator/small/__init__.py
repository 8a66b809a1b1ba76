"""Small worlds, searched exhaustively: every order in which a few things can happen to a few clusters and bindings.

The functions that decide are the real ones; what is between them (a write, a Work, a report) is a model that is small
enough to be searched breadth first. What is checked in every state and at every step: S1, S2, S3, S4, S7, S11, C2, C3,
that an alarm is set for what time will change (L2), that evictions end or say why not (L3), and that from every state
the world comes to rest as it should be, once it is healed (L1).

It plays no API server, no watch and no crash: `simulator.histories` plays those, at random. Start reading at
`search.py` and `moves.py`.
"""

from simulator.small.decisions import Rules
from simulator.small.search import Finding, Search, search
from simulator.small.worlds import WORLDS, SmallWorld, Workload

__all__ = ["WORLDS", "Finding", "Rules", "Search", "SmallWorld", "Workload", "search"]
