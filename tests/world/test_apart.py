"""The parts of the one decision run apart, as Karmada runs them.

The taint manager evicts, the graceful eviction controller ends tasks, and a scheduler elsewhere only places.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from kubeapi.core import EVENTS, LEASES
from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import format_micro_time
from kubeclient import Client, NotFound
from kubecluster.network import LinkedTransport
from kubeserver.inprocess import ADMIN
from leeward.api.meta import find_condition
from leeward.api.names import EVICTION_HELD_CONDITION, SCHEDULER_LEASE, SYSTEM_NAMESPACE, leader_identity
from leeward.manager.choice import Choice
from leeward.manager.control_plane import ControllerManager
from leeward.manager.settings import EvictionSettings, ManagerSettings
from leeward.sim.world import World
from tests.world.stories import apply, by_weight, deployment, in_world, policy, ready_replicas

NO_EXECUTE = "cluster.karmada.io/not-ready:NoExecute"
ONLY_PLACING = ManagerSettings(controllers=Choice(("scheduler",)), eviction=EvictionSettings(taint_manager=False))
REST = ManagerSettings(controllers=Choice(("-scheduler", "*")))
REST_AND_HALVES = ManagerSettings(controllers=Choice(("-scheduler", "*", "taint-manager", "gracefulEviction")))


@asynccontextmanager
async def managed(world: World, *settings: ManagerSettings) -> AsyncGenerator[None, None]:
    """The world's own controllers are replaced by one manager for each of `settings`."""
    await world.stop_controllers()
    async with Supervisor("managers") as supervisor:
        managers = [
            ControllerManager(
                world.plane(Client(LinkedTransport(world.place, ADMIN)), supervisor),
                lambda cluster, _: Client(LinkedTransport(world.member(cluster.name).place, ADMIN)),
                each,
            )
            for each in settings
        ]
        for manager in managers:
            manager.start()
        yield
        for manager in managers:
            await manager.close()


async def web_runs(world: World) -> None:
    await apply(world.client, deployment("web", 3), policy("web", by_weight({"member1": 1, "member2": 2})))
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 1, "member2": 2}, 60)
    await world.sleep(30)


def tasks(world: World) -> list[str]:
    binding = world.binding("web-deployment")
    return [task.from_cluster for task in binding.spec.graceful_eviction_tasks] if binding is not None else []


@in_world()
async def test_a_failover_goes_end_to_end_with_the_halves_in_two_managers(world: World) -> None:
    async with managed(world, REST_AND_HALVES, ONLY_PLACING):
        await web_runs(world)
        await world.member("member1").stop()
        await world.until(lambda: NO_EXECUTE in world.taints("member1"), 600)
        await world.until(lambda: tasks(world) == ["member1"], 310)
        await world.until(lambda: world.assigned("web-deployment") == {"member2": 3}, 10)
        await world.until(lambda: tasks(world) == [], 60)
        assert await ready_replicas(world, "member2", "web") == 3
        await world.member("member1").start()
        await world.until(lambda: world.is_ready("member1"), 120)
        await world.sleep(10)
        assert await ready_replicas(world, "member1", "web") == -1
        assert world.assigned("web-deployment") == {"member2": 3}


@in_world()
async def test_each_half_can_run_in_a_manager_of_its_own(world: World) -> None:
    evicting = ManagerSettings(controllers=Choice(("taint-manager",)))
    finishing = ManagerSettings(controllers=Choice(("gracefulEviction",)))
    async with managed(world, REST, ONLY_PLACING, evicting, finishing):
        await web_runs(world)
        await world.member("member1").stop()
        await world.until(lambda: tasks(world) == ["member1"], 900)
        await world.until(lambda: world.assigned("web-deployment") == {"member2": 3} and not tasks(world), 60)


@pytest.mark.long
@in_world()
async def test_without_the_taint_manager_nothing_leaves_a_dead_cluster(world: World) -> None:
    async with managed(world, REST, ONLY_PLACING):
        await web_runs(world)
        await world.member("member1").stop()
        await world.until(lambda: NO_EXECUTE in world.taints("member1"), 600)
        await world.sleep(1_200)
        assert world.assigned("web-deployment") == {"member1": 1, "member2": 2}


@pytest.mark.long
@in_world()
async def test_without_the_half_that_ends_them_evictions_stay_open(world: World) -> None:
    evicting = replace(REST_AND_HALVES, controllers=Choice(("-scheduler", "*", "taint-manager")))
    async with managed(world, evicting, ONLY_PLACING):
        await web_runs(world)
        await world.member("member1").stop()
        await world.until(lambda: world.assigned("web-deployment") == {"member2": 3}, 900)
        await world.sleep(1_200)
        assert tasks(world) == ["member1"]


