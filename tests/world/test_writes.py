"""Costs to the API server of propagating many applications, and of a mass failover of them: writes for each, where each
write takes the server a while."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from kubeapi.core import EVENTS, NAMESPACES, Event
from kubeapi.loop.virtual import run_virtual
from kubeapi.transport import Response
from kubeclient import Request
from kubeclient.ordering import RECORDS_AT_ONCE
from kubecluster.network import Answering
from kubeserver.handler import StreamResponse
from leeward.api.names import execution_space, work_name
from leeward.controllers.scheduler.eviction_events import BURST_SIZE
from leeward.manager.timing import Timing
from leeward.sim.world import World
from tests.world.stories import apply, by_weight, deployment, policy
from tests.world.test_outages_told import REASON, outage

REST_SECONDS = 400
"""Seconds after which all events of the beginning would have been counted up."""
QUICK, SLOW = 0.008, 0.08
"""Seconds for each write of a server that makes one after the other: a mass failover takes it seconds, or a minute."""
AT_ONCE = 8
"""Number of writes that are made at once while applications are propagated."""
MOST_PROPAGATING, MOST_PROPAGATING_WITH_EVENTS = 9.2, 10.7
"""Writes for each Deployment in two clusters, without the request that makes it. Its claim, the binding and where it
goes; a Work for each cluster, and a status of each; a status of the binding and of the template: nine.
"""
MOST_WRITES, MOST_EVENTS = 9, 1.5
"""Writes for each binding. That its cluster is lost, long before anything moves; that it moves, and that it has moved;
the Work that grows, its status, and the deletion of the other; how it is in the end. Two of the template, which says
that its cluster is not seen, and that all is ready again.
"""
MOST_OF_CLUSTERS = 12
"""However many bindings there are. Two of them record in the Cluster's status the taints that failover put on it."""
NODES = 8
SUM = r"Evict from cluster member1 succeed: (\d+) workloads in 10 s\."
MOVED = r"Moved from member1 to member2: 2 of 2 healthy after (\d+) s\."


class Accounts:
    """Counts and slows down what is written to the control plane."""

    def __init__(self, world: World, write_seconds: float, at_once: int = 1) -> None:
        self.writes: Counter[str] = Counter()
        self.order: list[str] = []
        self.refused = 0
        self._write_seconds = write_seconds
        self._turn = asyncio.Semaphore(at_once)
        world.place.audit = self._audit

    @property
    def of_events(self) -> int:
        return sum(count for kind, count in self.writes.items() if kind.endswith(" events"))

    @property
    def of_clusters(self) -> int:
        return sum(count for kind, count in self.writes.items() if "cluster-wide" in kind)

    async def _audit(self, request: Request, answer: Callable[[], Answering]) -> Response | StreamResponse:
        if request.method == "GET" or "/leases/" in request.path:
            return await answer()
        async with self._turn:
            await asyncio.sleep(self._write_seconds)
        self.writes[_kind_of(request)] += 1
        self.order.append(_kind_of(request))
        response = await answer()
        self.refused += isinstance(response, Response) and response.code >= 400
        return response


def _kind_of(request: Request) -> str:
    parts = request.path.split("/")
    resource = parts[parts.index("namespaces") + 2] if "namespaces" in parts else "cluster-wide"
    return f"{request.method} {resource}" + ("/status" if parts[-1] == "status" else "")


@pytest.mark.long
def test_a_pipeline_of_many_silences_nobody_who_deploys_one_application_elsewhere() -> None:
    """Seventeen Deployments at once in a namespace, and one in another."""
    placement = by_weight({"member1": 1, "member2": 1})
    everywhere = policy("all", placement)
    everywhere["spec"]["resourceSelectors"] = [{"apiVersion": "apps/v1", "kind": "Deployment"}]

    async def story(world: World) -> None:
        await world.client.create(NAMESPACES, {"metadata": {"name": "shop"}})
        await apply(world.client, policy("web", placement), namespace="shop")
        await apply(world.client, everywhere, *(deployment(f"app-{index}", 2) for index in range(BURST_SIZE + 1)))
        await apply(world.client, deployment("web", 2), namespace="shop")
        await world.sleep(30)
        told = {(event.involved_object.kind, event.reason) for event in (await world.client.list(EVENTS, "shop")).items}
        assert told >= {
            ("Deployment", "GetReplicasSucceed"),
            ("Deployment", "ApplyPolicySucceed"),
            ("Deployment", "ScheduleBindingSucceed"),
            ("ResourceBinding", "ScheduleBindingSucceed"),
            ("ResourceBinding", "SyncWorkSucceed"),
            ("ResourceBinding", "AggregateStatusSucceed"),
        }
        works = (await world.client.list(EVENTS, execution_space("member1"))).items
        name = work_name("Deployment", "web", "shop")
        assert {event.reason for event in works if event.involved_object.name == name} >= {
            "WorkDispatching",
            "SyncSucceed",
            "ReflectStatusSucceed",
            "InterpretHealthSucceed",
        }
        assert not any(event.involved_object.name.startswith("app-") for event in works)
        assert not any(event.reason == "ApplyPolicySucceed" for event in await events(world)), "of the many"

    run_virtual(large(story))


