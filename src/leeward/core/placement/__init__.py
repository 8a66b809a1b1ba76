"""Placement of one binding: what must go, where it goes instead, and what is finished, as one decision.

    snapshot     what it is made on: everything, frozen, and what of it is ours to decide
    situation    what the snapshot means for the binding
    phases       the decision, from top to bottom
    actions      how a binding moves
    ranks        which clusters are asked first for a place, and the question to the scheduler
    replacement  places for a user's change, for a part of what leaves, and beside dead targets
    within_usage the same decision, where a quota lets nothing grow
    descheduling what is given back because it has no node, and a place elsewhere
    decision     the result
    check        what must hold of it before it is written

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