@pytest.mark.long
@in_world()
async def test_where_nobody_places_an_evicted_copy_stays_until_it_is_replaced(world: World) -> None:
    async with managed(world, REST_AND_HALVES, ONLY_PLACING):
        await web_runs(world)
    async with managed(world, REST_AND_HALVES):
        await world.member("member1").stop()
        await world.until(lambda: tasks(world) == ["member1"], 900)
        await world.sleep(1_200)
        assert tasks(world) == ["member1"], "neither time nor health ends what nothing has replaced (S1)"
        binding = world.binding("web-deployment")
        assert binding is not None
        assert binding.spec.clusters[0].replicas == 2


KARMADAS, OURS = "karmada-scheduler-0_6f1c", leader_identity("host", "6f1c")


@asynccontextmanager
async def scheduler_led_by(world: World, holder: str) -> AsyncGenerator[None, None]:
    """The Lease of the scheduler is renewed in the name of `holder`, as client-go does."""

    async def renew() -> None:
        while True:
            now = format_micro_time(world.clock.now())
            spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": now}
            try:
                await world.client.patch(LEASES, SCHEDULER_LEASE, {"spec": spec}, SYSTEM_NAMESPACE)
            except NotFound:
                await world.client.create(
                    LEASES, {"metadata": {"name": SCHEDULER_LEASE}, "spec": spec}, SYSTEM_NAMESPACE
                )
            await world.sleep(2)

    async with Supervisor("foreign scheduler") as supervisor:
        supervisor.start(renew(), "lease")
        yield


@in_world()
async def test_beside_a_foreign_scheduler_the_controller_manager_evicts_by_itself(world: World) -> None:
    async with scheduler_led_by(world, KARMADAS), managed(world, REST, ONLY_PLACING):
        await web_runs(world)
        told = [event for event in (await world.client.list(EVENTS)).items if event.reason == "ForeignScheduler"]
        assert [event.involved_object.name for event in told] == [SCHEDULER_LEASE]
        assert KARMADAS in told[0].message
        await world.member("member1").stop()
        await world.until(lambda: tasks(world) == ["member1"], 900)
        await world.until(lambda: world.assigned("web-deployment") == {"member2": 3} and not tasks(world), 60)


LEFT_OUT = ("-scheduler", "-taint-manager", "*")


@pytest.mark.long
@pytest.mark.parametrize(
    ("holder", "controllers"),
    [("", ("-scheduler", "*")), (OURS, ("-scheduler", "*")), (KARMADAS, LEFT_OUT)],
    ids=["nobody is seen", "a scheduler of ours", "left out"],
)
@in_world()
async def test_the_controller_manager_does_not_evict_by_itself_beside(
    world: World, holder: str, controllers: tuple[str, ...]
) -> None:
    manager = replace(REST, controllers=Choice(controllers))
    async with scheduler_led_by(world, holder), managed(world, manager, ONLY_PLACING):
        await web_runs(world)
        await world.member("member1").stop()
        await world.until(lambda: NO_EXECUTE in world.taints("member1"), 600)
        await world.sleep(400)
        assert world.assigned("web-deployment") == {"member1": 1, "member2": 2}


@pytest.mark.long
@pytest.mark.parametrize(("then", "expected"), [(OURS, {"member1": 1, "member2": 2}), ("", {"member2": 3})])
@in_world()
async def test_evictions_end_where_a_scheduler_of_ours_takes_over_and_not_where_nobody_is_seen(
    world: World, then: str, expected: dict[str, int]
) -> None:
    """Scheduler that takes over, and only places here, so that whoever evicts is seen."""
    async with managed(world, REST, ONLY_PLACING):
        async with scheduler_led_by(world, KARMADAS):
            await web_runs(world)
        async with scheduler_led_by(world, then):
            await world.sleep(30)
            await world.member("member1").stop()
            await world.until(lambda: NO_EXECUTE in world.taints("member1"), 600)
            await world.sleep(400)
            assert world.assigned("web-deployment") == expected


@pytest.mark.long
@in_world()
async def test_s4_the_brake_holds_the_taint_manager_that_runs_apart(world: World) -> None:
    async with managed(world, REST_AND_HALVES, ONLY_PLACING):
        await web_runs(world)
        for name in ("member1", "member2", "member3"):
            world.member(name).pause()
        await world.sleep(1_800)
        assert world.assigned("web-deployment") == {"member1": 1, "member2": 2}
        assert tasks(world) == []
        binding = world.binding("web-deployment")
        assert binding is not None
        assert find_condition(binding.status.conditions, EVICTION_HELD_CONDITION) is None, "no taint, nothing due"
