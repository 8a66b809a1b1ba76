"""Identity of an API server: the uid of its Namespace `kube-system`, which restarts, backups and restores keep.

An administrator may give it another one, as the annotation `leeward.dev/hub` of that Namespace: a control plane that
was made anew without a backup takes over with it what its predecessor left in the members. The generation of the hub is
an annotation there, too (`core/hub_generation.py`).

Agents of earlier versions have no right to read the Namespace; then nothing is known, and nothing is told apart.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping

from kubeapi.core import NAMESPACES, Namespace
from kubeclient import Client, Forbidden, NotFound, WorldError
from leeward.api.names import HUB_ANNOTATION, KUBE_SYSTEM_NAMESPACE
from leeward.core.hub_generation import HUB_GENERATION_ANNOTATION, Generation, generation_of

log = logging.getLogger(__name__)

REFRESH_SECONDS = 60.0


class ServerIdentity:
    """Reads it when asked, once a minute at most."""

    def __init__(self, client: Client, replaced: Callable[[], None] = lambda: None) -> None:
        """`replaced` is called when the server is found to be of another generation than before: a copy that took over,
        at the same address."""
        self._client = client
        self._replaced = replaced
        self._asked_at: float | None = None
        self._answer: asyncio.Event | None = None
        """Set when the question that is under way has been answered, or has failed."""
        self.known = ""
        """Identity as it was read last; empty before that, and where it may not be read."""
        self.cluster_id = ""
        """Id of the server as a cluster, read with it."""
        self.has_answered = False
        """True once the server has told its identity, or that it may not be read."""
        self._annotations: Mapping[str, str] = {}

    @property
    def generation(self) -> Generation:
        """Generation of the server as a hub, read with it. Raises: UnreadableGeneration."""
        return generation_of(self._annotations)

    async def read(self, *, afresh: bool = False) -> str:
        """Identity of the server. The known one serves while it does not answer. Raises: WorldError before it
        ever answered. `afresh`: it is asked now, however long ago it was read.

        All who wait for the first answer go on at once: a worker for each member of a large fleet waits here.
        """
        if afresh and self._answer is None:
            self._asked_at = None
        while self._asked_at is None or asyncio.get_running_loop().time() - self._asked_at >= REFRESH_SECONDS:
            if self._answer is None:
                await self._refresh()
            elif self.known:
                break
            else:
                await self._answer.wait()
        return self.known

    async def _refresh(self) -> None:
        now = asyncio.get_running_loop().time()
        answer = self._answer = asyncio.Event()
        try:
            await self._ask()
            self._asked_at = now
        finally:
            self._answer = None
            answer.set()

    async def _ask(self) -> None:
        try:
            namespace = await self._client.get(NAMESPACES, KUBE_SYSTEM_NAMESPACE)
            known, before = self.known, self._annotations.get(HUB_GENERATION_ANNOTATION)
            self.known, self.cluster_id = identity_of(namespace), namespace.metadata.uid
            self._annotations, self.has_answered = namespace.metadata.annotations, True
            if known and self._annotations.get(HUB_GENERATION_ANNOTATION) != before:
                self._replaced()
        except Forbidden as error:
            self.has_answered = True
            log.warning("objects are not marked as this control plane's, whose identity cannot be read: %s", error)
        except WorldError:
            if not self.known:
                raise


def identity_of(namespace: Namespace) -> str:
    """Identity of the API server whose Namespace `kube-system` this is."""
    return namespace.metadata.annotations.get(HUB_ANNOTATION) or namespace.metadata.uid


async def cluster_id_of(client: Client) -> str:
    """Id by which a server is known as a member, be it a control plane: the uid of its Namespace `kube-system`.

    It is empty for an API server that has no such Namespace. Raises: WorldError.
    """
    try:
        return (await client.get(NAMESPACES, KUBE_SYSTEM_NAMESPACE)).metadata.uid
    except NotFound:
        return ""
