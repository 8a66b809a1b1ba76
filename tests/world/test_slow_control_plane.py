"""A control plane that serves twenty writes a second, in the order in which they come: a mass failover goes on, the
most urgent first; nothing piles up, refusals (429) are waited out, and no heartbeat is late."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from kubeapi.codec import decode
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.transport import Response
from kubeclient import Request
from kubecluster.network import Answering
from kubeserver.handler import StreamResponse
from leeward.api.names import HEARTBEAT_NAME
from leeward.api.resource import PRIORITY_CLASSES
from leeward.controllers.scheduler.bindings import BindingKey
from leeward.controllers.scheduler.scheduling_cycle import SchedulingCycle
from leeward.manager.timing import Timing
from leeward.sim.world import Mode, World
from tests.world.stories import apply, by_weight, deployment, policy

MEMBERS: Mapping[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull"}
WRITES_PER_SECOND = 20
NODES = 16
ROOM = 100
"""Number of writes that wait at the server; it refuses what comes beyond."""
RETRY_AFTER = b'{"kind": "Status", "code": 429, "reason": "TooManyRequests", "details": {"retryAfterSeconds": 1}}'
URGENT = 1_000
AHEAD = 64
"""Number of bindings that are decided together, and written in any order."""
LATEST_SECONDS = 20.0
"""Seconds between two renewals of one Lease, which last for 40 s."""
MOST_REFUSED = 2
"""Number of refusals for each binding."""


@dataclass
class Journal:
    """Requests that were served, by instants; `moved` are names of bindings, in the order in which their move was."""

    moved: list[str] = field(default_factory=list[str])
    renewed: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    refused: int = 0
    most_waiting: int = 0


class SlowServer:
    """Serves one write after the other. `journal` is of what comes from now on."""

    def __init__(self, world: World) -> None:
        self.journal = Journal()
        self._world = world
        self._waiting = 0
        self._turn = asyncio.Lock()
        world.place.audit = self._audit

    async def _audit(self, request: Request, answer: Callable[[], Answering]) -> Response | StreamResponse:
        if request.method == "GET":
            return await answer()
        if self._waiting >= ROOM:
            self.journal.refused += 1
            return Response(429, RETRY_AFTER)
        self._waiting += 1
        self.journal.most_waiting = max(self.journal.most_waiting, self._waiting)
        try:
            async with self._turn:
                await asyncio.sleep(1 / WRITES_PER_SECOND)
                response = await answer()
        finally:
            self._waiting -= 1
        if isinstance(response, Response) and response.code < 300:
            self._note(request)
        return response

    def _note(self, request: Request) -> None:
        parts = request.path.split("/")
        if "leases" in parts:
            self.journal.renewed.setdefault(parts[-1], []).append(self._world.clock.monotonic())
        if (
            request.method == "PATCH"
            and parts[-2] == "resourcebindings"
            and moves(decode(request.body or b"{}", dict[str, Any]))
        ):
            self.journal.moved.append(parts[-1])


def moves(patch: Mapping[str, Any]) -> bool:
    return bool(patch.get("spec", {}).get("gracefulEvictionTasks"))


def overtaken(moved: Sequence[str], urgent: frozenset[str]) -> int:
    """Number of the others that moved before the last of the urgent ones."""
    last = max((index for index, name in enumerate(moved) if name in urgent), default=-1)
    return sum(name not in urgent for name in moved[: last + 1])


def longest_gap(renewals: Sequence[float], began: float, ended: float) -> float:
    instants = [began, *(at for at in renewals if began <= at <= ended), ended]
    return max(later - earlier for earlier, later in pairwise(instants))


def test_who_was_overtaken_and_what_was_late_is_found() -> None:
    urgent = frozenset({"a", "b"})
    assert overtaken(["a", "b", "c", "d"], urgent) == 0
    assert overtaken(["c", "a", "d", "b", "e"], urgent) == 2
    assert overtaken([], urgent) == 0
    assert longest_gap([12.0, 20.0], 10.0, 25.0) == 8.0
    assert longest_gap([], 10.0, 60.0) == 50.0


def play_slowly(bindings: int) -> tuple[Journal, frozenset[str], float, float]:
    """Journal of the control plane while member1 was lost with so many bindings, every second of them urgent; the names
    of those, and when it began and ended.
    """
    names = [f"app-{index}" for index in range(bindings)]
    urgent = frozenset(f"{name}-deployment" for name in names[1::2])

    async def story(world: World) -> tuple[Journal, frozenset[str], float, float]:
        await world.client.create(PRIORITY_CLASSES, {"metadata": {"name": "urgent"}, "value": URGENT})
        await apply(world.client, of_all("others", "plain"), of_all("urgent", "urgent", "urgent"))
        for index, name in enumerate(names):
            await apply(world.client, labelled(deployment(name, 1), "urgent" if index % 2 else "plain"))
        await world.until(lambda: all(world.assigned(f"{name}-deployment") for name in names), 600)
        await world.sleep(120)
        server, began = SlowServer(world), world.clock.monotonic()
        await world.member("member1").stop()
        await world.until(lambda: all(has_moved(world, f"{name}-deployment") for name in names), 3_000)
        await world.sleep(60)
        return server.journal, urgent, began, world.clock.monotonic()

    return run_virtual(large(story))


async def large(story: Callable[[World], Any]) -> Any:
    world = World(MEMBERS, Timing.karmada())
    for member in world.members.values():
        member.nodes = NODES
    async with world:
        await world.until(lambda: all(world.is_ready(name) for name in world.members), 60)
        return await story(world)


def of_all(name: str, label: str, priority: str = "") -> Manifest:
    """A policy for all Deployments with the label: on member1, or on member2 where that is lost."""
    made = policy(name, {**by_weight({"member1": 1}), **first_of("member1", "member2")})
    selector = {"apiVersion": "apps/v1", "kind": "Deployment", "labelSelector": {"matchLabels": {"is": label}}}
    made["spec"]["resourceSelectors"] = [selector]
    if priority:
        made["spec"]["schedulePriority"] = {"priorityClassSource": "KubePriorityClass", "priorityClassName": priority}
    return made


def first_of(*names: str) -> Manifest:
    affinities = [{"affinityName": name, "clusterNames": [name]} for name in names]
    return {
        "clusterAffinity": None,
        "clusterAffinities": affinities,
        "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
    }


def labelled(manifest: Manifest, label: str) -> Manifest:
    manifest["metadata"]["labels"] = {**manifest["metadata"]["labels"], "is": label}
    return manifest


def has_moved(world: World, name: str) -> bool:
    binding = world.binding(name)
    return binding is not None and set(world.assigned(name)) == {"member2"} and not binding.spec.graceful_eviction_tasks


@pytest.mark.long
@pytest.mark.parametrize("bindings", [500])
def test_a_slow_control_plane_fails_over_by_priority_and_keeps_its_heartbeats(bindings: int) -> None:
    journal, urgent, began, ended = play_slowly(bindings)
    assert len(journal.moved) == bindings, "each moved once"
    assert overtaken(journal.moved, urgent) < AHEAD
    assert HEARTBEAT_NAME in journal.renewed
    assert "member3" in journal.renewed
    gaps = {name: longest_gap(renewals, began, ended) for name, renewals in journal.renewed.items()}
    assert max(gaps.values()) <= LATEST_SECONDS, gaps
    assert journal.most_waiting <= ROOM
    assert journal.refused / bindings <= MOST_REFUSED


@pytest.mark.long
def test_a_scheduler_that_knows_no_priorities_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def same(_cycle: SchedulingCycle, _key: BindingKey) -> int:
        return 0

    monkeypatch.setattr(SchedulingCycle, "rank", same)
    journal, urgent, _, _ = play_slowly(4 * AHEAD)
    assert overtaken(journal.moved, urgent) >= AHEAD
