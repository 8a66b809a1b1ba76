"""Fleet: all clusters as arrays, kept up to date one cluster at a time.

`put` notes what changed; arrays that depend on it renew the cells of the changed clusters when they are next used, so
that a status report costs next to nothing and no binding pays for clusters that stayed as they were. A fleet is also a
mapping of clusters by name. It knows what is reserved for bindings, see `reservations.py`.

All caches are bounded, and dropped as a whole when a cluster joins or leaves.
"""

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence, Set
from datetime import datetime
from functools import partial
from typing import TypeVar, overload

import numpy as np

from kubeapi.codec import encode
from leeward.api.cluster import Cluster
from leeward.api.rules.bounds import placement_fault
from leeward.api.work import ResourceBindingSpec, TargetCluster
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.cluster_health.outage import has_outage
from leeward.core.cluster_health.pending_condition import is_failing
from leeward.core.cluster_health.standing_taints import is_specified_otherwise
from leeward.core.quota.quota_room import ReadQuotas, no_quotas
from leeward.core.scheduling import ClusterArrays
from leeward.core.scheduling.cluster_arrays import Feasibility
from leeward.core.scheduling.estimates import estimator_of
from leeward.core.scheduling.model import (
    Estimator,
    Placed,
    PlacementKey,
    Profile,
    Request,
    Unplaceable,
    digest_without_terms,
)
from leeward.core.scheduling.steps import DEFAULT_PROFILE
from leeward.core.scheduling.vector_allocation import Floats, Ints, listed
from leeward.core.scheduling.workload_affinity import workload_affinity_filters
from leeward.planning.claim_holders import ClaimHolders
from leeward.planning.estimates import Estimates
from leeward.planning.feasibility import CachedArrays, CachedAvailability, CachedFeasibility, CachedStays
from leeward.planning.moving_groups import MovingGroups, apart_filter
from leeward.planning.reservations import Reservations
from leeward.planning.workload_groups import WorkloadGroups

K = TypeVar("K", bound=Hashable)
A = TypeVar("A", bound=CachedArrays)
D = TypeVar("D")

