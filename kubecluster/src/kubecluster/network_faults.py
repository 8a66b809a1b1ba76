"""Network faults on a link: what goes wrong with single requests and with the lines of watches, drawn from a seed.

    busy     429, not carried out          lost        no answer, not carried out
    broken   500, not carried out          unanswered  no answer, but carried out
    conflict 409, only for writes that name a version
    expired  410, only for lists with a continue token and for watches

One read may be answered with the state before the last write.

Lines of a watch come late, in order; come twice; or the stream breaks before the next one. No line is ever left out
while its stream goes on: that no API server does (D5).
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kubeapi.errors import error_of_status
from kubeapi.status import Status
from kubeapi.transport import Transport
from kubeclient import Request, Response, Unreachable
from kubeserver.errors import status_response

Mishap = Literal["busy", "broken", "conflict", "expired", "lost", "unanswered"]
MISHAPS: tuple[Mishap, ...] = ("busy", "broken", "conflict", "expired", "lost", "unanswered")


@dataclass(frozen=True, slots=True)
class FaultProfile:
    """Shares of requests and lines from 0 to 1, delays in seconds.

    `mishaps` befall `rate` of the requests; lines come up to `lag_seconds` late, `repeats` of them twice; at `breaks`
    of them the stream ends, and at the one numbered `break_at`. `jitter_seconds`: each request takes up to that much
    longer. Of the reads that a server that lags behind would answer otherwise, it answers the one numbered `stale_at`.
    """

    rate: float = 0.0
    mishaps: tuple[Mishap, ...] = ()
    lag_seconds: float = 0.0
    repeats: float = 0.0
    breaks: float = 0.0
    jitter_seconds: float = 0.0
    break_at: int = 0
    stale_at: int = 0


class NetworkFaults:
    """`told` is called with the name of everything that happens: rare situations are counted by it.

    `past` gives the stale answer to a request, where there is one.
    """

    def __init__(
        self,
        profile: FaultProfile,
        draw: random.Random,
        told: Callable[[str], None] = lambda _: None,
        past: Callable[[Request], Response | None] = lambda _: None,
    ) -> None:
        self.profile = profile
        self._draw = draw
        self._told = told
        self._past = past
        self._lines = 0
        self._reads = 0

    async def send(self, request: Request, inner: Transport, timeout_seconds: float) -> Response:
        """Carries the request, or does not. The caller's deadline ends what never comes back."""
        profile = self.profile
        if profile.jitter_seconds:
            await asyncio.sleep(profile.jitter_seconds * self._draw.random())
        stale = self._stale_answer(request)
        if stale is not None:
            return stale
        mishap = self._mishap(request)
        if mishap is None:
            return await inner.send(request, timeout_seconds=timeout_seconds)
        self._told(mishap)
        if mishap in ("busy", "broken", "conflict", "expired"):
            return status_response(_STATUSES[mishap])
        if mishap == "unanswered":
            await inner.send(request, timeout_seconds=timeout_seconds)
        await asyncio.sleep(timeout_seconds + 1)
        raise Unreachable("no answer")

    def open(self, request: Request) -> None:
        """Raises: ApiError, Unreachable when a stream cannot be opened."""
        mishap = self._mishap(request)
        if mishap is None:
            return
        self._told(mishap)
        if mishap in ("lost", "unanswered"):
            raise Unreachable("connection reset")
        raise error_of_status(_STATUSES[mishap])

    async def line(self) -> int:
        """Waits as long as a line takes. Returns how often it comes. Raises: Unreachable when the stream breaks."""
        profile = self.profile
        self._lines += 1
        if profile.lag_seconds:
            self._told("lag")
            await asyncio.sleep(profile.lag_seconds * self._draw.random())
        if self._lines == profile.break_at or (profile.breaks and self._draw.random() < profile.breaks):
            self._told("break")
            raise Unreachable("connection reset")
        if profile.repeats and self._draw.random() < profile.repeats:
            self._told("repeat")
            return 2
        return 1

    def _stale_answer(self, request: Request) -> Response | None:
        stale = self._past(request) if self._reads < self.profile.stale_at else None
        self._reads += stale is not None
        if stale is None or self._reads < self.profile.stale_at:
            return None
        self._told("stale")
        return stale

    def _mishap(self, request: Request) -> Mishap | None:
        profile = self.profile
        if not profile.mishaps or self._draw.random() >= profile.rate:
            return None
        mishap = self._draw.choice(profile.mishaps)
        return mishap if _can_befall(mishap, request) else None


def _can_befall(mishap: Mishap, request: Request) -> bool:
    if mishap == "conflict":
        return request.method in ("PUT", "PATCH") and b'"resourceVersion"' in request.body
    if mishap == "expired":
        return request.method == "GET" and ("watch" in request.query or "continue" in request.query)
    return True


_STATUSES = {
    "busy": Status(message="too many requests, please try again later", reason="TooManyRequests", code=429),
    "broken": Status(message="the server has an internal error", reason="InternalError", code=500),
    "conflict": Status(message="the object has been modified", reason="Conflict", code=409),
    "expired": Status(message="too old resource version", reason="Expired", code=410),
}
