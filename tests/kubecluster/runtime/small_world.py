"""One API server on virtual time, with a link to it that can fail, and a transport that says what a test wants."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry

from controller_runtime.informer import Informer
from kubeapi.core import CONFIG_MAPS, ConfigMap
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import ObjectMeta
from kubeapi.resource import Resource
from kubeclient import AlreadyExists, Client, Request, Response, Transport, Unreachable
from kubecluster.network import Link, LinkedTransport, Place
from kubeserver.inprocess import ADMIN, InProcessTransport
from kubeserver.starting import start_apiserver
from kubeserver.store import Store
from kubeserver.store.memory import MemoryMedium

CLOCK = VirtualClock()


@dataclass
class SmallWorld:
    """`client` goes over `link`; `direct` always arrives, as what is sent by `transport` does."""

    store: Store
    direct: Client
    client: Client
    link: Link
    supervisor: Supervisor
    transport: Transport

    def informer(self, resource: Resource[Any] = CONFIG_MAPS, namespace: str = "default") -> Informer[Any]:
        """A running one."""
        informer = Informer(self.client, resource, Randomness(0), namespace)
        self.supervisor.start(informer.run(), "informer")
        return informer

    async def write(self, name: str, **data: str) -> ConfigMap:
        """Creates or changes a ConfigMap."""
        obj = ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)
        try:
            return await self.direct.create(CONFIG_MAPS, obj, "default")
        except AlreadyExists:
            return await self.direct.patch(CONFIG_MAPS, name, {"data": data}, "default")

    async def delete(self, name: str) -> None:
        await self.direct.delete(CONFIG_MAPS, name, "default")


def tell(story: Callable[[SmallWorld], Awaitable[None]]) -> None:
    """Runs a story to its end."""

    async def main() -> None:
        async with Supervisor("test") as supervisor:
            store = await Store.open(MemoryMedium(), supervisor)
            server = await start_apiserver(store, CLOCK, Randomness(0), supervisor, metrics=CollectorRegistry())
            place = Place()
            place.put(server)
            direct, linked = InProcessTransport(server), LinkedTransport(place, ADMIN)
            await story(SmallWorld(store, Client(direct), Client(linked), place.link, supervisor, direct))

    run_virtual(main())


@dataclass
class ScriptedTransport:
    """Answers requests and watches with what is next in the script; then it says nothing any more."""

    answers: Sequence[Response | Exception] = ()
    watches: Sequence[Sequence[bytes | float | Exception]] = ()
    """Lines of a watch, with pauses in seconds between them, and what ends it."""
    answer_seconds: float = 0.0
    requests: list[Request] = field(default_factory=list[Request])
    asked_at: list[float] = field(default_factory=list[float])

    def __post_init__(self) -> None:
        self._answers = iter(self.answers)
        self._watches = iter(self.watches)

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        self.requests.append(request)
        self.asked_at.append(CLOCK.monotonic())
        answer = next(self._answers, None)
        await asyncio.sleep(timeout_seconds if answer is None else self.answer_seconds)
        if isinstance(answer, Response):
            return answer
        raise answer or Unreachable("no answer")

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[bytes], None]:
        self.requests.append(request)
        self.asked_at.append(CLOCK.monotonic())
        await asyncio.sleep(0)
        yield _lines(next(self._watches, [1e6]))

    async def close(self) -> None:
        self.requests.clear()


async def _lines(script: Sequence[bytes | float | Exception]) -> AsyncGenerator[bytes, None]:
    for line in script:
        if isinstance(line, bytes):
            yield line
        elif isinstance(line, Exception):
            raise line
        else:
            await asyncio.sleep(line)


def response(body: object, code: int = 200) -> Response:
    return Response(code, json.dumps(body).encode())


def frame(event_type: str, body: object) -> bytes:
    return json.dumps({"type": event_type, "object": body}).encode()


def config_map(name: str, version: int, uid: str = "") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default", "resourceVersion": str(version), "uid": uid}}


def config_maps(version: int, *items: dict[str, Any]) -> Response:
    """A whole list."""
    return response({"metadata": {"resourceVersion": str(version)}, "items": items})
