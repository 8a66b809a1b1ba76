"""Takes a picture of a fleet from any control plane, with GETs only: lists in pages, each request with its deadline.

    read_fleet      all of it, for a file and for questions about the whole fleet
    read_for        what a question about one binding needs: a few requests, whatever the size of the fleet
    read_outages    what a question about outages needs

What cannot be read is named in `unseen`, and is never taken for absent.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TypeVar

import msgspec

from kubeapi.codec import decode
from kubeapi.core import LEASES, Lease
from kubeapi.errors import error_of
from kubeapi.loop import Clock
from kubeapi.meta import Object, ObjectMeta
from kubeclient import Client, NotFound, NotServed
from leeward.answers.fleet_state import API_VERSION, KIND, BindingName, FleetState, RecordedFleet, TemplateMetadata
from leeward.answers.missing_dependencies import DependencyNames
from leeward.answers.picture_reader import PAGE, PictureReader, as_it_is
from leeward.answers.redaction import (
    redacted_binding,
    redacted_cluster,
    redacted_cluster_binding,
    redacted_object,
    redacted_outage,
    redacted_work,
)
from leeward.answers.unreported_replicas import UnreportedReplicas, read_unreported
from leeward.api.names import (
    BINDING_ID_LABEL,
    CLUSTER_BINDING_ID_LABEL,
    HEARTBEAT_NAME,
    SETTINGS_ANNOTATION,
    SYSTEM_NAMESPACE,
)
from leeward.api.outage import ClusterOutage
from leeward.api.policy import ClusterPropagationPolicy
from leeward.api.resource import (
    CLUSTER_PROPAGATION_POLICIES,
    CLUSTER_RESOURCE_BINDINGS,
    CLUSTERS,
    OUTAGES,
    PROPAGATION_POLICIES,
    RESOURCE_BINDINGS,
    WORKS,
)
from leeward.api.work import Binding, BindingResource
from leeward.core.cluster_health.brake import Brake
from leeward.core.cluster_health.watched_time import UNKEPT, Attention, watched_time_in
from leeward.core.settings_in_force import parse_settings
from leeward.operations import OperationFailed
from leeward.operations.brake import read_brake
from leeward.operations.control_plane_findings import is_silent
from leeward.operations.outage_story import is_running
from leeward.operations.taints import no_control_plane
from leeward.runtime.discovery import Discovery
from leeward.runtime.heartbeat import HeartbeatSettings

T = TypeVar("T")
METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
CLOCKS_APART = timedelta(seconds=2)
"""A server whose clock is further from ours is asked for its own time."""


class _PartialMeta(Object, frozen=True):
    continue_: str = msgspec.field(default="", name="continue")


class _PartialObject(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _PartialList(Object, frozen=True):
    metadata: _PartialMeta = _PartialMeta()
    items: tuple[_PartialObject, ...] | None = ()
    """Null where there are none."""


async def read_fleet(client: Client, clock: Clock, name: str = "", *, works: bool = True) -> FleetState:
    """Reads a fleet with its Works, unless nobody asks about copies.

    Raises: OperationFailed where there is no control plane of Leeward or Karmada, Unreachable where none answers.
    """
    reader = PictureReader(client)
    common = await _common(reader, clock, name)
    bindings, wide = await reader.bindings()
    names = DependencyNames((*bindings, *wide))
    found = await reader.see("Works", reader.all(WORKS, names.keep), ()) if works else ()
    templates = await _templates(reader, [binding.spec.resource for binding in (*bindings, *wide)])
    recorded = msgspec.structs.replace(
        common,
        policies=await reader.see("policies", reader.all(PROPAGATION_POLICIES, redacted_object), ()),
        cluster_policies=await _cluster_policies(reader),
        bindings=bindings,
        cluster_bindings=wide,
        works=found,
        templates=templates,
        outages=await reader.see("outages", _outages(reader), ()),
        needs=names.needs,
        unseen=tuple(reader.unseen),
    )
    return FleetState(recorded)


async def _cluster_policies(reader: PictureReader) -> tuple[ClusterPropagationPolicy, ...]:
    return await reader.see("cluster policies", reader.all(CLUSTER_PROPAGATION_POLICIES, redacted_object), ())


async def read_for(client: Client, clock: Clock, key: BindingName, name: str = "") -> FleetState:
    """The clusters, one binding with its Works, the policies that may claim its template, and the bindings that were
    given room which is not reported yet. Where no admission gives a binding its identity, all Works are asked for.

    Raises: NotFound where there is no such binding, OperationFailed, Unreachable.
    """
    reader = PictureReader(client)
    common = await _common(reader, clock, name)
    binding: Binding
    if key.namespace:
        binding = redacted_binding(await client.get(RESOURCE_BINDINGS, key.name, key.namespace), messages=True)
        label = BINDING_ID_LABEL
    else:
        binding = redacted_cluster_binding(await client.get(CLUSTER_RESOURCE_BINDINGS, key.name), messages=True)
        label = CLUSTER_BINDING_ID_LABEL
    names = DependencyNames([binding], messages=True)
    identity = binding.metadata.labels.get(label, "")
    selector = f"{label}={identity}" if identity else ""
    works = await reader.see("Works", reader.all(WORKS, names.keep, label_selector=selector), ())
    local = reader.all(PROPAGATION_POLICIES, redacted_object, key.namespace)
    recorded = msgspec.structs.replace(
        common,
        policies=await reader.see("policies", local, ()),
        cluster_policies=await _cluster_policies(reader),
        works=works,
        needs=names.needs,
        templates=await _templates(reader, [binding.spec.resource]),
    )
    others = await reader.see("what other bindings were given", read_unreported(client, key), UnreportedReplicas())
    if others.more:
        reader.unseen.append(f"what {others.more} more bindings were given")
    local_bindings = map(redacted_binding, others.bindings)
    wide_bindings = map(redacted_cluster_binding, others.cluster_bindings)
    recorded = msgspec.structs.replace(
        recorded,
        bindings=(*((binding,) if key.namespace else ()), *local_bindings),
        cluster_bindings=(*(() if key.namespace else (binding,)), *wide_bindings),
        unseen=tuple(reader.unseen),
    )
    return FleetState(recorded)


async def read_outages(client: Client, clock: Clock, name: str = "") -> FleetState:
    """The clusters, their outages, and the bindings, which remember rollouts; while an outage is running, also Works.

    Raises: OperationFailed where there is no control plane, or none that keeps outages; WorldError.
    """
    reader = PictureReader(client, messages=True)
    common = await _common(reader, clock, name)
    try:
        outages = await reader.all(OUTAGES, as_it_is)
    except NotServed:
        raise OperationFailed(
            "this control plane keeps no outages: the kind Outage comes with `leeward init`, and Leeward's controllers "
            "write them"
        ) from None
    bindings, wide = await reader.bindings()
    recorded = msgspec.structs.replace(common, outages=outages, bindings=bindings, cluster_bindings=wide)
    if any(is_running(outage) for outage in outages):
        works = await reader.see("Works", reader.all(WORKS, partial(redacted_work, messages=True)), ())
        recorded = msgspec.structs.replace(recorded, works=works)
    return FleetState(msgspec.structs.replace(recorded, unseen=tuple(reader.unseen)))


async def _outages(reader: PictureReader) -> tuple[ClusterOutage, ...]:
    """None where the kind is not served, as on a control plane of Karmada's. Raises: WorldError."""
    try:
        return await reader.all(OUTAGES, redacted_outage)
    except NotServed:
        return ()


