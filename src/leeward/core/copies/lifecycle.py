"""Lifecycle of a copy: its states, and the only ways from one to another.

A state is read off the copy's row (`state_of`), and never stored. A decision walks its own rows from top to bottom, and
takes the first that is due (`core.placement.phases`). The other rows follow from reports, or are carried out in the
member (`core.execution.removal`). ARCHITECTURE.md shows this table.
"""

from enum import StrEnum
from typing import NamedTuple

from leeward.core.copies.disruption import KnownCopy


class CopyState(StrEnum):
    NONE = "none"
    WANTED = "Wanted"
    SERVING = "Serving"
    LEAVING = "Leaving"
    GOING = "Going"


def state_of(row: KnownCopy | None) -> CopyState:
    """State of a copy: Going once its member is told to delete it, and Leaving while any part of it is to go."""
    if row is None or (row.work is None and not row.assigned):
        return CopyState.NONE
    if row.assigned and not row.leaving:
        return CopyState.SERVING if row.is_serving else CopyState.WANTED
    work = row.work
    is_ordered = work is not None and work.metadata.deletion_timestamp is not None and not work.is_removal_held
    return CopyState.GOING if is_ordered else CopyState.LEAVING


_TARGET = (CopyState.WANTED, CopyState.SERVING)
_LEAVES = (CopyState.LEAVING,)
_GOES = (CopyState.GOING,)
_ENDS = (CopyState.NONE,)


class Transition(NamedTuple):
    """Way of a copy from one of some states to one of others: when, and under which guard."""

    before: tuple[CopyState, ...]
    after: tuple[CopyState, ...]
    when: str
    guard: str


# fmt: off
COMES_BACK = Transition(_LEAVES, _TARGET[1:], "its cluster is well, it is seen whole, and others do not serve all",
    "the law, for what is given up for it; the brake is off; no other placement is asked for")
IS_DRIVEN_OUT = Transition(_TARGET, _LEAVES, "its stay under the taints is over",
    "another cluster takes it; brake, watched time, rate and budget; not what others live in, what would leave its "
    "volumes, a Job that runs or has ended")
FAILS = Transition(_TARGET, _LEAVES, "it is unhealthy for longer than its policy tolerates",
    "a cluster takes it where the release was not tried")
STALLS = Transition(_TARGET[:1], _LEAVES, "its time to start is over, and it surely serves less than it is to run",
    "a cluster takes it where the release was not tried; what serves of it stays")
RETURNS_HOME = Transition(_TARGET, _LEAVES, "the cluster that it was driven out of has been well for long",
    "all that is asked for surely serves; nothing else happens to the binding; no Job that has ended")
IS_PLACED_ELSEWHERE = Transition(_TARGET, _LEAVES, "placement, replicas, a quota or the descheduler leave it fewer",
    "the scheduler places all that is asked for; dead targets give first; not a Job that is done there")
LIFECYCLE = (
    COMES_BACK, IS_DRIVEN_OUT, FAILS, STALLS, RETURNS_HOME, IS_PLACED_ELSEWHERE,
    Transition(_LEAVES + _GOES, _TARGET, "the scheduler places replicas there again", "none: nothing is taken away"),
    Transition(_TARGET[:1], _TARGET[1:], "a report shows that all of it serves",
               "the report is about the present release, and from after the return of its cluster"),
    Transition(_LEAVES, _GOES, "with what it keeps, the others surely serve all that is asked for (the law)",
               "its cluster is Ready; the brake is off; the members were looked at since somebody watches"),
    Transition(_GOES, _LEAVES, "the law holds no more", "its objects are still there"),
    Transition(_GOES, _ENDS, "its member has deleted its objects",
               "the law, asked again where it is carried out; the Work goes last"),
    Transition(_TARGET + _LEAVES + _GOES, _ENDS, "its cluster leaves the fleet", "none: a person asks"),
)
# fmt: on
