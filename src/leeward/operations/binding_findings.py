"""Findings about bindings: held evictions, no place, a blocked removal, failed overrides, a refusal."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from leeward.api.meta import Condition, find_condition
from leeward.api.names import OVERRIDE_FAILED_CONDITION, REFUSED_CONDITION, REMOVAL_BLOCKED_CONDITION
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from leeward.api.work import Binding
from leeward.operations.drain import workload_of
from leeward.operations.findings import (
    HINDRANCES,
    NAMED_AT_MOST,
    Finding,
    Hold,
    Observed,
    about_binding,
    hold_of,
    needs_somebody,
)
from leeward.operations.sentences import counted, since


def held_evictions(observed: Observed) -> Iterator[Finding]:
    holds = ((binding, hold_of(binding)) for binding in observed.bindings)
    held = [(binding, hold[1]) for binding, hold in holds if hold is not None and hold[0] is Hold.HELD]
    yield from _first_few(
        held,
        lambda each: _told(each, "is held", observed.now),
        "more evictions are held",
    )


def unreadable(observed: Observed) -> Iterator[Finding]:
    if observed.unreadable:
        names = ", ".join(observed.unreadable[:NAMED_AT_MOST])
        yield needs_somebody("bindings", f"{counted(len(observed.unreadable), 'binding')} cannot be read: {names}")


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
    """Finds copies that were taken out of a cluster and are still there, because finalizers of others keep them."""
    blocked = list(_that_say(observed, REMOVAL_BLOCKED_CONDITION))
    what = HINDRANCES[REMOVAL_BLOCKED_CONDITION]
    yield from _first_few(blocked, lambda each: _told(each, what, observed.now), "more are not removed")


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


def _that_say(observed: Observed, condition_type: str) -> Iterator[tuple[Binding, Condition]]:
    for binding in observed.bindings:
        found = find_condition(binding.status.conditions, condition_type)
        if found is not None and found.status == "True":
            yield binding, found


def _first_few(
    items: Sequence[tuple[Binding, Condition]], tell: Callable[[tuple[Binding, Condition]], Finding], more: str
) -> Iterator[Finding]:
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
