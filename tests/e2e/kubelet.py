"""Servers that a real kube-apiserver asks behind itself, played by one: the kubelet of a node, and an extension API.

The kubelet is one of before 1.30: exec and attach over SPDY or a WebSocket of `v4`, port-forward over SPDY; each line
of `X-Stream-Protocol-Version` is one protocol to it, as before 1.19 (kubernetes#89849). The extension API server
answers `/redirect` with a redirect, and anything else with an empty list.
"""

import asyncio
import json
import ssl
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from msgspec import structs

from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import Manifest
from kubeapi.transport import Request, Response
from kubecluster.channels import STDERR, STDOUT, Channels, exited
from kubecluster.spdy_channels import PROTOCOL_HEADER, channels_for
from kubeserver import errors
from kubeserver.auth.authentication import Authenticator
from kubeserver.handler import StreamResponse, User
from kubeserver.http.front import HttpFront
from tests.certificates import Authority
from tests.e2e.port_forward import forward_ports

GROUP = "odd.example.com"
PORT = 8080
EXIT_CODE = 3
ELSEWHERE = "https://elsewhere.example.com/"
POD: Manifest = {
    "metadata": {"namespace": "default", "name": "web", "uid": "web"},
    "spec": {"containers": [{"name": "main", "ports": [{"containerPort": PORT}]}]},
}
_NAMES = {"input": "stdin", "output": "stdout", "error": "stderr"}
"""Names that an API server gives the streams when it speaks to a kubelet."""


class Kubelet:
    """`heard` is all that was asked."""

    def __init__(self) -> None:
        self.heard: list[Request] = []

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        self.heard.append(request)
        try:
            match request.path.split("/")[1:]:
                case ["exec" | "attach", *_]:
                    return self._converse(request)
                case ["portForward", *_]:
                    if request.headers.get("upgrade") != "SPDY/3.1":
                        raise errors.bad_request("Upgrade request required")
                    return forward_ports(POD, request)
                case ["containerLogs", *_]:
                    return Response(200, b"one line\n", {"content-type": "text/plain"})
                case ["apis", group, "v1", *rest] if group == GROUP:
                    return _extension(rest, request)
                case _:
                    raise errors.not_found("", "path", request.path)
        except errors.Refused as refused:
            return errors.status_response(refused.status)

    def last(self, end: str) -> Request:
        return next(request for request in reversed(self.heard) if request.path.endswith(end))

    def _converse(self, request: Request) -> StreamResponse:
        """Raises: Refused."""
        query = {_NAMES.get(name, name): value for name, value in request.query.items()}
        protocols = request.headers.get("sec-websocket-protocol", "")
        first, *_ = request.headers.get(PROTOCOL_HEADER, "").split("\n")
        if "," in first or protocols == "v5.channel.k8s.io":
            raise errors.forbidden("", "", "", f"unable to negotiate protocol: client supports {first}{protocols}")
        channels = channels_for(structs.replace(request, query=query))
        work = Supervisor("command")
        work.start(_run(channels, parse_qs(request.query_string).get("command", []), "stdin" in query), "command")
        return channels.answer(work)


async def _run(channels: Channels, command: list[str], reads: bool) -> None:
    """Says its command, and what is typed until the end; `fails` ends it with a code."""
    if not await channels.wait_ready():
        return
    await channels.write(STDOUT, f"{'|'.join(command)}\n".encode())
    while reads and (typed := await channels.read()) is not None:
        await channels.write(STDOUT, typed)
    if "fails" in command:
        await channels.write(STDERR, b"it fails\n")
    await channels.end(exited(EXIT_CODE if "fails" in command else 0))


def _extension(rest: list[str], request: Request) -> Response | StreamResponse:
    match rest:
        case []:
            verbs = ["get", "list", "watch"]
            kinds = [{"name": "things", "singularName": "thing", "namespaced": False, "kind": "Thing", "verbs": verbs}]
            return _json({"kind": "APIResourceList", "groupVersion": f"{GROUP}/v1", "resources": kinds})
        case ["things", "redirect"]:
            return Response(302, b"", {"location": ELSEWHERE, "set-cookie": "token=stolen"})
        case _:
            return _json({"kind": "ThingList", "apiVersion": f"{GROUP}/v1", "metadata": {}, "items": []})


def _json(body: Manifest) -> Response:
    return Response(200, json.dumps(body).encode(), {"content-type": "application/json"})


class _Anybody(Authenticator):
    def authenticate(self, request: Any, certificate: Mapping[str, Any] | None) -> User:
        return User("kube-apiserver")


@contextmanager
def kubelet_on_a_port(directory: Path) -> Generator[tuple[Kubelet, int]]:
    """Serves on a free port of 127.0.0.1, in a thread of its own; it believes whoever asks."""
    context = Authority().server_context(directory)
    context.verify_mode = ssl.CERT_NONE
    kubelet, loop = Kubelet(), asyncio.new_event_loop()
    front = HttpFront(kubelet, _Anybody(), context)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def do(what: Callable[[], Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(what(), loop).result(30)

    try:
        yield kubelet, do(front.start)
    finally:
        do(front.stop)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
