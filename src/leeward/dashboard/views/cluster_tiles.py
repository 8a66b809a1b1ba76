"""A cluster as a tile of the map: its row, where it is, and its cores as arithmetic."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from leeward.answers.fleet_state import FleetState
from leeward.answers.next_steps import NextStep, threshold_steps
from leeward.answers.room_arithmetic import ResourceAmount, amounts_of
from leeward.api.cluster import Cluster
from leeward.core.cluster_health.outage import not_seen_since
from leeward.core.loss_coverage import standing_coverage
from leeward.operations.clusters import ClusterRow, ClusterState
from leeward.planning.reservations import Reserved


class ClusterTile(msgspec.Struct, frozen=True, rename="camel"):
    """`room` are its amounts, the shortest first. Of a cluster that is not seen they are the last ones, and
    `unseen_since` is when it was seen last. `coverage` says whether the others could take over, `covered` whether so.
    """

    name: str
    state: ClusterState
    mode: str
    region: str
    zone: str
    provider: str
    version: str
    since: datetime | None
    note: str
    taints: list[str]
    unseen_since: datetime | None
    room: list[ResourceAmount]
    nodes: int | None
    nodes_ready: int | None
    replicas: int
    applications: int
    next: list[NextStep]
    coverage: str
    covered: bool | None


def cluster_tile(
    state: FleetState, reserved: Iterable[Reserved], cluster: Cluster, row: ClusterRow, *, names: bool
) -> ClusterTile:
    """`reserved` is what was placed there and is not reported yet; `names`: whether applications may be named."""
    nodes = cluster.status.node_summary
    covered = standing_coverage(cluster)
    return ClusterTile(
        name=row.name,
        state=row.state,
        mode=row.mode,
        region=cluster.spec.region,
        zone=", ".join(cluster.spec.zones) or cluster.spec.zone,
        provider=cluster.spec.provider,
        version=row.version,
        since=row.since,
        note=row.note,
        taints=row.taints,
        unseen_since=not_seen_since(cluster),
        room=amounts_of(cluster, reserved),
        nodes=None if nodes is None else nodes.total_num,
        nodes_ready=None if nodes is None else nodes.ready_num,
        replicas=row.replicas,
        applications=row.applications,
        next=list(threshold_steps(state, cluster)),
        coverage="" if covered is None or not names else covered.message,
        covered=None if covered is None else covered.status == "True",
    )