async def _common(reader: PictureReader, clock: Clock, name: str) -> RecordedFleet:
    """Reads what every question needs: the clusters, the brake, and who watches."""
    try:
        clusters = await reader.all(CLUSTERS, redacted_cluster)
    except NotFound:
        raise no_control_plane() from None
    now = await _now(reader.client, clock)
    reading = await reader.see("the brake", read_brake(reader.client), None)
    lease = await reader.see("the heartbeat", _heartbeat(reader.client), None)
    settings = "" if lease is None else lease.metadata.annotations.get(SETTINGS_ANNOTATION, "")
    return RecordedFleet(
        api_version=API_VERSION,
        kind=KIND,
        control_plane=name,
        as_of=now,
        clusters=clusters,
        brake=Brake() if reading is None else reading.brake,
        attention=UNKEPT if lease is None else attention_of(lease, now),
        unwatched_since=lease.spec.renew_time if lease is not None and is_silent(lease, now) else None,
        settings=parse_settings(settings),
    )


async def _now(client: Client, clock: Clock) -> datetime:
    """Instant by our clock, or by the server's where they are far apart. Raises: WorldError."""
    response, ours = await client.raw("GET", "/version"), clock.now()
    try:
        theirs = parsedate_to_datetime(response.headers["date"]).astimezone(UTC)
    except (KeyError, ValueError):
        return ours
    return ours if abs(theirs - ours) <= CLOCKS_APART else theirs


