"""Push clusters: one connection and one group of controllers for each, made and ended as its Cluster says."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from prometheus_client import CollectorRegistry

from controller_runtime.events import EventRecorder
from kubeapi.core import NAMESPACES, SECRETS, Namespace, Secret
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import ObjectMeta
from kubeclient import Client
from kubecluster.network import LinkedTransport, Place
from kubeserver.handlers.server import ApiServer
from kubeserver.inprocess import ADMIN, InProcessTransport
from kubeserver.starting import start_apiserver
from kubeserver.store import Store
from kubeserver.store.memory import MemoryMedium
from leeward.api.cluster import Cluster, ClusterSpec, LocalSecretReference
from leeward.api.names import CLUSTER_NAMESPACE
from leeward.api.resource import CLUSTERS
from leeward.api.schema import custom_resource_definitions
from leeward.manager.member_side import MemberSide
from leeward.manager.push import PushClusters
from leeward.manager.timing import Timing
from leeward.runtime.controller_context import ControlPlane, Server
from leeward.runtime.metrics import Metrics

CLOCK = VirtualClock()
RANDOMNESS = Randomness(0)


class Connection(LinkedTransport):
    """A connection that knows whether it has been closed."""

    def __init__(self, place: Place, made_of: str) -> None:
        super().__init__(place, ADMIN)
        self.made_of = made_of
        self.closed = False

    async def close(self) -> None:
        self.closed = True
        await super().close()


@dataclass
class Fleet:
    """A control plane with `PushClusters`, and members by name."""

    client: Client
    push: PushClusters = field(init=False)
    places: dict[str, Place] = field(default_factory=dict[str, Place])
    connections: dict[str, list[Connection]] = field(default_factory=dict[str, list[Connection]])

    def connect(self, cluster: Cluster, secret: Secret | None) -> Client:
        token = secret.data["token"].decode() if secret else "nothing"
        connection = Connection(self.places[cluster.name], f"{cluster.spec.api_endpoint} with {token}")
        self.connections.setdefault(cluster.name, []).append(connection)
        return Client(connection)

    def story_of(self, name: str) -> list[tuple[str, bool]]:
        """Tells what each connection was made of, and whether it is closed."""
        return [(connection.made_of, connection.closed) for connection in self.connections.get(name, [])]

    async def join(self, name: str, mode: Literal["Push", "Pull"] = "Push") -> None:
        reference = LocalSecretReference(namespace=CLUSTER_NAMESPACE, name=name)
        spec = ClusterSpec(sync_mode=mode, api_endpoint=f"https://{name}", secret_ref=reference)
        await self.client.create(CLUSTERS, Cluster(metadata=ObjectMeta(name=name), spec=spec))
        await asyncio.sleep(1)

    async def give_secret(self, name: str, token: bytes) -> None:
        secret = Secret(metadata=ObjectMeta(name=name, namespace=CLUSTER_NAMESPACE), data={"token": token})
        await self.client.create(SECRETS, secret, CLUSTER_NAMESPACE)
        await asyncio.sleep(1)

    async def change(self, name: str, **spec: Any) -> None:
        await self.client.patch(CLUSTERS, name, {"spec": spec})
        await asyncio.sleep(1)

    async def is_ready(self, name: str) -> bool:
        return (await self.client.get(CLUSTERS, name)).is_ready


async def serve(supervisor: Supervisor, crds: Any = ()) -> ApiServer:
    store = await Store.open(MemoryMedium(), supervisor)
    return await start_apiserver(store, CLOCK, RANDOMNESS, supervisor, crds=crds, metrics=CollectorRegistry())


def tell(story: Callable[[Fleet], Awaitable[None]], *members: str) -> None:
    async def main() -> None:
        async with Supervisor("servers") as servers, Supervisor("plane") as supervisor:
            client = Client(InProcessTransport(await serve(servers, custom_resource_definitions())))
            await client.create(NAMESPACES, Namespace(metadata=ObjectMeta(name=CLUSTER_NAMESPACE)))
            server = Server.of(client, RANDOMNESS, supervisor)
            events = EventRecorder(client, CLOCK, RANDOMNESS)
            plane = ControlPlane(server, CLOCK, RANDOMNESS, Metrics(), events, supervisor)
            fleet = Fleet(client)
            push = fleet.push = PushClusters(plane, fleet.connect, MemberSide(Timing.fast()))
            for name in members:
                fleet.places[name] = Place()
                fleet.places[name].put(await serve(servers))
            push.start()
            try:
                await story(fleet)
            finally:
                await push.close()

    run_virtual(main())


def test_a_group_is_made_for_a_push_cluster_only_and_ends_with_it() -> None:
    async def story(fleet: Fleet) -> None:
        await fleet.join("m1")
        await fleet.join("m2", mode="Pull")
        assert fleet.story_of("m1") == [("https://m1 with nothing", False)]
        assert fleet.story_of("m2") == []
        await fleet.client.delete(CLUSTERS, "m1")
        await asyncio.sleep(1)
        assert fleet.story_of("m1") == [("https://m1 with nothing", True)]

    tell(story, "m1", "m2")


def test_a_group_is_made_anew_when_endpoint_or_credential_change_and_for_nothing_else() -> None:
    async def story(fleet: Fleet) -> None:
        await fleet.join("m1")
        await fleet.give_secret("m1", b"first")
        await fleet.change("m1", provider="aws", taints=[{"key": "a", "effect": "NoSchedule"}])
        await fleet.give_secret("unrelated", b"other")
        await fleet.change("m1", apiEndpoint="https://moved")
        assert fleet.story_of("m1") == [
            ("https://m1 with nothing", True),
            ("https://m1 with first", True),
            ("https://moved with first", False),
        ]
        await asyncio.sleep(10)
        assert await fleet.is_ready("m1")

    tell(story, "m1")


def test_a_member_that_hangs_delays_no_other_one() -> None:
    async def story(fleet: Fleet) -> None:
        fleet.places["hung"].link.hang()
        await fleet.join("hung")
        await fleet.join("well")
        await asyncio.sleep(5)
        assert await fleet.is_ready("well")
        await fleet.client.delete(CLUSTERS, "hung")
        await asyncio.sleep(1)
        assert [closed for _, closed in fleet.story_of("hung")] == [True]

    tell(story, "hung", "well")


def test_once_closed_no_group_is_left_and_none_is_made() -> None:
    async def story(fleet: Fleet) -> None:
        await fleet.join("m1")
        await fleet.push.close()
        await fleet.join("m2")
        assert [closed for _, closed in fleet.story_of("m1")] == [True]
        assert fleet.story_of("m2") == []

    tell(story, "m1", "m2")
