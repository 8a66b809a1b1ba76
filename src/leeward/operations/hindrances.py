"""Hindrances of a binding: reasons why it is not carried out, or is of no use where it was.

Some it says itself, by a condition; that a copy is not applied, or that nothing of it serves, say its clusters.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from kubeapi.unstructured import list_at, text_at
from kubeapi.untrusted import mapping_in
from leeward.api.meta import Condition, find_condition
from leeward.api.names import (
    OVERRIDE_FAILED_CONDITION,
    REACHABLE_CONDITION,
    REFUSED_CONDITION,
    REMOVAL_BLOCKED_CONDITION,
    REPLACEMENT_HELD_CONDITION,
    VOLUMES_HELD_CONDITION,
)
from leeward.api.rollout import ROLLOUT_CONDITION
from leeward.api.work import AggregatedStatusItem, Binding
from leeward.core.cluster_health.outage import marks_in
from leeward.core.copies.evidence import FULLY_APPLIED
from leeward.core.execution.held_volumes import HELD
from leeward.core.interpreter import ResourceHealth
from leeward.core.interpreter.workloads import PROGRESS_DEADLINE_EXCEEDED
from leeward.core.rollout.rollout_decision import FOR_PEOPLE

HINDRANCES: Mapping[str, str] = {
    REFUSED_CONDITION: "is refused",
    REPLACEMENT_HELD_CONDITION: "waits for a gate",
    OVERRIDE_FAILED_CONDITION: "is not overridden",
    REMOVAL_BLOCKED_CONDITION: "still has an old copy",
    VOLUMES_HELD_CONDITION: "is not made, for its volumes",
    REACHABLE_CONDITION: "is not reachable",
}
"""Conditions that keep a binding from being carried out, and how each is told; the message says the rest."""

READY_FIELDS = ("readyReplicas", "numberReady")
"""Fields of a status that say how many replicas are ready: of workloads, and of a DaemonSet."""
_SERVING_KINDS = frozenset(("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"))


class Hindrance(NamedTuple):
    """`what` is its verb; `since` is None where nothing says since when."""

    what: str
    reason: str
    message: str
    since: datetime | None


def hindrances_of(binding: Binding) -> Iterator[Hindrance]:
    """Hindrances that last until somebody does something."""
    for condition_type, what in HINDRANCES.items():
        if (told := hindering(binding, condition_type)) is not None:
            yield Hindrance(what, told.reason, told.message, told.last_transition_time)
    for found in (not_applied(binding), not_progressing(binding)):
        if found is not None:
            yield found


def hindering(binding: Binding, condition_type: str) -> Condition | None:
    """The condition of that type where it says that the binding is hindered."""
    status = "False" if condition_type == REACHABLE_CONDITION else "True"
    return find_condition(binding.status.conditions, condition_type, status)


def stopped_rollout(binding: Binding) -> Hindrance | None:
    """Rollout that goes on when a person does something, and not by itself. An outage comes first."""
    found = hindering(binding, ROLLOUT_CONDITION)
    if found is None or found.reason not in FOR_PEOPLE:
        return None
    return Hindrance("is stopped in its rollout", found.reason, found.message, found.last_transition_time)


def not_applied(binding: Binding) -> Hindrance | None:
    """Hindrance by clusters that were seen to refuse its copy. A copy without a message is on its way there; one that
    is not made, for its volumes is told of by its own condition."""
    if not any(map(_is_refused, binding.status.aggregated_status)):
        return None
    items = _present_items(binding)
    refusals = [f"in {name}: {item.applied_message}" for name, item in items.items() if _is_refused(item)]
    if not refusals:
        return None
    applied = find_condition(binding.status.conditions, FULLY_APPLIED, "False")
    since = applied.last_transition_time if applied is not None else None
    return Hindrance("is not applied", "AppliedFailed", "; ".join(refusals), since)


def not_progressing(binding: Binding) -> Hindrance | None:
    """Hindrance where nothing serves, and a cluster's own controller has given its rollout up."""
    late = [item.cluster_name for item in binding.status.aggregated_status if _is_late(item)]
    if not late or not serves_nothing(binding):
        return None
    said = f"no replica is ready, and its rollout makes no progress any more in {', '.join(late)}: look at its Pods"
    return Hindrance("does not serve", PROGRESS_DEADLINE_EXCEEDED, said, None)


def serves_nothing(binding: Binding) -> bool:
    """Tells whether all of a workload is applied, and seen, and nothing of it is ready. An unknown copy may serve."""
    kind = binding.spec.resource.kind
    if not any(_is_down(item, kind) for item in binding.status.aggregated_status):
        return False
    items, names = _present_items(binding), {target.name for target in binding.spec.clusters}
    return bool(names) and names <= items.keys() and all(_is_down(item, kind) for item in items.values())


def _present_items(binding: Binding) -> dict[str, AggregatedStatusItem]:
    """Reports of clusters that are to have it and are seen; what others have said last is of then."""
    items, spec = binding.status.aggregated_status, binding.spec
    wanted = {t.name for targets in (spec.clusters, *(by.clusters for by in spec.required_by)) for t in targets}
    unseen = marks_in(items)
    return {i.cluster_name: i for i in items if i.cluster_name in wanted and i.cluster_name not in unseen}


def _is_refused(item: AggregatedStatusItem) -> bool:
    return not item.applied and bool(item.applied_message) and not item.applied_message.startswith(HELD)


def _is_down(item: AggregatedStatusItem, kind: str) -> bool:
    status = mapping_in({"status": item.status}, "status")
    counts = [status[name] for name in READY_FIELDS if name in status]
    is_counted = bool(counts) or kind in _SERVING_KINDS
    return bool(item.applied) and item.health == ResourceHealth.UNHEALTHY and is_counted and not any(counts)


def _is_late(item: AggregatedStatusItem) -> bool:
    conditions = list_at({"status": item.status}, "status", "conditions")
    return any(text_at(condition, "reason") == PROGRESS_DEADLINE_EXCEEDED for condition in conditions)
