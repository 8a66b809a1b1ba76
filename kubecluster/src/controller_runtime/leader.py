"""Leader election by a Lease: of several replicas one works, and the others wait.

The holder renews the lease. Whoever has seen no renewal for the lease's duration, by its own clock, takes it. The
holder counts its own lease from the moment at which it *began* to renew, so that it ends, by its clock, before anyone
else may take it; once it has ended no write is begun: `FencedTransport` refuses it, also in the middle of a
reconciliation, also after a pause in which no other line of the process ran (Holds: S8).

Whose clock shows what does not matter: the times in the Lease are for people.

Karmada: client-go's leaderelection, with the same lease names, so that the two are never active at once by mistake;
same, except that a leader that loses its lease waits for it again instead of ending its process.
"""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

from controller_runtime.retrying import Trouble
from kubeapi.core import LEASES, Lease
from kubeapi.loop import Clock, Randomness, Supervisor
from kubeapi.meta import Manifest, format_micro_time
from kubeclient import AlreadyExists, Client, Conflict, NotFound, Request, Response, Transport, Unreachable, WorldError

log = logging.getLogger(__name__)

READING = ("GET", "HEAD")
RELEASED_SECONDS = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionSettings:
    """--leader-elect and its companions. Of the times, retry < renew < lease."""

    enabled: bool = True
    lease_seconds: float = 15
    renew_seconds: float = 10
    retry_seconds: float = 2
    namespace: str = "kube-system"
    name: str = ""
    """The name of the lease, where it is not the component's."""
    asked_for_by: str = ""
    """Annotation by which another candidate asks for the lease; who gives it back has answered. Empty: nobody asks."""


class Delegation(Protocol):
    """Work that the holder leaves to others, as its lease says it: they act on the strength of it."""

    WITHDRAWN: ClassVar[Manifest]
    """Annotations of a lease that leaves nothing to others, for a merge patch."""

    def told_by(self, holder: str, /) -> dict[str, str]:
        """Annotations of the lease while `holder` has it."""
        ...

    async def is_at_rest(self, client: Client, namespace: str, /) -> bool:
        """Tells whether none of the others may act. Raises: WorldError."""
        ...


class NotLeading(Unreachable):
    """Our lease has ended; nothing was sent."""


