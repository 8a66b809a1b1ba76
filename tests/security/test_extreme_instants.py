"""Instants and numbers at the ends of what can be written, in objects of clusters and their outages.

    has            the right to write an Outage or a Cluster, as an operator, an agent or a restored backup has it
    does           writes the first and the last instants that RFC 3339 has, in the furthest time zones, and the largest
                   and the smallest integers
    must not get   a controller that fails, a failover that does not happen, or an answer that nobody gets

Holds: L2, L4.
"""

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from kubeapi.codec import from_wire
from kubeapi.core import Taint
from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import Manifest, format_time, parse_time, wire_time
from kubeapi.resource import Resource
from leeward.answers.outage_report import report
from leeward.answers.reading import read_fleet
from leeward.answers.timeline import OutageFilter, timeline
from leeward.api.meta import Condition
from leeward.api.outage import OutageApplication
from leeward.api.resource import CLUSTERS, OUTAGES
from leeward.api.work import GracefulEvictionTask
from leeward.sim.world import World
from tests.security.worlds import play_in
from tests.world.stories import apply, deployment, policy, ready_replicas
from tests.world.test_dashboard import Page
from tests.world.test_overrides import BOTH

LAST, FIRST, LATER, EARLIER = EXTREMES = (
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00:00+23:59",
)
INT32, INT64 = (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1)
STEPS: Final = ("FailedProbe", "Left", "Held", "Kept", "Returned", "Cleaned", "FailedAgain")
STATES: Final = {"web": "Due", "moved": "Moved", "moving": "Moving", "returned": "Returned"}
RAW_OUTAGES, RAW_CLUSTERS = (
    Resource.of_manifests(each.api_version, each.plural, each.kind, each.namespaced) for each in (OUTAGES, CLUSTERS)
)


@pytest.mark.parametrize("text", EXTREMES)
def test_an_extreme_instant_is_read_as_one_that_can_be_counted_from(text: str) -> None:
    task = {"fromCluster": "a", "reason": "a", "producer": "a", "purgeMode": "Immediately", "creationTimestamp": text}
    eviction = from_wire(task, GracefulEvictionTask)
    found: list[datetime | None] = [
        parse_time(text),
        from_wire({"lastTransitionTime": text}, Condition).last_transition_time,
        from_wire({"key": "a", "effect": "NoExecute", "timeAdded": text}, Taint).time_added,
        eviction.creation_timestamp,
    ]
    for instant in found:
        assert instant is not None
        for centuries in (-1, 1):
            assert parse_time(format_time(instant + timedelta(days=36_525 * centuries)))
        assert wire_time(instant).year in (1900, 9000)
    assert eviction.purge_mode == "Directly"


@pytest.mark.parametrize(("number", "read"), [(INT64[0], 0), (INT64[1], 10**9), (0, 0), (300, 300)])
def test_a_number_of_an_outage_is_read_as_one_that_can_be_counted_on_from(number: int, read: int) -> None:
    found = from_wire({"kind": "a", "name": "a", "state": "Due", "recoverySeconds": number}, OutageApplication)
    assert found.recovery_seconds == read


def outage(phase: str, end: int, at: str, other: str, since: str) -> Manifest:
    """Outage of member1 whose integers are all the smallest (`end` 0) or largest ones (1)."""
    number, seconds = INT32[end], INT64[end]
    states = dict.fromkeys(("due", "held", "kept", "moving", "moved", "returned"), number)
    step: Manifest = {"at": at, "until": other, "applications": number, "healthy": number, "healthyAt": at}
    application: Manifest = {
        "kind": "Deployment",
        "namespace": "default",
        "replicas": number,
        "to": {"member2": number},
        "toleratedSeconds": seconds,
        "recoverySeconds": seconds,
        "reason": "a",
        "told": {"a": at},
        "dueAt": at,
        "leftAt": other,
        "healthyAt": at,
    }
    status: Manifest = {
        "phase": phase,
        "lasted": "a",
        "failures": number,
        "omittedSteps": number,
        "applications": number,
        **states,
        "failedAt": at,
        "notReadyAt": at,
        "noExecuteAt": other,
        "returnedAt": at,
        "cleanedAt": other,
        "recovery": {**dict.fromkeys(("medianSeconds", "worstSeconds"), seconds), "count": number},
        "steps": [{**step, "kind": kind, "toleratedSeconds": seconds} for kind in STEPS],
        "curve": [{"at": at, **states}],
        "listed": [{**application, "name": name, "state": state} for name, state in STATES.items()],
    }
    status["recovery"]["times"] = [{"seconds": seconds, "count": number}]
    return {"metadata": {"name": "extreme"}, "spec": {"cluster": "member1", "since": since}, "status": status}


