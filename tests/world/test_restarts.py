"""The control plane is restarted in each phase of an outage: it forgets none, invents none, and restarts no clock."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from kubeclient import Request, Response
from kubeserver.handler import StreamResponse
from leeward.api.meta import find_condition
from leeward.api.names import FAILING_CONDITION
from leeward.sim.world import Mode, World
from tests.world.stories import (
    DEPLOYMENTS,
    apply,
    by_weight,
    deployment,
    held,
    in_world,
    policy,
    tasks,
    with_room,
    without_room,
)
from tests.world.test_detection import Answering, answers

TWO: dict[str, Mode] = {"member1": "Push", "member3": "Pull"}
WEB = "web-deployment"
PHASES = {
    "when it begins to fail": 20,
    "just before the threshold": 33,
    "after Ready=False": 60,
    "after NoExecute": 400,
    "just before the eviction": 620,
}
LISTENS_SECONDS = {"member1": 10, "member3": 20}
"""A probe, whose rhythm begins anew; half the patience with agents."""


def doubt(world: World, member: str) -> str:
    """The status of the condition Failing; empty when there is none."""
    found = find_condition(world.cluster(member).status.conditions, FAILING_CONDITION)
    return found.status if found else ""


async def restart(world: World, away_seconds: float = 3) -> None:
    await world.stop_controllers()
    await world.sleep(away_seconds)
    world.start_controllers()


async def instants_of_an_outage(world: World, member: str, restart_at: float | None) -> dict[str, float]:
    """Instants at which `member` is not ready, has NoExecute, and has been left, in seconds since it was stopped."""
    await apply(world.client, deployment("web", 2), policy("web", by_weight({"member1": 1, "member3": 1})))
    await world.until(lambda: len(world.assigned(WEB)) == 2, 60)
    await world.sleep(30)
    await world.sleep_to_whole(10, offset=1)
    stopped, seen = world.seconds, dict[str, float]()
    await world.member(member).stop()
    while "left" not in seen and world.seconds < stopped + 1_500:
        if restart_at is not None and world.seconds >= stopped + restart_at:
            restart_at = None
            await restart(world)
        facts = {
            "not ready": not world.is_ready(member),
            "NoExecute": "NoExecute" in str(world.taints(member)),
            "left": member not in world.assigned(WEB),
        }
        for name, holds in facts.items():
            if holds and name not in seen:
                seen[name] = world.seconds - stopped
        await world.sleep(0.5)
    return seen


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("member", TWO)
@in_world(TWO)
async def test_l6_a_restart_moves_no_instant_of_an_outage(world: World, member: str, phase: str) -> None:
    """No more is lost than the restart took; before the threshold, than the control plane listens before it judges."""
    seen = await instants_of_an_outage(world, member, PHASES[phase])
    whole = {"member1": (39, 339, 639), "member3": (40, 300, 600)}[member]
    late = LISTENS_SECONDS[member] if PHASES[phase] < whole[0] else 4
    for (name, instant), expected in zip(seen.items(), whole, strict=True):
        assert expected - 10.5 <= instant <= expected + late, name


@in_world(TWO)
async def test_l6_a_restart_moves_no_instant_of_a_recovery(world: World) -> None:
    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"))
    await world.sleep_to_whole(10, offset=5)
    await world.member("member1").start()
    answers = world.seconds
    await world.sleep(20)
    await restart(world)
    await world.until(lambda: world.is_ready("member1"))
    assert 30 <= world.seconds - answers <= 5 + 30 + LISTENS_SECONDS["member1"]


@pytest.mark.long
@in_world(TWO)
async def test_l6_a_restart_neither_forgets_nor_restarts_an_eviction_that_is_open(world: World) -> None:
    await apply(world.client, deployment("web", 2), policy("web", by_weight({"member1": 1, "member3": 1})))
    await world.until(lambda: len(world.assigned(WEB)) == 2, 60)
    await world.sleep(30)
    await without_room(world, "member3")
    await world.member("member1").stop()
    await world.until(lambda: world.assigned(WEB) == {"member3": 2})
    opened = world.seconds
    for _ in range(3):
        await world.sleep(150)
        await restart(world)
        assert tasks(world, WEB) == ["member1"]
    await world.until(lambda: held(world, WEB) == "ReplacementMissing")
    assert 600 <= world.seconds - opened <= 605, "its grace period is what it was"
    await with_room(world, "member3")
    await world.until(lambda: tasks(world, WEB) == [], 30)


@in_world(TWO)
async def test_what_failed_before_the_control_plane_went_away_is_looked_at_again_before_it_counts(world: World) -> None:
    world.member("member1").pause()
    await world.sleep(25)
    assert doubt(world, "member1") == "True"
    await world.stop_controllers()
    world.member("member1").resume()
    await world.sleep(3_600)
    world.member("member1").pause()
    world.start_controllers()
    await world.sleep(8)
    world.member("member1").resume()
    for _ in range(120):
        await world.sleep(0.5)
        assert world.is_ready("member1"), "one look is no outage"
    assert doubt(world, "member1") == ""


@in_world(TWO)
async def test_a_doubt_is_two_writes_and_no_outage(world: World) -> None:
    before = int(world.cluster("member1").metadata.resource_version)
    world.member("member1").pause()
    await world.until(lambda: doubt(world, "member1") == "True", 20)
    version = world.cluster("member1").metadata.resource_version
    await world.sleep(8)
    assert world.cluster("member1").metadata.resource_version == version, "it is written once"
    world.member("member1").resume()
    await world.until(lambda: doubt(world, "member1") == "", 20)
    assert world.taints("member1") == set()
    assert before < int(version)


@in_world(TWO)
async def test_an_overdue_agent_is_doubted_before_it_is_unknown(world: World) -> None:
    world.member("member3").agent_link.hang()
    await world.until(lambda: doubt(world, "member3") == "True", 26)
    assert world.is_ready("member3")
    world.member("member3").agent_link.flow()
    await world.until(lambda: doubt(world, "member3") == "", 15)
    assert world.is_ready("member3")
    world.member("member3").agent_link.hang()
    await world.until(lambda: not world.is_ready("member3"), 41)
    assert doubt(world, "member3") == ""


@in_world(TWO)
async def test_a_restart_of_the_control_plane_declares_nobody_lost_that_it_has_not_listened_to(world: World) -> None:
    await world.stop_controllers()
    world.member("member3").agent_link.hang()
    await world.sleep(3_600)
    world.member("member3").agent_link.flow()
    world.start_controllers()
    for _ in range(600):
        await world.sleep(0.2)
        assert world.is_ready("member3")
        assert world.is_ready("member1")
        assert doubt(world, "member3") == ""


@in_world(TWO)
async def test_a_silent_agent_is_noticed_though_the_control_plane_restarts_again_and_again(world: World) -> None:
    await world.member("member3").stop()
    stopped = world.seconds
    while world.is_ready("member3") and world.seconds < stopped + 300:
        await restart(world, 1)
        await world.sleep(25)
    assert world.seconds - stopped < 90


@in_world({"member1": "Push"})
async def test_a_restart_asks_a_member_for_its_lists_and_for_no_object_that_rests(world: World) -> None:
    names = [f"web{number}" for number in range(12)]
    every = policy("every", by_weight({"member1": 1}))
    every["spec"]["resourceSelectors"] = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
    await apply(world.client, every, *(deployment(name, 1) for name in names))
    await world.sleep(60)
    asked: list[str] = []
    answers(world.member("member1").place, lambda request: asked.append(f"{request.method} {request.path}"))
    await restart(world)
    await world.sleep(60)
    path = "/apis/apps/v1/namespaces/default/deployments"
    assert [each for each in asked if each.startswith(f"GET {path}/")] == []
    await apply(world.client, deployment("new", 1))
    await world.sleep(10)
    assert f"POST {path}" in asked


@in_world({"member1": "Push"})
async def test_what_changes_while_a_member_is_listed_is_written_as_it_then_is(world: World) -> None:
    """A Work that rests waits for the list; somebody has changed its object, and the user changes it meanwhile."""
    await apply(world.client, deployment("web", 1), policy("web", by_weight({"member1": 1})))
    await world.sleep(60)
    member = world.member("member1")
    before = await member.client.get(DEPLOYMENTS, "web", "default")
    await world.stop_controllers()
    await member.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 5}}, "default")
    written: list[int] = []
    slow = True

    async def answer(request: Request, work: Callable[[], Answering]) -> Response | StreamResponse:
        if request.method == "GET" and request.path.endswith("/deployments") and slow:
            await asyncio.sleep(6)
        if request.method == "PUT" and request.path.endswith("/deployments/web"):
            written.append(msgspec.json.decode(request.body)["spec"]["replicas"])
        return await work()

    member.place.audit = answer
    world.start_controllers()
    await world.sleep(3)
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 2}}, "default")
    await world.sleep(2)
    assert not written, "the list has not come"
    await world.sleep(30)
    slow = False
    after = await member.client.get(DEPLOYMENTS, "web", "default")
    assert set(written) == {2}, "nothing is written as it was before"
    assert after["spec"]["replicas"] == 2
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
