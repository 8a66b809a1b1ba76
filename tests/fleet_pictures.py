"""Pictures of fleets from objects, for tests of answers."""

from collections.abc import Iterable

from leeward.answers.fleet_state import API_VERSION, KIND, FleetState, RecordedFleet
from leeward.api.cluster import Cluster
from leeward.api.outage import ClusterOutage
from leeward.api.policy import PropagationPolicy
from leeward.api.work import ResourceBinding, Work
from tests.builders import NOW


def picture_of(
    clusters: Iterable[Cluster],
    bindings: Iterable[ResourceBinding],
    works: Iterable[Work] = (),
    policies: Iterable[PropagationPolicy] = (),
    outages: Iterable[ClusterOutage] = (),
) -> FleetState:
    """Picture at the start of the story."""
    return FleetState(
        RecordedFleet(
            api_version=API_VERSION,
            kind=KIND,
            control_plane="test",
            as_of=NOW,
            clusters=tuple(clusters),
            bindings=tuple(bindings),
            works=tuple(works),
            policies=tuple(policies),
            outages=tuple(outages),
        )
    )
