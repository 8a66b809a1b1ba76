"""An application in one row: its state as one word, where it runs, since when, and what comes next.

All of it is what its binding says by now: conditions, eviction tasks, marks of clusters that are not seen. Nothing is
decided anew, so that ten thousand of them are told at once; `leeward explain` asks about one of them.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from enum import Enum

import msgspec

from kubeapi.untrusted import mapping_in
from leeward.api.meta import find_condition
from leeward.api.names import (
    CLUSTER_OUTAGE_CONDITION,
    CLUSTER_POLICY_NAME_ANNOTATION,
    POLICY_NAME_ANNOTATION,
    POLICY_NAMESPACE_ANNOTATION,
)
from leeward.api.outage import MoveState, OutageApplication
from leeward.api.work import AggregatedStatusItem, Binding
from leeward.core.cluster_health.outage import Outcome, departures_in, marks_in
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.placement.cause import cause_in
from leeward.operations.clusters import is_application
from leeward.operations.findings import Hold, hold_of
from leeward.operations.hindrances import READY_FIELDS, hindrances_of, stopped_rollout


class RowState(Enum):
    """Worst first: the first three need somebody."""

    HELD = "Held"
    NOT_PLACED = "NotPlaced"
    HINDERED = "Hindered"
    MOVING = "Moving"
    DUE = "Due"
    UNDECIDED = "Undecided"
    WAITING = "Waiting"
    KEPT = "Kept"
    MOVED = "Moved"
    IN_PLACE = "InPlace"


class ServiceLevel(Enum):
    """Service of an application, worst first. `STARTING`: not all of it is ready yet, and nothing is known to hinder
    it. `UNKNOWN`: nothing tells whether all of its copies serve, since nobody judges its kind."""

    NOBODY = "Nobody"
    FEWER = "Fewer"
    STARTING = "Starting"
    UNKNOWN = "Unknown"
    WHOLE = "Whole"


NEEDS_SOMEBODY = frozenset((RowState.HELD, RowState.NOT_PLACED, RowState.HINDERED))
SETTLED = frozenset((RowState.MOVED, RowState.IN_PLACE))
"""States in which an application that is not whole only starts."""

WAITS_FOR: Mapping[str, str] = {
    HeldReason.BRAKE_ENGAGED: "waits until the clusters are back, or until `leeward brake release`",
    HeldReason.DECISION_REFUSED: "waits for another decision: this one was refused",
    HeldReason.NO_PLACE_TO_GO: "waits for free capacity",
    HeldReason.NOT_CONFIRMED: "waits until its cluster has been looked at again",
    HeldReason.REPLACEMENT_MISSING: "waits for a replacement",
    HeldReason.RUN_UNDER_WAY: "waits until its run has ended",
    HeldReason.STATE_NOT_PRESERVED: "waits until its state can be preserved",
    HeldReason.UNHEALTHY_EVERYWHERE: "waits for a place where it becomes healthy",
    HeldReason.WAITING_FOR_PURGE: "waits until the old copy is gone",
    HeldReason.WAITING_FOR_TURN: "waits for its turn",
}
"""Words for what ends a hold that has no instant, by its reason."""


class CopyPlace(msgspec.Struct, frozen=True, rename="camel"):
    """A cluster that has the application, or is being left. `ready` is None where it is not known."""

    cluster: str
    replicas: int
    ready: int | None = None
    seen: bool = True
    leaving: bool = False


class ApplicationRow(msgspec.Struct, frozen=True, rename="camel"):
    """`ready` are known to serve of `wanted`, and `serving` is the verdict on it. `next` is what comes, at `next_at`
    where an instant is known. `message` is the cause, without the scheduler's text.

    `outage` is the Outage that has made it what it is, `policy` the policy that claims it, as `NAMESPACE/NAME`.
    """

    kind: str
    namespace: str
    name: str
    state: RowState
    ready: int
    wanted: int
    where: list[CopyPlace]
    since: datetime | None = None
    next: str = ""
    next_at: datetime | None = None
    reason: str = ""
    message: str = ""
    outage: str = ""
    serving: ServiceLevel = ServiceLevel.WHOLE
    policy: str = ""

    @property
    def needs_somebody(self) -> bool:
        return self.state in NEEDS_SOMEBODY


class OutageOf(msgspec.Struct, frozen=True):
    """Application as an Outage, by its name, tells of it."""

    outage: str
    application: OutageApplication


def application_key(binding: Binding) -> str:
    """`payments/Deployment/ledger`: how a page names it."""
    resource = binding.spec.resource
    return f"{resource.namespace}/{resource.kind}/{resource.name}"


def is_listed(binding: Binding, row: ApplicationRow) -> bool:
    """Applications are; of what only belongs to them, what is not in its place."""
    return is_application(binding) or row.state is not RowState.IN_PLACE


def application_row(binding: Binding, known: OutageOf | None = None, overfull: Collection[str] = ()) -> ApplicationRow:
    """`known` is its part in an outage that still matters. Pods wait for a node in clusters that are `overfull`."""
    spec, places = binding.spec, list(_places(binding))
    state, since, next_at, sentence, reason, message = _standing(binding, known)
    resource = spec.resource
    return ApplicationRow(
        kind=resource.kind,
        namespace=resource.namespace,
        name=resource.name,
        state=state,
        ready=sum(place.ready or 0 for place in places),
        wanted=_wanted(binding),
        where=sorted(places, key=lambda place: (-place.replicas, place.cluster)),
        since=since,
        next=sentence,
        next_at=next_at,
        reason=reason,
        message=message,
        outage="" if known is None else known.outage,
        serving=_serving(binding, state, overfull),
        policy=_policy(binding.metadata.annotations),
    )


def _policy(annotations: Mapping[str, str]) -> str:
    name = annotations.get(POLICY_NAME_ANNOTATION, "")
    if not name:
        return annotations.get(CLUSTER_POLICY_NAME_ANNOTATION, "")
    return f"{annotations.get(POLICY_NAMESPACE_ANNOTATION, '')}/{name}"


def _wanted(binding: Binding) -> int:
    spec = binding.spec
    if spec.is_divided:
        return spec.replicas
    return sum(max(1, target.replicas) for target in spec.clusters) or max(1, spec.replicas)


def _serving(binding: Binding, state: RowState, overfull: Collection[str]) -> ServiceLevel:
    """Verdict on an application: a copy in a cluster that is down serves nobody. One of which nothing is told serves,
    as does one in a cluster that only could not be looked into.

    A copy that is kept by choice is not missed while another one serves, unless replicas are divided."""
    spec = binding.spec
    if not is_application(binding) or spec.asks_for_none:
        return ServiceLevel.WHOLE
    items = {item.cluster_name: item for item in binding.status.aggregated_status}
    outage = find_condition(binding.status.conditions, CLUSTER_OUTAGE_CONDITION)
    is_lost = outage is None or outage.reason != Outcome.NOT_COLLECTED
    unseen = marks_in(binding.status.aggregated_status) if is_lost else {}
    sizes = {task.from_cluster: 0 for task in spec.graceful_eviction_tasks}
    sizes |= {target.name: target.replicas if spec.is_divided else max(1, target.replicas) for target in spec.clusters}
    served = {name: _serves_in(items.get(name), size) for name, size in sizes.items() if name not in unseen}
    serves, waits = sum(served.values()), any(name in overfull and n < sizes[name] for name, n in served.items())
    unjudged = any(name not in unseen and _is_unjudged(items.get(name)) for name in sizes)
    whole = ServiceLevel.UNKNOWN if unjudged else ServiceLevel.WHOLE
    if serves >= _wanted(binding):
        return whole
    if state in SETTLED and not waits:
        return ServiceLevel.STARTING
    is_kept = state is RowState.KEPT or (outage is not None and outage.reason == Outcome.HELD)
    if is_kept and serves and not spec.is_divided:
        return whole
    return ServiceLevel.FEWER if serves else ServiceLevel.NOBODY


def _serves_in(item: AggregatedStatusItem | None, size: int) -> int:
    """Replicas that serve in a cluster that is seen; of a kind without a figure, all or none."""
    status = mapping_in({"status": item.status}, "status") if item is not None else {}
    if item is None or not any(field in status for field in READY_FIELDS):
        return 0 if item is not None and item.health == "Unhealthy" else size
    ready = _ready_in(item) or 0
    return min(ready, size) if size else ready


def _is_unjudged(item: AggregatedStatusItem | None) -> bool:
    """Tells whether a copy is told of, and nothing says whether it serves."""
    return item is not None and item.health == "Unknown" and _ready_in(item) is None


_OUTCOMES: Mapping[str, RowState] = {
    Outcome.EVICTION: RowState.DUE,
    Outcome.HELD: RowState.UNDECIDED,
    Outcome.UNDECIDED: RowState.UNDECIDED,
}
_Standing = tuple[RowState, datetime | None, datetime | None, str, str, str]
"""State, since when, the next instant and what comes then, reason and message."""


def _standing(binding: Binding, known: OutageOf | None) -> _Standing:
    hold = hold_of(binding)
    if hold is not None:
        meaning, condition = hold
        state = {Hold.HELD: RowState.HELD, Hold.KEPT: RowState.KEPT, Hold.WAITING: RowState.WAITING}[meaning]
        waits = WAITS_FOR.get(condition.reason, "" if meaning is Hold.KEPT else "waits")
        cause = cause_in(condition.reason, condition.message)
        return state, condition.last_transition_time, None, waits, condition.reason, cause
    if (scheduled := find_condition(binding.status.conditions, "Scheduled", "False")) is not None:
        at, reason = scheduled.last_transition_time, scheduled.reason
        return RowState.NOT_PLACED, at, None, "waits for a place", reason, cause_in(reason, scheduled.message)
    for hindrance in hindrances_of(binding):
        said = cause_in(hindrance.reason, f"the application {hindrance.what}: {hindrance.message}")
        return RowState.HINDERED, hindrance.since, None, "", hindrance.reason, said
    if (outage := _in_an_outage(binding)) is not None:
        return outage
    if (stopped := stopped_rollout(binding)) is not None:
        said = f"the application {stopped.what}: {stopped.message}"
        return RowState.HINDERED, stopped.since, None, "", stopped.reason, said
    return _after_an_outage(binding, known)


def _in_an_outage(binding: Binding) -> _Standing | None:
    tasks = [task for task in binding.spec.graceful_eviction_tasks if not task.suppress_deletion]
    items = binding.status.aggregated_status
    if tasks:
        begun = min((task.creation_timestamp for task in tasks if task.creation_timestamp), default=None)
        left = ", ".join(sorted(task.from_cluster for task in tasks))
        waits = f"leaves {left} when its replacement is healthy"
        return RowState.MOVING, begun, None, waits, tasks[0].reason, tasks[0].message
    condition = find_condition(binding.status.conditions, CLUSTER_OUTAGE_CONDITION, "True")
    if condition is None:
        return None
    unseen, leaving = marks_in(items), departures_in(items)
    since = min(unseen.values(), default=condition.last_transition_time)
    if condition.reason == Outcome.EVICTION and leaving:
        at = min(leaving.values())
        names = ", ".join(sorted(name for name, instant in leaving.items() if instant == at))
        return RowState.DUE, since, at, f"leaves {names}", condition.reason, condition.message
    state = _OUTCOMES.get(condition.reason, RowState.KEPT)
    stays = "cannot move" if condition.reason == Outcome.HELD else ""
    return state, since, None, stays, condition.reason, condition.message


def _after_an_outage(binding: Binding, known: OutageOf | None) -> _Standing:
    if known is not None and known.application.state is MoveState.MOVED:
        to = ", ".join(f"{name}:{number}" for name, number in known.application.to.items())
        return RowState.MOVED, known.application.healthy_at, None, "", "", f"to {to}" if to else ""
    return RowState.IN_PLACE, binding.status.last_scheduled_time, None, "", "", ""


def _places(binding: Binding) -> Iterator[CopyPlace]:
    items = {item.cluster_name: item for item in binding.status.aggregated_status}
    unseen = marks_in(binding.status.aggregated_status)
    left = {task.from_cluster for task in binding.spec.graceful_eviction_tasks}
    targets = {target.name: target.replicas for target in binding.spec.clusters}
    for name in dict.fromkeys((*targets, *sorted(left))):
        is_seen = name not in unseen
        ready = _ready_in(items.get(name)) if is_seen else None
        yield CopyPlace(name, targets.get(name, 0), ready, is_seen, name in left)


def _ready_in(item: AggregatedStatusItem | None) -> int | None:
    """Number of ready replicas as the status tells it; of a kind without such a figure, one where it is healthy."""
    if item is None:
        return None
    status = mapping_in({"status": item.status}, "status")
    for field in READY_FIELDS:
        value = status.get(field)
        if isinstance(value, int) and not isinstance(value, bool):
            return max(0, value)
    return {"Healthy": 1, "Unhealthy": 0}.get(item.health)
