"""Bounds on what is stored: for a namespace, for the store, and by quotas that count objects.

    has            the right to write ConfigMaps in one namespace
    does           fills the memory of the control plane, which holds all objects, and deletes all of it at once
    must not get   more than a namespace's part, a control plane that stands still, or a failover that is held up

Holds: L4.
"""

import asyncio
import re
from functools import partial
from typing import Any
from unittest import mock

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import ApiError, Client, Forbidden
from kubeserver import limits
from kubeserver.handlers import presenting
from kubeserver.registry.room import DEFAULT_BOUNDS, StoreBounds
from kubeserver.store import StoredAmount
from leeward.api.resource import RESOURCE_BINDINGS, WORKS
from leeward.app.flags.settings import settings_of
from leeward.manager.admission import is_own_object, store_bounds
from leeward.manager.settings import StorageSettings
from leeward.operations.status import look_at_fleet
from leeward.sim.world import World
from tests.kubeserver.api_world import CONFIG_MAPS as PATH
from tests.kubeserver.api_world import WIDGETS, ApiWorld, tell, widget
from tests.security.test_load import config_map
from tests.security.worlds import define, namespaces, play_in, user_with
from tests.world.stories import CONFIG_MAPS, apply, play, policy
from tests.world.test_overrides import BOTH
from tests.world.test_unwatched_time import PUSH, is_left, web_runs

FEW = StoredAmount(30, 300_000)
RESOURCE_QUOTAS = Resource.of_manifests("v1", "resourcequotas", "ResourceQuota", True)
QUOTAS = "/api/v1/namespaces/default/resourcequotas"


class SmallStore(World):
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.bounds = StoreBounds(namespace=FEW, is_own=is_own_object)


def large(name: str, size: int = 50_000) -> Manifest:
    return {**config_map(name), "data": {"a": "x" * size}}


async def fill(client: Client, namespace: str, size: int) -> str:
    """Creates ConfigMaps until one is refused, and gives what is said then."""
    for number in range(1_000):
        try:
            await client.create(CONFIG_MAPS, large(f"c{number}", size), namespace)
        except Forbidden as refused:
            return str(refused)
    raise AssertionError("nothing was refused")


@pytest.mark.parametrize("size", [50_000, 1], ids=["bytes", "objects"])
def test_l4_a_namespace_has_its_part_and_no_more(size: int) -> None:
    async def story(world: World) -> None:
        await namespaces(world, "tenant", "other")
        mallory = await user_with(world, "mallory", "tenant", "*", "configmaps")
        said = await fill(mallory, "tenant", size)
        assert "namespace tenant holds" in said
        assert "may hold 30 of 300000" in said
        assert "delete what is not needed" in said
        await world.client.create(CONFIG_MAPS, large("c"), "other")
        await mallory.delete(CONFIG_MAPS, "c0", "tenant")
        await mallory.create(CONFIG_MAPS, large("again", size), "tenant")
        state = await look_at_fleet(world.client, world.clock)
        assert any("namespace tenant holds" in finding.sentence for finding in state.findings)

    play_in(SmallStore, story, {"member1": "Push"})


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"max-namespace-bytes": "300k"}, "namespace tenant holds 5 objects of .* may hold 100000 of 300000"),
        ({"max-namespace-objects": "3"}, "namespace tenant holds 3 objects .* may hold 3 of "),
        ({"max-store-bytes": "1M"}, "the store holds .* may hold 1000000 of 1000000"),
        ({"max-store-objects": "300"}, "the store holds 300 objects .* may hold 300 of "),
    ],
)
def test_l4_flags_say_how_much_is_stored(flags: dict[str, str], said: str) -> None:
    async def story(world: World) -> None:
        await namespaces(world, "tenant")
        assert re.search(said, await fill(world.client, "tenant", 50_000))

    play(story, {"member1": "Push"}, manager=settings_of("up", flags).manager)


def test_without_flags_the_bounds_are_those_of_the_server() -> None:
    bounds = store_bounds(StorageSettings())
    assert (bounds.namespace, bounds.store) == (DEFAULT_BOUNDS.namespace, DEFAULT_BOUNDS.store)


def test_l2_l4_a_full_namespace_still_fails_over() -> None:
    """Bindings, Works and their reports are written, and applications leave a dead cluster."""

    async def story(world: World) -> None:
        await web_runs(world)
        await fill(world.client, "default", 20_000)
        await world.member("member1").stop()
        await world.until(lambda: is_left(world), 1_200)

    play_in(SmallStore, story, PUSH)


