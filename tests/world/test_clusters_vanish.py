"""The API of Clusters answers that there are none, as when its APIService changes hands: nothing is taken away (S5)."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from kubeapi.core import CONFIG_MAPS, EVENTS, NAMESPACES, Namespace
from kubeapi.meta import ObjectMeta
from kubeclient import NotFound, Request, Response
from leeward.api.names import BRAKE_NAME, SYSTEM_NAMESPACE, execution_space
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS, WORKS
from leeward.app.leaving import unjoin_cluster
from leeward.core.cluster_health.brake import parse_brake
from leeward.operations.status import look_at_fleet
from leeward.sim.world import Mode, World
from tests.world.stories import DEPLOYMENTS, apply, by_weight, deployment, in_world, policy, ready_replicas, tasks
from tests.world.test_detection import answers, empty_list, status
from tests.world.test_safety import brake_engaged

MEMBERS: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push", "member4": "Pull"}
PUSH: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push"}
APPS = [f"web{number}" for number in range(6)]
MINUTES = 60


async def apps_run(world: World, members: dict[str, Mode]) -> None:
    """Half of them divided, half of them everywhere."""
    everywhere = {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}
    everywhere |= {"clusterAffinity": {"clusterNames": list(members)}}
    for number, app in enumerate(APPS):
        placement = everywhere if number % 2 else by_weight(dict.fromkeys(members, 1))
        await apply(world.client, deployment(app, len(members)), policy(app, placement))
    await world.until(lambda: all(len(world.assigned(f"{app}-deployment")) == len(members) for app in APPS), 60)
    await world.sleep(60)


async def state(world: World) -> dict[str, object]:
    """State that must not change: bindings' specs, the Works, and every member's objects."""
    found: dict[str, object] = {}
    for binding in (await world.client.list(RESOURCE_BINDINGS)).items:
        found[f"binding {binding.name}"] = (binding.metadata.uid, binding.spec)
    for work in (await world.client.list(WORKS)).items:
        found[f"work {work.namespace}/{work.name}"] = (work.metadata.uid, work.metadata.deletion_timestamp, work.spec)
    for name, member in world.members.items():
        for obj in (await member.client.list(DEPLOYMENTS)).items:
            found[f"{name} {obj['metadata']['name']}"] = (obj["metadata"]["uid"], obj["spec"])
    return found


class Hidden:
    """Answers of the API of Clusters while it has changed hands: it knows `names` no more."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.passes = False

    def answer(self, request: Request) -> Response | None:
        root = f"/apis/{CLUSTERS.api_version}/clusters"
        if self.passes or not request.path.startswith(root):
            return None
        name = request.path.removeprefix(root).strip("/").partition("/")[0]
        if name:
            return status(404, "NotFound") if name in self.names else None
        if "watch" in request.query:
            return status(410, "Expired")
        return empty_list(request) if request.method == "GET" else None


@contextmanager
def no_clusters(world: World) -> Generator[Hidden]:
    hidden = Hidden(set(world.members))
    answers(world.place, hidden.answer)
    world.place.link.interrupt()
    try:
        yield hidden
    finally:
        world.place.audit = None
        world.place.link.interrupt()


async def brake_message(world: World) -> str:
    return (await world.client.get(CONFIG_MAPS, BRAKE_NAME, SYSTEM_NAMESPACE)).data["condition"]


@pytest.mark.long
@in_world(MEMBERS)
async def test_s5_clusters_that_vanish_and_return_change_nothing(world: World) -> None:
    await apps_run(world, MEMBERS)
    before = await state(world)
    with no_clusters(world):
        for _ in range(10):
            await world.sleep(MINUTES)
            assert await state(world) == before
        assert await brake_engaged(world)
        condition = await brake_message(world)
        assert "ClustersVanished" in condition
        assert all(name in condition for name in MEMBERS)
        events = (await world.client.list(EVENTS, SYSTEM_NAMESPACE)).items
        assert [(e.reason, "member3" in e.message) for e in events] == [("ClustersVanished", True)]
    await world.sleep(15 * MINUTES)
    assert await state(world) == before
    assert not await brake_engaged(world)
    assert [name for name in MEMBERS if world.taints(name) or not world.is_ready(name)] == []


@pytest.mark.long
@in_world(MEMBERS)
async def test_s5_nothing_leaves_when_the_control_plane_starts_without_clusters(world: World) -> None:
    await apps_run(world, MEMBERS)
    before = await state(world)
    await world.stop_controllers()
    with no_clusters(world):
        world.start_controllers()
        await world.sleep(5 * MINUTES)
        assert await brake_engaged(world)
        assert await state(world) == before
    await world.sleep(15 * MINUTES)
    assert await state(world) == before


@pytest.mark.long
@in_world(PUSH)
async def test_s5_an_eviction_that_was_open_goes_on_when_the_clusters_are_back(world: World) -> None:
    await apply(world.client, deployment("web", 3), policy("web", by_weight({"member1": 1, "member2": 2})))
    await world.until(lambda: len(world.assigned("web-deployment")) == 2, 60)
    await world.sleep(30)
    await world.member("member1").stop()
    world.member("member2").set_latency(4)
    await world.until(lambda: tasks(world, "web-deployment") == ["member1"])
    with no_clusters(world):
        await world.sleep(20 * MINUTES)
        works = (await world.client.list(WORKS, execution_space("member1"))).items
        assert [work.name for work in works if work.metadata.deletion_timestamp is not None] == []
        assert tasks(world, "web-deployment") == ["member1"], "no time runs over what nobody can see"
    world.member("member2").set_latency(0)
    await world.sleep(5 * MINUTES)
    assert tasks(world, "web-deployment") == []
    assert await ready_replicas(world, "member2", "web") == 3


