"""The scheduler's queue on the virtual clock: who comes first, and when what found no place is tried again.

Only the scheduler runs. The estimator has no room until a story says so; it is asked once for every attempt, and notes
when.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from unittest import mock

from prometheus_client import CollectorRegistry

from controller_runtime.events import EventRecorder
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeclient import Client
from kubeserver.inprocess import InProcessTransport
from kubeserver.starting import start_apiserver
from kubeserver.store import Store
from kubeserver.store.memory import MemoryMedium
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS
from leeward.api.schema import custom_resource_definitions
from leeward.api.work import Binding, ResourceBinding
from leeward.controllers.scheduler import Scheduler, SchedulerSettings
from leeward.controllers.scheduler.bindings import BindingKey
from leeward.controllers.scheduler.decision_writer import DecisionWriter
from leeward.core.cluster_health.brake import BrakeSettings
from leeward.core.placement import Decision
from leeward.core.scheduling.estimates import Answers, Question
from leeward.runtime.brake import BrakeView
from leeward.runtime.controller_context import ControlPlane, Server
from leeward.runtime.heartbeat import HeartbeatSettings, HeartbeatView
from leeward.runtime.metrics import Metrics

CLOCK = VirtualClock()
DYNAMIC = {
    "replicaSchedulingType": "Divided",
    "replicaDivisionPreference": "Weighted",
    "weightPreference": {"dynamicWeight": "AvailableReplicas"},
}


@dataclass
class Room:
    """Number of replicas that fit into each cluster, and the instants at which that was asked."""

    name: str = "room"
    replicas: int = 0
    asked_at: list[float] = field(default_factory=list[float])

    async def estimate(self, question: Question, clusters: Sequence[str]) -> Answers:
        self.asked_at.append(round(CLOCK.monotonic(), 1))
        return dict.fromkeys(clusters, self.replicas)


@dataclass
class Desk:
    """An API server, and the scheduler beside it."""

    client: Client
    room: Room
    metrics: Metrics

    def woken(self, event: str) -> int:
        """Number of bindings that were to be looked at because of such events."""
        name = "karmada_scheduler_queue_incoming_bindings_total"
        return int(self.metrics.registry.get_sample_value(name, {"event": event}) or 0)

    async def add_cluster(self, name: str) -> None:
        spec = {"syncMode": "Push", "apiEndpoint": f"https://{name}.example"}
        made: Manifest = {"metadata": {"name": name}, "spec": spec}
        await self.client.create(CLUSTERS, made)
        await self.report(name, pods=100)

    async def report(self, name: str, pods: int) -> None:
        """Writes what a cluster says of itself."""
        enabled = {"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}
        ready = {"type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": None}
        status = {
            "apiEnablements": [enabled],
            "conditions": [{**ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            "resourceSummary": {"allocatable": {"pods": str(pods)}},
        }
        await self.client.patch(CLUSTERS, name, {"status": status}, subresource="status")

    async def add_binding(self, name: str, replicas: int = 4, priority: int = 0) -> None:
        resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name}
        spec = {
            "resource": resource,
            "replicas": replicas,
            "schedulePriority": {"priority": priority},
            "placement": {"replicaScheduling": DYNAMIC},
        }
        await self.client.create(RESOURCE_BINDINGS, {"metadata": {"name": name}, "spec": spec}, "default")

    async def is_placed(self, name: str) -> bool:
        found: ResourceBinding = await self.client.get(RESOURCE_BINDINGS, name, "default")
        return bool(found.spec.clusters)


def tell(story: Callable[[Desk], Awaitable[None]], room: int = 0) -> None:
    """Runs a story to its end."""

    async def main() -> None:
        async with Supervisor("test") as supervisor:
            store = await Store.open(MemoryMedium(), supervisor)
            crds = custom_resource_definitions()
            server = await start_apiserver(
                store, CLOCK, Randomness(0), supervisor, crds=crds, metrics=CollectorRegistry()
            )
            client = Client(InProcessTransport(server))
            events = EventRecorder(client, CLOCK, Randomness(0))
            metrics = Metrics()
            plane = ControlPlane(
                Server.of(client, Randomness(0), supervisor), CLOCK, Randomness(0), metrics, events, supervisor
            )
            desk = Desk(client, Room(replicas=room), metrics)
            brake = BrakeView(plane.informers, BrakeSettings())
            heartbeat = HeartbeatView(plane.informers, CLOCK, HeartbeatSettings())
            Scheduler(plane, SchedulerSettings(estimators=(desk.room,)), brake, heartbeat).start()
            await story(desk)

    run_virtual(main())


async def waiting(desk: Desk) -> float:
    """A cluster, and a binding that has found no room. Returns when the last attempt was made."""
    await desk.add_cluster("m1")
    await desk.add_binding("a")
    await asyncio.sleep(5)
    assert not await desk.is_placed("a")
    last = desk.room.asked_at[-1]
    desk.room.asked_at.clear()
    return last


def test_in_a_quiet_fleet_what_found_no_place_is_tried_again_after_five_minutes() -> None:
    async def story(desk: Desk) -> None:
        last = await waiting(desk)
        await asyncio.sleep(700)
        assert desk.room.asked_at == [last + 300, last + 600]

    tell(story)


def test_it_is_tried_at_once_when_a_cluster_joins() -> None:
    async def story(desk: Desk) -> None:
        await waiting(desk)
        await asyncio.sleep(60)
        desk.room.replicas = 10
        await desk.add_cluster("m2")
        await asyncio.sleep(0.1)
        assert await desk.is_placed("a")

    tell(story)


def test_it_is_tried_when_a_cluster_reports_other_resources() -> None:
    async def story(desk: Desk) -> None:
        await waiting(desk)
        await asyncio.sleep(60)
        desk.room.replicas = 10
        await desk.report("m1", pods=99)
        await asyncio.sleep(11)
        assert await desk.is_placed("a")

    tell(story)


def test_a_report_that_says_nothing_new_wakes_nobody() -> None:
    async def story(desk: Desk) -> None:
        await waiting(desk)
        await desk.report("m1", pods=100)
        await asyncio.sleep(60)
        assert desk.room.asked_at == []

    tell(story)


def test_under_a_stream_of_reports_it_backs_off_to_ten_seconds() -> None:
    async def story(desk: Desk) -> None:
        await waiting(desk)
        for pods in range(200):
            await desk.report("m1", pods=pods)
            await asyncio.sleep(0.5)
        gaps = [later - earlier for earlier, later in pairwise(desk.room.asked_at)]
        assert gaps == sorted(gaps), "the pauses grow"
        assert 10 <= gaps[-1] <= 10.6
        assert gaps[0] < 8

    tell(story)


def test_a_success_ends_the_row_of_failures() -> None:
    async def story(desk: Desk) -> None:
        await waiting(desk)
        for pods in range(100):
            await desk.report("m1", pods=pods)
            await asyncio.sleep(1)
        desk.room.replicas = 10
        await desk.report("m1", pods=200)
        await asyncio.sleep(11)
        assert await desk.is_placed("a")
        desk.room.replicas = 0
        await desk.client.patch(RESOURCE_BINDINGS, "a", {"spec": {"replicas": 40}}, "default")
        await asyncio.sleep(1)
        desk.room.asked_at.clear()
        asked = CLOCK.monotonic()
        await desk.report("m1", pods=201)
        await asyncio.sleep(10)
        assert desk.room.asked_at[0] - asked <= 4

    tell(story)


def test_when_room_appears_the_most_urgent_comes_first() -> None:
    async def story(desk: Desk) -> None:
        await desk.add_cluster("m1")
        for name, priority in (("low", 1), ("high", 900), ("middle", 5)):
            await desk.add_binding(name, replicas=4, priority=priority)
        await asyncio.sleep(5)
        desk.room.replicas = 8
        await desk.client.patch(CLUSTERS, "m1", {"metadata": {"labels": {"open": "yes"}}})
        await asyncio.sleep(1)
        assert [await desk.is_placed(name) for name in ("high", "middle", "low")] == [True, True, False]

    tell(story)


def test_one_that_waits_does_not_stop_those_that_come_after_it() -> None:
    async def story(desk: Desk) -> None:
        await desk.add_cluster("m1")
        await desk.add_binding("big", replicas=90, priority=900)
        await desk.add_binding("small", replicas=2)
        await asyncio.sleep(1)
        assert not await desk.is_placed("big")
        assert await desk.is_placed("small")

    tell(story, room=5)


def test_a_cluster_that_changes_wakes_those_that_are_there_and_those_that_wait() -> None:
    async def story(desk: Desk) -> None:
        for number in range(1, 7):
            await desk.add_cluster(f"m{number}")
        for number in range(12):
            await desk.add_binding(f"a{number}", replicas=2)
        await desk.add_binding("waits", replicas=90)
        await asyncio.sleep(5)
        found = await desk.client.list(RESOURCE_BINDINGS)
        there = [each for each in found.items if "m3" in {target.name for target in each.spec.clusters}]
        assert 0 < len(there) < 12
        before = desk.woken("Cluster")
        await desk.client.patch(CLUSTERS, "m3", {"metadata": {"labels": {"other": "label"}}})
        await asyncio.sleep(1)
        assert desk.woken("Cluster") - before == len(there) + 1

    tell(story, room=10)


def test_a_binding_is_not_looked_at_again_for_its_own_status() -> None:
    async def story(desk: Desk) -> None:
        await desk.add_cluster("m1")
        await desk.add_binding("a", replicas=2)
        await asyncio.sleep(100)
        found: ResourceBinding = await desk.client.get(RESOURCE_BINDINGS, "a", "default")
        assert found.status.scheduler_observed_generation == found.metadata.generation
        assert desk.woken("Update") == 0, "its place was written, and what was said of it"

    tell(story, room=10)


def test_a_cluster_that_is_tainted_while_a_binding_is_written_to_it_is_left() -> None:
    write, begun = DecisionWriter.write_placement, asyncio.Event()

    async def write_late(self: DecisionWriter, key: BindingKey, binding: Binding, decision: Decision) -> Binding:
        begun.set()
        await asyncio.sleep(5)
        return await write(self, key, binding, decision)

    async def story(desk: Desk) -> None:
        await desk.add_cluster("m1")
        await desk.add_binding("a", replicas=2)
        await begun.wait()
        await asyncio.sleep(1)
        taint = {"key": "example.com/away", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}
        await desk.client.patch(CLUSTERS, "m1", {"spec": {"taints": [taint]}})
        await desk.add_cluster("m2")
        await asyncio.sleep(20)
        found: ResourceBinding = await desk.client.get(RESOURCE_BINDINGS, "a", "default")
        assert [target.name for target in found.spec.clusters] == ["m2"]

    with mock.patch.object(DecisionWriter, "write_placement", write_late):
        tell(story, room=10)


REPORTS = [
    {"status": {"aggregatedStatus": [{"clusterName": "m1", "health": each}]}} for each in ("Healthy", "Unhealthy")
]
MARKS = [{"metadata": {"annotations": {"example.com/mark": each}}} for each in ("one", "two", "one")]


async def looks_at(desk: Desk, bodies: Sequence[Manifest]) -> list[int]:
    """Number of times that a binding is looked at for each of these patches, one after the other."""
    looks = list[int]()
    for body in bodies:
        before = desk.woken("Update")
        subresource = "status" if "status" in body else ""
        await desk.client.patch(RESOURCE_BINDINGS, "a", body, "default", subresource=subresource)
        await asyncio.sleep(100)
        looks.append(desk.woken("Update") - before)
    return looks


def test_what_others_write_of_a_binding_is_looked_at_each_time() -> None:
    async def story(desk: Desk) -> None:
        await desk.add_cluster("m1")
        await desk.add_binding("a", replicas=2)
        await asyncio.sleep(100)
        assert await looks_at(desk, MARKS) == [1, 1, 1]

    tell(story, room=10)


def test_what_copies_report_is_looked_at_where_a_decision_rests_upon_it() -> None:
    async def story(desk: Desk) -> None:
        await desk.add_cluster("m1")
        await desk.add_binding("a", replicas=2)
        await asyncio.sleep(100)
        assert await looks_at(desk, REPORTS) == [0, 0]
        failover = {"application": {"decisionConditions": {"tolerationSeconds": 900}}}
        await desk.client.patch(RESOURCE_BINDINGS, "a", {"spec": {"failover": failover}}, "default")
        await asyncio.sleep(100)
        assert await looks_at(desk, REPORTS) == [1, 1]

    tell(story, room=10)


def test_what_is_written_and_undone_at_once_is_looked_at() -> None:
    async def story(desk: Desk) -> None:
        await desk.add_cluster("m1")
        await desk.add_binding("a", replicas=2)
        await asyncio.sleep(100)
        before = desk.woken("Update")
        for value in ("one", None):
            body = {"metadata": {"annotations": {"example.com/mark": value}}}
            await desk.client.patch(RESOURCE_BINDINGS, "a", body, "default")
        await asyncio.sleep(100)
        assert desk.woken("Update") == before + 2

    tell(story, room=10)
