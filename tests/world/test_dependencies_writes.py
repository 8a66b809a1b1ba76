"""Costs of dependencies to the API server in a mass failover."""

import pytest

from leeward.sim.world import World
from tests.world.stories import apply, by_weight, in_world, tasks
from tests.world.test_dependencies import config, followed, needed_in, reading
from tests.world.test_writes import MOST_WRITES, QUICK, Accounts

BINDINGS = 40
MOST_FOR_ITS_OWN = 2
"""More for an object that one binding needs: who needs it how often changes, and its status says that it is so."""
MOST_FOR_THE_SHARED = 40
"""Most writes for an object that all of them need: within ten seconds, not once for each."""


@pytest.mark.long
@in_world({"member1": "Push", "member2": "Push"})
async def test_what_follows_costs_few_writes_of_its_own_and_what_is_shared_hardly_any(world: World) -> None:
    everywhere = followed("all", by_weight({"member1": 1, "member2": 1}))
    everywhere["spec"]["resourceSelectors"] = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
    indices = range(BINDINGS)
    await apply(world.client, config("shared"), *(config(f"own-{index}") for index in indices), everywhere)
    await apply(world.client, *(reading(f"app-{index}", "shared", f"own-{index}") for index in indices))
    names = [f"app-{index}-deployment" for index in indices]
    await world.until(lambda: all(len(world.assigned(name)) == 2 for name in names))
    await world.until(lambda: len(needed_in(world, "shared-configmap")) == BINDINGS)
    await world.sleep(400)
    accounts = Accounts(world, QUICK)
    await world.member("member1").stop()
    await world.until(lambda: all(world.assigned(name) == {"member2": 2} for name in names))
    await world.until(lambda: not any(tasks(world, name) for name in names))
    await world.sleep(60)
    events = sum(count for kind, count in accounts.writes.items() if kind.endswith(" events"))
    of_clusters = sum(count for kind, count in accounts.writes.items() if "cluster-wide" in kind)
    others = accounts.writes.total() - events - of_clusters
    most = BINDINGS * (MOST_WRITES + MOST_FOR_ITS_OWN) + MOST_FOR_THE_SHARED
    assert others <= most, accounts.writes
    shared = world.binding("shared-configmap")
    assert shared is not None
    generations = shared.metadata.generation
    assert generations < BINDINGS, "they are told together"