async def _heartbeat(client: Client) -> Lease | None:
    """None where none is kept. Raises: WorldError."""
    try:
        return await client.get(LEASES, HEARTBEAT_NAME, SYSTEM_NAMESPACE)
    except NotFound:
        return None


def attention_of(lease: Lease, now: datetime) -> Attention:
    """Attention at `now`, by which clusters are believed, as in `runtime.heartbeat`; a released heartbeat is none."""
    spec, longest = lease.spec, timedelta(seconds=lease.spec.lease_duration_seconds or 0)
    if not spec.holder_identity:
        return UNKEPT
    time = watched_time_in(lease).until(now)
    is_now = spec.renew_time is not None and now - spec.renew_time <= longest
    settled = timedelta(seconds=HeartbeatSettings().settle_seconds)
    return Attention(time, spec.holder_identity, is_now, spec.acquire_time and spec.acquire_time + settled)


async def _templates(reader: PictureReader, resources: Sequence[BindingResource]) -> tuple[TemplateMetadata, ...]:
    """The metadata of these templates; their contents are not asked for."""
    wanted = {(r.api_version, r.kind, r.namespace, r.name) for r in resources}
    discovery, found = Discovery(reader.client), list[TemplateMetadata]()
    one = resources[0] if len(resources) == 1 else None
    for api_version, kind in sorted({(resource.api_version, resource.kind) for resource in resources}):
        seen = _of_kind(reader.client, discovery, api_version, kind, one)
        found += await reader.see(f"templates of kind {kind}", seen, [])
    return tuple(t for t in found if (t.api_version, t.kind, t.namespace, t.name) in wanted)


async def _of_kind(
    client: Client, discovery: Discovery, api_version: str, kind: str, one: BindingResource | None
) -> list[TemplateMetadata]:
    """All objects of the kind, or just `one`. Raises: WorldError."""
    resource, found, token = await discovery.resource(api_version, kind), list[TemplateMetadata](), ""
    path = resource.path(one.namespace if one is not None else "")
    only = {"fieldSelector": f"metadata.name={one.name}"} if one is not None else {}
    while True:
        query = {**only, "limit": str(PAGE), **({"continue": token} if token else {})}
        response = await client.raw("GET", path, accept=METADATA, query=query)
        if response.code >= 400:
            raise error_of(response.code, response.body)
        page = decode(response.body, _PartialList)
        for each in page.items or ():
            at = each.metadata
            found.append(
                TemplateMetadata(
                    api_version=api_version, kind=kind, name=at.name, namespace=at.namespace, labels=at.labels
                )
            )
        token = page.metadata.continue_
        if not token:
            return found
