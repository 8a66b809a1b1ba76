"""Moves of a burst: told when they are over, and what does not end is told as well."""

import asyncio

import pytest

from controller_runtime.identity import Key
from kubeapi.core import EVENTS, ObjectReference
from kubeapi.meta import ObjectMeta
from leeward.api.cluster import Cluster, ClusterSpec
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS
from leeward.controllers.scheduler.bindings import BindingKey, Bindings
from leeward.controllers.scheduler.eviction_events import BURST_SECONDS, BURST_SIZE
from leeward.controllers.scheduler.move_events import LOOK_SECONDS, UNFINISHED, UNFINISHED_SECONDS, MoveEvents
from tests.unit.controllers.desk import Desk, play

LATE_SECONDS = UNFINISHED_SECONDS + 2 * LOOK_SECONDS
TASK = {"fromCluster": "m1", "reason": "TaintUntolerated", "producer": "TaintManager"}


async def moves_of(desk: Desk, bindings: int) -> tuple[MoveEvents, list[tuple[BindingKey, ObjectReference]]]:
    """Moves of so many bindings that begin to leave m1."""
    informer = desk.plane.informers.of(RESOURCE_BINDINGS)
    await informer.wait_synced()
    await desk.plane.informers.of(CLUSTERS).wait_synced()
    await desk.client.create(CLUSTERS, Cluster(metadata=ObjectMeta(name="m1"), spec=ClusterSpec(sync_mode="Push")))
    moves = MoveEvents(desk.plane, Bindings(desk.plane), desk.plane.recorder("scheduler"))
    moving: list[tuple[BindingKey, ObjectReference]] = []
    for index in range(bindings):
        resource = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": f"app-{index}"}
        made = {
            "metadata": {"name": f"app-{index}-configmap"},
            "spec": {"resource": resource, "gracefulEvictionTasks": [TASK]},
        }
        await desk.client.create(RESOURCE_BINDINGS, made, "default")
        key = BindingKey(RESOURCE_BINDINGS.plural, Key("default", f"app-{index}-configmap"))
        about = ObjectReference(
            api_version="v1", kind="ConfigMap", namespace="default", name=f"app-{index}", uid=str(index)
        )
        moving.append((key, about))
    await asyncio.sleep(1)
    for key, about in moving:
        moves.begin(key, about, "m1", "Evicting from cluster m1. Result: {m2:1}")
    return moves, moving


async def told(desk: Desk) -> dict[str, list[str]]:
    """Messages by the name of what they are about."""
    found: dict[str, list[str]] = {}
    for event in sorted((await desk.client.list(EVENTS)).items, key=lambda e: int(e.metadata.resource_version)):
        found.setdefault(event.involved_object.name, []).append(event.message)
    return found


def test_a_move_is_told_when_it_is_over_and_how_many_they_are_on_the_cluster() -> None:
    async def story(desk: Desk) -> None:
        moves, moving = await moves_of(desk, 3)
        await asyncio.sleep(BURST_SECONDS + 1)
        assert await told(desk) == {"m1": ["Evicting from cluster m1: 3 workloads in 10 s."]}
        for key, about in moving:
            moves.end(key, about, "m1", "Moved from m1 to m2.")
        moves.end(*moving[0], "m3", "Moved from m3 to m2.")
        await asyncio.sleep(LATE_SECONDS)
        found = await told(desk)
        assert found["app-0"] == ["Moved from m1 to m2.", "Evict from cluster m3 succeed."], (
            "the second was told before"
        )
        assert found["app-1"] == found["app-2"] == ["Moved from m1 to m2."]

    play(story)


@pytest.mark.parametrize("bindings", [3, BURST_SIZE])
def test_what_is_not_over_after_a_while_is_told_of_each_or_of_many(bindings: int) -> None:
    async def story(desk: Desk) -> None:
        moves, moving = await moves_of(desk, bindings)
        await asyncio.sleep(LATE_SECONDS)
        late = [e for e in (await desk.client.list(EVENTS)).items if e.reason == UNFINISHED]
        if bindings < BURST_SIZE:
            message = "Evicting from cluster m1. Result: {m2:1} Not healthy there after 120 s."
            assert sorted((e.involved_object.name, e.message) for e in late) == [
                (f"app-{index}", message) for index in range(bindings)
            ]
        else:
            (sum_of_all,) = late
            assert sum_of_all.involved_object.name == "m1"
            assert sum_of_all.message.startswith(
                f"{BURST_SIZE} workloads that left more than 120 s ago are not healthy"
            )
        await asyncio.sleep(LATE_SECONDS)
        assert len([e for e in (await desk.client.list(EVENTS)).items if e.reason == UNFINISHED]) == len(late), "once"
        moves.end(*moving[0], "m1", "Moved from m1 to m2.")
        await asyncio.sleep(1)
        assert (await told(desk))["app-0"][-1] == "Moved from m1 to m2."

    play(story)


def test_of_a_move_that_was_withdrawn_nothing_is_told() -> None:
    async def story(desk: Desk) -> None:
        _, moving = await moves_of(desk, 2)
        (key, _), *_ = moving
        patch = {"spec": {"gracefulEvictionTasks": None}}
        await desk.client.patch(RESOURCE_BINDINGS, key.key.name, patch, "default")
        await asyncio.sleep(LATE_SECONDS)
        assert set(await told(desk)) == {"m1", "app-1"}

    play(story)
