"""Groups between the writes of two members: the first has moved, and the second one's writes are refused meanwhile."""

from collections.abc import Awaitable, Callable
from typing import Any

from kubeclient import Request, Response
from kubecluster.settings import WorkloadSettings
from leeward.api.resource import CLUSTERS
from leeward.manager.gates import switch_gates
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import World
from tests.world.estimators import WorldEstimator, play_with_estimators
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, held, play, ready_replicas, tasks, with_room, without_room
from tests.world.test_detection import answers, status
from tests.world.test_groups import (
    DB,
    PURGED,
    THREE,
    WEB,
    annotate,
    fail,
    failing_over,
    member_of,
    never_parted,
    place,
    running,
    said,
    serve,
    together,
)
from tests.world.test_quota import asking


def refuse_writes_of(world: World, name: str) -> None:
    def refused(request: Request) -> Response | None:
        is_its = request.method == "PATCH" and request.path.endswith(f"/resourcebindings/{name}")
        return status(500, "InternalError") if is_its else None

    answers(world.place, refused)


async def first_leaves_dead(world: World, home: str) -> str:
    """Returns the place to which the first member has gone."""
    refuse_writes_of(world, DB)
    await world.member(home).stop()
    await world.until(lambda: place(world, WEB) != home, 900)
    return place(world, WEB)


async def with_room_for(world: World, *web_allowed: str) -> None:
    """Two applications of three replicas each, which member1 and member2 have room for, and member3, too."""
    by_room = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
    for name, allowed in (("web", web_allowed), ("db", tuple(THREE))):
        wanted = member_of("shop", name, allowed, **failing_over(600))
        wanted["spec"]["placement"]["replicaScheduling"] = by_room
        await apply(world.client, asking(name, 3), wanted)
    await world.until(lambda: together(world) == "member1", 60)
    await world.sleep(60)


async def room_is_taken(world: World) -> None:
    await world.member("member2").client.create(DEPLOYMENTS, asking("own", 6), "default")
    await world.sleep(20)


def play_by_room(story: Callable[[World, WorldEstimator], Awaitable[None]]) -> None:
    nodes = {name: WorkloadSettings(nodes=2, node_cpu=cpu) for name, cpu in zip(THREE, ("8", "4", "3"), strict=True)}
    sums = switch_gates([("CustomizedClusterResourceModeling", False)])
    play_with_estimators(story, nodes, lambda _: ManagerSettings(gates=sums))


def test_who_was_left_behind_follows_although_its_cluster_is_back() -> None:
    """The first one serves elsewhere before that: its eviction has nothing else to wait for."""

    async def story(world: World) -> None:
        home = await running(world)
        goal = await first_leaves_dead(world, home)
        await world.sleep(60)
        await world.member(home).start()
        await world.sleep(60)
        assert await serve(world, goal, "web")
        answers(world.place, lambda _: None)
        await world.until(lambda: together(world) == goal, 60)
        await world.sleep(120)
        assert await serve(world, goal)
        assert (tasks(world, WEB), tasks(world, DB)) == ([], [])

    play(story, THREE)


def test_who_left_first_follows_who_found_its_place_lost() -> None:
    """The place of the first one is not seen when the second one is written, and is back before it has to be left."""

    async def story(world: World) -> None:
        home = await running(world)
        goal = await first_leaves_dead(world, home)
        await world.member(goal).stop()
        await world.sleep(60)
        answers(world.place, lambda _: None)
        await world.sleep(30)
        await world.member(goal).start()
        await world.until(lambda: together(world) not in ("", home, goal), 60)
        await world.sleep(120)
        await never_parted(world, 60)
        assert await serve(world, together(world))

    play(story, THREE)


def test_where_the_room_is_taken_meanwhile_both_go_on_to_a_third_place() -> None:
    async def story(world: World, _: WorldEstimator) -> None:
        await with_room_for(world, *THREE)
        assert await first_leaves_dead(world, "member1") == "member2"
        await room_is_taken(world)
        answers(world.place, lambda _: None)
        await world.until(lambda: together(world) == "member3", 20)
        await world.sleep(60)
        assert [await ready_replicas(world, "member3", name) for name in ("web", "db")] == [3, 3]

    play_by_room(story)


