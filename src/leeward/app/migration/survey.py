"""A survey of a control plane before a switch: installed, running and used parts. Writes nothing.

Whether a component runs is seen by whether its Lease is renewed while we look, until it has run out: a clock that is
wrong hides nobody, and who was killed a moment ago holds nothing up for long.

Karmada: artifacts/deploy (webhook configurations, APIService), cmd/*/app (names of the Leases); client-go renews the
Lease of a leader every two seconds.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kubeapi.core import LEASES, Lease
from kubeapi.loop import Clock
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, NotFound
from leeward.api.names import HEARTBEAT_NAME, SETTINGS_ANNOTATION, SYSTEM_NAMESPACE, is_lease_of_agent, is_our_leader
from leeward.api.schema import CUSTOM_KINDS
from leeward.app.front_address import find_front
from leeward.app.install.installing import installed_definitions, is_of_karmada
from leeward.app.install.manifests import definitions
from leeward.app.migration.inventory import Inventory
from leeward.app.migration.karmada_gaps import definition_gaps, features_missing_for
from leeward.app.migration.kinds import API_SERVICES, CLUSTER_MANIFESTS, CLUSTERS_SERVICE
from leeward.core.admission_warnings import asks_for_one_of, warnings_for
from leeward.core.settings_in_force import parse_settings
from leeward.core.unreadable_objects import UnreadableObject, unreadable_object
from leeward.operations.bindings import list_manifests
from leeward.webhook import configurations as webhook

WATCH_SECONDS = 6.0
"""Three times the period in which the leader of a component renews its Lease."""
LONGEST_WATCH_SECONDS, POLL_SECONDS = 60.0, 1.0
"""Seconds of the longest watch, and between two looks: what has not run out after the first is taken for running."""
_GROUP_SUFFIX = ".karmada.io"
_GROUP_SUFFIXES = (_GROUP_SUFFIX, "multicluster.x-k8s.io")
"""Suffixes of the groups of the kinds that Karmada has controllers for."""


@dataclass(frozen=True, slots=True)
class WebhookConfiguration:
    """One webhook configuration, and its kind."""

    resource: Resource[Manifest]
    manifest: Manifest

    @property
    def name(self) -> str:
        return self.manifest["metadata"]["name"]


@dataclass(frozen=True, slots=True)
class RunningComponent:
    """A component that holds the Lease with this name, and renews it."""

    name: str
    is_ours: bool


@dataclass(frozen=True, slots=True)
class Survey:
    """Facts that a switch has to know. `clusters` is None where nobody serves them."""

    clusters_service: Manifest | None = None
    clusters: tuple[Manifest, ...] | None = None
    webhooks: tuple[WebhookConfiguration, ...] = ()
    running: tuple[RunningComponent, ...] = ()
    definitions: tuple[str, ...] = ()
    """Definitions of our kinds that are there; and of these, those that Karmada has installed."""
    karmada_definitions: tuple[str, ...] = ()
    definition_gaps: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Fields and values of ours that these lack, by their names."""
    ignored: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Settings that are stored and would not be carried out, with the objects that ask for them."""
    unreadable: tuple[UnreadableObject, ...] = ()
    """Stored objects that Leeward cannot read."""
    other_kinds: Mapping[str, int] = field(default_factory=dict[str, int])
    """Karmada's kinds that are not Leeward's and have objects, by `plural.group`, with their number."""
    unseen: tuple[str, ...] = ()
    cluster_proxy: str = ""
    """URL at which `leeward cluster-proxy` serves; empty where none has run."""


async def take_survey(client: Client, clock: Clock) -> Survey:
    """Raises: WorldError."""
    inventory = Inventory(client)
    kinds = await inventory.kinds()
    service = await clusters_service(client)
    others = await _other_kinds(inventory, kinds)
    there = await installed_definitions(client)
    karmadas = [name for name, definition in there.items() if is_of_karmada(definition)]
    ours = {definition["metadata"]["name"]: definition for definition in definitions()}
    gaps = {name: tuple(definition_gaps(ours[name], there[name])) for name in karmadas}
    ignored, unreadable = await _looked_into(client, kinds, await _gates(client))
    return Survey(
        clusters_service=service,
        clusters=await served_clusters(client),
        webhooks=tuple(await karmada_webhooks(client)),
        running=await running_components(client, clock),
        definitions=tuple(there),
        karmada_definitions=tuple(karmadas),
        definition_gaps={name: missing for name, missing in gaps.items() if missing},
        ignored=ignored,
        unreadable=unreadable,
        other_kinds=others,
        unseen=tuple(inventory.unseen),
        cluster_proxy=front.url if (front := await find_front(client)) is not None else "",
    )


async def clusters_service(client: Client) -> Manifest | None:
    """The APIService of the Clusters where it names a Service: another server keeps them. Raises: WorldError."""
    try:
        found = await client.get(API_SERVICES, CLUSTERS_SERVICE)
    except NotFound:
        return None
    return found if names_service(found) else None


def names_service(api_service: Manifest) -> bool:
    """Tells whether another server is asked, and not the API server itself."""
    return bool(api_service["spec"].get("service"))


async def served_clusters(client: Client) -> tuple[Manifest, ...] | None:
    """Raises: WorldError, also where the server that keeps them does not answer."""
    try:
        return tuple(await list_manifests(client, CLUSTER_MANIFESTS))
    except NotFound:
        return None


async def karmada_webhooks(client: Client) -> list[WebhookConfiguration]:
    """Configurations with webhooks of Karmada's, by the names that these have. Raises: WorldError."""
    found = list[WebhookConfiguration]()
    for resource in (webhook.MUTATING, webhook.VALIDATING):
        for manifest in await list_manifests(client, resource):
            names = [each.get("name", "") for each in manifest.get("webhooks") or ()]
            if manifest["metadata"]["name"] != webhook.NAME and any(name.endswith(_GROUP_SUFFIX) for name in names):
                found.append(WebhookConfiguration(resource, manifest))
    return found


