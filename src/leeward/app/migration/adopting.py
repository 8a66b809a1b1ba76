"""`leeward adopt`: the steps by which Leeward takes over a control plane that Karmada has run.

Each step says what it does, and does nothing where it has been done: a switch that was interrupted is begun again, and
goes on. Before anything is taken away it stands in the record. Nothing is started here.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from controller_runtime import delete_seen
from kubeapi.loop import Clock
from kubeclient import Client, NotFound
from leeward.app.install.installing import install_kinds, install_rights
from leeward.app.install.manifests import rights
from leeward.app.local import FleetError
from leeward.app.migration.cluster_storage import current, serve_from_definition, write_all
from leeward.app.migration.dependents import attach, detach, find_dependents
from leeward.app.migration.inventory import Inventory
from leeward.app.migration.kinds import CLUSTER_MANIFESTS
from leeward.app.migration.record import (
    ClusterRecord,
    KeptObject,
    SwitchRecord,
    read_clusters,
    read_record,
    with_lost,
    write_cluster,
    write_record,
)
from leeward.app.migration.review import Remark, refusals, review
from leeward.app.migration.survey import Survey, karmada_webhooks, running_components, take_survey
from leeward.operations.bindings import list_manifests

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SwitchPlan:
    """`remarks` tell the coming changes; `resumed`: the record of a switch that was begun before."""

    survey: Survey
    remarks: tuple[Remark, ...]
    resumed: SwitchRecord | None


async def plan(client: Client, clock: Clock) -> SwitchPlan:
    """Looks, and writes nothing. Raises: WorldError, FleetError."""
    survey, record = await take_survey(client, clock), await read_record(client)
    is_adopted = record is not None and record.adopted_at is not None
    return SwitchPlan(survey, tuple(review(survey, adopted=is_adopted)), record)


async def adopt(client: Client, clock: Clock, tell: Tell) -> None:
    """Raises: WorldError; FleetError with the obstacles.

    Can be repeated: what of Karmada's has come back since is taken away again. Its operator may have put it there.
    """
    planned = await plan(client, clock)
    if refused := refusals(planned.remarks):
        raise FleetError("; ".join(f"{remark.sentence} ({remark.next})" for remark in refused))
    if planned.resumed is not None and planned.resumed.adopted_at is not None:
        await _adopt_again(client, planned.survey, planned.resumed, tell)
        return
    tell("writing down what is there")
    record = await _write_down(client, clock, planned.survey, planned.resumed)
    await _take_webhooks_away(client, record, tell)
    tell("installing the kinds that are missing, and Leeward's rights")
    await install_kinds(client)
    if record.clusters_service is not None:
        await _move_clusters(client, record, tell)
    await install_rights(client)
    if running := await running_components(client, clock):
        names = ", ".join(each.name for each in running)
        raise FleetError(f"{names} began to run meanwhile: stop it, and run `leeward adopt` again")
    await write_record(client, msgspec.structs.replace(record, adopted_at=clock.now()))


async def _write_down(client: Client, clock: Clock, survey: Survey, resumed: SwitchRecord | None) -> SwitchRecord:
    """The record of the whole is written last: with it the switch has begun.

    One that was begun before is brought up to date: Karmada may have run meanwhile. What it has found and taken away
    stays in it.
    """
    clusters = await read_clusters(client, resumed) if resumed is not None else []
    if survey.clusters_service is not None:
        clusters = await _clusters_now(client, clusters)
    for cluster in clusters:
        await write_cluster(client, cluster)
    service = survey.clusters_service or (resumed.clusters_service if resumed else None)
    record = SwitchRecord(
        started_at=resumed.started_at if resumed else clock.now(),
        clusters_service=service,
        webhooks=_webhooks_to_keep(survey, resumed.webhooks if resumed else ()),
        rights=resumed.rights if resumed else tuple(await _rights_there(client)),
        definitions=resumed.definitions if resumed else survey.definitions,
        clusters=tuple(cluster.name for cluster in clusters),
    )
    await write_record(client, record)
    return record


def _webhooks_to_keep(survey: Survey, known: Sequence[KeptObject]) -> tuple[KeptObject, ...]:
    """Webhook configurations that are there, as they are now, and those that were there before."""
    present = [KeptObject(each.resource.api_version, each.resource.plural, each.manifest) for each in survey.webhooks]
    names = {(each.plural, each.manifest["metadata"]["name"]) for each in present}
    return (*present, *(each for each in known if (each.plural, each.manifest["metadata"]["name"]) not in names))


async def _adopt_again(client: Client, survey: Survey, record: SwitchRecord, tell: Tell) -> None:
    """Raises: FleetError where nothing of Karmada's has come back."""
    if not survey.webhooks and survey.clusters_service is None:
        raise FleetError(
            f"adopted already, at {record.adopted_at:%Y-%m-%d %H:%M:%S}Z: run `leeward serve`, or `leeward hand-back`"
        )
    service = survey.clusters_service or record.clusters_service
    webhooks = _webhooks_to_keep(survey, record.webhooks)
    record = msgspec.structs.replace(record, webhooks=webhooks, clusters_service=service)
    await write_record(client, record)
    await _take_webhooks_away(client, record, tell)
    if survey.clusters_service is not None:
        tell("taking the APIService of the Clusters away again")
        await serve_from_definition(client, [each["metadata"]["uid"] for each in survey.clusters or ()])
        tell("putting the references to the Clusters in order")
        served = await current(client)
        for dependents in (await find_dependents(Inventory(client))).values():
            for each in dependents:
                if each.reference.name in served:
                    await attach(client, [each], served[each.reference.name]["metadata"]["uid"])


