"""Reasons why an eviction that is due does not happen: those of the condition EvictionHeld, and of a deferral."""

from collections.abc import Mapping
from enum import Enum, StrEnum


class HeldReason(StrEnum):
    BRAKE_ENGAGED = "BrakeEngaged"
    DECISION_REFUSED = "DecisionRefused"
    DELETION_SUPPRESSED = "DeletionSuppressed"
    GROUP_HELD = "GroupHeld"
    NO_PLACE_TO_GO = "NoPlaceToGo"
    NOT_CONFIRMED = "NotConfirmed"
    NOTHING_TO_GAIN = "NothingToGain"
    REPLACEMENT_MISSING = "ReplacementMissing"
    RUN_UNDER_WAY = "RunUnderWay"
    SHARED_RESOURCE = "SharedResource"
    STATE_NOT_PRESERVED = "StateNotPreserved"
    UNHEALTHY_EVERYWHERE = "UnhealthyEverywhere"
    VOLUMES_STAY = "VolumesStay"
    WAITING_FOR_PURGE = "WaitingForPurge"
    WAITING_FOR_TURN = "WaitingForTurn"


class Deferral(StrEnum):
    """Reason why an eviction waits for the evictions of other bindings, for people."""

    RATE = "evictions are spaced out by --resource-eviction-rate"
    DRAIN_BUDGET = "the cluster is drained with a budget"


class Hold(Enum):
    """Meaning of an EvictionHeld condition for people."""

    HELD = "held"
    KEPT = "kept"
    WAITING = "waiting"


_KEPT = "DeletionSuppressed", "NothingToGain", "SharedResource", "VolumesStay"
_WAITING = "RunUnderWay", "WaitingForTurn"
HOLDS: Mapping[str, Hold] = {
    **dict.fromkeys(HeldReason, Hold.HELD),
    **dict.fromkeys(map(HeldReason, _KEPT), Hold.KEPT),
    **dict.fromkeys(map(HeldReason, _WAITING), Hold.WAITING),
}
"""Holds by the reason of the condition: kept is Leeward being careful, or somebody's will. A reason that is not here is
of another version, and is held."""
