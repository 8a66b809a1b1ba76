"""Rows that a page is told of a fleet, as JSON by collection and key, for one scope.

    fleet          one object, under the key `fleet`
    clusters       by name
    applications   by `namespace/Kind/name`
    outages        by name
    policies       by `namespace/Kind/name`

What nothing has changed for is not rendered again: objects never change, so that the same binding is the same row.
"""

import operator
from collections.abc import Sequence

from kubeapi import codec
from leeward.answers.decisions import fleet_of
from leeward.answers.fleet_state import FleetState
from leeward.answers.fleet_story import SeenRows, fleet_story
from leeward.api.cluster import Cluster
from leeward.api.work import Binding
from leeward.dashboard.feed import Collections
from leeward.dashboard.rights import FleetSight
from leeward.dashboard.seen_fleet import SeenFleet
from leeward.dashboard.views.cluster_tiles import cluster_tile
from leeward.dashboard.views.fleet_summary import fleet_summary
from leeward.dashboard.views.outage_rows import known_by_outages, outage_rows, seen_of
from leeward.dashboard.views.policy_rows import claims_of, policy_key, policy_row
from leeward.operations.applications import (
    ROW_ORDER,
    ApplicationRow,
    OutageOf,
    application_key,
    application_row,
    is_listed,
)
from leeward.operations.clusters import ORDER, ClusterRow, cluster_row, is_application
from leeward.operations.findings import Finding, Observed
from leeward.operations.status import findings_of

FLEET = "fleet"


class _KnownRow:
    """A row, and what it was made of."""

    __slots__ = ("binding", "body", "known", "row")

    def __init__(self, binding: Binding, known: OutageOf | None, row: ApplicationRow) -> None:
        self.binding = binding
        self.known = known
        self.row = row
        self.body = codec.encode(row)


class _KnownCluster:
    """The row of a cluster, and what it was made of: the cluster, and the bindings there."""

    __slots__ = ("bindings", "cluster", "row")

    def __init__(self, cluster: Cluster, bindings: tuple[Binding, ...]) -> None:
        self.cluster = cluster
        self.bindings = bindings
        self.row: ClusterRow = cluster_row(cluster, bindings)

    def is_of(self, cluster: Cluster, bindings: Sequence[Binding]) -> bool:
        """Tells whether it was made of these very objects."""
        is_same_number = len(self.bindings) == len(bindings)
        return self.cluster is cluster and is_same_number and all(map(operator.is_, self.bindings, bindings))


class FleetRenderer:
    """Renders for one scope, and remembers the rows of applications and of clusters."""

    def __init__(self, sight: FleetSight) -> None:
        self._sight = sight
        self._rows: dict[str, _KnownRow] = {}
        self._clusters_known: dict[str, _KnownCluster] = {}

    def render(self, seen: SeenFleet) -> Collections:
        sight = self._sight
        state = seen_of(seen.state, sight)
        visible = [binding for binding in seen.bindings if sight.shows(binding.namespace)]
        self._rows = self._renewed(visible, seen)
        rows = {key: known.row for key, known in self._rows.items()}
        told = self._told(seen, visible, rows)
        story = fleet_story(state, told)
        summary = fleet_summary(seen, sight, story, told, self._findings(seen, visible, told))
        return {
            FLEET: {FLEET: codec.encode(summary)},
            "clusters": self._clusters(seen, state, told),
            "applications": {key: known.body for key, known in self._rows.items()},
            "outages": self._outages(state),
            "policies": self._policies(seen),
        }

    def _renewed(self, visible: Sequence[Binding], seen: SeenFleet) -> dict[str, _KnownRow]:
        """Rows, those that need somebody first; within a state by name."""
        by_outages = known_by_outages(seen.state.recorded.outages)
        rows: dict[str, _KnownRow] = {}
        for binding in visible:
            key = application_key(binding)
            before, known = self._rows.get(key), by_outages.get(key)
            if before is not None and before.binding is binding and before.known == known:
                rows[key] = before
                continue
            row = application_row(binding, known)
            if is_listed(binding, row):
                rows[key] = _KnownRow(binding, known, row)
        return dict(sorted(rows.items(), key=lambda item: (ROW_ORDER[item[1].row.state], item[0])))

    def _clusters(self, seen: SeenFleet, state: FleetState, told: SeenRows) -> dict[str, bytes]:
        if not told.clusters:
            return {}
        reserved, by_name = fleet_of(state).reservations.all(), {cluster.name: cluster for cluster in seen.clusters}
        tiles = (
            cluster_tile(state, reserved.get(row.name, ()), by_name[row.name], row, names=self._sight.is_whole)
            for row in told.clusters
        )
        return {tile.name: codec.encode(tile) for tile in tiles}

    def _rows_of_clusters(self, seen: SeenFleet) -> list[ClusterRow]:
        there, known = seen.bindings_by_cluster, self._clusters_known
        fresh: dict[str, _KnownCluster] = {}
        for cluster in seen.clusters if self._sight.clusters else ():
            bindings, before = there.get(cluster.name, ()), known.get(cluster.name)
            if before is None or not before.is_of(cluster, bindings):
                before = _KnownCluster(cluster, tuple(bindings))
            fresh[cluster.name] = before
        self._clusters_known = fresh
        return [each.row for each in fresh.values()]

    def _told(self, seen: SeenFleet, visible: Sequence[Binding], rows: dict[str, ApplicationRow]) -> SeenRows:
        message = seen.brake.message if seen.brake is not None else ""
        return SeenRows(
            clusters=sorted(self._rows_of_clusters(seen), key=lambda row: (ORDER[row.state], row.name)),
            applications=rows,
            number=sum(map(is_application, visible)),
            replicas=sum(target.replicas for binding in visible for target in binding.spec.clusters),
            brake_message=message,
            sees_clusters=self._sight.clusters,
        )

    def _findings(self, seen: SeenFleet, visible: Sequence[Binding], told: SeenRows) -> list[Finding]:
        sight = self._sight
        observed = Observed(
            seen.now,
            tuple(seen.clusters) if sight.clusters else None,
            tuple(told.clusters),
            tuple(visible),
            tuple(str(key) for key in seen.unreadable if sight.shows(key.namespace)),
            brake=seen.brake if sight.brake else None,
            leases=tuple(seen.leases) if sight.brake else (),
            failed_checks=seen.health.failed_checks,
        )
        return findings_of(observed)

    def _outages(self, state: FleetState) -> dict[str, bytes]:
        if not self._sight.outages:
            return {}
        return {name: codec.encode(row) for name, row in outage_rows(state).items()}

    def _policies(self, seen: SeenFleet) -> dict[str, bytes]:
        claims = claims_of(seen.bindings)
        shown = (policy for policy in seen.policies if self._sight.shows_policy(policy.namespace))
        return {policy_key(policy): codec.encode(policy_row(policy, claims)) for policy in shown}