@pytest.mark.long
@in_world(PUSH)
async def test_s5_clusters_that_are_joined_anew_under_their_names_keep_all_that_runs_there(world: World) -> None:
    await apps_run(world, PUSH)
    before = await state(world)
    uids = {name: world.cluster(name).metadata.uid for name in PUSH}
    with no_clusters(world) as hidden:
        await world.sleep(2 * MINUTES)
        for member in world.members.values():
            hidden.passes = True
            await world.client.delete(CLUSTERS, member.name)
            await world.client.patch(CLUSTERS, member.name, {"metadata": {"finalizers": None}})
            with pytest.raises(NotFound):
                await world.client.get(CLUSTERS, member.name)
            hidden.passes = False
        await world.sleep(2 * MINUTES)
        assert await state(world) == before
        for number, member in enumerate(world.members.values()):
            hidden.passes = True
            await world.register(member, world.client)
            hidden.passes = False
            hidden.names.discard(member.name) if number else None
            await world.sleep(1)
    await world.sleep(15 * MINUTES)
    assert all(world.is_ready(name) for name in PUSH)
    assert all(world.cluster(name).metadata.uid != uid for name, uid in uids.items())
    assert await state(world) == before
    assert not await brake_engaged(world)


@pytest.mark.long
@in_world(MEMBERS)
async def test_one_cluster_that_vanishes_holds_what_names_it_and_nothing_else(world: World) -> None:
    await apply(world.client, deployment("there", 2), policy("there", by_weight({"member1": 1, "member2": 1})))
    await apply(world.client, deployment("else", 2), policy("else", by_weight({"member3": 1, "member4": 1})))
    names = ("there-deployment", "else-deployment")
    await world.until(lambda: all(len(world.assigned(name)) == 2 for name in names), 60)
    await world.sleep(30)
    before = await state(world)
    await world.client.patch(CLUSTERS, "member1", {"metadata": {"finalizers": ["example.com/mine"]}})
    await world.stop_controllers()
    await world.client.delete(CLUSTERS, "member1")
    await world.client.patch(CLUSTERS, "member1", {"metadata": {"finalizers": None}})
    world.start_controllers()
    await world.sleep(5 * MINUTES)
    assert await state(world) == before
    assert not await brake_engaged(world)
    await world.member("member3").stop()
    await world.until(lambda: world.assigned("else-deployment") == {"member4": 2})
    await world.register(world.member("member1"), world.client)
    await world.sleep(5 * MINUTES)
    assert world.assigned("there-deployment") == {"member1": 1, "member2": 1}


@pytest.mark.parametrize("leaving", [["member1"], ["member1", "member3"], ["member1", "member2", "member3"]])
@in_world(PUSH)
async def test_clusters_that_are_unjoined_are_gone(world: World, leaving: list[str]) -> None:
    """One, several, and all."""
    await apply(world.client, deployment("web", 3), policy("web", by_weight(dict.fromkeys(PUSH, 1))))
    await world.until(lambda: len(world.assigned("web-deployment")) == 3, 60)
    await world.sleep(30)
    for name in leaving:
        await unjoin_cluster(world.client, name, world.clock, force=False, wait_seconds=60)
    await world.sleep(30)
    assert await ready_replicas(world, leaving[-1], "web") == -1
    spaces = {namespace.name for namespace in (await world.client.list(NAMESPACES)).items}
    assert not spaces & set(map(execution_space, leaving))
    staying = set(PUSH) - set(leaving)
    assert set(world.assigned("web-deployment")) == staying
    assert sum(world.assigned("web-deployment").values()) == (3 if staying else 0)
    found = [c for c in (await world.client.list(CONFIG_MAPS, SYSTEM_NAMESPACE)).items if c.name == BRAKE_NAME]
    assert not any(parse_brake(config_map.data).engaged for config_map in found)


async def space_of(world: World, cluster: str) -> None:
    """Makes the execution space of a cluster, as `karmadactl register` does before the agent makes the Cluster."""
    metadata = ObjectMeta(name=execution_space(cluster), labels={"karmada.io/system": "true"})
    await world.client.create(NAMESPACES, Namespace(metadata=metadata))


async def alarms(world: World) -> list[str]:
    """Alarms about vanished clusters, in events and in `leeward status`."""
    events = [e.message for e in (await world.client.list(EVENTS)).items if e.reason == "ClustersVanished"]
    state = await look_at_fleet(world.client, world.clock)
    return [*events, *(each.sentence for each in state.findings if "vanished" in each.sentence)]


@in_world(PUSH)
async def test_a_member_that_registers_has_not_vanished(world: World) -> None:
    """Registration makes the execution space first, and the agent takes its time; the controllers restart meanwhile."""
    await space_of(world, "edge-1")
    await world.sleep(2 * MINUTES)
    await world.stop_controllers()
    world.start_controllers()
    await world.sleep(2 * MINUTES)
    assert await alarms(world) == []
    assert not await brake_engaged(world)


@in_world(PUSH)
async def test_s5_clusters_that_were_seen_have_vanished_also_where_nothing_was_placed_in_them(world: World) -> None:
    await world.sleep(MINUTES)
    assert not (await world.client.list(WORKS)).items
    with no_clusters(world):
        await world.sleep(2 * MINUTES)
        assert await brake_engaged(world)
        message = await brake_message(world)
        assert all(name in message for name in PUSH)
    await world.sleep(5 * MINUTES)
    assert not await brake_engaged(world)
