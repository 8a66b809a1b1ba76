"""The scheduler that looks at one cluster after the other: what the arrays are compared with.

It shares the steps that follow the filters (selection, division) with the product where that looks cluster by cluster,
and nothing of the arrays. Karmada: pkg/scheduler/core/generic_scheduler.go; same.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from leeward.api.cluster import Cluster
from leeward.api.work import ResourceBindingSpec, ResourceBindingStatus
from leeward.core.scheduling import Placed, Trace, Unplaceable
from leeward.core.scheduling.affinity import tier_of
from leeward.core.scheduling.claim_locality import claim_ranks
from leeward.core.scheduling.model import MAX_REPLICAS, Candidate, Profile, Rejection, Request
from leeward.core.scheduling.pipeline import affinity_names_to_try
from leeward.core.scheduling.preserve_assigned import without_loss
from leeward.core.scheduling.steps import DEFAULT_PROFILE, finish, first_rejection, fit_message, reasons_of
from leeward.planning.capacity import Capacity, Demand


def schedule_one_by_one(
    spec: ResourceBindingSpec,
    status: ResourceBindingStatus,
    clusters: Sequence[Cluster],
    profile: Profile = DEFAULT_PROFILE,
    keep_assigned: bool = False,
    trace: Trace | None = None,
) -> Placed | Unplaceable:
    """Schedules as `schedule` does, by another way."""
    failures: list[Unplaceable] = []
    for name in affinity_names_to_try(spec, status, around=keep_assigned):
        request = Request(
            spec,
            name,
            status.last_scheduled_time,
            keep_assigned=keep_assigned,
            multiple_pod_templates=profile.multiple_pod_templates,
            trace=None if trace is None else trace.of_term(name),
            claims=claim_ranks(profile.held_claims(spec), profile.may_serve),
        )
        found = place_one_by_one(request, clusters, profile)
        if request.claims and isinstance(found, Unplaceable):
            found = place_one_by_one(replace(request, claims={}), clusters, profile)
        outcome = without_loss(request, found, clusters, profile)
        if isinstance(outcome, Placed):
            return outcome
        failures.append(outcome)
    return failures[0]


def place_one_by_one(
    request: Request, clusters: Sequence[Cluster], profile: Profile = DEFAULT_PROFILE
) -> Placed | Unplaceable:
    """Places for the one affinity term that the request has in view."""
    feasible, refused = filter_clusters(request, clusters, profile)
    if request.trace is not None:
        request.trace.note_rejections(refused)
    rejected = reasons_of(refused)
    if not feasible:
        return Unplaceable("FitError", fit_message(len(clusters), rejected), rejected)
    return finish(request, candidates_of(request, feasible, profile), lambda: rejected)


def filter_clusters(
    request: Request, clusters: Sequence[Cluster], profile: Profile = DEFAULT_PROFILE
) -> tuple[list[Cluster], dict[str, Rejection]]:
    """The clusters that pass all filters, and what refuses the others first; neither has those being deleted."""
    present = [cluster for cluster in clusters if not cluster.is_being_deleted]
    answers = [(cluster, first_rejection(request, cluster, profile.filters)) for cluster in present]
    refused = {cluster.name: rejection for cluster, rejection in answers if rejection is not None}
    return [cluster for cluster, rejection in answers if rejection is None], refused


def candidates_of(request: Request, clusters: Sequence[Cluster], profile: Profile) -> list[Candidate]:
    room_in = room_of(request, profile)
    return [
        Candidate(
            cluster,
            tier=tier_of(request, cluster),
            score=sum(plugin.score(request, cluster) for plugin in profile.scores),
            room=room_in(cluster),
            assigned=request.assigned.get(cluster.name, 0),
            claims=request.claims.get(cluster.name, 0),
        )
        for cluster in clusters
    ]


def room_of(request: Request, profile: Profile) -> Callable[[Cluster], int]:
    """Number of replicas, or sets of components, that still fit into a cluster, by the lowest estimate."""
    spec = request.spec
    if spec.replicas == 0 and not spec.components:
        return lambda cluster: MAX_REPLICAS
    asked = [estimate for plugin in profile.estimators if (estimate := plugin.estimate(request)) is not None]

    def room_in(cluster: Cluster) -> int:
        room = min((estimate(cluster) for estimate in asked), default=MAX_REPLICAS)
        room = min(room, available_in(request, cluster))
        return spec.replicas if room == MAX_REPLICAS else room

    return room_in


def available_in(request: Request, cluster: Cluster) -> int:
    """Room that the cluster reports of itself; what cannot be read leaves no room."""
    requirements = request.spec.replica_requirements
    try:
        capacity = Capacity.of(cluster)
        if capacity is None:
            return 0
        if request.is_set:
            return capacity.sets(request.spec.components)
        return capacity.replicas(None if requirements is None else Demand.of(requirements.resource_request))
    except (ValueError, ArithmeticError):
        return 0