class Leadership:
    """Time until which the lease is ours, by the process's monotonic clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until = float("-inf")

    @property
    def holds(self) -> bool:
        return self._clock.monotonic() < self._until

    def extend(self, until: float) -> None:
        self._until = until

    def end(self) -> None:
        self._until = float("-inf")


class FencedTransport:
    """A `Transport` that begins no write while the lease is not ours. Holds: S8."""

    def __init__(self, inner: Transport, leadership: Leadership) -> None:
        self._inner = inner
        self._leadership = leadership

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        """Raises: NotLeading."""
        if request.method not in READING and not self._leadership.holds:
            raise NotLeading(f"{request.method} {request.path} was not begun: another replica may lead by now")
        return await self._inner.send(request, timeout_seconds=timeout_seconds)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


class _Seen(NamedTuple):
    """The lease of another as it was seen last, and until when it is good, by our monotonic clock."""

    version: str
    expires_at: float


class LeaderElector:
    """One candidate. `client` must not be fenced. `delegation`: the leader leaves a part of its work to others."""

    def __init__(
        self,
        client: Client,
        name: str,
        identity: str,
        clock: Clock,
        randomness: Randomness,
        settings: ElectionSettings,
        delegation: Delegation | None = None,
    ) -> None:
        self.leadership = Leadership(clock)
        self._client = client
        self._name = name
        self._identity = identity
        self._clock = clock
        self._randomness = randomness
        self._settings = settings
        self._delegation = delegation
        self._trouble = Trouble(log, f"lease {name}")
        self._seen: _Seen | None = None
        self._told = ""
        self._gives_back = asyncio.Event()

    @property
    def leaderships(self) -> tuple[Leadership, ...]:
        """Leaderships that have to hold whenever a write is begun."""
        return (self.leadership,)

    async def lead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Does `work` whenever the lease is ours, until cancelled; `work` is cancelled when the lease is lost."""
        try:
            while True:
                await self._acquire()
                log.info("%s leads %s", self._identity, self._name)
                await self._work_while_leading(work)
                if self._gives_back.is_set():
                    await self._hand_over()
                else:
                    log.error("%s has lost %s", self._identity, self._name)
        finally:
            await self._release()

    def give_back(self) -> None:
        """Has a lease that is ours given back when the work has ended; for its duration we are no candidate then."""
        if self.leadership.holds:
            self._gives_back.set()

    async def _acquire(self) -> None:
        while True:
            if await self._try_once(self._settings.renew_seconds):
                return
            await asyncio.sleep(min(self._randomness.jitter(self._settings.retry_seconds), self._until_expiry()))

    async def _work_while_leading(self, work: Callable[[], Awaitable[None]]) -> None:
        """Returns when the lease is lost, or is to be given back. Raises: errors of `work`."""
        self._gives_back.clear()
        async with Supervisor(f"leader of {self._name}") as supervisor:
            working = supervisor.start(_as_coroutine(work), "work")
            renewing = supervisor.start(self._renew(), "renew")
            leaving = supervisor.start(_as_coroutine(self._gives_back.wait), "give back")
            await asyncio.wait((working, renewing, leaving), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
            self.leadership.end()

    async def _renew(self) -> None:
        """Returns when no renewal has succeeded in time. Who stood still meanwhile has not tried: one renewal is tried
        for as long as the lease lasts."""
        settings = self._settings
        renewed_at, has_failed = self._clock.monotonic(), False
        while self.leadership.holds:
            started = self._clock.monotonic()
            left = renewed_at + settings.renew_seconds - started
            if left <= 0 and has_failed:
                return
            if await self._try_once(left if left > 0 else renewed_at + settings.lease_seconds - started):
                renewed_at, has_failed = started, False
            else:
                has_failed = True
            await asyncio.sleep(settings.retry_seconds)

    async def _try_once(self, timeout_seconds: float) -> bool:
        """Takes or renews the lease, where that is possible. Returns whether it is ours now."""
        started = self._clock.monotonic()
        try:
            async with asyncio.timeout(timeout_seconds):
                is_ours = await self._take()
        except (WorldError, TimeoutError) as error:
            self._trouble.tell(error if isinstance(error, WorldError) else "no answer in time")
            return False
        self._trouble.is_over()
        if is_ours:
            self.leadership.extend(started + self._settings.lease_seconds)
        else:
            self.leadership.end()
        return is_ours

    async def _take(self) -> bool:
        """Raises: WorldError; Conflict when another one was quicker."""
        namespace = self._settings.namespace
        try:
            lease = await self._client.get(LEASES, self._name, namespace)
        except NotFound:
            with suppress(AlreadyExists):
                await self._client.create(LEASES, self._new_lease(), namespace)
                return True
            return False
        holder = lease.spec.holder_identity
        if holder not in ("", self._identity) and not self._has_expired(lease):
            self._tell_holder(holder)
            return False
        self._told = ""
        patch = self._marks() | {"spec": self._spec(lease if holder == self._identity else None, lease)}
        await self._change(lease, patch)
        return True

    def _has_expired(self, lease: Lease) -> bool:
        """Tells whether nobody has renewed it for its duration, as seen from here."""
        now, version = self._clock.monotonic(), lease.metadata.resource_version
        if self._seen is None or self._seen.version != version:
            lasts = lease.spec.lease_duration_seconds or self._settings.lease_seconds
            self._seen = _Seen(version, now + lasts)
        return now >= self._seen.expires_at

    def _tell_holder(self, holder: str) -> None:
        """Says once whom this replica waits for."""
        if holder != self._told:
            log.info("%s waits: %s is held by %s", self._identity, self._name, holder)
            self._told = holder

    def _until_expiry(self) -> float:
        """Seconds until the lease of another can be taken, unless it is renewed; endless if it can now."""
        left = self._seen.expires_at - self._clock.monotonic() if self._seen is not None else 0.0
        return left if left > 0 else math.inf

    def _spec(self, ours: Lease | None, before: Lease | None) -> Manifest:
        now = format_micro_time(self._clock.now())
        spec: Manifest = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": math.ceil(self._settings.lease_seconds),
            "renewTime": now,
        }
        if ours is None:
            transitions = (before.spec.lease_transitions or 0) + 1 if before is not None else 0
            spec |= {"acquireTime": now, "leaseTransitions": transitions}
        return spec

    def _new_lease(self) -> Manifest:
        return {
            "metadata": {
                "name": self._name,
                "namespace": self._settings.namespace,
                **self._marks().get("metadata", {}),
            },
            "spec": self._spec(None, None),
        }

    def _marks(self) -> Manifest:
        """Words of the Lease beside who holds it."""
        return (
            {} if self._delegation is None else {"metadata": {"annotations": self._delegation.told_by(self._identity)}}
        )

    async def _release(self) -> None:
        """Lets the next one take it at once, where it is still ours. While others work on its strength it runs out."""
        if not self.leadership.holds:
            return
        self.leadership.end()
        await self._free()

    async def _hand_over(self) -> None:
        """Frees the lease, the work of which has ended, and leaves it to others for its duration."""
        log.info("%s gives %s back", self._identity, self._name)
        await self._free()
        await asyncio.sleep(self._settings.lease_seconds)

    async def _free(self) -> None:
        """Frees the lease where it is still ours. A renewal of ours that nobody waits for may arrive meanwhile:
        then it is looked at once more. A slow server has as long for it as for a renewal."""
        with suppress(WorldError, TimeoutError):
            async with asyncio.timeout(self._settings.renew_seconds):
                while True:
                    with suppress(Conflict):
                        await self._free_once()
                        return

    async def _free_once(self) -> None:
        """Raises: WorldError; Conflict when the lease was written meanwhile."""
        namespace, released = self._settings.namespace, {"holderIdentity": "", "leaseDurationSeconds": RELEASED_SECONDS}
        lease = await self._client.get(LEASES, self._name, namespace)
        if lease.spec.holder_identity != self._identity:
            return
        if self._delegation is not None:
            lease = await self._change(lease, {"metadata": {"annotations": self._delegation.WITHDRAWN}})
            if not await self._delegation.is_at_rest(self._client, namespace):
                return
        asked_by = self._settings.asked_for_by
        asked = bool(asked_by) and asked_by in lease.metadata.annotations
        answered: Manifest = {"metadata": {"annotations": {asked_by: None}}} if asked else {}
        await self._change(lease, {"spec": released, **answered})

    async def _change(self, lease: Lease, patch: Manifest) -> Lease:
        """Raises: WorldError; Conflict when somebody else has changed it."""
        version = lease.metadata.resource_version
        return await self._client.patch(LEASES, self._name, patch, self._settings.namespace, resource_version=version)


async def _as_coroutine(work: Callable[[], Awaitable[object]]) -> None:
    await work()