async def answered(world: World) -> None:
    state = await read_fleet(world.client, world.clock)
    report(timeline(state, OutageFilter()))
    assert timeline(state, OutageFilter(since_seconds=3_600)).outages


def play_outage(write: Callable[[World], Awaitable[None]], caplog: pytest.LogCaptureFixture) -> None:
    """An outage, in which somebody writes before, meanwhile and afterwards."""

    async def story(world: World) -> None:
        async with Supervisor("page") as supervisor:
            await apply(world.client, deployment("web", 2), policy("web", BOTH))
            await world.sleep(30)
            page = Page(world, supervisor)
            await write(world)
            await world.sleep(20)
            await world.member("member1").stop()
            await world.until(lambda: not world.is_ready("member1"), 120)
            await write(world)
            await world.sleep(20)
            await answered(world)
            await world.sleep(420)
            assert await ready_replicas(world, "member2", "web") == 2
            await world.member("member1").start()
            await world.sleep(120)
            await write(world)
            await world.sleep(120)
            await answered(world)
            await page.told(world)

    with caplog.at_level(logging.ERROR):
        play_in(World, story, dict.fromkeys(("member1", "member2"), "Push"))
    assert [record.getMessage() for record in caplog.records] == []


@pytest.mark.long
@pytest.mark.parametrize(
    "extreme",
    [
        ("Running", 1, LAST, FIRST, "2026-01-01T00:00:00Z"),
        ("Running", 0, FIRST, LAST, FIRST),
        ("Over", 1, LAST, FIRST, LAST),
        ("Returned", 1, LATER, EARLIER, LATER),
        ("Over", 0, EARLIER, LATER, EARLIER),
    ],
)
def test_l2_l4_an_extreme_outage_stops_nobody(
    extreme: tuple[str, int, str, str, str], caplog: pytest.LogCaptureFixture
) -> None:
    async def write(world: World) -> None:
        if "extreme" not in {each["metadata"]["name"] for each in (await world.client.list(RAW_OUTAGES)).items}:
            await world.client.create(RAW_OUTAGES, outage(*extreme))

    play_outage(write, caplog)


@pytest.mark.long
@pytest.mark.parametrize(("field", "instant"), [("conditions", LAST), ("conditions", EARLIER), ("taints", LAST)])
def test_l2_l4_extreme_instants_of_a_cluster_stop_nobody(
    field: str, instant: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def write(world: World) -> None:
        there = await world.client.get(RAW_CLUSTERS, "member1")
        if field == "conditions":
            dated = [{**each, "lastTransitionTime": instant} for each in there["status"]["conditions"]]
            status: dict[str, Any] = {"status": {"conditions": dated}}
            await world.client.patch(RAW_CLUSTERS, "member1", status, subresource="status")
            return
        taints = [each for each in there["spec"].get("taints", []) if each["key"] != "a"]
        taints.append({"key": "a", "effect": "NoExecute"})
        spec = {"taints": [{**each, "timeAdded": instant} for each in taints]}
        await world.client.patch(RAW_CLUSTERS, "member1", {"spec": spec})

    play_outage(write, caplog)
