"""Harm that a hostile member tries to do to others.

The attacker has a member cluster: its API server answers whatever it likes to the control plane's requests, as much of
it and for as long as it likes.

It must not: fill the memory of the control plane, keep its loop from others, make a healthy cluster look dead, have its
own workloads evicted by an answer that could only not be read, or write into the status of its Cluster what no cluster
says of itself.
"""

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest

from controller_runtime.cache_budget import CacheBudget
from controller_runtime.informers import Informers
from kubeapi import codec
from kubeapi.codec import from_wire
from kubeapi.core import NAMESPACES, NODES, PODS, Secret
from kubeapi.errors import TooLarge
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeclient import Client, Forbidden, Request, Response, Undecodable
from kubeclient.bounds import MAX_OBJECT_BYTES, MEMBER_BOUNDS, MiB
from leeward.api.cluster import Cluster
from leeward.api.counted import COUNTED_NODES
from leeward.api.meta import find_condition
from leeward.api.names import ALLOW_HTTP_ANNOTATION, DOUBTFUL_CONDITION
from leeward.api.resource import WORKS
from leeward.api.work import AggregatedStatusItem
from leeward.app.connect import connect
from leeward.core.interpreter.fields import total
from leeward.core.interpreter.plausible import MAX_STATUS_BYTES, plausible_status
from leeward.planning.node_table import NodeTable
from leeward.sim.world import World
from tests.world.stories import identities, play
from tests.world.test_detection import DIVIDED, NGINX, NOT_READY, answers, nginx_runs, reason_of, status

JSON = {"content-type": "application/json"}
TOO_LARGE = ("False", "ResponseTooLarge")
CHUNK = b"x" * 65536


@dataclass
class Flood:
    """A server that answers every request with `head`, and then with `chunk` for as long as it is listened to."""

    head: bytes = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    chunk: bytes = CHUNK
    most: int = 8 * MEMBER_BOUNDS.body
    sent: int = 0
    heads: list[str] = field(default_factory=list[str])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode().lower())
            writer.write(self.head)
            while self.sent < self.most:
                writer.write(self.chunk)
                await writer.drain()
                self.sent += len(self.chunk)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


def ask(server: Flood, story: Callable[[Client], Awaitable[None]]) -> None:
    """Plays `story` with the client that the control plane makes of a Push member at the server."""

    async def main() -> None:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        endpoint = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        metadata = {"name": "m", "annotations": {ALLOW_HTTP_ANNOTATION: "true"}}
        spec = {"syncMode": "Push", "apiEndpoint": endpoint, "secretRef": {"namespace": "a", "name": "b"}}
        secret = from_wire({"metadata": {"name": "b", "namespace": "a"}, "data": {"token": "eA=="}}, Secret)
        client = connect(from_wire({"metadata": metadata, "spec": spec}, Cluster), secret)
        try:
            async with asyncio.timeout(60):
                await story(client)
        finally:
            await client.close()
            listening.close()
            await listening.wait_closed()

    asyncio.run(main())


def test_an_answer_without_end_is_read_up_to_its_bound() -> None:
    server = Flood()

    async def story(client: Client) -> None:
        with pytest.raises(TooLarge, match="longer than 64 MiB"):
            await client.list(NODES)

    ask(server, story)
    assert server.sent < MEMBER_BOUNDS.body + 16 * MiB


@cache
def bomb() -> bytes:
    """A few hundred KiB that open to twice the bound."""
    return gzip.compress(bytes(2 * MEMBER_BOUNDS.body), 1)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_an_answer_is_inflated_up_to_its_bound(encoding: str) -> None:
    body = bomb()
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(body)}\r\n\r\n"
    server = Flood(head.encode(), body, most=1)

    async def story(client: Client) -> None:
        with pytest.raises(TooLarge if encoding in ("gzip", "deflate") else Undecodable):
            await client.list(NODES)
        with pytest.raises(Undecodable):
            async for _ in client.watch(NODES, resource_version="1"):
                pass

    ask(server, story)
    assert "accept-encoding: identity" in server.heads[0]


def test_a_line_of_a_watch_without_end_is_read_up_to_its_bound() -> None:
    server = Flood()

    async def story(client: Client) -> None:
        with pytest.raises(TooLarge):
            async for _ in client.watch(NODES, resource_version="1"):
                pass

    ask(server, story)
    assert server.sent < MEMBER_BOUNDS.line + 16 * MiB


def test_an_error_without_end_is_an_error_of_its_bound() -> None:
    server = Flood(b"HTTP/1.1 500 No\r\nConnection: close\r\n\r\n")

    async def story(client: Client) -> None:
        with pytest.raises(TooLarge):
            async for _ in client.watch(NODES, resource_version="1"):
                pass

    ask(server, story)
    assert server.sent < MAX_OBJECT_BYTES + 16 * MiB


