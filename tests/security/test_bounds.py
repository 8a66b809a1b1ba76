"""No user takes more than their part of an API server.

The attacker has an account that may read and write one kind of object, or define kinds of their own. They have no
rights on anybody else's objects.

They open watches without end and read none of them, write objects with more labels, owners or values than anybody can
look at, nest them deeply, bring regular expressions that backtrack, rules in CEL that look at everything many times,
and webhooks that never answer or never stop.

They must not get: more watches than their part (they are told to wait, and others are not), memory that stays taken
when what took it is gone, or an object or a rule that the server works on without end.
"""

import asyncio
import json
import socket
import ssl
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.transport import Request
from kubeserver.auth.authentication import Authenticator
from kubeserver.handler import StreamResponse, User
from kubeserver.http.front import MAX_WATCHES, HttpFront
from kubeserver.http.heap import HeapTrimming
from kubeserver.kinds.metadata import ADDED_ENTRIES, MAX_ENTRIES
from kubeserver.limits import MAX_FIELDS, MAX_VALUES
from kubeserver.serialization.protobuf import MEDIA_TYPE as PROTOBUF
from kubeserver.serialization.protobuf import render_protobuf
from kubeserver.webhooks.calling import Address, Uncallable
from kubeserver.webhooks.https import MAX_ANSWER_BYTES, HttpsWebhooks
from tests.certificates import Authority
from tests.https_server import https_server
from tests.kubeserver.api_world import CONFIG_MAPS, WIDGETS, ApiWorld, api_world, config_map, tell, widget
from tests.security.worlds import define

KiB = 1024
ALICE, BOB = User("alice", ("system:masters",)), User("bob", ("system:masters",))


# Watches


