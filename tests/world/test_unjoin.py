"""A cluster leaves in every state: alive, dead in Push mode with and without force, dead in Pull mode."""

import pytest

from kubeapi.core import NAMESPACES
from kubeclient import NotFound
from leeward.api.resource import CLUSTERS, WORKS
from leeward.app.leaving import unjoin_cluster
from leeward.app.local.errors import FleetError
from leeward.sim.member import agent_of
from leeward.sim.world import Mode, World
from tests.world.stories import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    apply,
    by_weight,
    deployment,
    in_world,
    play,
    policy,
    ready_replicas,
    tasks,
    without_room,
)
from tests.world.test_kinds import CLUSTER_POLICIES, CRON_TAB_DEFINITION, CRON_TABS, DEFINITIONS, appears, selecting
from tests.world.test_unjudged_kinds import PRIMARY_AND_BACKUP

WAIT_SECONDS = 60


async def web_runs(world: World, *members: str) -> None:
    await apply(world.client, deployment("web", 4), policy("web", by_weight(dict.fromkeys(members, 1))))
    await world.until(lambda: world.assigned("web-deployment") == dict.fromkeys(members, 2), 60)
    await world.sleep(30)


async def unjoin(world: World, name: str, *, force: bool = False, told: list[str] | None = None) -> float:
    """Unjoins, and gives the seconds that it took."""
    started, tell = world.seconds, (told if told is not None else []).append
    await unjoin_cluster(world.client, name, world.clock, force=force, wait_seconds=WAIT_SECONDS, tell=tell)
    return world.seconds - started


async def nothing_is_left_of(world: World, name: str) -> None:
    with pytest.raises(NotFound):
        await world.client.get(CLUSTERS, name)
    with pytest.raises(NotFound):
        await world.client.get(NAMESPACES, f"karmada-es-{name}")
    assert not [work for work in (await world.client.list(WORKS)).items if work.namespace == f"karmada-es-{name}"]


@pytest.mark.parametrize(("leaving", "staying"), [("member1", "member2"), ("member3", "member1")])
@in_world()
async def test_a_cluster_that_is_alive_is_cleaned_up_and_its_replicas_move(
    world: World, leaving: str, staying: str
) -> None:
    await web_runs(world, leaving, staying)
    assert await unjoin(world, leaving) < 20
    await nothing_is_left_of(world, leaving)
    assert await ready_replicas(world, leaving, "web") == -1
    await world.until(lambda: world.assigned("web-deployment") == {staying: 4}, 10)


@pytest.mark.parametrize("mode", ["Push", "Pull"])
@pytest.mark.parametrize("scaled", [False, True])
def test_when_the_backup_leaves_the_application_goes_back_to_the_healthy_primary(mode: Mode, *, scaled: bool) -> None:
    """Scheduling goes around the affinity terms, as a failover does."""

    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 2), policy("web", PRIMARY_AND_BACKUP))
        await world.until(lambda: world.assigned("web-deployment") == {"member1": 2}, 60)
        await world.sleep(30)
        await world.member("member1").stop()
        await world.until(lambda: world.assigned("web-deployment") == {"member2": 2}, 900)
        await world.member("member1").start()
        await world.until(lambda: world.is_ready("member1") and not tasks(world, "web-deployment"), 900)
        await world.sleep(60)
        await unjoin(world, "member2")
        if scaled:
            await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "default")
        expected = 3 if scaled else 2
        await world.until(lambda: world.assigned("web-deployment") == {"member1": expected}, 60)
        await world.sleep(60)
        assert await ready_replicas(world, "member1", "web") == expected

    play(story, {"member1": mode, "member2": "Push"})


@in_world()
async def test_what_has_its_only_copies_in_a_cluster_is_named_before_that_leaves(world: World) -> None:
    await web_runs(world, "member1", "member2")
    await apply(world.client, deployment("api", 1), policy("api", by_weight({"member1": 1})))
    await world.until(lambda: world.assigned("api-deployment") == {"member1": 1}, 60)
    told: list[str] = []
    await unjoin(world, "member1", told=told)
    (sentence,) = told
    assert sentence.startswith("member1 takes the only copies of Deployment default/api along; `leeward drain member1`")


@in_world()
async def test_a_dead_push_cluster_stays_until_it_is_back_and_then_leaves_cleanly(world: World) -> None:
    await web_runs(world, "member1", "member2")
    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"), 120)
    with pytest.raises(FleetError, match=r"cannot be removed while it is not ready .*--force"):
        await unjoin(world, "member1")
    await world.until(lambda: world.assigned("web-deployment") == {"member2": 4}, 10)
    await world.member("member1").start()
    await world.sleep(90)
    await nothing_is_left_of(world, "member1")
    assert await ready_replicas(world, "member1", "web") == -1


@in_world()
async def test_a_dead_push_cluster_leaves_at_once_by_force_and_keeps_what_runs_there(world: World) -> None:
    await web_runs(world, "member1", "member2")
    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"), 120)
    assert await unjoin(world, "member1", force=True) < 20
    await nothing_is_left_of(world, "member1")
    await world.until(lambda: world.assigned("web-deployment") == {"member2": 4}, 10)


