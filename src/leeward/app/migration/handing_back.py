"""`leeward hand-back`: the steps by which Karmada gets back a control plane that Leeward has adopted.

The Clusters come first, as long as all of ours is still there; where Karmada's aggregated API server does not answer,
nothing has changed. What Leeward has written is taken away last. Karmada's kinds and all objects of theirs stay.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import msgspec

from controller_runtime import delete_seen, key_of
from kubeapi.core import LEASES
from kubeapi.loop import Clock
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import AlreadyExists, Client, Conflict, NotFound, NotServed, WorldError
from leeward.api.names import BRAKE_NAME, HEARTBEAT_NAME, SHARD_LEASE_PREFIX, SYSTEM_NAMESPACE
from leeward.api.resource import CLUSTERS, OUTAGES
from leeward.api.schema import CUSTOM_KINDS
from leeward.app.cluster_info import withdraw
from leeward.app.install.installing import (
    delete_definitions,
    installed_definitions,
    uninstall_cluster_proxy,
    uninstall_rights,
    uninstall_webhooks,
)
from leeward.app.local import FleetError
from leeward.app.migration.cluster_storage import current, delete_cluster, release_all, serve_from_aggregated, write_all
from leeward.app.migration.dependents import attach, detach, find_dependents
from leeward.app.migration.inventory import Inventory
from leeward.app.migration.kinds import CONFIG_MAP_MANIFESTS
from leeward.app.migration.left_marks import (
    DEPLOYMENT_MANIFESTS,
    clear,
    clear_one,
    clear_template_conditions,
    marked_objects,
    told_templates,
)
from leeward.app.migration.record import (
    ClusterRecord,
    KeptObject,
    SwitchRecord,
    delete_records,
    read_clusters,
    read_record,
    with_lost,
    write_cluster,
    write_record,
)
from leeward.app.migration.review import Remark, Weight
from leeward.app.migration.survey import clusters_service, running_components
from leeward.core.wording import first_of
from leeward.operations.sentences import counted

Tell = Callable[[str], None]
OUR_GROUP = OUTAGES.group
ATTEMPTS = 5
STOP = "stop `leeward serve` and `leeward webhook`"


async def plan_hand_back(client: Client, clock: Clock) -> list[Remark]:
    """Remarks on what `hand_back` would do, those that refuse first. Reads only. Raises: WorldError, FleetError."""
    record = await _adopted(client)
    remarks = [
        Remark(Weight.REFUSES, f"lease/{each.name}", f"{each.name} runs: it would write what is taken away", STOP)
        for each in await running_components(client, clock)
    ]
    if record.handed_back:
        return [*remarks, Remark(Weight.CHANGES, "record", "all but the record of the switch is handed back: it goes")]
    if record.clusters_service is not None:
        there = await current(client)
        names = sorted({*record.clusters, *there})
        leaving = [name for name in names if name in there and there[name]["metadata"].get("deletionTimestamp")]
        if leaving:
            said = f"{first_of(leaving)} is being removed: let `leeward serve` finish that first"
            remarks.append(Remark(Weight.REFUSES, "clusters", said, "kubectl get clusters"))
        kept = f"{counted(len(names), 'Cluster')} ({first_of(names)})"
        said = f"{kept} will be kept by Karmada's API server, as they are now"
        remarks.append(Remark(Weight.CHANGES, "clusters", said))
    if marked := await marked_objects(Inventory(client)):
        said = f"{counted(len(marked), 'object')} will lose annotations of ours"
        remarks.append(Remark(Weight.CHANGES, "annotations", said))
    if told := await told_templates(client, DEPLOYMENT_MANIFESTS):
        said = (
            f"{counted(len(told), 'Deployment template')} will lose the conditions Available and Progressing, which "
            "Karmada would not keep true"
        )
        remarks.append(Remark(Weight.CHANGES, "conditions", said))
    for each in (*record.webhooks, *record.rights):
        said = f"{each.manifest['kind']} {each.manifest['metadata']['name']} will be put back"
        remarks.append(Remark(Weight.CHANGES, "kept", said))
    gone, staying = await _definitions(client, record)
    if gone:
        said = f"{counted(len(gone), 'definition')} will go, with what we keep there: {first_of(gone)}"
        remarks.append(Remark(Weight.CHANGES, "definitions", said))
    remarks += [Remark(Weight.STAYS, name, _why_it_stays(name)) for name in staying]
    said = "policies, bindings, Works and what runs in members stay as they are"
    return [*remarks, Remark(Weight.STAYS, "applications", said)]


async def hand_back(client: Client, clock: Clock, tell: Tell) -> None:
    """Raises: WorldError; FleetError with the obstacles. Can be repeated."""
    record = await _adopted(client)
    if running := await running_components(client, clock):
        raise FleetError(f"{', '.join(each.name for each in running)} runs: {STOP} first")
    if not record.handed_back:
        record = await _take_steps(client, record, tell)
        await write_record(client, msgspec.structs.replace(record, handed_back=True))
    await delete_records(client)


async def _adopted(client: Client) -> SwitchRecord:
    record = await read_record(client)
    if record is None:
        raise FleetError(
            "this control plane was not adopted from a Karmada: there is nothing to hand it back to "
            "(`leeward deinit --keep-kinds` takes Leeward out)"
        )
    return record


async def _take_steps(client: Client, record: SwitchRecord, tell: Tell) -> SwitchRecord:
    """Gives the record as it is after them."""
    tell("taking Leeward's webhooks away")
    await uninstall_webhooks(client)
    if record.clusters_service is not None:
        record = await _move_clusters_back(client, record, record.clusters_service, tell)
    tell("taking Leeward's annotations away")
    tell(f"  from {await clear(client, await marked_objects(Inventory(client)))} objects")
    tell(f"taking the conditions of {await clear_template_conditions(client)} templates away")
    await _put_back(client, record.webhooks, tell)
    tell("taking Leeward's kinds, rights and settings away")
    await uninstall_cluster_proxy(client)
    await _delete_definitions(client, record, tell)
    await uninstall_rights(client, keeping=[_named(each) for each in record.rights])
    await _make_again(client, record.rights, tell)
    await withdraw(client)
    await _clear_leases(client)
    await delete_seen(client, CONFIG_MAP_MANIFESTS, BRAKE_NAME, SYSTEM_NAMESPACE)
    return record


async def _clear_leases(client: Client) -> None:
    """Deletes those of the heartbeat and of shards; takes our words off those that Karmada's components hold, too."""
    untyped = Resource.of_manifests(LEASES.api_version, LEASES.plural, LEASES.kind, True)
    for lease in (await client.list(untyped, SYSTEM_NAMESPACE)).items:
        name = lease["metadata"]["name"]
        if name == HEARTBEAT_NAME or name.startswith(SHARD_LEASE_PREFIX):
            await delete_seen(client, LEASES, name, SYSTEM_NAMESPACE, uid=lease["metadata"]["uid"])
        else:
            await clear_one(client, untyped, lease)


