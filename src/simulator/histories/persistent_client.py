"""Client of a person: what somebody wants is tried until it succeeds, or is in vain."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, Forbidden, Invalid, NotFound, Unreachable, WorldError
from kubecluster.network import LinkedTransport
from kubeserver.inprocess import ADMIN
from leeward.sim.world import World
from simulator.histories.manifests import NAMESPACE

RETRY_SECONDS = 1.0
PATIENCE_SECONDS = 1_200.0
USER = "user"


class PersistentClient:
    """Base of all people who ask the control plane, or a member, for something."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.client = Client(LinkedTransport(world.place, ADMIN), USER)

    def at(self, member: str) -> Client:
        return Client(LinkedTransport(self.world.member(member).place, ADMIN), USER)

    async def create(self, resource: Resource[Any], manifest: Manifest, namespace: str = NAMESPACE) -> None:
        """Creates it, again while an earlier one of the name is still going."""

        async def create() -> None:
            await self.client.create(resource, manifest, namespace)

        await self.insist(create)

    async def patch(self, resource: Resource[Any], name: str, patch: Manifest, namespace: str = NAMESPACE) -> None:
        await self.insist(lambda: self.client.patch(resource, name, patch, namespace))

    async def delete(self, resource: Resource[Any], name: str, namespace: str = NAMESPACE) -> bool:
        return await self.insist(lambda: self.client.delete(resource, name, namespace))

    async def insist(self, action: Callable[[], Awaitable[object]]) -> bool:
        """Returns whether there was something to do it to, which an attempt without an answer may have done already."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE_SECONDS
        unanswered = False
        while True:
            try:
                await action()
                return True
            except NotFound:
                return unanswered
            except WorldError as error:
                unanswered = unanswered or isinstance(error, Unreachable)
                if isinstance(error, Invalid | Forbidden) or loop.time() > deadline:
                    return False
                await asyncio.sleep(RETRY_SECONDS)