@in_world()
async def test_force_gives_a_cluster_that_is_alive_the_time_to_clean_up(world: World) -> None:
    await web_runs(world, "member1", "member2")
    assert await unjoin(world, "member1", force=True) < 20
    assert await ready_replicas(world, "member1", "web") == -1


@in_world()
async def test_by_force_a_cluster_leaves_also_when_it_died_a_moment_ago(world: World) -> None:
    await web_runs(world, "member1", "member2")
    world.member("member1").pause()
    assert world.is_ready("member1")
    assert await unjoin(world, "member1", force=True) < 2 * WAIT_SECONDS
    await nothing_is_left_of(world, "member1")


@in_world()
async def test_a_dead_pull_cluster_leaves_by_itself(world: World) -> None:
    await web_runs(world, "member1", "member3")
    await world.member("member3").stop()
    await world.until(lambda: not world.is_ready("member3"), 120)
    assert await unjoin(world, "member3") < 20
    await nothing_is_left_of(world, "member3")
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 4}, 10)


@in_world()
async def test_of_a_pull_cluster_that_is_only_cut_off_it_is_told_that_what_runs_there_runs_on(world: World) -> None:
    await web_runs(world, "member1", "member3")
    world.link(agent_of("member3"), world.NAME).cut()
    await world.until(lambda: not world.is_ready("member3"), 120)
    told: list[str] = []
    await unjoin(world, "member3", told=told)
    assert told == ["member3 is not ready: what runs there is given up, and runs on if the cluster lives"]
    assert await ready_replicas(world, "member3", "web") == 2


@in_world()
async def test_a_cluster_that_there_is_not_is_named(world: World) -> None:
    with pytest.raises(FleetError, match="there is no cluster 'member9': choose from member1, member2, member3"):
        await unjoin(world, "member9")


@in_world({"member1": "Push", "member2": "Push"})
async def test_a_cluster_that_joins_again_gets_at_once_what_is_still_assigned_to_it(world: World) -> None:
    """Attempts to make its Work while it is away come after ever longer pauses."""
    await web_runs(world, "member1", "member2")
    await without_room(world, "member2")
    await world.member("member1").stop()
    await world.until(lambda: tasks(world, "web-deployment") == ["member1"])
    await unjoin(world, "member1", force=True)
    await world.sleep(20)
    await world.member("member1").start()
    await world.register(world.member("member1"), world.client)
    await world.until(lambda: world.is_ready("member1"), 100)
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 2, "member2": 2}, 120)


@pytest.mark.parametrize("leaving", ["member1", "member3"], ids=["Push", "Pull"])
@pytest.mark.parametrize("how", ["unjoin", "delete the Cluster"])
@in_world()
async def test_what_others_keep_in_a_namespace_of_ours_outlives_the_departure_of_its_cluster_s12(
    world: World, leaving: str, how: str
) -> None:
    """Theirs is a ConfigMap, and an application that its policy preserves."""
    await world.client.create(NAMESPACES, {"metadata": {"name": "shop"}})
    kept = policy("web", by_weight({leaving: 1}))
    kept["spec"]["preserveResourcesOnDeletion"] = True
    await apply(world.client, deployment("web", 2), kept, namespace="shop")
    await world.sleep(40)
    own = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own"}, "data": {"a": "1"}}
    there = world.member(leaving).client
    await there.create(CONFIG_MAPS, own, "shop")
    namespace = (await there.get(NAMESPACES, "shop")).metadata.uid
    running = await there.get(DEPLOYMENTS, "web", "shop")
    if how == "unjoin":
        await unjoin(world, leaving)
    else:
        await world.client.delete(CLUSTERS, leaving)
    await world.sleep(60)
    await nothing_is_left_of(world, leaving)
    assert (await there.get(CONFIG_MAPS, "own", "shop"))["data"] == {"a": "1"}
    assert await ready_replicas(world, leaving, "web", "shop") == 2
    assert (await there.get(NAMESPACES, "shop")).metadata.uid == namespace
    released = await there.get(DEPLOYMENTS, "web", "shop")
    assert (released["metadata"]["uid"], released["spec"]) == (running["metadata"]["uid"], running["spec"])


@in_world()
async def test_custom_resources_of_others_outlive_the_departure_of_a_cluster_with_their_definition_s12(
    world: World,
) -> None:
    there = world.member("member1").client
    await world.client.create(DEFINITIONS, CRON_TAB_DEFINITION)
    placed = selecting(DEFINITIONS, "crontabs.stable.example.com", "member1", "member2")
    await world.client.create(CLUSTER_POLICIES, placed)
    await appears(world, "member1", DEFINITIONS, "crontabs.stable.example.com")
    await world.sleep(20)
    await there.create(CRON_TABS, {"metadata": {"name": "theirs"}, "spec": {"replicas": 1}}, "default")
    await unjoin(world, "member1")
    await world.sleep(60)
    await nothing_is_left_of(world, "member1")
    assert (await there.get(CRON_TABS, "theirs", "default"))["spec"] == {"replicas": 1}
