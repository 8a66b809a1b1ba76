"""Findings about bindings: who is down, who serves with fewer, then each reason once with all that share it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from leeward.api.meta import Condition, find_condition
from leeward.api.names import REFUSED_CONDITION
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from leeward.api.work import Binding
from leeward.core.copies.evidence import FULLY_APPLIED
from leeward.core.placement.cause import cause_in
from leeward.operations.applications import ApplicationRow, ServiceLevel, application_row
from leeward.operations.clusters import is_application, is_overfull
from leeward.operations.drain import workload_of
from leeward.operations.findings import (
    NAMED_AT_MOST,
    Finding,
    Hold,
    Observed,
    Severity,
    about_binding,
    explain_command,
    hold_of,
    needs_somebody,
)
from leeward.operations.hindrances import (
    HINDRANCES,
    Hindrance,
    hindering,
    not_applied,
    not_progressing,
    serves_nothing,
    stopped_rollout,
)
from leeward.operations.sentences import counted, since

NEWLY_REFUSED = timedelta(seconds=30)
"""A copy that a member refuses is given that long: what it needs may be on its way there."""
BECOMES_HEALTHY = timedelta(minutes=5)
"""An application that is applied everywhere is given that long to have a replica ready."""


class _Reason(NamedTuple):
    """Reason that several bindings may share: `what` is its verb, of one binding."""

    severity: Severity
    what: str
    reason: str
    message: str


def service(observed: Observed) -> Iterator[Finding]:
    """Applications of which nothing serves, and then those that serve with fewer replicas than wanted."""
    overfull = {cluster.name for cluster in observed.clusters or () if is_overfull(cluster)}
    rows = [(each, application_row(each, None, overfull)) for each in observed.bindings if is_application(each)]
    total = len(rows) if observed.applications is None else observed.applications
    for verdict, one, many in (
        (ServiceLevel.NOBODY, "is down", "are down"),
        (ServiceLevel.FEWER, "serves with fewer replicas than wanted", "serve with fewer replicas than wanted"),
    ):
        found = [(binding, row) for binding, row in rows if row.serving is verdict]
        if found:
            said = f"{len(found)} of {counted(total, 'application')} {one if len(found) == 1 else many}"
            yield needs_somebody("applications", said, tuple(_named(found)))


def _named(found: Sequence[tuple[Binding, ApplicationRow]]) -> Iterator[str]:
    for binding, row in found[:NAMED_AT_MOST]:
        yield f"{workload_of(binding)}, {row.ready} of {row.wanted} ready: `{explain_command(binding)}`"
    if len(found) > NAMED_AT_MOST:
        yield f"and {len(found) - NAMED_AT_MOST} more: leeward status -o json names all"


def held_evictions(observed: Observed) -> Iterator[Finding]:
    holds = ((binding, hold_of(binding)) for binding in observed.bindings)
    held = [(binding, hold[1]) for binding, hold in holds if hold is not None and hold[0] is Hold.HELD]
    yield from _grouped("cannot move", held, observed.now)


def unreadable(observed: Observed) -> Iterator[Finding]:
    """Stored objects that cannot be read: how many bindings, then each object with its own way out."""
    if observed.unreadable:
        names = ", ".join(observed.unreadable[:NAMED_AT_MOST])
        yield needs_somebody("bindings", f"{counted(len(observed.unreadable), 'binding')} cannot be read: {names}")
    for found in observed.unreadable_objects:
        yield needs_somebody(found.about, found.sentence, next=found.next)


def unplaced_bindings(observed: Observed) -> Iterator[Finding]:
    """Finds bindings that have nowhere to run. Held ones have been told of already."""
    unplaced = [
        (binding, scheduled)
        for binding in observed.bindings
        if (scheduled := find_condition(binding.status.conditions, "Scheduled", "False")) is not None
        and hold_of(binding) is None
    ]
    yield from _grouped("is not placed", unplaced, observed.now)


def hindered(observed: Observed) -> Iterator[Finding]:
    """Finds bindings that say themselves that they are hindered; those that are refused are told by their own names.

    A copy that is not removed was taken out of a cluster: finalizers of others keep it, or the cluster refuses."""
    for kind in (each for each in HINDRANCES if each != REFUSED_CONDITION):
        yield from _grouped(HINDRANCES[kind], _that_say(observed, kind), observed.now)
    stopped = ((binding, stopped_rollout(binding)) for binding in observed.bindings)
    yield from _of_hindrances([(binding, hindrance) for binding, hindrance in stopped if hindrance], observed.now)


def refused(observed: Observed) -> Iterator[Finding]:
    """Bindings that name forbidden objects, or Works of others: told by their own names."""
    found = list(_that_say(observed, REFUSED_CONDITION))
    for binding, refusal in found[:NAMED_AT_MOST]:
        kind = (RESOURCE_BINDINGS if binding.namespace else CLUSTER_RESOURCE_BINDINGS).kind
        name = "/".join(filter(None, (binding.namespace, binding.name)))
        when = since(refusal.last_transition_time, observed.now, refusal.reason)
        said = f"{kind} {name} {HINDRANCES[REFUSED_CONDITION]}{when}"
        where = f" -n {binding.namespace}" if binding.namespace else ""
        command = f"leeward explain {kind.lower()}/{binding.name}{where}"
        yield needs_somebody(f"{kind.lower()}/{name}", f"{said}: {refusal.message}", next=command)
    if len(found) > NAMED_AT_MOST:
        more = len(found) - NAMED_AT_MOST
        yield needs_somebody("bindings", f"{more} more are refused: leeward status -o json names all")


def unapplied(observed: Observed) -> Iterator[Finding]:
    """Bindings that a member does not take: the message says why, and the way out."""
    found = ((binding, not_applied(binding)) for binding in observed.bindings)
    yield from _of_hindrances([(binding, hindrance) for binding, hindrance in found if hindrance], observed.now)


def not_serving(observed: Observed) -> Iterator[Finding]:
    """Applications of which no replica is ready anywhere, though all of it is applied."""
    down = [binding for binding in observed.bindings if serves_nothing(binding)]
    late = ((binding, not_progressing(binding)) for binding in down)
    yield from _of_hindrances([(binding, hindrance) for binding, hindrance in late if hindrance], observed.now)
    applied = ((binding, find_condition(binding.status.conditions, FULLY_APPLIED, "True")) for binding in down)
    waiting: list[tuple[Binding, datetime | None]] = [
        (binding, None)
        for binding, condition in applied
        if condition is not None
        and condition.last_transition_time is not None
        and observed.now - condition.last_transition_time >= BECOMES_HEALTHY
        and not_progressing(binding) is None
    ]
    said = "all its clusters have applied it, and no replica is ready: look at its Pods"
    reason = _Reason(Severity.SOON, "does not serve", "NoReplicaReady", said)
    yield from _told({reason: waiting} if waiting else {}, observed.now)


def _of_hindrances(found: Iterable[tuple[Binding, Hindrance]], now: datetime) -> Iterator[Finding]:
    groups = defaultdict[_Reason, list[tuple[Binding, datetime | None]]](list)
    for binding, hindrance in found:
        is_new = hindrance.since is not None and now - hindrance.since < NEWLY_REFUSED
        severity = Severity.SOON if is_new else Severity.NEEDS_SOMEBODY
        reason = _Reason(severity, hindrance.what, hindrance.reason, hindrance.message)
        groups[reason].append((binding, hindrance.since))
    yield from _told(groups, now)


def _that_say(observed: Observed, condition_type: str) -> Iterator[tuple[Binding, Condition]]:
    for binding in observed.bindings:
        if (found := hindering(binding, condition_type)) is not None:
            yield binding, found


def _grouped(what: str, found: Iterable[tuple[Binding, Condition]], now: datetime) -> Iterator[Finding]:
    groups = defaultdict[_Reason, list[tuple[Binding, datetime | None]]](list)
    for binding, condition in found:
        cause = cause_in(condition.reason, condition.message)
        reason = _Reason(Severity.NEEDS_SOMEBODY, what, condition.reason, cause or "no message")
        groups[reason].append((binding, condition.last_transition_time))
    yield from _told(groups, now)


_Groups = dict[_Reason, list[tuple[Binding, datetime | None]]]


def _told(groups: _Groups, now: datetime) -> Iterator[Finding]:
    """One finding for each reason, those that most share first: `Deployment payments/ledger cannot move (NoPlaceToGo,
    since 02:40:17, 1 min ago): ...`, or `3 resources cannot move ...` with their names."""
    in_order = sorted(groups.items(), key=lambda group: -len(group[1]))
    for reason, found in in_order[:NAMED_AT_MOST]:
        (first, _), names = found[0], [workload_of(binding) for binding, _ in found]
        when = since(min((at for _, at in found if at is not None), default=None), now, reason.reason)
        who = f"{names[0]} {reason.what}" if len(found) == 1 else f"{len(found)} resources {_plural(reason.what)}"
        said = f"{who}{when}: {reason.message}"
        more = len(names) - NAMED_AT_MOST
        listed = ", ".join(names[:NAMED_AT_MOST]) + (f", and {more} more" if more > 0 else "")
        about, details = (about_binding(first), ()) if len(found) == 1 else ("bindings", (listed,))
        yield Finding(reason.severity, about, said, details, explain_command(first))
    if rest := sum(len(found) for _, found in in_order[NAMED_AT_MOST:]):
        verb = _plural(in_order[-1][0].what)
        yield needs_somebody("bindings", f"{rest} more {verb} for other reasons: leeward status -o json names all")


def _plural(what: str) -> str:
    """`are not placed` for `is not placed`"""
    return what.replace("is ", "are ", 1) if what.startswith("is ") else what.replace("does ", "do ", 1)
