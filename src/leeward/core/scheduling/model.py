"""The values that scheduling is made of: the request, the candidates, the plug-ins, and the two outcomes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Literal

import msgspec

from kubeapi.codec import encode
from leeward.api.cluster import Cluster
from leeward.api.policy import ClusterAffinity, ClusterAffinityTerm, Placement
from leeward.api.work import ResourceBindingSpec, TargetCluster
from leeward.core.scheduling.cached_property import CachedProperty
from leeward.core.scheduling.claim_locality import HeldClaims, no_claims
from leeward.core.scheduling.cluster_matching import ClusterMatcher, affinity_matcher, weight_finder
from leeward.core.scheduling.spread_fields import is_over_clusters
from leeward.core.scheduling.trace import TermTrace

MAX_REPLICAS = 2**31 - 1
"""Answer of an estimator when the cluster sets no limit."""

PlacementKey = tuple[bytes, bytes, bool, str, str, str, bool]
DIGEST_BYTES = 16


def digest(part: Placement | ClusterAffinityTerm) -> bytes:
    return blake2b(encode(part), digest_size=DIGEST_BYTES).digest()


def digest_without_terms(placement: Placement) -> bytes:
    """Digest of all that the affinity terms of a placement share."""
    return digest(
        msgspec.structs.replace(placement, cluster_affinities=()) if placement.cluster_affinities else placement
    )


def any_request(request: "Request") -> bool:
    return True


@dataclass(frozen=True)
class Placed:
    """The clusters chosen, sorted by name; `affinity_name` is the term of `clusterAffinities` that they satisfy."""

    clusters: tuple[TargetCluster, ...]
    affinity_name: str = ""


@dataclass(frozen=True)
class Unplaceable:
    """No result. `rejected` maps clusters to the reason of the first filter that refused them.

    `FitError`: no cluster passes the filters (Karmada then clears the earlier result); `UnschedulableError`: there is
    not enough room (the earlier result stays); `Error`: the constraints cannot be met or mean nothing (it stays, too);
    `QuotaExceeded`: admission refused to write the result. `cause` says it in people's words
    (`placement.cause`); `message` is the scheduler's text.
    """

    kind: Literal["FitError", "UnschedulableError", "Error", "QuotaExceeded"]
    message: str
    rejected: Mapping[str, str]
    cause: str = ""

    @property
    def told(self) -> str:
        """The cause, and the scheduler's text behind it."""
        return f"{self.cause} {self.message}" if self.cause else self.message

    def within(self, step: str) -> "Unplaceable":
        """Result as it is told from the step that contains it."""
        return Unplaceable(self.kind, f"{step}: {self.message}", self.rejected)