def test_the_message_of_an_error_is_cut() -> None:
    said = json.dumps({"kind": "Status", "message": "no " * MiB, "code": 403}).encode()
    head = f"HTTP/1.1 403 No\r\nContent-Length: {len(said)}\r\nConnection: close\r\n\r\n"

    async def story(client: Client) -> None:
        with pytest.raises(Forbidden) as caught:
            await client.get(NAMESPACES, "a")
        assert len(str(caught.value)) < 5000

    ask(Flood(head.encode(), said, most=1), story)


def test_what_is_nested_without_end_is_not_decoded() -> None:
    deep = b'{"metadata":{"name":"a"},"spec":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}"
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(deep)}\r\nConnection: close\r\n\r\n"

    async def story(client: Client) -> None:
        with pytest.raises(Undecodable):
            await client.get(PODS, "a", "b")

    ask(Flood(head.encode(), deep, most=1), story)


class Lists:
    """A transport to a server whose list of nodes is what `page` gives for the number of a page, and its limit."""

    def __init__(self, page: Callable[[int, int], tuple[list[Any], str]]) -> None:
        self._page = page
        self.limits: list[int] = []

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        number, limit = int(request.query.get("continue") or 0), int(request.query["limit"])
        self.limits.append(limit)
        items, token = self._page(number, limit)
        metadata = {"resourceVersion": "7", "continue": token}
        return Response(200, json.dumps({"metadata": metadata, "items": items}).encode(), JSON)

    def stream(self, request: Request) -> Any:
        raise TooLarge("no watch here")

    async def close(self) -> None: ...


def node(name: str, **status: Any) -> Any:
    ready = [{"type": "Ready", "status": "True"}]
    return {"metadata": {"name": name, "uid": name, "resourceVersion": "1"}, "status": {"conditions": ready, **status}}


async def followed(lists: Lists, budget: CacheBudget) -> int:
    """Number of nodes that are known after the first attempt to list them."""
    async with Supervisor("test") as supervisor:
        informers = Informers(Client(lists), Randomness(1), supervisor, budget)
        nodes = informers.of(NODES)
        for _ in range(20_000):
            await asyncio.sleep(0)
            if budget.excess:
                break
        return len(list(nodes.list()))


async def counted(lists: Lists, budget: CacheBudget) -> int:
    """Number of nodes that the table of a summary has after the first attempt to list them."""
    async with Supervisor("test") as supervisor:
        reflector = Informers(Client(lists), Randomness(1), supervisor, budget).reflect(COUNTED_NODES, NodeTable)
        for _ in range(20_000):
            await asyncio.sleep(0)
            if budget.excess:
                break
        return 0 if reflector.table is None else reflector.table.count


ENDLESS: dict[str, Callable[[int, int], tuple[list[Any], str]]] = {
    "the same page again": lambda number, limit: ([node("a")], "1"),
    "empty pages": lambda number, limit: ([], str(number + 1)),
    "the same objects": lambda number, limit: ([node("a")] * limit, str(number + 1)),
    "new objects": lambda number, limit: ([node(f"{number}-{i}") for i in range(limit)], str(number + 1)),
}


@pytest.mark.parametrize("read", [followed, counted])
@pytest.mark.parametrize("kind", ENDLESS)
def test_a_list_that_never_ends_is_given_up_and_nothing_of_it_is_kept(
    kind: str, read: Callable[[Lists, CacheBudget], Awaitable[int]]
) -> None:
    async def main() -> None:
        budget = CacheBudget(max_objects=20_000)
        assert await read(Lists(ENDLESS[kind]), budget) == 0
        assert budget.excess.startswith("nodes: ")
        assert (budget.used_bytes, budget.used_objects) == (0, 0)

    run_virtual(main())


@pytest.mark.long
def test_a_page_of_400000_nodes_is_no_list() -> None:
    async def main() -> None:
        budget = CacheBudget()
        nodes = [node("a")] * 400_000
        assert await followed(Lists(lambda number, limit: (nodes, "")), budget) == 0
        assert "more than 200000 objects" in budget.excess

    run_virtual(main())


def test_objects_that_fill_the_memory_are_beyond_the_budget() -> None:
    async def main() -> None:
        budget = CacheBudget(max_bytes=4 * MiB)
        large = [node(f"n{i}") | {"spec": {"taints": [{"key": "k" * 9000, "effect": "NoExecute"}]}} for i in range(500)]
        assert await followed(Lists(lambda number, limit: (large, "")), budget) == 0
        assert "more than 4 MiB" in budget.excess

    run_virtual(main())


