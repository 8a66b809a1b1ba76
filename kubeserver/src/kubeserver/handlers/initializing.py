"""Storage that begins as kube-apiserver's does since 1.34, for tests of clients.

From the first request for the objects of a definition on, until a watch cache would be full, all of them are put off:
429, `Retry-After: 1`, `storage is (re)initializing`. A definition whose spec has changed begins anew. There only lists
and watches are put off; a client that copes with this one copes with that one.
"""

from kubeapi import codec
from kubeapi.loop import Clock
from kubeapi.transport import Request, Response
from kubeserver.apiextensions.definitions import PREFIX
from kubeserver.handler import Handler, StreamResponse, User
from kubeserver.handlers.fairness import RETRY_AFTER_SECONDS, too_many
from kubeserver.handlers.server import ApiServer
from kubeserver.kinds.kind import Kind
from kubeserver.routing import Target, route

MESSAGE = "storage is (re)initializing"


class InitializingStorage:
    """A `Handler` before the server's own, which puts requests off for `seconds`."""

    def __init__(self, handler: Handler, server: ApiServer, clock: Clock, seconds: float) -> None:
        self._handler = handler
        self._store, self._scheme = server.store, server.scheme
        self._clock = clock
        self._seconds = seconds
        self._begun: dict[str, tuple[object, float]] = {}
        """State of each definition that was asked for, and the instant of the first request."""

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        match route(self._scheme, request.path):
            case Target(kind=kind) if kind.custom and self._begins(kind):
                return too_many(RETRY_AFTER_SECONDS, MESSAGE)
            case _:
                return await self._handler.handle(request, user)

    def _begins(self, kind: Kind) -> bool:
        name, now = f"{kind.plural}.{kind.group}", self._clock.monotonic()
        record = self._store.get(f"{PREFIX}/{name}")
        if record is None:
            return False
        metadata = codec.decode_manifest(record.value)["metadata"]
        state = metadata["uid"], metadata.get("generation")
        known, begun_at = self._begun.get(name, (None, now))
        if known != state:
            begun_at = now
            self._begun[name] = state, now
        return now - begun_at < self._seconds