async def _delete_definitions(client: Client, record: SwitchRecord, tell: Tell) -> None:
    gone, staying = await _definitions(client, record)
    for name in staying:
        tell(_why_it_stays(name))
    await delete_definitions(client, gone)


async def _definitions(client: Client, record: SwitchRecord) -> tuple[list[str], list[str]]:
    """Definitions that came with us, as (deleted, kept). Deleted is what is empty or of our own group, and that of the
    Clusters when these are kept by Karmada's server again."""
    there = await installed_definitions(client)
    resources = {kind.resource.group_resource: kind.resource for kind in CUSTOM_KINDS}
    gone, staying = list[str](), list[str]()
    for name in there:
        if name in record.definitions:
            continue
        is_moved = resources[name] is CLUSTERS and record.clusters_service is not None
        is_ours = resources[name].group == OUR_GROUP
        is_unused = is_moved or is_ours or not (await client.list(resources[name], limit=1)).items
        (gone if is_unused else staying).append(name)
    return gone, staying


def _why_it_stays(name: str) -> str:
    return f"{name} stays: it has objects, and came after Karmada"


async def _put_back(client: Client, kept: Iterable[KeptObject], tell: Tell) -> None:
    for each in kept:
        tell(f"putting {each.manifest['kind']} {each.manifest['metadata']['name']} back")
        with suppress(AlreadyExists):
            await client.create(each.resource, each.content, each.manifest["metadata"].get("namespace", ""))


def _named(kept: KeptObject) -> tuple[str, str, str]:
    namespace, name = key_of(kept.manifest)
    return kept.plural, namespace, name


async def _make_again(client: Client, kept: Iterable[KeptObject], tell: Tell) -> None:
    """Writes over what has the name still: it keeps its uid, and who lives by it is never without."""
    for each in kept:
        tell(f"putting {each.manifest['kind']} {each.manifest['metadata']['name']} back")
        await _write_over(client, each)