async def _clusters_now(client: Client, known: Sequence[ClusterRecord]) -> list[ClusterRecord]:
    """Clusters as Karmada's server shows them, with what belongs to them, also where that was taken away by a try
    before."""
    dependents, before = await find_dependents(Inventory(client)), {cluster.name: cluster for cluster in known}
    clusters = list[ClusterRecord]()
    for manifest in await list_manifests(client, CLUSTER_MANIFESTS):
        name, uid = manifest["metadata"]["name"], manifest["metadata"]["uid"]
        mine = with_lost(dependents.get(uid, ()), before.get(name))
        clusters.append(ClusterRecord(name, before=manifest, dependents=mine))
    return clusters


async def _rights_there(client: Client) -> list[KeptObject]:
    """Roles and bindings of roles under the names of ours, over which the installation writes."""
    found = list[KeptObject]()
    for resource, namespace, manifest in rights():
        with suppress(NotFound):
            there = await client.get(resource, manifest["metadata"]["name"], namespace)
            found.append(KeptObject(resource.api_version, resource.plural, there))
    return found


async def _take_webhooks_away(client: Client, record: SwitchRecord, tell: Tell) -> None:
    """Raises: FleetError for one that is not in the record: somebody puts them there."""
    recorded = {kept.manifest["metadata"]["uid"] for kept in record.webhooks}
    for configured in await karmada_webhooks(client):
        if configured.manifest["metadata"]["uid"] not in recorded:
            raise FleetError(f"{configured.name} has just been written: stop who does, and run `leeward adopt` again")
        tell(f"taking away {configured.resource.kind} {configured.name}")
        await delete_seen(client, configured.resource, configured.name, uid=configured.manifest["metadata"]["uid"])


async def _move_clusters(client: Client, record: SwitchRecord, tell: Tell) -> None:
    """Moves the Clusters in the order in which nothing belongs to a uid that is no more, at any time."""
    clusters = await read_clusters(client, record)
    before = [cluster.before for cluster in clusters if cluster.before is not None]
    tell("taking the references to the Clusters away from what belongs to them")
    for cluster in clusters:
        await detach(client, cluster.dependents)
    tell(f"moving {len(clusters)} Clusters")
    left = [manifest["metadata"]["uid"] for manifest in before]
    await serve_from_definition(client, left)
    written = await write_all(client, before, with_marks=True, left=left)
    tell("putting the references back")
    for cluster in clusters:
        await attach(client, cluster.dependents, written[cluster.name]["metadata"]["uid"])
