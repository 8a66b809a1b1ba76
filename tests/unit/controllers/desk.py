"""Desk of a controller: what it is given, with real API servers of a control plane and a member, and what it sends."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry

from controller_runtime.events import EventRecorder
from kubeapi.core import EVENTS, NAMESPACES
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, Request, Response, Transport, WorldError
from kubeserver.inprocess import InProcessTransport
from kubeserver.registry.objects import restamped
from kubeserver.starting import start_apiserver
from kubeserver.store.memory import MemoryMedium
from kubeserver.store.record import Record
from kubeserver.store.store import Store
from leeward.api.names import execution_space
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.schema import custom_resource_definitions
from leeward.api.work import Work
from leeward.runtime.controller_context import ControlPlane, Member, Server
from leeward.runtime.metrics import Metrics

MEMBER = "member1"
SPACE = execution_space(MEMBER)
DEPLOYMENTS = Resource.of_manifests("apps/v1", "deployments", "Deployment", True)
CONFIG_MAPS = Resource.of_manifests("v1", "configmaps", "ConfigMap", True)
CLOCK = VirtualClock()


class Sent(NamedTuple):
    """A request that writes, or asks for one object."""

    method: str
    path: str
    body: Any
    at: float
    """The loop's clock when it was sent."""

    @property
    def version(self) -> str:
        """The resourceVersion that a patch or an update is bound to."""
        return self.body["metadata"].get("resourceVersion", "")


@dataclass
class Wire:
    """A transport that notes what passes it. `refuse` answers in the server's stead; `before` happens first, once."""

    inner: Transport
    store: Store
    """Store of the server."""
    sent: list[Sent] = field(default_factory=list[Sent])
    refuse: Callable[[Request], WorldError | None] = lambda request: None
    before: dict[str, Callable[[], Awaitable[object]]] = field(default_factory=dict[str, Any])
    """Work to do before a request, by method."""
    after: dict[str, Callable[[], Awaitable[object]]] = field(default_factory=dict[str, Any])
    """Work to do before the answer to a request arrives, by method."""

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        body = json.loads(request.body) if request.body else None
        self.sent.append(Sent(request.method, request.path, body, CLOCK.monotonic()))
        if request.method in self.before:
            await self.before.pop(request.method)()
        if error := self.refuse(request):
            raise error
        answer = await self.inner.send(request, timeout_seconds=timeout_seconds)
        if request.method in self.after:
            await self.after.pop(request.method)()
        return answer

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self.inner.stream(request)

    async def close(self) -> None:
        await self.inner.close()

    def writes(self, *, but: str = "/events") -> list[Sent]:
        """Gives what was written, in that order, and forgets it."""
        sent, self.sent = self.sent, []
        return [one for one in sent if one.method != "GET" and but not in one.path]


@dataclass
class Desk:
    """`client` and `there` reach the control plane and the member unseen; a controller goes over `wire` and `line`."""

    plane: ControlPlane
    member: Member
    client: Client
    there: Client
    wire: Wire
    line: Wire

    async def cluster(self, name: str = MEMBER, **condition: str) -> None:
        """Joins a cluster, Ready unless `status` says otherwise, with its execution space."""
        spec = {"syncMode": "Push", "apiEndpoint": f"https://{name}.example"}
        await self.client.create(CLUSTERS, {"metadata": {"name": name}, "spec": spec})
        await self.client.create(NAMESPACES, {"metadata": {"name": execution_space(name)}})
        await self.condition(name, **condition)

    async def condition(self, name: str = MEMBER, **fields: str) -> None:
        since = {"lastTransitionTime": "2025-01-01T00:00:00Z"}
        ready = {"type": "Ready", "status": "True", "reason": "R", "message": "", **since, **fields}
        await self.client.patch(CLUSTERS, name, {"status": {"conditions": [ready]}}, subresource="status")

    async def work(self, name: str = "web", **fields: Any) -> Work:
        """Makes a Work with a ConfigMap in it, or with what `fields` say."""
        metadata = {"name": name, "namespace": SPACE, **fields.pop("metadata", {})}
        return await self.client.create(WORKS, {"metadata": metadata, "spec": {"workload": {}, **fields}}, SPACE)

    async def seen(self, name: str = "web", space: str = SPACE) -> Work:
        """Work as it is now."""
        return await self.client.get(WORKS, name, space)

    async def note(self, name: str = "web") -> None:
        """Somebody else writes to the Work, so that it has another resourceVersion."""
        await self.client.patch(WORKS, name, {"metadata": {"annotations": {"example.com/noted": "yes"}}}, SPACE)

    async def events(self) -> list[str]:
        """The reasons of all that were recorded, in that order; of steps, once it is known that they are no burst."""
        await asyncio.sleep(1)
        found = (await self.client.list(EVENTS)).items
        return [event.reason for event in sorted(found, key=lambda event: int(event.metadata.resource_version))]

    def kept_there(self, name: str) -> Record:
        """A backup of a ConfigMap in the member."""
        (found,) = [each for each in self.line.store.heads("/") if each.key.endswith(f"/configmaps/default/{name}")]
        return found

    async def put_back(self, backup: Record) -> None:
        """The member is restored from its past: what is in the backup is there again, under its uid."""
        store = self.line.store
        await store.put(backup.key, store.head(backup.key), lambda revision: restamped(backup.value, revision))

    async def map_there(self, name: str, data: Manifest | None = None, **metadata: Any) -> Manifest:
        """A ConfigMap in the member."""
        made = {"metadata": {"name": name, "namespace": "default", **metadata}, "data": data or {}}
        return await self.there.create(CONFIG_MAPS, made, "default")


def play(story: Callable[[Desk], Awaitable[None]]) -> None:
    """Runs a story to its end, on virtual time."""

    async def main() -> None:
        async with (
            Supervisor("test") as supervisor,
            served(supervisor, karmada=True) as wire,
            served(supervisor, karmada=False) as line,
        ):
            await story(desk_between(wire, line, supervisor))

    run_virtual(main())


def desk_between(wire: Wire, line: Wire, supervisor: Supervisor) -> Desk:
    client, there = Client(wire.inner), Client(line.inner)
    events = EventRecorder(Client(wire), CLOCK, Randomness(0))
    supervisor.start(events.run(), "events")
    server = Server.of(Client(wire), Randomness(0), supervisor)
    plane = ControlPlane(server, CLOCK, Randomness(0), Metrics(), events, supervisor)
    member = Member(MEMBER, Server.of(Client(line), Randomness(0), supervisor), supervisor)
    return Desk(plane, member, client, there, wire, line)


@asynccontextmanager
async def served(supervisor: Supervisor, *, karmada: bool) -> AsyncGenerator[Wire, None]:
    """An API server, with Karmada's kinds or without."""
    store = await Store.open(MemoryMedium(), supervisor)
    crds = custom_resource_definitions() if karmada else ()
    server = await start_apiserver(store, CLOCK, Randomness(0), supervisor, crds=crds, metrics=CollectorRegistry())
    yield Wire(InProcessTransport(server), store)


def preconditions(sent: Sent) -> tuple[str, str]:
    """The uid and the resourceVersion that a deletion is bound to."""
    found = sent.body.get("preconditions", {})
    return found.get("uid", ""), found.get("resourceVersion", "")
