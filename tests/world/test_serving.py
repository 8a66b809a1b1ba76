"""Clusters that say ready and serve nothing, as a kube-apiserver whose etcd is dead."""

import asyncio
from collections.abc import Callable

import pytest

from kubeclient import Request, Response
from kubeserver.handler import StreamResponse
from leeward.core.cluster_health.pending_condition import doubt_in
from leeward.manager.settings import ManagerSettings
from leeward.manager.timing import Timing
from leeward.sim.world import World
from tests.variants import mostly_long
from tests.world.stories import apply, by_weight, deployment, in_world, policy, ready_replicas
from tests.world.test_detection import NOT_READY, Answering, answers, reason_of, status

WEB = "web-deployment"
HEALTH = ("/readyz", "/healthz")
READ = "/api/v1/namespaces/kube-system"
KARMADA = Timing.karmada()
DETECTED_SECONDS = KARMADA.cluster_failure_threshold + 2 * (
    KARMADA.cluster_status_update_frequency + KARMADA.cluster_probe_timeout
)
MOVED_SECONDS = DETECTED_SECONDS + KARMADA.failover_eviction_timeout + KARMADA.default_not_ready_toleration_seconds
HANGS = "reading the Namespace kube-system got no answer within 5 s, although /readyz says ok"
FAILS = "reading the Namespace kube-system was answered with HTTP 500, although /readyz says ok"

Harm = Callable[[World, str], None]


def hang(world: World, name: str) -> None:
    """Every request but those to the health endpoints gets no answer; what was open breaks."""

    async def answer(request: Request, work: Callable[[], Answering]) -> Response | StreamResponse:
        if request.path not in HEALTH:
            await asyncio.Event().wait()
        return await work()

    place = world.member(name).place
    place.audit = answer
    place.link.interrupt()


def fail(world: World, name: str) -> None:
    """Every request but those to the health endpoints gets an error; what was open breaks."""
    place = world.member(name).place
    answers(place, lambda request: None if request.path in HEALTH else status(500, "etcdserver: no leader"))
    place.link.interrupt()


def mend(world: World, name: str) -> None:
    place = world.member(name).place
    place.audit = None
    place.link.interrupt()


async def web_runs(world: World, name: str) -> None:
    await apply(world.client, deployment("web", 3), policy("web", by_weight({name: 1, "member2": 2})))
    await world.until(lambda: world.assigned(WEB) == {name: 1, "member2": 2}, 60)
    await world.sleep(30)