@dataclass(frozen=True)
class Request:
    """One binding's question to the scheduler, with one term of its `clusterAffinities` in view.

    `multiple_pod_templates`: components that go to exactly one cluster are placed as a set.
    `trace`: where to note why; None asks for nothing.
    `keep_assigned`: a failover asks. Assigned replicas stay, under static weights, too; only the rest is divided.
    `beside`: clusters of targets that stay as they are, and are no part of the request. They fill groups of clusters.
    `claims` ranks the clusters that hold claims of the template, see `claim_locality`.
    """

    spec: ResourceBindingSpec
    affinity_name: str = ""
    last_scheduled_time: datetime | None = None
    propagate_empty_workloads: bool = False
    keep_assigned: bool = False
    multiple_pod_templates: bool = False
    trace: TermTrace | None = None
    claims: Mapping[str, int] = field(default_factory=dict[str, int])
    term_in_view: ClusterAffinityTerm | None = None
    """Term of the name `affinity_name`, where who asks has it at hand."""
    shared_digest: bytes = b""
    """Digest of the placement without its terms, where who asks for many terms has it at hand."""
    beside: tuple[Cluster, ...] = ()

    @CachedProperty
    def placement(self) -> Placement:
        return self.spec.placement or Placement()

    @CachedProperty
    def term(self) -> ClusterAffinityTerm | None:
        """The term in view; None without terms, or when none has this name."""
        if self.placement.cluster_affinity is not None:
            return None
        if self.term_in_view is not None:
            return self.term_in_view
        return next((t for t in self.placement.cluster_affinities if t.affinity_name == self.affinity_name), None)

    @CachedProperty
    def placement_key(self) -> "PlacementKey":
        """Key of everything on which `Feasibility` depends; requests with the same key share it. Of the terms, only the
        one in view counts: all of them cost no more than the placement has bytes."""
        resource, term = self.spec.resource, self.term
        return (
            self.shared_digest or digest_without_terms(self.placement),
            b"" if term is None else digest(term),
            bool(self.placement.cluster_affinities),
            self.affinity_name,
            resource.api_version,
            resource.kind,
            self.spec.is_workload,
        )

    @CachedProperty
    def matchers(self) -> tuple[ClusterMatcher, ...]:
        """Affinities of which one must match. A term that does not exist excludes nothing."""
        if self.placement.cluster_affinity is not None:
            return (affinity_matcher(self.placement.cluster_affinity),)
        if self.term is None:
            return (affinity_matcher(ClusterAffinity()),)
        return self.tier_matchers if self.spec.is_workload else self.tier_matchers[:1]

    @CachedProperty
    def tier_matchers(self) -> tuple[ClusterMatcher, ...]:
        """Affinities of the term in view, in the order of their tiers."""
        groups = () if self.term is None else (self.term, *(self.term.overflow_affinities or ()))
        return tuple(map(affinity_matcher, groups))

    @CachedProperty
    def static_weight(self) -> Callable[[Cluster], int]:
        """Finder of a cluster's static weight: the greatest of the rules that match, 0 without any."""
        strategy = self.placement.replica_scheduling
        preference = strategy.weight_preference if strategy else None
        return weight_finder(preference.static_weight_list if preference else ())

    @CachedProperty
    def assigned(self) -> Mapping[str, int]:
        """Replicas per cluster of the earlier result."""
        return self.spec.assigned

    def keeps(self, name: str) -> bool:
        """Tells whether the replicas of this cluster come before all else."""
        return (self.keep_assigned and name in self.assigned) or any(name == each.name for each in self.beside)

    @CachedProperty
    def evicted_from(self) -> frozenset[str]:
        """Clusters with an open eviction task of this binding."""
        return frozenset(task.from_cluster for task in self.spec.graceful_eviction_tasks)

    @property
    def has_replicas(self) -> bool:
        """Tells whether there are replicas to give to clusters, even if their number is 0 now."""
        spec = self.spec
        return (spec.replicas > 0 or spec.replica_requirements is not None) and len(spec.components) <= 1

    @CachedProperty
    def is_set(self) -> bool:
        """Tells whether this is components that go to exactly one cluster together."""
        constraints = self.placement.spread_constraints
        one = any(is_over_clusters(c) and c.min_groups == c.max_groups == 1 for c in constraints)
        return self.multiple_pod_templates and one and bool(self.spec.components)

    @property
    def needed(self) -> int:
        """Number that must find room: all replicas, or one set of components."""
        return 1 if self.is_set else self.spec.replicas

    @property
    def is_fresh(self) -> bool:
        """Tells whether a reschedule was requested after the last result: assignments then count for nothing."""
        return is_reschedule_requested(self.spec, self.last_scheduled_time)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A cluster that passed all filters.

    `tier` is 0 for the primary affinity, i+1 for its overflow affinity i; `room` is how many more replicas fit, by
    estimate; `assigned` how many the earlier result has there; `claims` is above 0 where it holds claims.
    """

    cluster: Cluster
    tier: int
    score: int
    room: int
    assigned: int
    claims: int = 0

    @property
    def name(self) -> str:
        return self.cluster.name

    @property
    def available(self) -> int:
        return self.room + self.assigned

    @property
    def rank(self) -> tuple[int, int, int, int, str]:
        """Sorts the better candidate first."""
        return (self.tier, -self.score, -self.claims, -self.available, self.name)


@dataclass(frozen=True, slots=True)
class Filter:
    """`reject` returns the reason why the cluster is no candidate, or None.

    `shared`: it looks only at the placement, the affinity term in view and the template's kind, but for clusters that
    the binding has or leaves. Bindings with the same placement then share its answers.
    `concerns`: whether it can refuse the request any cluster at all.
    """

    name: str
    reject: Callable[[Request, Cluster], str | None]
    shared: bool = False
    concerns: Callable[[Request], bool] = any_request


@dataclass(frozen=True, slots=True)
class Rejection:
    """Reason why a cluster is no candidate, and the plug-in that says so."""

    plugin: str
    reason: str

    def __str__(self) -> str:
        return f"{self.plugin}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Score:
    """`score` returns 0 (no wish) to 100; the scores of all plug-ins are added."""

    name: str
    score: Callable[[Request, Cluster], int]


@dataclass(frozen=True, slots=True)
class Estimator:
    """`estimate` answers how many more replicas (for a set: how many more sets of all components) fit into a cluster.

    It is asked once for each request; None: it knows nothing of such a request. The smallest answer counts, of all
    estimators and of the cluster's own report. `knows_reserved`: its answers leave out reservations for others; from
    those of another estimator they are taken off, see `ClusterArrays.displaced`.
    """

    name: str
    estimate: Callable[[Request], Callable[[Cluster], int] | None]
    knows_reserved: bool = False


@dataclass(frozen=True)
class Profile:
    """The plug-ins that one scheduler runs. The first filter in order gives the reason.

    `multiple_pod_templates` (gate MultiplePodTemplatesScheduling): see `Request`. `held_claims`: the clusters
    that hold the claims of a binding's template; `may_serve`: whether a claim in a cluster counts.
    """

    filters: tuple[Filter, ...]
    scores: tuple[Score, ...]
    estimators: tuple[Estimator, ...]
    multiple_pod_templates: bool = False
    held_claims: Callable[[ResourceBindingSpec], HeldClaims] = no_claims
    may_serve: Callable[[str], bool] = bool

    @CachedProperty
    def shared_filters(self) -> tuple[Filter, ...]:
        return tuple(plugin for plugin in self.filters if plugin.shared)

    @CachedProperty
    def own_filters(self) -> tuple[Filter, ...]:
        return tuple(plugin for plugin in self.filters if not plugin.shared)


def is_reschedule_requested(spec: ResourceBindingSpec, last_scheduled_time: datetime | None) -> bool:
    """Karmada: `util.RescheduleRequired`; same."""
    triggered = spec.reschedule_triggered_at
    return triggered is not None and last_scheduled_time is not None and triggered > last_scheduled_time