def test_resources_that_fill_the_memory_are_beyond_the_budget() -> None:
    """A list of nodes each of which offers others."""

    def page(number: int, limit: int) -> tuple[list[Any], str]:
        offers = {f"example.com/{number}-{each}": "1" for each in range(400)}
        return [node(f"n{number}-{i}", allocatable={**offers, f"example.com/{i}": "1"}) for i in range(20)], str(
            number + 1
        )

    async def main() -> None:
        budget = CacheBudget(max_bytes=4 * MiB)
        assert await counted(Lists(page), budget) == 0
        assert "more than 4 MiB" in budget.excess
        assert (budget.used_bytes, budget.used_objects) == (0, 0)

    run_virtual(main())


@pytest.mark.parametrize("read", [followed, counted])
def test_a_page_that_is_too_large_is_asked_for_in_smaller_ones(
    read: Callable[[Lists, CacheBudget], Awaitable[int]],
) -> None:
    """Large objects are no attack: 200 ConfigMaps of 1 MiB are too much for one page, and are listed."""

    def page(number: int, limit: int) -> tuple[list[Any], str]:
        if limit > 50:
            raise TooLarge("longer than 64 MiB")
        end = number + limit
        return [node(f"n{i}") for i in range(number, min(end, 200))], str(end) if end < 200 else ""

    async def main() -> None:
        lists, budget = Lists(page), CacheBudget()
        assert await read(lists, budget) == 200
        assert lists.limits[:3] == [500, 100, 20]
        assert budget.used_objects == 200

    run_virtual(main())


def test_others_have_their_turns_while_a_long_list_is_decoded() -> None:
    """Turns on a real loop, counted from the moment at which the list is there."""
    nodes = [node(f"n{i}") for i in range(100_000)]
    turns = [0]

    def page(number: int, limit: int) -> tuple[list[Any], str]:
        return nodes, ""

    class Counted(Lists):
        async def send(self, request: Request, *, timeout_seconds: float) -> Response:
            answer = await super().send(request, timeout_seconds=timeout_seconds)
            turns[0] = 0
            return answer

    async def take_turns() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    async def main() -> None:
        async with Supervisor("turns") as supervisor:
            supervisor.start(take_turns(), "turns")
            assert len((await Client(Counted(page)).list(NODES, limit=500)).items) == 100_000
        assert turns[0] > 20

    asyncio.run(main())


def endless_nodes(request: Request) -> Response | None:
    if request.path != "/api/v1/nodes":
        return None
    if "watch" in request.query:
        return status(410, "Expired")
    number = int(request.query.get("continue") or 0)
    body = {"metadata": {"resourceVersion": "7", "continue": str(number + 1)}, "items": [node(f"n{number}")]}
    return Response(200, json.dumps(body).encode(), JSON)


def too_large(path: str) -> Callable[[Request], Response | None]:
    def answer(request: Request) -> Response | None:
        if request.path == path:
            raise TooLarge(f"GET {path}: the answer is longer than 64 MiB")
        return None

    return answer


@pytest.mark.parametrize(
    "attack",
    [endless_nodes, too_large("/readyz"), too_large("/api/v1/namespaces/kube-system"), too_large("/apis")],
    ids=["endless continue", "health", "read", "discovery"],
)
@pytest.mark.long
def test_a_member_beyond_its_bounds_is_not_ready_and_loses_nothing(attack: Any) -> None:
    async def story(world: World) -> None:
        await nginx_runs(world)
        there = await identities(world, "nginx")
        place = world.member("member1").place
        answers(place, attack)
        place.link.interrupt()
        await world.until(lambda: reason_of(world, "member1") == TOO_LARGE, 400)
        for _ in range(90):
            await world.sleep(10)
            assert world.is_ready("member2")
            assert world.is_ready("member3")
        assert reason_of(world, "member1") == TOO_LARGE
        assert world.taints("member1") == {f"{NOT_READY}:NoSchedule"}
        assert world.assigned(NGINX) == DIVIDED
        place.audit = None
        place.link.interrupt()
        await world.until(lambda: world.is_ready("member1"), 700)
        assert await identities(world, "nginx") == there

    play(story)


