"""Garbage collection of what goes with what: owners and dependents, namespaces and their content."""

import asyncio
from typing import Any

from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeserver.store.memory import MemoryMedium
from tests.kubeserver.api_world import CONFIG_MAPS, ApiWorld, api_world, config_map, tell

NAMESPACES = "/api/v1/namespaces"


async def _owned(world: ApiWorld, name: str, *owners: str, blocking: bool = False) -> None:
    references = [await _reference(world, owner, blocking) for owner in owners]
    await world.create(CONFIG_MAPS, {"metadata": {"name": name, "ownerReferences": references}})


async def _reference(world: ApiWorld, owner: str, blocking: bool) -> Manifest:
    uid = (await world.get(f"{CONFIG_MAPS}/{owner}")).body["metadata"]["uid"]
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid, "blockOwnerDeletion": blocking}


async def _names(world: ApiWorld) -> list[str]:
    await asyncio.sleep(1)
    return (await world.get(CONFIG_MAPS)).names


def test_dependents_go_with_their_owner_and_theirs_with_them():
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("owner"))
        await world.create(CONFIG_MAPS, config_map("stranger"))
        await _owned(world, "child", "owner")
        await _owned(world, "grandchild", "child")
        await world.delete(f"{CONFIG_MAPS}/owner")
        assert await _names(world) == ["stranger"]

    tell(story)


def test_a_dependent_stays_as_long_as_one_owner_does():
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("one"))
        await world.create(CONFIG_MAPS, config_map("two"))
        await _owned(world, "child", "one", "two")
        await world.delete(f"{CONFIG_MAPS}/one")
        assert await _names(world) == ["child", "two"]
        owners = (await world.get(f"{CONFIG_MAPS}/child")).body["metadata"]["ownerReferences"]
        assert [owner["name"] for owner in owners] == ["two"]
        await world.delete(f"{CONFIG_MAPS}/two")
        assert await _names(world) == []

    tell(story)


def test_orphans_stay_without_the_reference():
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("owner"))
        await _owned(world, "child", "owner")
        await world.delete(f"{CONFIG_MAPS}/owner", propagationPolicy="Orphan")
        assert await _names(world) == ["child"]
        assert "ownerReferences" not in (await world.get(f"{CONFIG_MAPS}/child")).body["metadata"]

    tell(story)


def test_in_the_foreground_the_owner_waits_for_blocking_dependents():
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("owner"))
        await _owned(world, "child", "owner", blocking=True)
        await world.patch(f"{CONFIG_MAPS}/child", {"metadata": {"finalizers": ["example.com/hold"]}})
        await world.delete(f"{CONFIG_MAPS}/owner", propagationPolicy="Foreground")
        assert await _names(world) == ["child", "owner"]
        assert (await world.get(f"{CONFIG_MAPS}/child")).body["metadata"]["deletionTimestamp"]
        await world.patch(f"{CONFIG_MAPS}/child", {"metadata": {"finalizers": []}})
        assert await _names(world) == []

    tell(story)


def _dangling(uid: str, **reference: Any) -> Manifest:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": uid, **reference}
    return {"metadata": {"name": "child", "ownerReferences": [owner]}}


def test_an_owner_that_never_was_takes_its_dependent_along():
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, _dangling("no-such-uid"))
        assert await _names(world) == []

    tell(story)


def test_an_owner_of_an_unknown_kind_is_not_gone():
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, _dangling("uid", apiVersion="unknown.example.com/v1", kind="Thing"))
        assert await _names(world) == ["child"]

    tell(story)


def test_an_owner_that_was_recreated_is_another_one():
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("nobody"))
        await world.create(CONFIG_MAPS, _dangling("the-uid-before"))
        assert await _names(world) == ["nobody"]

    tell(story)


def test_garbage_that_was_left_by_a_crash_is_found_after_a_restart():
    async def play() -> None:
        medium = MemoryMedium()
        async with api_world(medium) as world:
            await world.create(CONFIG_MAPS, _dangling("no-such-uid"))
        async with api_world(medium) as world:
            assert await _names(world) == []

    run_virtual(play())


def test_a_namespace_goes_when_its_content_has_gone():
    async def story(world: ApiWorld) -> None:
        await world.create(NAMESPACES, {"metadata": {"name": "team"}})
        inside = f"{NAMESPACES}/team/configmaps"
        await world.create(inside, config_map("free"))
        await world.create(inside, {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}})
        await world.delete(f"{NAMESPACES}/team")
        await asyncio.sleep(1)
        assert (await world.get(f"{NAMESPACES}/team")).body["status"]["phase"] == "Terminating"
        assert (await world.get(inside)).names == ["held"]
        refused = await world.create(inside, config_map("late"))
        assert (refused.code, refused.body["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")
        await world.patch(f"{inside}/held", {"metadata": {"finalizers": []}})
        await asyncio.sleep(1)
        assert (await world.get(f"{NAMESPACES}/team")).code == 404

    tell(story)


def test_an_empty_namespace_goes_at_once():
    async def story(world: ApiWorld) -> None:
        await world.create(NAMESPACES, {"metadata": {"name": "team"}})
        assert (await world.delete(f"{NAMESPACES}/team")).code == 200
        await asyncio.sleep(1)
        assert (await world.get(f"{NAMESPACES}/team")).code == 404

    tell(story)


def test_a_quiet_server_writes_nothing():
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("owner"))
        await _owned(world, "child", "owner")
        await asyncio.sleep(1)
        revision = world.store.revision
        await asyncio.sleep(3600)
        assert world.store.revision == revision

    tell(story)
