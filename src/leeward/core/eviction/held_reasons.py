"""Reasons why an eviction that is due does not happen: those of the condition EvictionHeld, and of a deferral."""

from enum import StrEnum


class HeldReason(StrEnum):
    BRAKE_ENGAGED = "BrakeEngaged"
    DECISION_REFUSED = "DecisionRefused"
    DELETION_SUPPRESSED = "DeletionSuppressed"
    NO_PLACE_TO_GO = "NoPlaceToGo"
    NOT_CONFIRMED = "NotConfirmed"
    NOTHING_TO_GAIN = "NothingToGain"
    REPLACEMENT_MISSING = "ReplacementMissing"
    SHARED_RESOURCE = "SharedResource"
    STATE_NOT_PRESERVED = "StateNotPreserved"
    UNHEALTHY_EVERYWHERE = "UnhealthyEverywhere"
    VOLUMES_STAY = "VolumesStay"
    WAITING_FOR_PURGE = "WaitingForPurge"
    WAITING_FOR_TURN = "WaitingForTurn"


class Deferral(StrEnum):
    """Why an eviction waits for the evictions of other bindings, for people."""

    RATE = "evictions are spaced out by --resource-eviction-rate"
    DRAIN_BUDGET = "it is drained with a budget"
