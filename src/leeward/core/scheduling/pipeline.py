"""The scheduler of one binding: filter, score, select, divide.

With `clusterAffinities` the terms are tried in order, from the one that holds now; the first that gives a result wins.
Karmada: pkg/scheduler/core/generic_scheduler.go, pkg/scheduler/scheduler.go; same, but for the terms before the present
one. These are tried, too, when no later one gives a result: in a failover, and where copies are due.
"""

from leeward.api.cluster import Cluster
from leeward.api.policy import Placement
from leeward.api.work import ResourceBindingSpec, ResourceBindingStatus
from leeward.core.scheduling.affinity import terms_by_name
from leeward.core.scheduling.claim_locality import claim_ranks
from leeward.core.scheduling.cluster_arrays import ClusterView
from leeward.core.scheduling.model import Placed, Request, Unplaceable, digest_without_terms, is_reschedule_requested
from leeward.core.scheduling.preserve_assigned import without_loss
from leeward.core.scheduling.trace import Trace
from leeward.core.scheduling.vectors import place


def schedule(
    spec: ResourceBindingSpec,
    status: ResourceBindingStatus,
    clusters: ClusterView,
    propagate_empty_workloads: bool = False,
    keep_assigned: bool = False,
    trace: Trace | None = None,
    *,
    around: bool = False,
    beside: tuple[Cluster, ...] = (),
) -> Placed | Unplaceable:
    """Places the binding's template; when no affinity term gives a result, the outcome says why the first one did not.

    `keep_assigned` is for a failover: see `Request`, also for `beside`. It goes around the terms; so does a binding
    with copies that are due (`around`). `trace` is told why, at no cost where it is None. Holds: S2, S3, C2.
    """
    profile = clusters.arrays.profile
    claims = claim_ranks(profile.held_claims(spec), profile.may_serve)
    first_failure: Unplaceable | None = None
    terms, shared_digest = terms_by_name(spec), digest_without_terms(spec.placement or Placement())
    for affinity_name in affinity_names_to_try(spec, status, around=around or keep_assigned):
        request = Request(
            spec,
            affinity_name,
            status.last_scheduled_time,
            propagate_empty_workloads,
            keep_assigned,
            profile.multiple_pod_templates,
            None if trace is None else trace.of_term(affinity_name),
            claims,
            terms.get(affinity_name),
            shared_digest,
            beside,
        )
        outcome = without_loss(request, place(request, clusters), clusters, profile)
        if isinstance(outcome, Placed):
            return outcome
        first_failure = first_failure or outcome
    assert first_failure is not None, "there is always a term to try"
    return first_failure


def affinity_names_to_try(
    spec: ResourceBindingSpec, status: ResourceBindingStatus, *, around: bool = False
) -> tuple[str, ...]:
    """Names from the observed term on; from the first, when a reschedule is requested or the observed one is gone.

    `around`: those before it come last. A binding that has fled to the last term can flee from there (Karmada's issue
    4990).
    """
    terms = spec.placement.cluster_affinities if spec.placement else ()
    names = tuple(term.affinity_name for term in terms)
    observed = status.scheduler_observing_affinity_name
    if not names:
        return (observed,)
    if observed not in names or is_reschedule_requested(spec, status.last_scheduled_time):
        return names
    at = names.index(observed)
    return names[at:] + (names[:at] if around else ())