async def _write_over(client: Client, kept: KeptObject) -> None:
    namespace, name = key_of(kept.manifest)
    content = kept.content
    for attempt in range(ATTEMPTS):
        try:
            found = await client.get(kept.resource, name, namespace)
        except NotServed:
            raise
        except NotFound:
            with suppress(AlreadyExists):
                await client.create(kept.resource, content, namespace)
                return
            continue
        marks = {field: content["metadata"].get(field, {}) for field in ("labels", "annotations")}
        wanted = {**content, "metadata": {**found["metadata"], **marks}}
        try:
            await client.update(kept.resource, wanted, name, namespace)
        except Conflict:
            if attempt == ATTEMPTS - 1:
                raise
        else:
            return
    raise FleetError(f"{kept.manifest['kind']} {name} comes and goes: see who writes it, and run it again")


async def _move_clusters_back(client: Client, record: SwitchRecord, service: Manifest, tell: Tell) -> SwitchRecord:
    """Moves the Clusters back in the order in which nothing belongs to a uid that is no more, at any time. Gives the
    record as it is after it.

    Of a switch that never came to its end, Karmada's server has all Clusters as they were, and nobody has used others:
    only what belongs to them is given back.
    """
    clusters = await read_clusters(client, record)
    if await clusters_service(client) is None:
        record, clusters = await _write_down(client, record, clusters)
        await _change_server(client, service, clusters, tell)
    if record.handing_back and record.adopted_at is not None:
        await _bring_up_to_date(client, clusters, tell)
    served = await current(client)
    tell("putting the references back")
    for cluster in clusters:
        if cluster.name in served:
            await attach(client, cluster.dependents, served[cluster.name]["metadata"]["uid"])
    return record


async def _bring_up_to_date(client: Client, clusters: Sequence[ClusterRecord], tell: Tell) -> None:
    tell(f"bringing {len(clusters)} Clusters there up to date")
    after = [cluster.after for cluster in clusters if cluster.after is not None]
    await write_all(client, after, with_marks=False, left=[manifest["metadata"]["uid"] for manifest in after])
    for cluster in clusters:
        if cluster.after is None and cluster.before is not None:
            tell(f"{cluster.name} has left since: asking Karmada's API server to delete it")
            await delete_cluster(client, cluster.name, cluster.before["metadata"]["uid"])


async def _write_down(
    client: Client, record: SwitchRecord, known: Sequence[ClusterRecord]
) -> tuple[SwitchRecord, list[ClusterRecord]]:
    """The Clusters as they are now, and what belongs to them, also where that was taken away by a try before."""
    by_name = {cluster.name: cluster for cluster in known}
    now, found = await current(client), await find_dependents(Inventory(client))
    leaving = sorted(name for name, manifest in now.items() if manifest["metadata"].get("deletionTimestamp"))
    if leaving:
        raise FleetError(f"{', '.join(leaving)} is being removed: let `leeward serve` finish that first")
    clusters = list[ClusterRecord]()
    for name in sorted({*by_name, *now}):
        before, after = by_name.get(name, ClusterRecord(name)), now.get(name)
        mine = found.get(after["metadata"]["uid"], ()) if after is not None else ()
        clusters.append(msgspec.structs.replace(before, after=after, dependents=with_lost(mine, before)))
    for cluster in clusters:
        await write_cluster(client, cluster)
    names = tuple(cluster.name for cluster in clusters)
    begun = msgspec.structs.replace(record, clusters=names, handing_back=True)
    await write_record(client, begun)
    return begun, clusters


async def _change_server(client: Client, service: Manifest, clusters: Sequence[ClusterRecord], tell: Tell) -> None:
    """Raises: WorldError, and FleetError when Karmada's API server does not answer; all is as it was then."""
    after = {cluster.name: cluster.after for cluster in clusters if cluster.after is not None}
    tell("taking the references to the Clusters away from what belongs to them")
    for cluster in clusters:
        await detach(client, cluster.dependents)
    tell("handing the Clusters to Karmada's API server")
    await release_all(client, after.values())
    uids = [cluster.before["metadata"]["uid"] for cluster in clusters if cluster.before is not None]
    try:
        await serve_from_aggregated(client, service, uids)
    except (FleetError, WorldError):
        await write_all(client, list(after.values()), with_marks=True)
        for cluster in clusters:
            if cluster.after is not None:
                await attach(client, cluster.dependents, cluster.after["metadata"]["uid"])
        raise
