"""Placement of one binding: copies that must go, their new places, and finished evictions, as one decision.

    snapshot     everything that it is made on, frozen, and our rights to decide
    situation    the meaning of the snapshot for the binding
    phases       the decision, from top to bottom
    actions      how a binding moves
    ranks        which clusters are asked first for a place, and the question to the scheduler
    replacement  places for a user's change, for a part that leaves, and beside dead targets
    within_usage the same decision, where a quota lets nothing grow
    descheduling replicas that are given back for want of a node, and a place elsewhere
    decision     the result
    check        the invariants that it must hold before it is written

`leeward.planning.recording` writes a snapshot as JSON, to be decided again elsewhere. Start reading at `phases`.
"""

from leeward.core.placement.decision import Decision
from leeward.core.placement.phases import decide
from leeward.core.placement.snapshot import (
    DEFAULT_SCHEDULER,
    DEFAULT_SETTINGS,
    EvictionBudget,
    PlacementSettings,
    Snapshot,
)

__all__ = [
    "DEFAULT_SCHEDULER",
    "DEFAULT_SETTINGS",
    "Decision",
    "EvictionBudget",
    "PlacementSettings",
    "Snapshot",
    "decide",
]
