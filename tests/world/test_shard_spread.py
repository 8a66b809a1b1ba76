"""Shards over machines: each machine runs all candidates, and they come to equal parts, by Leases alone."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import pytest

from kubeapi.core import LEASES
from kubeclient import Request
from leeward.api.names import SHARD_ASKED_FOR_ANNOTATION, SYSTEM_NAMESPACE, host_of_leader
from leeward.runtime.shard_spread import LOOK_SECONDS
from leeward.runtime.sharding import Sharding
from leeward.sim.world import World
from simulator.candidate import Candidate, ShardCandidate
from tests.world.stories import DEPLOYMENTS, apply, by_weight, deployment, play, policy

FOUR, LEADER = Sharding(4), "leader"
LEASE_SECONDS, RETRY_SECONDS = 15, 2
APPLICATIONS = tuple(f"web-{number}" for number in range(6))
SPREAD_SECONDS = 8 * LOOK_SECONDS
"""Two shards move, each is asked for at one look and given at another; a machine that begins has two looks before."""


@dataclass
class Machines:
    """A leader, and machines that each run a candidate for every shard. `begun` are the writes that each has begun."""

    world: World
    begun: list[tuple[str, Request]] = field(default_factory=list[tuple[str, Request]])
    shards: dict[str, Sequence[ShardCandidate]] = field(default_factory=dict[str, Sequence[ShardCandidate]])
    acted_together: bool = False

    @property
    def of_shards(self) -> list[str]:
        """The candidates that began a write, in that order; the leader goes on meanwhile."""
        return [name for name, _ in self.begun if name != LEADER]

    async def start(self) -> None:
        await self.world.stop_controllers()
        Candidate(self.world, LEADER, self._note, FOUR).start()

    def begin(self, host: str, incarnation: int = 0) -> None:
        names = [f"{host} shard {index} {incarnation}" for index in range(FOUR.shards)]
        made = [
            ShardCandidate(self.world, name, self._note, index, FOUR, host=host) for index, name in enumerate(names)
        ]
        self.shards[host] = made
        for candidate in made:
            candidate.start()

    def die(self, host: str) -> None:
        for candidate in self.shards.pop(host):
            candidate.life.end()

    def held_by(self, host: str) -> list[int]:
        return [index for index, candidate in enumerate(self.shards.get(host, ())) if candidate.leads]

    async def wait(self, holds: Callable[[], bool], seconds: float) -> float:
        """Waits until it holds, and sees meanwhile whether two act for one shard. Fails after so many seconds."""
        started = self.world.seconds
        while not holds():
            assert self.world.seconds < started + seconds, {host: self.held_by(host) for host in self.shards}
            await self.world.sleep(0.1)
            held = [index for host in self.shards for index in self.held_by(host)]
            self.acted_together = self.acted_together or len(held) != len(set(held))
        return self.world.seconds - started

    def _note(self, name: str, request: Request) -> None:
        self.begun.append((name, request))


def play_machines(story: Callable[[World, Machines], Awaitable[None]]) -> None:
    async def played(world: World) -> None:
        machines = Machines(world)
        await machines.start()
        machines.begin("a")
        await machines.wait(lambda: len(machines.held_by("a")) == FOUR.shards, 60)
        for name in APPLICATIONS:
            await apply(world.client, deployment(name, 3), policy(name, by_weight({"member1": 1, "member2": 2})))
        await world.until(lambda: _all_have(world, 3), 120)
        await world.sleep(60)
        await story(world, machines)
        assert not machines.acted_together

    play(played)


def _all_have(world: World, replicas: int) -> bool:
    return all(sum(world.assigned(f"{name}-deployment").values()) == replicas for name in APPLICATIONS)


def _are_spread(machines: Machines) -> bool:
    return [len(machines.held_by(host)) for host in ("a", "b")] == [2, 2]


async def scale(world: World, replicas: int) -> None:
    for name in APPLICATIONS:
        await world.client.patch(DEPLOYMENTS, name, {"spec": {"replicas": replicas}}, "default")
    await world.until(lambda: _all_have(world, replicas), 60)


@pytest.mark.long
def test_s8_shards_come_to_equal_parts_on_two_machines_and_nothing_is_written() -> None:
    async def story(world: World, machines: Machines) -> None:
        written = len(machines.of_shards)
        machines.begin("b")
        await machines.wait(lambda: _are_spread(machines), SPREAD_SECONDS)
        await world.sleep(4 * LOOK_SECONDS)
        assert _are_spread(machines), "and stay so"
        assert len(machines.of_shards) == written, "a hand-over writes nothing but Leases"
        await scale(world, 6)
        who = {name.split()[0] for name in machines.of_shards[written:]}
        assert who == {"a", "b"}

    play_machines(story)


@pytest.mark.long
def test_s8_shards_of_a_machine_that_dies_are_taken_over_within_a_lease_and_spread_when_it_is_back() -> None:
    async def story(world: World, machines: Machines) -> None:
        machines.begin("b")
        await machines.wait(lambda: _are_spread(machines), SPREAD_SECONDS)
        written = len(machines.of_shards)
        machines.die("a")
        took = await machines.wait(lambda: len(machines.held_by("b")) == FOUR.shards, 60)
        assert took <= LEASE_SECONDS + 2 * RETRY_SECONDS
        machines.begin("a", 1)
        await machines.wait(lambda: _are_spread(machines), SPREAD_SECONDS)
        assert len(machines.of_shards) == written
        await scale(world, 6)

    play_machines(story)


@pytest.mark.long
def test_s8_a_holder_that_is_paused_when_it_is_asked_begins_nothing_afterwards() -> None:
    async def story(world: World, machines: Machines) -> None:
        machines.begin("b")
        asked = await _asked_for(world, machines)
        holder = machines.shards["a"][asked]
        holder.life.pause()
        written = machines.of_shards.count(holder.name)
        await scale(world, 6)
        await machines.wait(lambda: asked in machines.held_by("b"), 60)
        holder.life.resume()
        await machines.wait(lambda: _are_spread(machines), SPREAD_SECONDS)
        assert machines.of_shards.count(holder.name) == written

    play_machines(story)


@pytest.mark.long
def test_one_who_has_asked_and_is_gone_costs_one_pause() -> None:
    async def story(world: World, machines: Machines) -> None:
        machines.begin("b")
        asked = await _asked_for(world, machines)
        machines.die("b")
        await machines.wait(lambda: asked not in machines.held_by("a"), 2 * LOOK_SECONDS)
        took = await machines.wait(lambda: asked in machines.held_by("a"), 60)
        assert took <= LEASE_SECONDS + 2 * RETRY_SECONDS + LOOK_SECONDS / 10
        lease = await world.client.get(LEASES, FOUR.lease_of(asked), SYSTEM_NAMESPACE)
        assert SHARD_ASKED_FOR_ANNOTATION not in lease.metadata.annotations
        for _ in range(5):
            await world.sleep(LOOK_SECONDS)
            assert len(machines.held_by("a")) == FOUR.shards

    play_machines(story)


async def _asked_for(world: World, machines: Machines) -> int:
    """The shard that machine b asks for, once it does."""
    started = world.seconds
    while True:
        for index, name in enumerate(FOUR.leases):
            lease = await world.client.get(LEASES, name, SYSTEM_NAMESPACE)
            if host_of_leader(lease.metadata.annotations.get(SHARD_ASKED_FOR_ANNOTATION, "")) == "b":
                return index
        assert world.seconds < started + SPREAD_SECONDS
        await world.sleep(1)
