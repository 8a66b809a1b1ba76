"""Status of a control plane and its fleet: one look over a `Client`, as plain values.

Objects that could not be seen are named in `unseen`, and never taken for well.
"""

import re
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, TypeVar

import msgspec

from kubeapi.codec import DecodeError, from_wire
from kubeapi.core import LEASES, Lease
from kubeapi.errors import error_of
from kubeapi.loop import Clock
from kubeclient import Client, NotFound, Unreachable, WorldError
from leeward.api.cluster import Cluster
from leeward.api.names import SYSTEM_NAMESPACE
from leeward.api.resource import CLUSTERS
from leeward.api.schema import CUSTOM_KINDS
from leeward.api.work import Binding
from leeward.core.unreadable_objects import unreadable_object
from leeward.operations.binding_findings import (
    held_evictions,
    hindered,
    not_serving,
    refused,
    service,
    unapplied,
    unplaced_bindings,
    unreadable,
)
from leeward.operations.bindings import find_unreadable, list_bindings, list_manifests
from leeward.operations.brake import BrakeReading, read_brake
from leeward.operations.cluster_findings import (
    dead_clusters,
    doubtful_clusters,
    drains,
    removed_taints,
    replaced_clusters,
    unfenced_clusters,
    vanished_clusters,
)
from leeward.operations.clusters import ORDER, ClusterRow, cluster_row, is_application, unreadable_row
from leeward.operations.control_plane_findings import (
    ROOM_CHECK,
    api_server,
    components,
    engaged_brake,
    is_of_component,
    is_silent,
    never_controlled,
    nobody_watches,
)
from leeward.operations.drain import workload_of
from leeward.operations.findings import Finding, Hold, Observed, hold_of, worst_first
from leeward.operations.sentences import in_moments
from leeward.operations.taints import no_control_plane

T = TypeVar("T")

HEALTH_SECONDS = 5.0
MAX_CHECKS, MAX_REASON = 10, 300
"""Failed checks of the API server whose reasons are asked for, and how many characters of one are shown."""
_SEEN_ALREADY = ("Cluster", "ResourceBinding", "ClusterResourceBinding")
_READ_BESIDE = tuple(each.resource for each in CUSTOM_KINDS if each.resource.kind not in _SEEN_ALREADY)
"""Kinds of which a look only says which objects cannot be read."""
_FAILED_CHECK = re.compile(r"^\[-\]([A-Za-z0-9/_.-]+) failed", re.MULTILINE)


class Found(NamedTuple):
    """Findings of a source, what it could not see this time, and what it never sees here."""

    findings: Sequence[Finding] = ()
    unseen: Sequence[str] = ()
    notes: Sequence[str] = ()


FindingSource = Callable[[Client, datetime], Coroutine[Any, Any, Found]]
"""Finds something that one look at these objects cannot show. Raises: WorldError."""


class HeldEviction(msgspec.Struct, frozen=True, rename="camel"):
    """An eviction that is due and does not happen: `hold` is whether that needs somebody."""

    workload: str
    binding: str
    namespace: str
    hold: Hold
    reason: str
    message: str
    since: datetime | None
    clusters: list[str]


class BrakeStatus(msgspec.Struct, frozen=True, rename="camel"):
    engaged: bool
    overruled: bool
    since: datetime | None
    message: str


class FleetStatus(msgspec.Struct, frozen=True, rename="camel"):
    """`clusters` is None when they could not be seen. `unseen` says what else could not, and why.

    `notes` say what is not looked at here, without anything being wrong. `leading` are the components that renew their
    leases; the processes of `leeward up` need none.
    """

    as_of: datetime
    findings: list[Finding]
    clusters: list[ClusterRow] | None
    brake: BrakeStatus | None
    held: list[HeldEviction]
    applications: int | None
    replicas: int | None
    leading: list[str]
    unseen: list[str]
    notes: list[str] = []


@dataclass(slots=True)
class _Look:
    """One look in the making: `see` gives an answer, or None, and notes why it could not be seen.

    Who has not answered once is not asked again, so that a look takes no longer than one deadline.
    """

    unseen: list[str] = field(default_factory=list[str])
    silent: bool = False

    async def see(self, what: str, asking: Coroutine[Any, Any, T]) -> T | None:
        if self.silent:
            asking.close()
            self.unseen.append(f"{what}: not asked any more")
            return None
        try:
            return await asking
        except WorldError as error:
            self.silent = isinstance(error, Unreachable)
            self.unseen.append(f"{what}: {error}")
            return None


async def look_at_fleet(client: Client, clock: Clock, sources: Sequence[FindingSource] = ()) -> FleetStatus:
    """One look. Raises: OperationFailed where there is no control plane of Leeward or Karmada."""
    look = _Look()
    health = await look.see("the health of the API server", _health(client, clock))
    seen = await look.see("clusters", _clusters(client))
    bindings = await look.see("bindings", list_bindings(client))
    brake = await look.see("the brake", read_brake(client))
    leases = await look.see("the leases of components", _leases(client))
    others = await look.see("objects that cannot be read", find_unreadable(client, _READ_BESIDE))
    clusters, unreadable_rows = seen or ((), [])
    now, failed_checks = health or (clock.now(), {})
    items, unreadable_bindings, unreadable_objects = bindings or ((), (), ())
    rows = [*unreadable_rows, *(cluster_row(cluster, items) for cluster in clusters)]
    rows.sort(key=lambda row: (ORDER[row.state], row.name))
    observed = Observed(
        now,
        clusters if seen else None,
        tuple(rows),
        items,
        unreadable_bindings,
        (*unreadable_objects, *(others or ())),
        brake,
        leases or (),
        leases_seen=leases is not None,
        failed_checks=failed_checks,
    )
    found, notes = findings_of(observed), list[str]()
    for source in sources:
        more = await look.see("what else there is", source(client, now)) or Found()
        found += more.findings
        look.unseen += more.unseen
        notes += more.notes
    state = _status(observed, found, rows if seen is not None else None, bindings is not None, look.unseen)
    return msgspec.structs.replace(state, notes=notes)


