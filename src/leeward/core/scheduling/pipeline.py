"""The scheduler of one binding: filter, score, select, divide.

With `clusterAffinities` the terms are tried in order, from the one that holds now; the first that gives a result wins.

Karmada: pkg/scheduler/core/generic_scheduler.go, pkg/scheduler/scheduler.go; same.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from leeward.api.cluster import Cluster
from leeward.api.work import ResourceBindingSpec, ResourceBindingStatus, TargetCluster, TargetComponent
from leeward.core.scheduling.affinity import CLUSTER_AFFINITY, tier_of
from leeward.core.scheduling.api_enablement import API_ENABLEMENT
from leeward.core.scheduling.assignment import assign
from leeward.core.scheduling.capacity import MAX_REPLICAS
from leeward.core.scheduling.estimation import GENERAL_ESTIMATOR
from leeward.core.scheduling.eviction import CLUSTER_EVICTION
from leeward.core.scheduling.locality import CLUSTER_LOCALITY
from leeward.core.scheduling.model import (
    Candidate,
    Placed,
    Profile,
    Request,
    Unplaceable,
    is_reschedule_requested,
)
from leeward.core.scheduling.selection import select
from leeward.core.scheduling.spread import SPREAD_CONSTRAINT
from leeward.core.scheduling.taints import TAINT_TOLERATION

DEFAULT_PROFILE = Profile(
    filters=(API_ENABLEMENT, TAINT_TOLERATION, CLUSTER_AFFINITY, SPREAD_CONSTRAINT, CLUSTER_EVICTION),
    scores=(CLUSTER_LOCALITY,),
    estimators=(GENERAL_ESTIMATOR,),
)


def schedule(
    spec: ResourceBindingSpec,
    status: ResourceBindingStatus,
    clusters: Sequence[Cluster],
    profile: Profile = DEFAULT_PROFILE,
    propagate_empty_workloads: bool = False,
    keep_assigned: bool = False,
) -> Placed | Unplaceable:
    """Where the binding's template goes; when no affinity term gives a result, why the first one did not.

    The order of `clusters` does not matter. `keep_assigned` is for a failover: see `Request`. Holds: S2, S3, C2.
    """
    first_failure: Unplaceable | None = None
    for affinity_name in affinity_names_to_try(spec, status):
        request = Request(spec, affinity_name, status.last_scheduled_time, propagate_empty_workloads, keep_assigned)
        outcome = place(request, clusters, profile)
        if isinstance(outcome, Placed):
            return outcome
        first_failure = first_failure or outcome
    assert first_failure is not None, "there is always a term to try"
    return first_failure


def affinity_names_to_try(spec: ResourceBindingSpec, status: ResourceBindingStatus) -> tuple[str, ...]:
    """From the observed term on; from the first, when a reschedule is requested or the observed one is gone."""
    terms = spec.placement.cluster_affinities if spec.placement else ()
    names = tuple(term.affinity_name for term in terms)
    observed = status.scheduler_observing_affinity_name
    if not names:
        return (observed,)
    if observed not in names or is_reschedule_requested(spec, status.last_scheduled_time):
        return names
    return names[names.index(observed) :]


def place(request: Request, clusters: Sequence[Cluster], profile: Profile = DEFAULT_PROFILE) -> Placed | Unplaceable:
    """The pipeline, for the one affinity term that the request has in view."""
    feasible, rejected = filter_clusters(request, clusters, profile)
    if not feasible:
        return Unplaceable("FitError", _fit_message(len(clusters), rejected), rejected)
    candidates = sorted((_candidate(request, cluster, profile) for cluster in feasible), key=lambda c: c.rank)
    selected = select(request, candidates)
    if isinstance(selected, Unplaceable):
        return Unplaceable(selected.kind, f"failed to select clusters: {selected.message}", rejected)
    targets = _targets(request, selected, profile)
    if isinstance(targets, Unplaceable):
        return Unplaceable(targets.kind, f"failed to assign replicas: {targets.message}", rejected)
    return Placed(targets, request.affinity_name)


def filter_clusters(
    request: Request, clusters: Sequence[Cluster], profile: Profile = DEFAULT_PROFILE
) -> tuple[tuple[Cluster, ...], Mapping[str, str]]:
    """The clusters that pass all filters, and the others with their first reason; neither has those being deleted."""
    feasible: list[Cluster] = []
    rejected: dict[str, str] = {}
    for cluster in clusters:
        if cluster.is_being_deleted:
            continue
        reason = _first_rejection(request, cluster, profile)
        if reason is None:
            feasible.append(cluster)
        else:
            rejected[cluster.name] = reason
    return tuple(feasible), rejected


def _first_rejection(request: Request, cluster: Cluster, profile: Profile) -> str | None:
    reasons = (plugin.reject(request, cluster) for plugin in profile.filters)
    return next((reason for reason in reasons if reason is not None), None)


def _candidate(request: Request, cluster: Cluster, profile: Profile) -> Candidate:
    return Candidate(
        cluster,
        tier=tier_of(request, cluster),
        score=sum(plugin.score(request, cluster) for plugin in profile.scores),
        room=room_in(request, cluster, profile),
        assigned=request.assigned.get(cluster.name, 0),
    )


def room_in(request: Request, cluster: Cluster, profile: Profile) -> int:
    """How many more replicas (or sets of components) fit, by the lowest estimate."""
    spec = request.spec
    if spec.replicas == 0 and not spec.components:
        return MAX_REPLICAS
    as_set = profile.multiple_pod_templates and request.is_set
    estimates = (
        plugin.estimate_sets(spec, cluster) if as_set else plugin.estimate(spec, cluster)
        for plugin in profile.estimators
    )
    room = min(estimates, default=MAX_REPLICAS)
    return spec.replicas if room == MAX_REPLICAS else room


def _targets(
    request: Request, selected: Sequence[Candidate], profile: Profile
) -> tuple[TargetCluster, ...] | Unplaceable:
    """Templates without replicas, and those of several components, go to all selected clusters as they are."""
    spec = request.spec
    if not spec.is_workload or len(spec.components) > 1:
        names = sorted(candidate.name for candidate in selected)
        parts = tuple(TargetComponent(component.name, component.replicas) for component in spec.components)
        as_set = profile.multiple_pod_templates and request.is_set
        return tuple(TargetCluster(name, components=parts if as_set else ()) for name in names)
    assigned = assign(request, selected)
    if isinstance(assigned, Unplaceable):
        return assigned
    return tuple(TargetCluster(name, assigned[name]) for name in sorted(assigned))


def _fit_message(total: int, rejected: Mapping[str, str]) -> str:
    counted = Counter(rejected.values())
    reasons = sorted(f"{count} {reason}" for reason, count in counted.items()) or ["no cluster exists"]
    return f"0/{total} clusters are available: {', '.join(reasons)}."