class Reader:
    """A client that asks for something and then reads as much as it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @staticmethod
    async def ask(port: int, token: str, path: str) -> "Reader":
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=64 * KiB)
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        writer.write(head.encode())
        return Reader(reader, writer)

    async def head(self) -> str:
        return (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()

    async def body(self) -> Any:
        """Body of an answer with a length, whose head was read."""
        return json.loads(await self._reader.read(64 * KiB))

    async def has(self, size: int) -> bool:
        """Tells whether so much comes before the connection ends."""
        try:
            for _ in range(size // (64 * KiB)):
                await self._reader.readexactly(64 * KiB)
        except (asyncio.IncompleteReadError, ConnectionError):
            return False
        return True

    async def close(self) -> None:
        self._writer.close()
        with suppress(ConnectionError, ssl.SSLError):
            await self._writer.wait_closed()


Story = Callable[[ApiWorld, int], Awaitable[None]]


def serve(story: Story, context: ssl.SSLContext | None = None, **bounds: Any) -> None:
    """Plays a story with a real HTTP server, for alice and for bob."""

    async def main() -> None:
        async with api_world() as world:
            users = Authenticator({"alice": ALICE, "bob": BOB})
            front = HttpFront(world.server, users, context, **bounds)
            port = await front.start()
            try:
                await story(world, port)
            finally:
                await front.stop()

    asyncio.run(main())


WATCH = f"{CONFIG_MAPS}?watch=true"


def test_a_user_has_so_many_watches_and_others_have_theirs() -> None:
    async def story(world: ApiWorld, port: int) -> None:
        opened = [await Reader.ask(port, "alice", WATCH) for _ in range(3)]
        assert [("200 ok" in await reader.head()) for reader in opened] == [True] * 3
        refused = await Reader.ask(port, "alice", "/api/v1/watch/namespaces/default/configmaps")
        head, body = await refused.head(), await refused.body()
        assert "429 too many requests" in head
        assert "retry-after: 1" in head
        assert body["reason"] == "TooManyRequests"
        assert body["message"].startswith("too many watches: alice has 3 open already: close some of them, or")
        listed = await Reader.ask(port, "alice", CONFIG_MAPS)
        assert "200 ok" in await listed.head(), "what ends by itself is no watch"
        other = await Reader.ask(port, "bob", WATCH)
        assert "200 ok" in await other.head()
        await opened.pop().close()
        for _ in range(100):
            again = await Reader.ask(port, "alice", WATCH)
            opened.append(again)
            if "200 ok" in await again.head():
                break
        else:
            raise AssertionError("a watch that was closed is never given back")
        for reader in (*opened, refused, listed, other):
            await reader.close()

    serve(story, watches=3)


def test_the_bound_on_watches_is_what_the_documents_say() -> None:
    assert MAX_WATCHES == 1_000


async def fill(world: ApiWorld, count: int, size: int = 1_500) -> None:
    for number in range(count):
        data = {"a": "x" * size}
        assert (await world.create(CONFIG_MAPS, {"metadata": {"name": f"c{number}"}, "data": data})).code == 201


def taken(before: int) -> int:
    return tracemalloc.get_traced_memory()[0] - before


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


WATCHES, OBJECTS = 20, 400
READ_INTO = 256 * KiB
"""Buffer into which asyncio reads the TLS of one connection."""
LOOK_SECONDS, PATIENCE_SECONDS = 0.2, 60
"""Seconds between two looks whether a server has come to rest, and for which one looks at the most."""


@pytest.mark.usefixtures("traced")
def test_a_watch_that_waits_holds_neither_the_state_that_it_began_with_nor_its_last_piece() -> None:
    async def story(world: ApiWorld) -> None:
        await fill(world, OBJECTS)
        request = Request("GET", CONFIG_MAPS, {"watch": "true"}, {"accept": "application/json"})
        told = [0] * WATCHES

        async def follow(number: int) -> None:
            answer = await world.server.handle(request, ALICE)
            assert isinstance(answer, StreamResponse)
            async for piece in answer.lines:
                told[number] += len(piece)
                del piece

        before = tracemalloc.get_traced_memory()[0]
        async with Supervisor("watches") as watches:
            for number in range(WATCHES):
                watches.start(follow(number), "watch")
            await asyncio.sleep(10)
            assert min(told) > 600 * KiB
            assert taken(before) / WATCHES < 32 * KiB

    tell(story)


def each_takes(before: int) -> int:
    """Bytes of each watch, in whole KiB."""
    return taken(before) // WATCHES // KiB * KiB


def ask_and_read_nothing(port: int, context: ssl.SSLContext) -> socket.socket:
    client = context.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="127.0.0.1")
    client.sendall(f"GET {WATCH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\n\r\n".encode())
    return client


@pytest.mark.usefixtures("traced")
def test_what_a_client_does_not_read_is_bounded_and_given_back_when_it_goes(tmp_path: Path) -> None:
    authority = Authority()
    trusting = ssl.create_default_context(cadata=authority.certificate.decode())

    async def story(world: ApiWorld, port: int) -> None:
        await fill(world, OBJECTS, size=16_000)
        before = tracemalloc.get_traced_memory()[0]
        clients = [await asyncio.to_thread(ask_and_read_nothing, port, trusting) for _ in range(WATCHES)]
        held, now = -1, each_takes(before)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while now < READ_INTO or now != held:
                await asyncio.sleep(LOOK_SECONDS)
                held, now = now, each_takes(before)
        assert now < 800 * KiB, "256 of it are what asyncio reads TLS into"
        for client in clients:
            client.close()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while now >= 32 * KiB:
                await asyncio.sleep(LOOK_SECONDS)
                now = each_takes(before)

    serve(story, authority.server_context(tmp_path))


def test_a_user_who_reads_nothing_loses_the_watches_that_take_too_much() -> None:
    async def story(world: ApiWorld, port: int) -> None:
        await fill(world, 200, size=100_000)
        first, second = [await Reader.ask(port, "alice", WATCH) for _ in range(2)]
        assert "200 ok" in await first.head()
        assert "200 ok" in await second.head()
        assert [await second.has(20_000_000), await first.has(20_000_000)].count(True) == 1, "one of them was ended"
        other = await Reader.ask(port, "bob", WATCH)
        assert "200 ok" in await other.head()
        assert await other.has(20_000_000)
        for reader in (first, second, other):
            await reader.close()

    serve(story, pieces_bytes=300_000)


def test_memory_goes_back_to_the_system_once_for_all_that_ended_together() -> None:
    trims: list[float] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        heap = HeapTrimming(lambda: trims.append(loop.time()), 5, run=lambda trim: trim())
        began = loop.time()
        for _ in range(1_500):
            heap.something_ended()
        await asyncio.sleep(20)
        assert [at - began for at in trims] == [5]
        heap.something_ended()
        heap.stop()
        await asyncio.sleep(20)
        assert len(trims) == 1

    run_virtual(main())


# Objects


def many(count: int) -> dict[str, Any]:
    return {
        "labels": {f"k{number}": "v" for number in range(count)},
        "annotations": {f"k{number}": "v" for number in range(count)},
        "finalizers": [f"example.com/f{number}" for number in range(count)],
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": f"n{number}", "uid": f"u{number}"}
            for number in range(count)
        ],
    }


@pytest.mark.parametrize("field", ["labels", "annotations", "finalizers", "ownerReferences"])
def test_metadata_has_so_many_entries_however_they_come(field: str) -> None:
    async def story(world: ApiWorld) -> None:
        most, added = many(MAX_ENTRIES)[field], many(MAX_ENTRIES + ADDED_ENTRIES)[field]
        more = many(MAX_ENTRIES + ADDED_ENTRIES + 1)[field]
        said = f"metadata.{field}: Too many: {MAX_ENTRIES + ADDED_ENTRIES + 1}: must have at most {MAX_ENTRIES} items"
        assert (await world.create(CONFIG_MAPS, {"metadata": {"name": "a", field: most}})).code == 201
        assert (await world.create(CONFIG_MAPS, config_map("b"))).code == 201
        for answer in (
            await world.create(CONFIG_MAPS, {"metadata": {"name": "c", field: more}}),
            await world.update(f"{CONFIG_MAPS}/b", {"metadata": {"name": "b", field: more}}),
            await world.patch(f"{CONFIG_MAPS}/b", {"metadata": {field: more}}),
        ):
            assert answer.code == 422
            assert said in answer.body["message"]
        assert (await world.create(CONFIG_MAPS, {"metadata": {"name": "c", field: added}})).code == 422
        assert (await world.patch(f"{CONFIG_MAPS}/b", {"metadata": {field: added}})).code == 200, "of controllers"

    tell(story)


def test_owners_that_are_said_twice_are_found_in_one_go() -> None:
    async def story(world: ApiWorld) -> None:
        owners = many(3)["ownerReferences"]
        made = await world.create(CONFIG_MAPS, {"metadata": {"name": "a", "ownerReferences": [*owners, *owners[::-1]]}})
        assert made.body["metadata"]["ownerReferences"] == owners
        assert "duplicate UID(s) observed: u2, u1, u0" in made.headers["warning"]

    tell(story)


@pytest.mark.parametrize(
    ("method", "path", "content_type"),
    [
        ("POST", CONFIG_MAPS, "application/yaml"),
        ("PATCH", f"{CONFIG_MAPS}/a", "application/apply-patch+yaml"),
        ("PATCH", f"{CONFIG_MAPS}/a", "application/apply-patch+yaml; charset=utf-8"),
    ],
)
@pytest.mark.parametrize("sign", [":", ",", "[", "{"])
def test_the_text_in_yaml_may_have_as_many_signs_as_it_likes(
    method: str, path: str, content_type: str, sign: str
) -> None:
    """A block of text needs no quotes in YAML."""

    async def story(world: ApiWorld) -> None:
        text = f"a{sign}b\n" * (MAX_VALUES + 1)
        lines = "".join(f"    {line}\n" for line in text.splitlines())
        body = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  text: |\n{lines}".encode()
        query = {"fieldManager": "me"} if method == "PATCH" else {}
        written = await world.call(method, path, body, query=query, content_type=content_type)
        assert (written.code, written.body.get("data")) == (201, {"text": text})

    tell(story)


@pytest.mark.parametrize("sign", [":", ",", "[", "{"])
def test_the_text_of_a_flow_in_yaml_and_of_protobuf_may_have_as_many_signs(sign: str) -> None:
    text = f"a{sign}b " * (MAX_VALUES + 1)
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"text": text}}
    flow = f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}, data: {{text: '{text}'}}}}".encode()

    async def story(world: ApiWorld) -> None:
        for content_type, body in (("application/yaml", flow), (PROTOBUF, render_protobuf(manifest))):
            written = await world.call("POST", CONFIG_MAPS, body, content_type=content_type)
            assert (written.code, written.body.get("data")) == (201, {"text": text})

    tell(story)


def test_protobuf_has_as_many_fields_as_json() -> None:
    async def story(world: ApiWorld) -> None:
        for count, said in ((MAX_FIELDS + 1, f"more than {MAX_FIELDS} fields"), (150_000, "limit is 1572864")):
            data = {f"k{number}": "v" for number in range(count)}
            manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}
            refused = await world.call("POST", CONFIG_MAPS, render_protobuf(manifest), content_type=PROTOBUF)
            assert said in refused.body["message"]

    tell(story)


@pytest.mark.parametrize("keys", [31_000, 49_000])
def test_what_was_read_with_its_owners_is_written_back(keys: int) -> None:
    """Owners name each field once more: `get`, an edit and `put`."""

    async def story(world: ApiWorld) -> None:
        made = config_map("a") | {"data": {f"k{number}": "v" for number in range(keys)}}
        assert (await world.create(CONFIG_MAPS, made)).code == 201
        read = (await world.get(f"{CONFIG_MAPS}/a")).body
        assert len(read["metadata"]["managedFields"][0]["fieldsV1"]["f:data"]) > keys
        read["data"]["k0"] = "other"
        assert (await world.update(f"{CONFIG_MAPS}/a", read)).code == 200
        owners: Manifest = {f"f:k{number}": {} for number in range(MAX_FIELDS + 1)}
        read["metadata"]["managedFields"][0]["fieldsV1"] = owners
        read["data"] = {}
        refused = await world.update(f"{CONFIG_MAPS}/a", read)
        assert (refused.code, f"more than {MAX_FIELDS} fields" in refused.body["message"]) == (400, True)

    tell(story)


@pytest.mark.parametrize("blank", ["", "\n"])
@pytest.mark.parametrize("content_type", ["application/yaml", "application/json"])
def test_json_has_bounded_fields_however_it_is_called(content_type: str, blank: str) -> None:
    async def story(world: ApiWorld) -> None:
        fields = ",".join(f'"k{number}":"v"' for number in range(MAX_FIELDS))
        body = f'{blank}{{"metadata":{{"name":"a"}},"data":{{{fields}}}}}'.encode()
        refused = await world.call("POST", CONFIG_MAPS, body, content_type=content_type)
        assert (refused.code, f"more than {MAX_FIELDS} fields" in refused.body["message"]) == (400, True)

    tell(story)


def test_an_object_has_so_many_values_as_it_comes_and_as_it_is_stored() -> None:
    async def story(world: ApiWorld) -> None:
        free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        await define(world, {"free": free})
        half = [0] * (MAX_VALUES // 2)
        assert (await world.create(WIDGETS, widget("a", free={"x": half}))).code == 201
        assert (await world.create(WIDGETS, widget("text", free={"x": "," * MAX_VALUES}))).code == 201
        refused = await world.create(WIDGETS, widget("b", free={"x": [*half, *half, 0]}))
        assert (refused.code, refused.body["message"]) == (
            400,
            f"the request body has more than {MAX_VALUES} values; put them into several objects",
        )
        grown = await world.patch(f"{WIDGETS}/a", {"spec": {"free": {"y": [*half, 0]}}})
        assert (grown.code, "would have more than" in grown.body["message"]) == (400, True)

    tell(story)


@pytest.mark.parametrize(
    ("content_type", "body", "said"),
    [
        ("application/json", b'{"metadata":{"name":"a"},"x":' + b"[" * 100_000, "nested more than 200 levels deep"),
        ("application/json", b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested more than 200 levels deep"),
        ("application/yaml", b"x: " + b"{a: " * 150 + b"1" + b"}" * 150, "deeper than 100 levels"),
        ("application/yaml", b"- " * 150, "deeper than 100 levels"),
        (
            "application/yaml",
            b"a0: &a0 [x, x]\n" + b"".join(b"a%d: &a%d [*a%d, *a%d]\n" % (n, n, n - 1, n - 1) for n in range(1, 60)),
            "YAML of more than 50000 values, its aliases written out",
        ),
    ],
)
def test_what_is_nested_too_deeply_or_grows_by_its_aliases_is_refused(
    content_type: str, body: bytes, said: str
) -> None:
    async def story(world: ApiWorld) -> None:
        refused = await world.call("POST", CONFIG_MAPS, body, content_type=content_type)
        assert refused.code == 400
        assert said in refused.body["message"]

    tell(story)


# Webhooks


class Hanging:
    """A `WebhookClient` of one who never answers."""

    calls = 0

    async def post(self, address: Address, body: bytes, timeout_seconds: float) -> bytes:
        self.calls += 1
        await asyncio.sleep(10**9)
        return b""

    async def close(self) -> None:
        """Does nothing: there is nothing to let go of."""


def test_a_conversion_that_never_comes_is_given_up_and_holds_up_nobody_else() -> None:
    hanging = Hanging()

    async def story(world: ApiWorld) -> None:
        client = {"url": "https://hooks.example/convert"}
        webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
        free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        versions = [
            {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": free}}
            for name in ("v1", "v2")
        ]
        conversion = {"strategy": "Webhook", "webhook": webhook}
        assert (await define(world, {}, conversion=conversion, versions=versions)).code == 201
        assert (await world.create(WIDGETS, widget("a"))).code == 201
        began = asyncio.get_running_loop().time()
        transport = world.transport
        request = Request("GET", WIDGETS.replace("v1", "v2"), {}, {"accept": "application/json"})
        slow = asyncio.create_task(transport.send(request, timeout_seconds=60))
        await asyncio.sleep(1)
        assert (await world.get(CONFIG_MAPS)).code == 200
        refused = await slow
        assert (refused.code, asyncio.get_running_loop().time() - began) == (500, 30)
        assert b"no answer within 30 s" in refused.body

    tell(story, webhook_client=hanging)
    assert hanging.calls == 1


def test_a_webhook_that_answers_without_end_is_refused(tmp_path: Path) -> None:
    authority = Authority()

    async def call(port: int) -> None:
        webhooks = HttpsWebhooks()
        try:
            with pytest.raises(Uncallable, match=f"limit is {MAX_ANSWER_BYTES}"):
                await webhooks.post(Address(f"https://127.0.0.1:{port}/x", authority.certificate.decode()), b"{}", 10)
        finally:
            await webhooks.close()

    with https_server(lambda _: (200, b" " * (MAX_ANSWER_BYTES + 1)), authority.server_context(tmp_path)) as port:
        asyncio.run(call(port))
