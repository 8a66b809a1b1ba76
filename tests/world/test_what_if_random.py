"""Random worlds: what `leeward what-if` says of losing some clusters, and what `leeward rehearse` plays of it, is what
then happens to every application.

Places and held reasons are equal, and what leaves does so within a second of what was told. `make forecasts` plays 200
of them; `python -m tests.world.test_what_if_random FIRST COUNT` does as many as are asked for.
"""

import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random

import pytest

from kubeapi.meta import Manifest
from leeward.answers.fleet_state import FleetState
from leeward.answers.imagined import ImaginedChange
from leeward.answers.what_if import InstantKind, WhatIf, what_if
from leeward.api.names import FAILING_CONDITION
from leeward.sim.rehearsal.fleet_recorder import Happening
from leeward.sim.rehearsal.rehearsal import RehearsalReport, rehearse
from leeward.sim.rehearsal.scenario_file import API_VERSION, Scenario, ScenarioSpec, ScenarioStep
from leeward.sim.world import Mode, World
from tests.world.pictures import picture
from tests.world.stories import apply, by_weight, deployment, held, play, policy, without_room

SEEDS = (*range(6), 137, 184, 196)
WITHIN = timedelta(seconds=1)
THRESHOLD, GRACE = timedelta(seconds=30), timedelta(seconds=40)
"""Time from the first sign of a loss until `Ready` turns: of a Push cluster, and of a Pull cluster."""
WATCHED_SECONDS, NO_EXECUTE_SECONDS = 800, 300
"""Time in which everything moves that is due, and that part of it before clusters are NoExecute. Clusters that fall
silent at once are waited for longer."""


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


@dataclass
class Outcome:
    """Outcome of a world, foretold or played: how long after the first sign of each loss an application left, where it
    then was, and why it was held.
    """

    state: FleetState | None = None
    told: WhatIf | None = None
    left: dict[str, list[timedelta]] = field(default_factory=dict[str, list[timedelta]])
    after: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    held: dict[str, str] = field(default_factory=dict[str, str])


def differences(seed: int) -> list[str]:
    """Differences between what was told, what was rehearsed, and what happened, in one world."""
    drawn = draw(seed)
    outcome = happened(drawn)
    assert outcome.state is not None
    assert outcome.told is not None
    played = rehearsal(drawn, outcome.state, watched_seconds(outcome.told))
    return [*_differences(outcome.told, outcome), *_of_rehearsal(played, drawn, outcome)]


def happened(drawn: Drawn) -> Outcome:
    outcome = Outcome()

    async def story(world: World) -> None:
        for name, (replicas, cpu, placement) in drawn.apps.items():
            app = deployment(name, replicas)
            app["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
            await apply(world.client, app, policy(name, placement))
        await world.sleep(60)
        for member in drawn.full:
            await without_room(world, member)
        await world.sleep_to_whole(10, offset=31)
        outcome.state = await picture(world)
        outcome.told = what_if(outcome.state, ImaginedChange(fails=frozenset(drawn.lost)))
        began = await _lose(world, drawn)
        left = await _departures(world, list(drawn.apps), watched_seconds(outcome.told))
        for name in drawn.apps:
            outcome.after[name] = world.assigned(f"{name}-deployment")
            outcome.held[name] = held(world, f"{name}-deployment")
            if name in left:
                outcome.left[name] = [left[name] - start for start in began.values()]

    play(story, drawn.members)
    return outcome


def watched_seconds(told: WhatIf) -> float:
    """Seconds after which nothing is to come of what was told."""
    begins = [each.after_seconds for each in told.instants if each.kind is InstantKind.NO_EXECUTE]
    return WATCHED_SECONDS + max(0, max(begins, default=0) - NO_EXECUTE_SECONDS)


def rehearsal(drawn: Drawn, state: FleetState, seconds: float = WATCHED_SECONDS) -> RehearsalReport:
    """Rehearsal of losing the same clusters."""
    steps = (ScenarioStep(fail=drawn.lost),)
    spec = ScenarioSpec(steps=steps, duration=f"{seconds + 40:.0f}s")
    return rehearse(state, Scenario(api_version=API_VERSION, kind="Rehearsal", spec=spec))


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


def _differences(told: WhatIf, outcome: Outcome) -> Iterator[str]:
    """Differences in one world: where clusters of both kinds are lost, an instant is that of one of them."""
    for each in told.applications:
        name = each.workload.rpartition("/")[2]
        after = [] if each.left_at is None else [each.left_at - told.as_of]
        yield from _apart(f"{name} was told", name, outcome, each.after, each.reason, after)


def _of_rehearsal(report: RehearsalReport, drawn: Drawn, outcome: Outcome) -> Iterator[str]:
    """All applications, also those of which nothing was told. The copy is as the picture, and stays so until then."""
    yield from (f"the copy differs: {each}" for each in (*report.left_out, *report.differs))
    turned = {
        each.cluster: timedelta(seconds=each.after_seconds)
        for each in reversed(report.timeline)
        if each.what is Happening.CLUSTER and "not Ready" in each.sentence
    }
    began = [turned[name] - (THRESHOLD if drawn.members[name] == "Push" else GRACE) for name in drawn.lost]
    for each in report.applications:
        name = each.workload.rpartition("/")[2]
        moves = (e for e in report.timeline if e.what is Happening.MOVED and e.binding == each.binding)
        first = next((timedelta(seconds=e.after_seconds) for e in moves), None)
        after = [] if first is None else [first - start for start in began]
        yield from _apart(f"{name} was rehearsed", name, outcome, each.after, each.held, after)


def _apart(
    said: str, name: str, outcome: Outcome, after: Mapping[str, int], reason: str, left: Sequence[timedelta]
) -> Iterator[str]:
    if outcome.after[name] != after:
        yield f"{said} to be in {after}, and is in {outcome.after[name]}"
    if outcome.held[name] != reason:
        yield f"{said} to be held by {reason!r}, and is by {outcome.held[name]!r}"
    seen = outcome.left.get(name, [])
    if bool(seen) != bool(left) or (seen and not any(abs(one - other) <= WITHIN for one in seen for other in left)):
        yield f"{said} to leave after {left}, and left after {seen}"


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_told_and_rehearsed_is_what_happened(seed: int) -> None:
    assert differences(seed) == []


def play_seeds(first: int, count: int, differ: Callable[[int], Sequence[str]], failure: str) -> int:
    """Number of drawn worlds with a difference, each of which is printed; `failure` says of these how they went."""
    failed = 0
    for seed in range(first, first + count):
        found = differ(seed)
        failed += bool(found)
        for each in found:
            print(f"seed {seed}: {each}", flush=True)
        if (seed + 1 - first) % 20 == 0:
            print(f"{seed + 1 - first} played", flush=True)
    print(f"{count} worlds from seed {first} on: {failed} {failure}")
    return failed


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    played = play_seeds(int(sys.argv[1]), int(sys.argv[2]), differences, "went otherwise than was told or rehearsed")
    sys.exit(1 if played else 0)