@pytest.mark.parametrize(("harm", "message"), [(hang, HANGS), pytest.param(fail, FAILS, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", mostly_long(["member1", "member3"], "member1"))
@in_world()
async def test_l2_a_cluster_that_says_ready_and_serves_nothing_is_failed_over(
    world: World, name: str, harm: Harm, message: str
) -> None:
    await web_runs(world, name)
    await world.sleep_to_whole(10, offset=1)
    harm(world, name)
    began = world.seconds
    await world.until(lambda: not world.is_ready(name))
    assert world.seconds - began <= DETECTED_SECONDS
    assert reason_of(world, name) == ("False", "ClusterNotServing")
    ready = world.cluster(name).ready
    assert ready is not None
    assert ready.message == message
    await world.until(lambda: world.assigned(WEB) == {"member2": 3})
    assert world.seconds - began <= MOVED_SECONDS
    assert world.taints(name) == {f"{NOT_READY}:NoSchedule", f"{NOT_READY}:NoExecute"}
    await world.sleep(30)
    assert await ready_replicas(world, "member2", "web") == 3

    mend(world, name)
    mended = world.seconds
    await world.until(lambda: world.is_ready(name))
    assert world.seconds - mended <= KARMADA.cluster_success_threshold + 2 * 15
    await world.until(lambda: world.taints(name) == set(), 5)
    await world.sleep(60)
    assert await ready_replicas(world, name, "web") == -1
    assert await ready_replicas(world, "member2", "web") == 3


@in_world()
async def test_l5_a_cluster_that_serves_nothing_is_told_of_once(world: World) -> None:
    hang(world, "member1")
    await world.until(lambda: not world.is_ready("member1"))
    await world.sleep(20)
    version = world.cluster("member1").metadata.resource_version
    await world.sleep(200)
    assert world.cluster("member1").metadata.resource_version == version


@pytest.mark.parametrize("name", ["member1", "member3"])
@in_world()
async def test_a_slow_cluster_stays_ready(world: World, name: str) -> None:
    world.member(name).set_latency(2)
    for _ in range(60):
        await world.sleep(5)
        assert world.is_ready(name)
    assert doubt_in(world.cluster(name)) is None


@in_world(timing=Timing.fast())
async def test_a_slow_cluster_stays_ready_where_probes_are_short(world: World) -> None:
    """Health and read are asked for at once: one after the other they would take longer than the 3 s of a probe."""
    world.member("member1").set_latency(2)
    for _ in range(60):
        await world.sleep(1)
        assert world.is_ready("member1")


@pytest.mark.parametrize("name", ["member1", "member3"])
@in_world(manager=ManagerSettings().karmada_exact())
async def test_karmada_exact_asks_the_health_endpoint_alone(world: World, name: str) -> None:
    hang(world, name)
    await world.sleep(400)
    assert reason_of(world, name) == ("True", "ClusterReady")
    assert world.taints(name) == set()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (status(401, "Unauthorized"), "StatusCollectionFailed"),
        (status(403, "Forbidden"), "StatusCollectionFailed"),
        (status(429, "TooManyRequests"), "StatusCollectionFailed"),
        (Response(200, b"<html>welcome</html>", {"content-type": "text/html"}), "StatusCollectionFailed"),
        (status(404, "NotFound"), "ClusterReady"),
        (status(503, "ServiceUnavailable"), "ClusterNotServing"),
    ],
)
@in_world()
async def test_what_the_answer_to_the_read_means(world: World, answer: Response, reason: str) -> None:
    answers(world.member("member1").place, lambda request: answer if request.path == READ else None)
    await world.sleep(700)
    assert reason_of(world, "member1")[1] == reason
    is_dead = f"{NOT_READY}:NoExecute" in world.taints("member1")
    assert is_dead == (reason == "ClusterNotServing")


@in_world()
async def test_one_read_is_asked_for_with_each_probe_and_no_cache_may_answer_it(world: World) -> None:
    await world.sleep_to_whole(10, offset=1)
    asked: list[Request] = []
    answers(world.member("member1").place, lambda request: asked.append(request))
    await world.sleep(100)
    probes = [request for request in asked if request.path == "/readyz"]
    reads = [request for request in asked if request.path == READ]
    assert len(probes) == len(reads) == 10
    assert all(read.method == "GET" and "resourceVersion" not in read.query for read in reads)


@pytest.mark.parametrize("name", ["member1", "member3"])
@in_world()
async def test_an_outage_that_begins_while_the_status_is_read_is_seen_in_time(world: World, name: str) -> None:
    paths: list[str] = []

    async def answer(request: Request, work: Callable[[], Answering]) -> Response | StreamResponse:
        paths.append(request.path)
        if paths[0] == "/apis":
            await asyncio.Event().wait()
        return await work()

    def begin_at_groups(request: Request) -> Response | None:
        if request.path == "/apis" and not paths:
            paths.append("/apis")
            world.member(name).place.audit = answer
        return None

    answers(world.member(name).place, begin_at_groups)
    await world.sleep_to_whole(10, offset=9)
    while not paths:
        await world.sleep(0.5)
    began = world.seconds
    await world.until(lambda: not world.is_ready(name))
    assert world.seconds - began <= DETECTED_SECONDS
    for other in {"member1", "member2", "member3"} - {name}:
        assert world.is_ready(other)
