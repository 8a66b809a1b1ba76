"""Decisions from before nobody watched are looked at again: in a control plane that was restored, or that was away."""

from datetime import timedelta

import pytest
from msgspec import structs

from kubeapi.codec import decode_manifest, encode
from kubeapi.core import LEASES
from kubeapi.meta import Manifest, format_time
from kubeserver.store.backup import revision_behind
from kubeserver.store.medium import Loaded
from kubeserver.store.record import Record
from leeward.api.names import HEARTBEAT_NAME, SYSTEM_NAMESPACE, UNWATCHED_ANNOTATION, work_name
from leeward.core.cluster_health.watched_time import parse_gaps
from leeward.operations.orphans import find_orphans
from leeward.sim.world import Mode, World
from tests.variants import mostly_long
from tests.world.stories import (
    CONFIG_MAPS,
    POLICIES,
    apply,
    deployment,
    identities,
    in_world,
    play,
    policy,
    ready_replicas,
    tasks,
    with_room,
    without_room,
)
from tests.world.test_dependencies import config, followed, reading
from tests.world.test_orphans import reach_in
from tests.world.test_ownership import on

WEB = "web-deployment"
PUSHED: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push"}
PULLED: dict[str, Mode] = {"member1": "Pull", "member2": "Pull", "member3": "Pull"}
ONE_COPY: Manifest = {
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
    "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
}


async def placed(world: World) -> str:
    """Cluster that has the application, which runs there."""
    await apply(world.client, deployment("web", 3), policy("web", ONE_COPY))
    await world.until(lambda: len(world.assigned(WEB)) == 1, 60)
    await world.sleep(60)
    (name,) = world.assigned(WEB)
    return name


async def moved(world: World, old: str) -> str:
    """Cluster to which it goes when its own is lost."""
    await world.member(old).stop()
    await world.until(lambda: old not in world.assigned(WEB), 900)
    (new,) = world.assigned(WEB)
    return new


async def restore(
    world: World, backup: Loaded, *, controllers_stay: bool, controllers_after: float = 0, without: str = "-"
) -> None:
    """Restores as `leeward restore` does. The controllers begin `controllers_after` seconds after the API server; what
    has the name `without` is not in the backup.
    """
    if not controllers_stay:
        world.crash_controllers()
    newest = (await world.medium.load()).records[-1].revision
    world.crash_apiserver()
    await world.sleep(20)
    copied = max(record.revision for record in backup.records)
    records = tuple(record for record in backup.records if not record.key.endswith(f"/{without}"))
    world.medium.replace(Loaded(records, revision_behind(copied, newest)))
    await world.start_apiserver()
    if not controllers_stay:
        await world.sleep(controllers_after)
        world.start_controllers()


def with_another_uid(backup: Loaded, end_of_key: str) -> Loaded:
    """Backup as a tool restores it that makes each object anew: the template has another uid, and no status."""

    def made(record: Record) -> Record:
        if not record.key.endswith(end_of_key):
            return record
        template = decode_manifest(record.value)
        metadata = {**template["metadata"], "uid": "0" * 8 + template["metadata"]["uid"][8:]}
        return structs.replace(record, value=encode({**template, "metadata": metadata, "status": {}}))

    assert any(record.key.endswith(end_of_key) for record in backup.records)
    return Loaded(tuple(map(made, backup.records)), backup.compacted)


async def returned_since(world: World) -> tuple[str, str, Loaded]:
    """A backup in which the old copy is to be removed, beside the new one; by now the old cluster has the only one."""
    old = await placed(world)
    new = await moved(world, old)
    await world.until(lambda: tasks(world, WEB) == [], 900)
    await world.sleep(30)
    backup = await world.medium.load()
    await world.member(old).start()
    await world.until(lambda: world.is_ready(old), 120)
    await world.sleep(60)
    assert await ready_replicas(world, old, "web") == -1
    await world.client.patch(POLICIES, "web", {"spec": {"placement": on(old)}}, "default")
    await world.sleep(120)
    assert list(await identities(world, "web")) == [old]
    assert await ready_replicas(world, old, "web") == 3
    return old, new, backup


async def served_elsewhere(world: World, *but: str) -> bool:
    """Tells whether all replicas are ready in a member that is none of these."""
    return 3 in [await ready_replicas(world, name, "web") for name in world.members if name not in but]


