"""Random worlds: what `leeward what-if` says of losing some clusters is what then happens to every application.

Places and held reasons are equal, and what leaves does so within a second of what was told. `python -m
tests.world.test_what_if_random FIRST COUNT` plays more of them.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

import pytest

from kubeapi.meta import Manifest
from leeward.answers.imagined import ImaginedChange
from leeward.answers.what_if import WhatIf, what_if
from leeward.api.names import FAILING_CONDITION
from leeward.sim.world import Mode, World
from tests.world.pictures import picture
from tests.world.stories import apply, by_weight, deployment, held, play, policy, without_room

SEEDS = range(6)
WITHIN = timedelta(seconds=1)
GRACE = timedelta(seconds=40)


@dataclass(frozen=True)
class Drawn:
    members: dict[str, Mode]
    apps: dict[str, tuple[int, str, Manifest]]
    full: tuple[str, ...]
    lost: tuple[str, ...]


def draw(seed: int) -> Drawn:
    random = Random(seed)
    modes: Sequence[Mode] = ("Push", "Push", "Pull")
    members: dict[str, Mode] = {f"member{i}": random.choice(modes) for i in range(1, random.randint(4, 6))}
    apps: dict[str, tuple[int, str, Manifest]] = {}
    for index in range(random.randint(3, 7)):
        apps[f"app{index}"] = (
            random.randint(1, 8),
            random.choice(("250m", "1", "3")),
            _placement(random, list(members)),
        )
    lost = random.sample(list(members), random.choice((1, 1, 2)))
    rest = [name for name in members if name not in lost]
    full = random.sample(rest, random.choice((0, 0, 1)))
    return Drawn(members, apps, tuple(full), tuple(lost))


def _placement(random: Random, members: list[str]) -> Manifest:
    some = random.sample(members, random.randint(1, len(members)))
    affinity: Manifest = {"clusterAffinity": {"clusterNames": some}}
    spread = {"spreadByField": "cluster", "minGroups": 1, "maxGroups": random.randint(1, 2)}
    divided = {"replicaSchedulingType": "Divided"}
    dynamic = {"weightPreference": {"dynamicWeight": "AvailableReplicas"}}
    placements: tuple[Manifest, ...] = (
        by_weight({name: random.randint(1, 3) for name in some}),
        {**affinity, "replicaScheduling": {**divided, "replicaDivisionPreference": "Weighted", **dynamic}},
        {**affinity, "replicaScheduling": {**divided, "replicaDivisionPreference": "Aggregated"}},
        {**affinity, "replicaScheduling": {"replicaSchedulingType": "Duplicated"}},
        {**affinity, "replicaScheduling": {"replicaSchedulingType": "Duplicated"}, "spreadConstraints": [spread]},
    )
    keys = ("cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable")
    seconds = random.choice((30, 60, 300))
    tolerations = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds} for key in keys
    ]
    return {**random.choice(placements), "clusterTolerations": tolerations}


def differences(seed: int) -> list[str]:
    """Between what was told and what happened, in one world."""
    drawn, found = draw(seed), list[str]()

    async def story(world: World) -> None:
        for name, (replicas, cpu, placement) in drawn.apps.items():
            app = deployment(name, replicas)
            app["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
            await apply(world.client, app, policy(name, placement))
        await world.sleep(60)
        for member in drawn.full:
            await without_room(world, member)
        await world.sleep_to_whole(10, offset=31)
        told = what_if(await picture(world), ImaginedChange(fails=frozenset(drawn.lost)))
        began = await _lose(world, drawn)
        left = await _departures(world, list(drawn.apps), 800)
        found.extend(_differences(world, told, left, began))

    play(story, drawn.members)
    return found


async def _lose(world: World, drawn: Drawn) -> dict[str, datetime]:
    """Loses all at once; by name the instant that counts as the beginning of each."""
    for name in drawn.lost:
        await world.member(name).stop()
    began: dict[str, datetime] = {}
    while len(began) < len(drawn.lost):
        await world.sleep(0.25)
        for name in drawn.lost:
            conditions = world.cluster(name).status.conditions
            if (
                name not in began
                and drawn.members[name] == "Push"
                and any(c.type == FAILING_CONDITION for c in conditions)
            ):
                began[name] = world.clock.now()
            if name not in began and drawn.members[name] == "Pull" and not world.is_ready(name):
                began[name] = world.clock.now() - GRACE
    return began


async def _departures(world: World, names: list[str], seconds: float) -> dict[str, datetime]:
    before = {name: world.assigned(f"{name}-deployment") for name in names}
    left: dict[str, datetime] = {}
    for _ in range(int(seconds * 2)):
        await world.sleep(0.5)
        for name in names:
            now = world.assigned(f"{name}-deployment")
            if name not in left and any(now.get(each, -1) < count for each, count in before[name].items()):
                left[name] = world.clock.now()
    return left


def _differences(world: World, told: WhatIf, left: dict[str, datetime], began: dict[str, datetime]) -> list[str]:
    """Where clusters of both kinds are lost, an instant is that of one of them."""
    found: list[str] = []
    for each in told.applications:
        name = each.workload.rpartition("/")[2]
        now = world.assigned(f"{name}-deployment")
        if now != each.after:
            found.append(f"{name} is in {now}, and {each.after} was told")
        if held(world, f"{name}-deployment") != each.reason:
            found.append(f"{name} is held by {held(world, f'{name}-deployment')!r}, and {each.reason!r} was told")
        if (name in left) != (each.left_at is not None):
            found.append(f"{name} left at {left.get(name)}, and {each.left_at} was told")
        elif each.left_at is not None:
            after = each.left_at - told.as_of
            if not any(abs((left[name] - start) - after) <= WITHIN for start in began.values()):
                found.append(f"{name} left {[left[name] - start for start in began.values()]}, and {after} was told")
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_told_is_what_happened(seed: int) -> None:
    assert differences(seed) == []


if __name__ == "__main__":
    for played in range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2])):
        print(played, differences(played), flush=True)