def test_l4_a_full_store_still_fails_over_and_takes_no_more() -> None:
    async def story(world: World) -> None:
        await web_runs(world)
        assert world.store is not None
        world.bounds = StoreBounds(store=world.store.usage.everything.plus(0, 100_000), is_own=is_own_object)
        await world.stop_controllers()
        await world.stop_apiserver()
        await world.start_control_plane()
        assert "the store holds" in await fill(world.client, "default", 20_000)
        await world.member("member1").stop()
        await world.until(lambda: is_left(world), 1_200)

    play_in(SmallStore, story, PUSH)


def test_l4_an_update_grows_to_twice_the_bound_at_most() -> None:
    async def story(world: World) -> None:
        await namespaces(world, "tenant")
        mallory = await user_with(world, "mallory", "tenant", "*", "configmaps")
        await fill(mallory, "tenant", 50_000)
        patch = partial(mallory.patch, CONFIG_MAPS, "c0", namespace="tenant")
        await patch({"metadata": {"annotations": {"a": "b"}}})
        with pytest.raises(Forbidden, match="namespace tenant holds"):
            await patch({"data": {"b": "x" * 600_000}})
        await patch({"data": {"a": "x"}})

    play_in(SmallStore, story, {"member1": "Push"})


def test_what_is_far_beyond_the_bound_can_be_deleted_though_finalizers_keep_it() -> None:
    """An earlier version had no bounds."""

    async def story(world: World) -> None:
        await namespaces(world, "tenant")
        for number in range(10):
            kept = large(f"c{number}")
            kept["metadata"]["finalizers"] = ["example.com/one", "example.com/two"]
            await world.client.create(CONFIG_MAPS, kept, "tenant")
        world.bounds = StoreBounds(namespace=StoredAmount(3, 100_000), is_own=is_own_object)
        await world.stop_controllers()
        await world.stop_apiserver()
        await world.start_control_plane()
        await world.client.delete(CONFIG_MAPS, "c0", "tenant")
        patch = partial(world.client.patch, CONFIG_MAPS, "c0", namespace="tenant")
        await patch({"metadata": {"finalizers": ["example.com/one"]}})
        with pytest.raises(Forbidden, match="namespace tenant holds"):
            await patch({"data": {"a": "x" * 60_000}})
        await patch({"metadata": {"finalizers": None}})
        assert len((await world.client.list(CONFIG_MAPS, "tenant")).items) == 9

    play_in(World, story, {"member1": "Push"})


def test_updates_are_not_counted_as_objects() -> None:
    async def story(world: World) -> None:
        await namespaces(world, "tenant")
        for number in range(10):
            await world.client.create(CONFIG_MAPS, config_map(f"c{number}"), "tenant")
        world.bounds = StoreBounds(namespace=StoredAmount(3, 300_000), is_own=is_own_object)
        await world.stop_controllers()
        await world.stop_apiserver()
        await world.start_control_plane()
        await world.client.patch(CONFIG_MAPS, "c0", {"data": {"a": "x" * 500}}, namespace="tenant")

    play_in(World, story, {"member1": "Push"})


def quota(**hard: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few"},
        "spec": {"hard": {name.replace("__", "/").replace("_", "."): amount for name, amount in hard.items()}},
    }


