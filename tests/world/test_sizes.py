"""Replacements are made as large as what they replace, whoever decided how many replicas that has."""

import pytest

from kubeapi.meta import Manifest
from leeward.api.names import RETAIN_REPLICAS_LABEL
from leeward.operations.drain import start_drain, undo_drain
from leeward.sim.world import World
from tests.world.stories import (
    DEPLOYMENTS,
    POLICIES,
    apply,
    by_weight,
    play,
    policy,
    ready_replicas,
    tasks,
    without_room,
)
from tests.world.test_autoscaled import AUTOSCALERS, NAMED, TWO, WEB, autoscaler, load, replicas, web
from tests.world.test_overrides import OVERRIDES, only, overriding, replacing

ONE_OF_TWO = {
    "clusterAffinity": {"clusterNames": list(TWO)},
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
}
BOTH = by_weight(dict.fromkeys(TWO, 1))


async def scaled(world: World, placement: Manifest, loads: dict[str, str], *, label: bool = False) -> None:
    """Four replicas, with an autoscaler in each member that has followed its load."""
    made, scaler = web(), autoscaler()
    scaler["spec"]["maxReplicas"] = 12
    if label:
        made["metadata"]["labels"][RETAIN_REPLICAS_LABEL] = "true"
    await apply(world.client, made, policy("web", placement))
    everywhere = policy(
        "web", {"clusterAffinity": {"clusterNames": list(TWO)}}, AUTOSCALERS.kind, AUTOSCALERS.api_version
    )
    everywhere["metadata"]["name"] = "scaler"
    await world.client.create(AUTOSCALERS, scaler, "default")
    await world.client.create(POLICIES, everywhere, "default")
    await world.until(lambda: sum(world.assigned(WEB).values()) == 4, 60)
    await world.sleep(30)
    for name, cpu in loads.items():
        await load(world, name, cpu)
    await world.sleep(180)


async def serving(world: World) -> dict[str, int]:
    return {name: max(0, await ready_replicas(world, name, "web")) for name in world.members}


async def until_left(world: World, name: str, least: int, seconds: int = 900) -> dict[str, int]:
    """Waits until the member has no copy any more; no fewer than these serve at any second."""
    for _ in range(seconds):
        found = await serving(world)
        assert sum(found.values()) >= least, found
        if await ready_replicas(world, name, "web") < 0:
            return found
        await world.sleep(1)
    raise AssertionError(f"{name} still has its copy: {await serving(world)}")


async def bounds(world: World, name: str) -> tuple[int, int]:
    spec = (await world.member(name).client.get(AUTOSCALERS, "web", "default"))["spec"]
    return spec["minReplicas"], spec["maxReplicas"]


@pytest.mark.parametrize("by", ["its user", "the controller"])
def test_s1_a_drain_keeps_the_replicas_that_an_autoscaler_has_added(by: str) -> None:
    async def story(world: World) -> None:
        await scaled(world, ONE_OF_TWO, {"member1": "600m"}, label=by == "its user")
        assert await serving(world) == {"member1": 12, "member2": 0}
        await start_drain(world.client, "member1", None)
        assert await until_left(world, "member1", 12) == {"member1": 0, "member2": 12}
        await load(world, "member2", "600m")
        await world.sleep(600)
        assert (await replicas(world, "member2"), await bounds(world, "member2")) == (12, (1, 12))
        assert tasks(world, WEB) == []

    play(story, TWO, manager=NAMED if by == "the controller" else None)


def test_s1_a_drain_ends_whose_target_has_an_autoscaler_that_wants_less() -> None:
    """Fourteen replicas serve before it. The autoscaler of the target makes twelve at most."""

    async def story(world: World) -> None:
        await scaled(world, BOTH, {"member1": "600m", "member2": "100m"})
        assert await serving(world) == {"member1": 12, "member2": 2}
        await start_drain(world.client, "member1", None)
        assert await until_left(world, "member1", 12) == {"member1": 0, "member2": 12}
        for _ in range(270):
            await world.sleep(1)
            assert await serving(world) == {"member1": 0, "member2": 12}, "the load is still to arrive"
        await world.sleep(600)
        assert await bounds(world, "member2") == (1, 12)
        assert await serving(world) == {"member1": 0, "member2": 2}, "its own load decides"

    play(story, TWO, manager=NAMED)


