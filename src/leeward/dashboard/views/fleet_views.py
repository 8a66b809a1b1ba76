"""Rows that a page is told of a fleet, as JSON by collection and key, for one scope.

    fleet          one object, under the key `fleet`
    clusters       by name
    applications   by `namespace/Kind/name`
    outages        by name
    policies       by `namespace/Kind/name`

What nothing has changed for is not rendered again: objects never change, so that the same binding is the same row. What
follows from the whole fleet is kept by difference (`binding_index`).
"""

from collections import Counter
from collections.abc import Set
from typing import NamedTuple

import msgspec

from kubeapi import codec
from leeward.answers.decisions import reserve_coming
from leeward.answers.fleet_state import FleetState
from leeward.answers.fleet_story import SeenRows, fleet_story
from leeward.api.cluster import Cluster
from leeward.api.policy import AnyPropagationPolicy
from leeward.dashboard.feed import Collections
from leeward.dashboard.rights import FleetSight
from leeward.dashboard.seen_fleet import SeenFleet
from leeward.dashboard.views.application_rows import ApplicationRows
from leeward.dashboard.views.binding_index import BindingIndex, IndexChange
from leeward.dashboard.views.cluster_tiles import cluster_tile
from leeward.dashboard.views.fleet_summary import fleet_summary
from leeward.dashboard.views.outage_rows import known_by_outages, outage_rows, seen_of
from leeward.dashboard.views.policy_rows import claim_by, policy_key, policy_row
from leeward.operations.clusters import ORDER, ClusterRow, ClusterState, cluster_row, is_overfull
from leeward.operations.findings import Finding, Observed
from leeward.operations.status import findings_of
from leeward.planning.fleet import placement_fleet

FLEET = "fleet"


class _KnownCluster(NamedTuple):
    """The row of a cluster, and the cluster that it was made of."""

    cluster: Cluster
    row: ClusterRow


class _KnownPolicy(NamedTuple):
    """The row of a policy as JSON, and what it was made of."""

    policy: AnyPropagationPolicy
    claims: int
    body: bytes


class RenderCounts(msgspec.Struct, frozen=True):
    """Numbers of what a version was made from: bindings that were looked at, rows that were rendered, and bindings that
    findings were sought in."""

    bindings: int
    applications: int
    clusters: int
    policies: int
    judged: int


class FleetRenderer:
    """Renders for one scope, and remembers what has not changed."""

    def __init__(self, sight: FleetSight) -> None:
        self._sight = sight
        self._index = BindingIndex(sight.shows)
        self._rows = ApplicationRows()
        self._clusters_known: dict[str, _KnownCluster] = {}
        self._policies_known: dict[str, _KnownPolicy] = {}
        self._made = Counter[str]()

    @property
    def last(self) -> RenderCounts:
        """Counts of the last version."""
        return RenderCounts(**{name: self._made[name] for name in RenderCounts.__struct_fields__})

    def render(self, seen: SeenFleet) -> Collections:
        sight, index = self._sight, self._index
        change = index.update(seen.bindings)
        self._made = Counter(bindings=len(change.new) + len(change.gone))
        whole = seen.state_with(index.of_outages(seen.outages or ()))
        state = seen_of(whole, sight)
        overfull = {cluster.name for cluster in seen.clusters if is_overfull(cluster)}
        self._renew_rows(change, whole, overfull)
        told = self._told(seen)
        story = fleet_story(state, told)
        summary = fleet_summary(seen, sight, story, told, self._findings(seen, told, overfull))
        return {
            FLEET: {FLEET: codec.encode(summary)},
            "clusters": self._clusters(seen, state, told),
            "applications": self._rows.bodies,
            "outages": self._outages(state),
            "policies": self._policies(seen),
        }

    def _renew_rows(self, change: IndexChange, state: FleetState, overfull: Set[str]) -> None:
        shows, before = self._sight.shows, self._rows.rendered
        new, gone = ([each for each in part if shows(each.namespace)] for part in change)
        self._rows.update(IndexChange(new, gone), known_by_outages(state.recorded.outages), overfull)
        self._made["applications"] = self._rows.rendered - before

    def _clusters(self, seen: SeenFleet, state: FleetState, told: SeenRows) -> dict[str, bytes]:
        if not told.clusters:
            return {}
        fleet, by_name = placement_fleet(seen.clusters), {cluster.name: cluster for cluster in seen.clusters}
        reserve_coming(fleet, self._index.coming)
        reserved = fleet.reservations.all()
        tiles = (
            cluster_tile(state, reserved.get(row.name, ()), by_name[row.name], row, names=self._sight.is_whole)
            for row in told.clusters
        )
        return {tile.name: codec.encode(tile) for tile in tiles}

    def _rows_of_clusters(self, seen: SeenFleet) -> list[ClusterRow]:
        known, index = self._clusters_known, self._index
        fresh: dict[str, _KnownCluster] = {}
        for cluster in seen.clusters if self._sight.clusters else ():
            name, before = cluster.name, known.get(cluster.name)
            if before is None or before.cluster is not cluster or name in index.touched:
                self._made["clusters"] += 1
                before = _KnownCluster(cluster, cluster_row(cluster, index.there(name)))
            fresh[name] = before
        self._clusters_known = fresh
        return [each.row for each in fresh.values()]

    def _told(self, seen: SeenFleet) -> SeenRows:
        message = seen.brake.message if seen.brake is not None else ""
        return SeenRows(
            clusters=sorted(self._rows_of_clusters(seen), key=lambda row: (ORDER[row.state], row.name)),
            applications=self._rows.rows,
            number=self._index.applications,
            replicas=self._index.replicas,
            brake_message=message,
            sees_clusters=self._sight.clusters,
        )

    def _findings(self, seen: SeenFleet, told: SeenRows, overfull: Set[str]) -> list[Finding]:
        """Findings, sought in no bindings but those that there may be one about."""
        sight, listed = self._sight, {row.name for row in told.clusters}
        unwell = (row.name for row in told.clusters if row.state is not ClusterState.READY or row.name in overfull)
        unlisted = (name for name in self._index.clusters if name not in listed)
        bindings = self._index.found((*unwell, *unlisted) if sight.clusters else ())
        self._made["judged"] = len(bindings)
        observed = Observed(
            seen.now,
            tuple(seen.clusters) if sight.clusters else None,
            tuple(told.clusters),
            bindings,
            tuple(str(key) for key in seen.unreadable if sight.shows(key.namespace)),
            brake=seen.brake if sight.brake else None,
            leases=tuple(seen.leases) if sight.brake else (),
            failed_checks=seen.health.failed_checks,
            applications=self._index.applications,
        )
        return findings_of(observed)

    def _outages(self, state: FleetState) -> dict[str, bytes]:
        if not self._sight.outages:
            return {}
        return {name: codec.encode(row) for name, row in outage_rows(state).items()}

    def _policies(self, seen: SeenFleet) -> dict[str, bytes]:
        fresh: dict[str, _KnownPolicy] = {}
        for policy in seen.policies:
            if not self._sight.shows_policy(policy.namespace):
                continue
            key, claims = policy_key(policy), self._index.claims[claim_by(policy)]
            known = self._policies_known.get(key)
            if known is None or known.policy is not policy or known.claims != claims:
                self._made["policies"] += 1
                known = _KnownPolicy(policy, claims, codec.encode(policy_row(policy, claims)))
            fresh[key] = known
        self._policies_known = fresh
        return {key: known.body for key, known in fresh.items()}
