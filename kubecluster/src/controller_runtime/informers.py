"""One informer per kind of one API server, made when first asked for; and the reflectors beside them."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from controller_runtime.cache_budget import CacheBudget
from controller_runtime.informer import Informer
from controller_runtime.informer_limits import InformerLimits
from controller_runtime.reflector import Reflector, Table
from kubeapi.loop import Randomness, Supervisor
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client
from kubeclient.bounds import OPEN_TIMEOUT_SECONDS

B = TypeVar("B", bound=Table[Any])
T = TypeVar("T")

UnreadHandler = Callable[[Resource[Any], Manifest], None]
QUIET_SECONDS = 0.5
"""A watch that was opened anew, and has told nothing for so long, has told all that there was."""
LOOK_SECONDS = 0.1


class Informers:
    """All informers of one server; they run until the supervisor is closed. A `budget` is for a server of others.

    `limits` are shared with the informers of other servers.
    """

    def __init__(
        self,
        client: Client,
        randomness: Randomness,
        supervisor: Supervisor,
        budget: CacheBudget | None = None,
        limits: InformerLimits | None = None,
    ) -> None:
        self._client = client
        self._randomness = randomness
        self._supervisor = supervisor
        self.budget = budget
        self._limits = limits or InformerLimits()
        self._informers: dict[tuple[str, str, str, type[Any]], Informer[Any]] = {}
        self._following: dict[Informer[Any], asyncio.Task[None]] = {}
        self._following_anew = asyncio.Lock()
        self._reflectors: list[Reflector[Any]] = []
        self._on_restored: list[Callable[[], None]] = []
        self._on_unread: list[UnreadHandler] = []

    def of(self, resource: Resource[T], namespace: str = "", *, bookmarks: bool = True) -> Informer[T]:
        """The running informer of a kind, in all namespaces or in one. It may not be synced yet.

        Without `bookmarks` a kind that hardly changes costs nothing while it does not, and is listed anew when its
        version has become too old; who asks first decides.
        """
        key = (resource.api_version, resource.plural, namespace, resource.object_type)
        if key not in self._informers:
            informer = Informer(
                self._client,
                resource,
                self._randomness,
                namespace,
                self.budget,
                bookmarks,
                self._restored,
                self._limits,
                self._unread,
            )
            self._informers[key] = informer
            self._follow(informer)
        return cast(Informer[T], self._informers[key])

    def reflect(self, resource: Resource[Any], make: Callable[[], B], select: str = "") -> Reflector[B]:
        """A running reflector of a kind, of its own: it fills tables that `make` makes."""
        reflector = Reflector(self._client, resource, make, self._randomness, self.budget, select, self._limits.turns)
        self._reflectors.append(reflector)
        self._supervisor.start(reflector.run(), f"reflector/{resource.plural}")
        return reflector

    async def wait_synced(self) -> None:
        """Returns when all informers that exist by now have seen their server's list."""
        for informer in list(self._informers.values()):
            await informer.wait_synced()

    async def catch_up(self, revision: int) -> None:
        """Has all of them know what the server had at `revision`, without a list of what is known already.

        Each watch is opened anew from where it was: one that hangs, or was not read for a while, proves nothing. What
        cannot be followed within the time in which a stream opens is no longer complete, and is listed again; so is,
        from its beginning, what was not listed yet.
        """
        behind = [informer for informer in self._informers.values() if informer.version < revision]
        await self._follow_anew(behind)
        behind = [informer for informer in behind if informer.synced]
        for _ in range(round(OPEN_TIMEOUT_SECONDS / LOOK_SECONDS)):
            behind = [informer for informer in behind if not _has_caught_up(informer, revision)]
            if not behind:
                return
            await asyncio.sleep(LOOK_SECONDS)
        for informer in behind:
            informer.doubt()
        await self._follow_anew(behind)

    def list_anew(self) -> None:
        """Has all of them list again: the server has another store by now. Of that, a kube-apiserver tells nothing to a
        watch from a version that is to come, for good."""
        for informer in self._informers.values():
            informer.doubt()
        self._supervisor.start(self._follow_anew(list(self._informers.values())), "informers/anew")

    def on_restored(self, handler: Callable[[], None]) -> None:
        """Calls `handler` when a list shows that the server was restored from a backup; for each kind that does."""
        self._on_restored.append(handler)

    def on_unread(self, handler: UnreadHandler) -> None:
        """Calls `handler` for each state of an object that cannot be read, and now for those that are there."""
        self._on_unread.append(handler)
        for informer in list(self._informers.values()):
            for manifest in informer.unreadable.values():
                handler(informer.resource, manifest)

    def unread_count(self, kind: str) -> int:
        """Number of objects of the kind that are there and cannot be read."""
        found = (each for each in self._informers.values() if each.resource.kind == kind)
        return sum(len(informer.unreadable) for informer in found)

    def hurry(self) -> None:
        """Has all of them try again now."""
        for follower in (*self._informers.values(), *self._reflectors):
            follower.hurry()

    def _restored(self) -> None:
        for handler in self._on_restored:
            handler()

    def _unread(self, resource: Resource[Any], manifest: Manifest) -> None:
        for handler in self._on_unread:
            handler(resource, manifest)

    async def _follow_anew(self, informers: Sequence[Informer[Any]]) -> None:
        """Follows from where they were."""
        async with self._following_anew:
            tasks = [self._following[informer] for informer in informers]
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)
            for informer in informers:
                informer.health.breaks_off()
                self._follow(informer)

    def _follow(self, informer: Informer[Any]) -> None:
        self._following[informer] = self._supervisor.start(informer.run(), f"informer/{informer.resource.plural}")


def _has_caught_up(informer: Informer[Any], revision: int) -> bool:
    return informer.version >= revision or informer.health.quiet_seconds >= QUIET_SECONDS