async def keeps_the_only_copy(world: World, before: object, old: str, *but: str) -> None:
    """Checks for two minutes that the copy in `old` stays while nothing serves but there and in these members."""
    for _ in range(120):
        await world.sleep(1)
        if not await served_elsewhere(world, old, *but):
            assert await identities(world, "web", [old]) == before
            assert await ready_replicas(world, old, "web") == 3


async def restored_beside_the_only_copy(
    world: World, *, controllers_stay: bool, without: str, anew: bool = False
) -> None:
    """The backup says that the copy is in a cluster that has stopped; it is kept in the one that it has returned to."""
    old, new, backup = await returned_since(world)
    before = await identities(world, "web", [old])
    await world.member(new).stop()
    await world.sleep(5)
    backup = namespace_made_anew(world, backup) if anew else backup
    await restore(world, backup, controllers_stay=controllers_stay, without=without)
    await keeps_the_only_copy(world, before, old, new)


@pytest.mark.parametrize("members", mostly_long([PUSHED, PULLED], PUSHED), ids=["Push", "Pull"])
@pytest.mark.parametrize("controllers_stay", [True, False], ids=["controllers go on", "controllers are restarted"])
def test_s1_what_was_to_be_removed_when_the_backup_was_taken_stays_until_its_replacement_is_seen_healthy(
    members: dict[str, Mode], *, controllers_stay: bool
) -> None:
    async def story(world: World) -> None:
        old, new, backup = await returned_since(world)
        before = await identities(world, "web")
        await restore(world, backup, controllers_stay=controllers_stay)
        await keeps_the_only_copy(world, before, old)
        assert await ready_replicas(world, old, "web") == (3 if old in world.assigned(WEB) else -1)
        if not controllers_stay:
            assert list(world.assigned(WEB)) == [new], "and then what was asked for is done"

    play(story, members)


@pytest.mark.long
@pytest.mark.parametrize("seconds", mostly_long([0, 45], 0))
@in_world(PULLED)
async def test_s1_an_agent_removes_nothing_that_it_found_before_the_controllers_of_a_restored_hub_have_looked(
    world: World,
    seconds: int,
) -> None:
    """The replacement of the copy is gone by now, with its cluster; nobody has noticed yet."""
    old, new, backup = await returned_since(world)
    before = await identities(world, "web", [old])
    await world.member(new).stop()
    await restore(world, backup, controllers_stay=False, controllers_after=seconds)
    for _ in range(120):
        await world.sleep(1)
        assert await identities(world, "web", [old]) == before
        assert await ready_replicas(world, old, "web") == 3


@pytest.mark.long
@pytest.mark.parametrize("members", mostly_long([PUSHED, PULLED], PUSHED), ids=["Push", "Pull"])
@pytest.mark.parametrize("without", [HEARTBEAT_NAME, "-"], ids=["forgotten", "kept"])
def test_s13_controllers_that_go_on_trust_nothing_of_a_control_plane_that_has_forgotten_their_heartbeat(
    members: dict[str, Mode], without: str
) -> None:
    """The backup is of a time before one was kept; who went on remembers since when nothing is known."""

    async def story(world: World) -> None:
        await restored_beside_the_only_copy(world, controllers_stay=True, without=without)
        heartbeat = await world.client.get(LEASES, HEARTBEAT_NAME, SYSTEM_NAMESPACE)
        assert heartbeat.spec.holder_identity
        gap = parse_gaps(heartbeat.metadata.annotations[UNWATCHED_ANNOTATION]).gaps[-1]
        assert (gap.end - gap.start).total_seconds() > 20
        if without == HEARTBEAT_NAME:
            assert (gap.end - gap.start).total_seconds() < 40, "all since the last renewal"

    play(story, members)


@pytest.mark.long
@in_world(PULLED)
async def test_s1_an_eviction_does_not_end_by_what_was_healthy_while_the_hub_was_away(world: World) -> None:
    """The agent of the new cluster says that all is well there, and dies with it; only the old copy is left."""
    old = await placed(world)
    for name in PULLED:
        if name != old:
            await without_room(world, name)
    new = await moved(world, old)
    await world.sleep(30)
    await world.stop_controllers()
    await with_room(world, new)
    await world.sleep(90)
    assert await ready_replicas(world, new, "web") == 3
    await world.member(new).stop()
    await world.member(old).start()
    await world.sleep(600)
    before = await identities(world, "web", [old])
    assert await ready_replicas(world, old, "web") == 3
    world.start_controllers()
    for _ in range(900):
        await world.sleep(1)
        assert await identities(world, "web", [old]) == before
        assert await ready_replicas(world, old, "web") == 3


