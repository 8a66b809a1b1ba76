"""A leader goes by its shards' word in a Work that all of them render a generation, whatever happens just then.

No status of a binding is written in these stories, as in a burst: the leader has nothing else to go by. Member1 is
drained, so its copies serve until the leader lets them go.
"""

from collections.abc import Awaitable, Callable

import pytest

from kubeapi.codec import to_wire
from kubeapi.meta import Manifest
from kubeapi.transport import Response
from kubeclient import Request
from kubecluster.network import Answering
from kubeserver.handler import StreamResponse
from leeward.api.names import work_name
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS, WORKS
from leeward.api.work import Work
from leeward.core.copies.evidence import is_current
from leeward.core.left_to_shards import renders
from leeward.sim.world import Mode, World
from tests.world.stories import DEPLOYMENTS, apply, by_weight, deployment, play, policy, ready_replicas, tasks
from tests.world.test_shards import TWO, Processes

APPLICATIONS = ("web-0", "web-1")
REPLICAS = 4
ON_BOTH = by_weight({"member1": 1, "member2": 1})
DRAIN: Manifest = {"spec": {"taints": [{"key": "example.com/maintenance", "effect": "NoExecute"}]}}
Attack = Callable[[World, Processes], Awaitable[None]]


async def nothing(world: World, processes: Processes) -> None:
    """The shards' word stands."""


async def rewrite(world: World, processes: Processes) -> None:
    """A person has the Works ask for what there was before."""
    for name in APPLICATIONS:
        work = last_work(world, name)
        manifest = to_wire(work.spec.workload.manifests[0])
        manifest["spec"]["replicas"] = REPLICAS // 2
        patch = {"spec": {"workload": {"manifests": [manifest]}}}
        await world.client.patch(WORKS, work.name, patch, work.namespace)


async def delete(world: World, processes: Processes) -> None:
    """A person deletes the Works."""
    for name in APPLICATIONS:
        work = last_work(world, name)
        await world.client.delete(WORKS, work.name, work.namespace)


async def suspend(world: World, processes: Processes) -> None:
    """A person has nothing more dispatched."""
    for name in APPLICATIONS:
        patch = {"spec": {"suspension": {"dispatching": True}}}
        await world.client.patch(RESOURCE_BINDINGS, f"{name}-deployment", patch, "default")


async def scale(world: World, processes: Processes) -> None:
    """A person asks for more: the word is of an older generation."""
    for name in APPLICATIONS:
        await world.client.patch(DEPLOYMENTS, name, {"spec": {"replicas": 2 * REPLICAS}}, "default")


async def lose_shards(world: World, processes: Processes) -> None:
    """The shards die, and others come after a while."""
    for shard in processes.shards:
        shard.life.end()
    await world.sleep(60)
    for index in range(2):
        processes.shard(index, f"second of shard {index}").start()


async def lose_leader(world: World, processes: Processes) -> None:
    """The next leader reads the word of before it."""
    processes.leader.life.end()
    processes.candidate("second leader", TWO).start()


async def do_all(world: World, processes: Processes) -> None:
    """A process that does all itself takes over."""
    for process in (processes.leader, *processes.shards):
        process.life.end()
    processes.candidate("alone").start()


def last_work(world: World, name: str) -> Work:
    found = world.work("member2", work_name("Deployment", name, "default"))
    assert found is not None
    return found


def is_said(world: World, name: str) -> bool:
    binding = world.binding(f"{name}-deployment")
    assert binding is not None
    is_moving = bool(binding.spec.graceful_eviction_tasks)
    return is_moving and renders(binding).items() <= last_work(world, name).metadata.annotations.items()


async def serving(world: World, name: str) -> int:
    counts = [await ready_replicas(world, member, name) for member in world.members]
    return sum(max(0, count) for count in counts)


ENDS = {nothing, rewrite, scale, lose_shards, lose_leader}
"""Attacks after which the shards' word ends the move, without a status."""


@pytest.mark.parametrize("mode", ["Push", pytest.param("Pull", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "attack",
    [
        nothing,
        rewrite,
        *(pytest.param(each, marks=pytest.mark.long) for each in (delete, suspend, scale, lose_shards, lose_leader)),
        pytest.param(do_all, marks=pytest.mark.long),
    ],
)
def test_a_leader_lets_no_copy_go_that_is_not_replaced(attack: Attack, mode: Mode) -> None:
    """A Pull member's agent may delete what a person has deleted before anybody says that it stays. Holds: S1."""
    least = REPLICAS // 2 if (attack, mode) == (delete, "Pull") else REPLICAS

    async def story(world: World) -> None:
        processes = Processes(world)
        await processes.start()
        for name in APPLICATIONS:
            await apply(world.client, deployment(name, REPLICAS), policy(name, ON_BOTH))
        await world.sleep(60)
        world.place.audit = refuse_statuses
        await world.client.patch(CLUSTERS, "member1", DRAIN)
        await processes.wait(lambda: all(is_said(world, name) for name in APPLICATIONS), 30)
        assert not any(is_current(binding) for n in APPLICATIONS if (binding := world.binding(f"{n}-deployment")))
        await attack(world, processes)
        for _ in range(150):
            await world.sleep(1)
            assert min([await serving(world, name) for name in APPLICATIONS]) >= least
        for name in APPLICATIONS if attack in ENDS else ():
            assert not tasks(world, f"{name}-deployment")
            assert await ready_replicas(world, "member1", name) == -1

    play(story, {"member1": "Push", "member2": mode})


async def refuse_statuses(request: Request, answer: Callable[[], Answering]) -> Response | StreamResponse:
    if "/resourcebindings/" in request.path and request.path.endswith("/status"):
        return Response(500, b'{"kind":"Status","apiVersion":"v1","code":500,"message":"away"}', {})
    return await answer()