def test_s1_a_drain_keeps_what_two_masters_have_made_of_the_replicas() -> None:
    """The label is missing: the control plane sets back the replicas of which the autoscaler makes more."""

    async def story(world: World) -> None:
        await scaled(world, ONE_OF_TWO, {"member1": "600m"})
        await world.until(lambda: world.is_ready("member1"))
        await start_drain(world.client, "member1", None)
        assert await until_left(world, "member1", 4) == {"member1": 0, "member2": 12}

    play(story, TWO)


def test_l1_a_drain_ends_where_an_override_asks_for_fewer_replicas() -> None:
    async def story(world: World) -> None:
        fewer = overriding("web", {"name": "web"}, only("member2"), plaintext=replacing("/spec/replicas", 1))
        await world.client.create(OVERRIDES, fewer, "default")
        await apply(world.client, web(), policy("web", BOTH))
        await world.sleep(60)
        assert await serving(world) == {"member1": 2, "member2": 1}
        await start_drain(world.client, "member1", None)
        assert await until_left(world, "member1", 1) == {"member1": 0, "member2": 1}

    play(story, TWO)


def test_s1_a_drain_that_is_undone_keeps_the_copy_that_an_autoscaler_has_made_larger() -> None:
    async def story(world: World) -> None:
        await scaled(world, ONE_OF_TWO, {"member1": "600m"}, label=True)
        await without_room(world, "member2")
        await start_drain(world.client, "member1", None)
        for _ in range(900):
            await world.sleep(1)
            assert await serving(world) == {"member1": 12, "member2": 0}
        await undo_drain(world.client, "member1")
        await world.sleep(60)
        assert await serving(world) == {"member1": 12, "member2": 0}
        assert (world.assigned(WEB), tasks(world, WEB)) == ({"member1": 4}, [])
        assert await bounds(world, "member1") == (1, 12)

    play(story, TWO)


def test_l2_a_failover_makes_as_many_replicas_as_the_control_plane_asks_for() -> None:
    """The target has an autoscaler that wants fewer, and gets the load of the cluster that is lost."""

    async def story(world: World) -> None:
        await scaled(world, BOTH, {"member1": "300m", "member2": "100m"})
        assert await serving(world) == {"member1": 6, "member2": 2}
        await world.member("member1").stop()
        await world.until(lambda: world.assigned(WEB) == {"member2": 8})
        await world.sleep(60)
        assert await ready_replicas(world, "member2", "web") == 10, "two more than its share were in member1"
        await world.until(lambda: tasks(world, WEB) == [])
        await world.sleep(900)
        assert await bounds(world, "member2") == (1, 12)
        await world.member("member1").start()
        await world.sleep(300)
        assert await bounds(world, "member2") == (1, 12)

    play(story, TWO, manager=NAMED)


def test_s1_a_changed_placement_waits_for_as_many_replicas_as_serve() -> None:
    async def story(world: World) -> None:
        await scaled(world, BOTH, {"member1": "600m", "member2": "100m"})
        only_one = policy("web", by_weight({"member2": 1}))["spec"]
        await world.client.patch(POLICIES, "web", {"spec": only_one}, "default")
        assert await until_left(world, "member1", 12) == {"member1": 0, "member2": 12}

    play(story, TWO, manager=NAMED)


def test_s1_what_members_have_made_larger_is_shared_out_once() -> None:
    """Each look made the Works of the other two larger, without end; copies that retain their replicas stayed small."""

    async def story(world: World) -> None:
        made = web()
        made["spec"]["replicas"] = 6
        made["metadata"]["labels"][RETAIN_REPLICAS_LABEL] = "true"
        await apply(world.client, made, policy("web", by_weight(dict.fromkeys(world.members, 1))))
        await world.until(lambda: sum(world.assigned(WEB).values()) == 6, 60)
        await world.sleep(30)
        await world.member("member1").client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 12}}, "default")
        await world.sleep(60)
        await start_drain(world.client, "member1", None)
        assert await until_left(world, "member1", 16) == {"member1": 0, "member2": 8, "member3": 8}
        await world.sleep(600)
        assert await serving(world) == {"member1": 0, "member2": 8, "member3": 8}

    play(story)
