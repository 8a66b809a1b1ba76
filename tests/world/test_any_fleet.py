"""Story of the walkthrough with other names, weights, numbers and modes: nothing may depend on the example."""

import random
from dataclasses import dataclass

import pytest

from leeward.api.names import work_name
from leeward.sim.world import Mode, World
from tests.world.stories import apply, by_weight, deployment, play, policy, ready_replicas

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jetty")


@dataclass(frozen=True)
class Draw:
    """One fleet, one application, and the member that dies."""

    members: dict[str, Mode]
    weights: dict[str, int]
    application: str
    replicas: int
    victim: str


def draw(seed: int) -> Draw:
    chance = random.Random(seed)
    names = [f"{word}-{chance.randrange(100)}" for word in chance.sample(WORDS, chance.randint(2, 7))]
    members: dict[str, Mode] = {name: "Pull" if chance.random() < 0.3 else "Push" for name in names}
    chosen = chance.sample(names, chance.randint(2, len(names)))
    weights = {name: chance.randint(1, 9) for name in chosen}
    replicas = chance.randint(len(chosen), 30)
    return Draw(members, weights, f"app-{chance.choice(WORDS)}", replicas, chance.choice(chosen))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.long
def test_a_cluster_dies_its_replicas_move_and_nothing_moves_back(seed: int) -> None:
    drawn = draw(seed)
    name, victim = drawn.application, drawn.victim
    binding = f"{name}-deployment"

    async def story(world: World) -> None:
        await apply(world.client, deployment(name, drawn.replicas), policy(name, by_weight(drawn.weights)))
        await world.until(lambda: sum(world.assigned(binding).values()) == drawn.replicas, 60)
        before = world.assigned(binding)
        assert set(before) <= set(drawn.weights)
        await world.sleep(30)
        for member, count in before.items():
            assert await ready_replicas(world, member, name) == count

        await world.member(victim).stop()
        lost_nothing = victim not in before
        if not lost_nothing:
            await world.until(lambda: victim not in world.assigned(binding))
        await world.sleep(60 if not lost_nothing else 700)
        after = world.assigned(binding)
        assert sum(after.values()) == drawn.replicas, "S3"
        assert all(after[member] >= count for member, count in before.items() if member != victim), "C2"
        for member, count in after.items():
            assert await ready_replicas(world, member, name) == count
        moved = world.binding(binding)
        assert moved is not None
        assert moved.spec.graceful_eviction_tasks == ()

        await world.member(victim).start()
        await world.until(lambda: world.is_ready(victim) and not world.taints(victim))
        work = work_name("Deployment", name, "default")
        await world.until(lambda: world.work(victim, work) is None, 60)
        await world.sleep(120)
        assert await ready_replicas(world, victim, name) == -1
        assert world.assigned(binding) == after

    play(story, drawn.members, seed=seed)
