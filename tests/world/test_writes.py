"""What a mass failover costs the API server: writes for each binding, where each write takes the server a while."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable

import pytest

from kubeserver.handler import Response, StreamResponse
from leeward.api.resource import EVENTS
from leeward.client import Request
from leeward.controllers.scheduler.eviction_events import CROWD
from leeward.sim.network import Answering
from leeward.sim.world import World
from tests.world.stories import apply, by_weight, deployment, play, policy
from tests.world.test_outages_told import REASON, outage

BINDINGS = 100
REST_SECONDS = 400
"""After it all events of the beginning have been counted up."""
QUICK, SLOW = 0.008, 0.08
"""Seconds for each write of a server that makes one after the other: a mass failover takes it seven, or a minute."""
MOST_WRITES, MOST_WITH_EVENTS = 7, 9
"""For each binding: one of them says that its cluster is lost, long before anything moves."""
MOST_OF_CLUSTERS = 10
"""However many bindings there are."""
SUM = r"Evict from cluster member1 succeed: (\d+) workloads in 10 s\."


class Accounts:
    """Counts and slows down what is written to the control plane."""

    def __init__(self, world: World, write_seconds: float) -> None:
        self.writes: Counter[str] = Counter()
        self.refused = 0
        self._write_seconds = write_seconds
        self._turn = asyncio.Lock()
        world.place.audit = self._audit

    async def _audit(self, request: Request, answer: Callable[[], Answering]) -> Response | StreamResponse:
        if request.method == "GET" or "/leases/" in request.path:
            return await answer()
        async with self._turn:
            await asyncio.sleep(self._write_seconds)
        self.writes[_kind_of(request)] += 1
        response = await answer()
        self.refused += isinstance(response, Response) and response.code >= 400
        return response


def _kind_of(request: Request) -> str:
    parts = request.path.split("/")
    resource = parts[parts.index("namespaces") + 2] if "namespaces" in parts else "cluster-wide"
    return f"{request.method} {resource}" + ("/status" if parts[-1] == "status" else "")


@pytest.mark.long
@pytest.mark.parametrize("write_seconds", [QUICK, SLOW])
def test_a_mass_failover_costs_few_writes(write_seconds: float) -> None:
    async def story(world: World) -> None:
        everywhere = policy("all", by_weight({"member1": 1, "member2": 1}))
        everywhere["spec"]["resourceSelectors"] = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
        await apply(world.client, everywhere, *(deployment(f"app-{index}", 2) for index in range(BINDINGS)))
        names = [f"app-{index}-deployment" for index in range(BINDINGS)]
        await world.until(lambda: all(len(world.assigned(name)) == 2 for name in names))
        await world.sleep(REST_SECONDS)
        accounts = Accounts(world, write_seconds)
        await world.member("member1").stop()
        await world.until(lambda: all(outage(world, name) for name in names), 60)
        await world.sleep(120)
        assert accounts.writes["PATCH resourcebindings/status"] == BINDINGS, "each says it, in one write"
        of_outage = [event for event in (await world.client.list(EVENTS, "default")).items if event.reason == REASON]
        sums = [event.message for event in of_outage if event.involved_object.kind == "Cluster"]
        assert [message.split()[0] for message in sums] == [str(BINDINGS - CROWD + 1)]
        assert len(of_outage) == 1 + 2 * (CROWD - 1), "the first few on the binding and on the template"
        await world.until(lambda: all(has_moved(world, name) for name in names))
        await world.sleep(60)
        events = sum(count for kind, count in accounts.writes.items() if kind.endswith(" events"))
        of_clusters = sum(count for kind, count in accounts.writes.items() if "cluster-wide" in kind)
        others = accounts.writes.total() - events - of_clusters
        assert of_clusters <= MOST_OF_CLUSTERS, accounts.writes
        assert others / BINDINGS <= MOST_WRITES, accounts.writes
        assert (others + events) / BINDINGS <= MOST_WITH_EVENTS, accounts.writes
        assert accounts.writes["PATCH resourcebindings"] == 2 * BINDINGS
        assert accounts.writes["PATCH resourcebindings/status"] == 2 * BINDINGS
        assert accounts.refused == 0, accounts.writes
        told = await world.client.list(EVENTS, "default")
        sums = [found for event in told.items if (found := re.fullmatch(SUM, event.message))]
        assert sum(int(found[1]) for found in sums) == BINDINGS - CROWD + 1, "the others are counted on the cluster"
        assert len(sums) == 1 or write_seconds == SLOW

    play(story, {"member1": "Push", "member2": "Push"})


def has_moved(world: World, name: str) -> bool:
    binding = world.binding(name)
    return binding is not None and world.assigned(name) == {"member2": 2} and not binding.spec.graceful_eviction_tasks
