"""Observation of an outage: its Cluster, and the applications that were looked at."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from leeward.api.cluster import Cluster
from leeward.core.outages.sight import ApplicationKey, CopySight


@dataclass(frozen=True, slots=True)
class OutageObservation:
    """Observation at `now`: the Cluster (None: it has left the fleet), and applications, None for one that is gone.

    `is_whole`: all bindings were looked at that are in the cluster, or on their way out.
    """

    now: datetime
    cluster: Cluster | None
    applications: Mapping[ApplicationKey, CopySight | None] = field(
        default_factory=dict[ApplicationKey, "CopySight | None"]
    )
    braked: bool = False
    evicts: bool = True
    is_whole: bool = False