@pytest.mark.long
@pytest.mark.parametrize(("bindings", "write_seconds"), [(200, QUICK), (100, SLOW)])
def test_propagating_and_a_mass_failover_cost_few_writes(bindings: int, write_seconds: float) -> None:
    async def story(world: World) -> None:
        everywhere = policy("all", by_weight({"member1": 1, "member2": 1}))
        everywhere["spec"]["resourceSelectors"] = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
        accounts = Accounts(world, QUICK, AT_ONCE)
        await apply(world.client, everywhere, *(deployment(f"app-{index}", 2) for index in range(bindings)))
        names = [f"app-{index}-deployment" for index in range(bindings)]
        await world.until(lambda: all(len(world.assigned(name)) == 2 for name in names))
        await world.sleep(60)
        of_propagating(accounts, bindings)
        accounts.writes.clear()
        await world.sleep(REST_SECONDS)
        assert accounts.of_events == 0, "nothing is told minutes later"

        accounts = Accounts(world, write_seconds)
        await world.member("member1").stop()
        await world.until(lambda: all(outage(world, name) for name in names), 60)
        await world.sleep(120)
        assert accounts.writes["PATCH resourcebindings/status"] == bindings, "each says it, in one write"
        assert accounts.writes["PATCH deployments/status"] == bindings, "and so does each template"
        await of_outage(world, bindings)
        await world.until(lambda: all(has_moved(world, name) for name in names))
        await world.sleep(60)
        of_failover(accounts, bindings)
        await is_told(world, bindings, in_one=write_seconds == QUICK)

    run_virtual(large(story))


async def large(story: Callable[[World], Awaitable[None]]) -> None:
    """Runs a story in a world of two Push members, either of which has room for all."""
    world = World({"member1": "Push", "member2": "Push"}, Timing.karmada())
    for member in world.members.values():
        member.nodes = NODES
    async with world:
        await world.until(lambda: all(world.is_ready(name) for name in world.members), 60)
        await story(world)


def of_propagating(accounts: Accounts, bindings: int) -> None:
    ours = accounts.writes - Counter({"POST deployments": bindings, "POST propagationpolicies": 1})
    others = ours.total() - accounts.of_events - accounts.of_clusters
    assert others / bindings <= MOST_PROPAGATING, sorted(accounts.writes.items())
    assert (others + accounts.of_events) / bindings <= MOST_PROPAGATING_WITH_EVENTS, accounts.writes
    assert accounts.refused == 0, accounts.writes


async def of_outage(world: World, bindings: int) -> None:
    told = [event for event in await events(world) if event.reason == REASON]
    sums = [event.message for event in told if event.involved_object.kind == "Cluster"]
    assert [message.split()[0] for message in sums] == [str(bindings - BURST_SIZE + 1)]
    assert len(told) == 1 + 2 * (BURST_SIZE - 1), "the first few on the binding and on the template"


def of_path(accounts: Accounts, bindings: int) -> None:
    """A busy server first gets what has applications serve, and then what records it (`kubeclient.ordering`)."""
    works = [index for index, kind in enumerate(accounts.order) if kind == "PUT works"]
    begun = accounts.order.index("PATCH resourcebindings")
    before = Counter(kind for kind in accounts.order[begun : works[-1]] if "cluster-wide" not in kind)
    others = before.total() - before["PUT works"] - before["PATCH resourcebindings"]
    assert others <= 2 * RECORDS_AT_ONCE, before
    assert before["PATCH resourcebindings"] <= 1.1 * bindings, "no move is ended before all are begun"
    assert works[len(works) // 2] - begun <= 1.4 * bindings, "nor does the middle one wait for the decisions of all"


def of_failover(accounts: Accounts, bindings: int) -> None:
    others = accounts.writes.total() - accounts.of_events - accounts.of_clusters
    assert accounts.of_clusters <= MOST_OF_CLUSTERS, accounts.writes
    assert others / bindings <= MOST_WRITES, accounts.writes
    assert accounts.of_events / bindings <= MOST_EVENTS, accounts.writes
    assert accounts.writes["PATCH resourcebindings"] == 2 * bindings
    assert accounts.writes["PATCH resourcebindings/status"] == 2 * bindings
    assert accounts.writes["PATCH deployments/status"] <= 2 * bindings
    assert accounts.refused == 0, accounts.writes


async def is_told(world: World, bindings: int, *, in_one: bool) -> None:
    """One event tells the whole move of each; how many they are stands on the cluster."""
    told = await events(world)
    moved = [event.involved_object.name for event in told if re.fullmatch(MOVED, event.message)]
    assert sorted(moved) == sorted(f"app-{index}" for index in range(bindings))
    assert {event.involved_object.kind for event in told if re.fullmatch(MOVED, event.message)} == {"Deployment"}
    assert {event.count for event in told} == {1}, "nothing is counted up"
    sums = [found for event in told if (found := re.fullmatch(SUM, event.message))]
    counted, of_burst = sum(int(found[1]) for found in sums), bindings - BURST_SIZE + 1
    assert counted <= of_burst, "those of the burst are counted on the cluster"
    assert (counted == of_burst and len(sums) == 1) if in_one else counted > bindings / 2, "a slow server makes pauses"


async def events(world: World) -> list[Event]:
    return list((await world.client.list(EVENTS, "default")).items)


def has_moved(world: World, name: str) -> bool:
    binding = world.binding(name)
    return binding is not None and world.assigned(name) == {"member2": 2} and not binding.spec.graceful_eviction_tasks