async def running_components(client: Client, clock: Clock) -> tuple[RunningComponent, ...]:
    """Components that hold and renew a Lease in `karmada-system`. Raises: WorldError.

    It looks until each is renewed, or has run out and was not renewed for `WATCH_SECONDS`.
    """
    first = await _held(client)
    undecided, running = set(first), set[str]()
    begun = clock.monotonic()
    while undecided and clock.monotonic() - begun < LONGEST_WATCH_SECONDS:
        await asyncio.sleep(POLL_SECONDS)
        later = await _held(client)
        renewed = {name for name in undecided & later.keys() if _renewed(later[name]) != _renewed(first[name])}
        running |= renewed
        long = clock.monotonic() - begun >= WATCH_SECONDS
        undecided = {n for n in undecided & later.keys() - renewed if not long or _is_fresh(later[n], clock.now())}
    return tuple(RunningComponent(name, _is_ours(first[name])) for name in sorted(running | undecided))


def _is_ours(lease: Lease) -> bool:
    return lease.name == HEARTBEAT_NAME or is_our_leader(lease.spec.holder_identity)


async def _held(client: Client) -> Mapping[str, Lease]:
    """Leases that components of the control plane hold; agents go on through a switch."""
    found = (await client.list(LEASES, SYSTEM_NAMESPACE)).items
    leases = [each for each in found if not is_lease_of_agent(each.name)]
    return {lease.name: lease for lease in leases if lease.spec.holder_identity or lease.name == HEARTBEAT_NAME}


def _renewed(lease: Lease | None) -> datetime | None:
    return lease.spec.renew_time if lease is not None else None


def _is_fresh(lease: Lease, now: datetime) -> bool:
    renewed, duration = lease.spec.renew_time, timedelta(seconds=lease.spec.lease_duration_seconds or 0)
    return renewed is not None and abs(now - renewed) < duration


async def _other_kinds(inventory: Inventory, kinds: Iterable[Resource[Manifest]]) -> Mapping[str, int]:
    ours = {(kind.resource.group, kind.resource.plural) for kind in CUSTOM_KINDS}
    others = [r for r in kinds if r.group.endswith(_GROUP_SUFFIXES) and (r.group, r.plural) not in ours]
    counts = dict[str, int]()
    async for found in inventory.objects(others):
        name = found.resource.group_resource
        counts[name] = counts.get(name, 0) + 1
    return counts


async def _gates(client: Client) -> tuple[str, ...]:
    """Gates that are on in the control plane that watches the clusters, as its heartbeat tells. Raises: WorldError."""
    try:
        lease = await client.get(LEASES, HEARTBEAT_NAME, SYSTEM_NAMESPACE)
    except NotFound:
        return ()
    return parse_settings(lease.metadata.annotations.get(SETTINGS_ANNOTATION, "{}")).gates_on


async def _looked_into(
    client: Client, kinds: Iterable[Resource[Manifest]], gates: Collection[str]
) -> tuple[Mapping[str, tuple[str, ...]], tuple[UnreadableObject, ...]]:
    """Settings that would not be carried out, with who asks for them; and objects that cannot be read."""
    served = {(resource.group, resource.version, resource.plural) for resource in kinds}
    found, unreadable = dict[str, list[str]](), list[UnreadableObject]()
    for kind in CUSTOM_KINDS:
        resource = kind.resource
        if (resource.group, resource.version, resource.plural) not in served:
            continue
        for manifest in await list_manifests(client, resource):
            missing = (said for said in features_missing_for(manifest) if not asks_for_one_of(said, gates))
            for warning in (*warnings_for(manifest, gates), *missing):
                found.setdefault(warning, []).append(_called(resource, manifest))
            problem = unreadable_object(manifest, resource)
            unreadable += () if problem is None else (problem,)
    return {warning: tuple(names) for warning, names in found.items()}, tuple(unreadable)


def _called(resource: Resource[object], manifest: Manifest) -> str:
    metadata = manifest["metadata"]
    return "/".join(filter(None, (resource.kind.lower(), metadata.get("namespace", ""), metadata["name"])))
