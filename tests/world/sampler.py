"""A sampler: it looks at a Deployment in all members each second, also in those that the controllers do not reach."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from kubeclient import NotFound, Unreachable
from leeward.sim.world import World
from tests.world.stories import DEPLOYMENTS


@dataclass(slots=True)
class Samples:
    """`ready` has the ready replicas of each second; `moves` each other set of targets that the binding then had."""

    ready: list[int] = field(default_factory=list[int])
    copies: list[Mapping[str, int]] = field(default_factory=list[Mapping[str, int]])
    moves: list[Mapping[str, int]] = field(default_factory=list[Mapping[str, int]])
    uids: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """All uids that the object has had, by member."""

    @property
    def fewest(self) -> int:
        return min(self.ready)


async def running(world: World, name: str, uids: dict[str, set[str]] | None = None) -> dict[str, int]:
    """Ready replicas in each member that is up and has the Deployment."""
    found: dict[str, int] = {}
    for member in world.members:
        there = world.member(member)
        if not there.is_up:
            continue
        try:
            seen = await there.client.get(DEPLOYMENTS, name, "default")
        except (NotFound, Unreachable):
            continue
        found[member] = seen.get("status", {}).get("readyReplicas", 0)
        if uids is not None:
            uids.setdefault(member, set()).add(seen["metadata"]["uid"])
    return found


@asynccontextmanager
async def sampled(world: World, name: str = "web") -> AsyncGenerator[Samples]:
    """Samples the Deployment and its binding until the block ends."""
    samples = Samples()

    async def look() -> None:
        while True:
            copies = await running(world, name, samples.uids)
            samples.ready.append(sum(copies.values()))
            if not samples.copies or samples.copies[-1] != copies:
                samples.copies.append(copies)
            assigned = world.assigned(f"{name}-deployment")
            if not samples.moves or samples.moves[-1] != assigned:
                samples.moves.append(assigned)
            await asyncio.sleep(1)

    task = asyncio.get_running_loop().create_task(look())
    try:
        yield samples
    finally:
        task.cancel()
