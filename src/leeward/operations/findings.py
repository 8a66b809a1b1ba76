"""A finding: what is wrong with a fleet, or will count soon, in one sentence; and what it is found from.

A finding names what it is about, says what is so and since when, and names the next command where there is one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

import msgspec

from kubeapi.core import Lease
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition, find_condition
from leeward.api.names import EVICTION_HELD_CONDITION, HEARTBEAT_NAME
from leeward.api.work import Binding
from leeward.core.cluster_health.watched_time import ALWAYS, WatchedTime, watched_time_in
from leeward.core.eviction.held_reasons import HOLDS, Hold
from leeward.core.unreadable_objects import UnreadableObject
from leeward.operations.brake import BrakeReading
from leeward.operations.clusters import ClusterRow

NAMED_AT_MOST = 10
"""Findings of one kind that are told one by one; the rest is counted."""


class Severity(Enum):
    NEEDS_SOMEBODY = "NeedsSomebody"
    SOON = "Soon"


class Finding(msgspec.Struct, frozen=True, rename="camel"):
    """`about` is `kind/name` or `kind/namespace/name`; `next` a command, or empty."""

    severity: Severity
    about: str
    sentence: str
    details: tuple[str, ...] = ()
    next: str = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """Observation of a fleet at `now`. `failed_checks` are those of /readyz, by name, with the reason where it was
    told.

    `clusters` is None when they could not be seen. `unreadable` names bindings; why they and others cannot be read say
    `unreadable_objects`. Without `leases_seen`, `leases` that are not there say nothing.
    """

    now: datetime
    clusters: tuple[Cluster, ...] | None = ()
    rows: tuple[ClusterRow, ...] = ()
    bindings: tuple[Binding, ...] = ()
    unreadable: tuple[str, ...] = ()
    unreadable_objects: tuple[UnreadableObject, ...] = ()
    brake: BrakeReading | None = None
    leases: tuple[Lease, ...] = ()
    leases_seen: bool = False
    failed_checks: Mapping[str, str] = field(default_factory=dict[str, str])
    applications: int | None = None
    """Number of all applications, where `bindings` are not all there are."""

    @property
    def watched(self) -> WatchedTime:
        return next(
            (watched_time_in(lease).until(self.now) for lease in self.leases if lease.name == HEARTBEAT_NAME), ALWAYS
        )


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Sorts what needs somebody before what will count soon; else in the order in which they are given."""
    return sorted(findings, key=lambda finding: finding.severity is not Severity.NEEDS_SOMEBODY)


def hold_of(binding: Binding) -> tuple[Hold, Condition] | None:
    """Hold that keeps a due eviction of the binding from happening, and its condition; None where there is none."""
    condition = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION, "True")
    return (HOLDS.get(condition.reason, Hold.HELD), condition) if condition is not None else None


def needs_somebody(about: str, sentence: str, details: tuple[str, ...] = (), next: str = "") -> Finding:
    return Finding(Severity.NEEDS_SOMEBODY, about, sentence, details, next)


def explain_command(binding: Binding) -> str:
    return command_about(binding, "explain")


def command_about(binding: Binding, verb: str) -> str:
    """`leeward explain deployment/web -n payments`"""
    resource = binding.spec.resource
    scope = f" -n {resource.namespace}" if resource.namespace else ""
    return f"leeward {verb} {resource.kind.lower()}/{resource.name}{scope}"


def about_binding(binding: Binding) -> str:
    resource = binding.spec.resource
    return "/".join(filter(None, (resource.kind.lower(), resource.namespace, resource.name)))
