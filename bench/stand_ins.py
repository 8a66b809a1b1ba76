"""`python -m bench.stand_ins DIRECTORY PORT ...`: stand-ins for members of a fleet, one on each port, over TLS.

They answer what the controllers of a control plane ask of a member: health, discovery, lists, watches, and writes of
any kind (`stand_in.py`). `GET /bench/requests` is how many requests all of them have had, by method; a watch is one.
`POST /bench/copies` makes copies of what one of them has (`fleet_copies.py`).
"""

import asyncio
import json
import re
import ssl
import sys
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import cast
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
import uvloop
from prometheus_client import CollectorRegistry

from bench.fleet_copies import Orders
from bench.servers import certificate
from bench.stand_in import OpenWatch, Refusal, StandIn, Target
from kubeapi.loop.clock import SystemClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.transport import Request
from kubeserver.inprocess import InProcessTransport
from kubeserver.starting import start_apiserver
from kubeserver.store import Store
from kubeserver.store.memory import MemoryMedium

DOCUMENTS = ("/version", "/readyz", "/healthz", "/api", "/apis", "/api/v1", "/apis/apps/v1")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_ACCEPT = re.compile(rb"\r\naccept: *([^\r]*)", re.IGNORECASE)


class Connection(asyncio.Protocol):
    """HTTP/1.1 of a client that waits for an answer before it asks again."""

    def __init__(self, member: StandIn, documents: Mapping[tuple[str, bool], bytes], counts: Counter[str]) -> None:
        self._member = member
        self._documents = documents
        self._counts = counts
        self._received = b""
        self._transport: asyncio.Transport | None = None
        self._watching: OpenWatch | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._watching is not None:
            self._watching.close()

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._received, 0, end)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self._received) < whole:
                return
            head, body = self._received[:end], self._received[end + 4 : whole]
            self._received = self._received[whole:]
            self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        method, url, _ = head[: head.find(b"\r\n")].decode().split(" ")
        parts = urlsplit(url)
        path, query = unquote(parts.path), dict(parse_qsl(parts.query))
        self._counts[method] += 1
        accept = _ACCEPT.search(head)
        target = Target.of(path)
        document = self._documents.get((path, accept is not None and b"as=APIGroupDiscoveryList" in accept[1]))
        if path == "/bench/requests":
            self._respond(200, json.dumps(self._counts).encode())
        elif path == "/bench/copies":
            self._member.copy(msgspec.json.decode(body, type=Orders))
            self._respond(200, b"{}")
        elif document is not None:
            self._respond(200, document)
        elif target is None:
            self._respond(404, _status(404, "NotFound"))
        elif query.get("watch") == "true":
            self._watch(target, query)
        else:
            try:
                self._respond(*self._member.handle(method, target, body))
            except Refusal as error:
                self._respond(error.code, _status(error.code, error.reason))

    def _watch(self, target: Target, query: Mapping[str, str]) -> None:
        self.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        seconds = float(query.get("timeoutSeconds", "300"))
        self._watching = OpenWatch(self._member, self.write, target.namespace, seconds)
        self._member.watch(target, int(query.get("resourceVersion") or "0"), self._watching)

    def _respond(self, code: int, body: bytes) -> None:
        head = b"HTTP/1.1 %d -\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (code, len(body))
        self.write(head + body)


def _status(code: int, reason: str) -> bytes:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
    return msgspec.json.encode({**status, "message": reason})


async def _documents() -> dict[tuple[str, bool], bytes]:
    """Documents in which a cluster speaks of itself, in the plain and the aggregated form, as our API server does."""
    documents: dict[tuple[str, bool], bytes] = {}
    async with Supervisor("documents") as supervisor:
        store = await Store.open(MemoryMedium(), supervisor)
        registry = CollectorRegistry()
        server = await start_apiserver(store, SystemClock(), Randomness(), supervisor, metrics=registry)
        transport = InProcessTransport(server)
        for path in DOCUMENTS:
            for aggregated in (False, True):
                accept = "application/json" + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" * aggregated
                request = Request("GET", path, {}, {"accept": accept})
                documents[path, aggregated] = (await transport.send(request, timeout_seconds=10)).body
    return documents


async def serve(directory: Path, ports: list[int]) -> None:
    documents, counts = await _documents(), Counter[str]()
    certificate_file, key_file, _ = certificate(directory / "pki")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate_file, key_file)
    loop = asyncio.get_running_loop()
    for port in ports:
        connect = partial(Connection, StandIn(), documents, counts)
        await loop.create_server(connect, "127.0.0.1", port, ssl=context, backlog=1024)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(Path(sys.argv[1]), [int(port) for port in sys.argv[2:]]))
