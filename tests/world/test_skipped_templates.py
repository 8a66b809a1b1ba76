"""A template that a policy selects in a namespace that is skipped: somebody is told, once."""

import pytest

from kubeapi.core import EVENTS, Event
from kubeapi.meta import Manifest
from kubeclient import NotFound
from leeward.api.names import SYSTEM_NAMESPACE
from leeward.sim.world import World
from tests.world.stories import CONFIG_MAPS, POLICIES, apply, in_world, policy

ANYWHERE: Manifest = {}
SKIPPED = "ApplyPolicySkipped"


def config_map(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "0"}}


async def told(world: World, namespace: str) -> list[Event]:
    events = (await world.client.list(EVENTS, namespace)).items
    return [event for event in events if event.reason == SKIPPED]


@in_world({"member1": "Push"})
async def test_a_selected_template_in_a_skipped_namespace_gets_one_event_and_not_one_for_every_change(
    world: World,
) -> None:
    await apply(world.client, config_map("a"), config_map("b"), namespace="kube-public")
    await apply(world.client, policy("a", ANYWHERE, "ConfigMap", "v1"), namespace="kube-public")
    await world.sleep(30)
    for value in range(5):
        await world.client.patch(CONFIG_MAPS, "a", {"data": {"a": str(value)}}, "kube-public")
        await world.client.patch(POLICIES, "a", {"spec": {"priority": value}}, "kube-public")
        await world.sleep(30)
    (event,) = await told(world, "kube-public")
    assert (event.involved_object.kind, event.involved_object.name) == ("ConfigMap", "a")
    assert event.message == (
        "not propagated, though policy(kube-public/a) selects it: "
        "namespace kube-public is in --skipped-propagating-namespaces"
    )
    assert (event.type, event.count) == ("Warning", 1)

    await world.client.delete(CONFIG_MAPS, "a", "kube-public")
    await apply(world.client, config_map("a"), namespace="kube-public")
    await world.sleep(30)
    assert len(await told(world, "kube-public")) == 2, "another object of the name is another story"


@in_world({"member1": "Push"})
async def test_what_the_control_plane_keeps_for_itself_is_told_of_only_where_it_is_named(world: World) -> None:
    await apply(world.client, config_map("a"), config_map("b"), namespace=SYSTEM_NAMESPACE)
    every = policy("every", ANYWHERE, "ConfigMap", "v1")
    del every["spec"]["resourceSelectors"][0]["name"]
    await apply(world.client, every, namespace=SYSTEM_NAMESPACE)
    await world.sleep(30)
    assert await told(world, SYSTEM_NAMESPACE) == []
    await apply(world.client, policy("a", ANYWHERE, "ConfigMap", "v1"), namespace=SYSTEM_NAMESPACE)
    await world.sleep(30)
    (event,) = await told(world, SYSTEM_NAMESPACE)
    assert event.involved_object.name == "a"
    assert "namespace karmada-system is reserved for the control plane" in event.message


async def waiting(world: World) -> list[str]:
    events = (await world.client.list(EVENTS, "default")).items
    return [event.message for event in events if event.reason == "DeletionWaitsForFinalizers" and event.count == 1]


@in_world({"member1": "Push"})
async def test_a_deleted_template_that_somebodys_finalizer_keeps_is_told_of_once(world: World) -> None:
    kept, free = config_map("a"), config_map("b")
    kept["metadata"]["finalizers"] = ["example.com/backup"]
    await apply(world.client, kept, free, policy("a", ANYWHERE, "ConfigMap", "v1"))
    await apply(world.client, policy("b", ANYWHERE, "ConfigMap", "v1"))
    await world.sleep(30)
    for name in ("a", "b"):
        await world.client.delete(CONFIG_MAPS, name, "default")
    await world.sleep(50)
    assert await waiting(world) == []
    await world.sleep(20)
    message = (
        "it is being deleted, and waits for whoever set the finalizers example.com/backup: until they take them "
        "off, it stays in member1"
    )
    assert await waiting(world) == [message]
    await world.client.patch(CONFIG_MAPS, "a", {"data": {"a": "1"}}, "default")
    await world.sleep(600)
    assert await waiting(world) == [message]
    await world.client.patch(CONFIG_MAPS, "a", {"metadata": {"finalizers": None}}, "default")
    await world.sleep(30)
    with pytest.raises(NotFound):
        await world.member("member1").client.get(CONFIG_MAPS, "a", "default")


@in_world({"member1": "Push"})
async def test_each_clusters_own_root_certificates_are_never_overwritten(world: World) -> None:
    name = "kube-root-ca.crt"
    own = await world.member("member1").client.create(CONFIG_MAPS, config_map(name), "default")
    every = policy("every", ANYWHERE, "ConfigMap", "v1")
    every["spec"]["conflictResolution"] = "Overwrite"
    del every["spec"]["resourceSelectors"][0]["name"]
    await apply(world.client, {**config_map(name), "data": {"a": "the hub's"}}, config_map("b"), every)
    await world.sleep(30)
    assert await world.member("member1").client.get(CONFIG_MAPS, "b", "default")
    assert await world.member("member1").client.get(CONFIG_MAPS, name, "default") == own
    assert await told(world, "default") == []
    await apply(world.client, policy(name, ANYWHERE, "ConfigMap", "v1"))
    await world.sleep(30)
    (event,) = await told(world, "default")
    assert event.message.endswith("selects it: each cluster makes its own in every namespace")
    assert await world.member("member1").client.get(CONFIG_MAPS, name, "default") == own