def small(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


@pytest.mark.parametrize("name", ["count__configmaps", "configmaps"])
def test_a_quota_that_counts_objects_lets_no_more_in_however_many_ask_at_once(name: str) -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(QUOTAS, quota(**{name: "3", "pods": "1"}))
        answers = await asyncio.gather(*(world.create(PATH, small(f"c{number}")) for number in range(10)))
        assert sorted(answer.code for answer in answers) == [201] * 3 + [403] * 7
        said = next(answer.body["message"] for answer in answers if answer.code == 403)
        named = name.replace("__", "/")
        assert f"exceeded quota: few, requested: {named}=1, used: {named}=3, limited: {named}=3" in said
        await asyncio.sleep(5)
        status = (await world.get(f"{QUOTAS}/few")).body["status"]
        assert status == {"hard": {named: "3", "pods": "1"}, "used": {named: "3"}}
        await world.delete(f"{PATH}/c0") if answers[0].code == 201 else None
        await world.delete(f"{PATH}/c1") if answers[1].code == 201 else None
        assert (await world.create(PATH, small("again"))).code == 201

    tell(story)


def test_a_quota_counts_objects_of_custom_kinds_by_their_group() -> None:
    async def story(world: World) -> None:
        await namespaces(world, "tenant")
        hard = {"count/propagationpolicies.policy.karmada.io": "1"}
        await world.client.create(RESOURCE_QUOTAS, {"metadata": {"name": "few"}, "spec": {"hard": hard}}, "tenant")
        await apply(world.client, policy("one", BOTH), namespace="tenant")
        with pytest.raises(Forbidden, match="exceeded quota: few"):
            await apply(world.client, policy("two", BOTH), namespace="tenant")

    play_in(World, story, {"member1": "Push"})


def test_a_quota_that_a_policy_brings_to_members_counts_nothing_in_the_control_plane() -> None:
    async def story(world: World) -> None:
        await namespaces(world, "tenant")
        hard = {"configmaps": "1", "count/resourcebindings.work.karmada.io": "0"}
        quota_for_members = {"metadata": {"name": "few"}, "spec": {"hard": hard}}
        await apply(world.client, policy("few", BOTH, "ResourceQuota", "v1"), namespace="tenant")
        await world.client.create(RESOURCE_QUOTAS, quota_for_members, "tenant")
        await asyncio.sleep(5)
        await world.client.get(RESOURCE_BINDINGS, "few-resourcequota", "tenant")
        for name in ("one", "two"):
            await world.client.create(CONFIG_MAPS, {"metadata": {"name": name}}, "tenant")

    play_in(World, story, {"member1": "Push"})


def test_a_quota_holds_up_no_binding() -> None:
    async def story(world: World) -> None:
        await namespaces(world, "tenant")
        hard = {"count/resourcebindings.work.karmada.io": "0"}
        await world.client.create(RESOURCE_QUOTAS, {"metadata": {"name": "few"}, "spec": {"hard": hard}}, "tenant")
        await apply(world.client, policy("one", BOTH, "ConfigMap", "v1"), namespace="tenant")
        await world.client.create(CONFIG_MAPS, {"metadata": {"name": "one"}}, "tenant")
        await asyncio.sleep(5)
        await world.client.get(RESOURCE_BINDINGS, "one-configmap", "tenant")

    play_in(World, story, {"member1": "Push"})


def test_l4_a_list_of_large_objects_and_their_deletion_let_others_run() -> None:
    async def story(world: ApiWorld) -> None:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        for number in range(20):
            await world.create(PATH, {**small(f"c{number}"), "data": {"a": "x" * 900_000}})
        counting = asyncio.ensure_future(count())
        for ask in (partial(world.get, PATH), partial(world.call, "GET", PATH, accept=TABLE)):
            turns = 0
            assert (await ask()).code == 200
            assert turns >= 20 * 900_000 // (presenting.PAUSE_BYTES + 900_000)
        assert (await world.delete(PATH)).code == 200
        counting.cancel()

    tell(story)


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize("many", [False, True], ids=["bytes", "values"])
def test_l4_an_object_is_as_large_as_etcd_takes_it_but_for_one_that_was_there(many: bool) -> None:
    """An earlier version stored 3 MiB and 200,000 values: such an object is still written, shrunk and deleted."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    large = {"x": [0] * 120_000} if many else {"x": "x" * 2_000_000}

    async def story(world: ApiWorld) -> None:
        await define(world, {"free": free})
        of_bytes = mock.patch.object(limits, "MAX_STORED_BYTES", limits.MAX_BODY_BYTES)
        with of_bytes, mock.patch.object(limits, "MAX_VALUES", 200_000):
            assert (await world.create(WIDGETS, widget("earlier", free=large))).code == 201
        refused = await world.create(WIDGETS, widget("a", free=large))
        assert (refused.code, "put" in refused.body["message"]) == (400 if many else 413, True)
        path = f"{WIDGETS}/earlier"
        assert (await world.patch(path, {"metadata": {"annotations": {"a": "b"}}})).code == 200
        assert (await world.patch(path, {"spec": {"free": {"x": None}}})).code == 200
        grown = await world.patch(path, {"spec": {"free": {"y": "x" * 2_000_000}}})
        assert grown.code == 413
        assert "at most 1572864 bytes are stored" in grown.body["message"]
        assert (await world.delete(path)).code == 200

    tell(story)


@pytest.mark.parametrize("many", [False, True], ids=["bytes", "values"])
def test_l4_a_work_is_as_large_as_an_earlier_version_stored_it(many: bool) -> None:
    """An application that an earlier version has stored needs a new Work where it fails over to."""
    data = {f"k{n}": "x" for n in range(120_000)} if many else {"a": "x" * 2_000_000}

    async def story(world: World) -> None:
        large = {**config_map("large"), "data": data}
        work: Manifest = {
            "apiVersion": WORKS.api_version,
            "kind": "Work",
            "metadata": {"name": "large"},
            "spec": {"workload": {"manifests": [large]}},
        }
        raw = Resource.of_manifests(WORKS.api_version, WORKS.plural, WORKS.kind, True)
        made = await world.client.create(raw, work, "karmada-es-member1")
        made["metadata"]["annotations"] = {"a": "b"}
        await world.client.update(raw, made, "large", "karmada-es-member1")
        with pytest.raises(ApiError) as refused:
            await world.client.create(CONFIG_MAPS, large, "default")
        assert refused.value.code == (400 if many else 422)

    play(story, PUSH)
