"""Removals that nobody who decides is known to stand behind: whoever may hold one has to look at it first. Times are
seconds of one monotonic clock."""

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import NamedTuple

from leeward.api.work import Work
from leeward.core.execution.claims import owners_of

FOUND_SECONDS = 15.0
"""Seconds for which the controllers may hold a deletion that was found, from when on they are known to run: until they
follow the control plane, after the longest pause of an informer, and have looked (decision 48)."""
FOUND_UNTOLD_SECONDS = 600.0
"""Seconds for which they may hold it where it may not be read whether they run."""
RENEWAL_POLL_SECONDS = 2.0


class HeartbeatKept(Enum):
    """Knowledge of the heartbeat of the controllers (`watched_time`). UNTOLD: it is forbidden to ask."""

    KEPT = auto()
    UNKEPT = auto()
    UNTOLD = auto()


class HeartbeatSeen(NamedTuple):
    """The heartbeat as it was read. `version` grows with each renewal, and is 0 while there is none."""

    kept: HeartbeatKept
    version: int = 0


@dataclass(frozen=True, slots=True)
class FoundRemoval:
    """`version` is that of the heartbeat when it was first read after `at`; `watched_at` when it was seen renewed.

    `unordered`: it was seen to begin, and the controllers of a control plane like ours would have said so before.
    """

    at: float
    version: int | None = None
    watched_at: float | None = None
    unordered: bool = False


def needs_order(old: Work, new: Work) -> bool:
    """Tells whether a Work whose deletion begins belongs to a binding or template that may want it, and nobody has said
    that it is to go. Holds: S5."""
    is_of_template = any(owner.kind == "Namespace" for owner in new.metadata.owner_references)
    is_made_here = is_of_template or any(owners_of(new))
    return old.metadata.deletion_timestamp is None and is_made_here and not new.is_removal_ordered


def note_heartbeat(found: FoundRemoval, seen: HeartbeatSeen, now: float) -> FoundRemoval:
    """Notes what is known of the removal when the heartbeat was read `now`. A version that runs backwards is no
    renewal: the control plane was restored meanwhile.

    Holds: S13.
    """
    if found.watched_at is not None:
        return found
    match seen.kept:
        case HeartbeatKept.UNKEPT:
            return replace(found, watched_at=found.at - (FOUND_SECONDS if found.unordered else 0))
        case HeartbeatKept.UNTOLD:
            return replace(found, watched_at=found.at + FOUND_UNTOLD_SECONDS - FOUND_SECONDS)
        case HeartbeatKept.KEPT:
            if found.version is None or seen.version <= found.version:
                return replace(found, version=seen.version)
            return replace(found, watched_at=now)


def found_left(found: FoundRemoval, now: float) -> float:
    """Seconds until it is to be looked at again; 0 when the deletion may be carried out."""
    if found.watched_at is None:
        return RENEWAL_POLL_SECONDS
    return max(0.0, found.watched_at + FOUND_SECONDS - now)
