"""The steps of the pipeline that look at one cluster after the other: filter, select, divide.

Karmada: pkg/scheduler/core/generic_scheduler.go; same.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from leeward.api.cluster import Cluster
from leeward.api.work import TargetCluster, TargetComponent
from leeward.core.scheduling.affinity import CLUSTER_AFFINITY
from leeward.core.scheduling.assignment import assign
from leeward.core.scheduling.filters import API_ENABLEMENT, CLUSTER_EVICTION, SPREAD_CONSTRAINT, TAINT_TOLERATION
from leeward.core.scheduling.locality import CLUSTER_LOCALITY
from leeward.core.scheduling.model import Candidate, Filter, Placed, Profile, Rejection, Request, Unplaceable
from leeward.core.scheduling.selection import select

DEFAULT_PROFILE = Profile(
    filters=(API_ENABLEMENT, TAINT_TOLERATION, CLUSTER_AFFINITY, SPREAD_CONSTRAINT, CLUSTER_EVICTION),
    scores=(CLUSTER_LOCALITY,),
    estimators=(),
)


def is_feasible(request: Request, cluster: Cluster, profile: Profile = DEFAULT_PROFILE) -> bool:
    """Tells whether the cluster passes all filters, and is not being deleted."""
    return not cluster.is_being_deleted and first_rejection(request, cluster, profile.filters) is None


def first_rejection(request: Request, cluster: Cluster, filters: Iterable[Filter]) -> Rejection | None:
    """Rejection by the first filter that refuses the cluster; None where none does."""
    for plugin in filters:
        reason = plugin.reject(request, cluster)
        if reason is not None:
            return Rejection(plugin.name, reason)
    return None


def reasons_of(rejected: Mapping[str, Rejection]) -> Mapping[str, str]:
    """The reasons by cluster, as a condition tells them."""
    return {name: rejection.reason for name, rejection in rejected.items()}


def finish(
    request: Request, candidates: Sequence[Candidate], rejected: Callable[[], Mapping[str, str]]
) -> Placed | Unplaceable:
    """Selects from the candidates, of which there is at least one, and divides."""
    ranked = sorted(candidates, key=lambda candidate: (not request.keeps(candidate.name), candidate.rank))
    selected = select(request, ranked)
    if request.trace is not None:
        request.trace.note_candidates(ranked)
    if isinstance(selected, Unplaceable):
        return Unplaceable(selected.kind, f"failed to select clusters: {selected.message}", rejected())
    if request.trace is not None:
        request.trace.selected = tuple(candidate.name for candidate in selected)
    targets = _targets(request, selected)
    if isinstance(targets, Unplaceable):
        return not_assigned(targets, rejected())
    return Placed(targets, request.affinity_name)


def not_assigned(failure: Unplaceable, rejected: Mapping[str, str]) -> Unplaceable:
    return Unplaceable(failure.kind, f"failed to assign replicas: {failure.message}", rejected)


def as_they_are(request: Request, names: Iterable[str]) -> tuple[TargetCluster, ...]:
    """The targets of an undivided binding: without replicas, a set with its components."""
    parts = tuple(TargetComponent(component.name, component.replicas) for component in request.spec.components)
    is_set = request.is_set and len(parts) > 1
    return tuple(TargetCluster(name, components=parts if is_set else ()) for name in sorted(names))


def _targets(request: Request, selected: Sequence[Candidate]) -> tuple[TargetCluster, ...] | Unplaceable:
    """Templates without replicas of their own, and those of components, go to all selected clusters as they are."""
    if not request.has_replicas:
        return as_they_are(request, (candidate.name for candidate in selected))
    assigned = assign(request, selected)
    if isinstance(assigned, Unplaceable):
        return assigned
    return tuple(TargetCluster(name, assigned[name]) for name in sorted(assigned))


def fit_message(total: int, rejected: Mapping[str, str]) -> str:
    """Message that none of `total` clusters passes the filters, and why."""
    counted = Counter(rejected.values() if total else ())
    reasons = sorted(f"{count} {reason}" for reason, count in counted.items()) or ["no cluster exists"]
    return f"0/{total} clusters are available: {', '.join(reasons)}."
