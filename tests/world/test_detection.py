"""Detection of what is dead, sick, or could only not be looked at; and that lists which fail destroy nothing."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kubeapi.meta import Manifest, ObjectMeta
from kubeclient import Request, Response
from kubecluster.network import Place
from kubeserver.handler import StreamResponse
from leeward.api.cluster import Cluster, ClusterSpec
from leeward.api.resource import CLUSTERS
from leeward.sim.world import Mode, World
from tests.world.stories import apply, identities, in_world, play, ready_replicas, scenario

NGINX = "nginx-deployment"
DIVIDED = {"member1": 1, "member2": 2}
NOT_READY, UNREACHABLE = "cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable"
Answering = Coroutine[Any, Any, Response | StreamResponse]


def answers(place: Place, instead: Callable[[Request], Response | None]) -> None:
    """Makes what is at the place answer so from now on, where `instead` has an answer."""

    async def answer(request: Request, work: Callable[[], Answering]) -> Response | StreamResponse:
        other = instead(request)
        return other if other is not None else await work()

    place.audit = answer


def status(code: int, reason: str) -> Response:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason,
        "code": code,
        "message": reason,
    }
    return Response(code, json.dumps(body).encode(), {"content-type": "application/json"})


def reason_of(world: World, name: str) -> tuple[str, str]:
    ready = world.cluster(name).ready
    assert ready is not None
    return ready.status, ready.reason


async def nginx_runs(world: World) -> None:
    await apply(world.client, *scenario("divided.yaml"))
    await world.until(lambda: world.assigned(NGINX) == DIVIDED, 60)
    await world.sleep(30)


@pytest.mark.parametrize(("code", "reason"), [(401, "Unauthorized"), (403, "Forbidden")])
@pytest.mark.long
@in_world()
async def test_a_credential_that_is_refused_keeps_new_copies_away_and_evicts_nothing(
    world: World, code: int, reason: str
) -> None:
    await nginx_runs(world)
    await world.sleep_to_whole(10, offset=1)
    there = await identities(world, "nginx")
    answers(world.member("member1").place, lambda request: status(code, reason))
    refused = world.seconds
    await world.until(lambda: not world.is_ready("member1"))
    assert world.seconds - refused == pytest.approx(39, abs=0.5), "thresholded like the rest"
    assert reason_of(world, "member1") == ("False", "StatusCollectionFailed")
    await world.sleep(900)
    assert world.taints("member1") == {f"{NOT_READY}:NoSchedule"}
    assert world.assigned(NGINX) == DIVIDED
    world.member("member1").place.audit = None
    await world.until(lambda: world.is_ready("member1"), 60)
    await world.until(lambda: world.taints("member1") == set(), 5)
    assert await ready_replicas(world, "member1", "nginx") == 1
    assert await identities(world, "nginx") == there


@in_world()
async def test_healthz_is_asked_only_where_there_is_no_readyz(world: World) -> None:
    asked: list[str] = []

    def old(request: Request) -> Response | None:
        asked.append(request.path)
        return status(404, "NotFound") if request.path == "/readyz" else None

    answers(world.member("member1").place, old)
    await world.sleep(120)
    assert world.is_ready("member1")
    assert "/healthz" in asked
    answers(world.member("member1").place, lambda r: status(500, "Sick") if r.path == "/healthz" else old(r))
    await world.until(lambda: not world.is_ready("member1"), 50)
    assert reason_of(world, "member1") == ("False", "ClusterNotReady")
    asked.clear()
    answers(world.member("member2").place, lambda r: asked.append(r.path))
    await world.sleep(60)
    assert "/readyz" in asked
    assert "/healthz" not in asked


@in_world()
async def test_a_pull_cluster_that_never_reports_is_unknown_after_the_startup_grace(world: World) -> None:
    spec = ClusterSpec(sync_mode="Pull", id="never")
    await world.client.create(CLUSTERS, Cluster(metadata=ObjectMeta(name="never"), spec=spec))
    joined = world.seconds
    await world.until(lambda: world.taints("never") == {f"{NOT_READY}:NoSchedule"}, 5)
    await world.until(lambda: world.cluster("never").ready is not None)
    assert world.seconds - joined == pytest.approx(60, abs=1)
    assert reason_of(world, "never") == ("Unknown", "ClusterStatusNeverUpdated")
    await world.until(lambda: world.taints("never") == {f"{UNREACHABLE}:NoSchedule"}, 5)


@in_world()
async def test_an_outage_that_changes_its_face_swaps_the_taints_and_goes_on_with_its_clock(world: World) -> None:
    by_hand = {"key": "example.com/mine", "effect": "NoSchedule"}
    await world.client.patch(CLUSTERS, "member3", {"spec": {"taints": [by_hand]}})
    await world.sleep(10)
    mine, member = "example.com/mine:NoSchedule", world.member("member3")
    await member.stop_apiserver()
    await world.until(lambda: world.taints("member3") == {mine, f"{NOT_READY}:NoSchedule"}, 60)
    began = world.seconds
    await world.sleep(100)
    await member.stop_agent()
    await world.until(lambda: world.taints("member3") == {mine, f"{UNREACHABLE}:NoSchedule"}, 60)
    both = {mine, f"{UNREACHABLE}:NoSchedule", f"{UNREACHABLE}:NoExecute"}
    await world.until(lambda: world.taints("member3") == both)
    assert world.seconds - began == pytest.approx(300, abs=2), "since it was first not Ready"
    added = {str(taint): taint.time_added for taint in world.cluster("member3").spec.taints}
    assert added[f"{UNREACHABLE}:NoSchedule"] is not None
    assert added[f"{UNREACHABLE}:NoExecute"] is not None
    await member.start_apiserver()
    member.start_agent()
    await world.until(lambda: world.taints("member3") == {mine}, 120)


def empty_list(request: Request) -> Response:
    name = request.path.rsplit("/", 1)[-1]
    body: Manifest = {
        "kind": f"{name.title()}List",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "1"},
        "items": [],
    }
    return Response(200, json.dumps(body).encode(), {"content-type": "application/json"})


@pytest.mark.parametrize("wrong", ["errors", "empty lists"])
@in_world()
async def test_s5_a_member_whose_lists_are_wrong_loses_nothing(world: World, wrong: str) -> None:
    await nginx_runs(world)
    there = await identities(world, "nginx")

    def instead(request: Request) -> Response | None:
        is_list = request.method == "GET" and request.path.rsplit("/", 1)[-1] in ("deployments", "pods", "nodes")
        if not is_list:
            return None
        return status(500, "InternalError") if wrong == "errors" else empty_list(request)

    for name in DIVIDED:
        answers(world.member(name).place, instead)
        world.member(name).place.link.interrupt()
    await world.sleep(60)
    assert world.assigned(NGINX) == DIVIDED
    for name in DIVIDED:
        assert world.is_ready(name), "it can be reached, and is asked by other ways"
        world.member(name).place.audit = None
    await world.sleep(60)
    assert [await ready_replicas(world, name, "nginx") for name in DIVIDED] == list(DIVIDED.values())
    assert await identities(world, "nginx") == there


@pytest.mark.long
def test_s5_a_control_plane_whose_api_server_only_errs_evicts_nothing_afterwards() -> None:
    members: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull", "member4": "Push"}

    async def story(world: World) -> None:
        await nginx_runs(world)
        there = await identities(world, "nginx")
        answers(world.place, lambda request: status(500, "InternalError"))
        world.place.link.interrupt()
        await world.sleep(700)
        await world.stop_controllers()
        world.start_controllers()
        await world.sleep(120)
        world.place.audit = None
        for _ in range(60):
            await world.sleep(5)
            assert world.assigned(NGINX) == DIVIDED
            assert not [name for name in members if "NoExecute" in str(world.taints(name))]
        assert all(world.is_ready(name) for name in members)
        assert await identities(world, "nginx") == there

    play(story, members)


@pytest.mark.parametrize("plural", ["clusters", "works", "resourcebindings"])
@in_world()
async def test_s5_an_api_server_that_lists_nothing_makes_nobody_leave(world: World, plural: str) -> None:
    """The server answers as one that has fallen behind, and that a control plane asks first when it starts."""
    await nginx_runs(world)
    binding = world.binding(NGINX)
    assert binding is not None
    generation = binding.metadata.generation
    there = await identities(world, "nginx")
    await world.stop_controllers()

    def nothing(request: Request) -> Response | None:
        if request.method != "GET" or not request.path.endswith(f"/{plural}"):
            return None
        return status(500, "InternalError") if "watch" in request.query else empty_list(request)

    answers(world.place, nothing)
    world.start_controllers()
    await world.sleep(120)
    world.place.audit = None
    await world.sleep(120)
    after = world.binding(NGINX)
    assert after is not None
    assert after.metadata.generation == generation, "not even for a moment"
    assert [await ready_replicas(world, name, "nginx") for name in DIVIDED] == list(DIVIDED.values())
    assert await identities(world, "nginx") == there, "not deleted and made anew either"
