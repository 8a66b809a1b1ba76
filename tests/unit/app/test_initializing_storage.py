"""Leeward is installed, and clusters join and leave, where new kinds are put off (429) as since Kubernetes 1.34."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeclient import Client
from kubeclient.connection import Connection
from kubeserver.handlers.initializing import InitializingStorage
from kubeserver.inprocess import InProcessTransport
from leeward.api.resource import CLUSTERS
from leeward.app.install.installing import install, uninstall
from leeward.app.joining import Joining, join_cluster
from leeward.app.leaving import unjoin_cluster
from tests.kubeserver.api_world import ApiWorld, api_world

SECONDS = 20.0
AUTHORITY = b"authority"
JOINING = Joining("member1", Connection(server="https://member1", certificate_authority=AUTHORITY))


def beginning(world: ApiWorld) -> Client:
    """A client of the server, whose storage begins with the first request for a kind."""
    return Client(InProcessTransport(InitializingStorage(world.server, world.server, VirtualClock(), SECONDS)))


def tell(story: Callable[[Client, Client], Awaitable[None]]) -> None:
    async def play() -> None:
        async with AsyncExitStack() as stack:
            plane = await stack.enter_async_context(api_world())
            member = await stack.enter_async_context(api_world(seed=8))
            supervisor = await stack.enter_async_context(Supervisor("token controller"))
            supervisor.start(member.server.token_secrets(AUTHORITY).run(), "tokens")
            await story(beginning(plane), beginning(member))

    run_virtual(play())


def test_a_cluster_joins_at_once_after_the_installation_and_leaves() -> None:
    async def story(plane: Client, member: Client) -> None:
        await install(plane)
        await join_cluster(plane, member, JOINING)
        assert [cluster.name for cluster in (await plane.list(CLUSTERS)).items] == ["member1"]
        await install(plane)
        await plane.patch(CLUSTERS, "member1", {"metadata": {"finalizers": None}})
        told: list[str] = []
        await unjoin_cluster(plane, "member1", VirtualClock(), force=False, wait_seconds=60, tell=told.append)
        await uninstall(plane)

    tell(story)
