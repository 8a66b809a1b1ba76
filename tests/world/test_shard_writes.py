"""Writes with shards: as many as without, since each status of a binding has one writer; and what of that is lost when
that writer is away."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.transport import Response
from kubeclient import Request
from kubecluster.network import Answering
from kubeserver.handler import StreamResponse
from leeward.api.meta import find_condition
from leeward.api.names import execution_space, work_name
from leeward.core.copies.evidence import is_current
from leeward.core.left_to_shards import RENDERS_ANNOTATION, renders
from leeward.manager.timing import Timing
from leeward.runtime.work_share import Shard
from leeward.sim.world import World
from tests.world.stories import DEPLOYMENTS, apply, by_weight, deployment, policy
from tests.world.test_reconciliations import ON_TWO
from tests.world.test_shards import TWO, Processes

APPLICATIONS = 40
NODES = 12
ON_WEIGHT = by_weight({"member1": 1, "member2": 1})


class Counted(Processes):
    """A leader with two shards, or one process that does all, and what all of them have written of applications."""

    async def start_alone(self) -> None:
        await self.world.stop_controllers()
        self.leader = self.candidate("alone")
        self.leader.start()
        await self.wait(lambda: self.leader.leads, 30)

    def written(self) -> Counter[str]:
        """Numbers of writes since this was asked last, without those of clusters, their agents and events."""
        counted = Counter[str]()
        for _, request in self.begun:
            parts = request.path.partition("/namespaces/")[2].split("/")
            if len(parts) > 1 and parts[1] in ("resourcebindings", "works", "deployments"):
                counted[" ".join((request.method, *parts[1:2], *parts[3:]))] += 1
        self.begun.clear()
        return counted


def play(story: Callable[[World, Counted], Awaitable[None]], *, alone: bool = False) -> None:
    async def run() -> None:
        world = World(dict.fromkeys(("member1", "member2", "member3"), "Push"), Timing.karmada())
        for member in world.members.values():
            member.nodes = NODES
        async with world:
            await world.until(lambda: all(world.is_ready(name) for name in world.members), 60)
            processes = Counted(world)
            await (processes.start_alone() if alone else processes.start())
            await world.sleep(30)
            processes.written()
            await story(world, processes)

    run_virtual(run())


async def deployed(world: World, placement: Manifest) -> None:
    everywhere = policy("all", placement)
    everywhere["spec"]["resourceSelectors"] = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
    await apply(world.client, everywhere, *(deployment(f"web{index}", 2) for index in range(APPLICATIONS)))
    await world.sleep(100)


def bindings(world: World) -> Iterable[str]:
    return (f"web{index}-deployment" for index in range(APPLICATIONS))


def in_member1(world: World) -> list[str]:
    return [name for name in bindings(world) if "member1" in world.assigned(name)]


def of_shard(index: int, names: Iterable[str]) -> list[str]:
    return [name for name in names if Shard(index, 2).owns(f"default/{name}")]


def told(world: World, name: str) -> tuple[int, bool]:
    """The generation that is said to be scheduled, of a binding, and whether an outage is told."""
    binding = world.binding(name)
    assert binding is not None
    status = binding.status
    is_told = find_condition(status.conditions, "leeward.dev/ClusterOutage") is not None
    return status.scheduler_observed_generation - binding.metadata.generation, is_told


def counts_of(placement: Manifest, *, alone: bool) -> list[Counter[str]]:
    """Writes of a propagation, and of a failover after which all is told."""
    counted: list[Counter[str]] = []

    async def story(world: World, processes: Counted) -> None:
        await deployed(world, placement)
        counted.append(processes.written())
        await world.sleep(400)
        assert not processes.written(), "nothing is written at rest"
        assert len(in_member1(world)) >= APPLICATIONS // 2
        await world.member("member1").stop()
        await world.sleep(1000)
        assert not in_member1(world)
        assert all(told(world, name) == (0, False) for name in bindings(world))
        counted.append(processes.written())

    play(story, alone=alone)
    return counted


@pytest.mark.parametrize("placement", [ON_TWO, ON_WEIGHT], ids=["duplicated", "divided"])
def test_shards_write_as_often_as_one_process(placement: Manifest) -> None:
    assert counts_of(placement, alone=False) == counts_of(placement, alone=True)


def test_a_shard_that_is_handed_over_writes_no_status_once_more() -> None:
    async def story(world: World, processes: Counted) -> None:
        second = processes.shard(0, "second of shard 0", TWO)
        second.start()
        await deployed(world, ON_TWO)
        await world.sleep(400)
        processes.written()
        processes.shards[0].life.end()
        await processes.wait(lambda: second.leads, 60)
        await world.sleep(60)
        assert not processes.written()
        moved = in_member1(world)
        await world.member("member1").stop()
        await world.sleep(600)
        assert not in_member1(world)
        written = processes.written()
        assert written["PATCH resourcebindings"] == 2 * len(moved)
        assert written["PATCH resourcebindings status"] == 2 * len(moved)

    play(story)


@pytest.mark.long
def test_a_shard_that_dies_in_a_failover_costs_each_of_its_bindings_a_status_at_most() -> None:
    async def story(world: World, processes: Counted) -> None:
        second = processes.shard(0, "second of shard 0", TWO)
        second.start()
        await deployed(world, ON_TWO)
        await world.sleep(400)
        moved = in_member1(world)
        await world.member("member1").stop()
        await processes.wait(lambda: len(in_member1(world)) < len(moved), 600)
        processes.shards[0].life.end()
        before = processes.written()["PATCH resourcebindings status"]
        await world.sleep(600)
        assert not in_member1(world)
        assert all(told(world, name) == (0, False) for name in bindings(world))
        after = processes.written()["PATCH resourcebindings status"]
        assert before + after <= APPLICATIONS + 2 * len(moved) + len(of_shard(0, moved))

    play(story)


def test_a_leader_writes_itself_what_no_shard_has_taken_up() -> None:
    async def story(world: World, processes: Counted) -> None:
        await deployed(world, ON_TWO)
        moved = of_shard(0, in_member1(world))
        processes.shards[0].life.end()
        await world.member("member1").stop()
        await processes.wait(lambda: not set(moved) & set(in_member1(world)), 600)
        assert any(told(world, name)[0] for name in moved)
        await world.sleep(100)
        assert [told(world, name)[0] for name in moved] == [0] * len(moved)

    play(story)


def test_no_work_says_that_all_render_a_generation_of_which_one_was_refused() -> None:
    """A copy may go by what a Work says, so nothing is said before it is so. Holds: S1."""
    refused = f"/namespaces/{execution_space('member2')}/works/"

    async def story(world: World, processes: Counted) -> None:
        await apply(world.client, policy("web", by_weight({"member1": 1, "member2": 1})), deployment("web", 2))
        await world.sleep(60)
        is_refusing = True

        async def audit(request: Request, answer: Callable[[], Answering]) -> Response | StreamResponse:
            if is_refusing and request.method == "PUT" and refused in request.path:
                return Response(500, b'{"kind":"Status","apiVersion":"v1","code":500,"message":"away"}', {})
            return await answer()

        world.place.audit = audit
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 6}}, "default")
        await world.sleep(20)
        binding = world.binding("web-deployment")
        assert binding is not None
        assert world.assigned("web-deployment") == {"member1": 3, "member2": 3}
        name = work_name("Deployment", "web", "default")
        own = list(filter(None, (world.work(cluster, name) for cluster in ("member1", "member2"))))
        assert any(RENDERS_ANNOTATION in work.metadata.annotations for work in own)
        said = renders(binding).items()
        assert not [work.namespace for work in own if said <= work.metadata.annotations.items()]
        assert not is_current(binding)
        is_refusing = False
        await world.sleep(60)
        latest = world.binding("web-deployment")
        assert latest is not None
        assert is_current(latest)

    play(story)
