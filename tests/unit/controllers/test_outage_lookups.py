"""Lookups of the outage controller: a change of a binding or a Work costs the same, however many outages are open."""

import asyncio
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from kubeapi.core import NAMESPACES
from kubeapi.meta import Manifest
from leeward.api.names import BINDING_ID_LABEL, BINDING_NAME_ANNOTATION, BINDING_NAMESPACE_ANNOTATION
from leeward.api.outage import OutagePhase
from leeward.api.resource import CLUSTERS, OUTAGES, RESOURCE_BINDINGS
from leeward.controllers.outage import OutageController, settle_time
from leeward.core.cluster_health.brake import BrakeSettings
from leeward.runtime.brake import BrakeView
from leeward.runtime.heartbeat import HeartbeatSettings, HeartbeatView
from tests.unit.controllers.desk import MEMBER, Desk, play

NOTED = {"metadata": {"annotations": {"example.com/noted": "yes"}}}
WAS_READY = {"status": {"kubernetesVersion": "v1.30.0"}}
HANDLERS = {"_binding_changed", "_work_changed"}
OUTAGE_SECONDS = 120


def steps_of_changes(outages: int) -> tuple[int, int]:
    """Lines that a change of a binding, and of a Work, runs through in the handlers, with so many outages open; the
    binding is in one of the clusters that are lost."""
    steps: list[int] = []

    async def story(desk: Desk) -> None:
        for name in (MEMBER, *(f"other-{number:03}" for number in range(1, outages))):
            await desk.cluster(name, status="False")
            await desk.client.patch(CLUSTERS, name, WAS_READY, subresource="status")
        start(desk)
        await desk.client.create(RESOURCE_BINDINGS, binding(), "default")
        work = {BINDING_NAME_ANNOTATION: "web-deployment", BINDING_NAMESPACE_ANNOTATION: "default"}
        await desk.work(metadata={"annotations": work, "labels": {BINDING_ID_LABEL: "id"}})
        await settled(desk, outages)
        for change in (desk.client.patch(RESOURCE_BINDINGS, "web-deployment", NOTED, "default"), desk.note()):
            with counting() as lines:
                await change
                await desk.plane.client.get(NAMESPACES, "default")
            steps.append(lines[0])

    play(story)
    of_binding, of_work = steps
    return of_binding, of_work


def binding() -> Manifest:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "default"}
    spec = {"resource": resource, "replicas": 1, "clusters": [{"name": MEMBER, "replicas": 1}]}
    metadata = {"name": "web-deployment", "namespace": "default", "labels": {BINDING_ID_LABEL: "id"}}
    return {"metadata": metadata, "spec": spec}


def start(desk: Desk) -> None:
    plane = desk.plane
    brake = BrakeView(plane.informers, BrakeSettings())
    heartbeat = HeartbeatView(plane.informers, plane.clock, HeartbeatSettings(enabled=False))
    OutageController(plane, brake, heartbeat, evicts=True).start()


async def settled(desk: Desk, outages: int) -> None:
    """Returns when all outages are written, and quiet."""
    await asyncio.sleep(OUTAGE_SECONDS)
    found = (await desk.client.list(OUTAGES)).items
    assert [each.status.phase for each in found] == [OutagePhase.RUNNING] * outages
    assert sum(bool(each.status.applications) for each in found) == 1, "one of them has the application"


@contextmanager
def counting() -> Generator[list[int]]:
    """Counts the lines that are run through in the handlers of the controller, with what they call."""
    lines = [0]

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        inside = frame.f_code.co_name in HANDLERS or any(
            each.f_code.co_name in HANDLERS for each in (frame.f_back,) if each is not None
        )
        if not (inside and frame.f_code.co_filename.endswith("controllers/outage.py")):
            return None
        lines[0] += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lines
    finally:
        sys.settrace(before)


@pytest.fixture(scope="module")
def few() -> tuple[int, int]:
    return steps_of_changes(2)


def test_a_change_costs_the_same_with_twenty_outages_as_with_two(few: tuple[int, int]) -> None:
    assert min(few) > 0
    assert steps_of_changes(20) == few


def test_looks_at_an_outage_cost_the_same_a_second_however_many_applications_it_has() -> None:
    assert settle_time(1).total_seconds() == settle_time(500).total_seconds() == 0.2
    costs = {applications / settle_time(applications).total_seconds() for applications in (500, 1_000, 10_000)}
    assert costs == {2_500.0}
