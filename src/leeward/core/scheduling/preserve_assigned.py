"""Survivors of a failover do not shrink: a result that takes replicas from a cluster that may keep them is no result.

Selection and division already prefer assigned clusters when a failover asks (`Request.keep_assigned`). This is the last
look: where a spread constraint could be met only by leaving a healthy cluster, nothing is moved at all.

Not kept are assignments that are no longer legal, and those that the user gave up by asking for fewer replicas or for a
reschedule. Holds: C2. Karmada has no such rule.
"""

from collections.abc import Sequence

from leeward.api.cluster import Cluster
from leeward.core.scheduling.model import Placed, Profile, Request, Unplaceable
from leeward.core.scheduling.steps import is_feasible


def without_loss(
    request: Request, outcome: Placed | Unplaceable, clusters: Sequence[Cluster], profile: Profile
) -> Placed | Unplaceable:
    """The outcome, unless it shrinks a survivor in a failover."""
    if not request.keep_assigned or isinstance(outcome, Unplaceable) or _gives_up(request):
        return outcome
    placed = {target.name: target.replicas for target in outcome.clusters}
    losers = {
        name
        for name, replicas in request.assigned.items()
        if placed.get(name, -1) < min(replicas, request.spec.replicas)
    }
    lost = (cluster for cluster in (clusters if losers else ()) if cluster.name in losers)
    kept = [cluster.name for cluster in lost if is_feasible(request, cluster, profile)]
    if not kept:
        return outcome
    message = f"the placement could only be met by taking replicas from {', '.join(sorted(kept))}"
    return Unplaceable("Error", message, {})


def _gives_up(request: Request) -> bool:
    held = sum(request.assigned.values())
    return request.is_fresh or (request.spec.is_divided and held > request.spec.replicas)