def findings_of(observed: Observed) -> list[Finding]:
    """Findings about a fleet, worst first: a pure function of the look."""
    told = worst_first(finding for about in _SOURCES for finding in about(observed))
    return [msgspec.structs.replace(each, sentence=in_moments(each.sentence, observed.now)) for each in told]


_SOURCES: Sequence[Callable[[Observed], Iterable[Finding]]] = (
    service,
    api_server,
    components,
    nobody_watches,
    never_controlled,
    engaged_brake,
    held_evictions,
    dead_clusters,
    replaced_clusters,
    removed_taints,
    vanished_clusters,
    unreadable,
    unplaced_bindings,
    hindered,
    refused,
    unapplied,
    not_serving,
    doubtful_clusters,
    unfenced_clusters,
    drains,
)
"""Sources in the order in which they are told."""


def _status(
    observed: Observed, found: list[Finding], rows: list[ClusterRow] | None, counts: bool, unseen: list[str]
) -> FleetStatus:
    bindings = observed.bindings
    return FleetStatus(
        as_of=observed.now,
        findings=worst_first(found),
        clusters=rows,
        brake=None if observed.brake is None else _brake_status(observed.brake),
        held=[held for binding in filter(is_application, bindings) if (held := _held(binding)) is not None],
        applications=sum(map(is_application, bindings)) if counts else None,
        replicas=sum(target.replicas for b in bindings for target in b.spec.clusters) if counts else None,
        leading=sorted(
            each.name for each in observed.leases if is_of_component(each) and not is_silent(each, observed.now)
        ),
        unseen=unseen,
    )


def _brake_status(reading: BrakeReading) -> BrakeStatus:
    return BrakeStatus(reading.brake.engaged, reading.brake.overruled, reading.brake.since, reading.message)


def _held(binding: Binding) -> HeldEviction | None:
    hold = hold_of(binding)
    if hold is None:
        return None
    meaning, condition = hold
    return HeldEviction(
        workload=workload_of(binding),
        binding=binding.name,
        namespace=binding.namespace,
        hold=meaning,
        reason=condition.reason,
        message=condition.message,
        since=condition.last_transition_time,
        clusters=[target.name for target in binding.spec.clusters],
    )


async def _clusters(client: Client) -> tuple[tuple[Cluster, ...], list[ClusterRow]]:
    """All Clusters, and the rows of those that cannot be read. Raises: OperationFailed, WorldError."""
    try:
        manifests = await list_manifests(client, CLUSTERS)
    except NotFound:
        raise no_control_plane() from None
    clusters, unreadable = list[Cluster](), list[ClusterRow]()
    for manifest in manifests:
        try:
            clusters.append(from_wire(manifest, Cluster))
        except DecodeError as error:
            problem = unreadable_object(manifest, CLUSTERS)
            said = str(error) if problem is None else problem.reason
            unreadable.append(unreadable_row(manifest.get("metadata", {}).get("name", ""), said))
    return tuple(clusters), unreadable


async def _leases(client: Client) -> tuple[Lease, ...]:
    """Leases of the components that are led by one replica each, under Karmada's names. Raises: WorldError."""
    return (await client.list(LEASES, SYSTEM_NAMESPACE)).items


async def _health(client: Client, clock: Clock) -> tuple[datetime, dict[str, str]]:
    """The instant by the server's own clock, and its faults. Raises: WorldError."""
    response = await client.raw("GET", "/readyz", timeout_seconds=HEALTH_SECONDS)
    now = _date_of(response.headers) or clock.now()
    if response.code < 300:
        room = await _reason(client, ROOM_CHECK)
        return now, {ROOM_CHECK: room} if room else {}
    if response.code < 500:
        raise error_of(response.code, response.body)
    text = response.body.decode(errors="replace")
    failed = _FAILED_CHECK.findall(text)[:MAX_CHECKS]
    reasons = {check: await _reason(client, check) for check in failed}
    return now, reasons or {"readyz": text[:MAX_REASON].strip()}


async def _reason(client: Client, check: str) -> str:
    """Reason for which one check fails, where that is told. Raises: WorldError."""
    response = await client.raw("GET", f"/readyz/{check}", timeout_seconds=HEALTH_SECONDS)
    text = response.body.decode(errors="replace")
    return text.removeprefix("internal server error: ")[:MAX_REASON].strip() if response.code >= 500 else ""


def _date_of(headers: Mapping[str, str]) -> datetime | None:
    try:
        return parsedate_to_datetime(headers["date"]).astimezone(UTC)
    except (KeyError, ValueError):
        return None
