"""Rehearsed outages: the Outage objects that the controllers of a copy have written, told as `leeward timeline` tells
those of a control plane.
"""

from datetime import datetime, timedelta

from leeward.answers.fleet_state import API_VERSION, KIND, FleetState, RecordedFleet
from leeward.answers.timeline import OutageFilter, OutageStory, timeline
from leeward.api.names import binding_name
from leeward.api.resource import CLUSTERS, OUTAGES
from leeward.sim.rehearsal.copied_world import CopiedWorld
from leeward.sim.rehearsal.fleet_recorder import Happened, Happening

CLEANING = timedelta(minutes=1)
"""Time behind the end of an outage in which what happens to its cluster, or is held, belongs to it."""


async def told_outages(world: CopiedWorld) -> list[OutageStory]:
    """Up to now, the running ones first. Raises: WorldError."""
    recorded = world.state.recorded
    copied = RecordedFleet(
        API_VERSION,
        KIND,
        recorded.control_plane,
        world.clock.now(),
        clusters=tuple((await world.client.list(CLUSTERS)).items),
        outages=tuple((await world.client.list(OUTAGES)).items),
        settings=recorded.settings,
    )
    return timeline(FleetState(copied), OutageFilter()).outages


def tells(outage: OutageStory, happened: Happened, at: datetime) -> bool:
    """Tells whether the story of the outage has what happened at the instant, as a line or in a number."""
    ended = outage.status.cleaned_at or outage.status.returned_at
    if at < outage.spec.since or (ended is not None and at > ended + CLEANING):
        return False
    match happened.what:
        case Happening.BRAKE:
            return True
        case Happening.CLUSTER | Happening.DELETED | Happening.MOVED:
            return outage.cluster in happened.cluster.split(",")
        case Happening.HELD:
            binding = str(happened.binding or "")
            return any(f"{e.namespace}/{binding_name(e.kind, e.name)}" == binding for e in outage.status.listed)
        case Happening.STEP | Happening.SERVING | Happening.ROLLOUT:
            return False