MAX_CELLS = 4_000_000
"""The arrays of all kinds together hold no more cells than this."""
MAX_ARRAYS = 10_000
"""The arrays of one kind are no more than this, however few clusters there are."""
MAX_ANSWERS = 10_000
MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""The remembered answers, with the questions, take about this much at most."""

ANSWER_BYTES, CLUSTER_BYTES = 1024, 128
FEW_TERMS = 10
"""Affinity terms that a decision looks at without a pause."""


class Fleet(ClusterArrays):
    """`estimates`, `groups` and `claims` are read by the plug-ins of the profile, where it has such plug-ins.

    `together` are the groups that move together; `barred` are clusters where nothing new goes while one is decided.
    """

    def __init__(
        self,
        clusters: Iterable[Cluster] = (),
        profile: Profile = DEFAULT_PROFILE,
        estimates: Estimates | None = None,
        groups: WorkloadGroups | None = None,
        claims: ClaimHolders | None = None,
        reservations: Reservations | None = None,
    ) -> None:
        self.profile = profile
        self.estimates = estimates if estimates is not None else Estimates()
        self.groups = groups
        self.claims = claims if claims is not None else ClaimHolders()
        self.reservations = reservations if reservations is not None else Reservations()
        self.together = MovingGroups(affinity=groups is not None)
        self.barred: Set[str] = frozenset()
        self._by_name: dict[str, Cluster] = {}
        self._in_outage: dict[str, None] = {}
        self._stale = True
        for cluster in clusters:
            self.put(cluster)

    def __getitem__(self, name: str) -> Cluster:
        return self._by_name[name]

    @overload
    def get(self, key: str, /) -> Cluster | None: ...
    @overload
    def get(self, key: str, /, default: Cluster | D) -> Cluster | D: ...
    def get(self, key: str, /, default: object = None) -> object:
        """Gets a cluster without the exception of `Mapping.get`: a decision asks it some forty times."""
        return self._by_name.get(key, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def put(self, cluster: Cluster) -> None:
        """Takes in a cluster that is new or changed."""
        old = self._by_name.get(cluster.name)
        self._by_name[cluster.name] = cluster
        if has_outage(cluster):
            self._in_outage[cluster.name] = None
        else:
            self._in_outage.pop(cluster.name, None)
        has_new_room = self.reservations.report(cluster)
        if old is None or self._stale:
            self._stale = True
            return
        row = self.rows[cluster.name]
        self.clusters[row] = cluster
        if not _places_alike(old, cluster):
            self.facts_revision += 1
            self._facts_changed[row] = self.facts_revision
        if has_new_room:
            self.note_capacity([cluster.name])

    def remove(self, name: str) -> None:
        if self._by_name.pop(name, None) is not None:
            self._in_outage.pop(name, None)
            self.reservations.forget(name)
            self._stale = True

    @property
    def in_outage(self) -> Set[str]:
        """Names of the clusters that have an outage."""
        return self._in_outage.keys()

    def reserve(self, key: str, spec: ResourceBindingSpec, targets: tuple[TargetCluster, ...]) -> None:
        """Takes from the fleet's capacity what the binding gets beyond what it has."""
        self.note_capacity(self.reservations.reserve(key, spec, targets))

    def release(self, key: str, unless_at: tuple[TargetCluster, ...] | None = None) -> None:
        """Gives back what was reserved for the binding, unless it went just there."""
        self.note_capacity(self.reservations.release(key, unless_at))

    def stays_until(self, key: Hashable, leaves_at: Callable[[Cluster], datetime | None]) -> Floats:
        make = partial(CachedStays, leaves_at, self.clusters)
        return self._kept(self._stays, key, make, self._facts_changed, self.facts_revision).until

    def feasibility(self, request: Request) -> Feasibility:
        make = partial(CachedFeasibility, request, self.profile.shared_filters, self.clusters)
        return self._kept(
            self._feasibility, request.placement_key, make, self._facts_changed, self.facts_revision
        ).found

    def available(self, request: Request, rows: Ints) -> Ints:
        if not request.is_set:
            return self._room(request)[rows]
        components = request.spec.components
        found = [self.reservations.sets(self.names[row], components) for row in listed(rows)]
        return np.array(found, dtype=np.int64)

    def _room(self, request: Request) -> Ints:
        requirements = request.spec.replica_requirements
        asked = None if requirements is None else requirements.resource_request
        make = partial(CachedAvailability, asked, self.names, self.reservations)
        kept = self._kept(self._availability, encode(asked), make, self._capacity_changed, self.capacity_revision)
        return kept.available

    def _kept(self, arrays: dict[K, A], key: K, make: Callable[[], A], changed: Ints, revision: int) -> A:
        """The arrays of `key`, renewed where something changed since; `changed` has the revision of each row."""
        kept = arrays.get(key)
        if kept is None:
            kept = arrays[key] = make()
            self._bound()
        elif kept.revision != revision:
            kept.renew(np.flatnonzero(changed > kept.revision).tolist())
        kept.revision = revision
        return kept

    def displaced(self, request: Request, rows: Ints) -> Ints:
        found = [self.reservations.displaced(self.names[row], request) for row in listed(rows)]
        return np.array(found, dtype=np.int64)

    def answer(
        self, key: Hashable, depends_on_capacity: bool, find: Callable[[], Placed | Unplaceable]
    ) -> Placed | Unplaceable:
        revision = (self.facts_revision, self.capacity_revision if depends_on_capacity else -1)
        known = self._answers.get(key)
        if known is not None and known[0] == revision:
            return known[1]
        found = find()
        size = _size_of(found)
        if len(self._answers) >= MAX_ANSWERS or self._answer_bytes + size > MAX_ANSWER_BYTES:
            self._answers.clear()
            self._answer_bytes = 0
        self._answers[key] = (revision, found)
        self._answer_bytes += size
        return found

    def refresh(self) -> None:
        if not self._stale:
            return
        self._stale = False
        self.names = sorted(self._by_name)
        self.rows = {name: row for row, name in enumerate(self.names)}
        self.clusters = [self._by_name[name] for name in self.names]
        self.facts_revision = self.capacity_revision = 0
        self._facts_changed: Ints = np.zeros(len(self.names), dtype=np.int64)
        self._capacity_changed: Ints = np.zeros(len(self.names), dtype=np.int64)
        self._feasibility: dict[PlacementKey, CachedFeasibility] = {}
        self._availability: dict[bytes, CachedAvailability] = {}
        self._stays: dict[Hashable, CachedStays] = {}
        self._answers: dict[Hashable, tuple[tuple[int, int], Placed | Unplaceable]] = {}
        self._answer_bytes = 0

    def note_capacity(self, names: Sequence[str]) -> None:
        """Takes in that there is more or less room in these clusters."""
        if self._stale or not names:
            return
        self.capacity_revision += 1
        for name in names:
            self._capacity_changed[self.rows[name]] = self.capacity_revision

    def _bound(self) -> None:
        """Drops the oldest arrays when there are too many."""
        most = max(8, min(MAX_ARRAYS, MAX_CELLS // max(1, len(self.names)) // 3))
        for arrays in (self._feasibility, self._availability, self._stays):
            while len(arrays) > most:
                del arrays[next(iter(arrays))]  # type: ignore[arg-type]


def has_many_terms(spec: ResourceBindingSpec) -> bool:
    """Tells whether the terms of its placement are looked at before the decision."""
    placement = spec.placement
    return placement is not None and len(placement.cluster_affinities) > FEW_TERMS and not placement_fault(placement)


def look_at_terms(spec: ResourceBindingSpec, fleet: Fleet) -> Generator[None, None, None]:
    """Looks at the affinity terms of a placement that has many, with a pause after each.

    The fleet remembers what it finds, so that the decision about all of them is short. A placement beyond its bounds is
    not looked at: nothing is decided by it."""
    placement = spec.placement
    if placement is None or not has_many_terms(spec):
        return
    shared = digest_without_terms(placement)
    for term in placement.cluster_affinities:
        fleet.refresh()
        fleet.feasibility(Request(spec, term.affinity_name, term_in_view=term, shared_digest=shared))
        yield


def _size_of(answer: Placed | Unplaceable) -> int:
    """Bytes that a remembered answer takes with its question, about."""
    if isinstance(answer, Placed):
        return ANSWER_BYTES + CLUSTER_BYTES * len(answer.clusters)
    return ANSWER_BYTES + len(answer.message) + CLUSTER_BYTES * len(answer.rejected)


def _places_alike(old: Cluster, new: Cluster) -> bool:
    """Tells whether all filters say the same of both."""
    return (
        not is_specified_otherwise(old, new)
        and old.metadata.labels == new.metadata.labels
        and old.is_being_deleted == new.is_being_deleted
        and old.status.api_enablements == new.status.api_enablements
    )


def placement_fleet(
    clusters: Iterable[Cluster] = (),
    *,
    estimates: Estimates | None = None,
    groups: WorkloadGroups | None = None,
    multiple_pod_templates: bool = False,
    read_quotas: ReadQuotas = no_quotas,
) -> Fleet:
    """A fleet with the plug-ins of production. `estimates` are what estimators outside of the scheduler answered.

    Gates: without `groups` WorkloadAffinity is off, without `read_quotas` ResourceQuotaEstimate;
    `multiple_pod_templates` is MultiplePodTemplatesScheduling.
    """

    def is_left(name: str) -> bool:
        """Tells whether what is in the cluster has to leave it."""
        cluster = fleet.get(name)
        return cluster is None or cluster.is_being_deleted or looks_dead(cluster) or cluster.has_no_execute

    def may_serve(name: str) -> bool:
        """Tells whether a claim in the cluster counts: it is worth nothing while the cluster fails."""
        cluster = fleet.get(name)
        is_well = cluster is not None and (cluster.ready is None or cluster.is_ready) and not is_failing(cluster)
        return is_well and not is_left(name)

    estimates, claims = estimates if estimates is not None else Estimates(), ClaimHolders()
    filters = () if groups is None else workload_affinity_filters(groups.others, is_left)
    reservations = Reservations(read_quotas)
    quotas = Estimator("ResourceQuotaEstimator", reservations.room_in_quotas, knows_reserved=True)
    profile = Profile(
        filters=(*DEFAULT_PROFILE.filters, *filters, apart_filter(lambda: fleet.barred)),
        scores=DEFAULT_PROFILE.scores,
        estimators=(estimator_of(estimates.of), quotas),
        multiple_pod_templates=multiple_pod_templates,
        held_claims=claims.of,
        may_serve=may_serve,
    )
    fleet = Fleet(clusters, profile, estimates, groups, claims, reservations)
    return fleet