def namespace_made_anew(world: World, backup: Loaded) -> Loaded:
    """Backup as if restored object by object: the control plane's own Namespace is as new as the controllers."""

    def made(record: Record) -> Record:
        if not record.key.endswith(f"/namespaces//{SYSTEM_NAMESPACE}"):
            return record
        metadata = {**decode_manifest(record.value)["metadata"], "creationTimestamp": format_time(at)}
        return structs.replace(record, value=encode({**decode_manifest(record.value), "metadata": metadata}))

    at = world.clock.now() + timedelta(seconds=20)
    return Loaded(tuple(map(made, backup.records)), backup.compacted)


@pytest.mark.parametrize("anew", mostly_long([False, True], False), ids=["as it was", "its Namespace made anew"])
@pytest.mark.parametrize("members", mostly_long([PUSHED, PULLED], PUSHED), ids=["Push", "Pull"])
def test_s13_controllers_that_start_on_a_backup_without_a_heartbeat_take_nothing_in_it_for_seen(
    members: dict[str, Mode], *, anew: bool
) -> None:
    """Neither the backup nor the process says how long nobody watched."""

    async def story(world: World) -> None:
        await restored_beside_the_only_copy(world, controllers_stay=False, without=HEARTBEAT_NAME, anew=anew)

    play(story, members)


@pytest.mark.parametrize("members", mostly_long([PUSHED, PULLED], PUSHED), ids=["Push", "Pull"])
@pytest.mark.parametrize("controllers_stay", [True, False], ids=["controllers go on", "controllers are restarted"])
def test_s1_what_a_copy_needs_of_which_a_restored_hub_does_not_know_is_not_removed_while_it_is_the_only_one(
    members: dict[str, Mode], *, controllers_stay: bool
) -> None:
    """The application has left in the backup, and only its ConfigMap is still to be removed; it has returned since."""

    async def story(world: World) -> None:
        await apply(world.client, config("settings"), followed("web", ONE_COPY), reading("web", "settings", replicas=3))
        await world.until(lambda: len(world.assigned(WEB)) == 1, 60)
        await world.sleep(60)
        (old,) = world.assigned(WEB)
        elsewhere = {"clusterAffinity": {"clusterNames": [name for name in members if name != old]}}
        await world.client.patch(POLICIES, "web", {"spec": {"placement": elsewhere}}, "default")
        work = work_name("Deployment", "web", "default")
        await world.until(lambda: old not in world.assigned(WEB) and world.work(old, work) is None, 180)
        await world.member(old).stop()
        await world.sleep(20)
        backup = await world.medium.load()
        leaving = world.work(old, work_name("ConfigMap", "settings", "default"))
        assert leaving is not None
        assert leaving.metadata.deletion_timestamp is not None
        await world.member(old).start()
        await world.until(lambda: world.is_ready(old), 120)
        await world.client.patch(POLICIES, "web", {"spec": {"placement": on(old)}}, "default")
        await world.sleep(120)
        assert list(await identities(world, "web")) == [old]
        before = await identities(world, "settings", [old], CONFIG_MAPS)
        await restore(world, backup, controllers_stay=controllers_stay)
        for _ in range(120):
            await world.sleep(1)
            if not await served_elsewhere(world, old):
                assert await identities(world, "settings", [old], CONFIG_MAPS) == before
                assert await ready_replicas(world, old, "web") == 3
        await world.sleep(120)
        assert await served_elsewhere(world, old)
        left = {str(orphan) for orphan in (await find_orphans(world.client, reach_in(world))).orphans}
        stays = await identities(world, "settings", [old], CONFIG_MAPS)
        assert (stays, [orphan for orphan in left if "settings" in orphan]) == ({}, []), "and then it goes"

    play(story, members)


@in_world(PUSHED)
async def test_s13_a_new_control_plane_has_missed_nothing(world: World) -> None:
    await world.sleep(60)
    heartbeat = await world.client.get(LEASES, HEARTBEAT_NAME, SYSTEM_NAMESPACE)
    assert UNWATCHED_ANNOTATION not in heartbeat.metadata.annotations
