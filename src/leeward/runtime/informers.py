"""One informer per kind of one API server, made when first asked for; and the reflectors beside them."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.resource import Resource
from leeward.client import Client
from leeward.runtime.cache_budget import CacheBudget
from leeward.runtime.informer import Informer
from leeward.runtime.reflector import Reflector, Table

B = TypeVar("B", bound=Table[Any])
T = TypeVar("T")


class Informers:
    """All informers of one server; they run until the supervisor is closed. A `budget` is for a server of others."""

    def __init__(
        self, client: Client, randomness: Randomness, supervisor: Supervisor, budget: CacheBudget | None = None
    ) -> None:
        self._client = client
        self._randomness = randomness
        self._supervisor = supervisor
        self.budget = budget
        self._informers: dict[tuple[str, str, str, type[Any]], Informer[Any]] = {}
        self._reflectors: list[Reflector[Any]] = []

    def of(self, resource: Resource[T], namespace: str = "", *, bookmarks: bool = True) -> Informer[T]:
        """The running informer of a kind, in all namespaces or in one. It may not be synced yet.

        Without `bookmarks` a kind that hardly changes costs nothing while it does not, and is listed anew when its
        version has become too old; who asks first decides.
        """
        key = (resource.api_version, resource.plural, namespace, resource.object_type)
        if key not in self._informers:
            informer = Informer(self._client, resource, self._randomness, namespace, self.budget, bookmarks)
            self._informers[key] = informer
            self._supervisor.start(informer.run(), f"informer/{resource.plural}")
        return cast(Informer[T], self._informers[key])

    def reflect(self, resource: Resource[Any], make: Callable[[], B], select: str = "") -> Reflector[B]:
        """A running reflector of a kind, of its own: it fills tables that `make` makes."""
        reflector = Reflector(self._client, resource, make, self._randomness, self.budget, select)
        self._reflectors.append(reflector)
        self._supervisor.start(reflector.run(), f"reflector/{resource.plural}")
        return reflector

    async def wait_synced(self) -> None:
        """Returns when all informers that exist by now have seen their server's list."""
        for informer in list(self._informers.values()):
            await informer.wait_synced()

    def hurry(self) -> None:
        """Has all of them try again now."""
        for follower in (*self._informers.values(), *self._reflectors):
            follower.hurry()
