"""The Deployment templates that Karmada left behind get conditions after a switch: each once, in the background."""

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise

import msgspec
import pytest

from kubeapi.meta import Manifest
from kubecluster.journal import Write
from leeward.api.names import CLUSTER_OUTAGE_CONDITION
from leeward.api.resource import RESOURCE_BINDINGS
from leeward.controllers.binding import first_conditions
from leeward.controllers.binding.first_conditions import APART, LOOKS_AGAIN, SETTLES
from leeward.sim.world import World
from tests.migration.recorded import RecordedWorld
from tests.migration.test_switch import TEMPLATES, Writes, assert_next_to_nothing_is_written, kept, take_over
from tests.world.stories import DEPLOYMENTS

BINDINGS = "/work.karmada.io/resourcebindings/"
APPLICATIONS = 51
"""Deployment templates in the recording."""


async def conditions(world: World) -> dict[str, dict[str, str]]:
    """Status of each condition, by template and type."""
    found = (await world.client.list(DEPLOYMENTS, "default")).items
    return {
        each["metadata"]["name"]: {c["type"]: c["status"] for c in each.get("status", {}).get("conditions", [])}
        for each in found
    }


@pytest.mark.long
def test_each_template_gets_conditions_by_one_write_and_a_second_start_writes_nothing() -> None:
    async def story(world: RecordedWorld, writes: Writes) -> None:
        await world.sleep(SETTLES.total_seconds() - 1)
        assert not writes.of(World.NAME, TEMPLATES), "heartbeats and reports go first"
        before = {each["metadata"]["name"]: each for each in (await world.client.list(DEPLOYMENTS, "default")).items}
        assert len(before) == APPLICATIONS
        instants: list[datetime] = []

        def note(write: Write) -> None:
            if write.place == World.NAME and write.record.key.startswith(TEMPLATES):
                instants.append(world.clock.now())

        world.journal.on_write(note)
        await world.sleep(60)
        assert_next_to_nothing_is_written(world, writes)
        told = writes.of(World.NAME, TEMPLATES)
        assert told == Counter(f"{TEMPLATES}default/{name}" for name in before)
        assert set(map(str, (await conditions(world)).values())) == {"{'Available': 'True', 'Progressing': 'True'}"}
        assert min(later - earlier for earlier, later in pairwise(instants)) >= APART * 0.9
        for each in (await world.client.list(DEPLOYMENTS, "default")).items:
            told_alone = {k: v for k, v in each["status"].items() if k != "conditions"}
            assert told_alone == before[each["metadata"]["name"]]["status"]
            assert each["spec"] == before[each["metadata"]["name"]]["spec"]
        await world.stop_controllers()
        await world.sleep(5)
        again = Writes(world)
        world.start_controllers()
        await world.sleep(SETTLES.total_seconds() + 30)
        assert not [w.record.key for w in again.all if w.record.key.startswith("/apps/")]

    take_over(story, own_agent=False)


class FirstMoves:
    """Instant at which each binding was first placed anew."""

    def __init__(self, world: World) -> None:
        self.instants: dict[str, datetime] = {}
        self._clock = world.clock
        self._before = {name: spec["clusters"] for name, spec in kept(world, BINDINGS).items() if "clusters" in spec}
        world.journal.on_write(self._note)

    def _note(self, write: Write) -> None:
        if write.place != World.NAME or not write.record.key.startswith(BINDINGS):
            return
        binding: Manifest = msgspec.json.decode(write.record.value)
        name = f"{binding['metadata']['namespace']}/{binding['metadata']['name']}"
        if binding["spec"].get("clusters") != self._before.get(name):
            self.instants.setdefault(name, self._clock.now())


def assert_unknown_for_the_outage_alone(told: dict[str, dict[str, str]]) -> None:
    unknown = {name for name, each in told.items() if each.get("Available") == "Unknown"}
    assert unknown == {name for name, each in told.items() if CLUSTER_OUTAGE_CONDITION in each}


def lose_a_member() -> tuple[dict[str, datetime], dict[str, dict[str, str]]]:
    """First moves of bindings and conditions of templates, after a member was lost when the turns had begun."""
    moves: dict[str, datetime] = {}
    told: dict[str, dict[str, str]] = {}

    async def story(world: RecordedWorld, _: Writes) -> None:
        found = FirstMoves(world)
        await world.sleep(SETTLES.total_seconds() + 2)
        await world.member("member1").stop()
        await world.sleep(240)
        told.update(await conditions(world))
        await world.sleep(360)
        moves.update(found.instants)

    take_over(story, own_agent=True)
    return moves, told


@pytest.mark.long
def test_a_failover_that_begins_in_the_middle_is_as_early_as_without(monkeypatch: pytest.MonkeyPatch) -> None:
    moves, told = lose_a_member()
    assert {each.get("Available") for each in told.values()} - {None} == {"True", "Unknown"}
    assert_unknown_for_the_outage_alone(told)
    monkeypatch.setattr(first_conditions, "SETTLES", timedelta(days=1))
    alone, in_outage = lose_a_member()
    assert {each["Available"] for each in in_outage.values() if each} == {"Unknown"}
    assert_unknown_for_the_outage_alone(in_outage)
    assert len(alone) >= 30
    assert moves.keys() == alone.keys()
    assert max(abs(moves[name] - alone[name]) for name in alone) < timedelta(seconds=5)


@pytest.mark.long
def test_a_template_in_an_unseen_cluster_says_unknown_until_the_cluster_is_back() -> None:
    """One write for the outage, one for its end."""

    async def story(world: RecordedWorld, writes: Writes) -> None:
        await world.sleep(SETTLES.total_seconds() - 50)
        await world.member("member1").stop()
        await world.sleep(65)
        bindings = (await world.client.list(RESOURCE_BINDINGS, "default")).items
        waiting = {b.spec.resource.name for b in bindings if "member1" in {t.name for t in b.spec.clusters}}
        told = await conditions(world)
        waiting &= told.keys()
        assert waiting, "some tolerate the outage for longer"
        assert {told[name].get("Available") for name in waiting} == {"Unknown"}
        assert_unknown_for_the_outage_alone(told)
        await world.member("member1").start()
        await world.sleep(2 * LOOKS_AGAIN.total_seconds())
        told = await conditions(world)
        assert {told[name].get("Available") for name in waiting} == {"True"}
        counts = writes.of(World.NAME, TEMPLATES)
        assert {counts[f"{TEMPLATES}default/{name}"] for name in waiting} == {2}

    take_over(story, own_agent=True)
