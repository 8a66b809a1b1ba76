"""View of the brake: whoever decides asks it, and the fleet is looked through when a sign of a cluster changes."""

import asyncio
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from itertools import product
from types import FrameType
from typing import Any

from msgspec import structs

from kubeapi.core import CONFIG_MAPS, NAMESPACES, Taint
from leeward.api.meta import Condition
from leeward.api.names import BRAKE_NAME, FAILING_CONDITION, SYSTEM_NAMESPACE
from leeward.api.resource import CLUSTERS
from leeward.core.cluster_health.brake import Brake, BrakeSettings, holds, signs_of
from leeward.runtime.brake import BrakeView
from tests.builders import NOW, cluster
from tests.unit.controllers.desk import Desk, play

MEMBERS = 20
TAINTS = (Taint("example.com/held", "NoSchedule"),)
VERSION = {"status": {"kubernetesVersion": "v1.30.0"}}


def test_who_asks_looks_through_the_fleet_only_after_a_sign_has_changed_s4() -> None:
    looks: list[int] = []
    answers: list[bool] = []

    async def story(desk: Desk) -> None:
        for number in range(MEMBERS):
            await desk.cluster(f"member{number}")
            await desk.client.patch(CLUSTERS, f"member{number}", VERSION, subresource="status")
        view = BrakeView(desk.plane.informers, BrakeSettings())
        await desk.plane.informers.wait_synced()

        def ask() -> None:
            with counting() as called:
                answers.append([view.holds() for _ in range(100)][-1])
            looks.append(called["looks_dead"])

        ask()
        ask()
        resources = {"status": {"resourceSummary": {"allocatable": {"cpu": "8"}}}}
        await desk.client.patch(CLUSTERS, "member0", resources, subresource="status")
        await desk.plane.client.get(NAMESPACES, "default")
        ask()
        for number in range(MEMBERS):
            await desk.condition(f"member{number}", status="False")
        await desk.plane.client.get(NAMESPACES, "default")
        ask()

    play(story)
    assert answers == [False, False, False, True]
    first, again, other_room, dead = looks
    assert first == MEMBERS
    assert again == other_room == 0
    assert 0 < dead <= 4 * MEMBERS


def test_who_wants_to_know_hears_of_the_brake_and_of_no_other_config_map() -> None:
    heard: list[bool] = []

    async def story(desk: Desk) -> None:
        await desk.client.create(NAMESPACES, {"metadata": {"name": SYSTEM_NAMESPACE}})
        view = BrakeView(desk.plane.informers, BrakeSettings())
        view.on_change(lambda: heard.append(view.brake.engaged))
        await desk.plane.informers.wait_synced()
        engaged = {"metadata": {"name": BRAKE_NAME}, "data": {"since": "2026-01-01T00:00:00Z"}}
        for name, space in (("another", SYSTEM_NAMESPACE), (BRAKE_NAME, "default")):
            await desk.client.create(CONFIG_MAPS, {**engaged, "metadata": {"name": name}}, space)
        await asyncio.sleep(1)
        assert heard == []
        view.remember(await desk.client.create(CONFIG_MAPS, engaged, SYSTEM_NAMESPACE))
        assert view.holds()
        await desk.client.delete(CONFIG_MAPS, BRAKE_NAME, SYSTEM_NAMESPACE)
        await asyncio.sleep(1)
        assert not view.holds()

    play(story)
    assert heard == [True, False]


def test_a_cluster_that_comes_or_goes_is_a_sign_s4() -> None:
    held: list[bool] = []

    async def story(desk: Desk) -> None:
        view = BrakeView(desk.plane.informers, BrakeSettings())
        await desk.plane.informers.wait_synced()
        held.append(view.holds())
        await desk.cluster("member1")
        await desk.client.patch(CLUSTERS, "member1", VERSION, subresource="status")
        await desk.condition("member1", status="False")
        await desk.cluster("member2")
        await desk.client.patch(CLUSTERS, "member2", VERSION, subresource="status")
        await asyncio.sleep(1)
        held.append(view.holds())
        await desk.client.delete(CLUSTERS, "member2")
        await asyncio.sleep(1)
        held.append(view.holds())

    play(story)
    assert held == [False, False, True]


@contextmanager
def counting() -> Generator[Counter[str]]:
    """Counts calls of functions of the brake, by their names."""
    called = Counter[str]()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.endswith("cluster_health/brake.py"):
            called[frame.f_code.co_name] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(before)


LIVELY = structs.replace(cluster("member1").status, kubernetes_version="v1.30.0")
WELL = structs.replace(cluster("member1"), status=LIVELY)
NEVER_READY = cluster("member1")
DEAD = structs.replace(
    WELL, status=structs.replace(LIVELY, conditions=cluster("member1", ready="False").status.conditions)
)
LEAVING = structs.replace(WELL, metadata=structs.replace(WELL.metadata, deletion_timestamp=NOW))
BEGINS_TO_FAIL = structs.replace(
    WELL, status=structs.replace(LIVELY, conditions=(*LIVELY.conditions, Condition(FAILING_CONDITION, "True", "Test")))
)
STATES = (WELL, NEVER_READY, DEAD, LEAVING, BEGINS_TO_FAIL)


def test_each_state_that_the_brake_goes_by_has_signs_of_its_own() -> None:
    assert len({signs_of(each) for each in STATES}) == len(STATES)


def test_fleets_of_the_same_signs_are_held_alike() -> None:
    """Clusters differ in much else: room, taints, labels."""
    for fleet in product(STATES, repeat=3):
        others = [structs.replace(each, spec=structs.replace(each.spec, taints=TAINTS, zone="z")) for each in fleet]
        assert [signs_of(each) for each in fleet] == [signs_of(each) for each in others]
        for state in (Brake(), Brake(overruled=True), Brake(since=NOW)):
            assert holds(state, fleet, BrakeSettings()) == holds(state, others, BrakeSettings())