def test_what_a_member_says_of_itself_is_cut_escaped_and_told() -> None:
    version = {"gitVersion": "v1.30\x1b[2J\nforged\u202e" + "9" * 5000}
    absurd = {"cpu": "1" + "0" * 30, "memory": "-5Gi", "x\x1b[31m" + "y" * 500: "1", "pods": "nine"}
    lies = {"/version": version, "/api/v1/nodes": {"metadata": {"resourceVersion": "7"}, "items": [
        node("n\n\x1b[2Jforged", allocatable=absurd)]}}  # fmt: skip

    def lie(request: Request) -> Response | None:
        said = lies.get(request.path)
        if said is not None and "watch" in request.query:
            return status(410, "Expired")
        return None if said is None else Response(200, json.dumps(said).encode(), JSON)

    async def story(world: World) -> None:
        place = world.member("member1").place
        answers(place, lie)
        place.link.interrupt()
        await world.until(lambda: world.cluster("member1").status.kubernetes_version.startswith("v1.30\\x1b"), 120)
        await world.until(lambda: doubtful(world) != "", 120)
        told = world.cluster("member1").status
        assert len(told.kubernetes_version) < 400
        assert (told.kubernetes_version + doubtful(world)).isprintable()
        assert told.resource_summary is not None
        assert told.resource_summary.allocatable["memory"] == "0"
        assert all(len(name) < 320 and name.isprintable() for name in told.resource_summary.allocatable)
        assert world.is_ready("member1")

    play(story)


def doubtful(world: World) -> str:
    condition = find_condition(world.cluster("member1").status.conditions, DOUBTFUL_CONDITION)
    return condition.message if condition is not None else ""


@pytest.mark.parametrize("kind", ["Evil\x1b[2J", "A" * 5000, "../../secrets", "a b"])
def test_a_kind_of_no_name_is_not_taken_into_the_status(kind: str) -> None:
    def lie(request: Request) -> Response | None:
        if not request.path.startswith("/api"):
            return None
        if request.path not in ("/api", "/apis"):
            return None
        resources = [{"resource": "evils", "responseKind": {"kind": kind}, "scope": "Cluster"}]
        group = {"metadata": {"name": "evil.io"}, "versions": [{"version": "v1", "resources": resources}]}
        body = {"kind": "APIGroupDiscoveryList", "items": [group]}
        return Response(200, json.dumps(body).encode(), JSON)

    async def story(world: World) -> None:
        before = world.cluster("member1").status.api_enablements
        answers(world.member("member1").place, lie)
        await world.sleep(60)
        told = world.cluster("member1").status
        assert told.api_enablements == before
        complete = find_condition(told.conditions, "CompleteAPIEnablements")
        assert complete is not None
        assert complete.status == "False"
        assert world.is_ready("member1")

    play(story)


def test_absurd_numbers_of_replicas_change_no_sum() -> None:
    lies = [{"replicas": 10**30, "readyReplicas": -5}, {"replicas": True, "readyReplicas": "9"}, {"replicas": 2}]
    items = [AggregatedStatusItem(cluster_name=f"m{i}", status=lie) for i, lie in enumerate(lies)]
    assert total(items, ("replicas", "readyReplicas")) == {"replicas": 2**31 - 1}
    assert total(items[1:], ("replicas", "readyReplicas")) == {"replicas": 2}


def test_a_status_that_cannot_be_written_is_cut_to_what_can() -> None:
    deep: Any = 1
    for _ in range(400):
        deep = {"a": deep}
    kept = plausible_status({"replicas": 10**400, "low": -(10**30), "deep": deep}, MAX_STATUS_BYTES)
    assert (kept.status["replicas"], kept.status["low"]) == (2**63 - 1, -(2**63 - 1))
    assert len(json.dumps(kept.status)) < 1000
    assert plausible_status({"message": "x" * MAX_STATUS_BYTES}, MAX_STATUS_BYTES).status is None


def test_a_status_of_many_bytes_is_left_out_and_its_health_is_unknown() -> None:
    async def story(world: World) -> None:
        await nginx_runs(world)
        place = world.member("member1").place
        path = "/apis/apps/v1/deployments"

        def lie(request: Request) -> Response | None:
            if request.path != path:
                return None
            return status(410, "Expired") if "watch" in request.query else Response(200, lists[0], JSON)

        found = await world.member("member1").client.raw("GET", path)
        body = json.loads(found.body)
        body["metadata"]["resourceVersion"] = "99999999"
        for item in body["items"]:
            item["metadata"]["resourceVersion"] = "99999998"
            item["status"]["conditions"] = [{"type": "x" * 300_000, "status": "True"}]
        lists = [json.dumps(body).encode()]
        answers(place, lie)
        place.link.interrupt()
        await world.sleep(120)
        works = await world.client.list(WORKS, "karmada-es-member1")
        reported = [each for work in works.items for each in work.status.manifest_statuses]
        assert all(len(codec.encode(each)) < 1000 for each in reported)
        assert world.is_ready("member1")

    play(story)
