"""Shards: a leader and the processes that do its work beside it, on the virtual clock."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import msgspec
import pytest

from controller_runtime.identity import Key
from kubeapi.core import LEASES
from kubeclient import Request
from leeward.api.names import BINDING_NAME_ANNOTATION, SYSTEM_NAMESPACE, cluster_of_execution_space
from leeward.manager.control_plane import ControllerManager
from leeward.runtime.sharding import Sharding
from leeward.runtime.work_share import Shard
from leeward.sim.world import World
from simulator.candidate import LEASE, Candidate, ShardCandidate
from tests.world.stories import DEPLOYMENTS, apply, by_weight, deployment, play, policy

LEASE_SECONDS, RETRY_SECONDS = 15, 2
TWO = Sharding(2)
APPLICATIONS = tuple(f"web-{number}" for number in range(8))


@dataclass
class Processes:
    """A leader with two shards, beside nobody else. `begun` are the writes that each has begun."""

    world: World
    begun: list[tuple[str, Request]] = field(default_factory=list[tuple[str, Request]])
    leader: Candidate = field(init=False)
    shards: list[ShardCandidate] = field(init=False)

    def __post_init__(self) -> None:
        self.leader = self.candidate("leader", TWO)
        self.shards = [self.shard(index, f"shard {index}") for index in range(2)]

    def candidate(self, name: str, sharding: Sharding | None = None) -> Candidate:
        return Candidate(self.world, name, self._note, sharding)

    def shard(self, index: int, name: str, sharding: Sharding = TWO) -> ShardCandidate:
        return ShardCandidate(self.world, name, self._note, index, sharding)

    def _note(self, name: str, request: Request) -> None:
        self.begun.append((name, request))

    def writes_of(self, name: str) -> int:
        return sum(who == name for who, _ in self.begun)

    def by_kind(self, plural: str, method: str = "POST", subresource: str = "") -> list[tuple[str, Request]]:
        """Requests that were begun about objects of a kind, except by those who only speak of them."""
        ends = (plural, "") if method == "POST" else (plural, subresource)
        return [(who, each) for who, each in self.begun if each.method == method and _about(each) == ends]

    async def start(self) -> None:
        await self.world.stop_controllers()
        for process in (self.leader, *self.shards):
            process.start()
        await self.wait(lambda: all(shard.leads for shard in self.shards), 30)

    async def wait(self, holds: Callable[[], bool], seconds: float) -> float:
        """Waits until it holds, and gives the seconds that it took. Fails after so many seconds."""
        started = self.world.seconds
        while not holds():
            assert self.world.seconds < started + seconds, "it does not come to pass"
            await self.world.sleep(0.05)
        return self.world.seconds - started

    async def holder_of(self, lease: str) -> str:
        return (await self.world.client.get(LEASES, lease, SYSTEM_NAMESPACE)).spec.holder_identity


def play_shards(story: Callable[[World, Processes], Awaitable[None]]) -> None:
    async def played(world: World) -> None:
        processes = Processes(world)
        await processes.start()
        await story(world, processes)

    play(played)


async def applications_run(world: World) -> None:
    for name in APPLICATIONS:
        await apply(world.client, deployment(name, 3), policy(name, by_weight({"member1": 1, "member2": 2})))
    await world.until(lambda: all(_runs(world, name) for name in APPLICATIONS), 120)


def _runs(world: World, name: str) -> bool:
    binding = world.binding(f"{name}-deployment")
    statuses = binding.status.aggregated_status if binding is not None else ()
    return {status.cluster_name for status in statuses if status.health == "Healthy"} == {"member1", "member2"}


def _all_have(world: World, replicas: int) -> bool:
    return all(sum(world.assigned(f"{name}-deployment").values()) == replicas for name in APPLICATIONS)


def _about(request: Request) -> tuple[str, str]:
    """The plural of what is written, and the subresource."""
    parts = [*request.path.split("/namespaces/")[-1].split("/")[1:], "", "", ""]
    return parts[0], parts[2]


def _body(request: Request) -> dict[str, Any]:
    return msgspec.json.decode(request.body or b"{}")


def test_each_write_is_that_of_the_process_whose_work_it_is() -> None:
    async def story(world: World, processes: Processes) -> None:
        await applications_run(world)
        makers = Counter[str]()
        for who, request in processes.by_kind("works"):
            metadata = _body(request)["metadata"]
            name = metadata.get("annotations", {}).get(BINDING_NAME_ANNOTATION)
            space = cluster_of_execution_space(metadata["namespace"])
            owned = str(Key("default", name)) if name else space
            assert Shard(int(who[-1]), 2).owns(owned), (who, metadata)
            makers[who] += bool(name)
        assert makers.keys() == {"shard 0", "shard 1"}
        assert makers.total() == 2 * len(APPLICATIONS)
        for who, request in processes.by_kind("resourcebindings"):
            assert Shard(int(who[-1]), 2).owns(str(Key("default", _body(request)["metadata"]["name"]))), who
        placed = {who for who, _ in processes.by_kind("resourcebindings", "PATCH")}
        assert "leader" in placed, "the scheduler is the leader's"
        reporters = processes.by_kind("works", "PATCH", "status")
        assert reporters
        for who, request in reporters:
            space = request.path.split("/namespaces/")[1].split("/")[0]
            assert Shard(int(who[-1]), 2).owns(cluster_of_execution_space(space)), (who, request.path)

    play_shards(story)


@pytest.mark.long
def test_s8_a_shard_that_dies_is_replaced_within_lease_and_retry_and_nothing_is_written() -> None:
    async def story(world: World, processes: Processes) -> None:
        second = processes.shard(0, "second of shard 0")
        second.start()
        await applications_run(world)
        await world.sleep(60)
        processes.shards[0].life.end()
        took = await processes.wait(lambda: second.leads, 60)
        assert took <= LEASE_SECONDS + 2 * RETRY_SECONDS
        await world.sleep(60)
        assert processes.writes_of(second.name) == 0, "what is unchanged is not written"
        grown = [name for name in APPLICATIONS if Shard(0, 2).owns(str(Key("default", f"{name}-deployment")))]
        await world.client.patch(DEPLOYMENTS, grown[0], {"spec": {"replicas": 6}}, "default")
        await world.until(lambda: world.assigned(f"{grown[0]}-deployment") == {"member1": 2, "member2": 4}, 60)
        assert processes.writes_of(second.name)

    play_shards(story)


@pytest.mark.long
def test_s8_a_shard_that_was_paused_begins_nothing_of_what_it_had_decided() -> None:
    async def story(world: World, processes: Processes) -> None:
        first, second = processes.shards[0], processes.shard(0, "second of shard 0")
        second.start()
        await applications_run(world)
        first.life.pause()
        written = processes.writes_of(first.name)
        for name in APPLICATIONS:
            await world.client.patch(DEPLOYMENTS, name, {"spec": {"replicas": 6}}, "default")
        await processes.wait(lambda: second.leads, 60)
        await world.until(lambda: _all_have(world, 6), 60)
        first.life.resume()
        await world.sleep(60)
        assert first.refused, "it wants to write what came while it was paused"
        assert processes.writes_of(first.name) == written, "and sends nothing of it"
        assert not first.leads

    play_shards(story)


@pytest.mark.long
def test_s8_a_shard_begins_nothing_when_the_lease_of_its_leader_may_have_run_out() -> None:
    async def story(world: World, processes: Processes) -> None:
        await applications_run(world)
        processes.leader.life.end()
        renewed = (await world.client.get(LEASES, LEASE, SYSTEM_NAMESPACE)).spec.renew_time
        assert renewed is not None
        await processes.wait(lambda: not any(shard.leads for shard in processes.shards), 60)
        ended = world.clock.now() - renewed
        assert ended.total_seconds() <= LEASE_SECONDS, "nobody can have taken it by then"
        written = len(processes.begun)
        for name in APPLICATIONS:
            await world.client.patch(DEPLOYMENTS, name, {"metadata": {"labels": {"a": "b"}}}, "default")
        await world.sleep(60)
        assert len(processes.begun) == written
        assert any(shard.refused for shard in processes.shards)

    play_shards(story)


@pytest.mark.long
def test_shards_go_on_as_they_are_under_the_next_leader_of_the_same_sharding() -> None:
    async def story(world: World, processes: Processes) -> None:
        other = processes.candidate("other leader", TWO)
        other.start()
        await applications_run(world)
        starts: list[ControllerManager] = []
        start = ControllerManager.start

        def begin(manager: ControllerManager) -> None:
            starts.append(manager)
            start(manager)

        with mock.patch.object(ControllerManager, "start", begin):
            processes.leader.life.end()
            await processes.wait(lambda: other.leads, 60)
            await processes.wait(lambda: all(shard.leads for shard in processes.shards), 3 * RETRY_SECONDS)
            for name in APPLICATIONS:
                await world.client.patch(DEPLOYMENTS, name, {"spec": {"replicas": 6}}, "default")
            await world.until(lambda: _all_have(world, 6), 60)
        assert len(starts) == 1, "the leader's work begins, and that of shards goes on"

    play_shards(story)


@pytest.mark.long
@pytest.mark.parametrize("stops", [False, True])
def test_s8_beside_a_leader_that_does_all_itself_no_shard_acts(stops: bool) -> None:
    """This holds also where the shard gets the lease before it has run out, since the leader has stopped in order."""

    async def story(world: World, processes: Processes) -> None:
        undivided = processes.candidate("undivided")
        undivided.start()
        await applications_run(world)
        if stops:
            await processes.leader.stop()
        else:
            processes.leader.life.end()
        together = False
        while not undivided.leads:
            await world.sleep(0.05)
            together = together or (undivided.leads and any(shard.leads for shard in processes.shards))
        assert not together
        written = [processes.writes_of(shard.name) for shard in processes.shards]
        for name in APPLICATIONS:
            await world.client.patch(DEPLOYMENTS, name, {"spec": {"replicas": 6}}, "default")
        await world.until(lambda: _all_have(world, 6), 90)
        await world.sleep(30)
        assert [processes.writes_of(shard.name) for shard in processes.shards] == written

    play_shards(story)


def test_a_leader_gives_its_lease_back_once_no_shard_holds_one() -> None:
    async def story(world: World, processes: Processes) -> None:
        for shard in processes.shards:
            await shard.stop()
        await processes.leader.stop()
        assert await processes.holder_of(LEASE) == ""

    play_shards(story)


def test_a_leader_that_stops_before_its_shards_lets_its_lease_run_out() -> None:
    async def story(world: World, processes: Processes) -> None:
        await processes.leader.stop()
        assert await processes.holder_of(LEASE) == "leader"
        await processes.wait(lambda: not any(shard.leads for shard in processes.shards), 2 * RETRY_SECONDS)

    play_shards(story)


@pytest.mark.long
def test_s8_shards_of_another_number_wait_for_a_leader_that_says_so() -> None:
    async def story(world: World, processes: Processes) -> None:
        three = Sharding(3)
        others = [processes.shard(index, f"third {index}", three) for index in range(3)]
        successor = processes.candidate("leader of three", three)
        for process in (*others, successor):
            process.start()
        await applications_run(world)
        assert not any(processes.writes_of(other.name) for other in others)
        processes.leader.life.end()
        await processes.wait(lambda: all(other.leads for other in others), 60)
        assert not any(shard.leads for shard in processes.shards)

    play_shards(story)


@pytest.mark.long
def test_applications_of_a_dead_cluster_move_under_shards() -> None:
    async def story(world: World, processes: Processes) -> None:
        await applications_run(world)
        world.member("member1").crash_apiserver()
        moved = {"member2": 3}
        await world.until(lambda: all(world.assigned(f"{n}-deployment") == moved for n in APPLICATIONS), 900)

    play_shards(story)
