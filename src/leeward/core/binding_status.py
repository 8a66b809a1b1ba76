"""Status of a binding after a decision: the conditions Scheduled, EvictionHeld and ClusterOutage, what was observed.
And conditions of ours on a binding and on its template.

Each part is written only by who decides it: what another process places or holds back is left as it is.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest, format_time, wire_time
from kubeapi.unstructured import list_at, text_at
from leeward.api.meta import Condition, find_condition, put_condition, set_condition
from leeward.api.names import EVICTION_HELD_CONDITION
from leeward.api.work import Binding, ResourceBindingStatus, WorkStatus
from leeward.core.cluster_health.outage import with_report
from leeward.core.execution.unseen import WORKLOADS
from leeward.core.placement import Decision
from leeward.core.scheduling import Placed, Unplaceable, scheduled_condition
from leeward.core.scheduling.conditions import exceeded_condition

S = TypeVar("S", ResourceBindingStatus, WorkStatus)


def status_after(
    status: ResourceBindingStatus, binding: Binding, decision: Decision, now: datetime
) -> ResourceBindingStatus:
    """Status that follows `status` on `binding`, to which the decision has been written.

    The status of `binding` itself may be ahead of `status`, by what waits to be written: that is not forgotten.
    """
    if not decision.foreign_held:
        conditions = _with_hold(status.conditions, decision.held, now)
        status = msgspec.structs.replace(status, conditions=conditions)
    if decision.outage is not None:
        status = with_report(status, decision.outage, now)
    return status if decision.foreign else _scheduling_status(status, binding, decision, now)


def _with_hold(conditions: Sequence[Condition], held: Condition | None, now: datetime) -> Sequence[Condition]:
    """Conditions with the hold of now. It lasts since its reason holds: one hold may follow another."""
    standing = find_condition(conditions, EVICTION_HELD_CONDITION)
    if held is not None and standing is not None and standing.reason != held.reason:
        held = msgspec.structs.replace(held, last_transition_time=wire_time(now))
        return tuple(held if each.type == EVICTION_HELD_CONDITION else each for each in conditions)
    return put_condition(conditions, EVICTION_HELD_CONDITION, held, now)


def _scheduling_status(
    status: ResourceBindingStatus, binding: Binding, decision: Decision, now: datetime
) -> ResourceBindingStatus:
    """Status of the binding's scheduling. A result that stands is a success, also when its report was lost."""
    if decision.quota_refusal:
        return _exceeding_status(status, decision, now)
    generation = binding.metadata.generation
    result = decision.result or Placed(decision.clusters, binding.status.scheduler_observing_affinity_name)
    conditions = set_condition(status.conditions, scheduled_condition(result), now)
    if isinstance(result, Unplaceable):
        return msgspec.structs.replace(status, conditions=conditions)
    is_news = decision.result is not None and status.scheduler_observed_generation != generation
    times = [t for t in (status.last_scheduled_time, binding.status.last_scheduled_time) if t is not None]
    scheduled_at = _done_at(binding, now) if is_news or not times else max(times)
    return msgspec.structs.replace(
        status,
        conditions=conditions,
        scheduler_observing_affinity_name=result.affinity_name,
        scheduler_observed_generation=generation,
        last_scheduled_time=scheduled_at,
    )


def _done_at(binding: Binding, now: datetime) -> datetime:
    """Instant of a scheduling: not before what has asked for it, by whatever clock, so that it is done once (C3)."""
    asked = binding.spec.reschedule_triggered_at
    return max(wire_time(now), asked) if asked is not None else wire_time(now)


def _exceeding_status(status: ResourceBindingStatus, decision: Decision, now: datetime) -> ResourceBindingStatus:
    """Status of a binding whose wish is not scheduled; what there is may have moved to another affinity term."""
    conditions = set_condition(status.conditions, exceeded_condition(decision.quota_refusal), now)
    status = msgspec.structs.replace(status, conditions=conditions)
    if not isinstance(decision.result, Placed):
        return status
    return msgspec.structs.replace(status, scheduler_observing_affinity_name=decision.result.affinity_name)


def tell(status: S, told: Mapping[str, Condition | None], now: datetime) -> S:
    """`status` with these conditions, by type; None: without the one of that type."""
    conditions = status.conditions
    for condition_type, condition in told.items():
        conditions = put_condition(conditions, condition_type, condition, now)
    return msgspec.structs.replace(status, conditions=conditions)


def tell_template(
    template: ReadOnlyManifest, status: ReadOnlyManifest, told: Mapping[str, Condition | None], now: datetime
) -> Manifest:
    """A template's status with these conditions, in the same way, where its kind takes conditions of any type.

    A status that is added up anew has no condition of before: the template has it, with the instant of its last change.
    """
    if (template.get("apiVersion"), template.get("kind")) not in WORKLOADS:
        return dict(status)
    known = {text_at(each, "type"): each for each in list_at(template, "status", "conditions")}
    before: list[Any] = list(list_at(status, "conditions"))
    after = [each for each in before if text_at(each, "type") not in told]
    for each in filter(None, told.values()):
        was = known.get(each.type)
        since = text_at(was, "lastTransitionTime") if text_at(was, "status") == each.status else ""
        said = {"type": each.type, "status": each.status, "reason": each.reason, "message": each.message}
        after.append({**said, "lastTransitionTime": since or format_time(now)})
    if is_equal(after, before):
        return dict(status)
    rest = {name: value for name, value in status.items() if name != "conditions"}
    return {**rest, "conditions": after} if after else rest
