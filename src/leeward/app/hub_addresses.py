"""Addresses at which an agent finds the hub: of several copies of a control plane, the one that took over last.

All are asked for their generation now and then. The agent never goes back to an older one, and leaves a hub that is
silent for a newer generation alone. The credential is the same everywhere: copies have one authority.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from kubeapi.core import NAMESPACES
from kubeclient import Client, Forbidden, WorldError
from kubeclient.connection import Connection, transport_of
from leeward.api.names import KUBE_SYSTEM_NAMESPACE
from leeward.core.hub_generation import NEVER, Generation, UnreadableGeneration, generation_of, hub_to_follow

log = logging.getLogger(__name__)

LOOK_SECONDS, ANSWER_SECONDS = 10.0, 5.0


class HubAddresses:
    """`load` reads the connection to the first address; `servers` are the others, which may name the first, too."""

    def __init__(self, load: Callable[[], Connection], servers: Sequence[str]) -> None:
        self._load = load
        self._servers = tuple(dict.fromkeys((load().server, *servers)))
        self._current: int | None = None
        self._newest = NEVER

    async def choose(self) -> Connection:
        """The connection to the hub. With several addresses, waits until one answers."""
        while len(self._servers) > 1:
            if await self._look():
                break
            await asyncio.sleep(LOOK_SECONDS)
        return self._connection(self._current or 0)

    async def until_another(self) -> None:
        """Returns when another address is the hub's than was chosen last."""
        before = self._current
        while len(self._servers) == 1 or self._current == before:
            await asyncio.sleep(LOOK_SECONDS)
            if len(self._servers) > 1:
                await self._look()
        log.warning("the hub is at %s now: the agent follows it", self._connection(self._current or 0).server)

    async def _look(self) -> bool:
        """Returns whether it is known where the hub is."""
        found = list(await asyncio.gather(*map(self._generation, range(len(self._servers)))))
        self._current = hub_to_follow(found, self._current, self._newest)
        self._newest = max((self._newest, *(each for each in found if each is not None)))
        return self._current is not None

    async def _generation(self, index: int) -> Generation | None:
        """None where the address does not answer. Who may not ask yet, before the cluster has joined, is answered."""
        client = Client(transport_of(self._connection(index)), "leeward-agent")
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return generation_of((await client.get(NAMESPACES, KUBE_SYSTEM_NAMESPACE)).metadata.annotations)
        except Forbidden:
            return NEVER
        except (WorldError, TimeoutError, UnreadableGeneration) as error:
            log.debug("%s does not tell its generation: %s", self._servers[index], error)
            return None
        finally:
            await client.close()

    def _connection(self, index: int) -> Connection:
        return replace(self._load(), server=self._servers[index])