def test_nobody_is_held_in_a_dead_cluster_that_the_others_have_left() -> None:
    """A hold would keep nobody together: it serves alone, and who would not follow says so."""

    async def story(world: World, _: WorldEstimator) -> None:
        await with_room_for(world, "member1", "member2")
        assert await first_leaves_dead(world, "member1") == "member2"
        await room_is_taken(world)
        answers(world.place, lambda _: None)
        await world.until(lambda: place(world, DB) == "member3", 20)
        await world.until(lambda: held(world, WEB) == "GroupHeld", 20)
        assert "Deployment web cannot move" in said(world, WEB)
        await world.sleep(900)
        assert (place(world, WEB), tasks(world, DB)) == ("member2", [])
        assert await ready_replicas(world, "member3", "db") == 3

    play_by_room(story)


def test_who_serves_where_the_others_left_stays_while_they_have_no_room_for_it() -> None:
    """The cluster is well, and the first one alone has failed there."""

    async def story(world: World, _: WorldEstimator) -> None:
        await with_room_for(world, "member1", "member2")
        refuse_writes_of(world, DB)
        await world.client.patch(POLICIES, "web", {"spec": failing_over(60)}, "default")
        await fail(world, "member1", "web")
        await world.until(lambda: place(world, WEB) == "member2", 300)
        await room_is_taken(world)
        answers(world.place, lambda _: None)
        await world.until(lambda: held(world, DB) == "GroupHeld", 60)
        await world.sleep(300)
        assert (place(world, DB), await ready_replicas(world, "member1", "db")) == ("member1", 3)

    play_by_room(story)


def test_who_was_never_with_the_others_is_not_taken_along() -> None:
    async def story(world: World) -> None:
        await running(world, member_of(None, "web", ("member1", "member3")))
        await running(world, member_of(None, "db", ("member2", "member3")))
        await annotate(world, "web", "shop")
        await annotate(world, "db", "shop")
        await world.member("member1").stop()
        await world.until(lambda: place(world, WEB) == "member3", 900)
        await world.sleep(900)
        assert (place(world, DB), tasks(world, DB)) == ("member2", [])
        assert await serve(world, "member2", "db")

    play(story, THREE)


async def returns_while_the_other_waits(world: World, **of_web: Any) -> str:
    """Both leave a dead cluster, and their new place, which only the first one has left when the dead one is back.

    The second one may not go back. Returns the cluster that was dead.
    """
    home = await running(world, member_of("shop", "web", **of_web), member_of("shop", "db"))
    for name in THREE:
        if name != home:
            await without_room(world, name)
    await world.member(home).stop()
    await world.until(lambda: together(world) not in ("", home), 900)
    narrower = {"spec": {"placement": {"clusterAffinity": {"clusterNames": ["member2", "member3"]}}}}
    await world.client.patch(POLICIES, "db", narrower, "default")
    await world.sleep(10)
    refuse_writes_of(world, DB)
    taints = [{"key": "example.com/maintenance", "effect": "NoExecute"}]
    await world.client.patch(CLUSTERS, together(world), {"spec": {"taints": taints}})
    await world.until(lambda: not together(world), 60)
    await world.member(home).start()
    await world.sleep(120)
    return home


def test_s21_who_left_first_does_not_go_back_without_who_may_not() -> None:
    async def story(world: World) -> None:
        home = await returns_while_the_other_waits(world)
        assert (held(world, WEB), place(world, WEB) != home) == ("GroupHeld", True)
        assert "Deployment db cannot move to member1" in said(world, WEB)
        answers(world.place, lambda _: None)
        await world.until(lambda: bool(together(world)), 60)
        await never_parted(world, 300)
        assert (held(world, WEB), await ready_replicas(world, home, "web")) == ("GroupHeld", 2)

    play(story, THREE)


def test_s21_a_group_that_is_parted_says_so_for_as_long_as_it_is() -> None:
    """The first one was to be purged, and runs on in the cluster that is back: it can be nowhere else."""

    async def story(world: World) -> None:
        home = await returns_while_the_other_waits(world, **PURGED)
        answers(world.place, lambda _: None)
        await world.until(lambda: place(world, DB) == "member3", 60)
        for _ in range(60):
            await world.sleep(10)
            assert (place(world, WEB), await ready_replicas(world, home, "web")) == (home, 2)
            assert held(world, WEB) == "GroupHeld"
        await with_room(world, "member3")
        narrower = {"spec": {"placement": {"clusterAffinity": {"clusterNames": ["member3"]}}}}
        await world.client.patch(POLICIES, "web", narrower, "default")
        await world.until(lambda: together(world) == "member3" and not held(world, DB), 60)

    play(story, THREE)
