"""Findings about bindings: held evictions, no place, a blocked removal, failed overrides, a refusal, useless copies."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from leeward.api.meta import Condition, find_condition
from leeward.api.names import (
    OVERRIDE_FAILED_CONDITION,
    REFUSED_CONDITION,
    REMOVAL_BLOCKED_CONDITION,
    VOLUMES_HELD_CONDITION,
)
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from leeward.api.work import Binding
from leeward.core.copies.evidence import FULLY_APPLIED
from leeward.operations.drain import workload_of
from leeward.operations.findings import (
    NAMED_AT_MOST,
    Finding,
    Hold,
    Observed,
    Severity,
    about_binding,
    hold_of,
    needs_somebody,
)
from leeward.operations.hindrances import HINDRANCES, Hindrance, not_applied, not_progressing, serves_nothing
from leeward.operations.sentences import counted, since

T = TypeVar("T")

NEWLY_REFUSED = timedelta(seconds=30)
"""A copy that a member refuses is given that long: what it needs may be on its way there."""
BECOMES_HEALTHY = timedelta(minutes=5)
"""An application that is applied everywhere is given that long to have a replica ready."""


def held_evictions(observed: Observed) -> Iterator[Finding]:
    holds = ((binding, hold_of(binding)) for binding in observed.bindings)
    held = [(binding, hold[1]) for binding, hold in holds if hold is not None and hold[0] is Hold.HELD]
    yield from _first_few(
        held,
        lambda each: _told(each, "is held", observed.now),
        "more evictions are held",
    )


def unreadable(observed: Observed) -> Iterator[Finding]:
    """Stored objects that cannot be read: how many bindings, then each object with its own way out."""
    if observed.unreadable:
        names = ", ".join(observed.unreadable[:NAMED_AT_MOST])
        yield needs_somebody("bindings", f"{counted(len(observed.unreadable), 'binding')} cannot be read: {names}")
    for found in observed.unreadable_objects:
        yield needs_somebody(found.about, found.sentence, next=found.next)


def unplaced_bindings(observed: Observed) -> Iterator[Finding]:
    """Finds bindings that have nowhere to run. What is held has been told of already."""
    unplaced = [
        (binding, scheduled)
        for binding in observed.bindings
        if (scheduled := find_condition(binding.status.conditions, "Scheduled")) is not None
        and scheduled.status == "False"
        and hold_of(binding) is None
    ]
    yield from _first_few(
        unplaced,
        lambda each: _told(each, "is not placed", observed.now),
        "more are not placed",
    )


def unremoved(observed: Observed) -> Iterator[Finding]:
    """Finds copies that were taken out of a cluster and are still there: finalizers of others keep them, or the cluster
    refuses the deletion."""
    blocked = list(_that_say(observed, REMOVAL_BLOCKED_CONDITION))
    what = HINDRANCES[REMOVAL_BLOCKED_CONDITION]
    yield from _first_few(blocked, lambda each: _told(each, what, observed.now), "more are not removed")


def held_volumes(observed: Observed) -> Iterator[Finding]:
    """Finds what is not made in a cluster that was rebuilt, where its volumes would be empty."""
    held = list(_that_say(observed, VOLUMES_HELD_CONDITION))
    what = HINDRANCES[VOLUMES_HELD_CONDITION]
    yield from _first_few(held, lambda each: _told(each, what, observed.now), "more are held for their volumes")


def not_overridden(observed: Observed) -> Iterator[Finding]:
    """Finds bindings that stay as they were in some cluster, because an override policy cannot be carried out there."""
    failed = list(_that_say(observed, OVERRIDE_FAILED_CONDITION))
    what = HINDRANCES[OVERRIDE_FAILED_CONDITION]
    yield from _first_few(failed, lambda each: _told(each, what, observed.now), "more are not overridden")


def refused(observed: Observed) -> Iterator[Finding]:
    """Bindings that name what they may not name, or Works of others: told by their own names."""

    def told(each: tuple[Binding, Condition]) -> Finding:
        binding, refusal = each
        kind = (RESOURCE_BINDINGS if binding.namespace else CLUSTER_RESOURCE_BINDINGS).kind
        name = "/".join(filter(None, (binding.namespace, binding.name)))
        when = since(refusal.last_transition_time, observed.now)
        said = f"{kind} {name} {HINDRANCES[REFUSED_CONDITION]} ({refusal.reason}){when}"
        return needs_somebody(f"{kind.lower()}/{name}", f"{said}: {refusal.message}", next=_describe_command(binding))

    yield from _first_few(list(_that_say(observed, REFUSED_CONDITION)), told, "more are refused")


def unapplied(observed: Observed) -> Iterator[Finding]:
    """Bindings that a member does not take: the message says why, and the way out."""
    told = [(binding, found) for binding in observed.bindings if (found := not_applied(binding)) is not None]
    yield from _first_few(told, lambda each: _hindered(each, observed.now), "more are not applied")


def not_serving(observed: Observed) -> Iterator[Finding]:
    """Applications of which no replica is ready anywhere, though all of it is applied."""
    down = [binding for binding in observed.bindings if serves_nothing(binding)]
    late = [(binding, found) for binding in down if (found := not_progressing(binding)) is not None]
    yield from _first_few(late, lambda each: _hindered(each, observed.now), "more do not serve")
    applied = ((binding, find_condition(binding.status.conditions, FULLY_APPLIED)) for binding in down)
    waiting = [
        binding
        for binding, condition in applied
        if condition is not None
        and condition.status == "True"
        and condition.last_transition_time is not None
        and observed.now - condition.last_transition_time >= BECOMES_HEALTHY
        and not_progressing(binding) is None
    ]
    yield from _first_few(waiting, _without_a_replica, "more have no replica that is ready")


def _hindered(each: tuple[Binding, Hindrance], now: datetime) -> Finding:
    binding, found = each
    is_new = found.since is not None and now - found.since < NEWLY_REFUSED
    said = f"{workload_of(binding)} {found.what} ({found.reason}){since(found.since, now)}: {found.message}"
    severity = Severity.SOON if is_new else Severity.NEEDS_SOMEBODY
    return Finding(severity, about_binding(binding), said, next=_describe_command(binding))


def _without_a_replica(binding: Binding) -> Finding:
    names = ", ".join(target.name for target in binding.spec.clusters)
    said = f"{workload_of(binding)} is applied in {names}, and no replica of it is ready: look at its Pods there"
    return Finding(Severity.SOON, about_binding(binding), said, next=_describe_command(binding))


def _that_say(observed: Observed, condition_type: str) -> Iterator[tuple[Binding, Condition]]:
    for binding in observed.bindings:
        found = find_condition(binding.status.conditions, condition_type)
        if found is not None and found.status == "True":
            yield binding, found


def _first_few(items: Sequence[T], tell: Callable[[T], Finding], more: str) -> Iterator[Finding]:
    """Each of them while they are few; the first few, and how many there are beyond, when they are many."""
    yield from map(tell, items[:NAMED_AT_MOST])
    if len(items) > NAMED_AT_MOST:
        yield needs_somebody("bindings", f"{len(items) - NAMED_AT_MOST} {more}: leeward status -o json names all")


def _told(each: tuple[Binding, Condition], what: str, now: datetime) -> Finding:
    """`Deployment payments/ledger is held (NoPlaceToGo) since 02:40:17, 1 min: ...`"""
    binding, condition = each
    said = f"{workload_of(binding)} {what} ({condition.reason}){since(condition.last_transition_time, now)}"
    return needs_somebody(
        about_binding(binding), f"{said}: {condition.message or 'no message'}", next=_describe_command(binding)
    )


def _describe_command(binding: Binding) -> str:
    if not binding.namespace:
        return f"kubectl describe {CLUSTER_RESOURCE_BINDINGS.kind.lower()} {binding.name}"
    return f"kubectl describe {RESOURCE_BINDINGS.kind.lower()} {binding.name} -n {binding.namespace}"
