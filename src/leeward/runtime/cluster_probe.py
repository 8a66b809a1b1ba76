"""One probe of a member: its health endpoint and a small read, asked at the same time within one time-out.

The time-out runs over time in which this process ran: a late answer is not a failure when it is we who were late (S13).
"""

import asyncio
from typing import NamedTuple

from kubeapi.core import NAMESPACES
from kubeapi.errors import LocalFailure, NoCredential, TooLarge, Undecodable, Untrusted
from kubeapi.loop import EventLoopLag
from kubeapi.transport import Response
from kubeclient import Client, MiB, Unreachable
from kubeclient.resolving import LOOKUP_SECONDS
from leeward.core.cluster_health.probe import Probe, judge_health, judge_read, unanswered_read
from leeward.core.cluster_health.ready_condition import NO_ANSWER
from leeward.core.registration import IDENTIFYING_NAMESPACE

_WHAT = f"the Namespace {IDENTIFYING_NAMESPACE}"
MAX_READ_BYTES = 4 * MiB
"""Most bytes of a Namespace."""
_READY, _HEALTHY = "/readyz", "/healthz"
LONGEST_LOOKUP_SECONDS = 2.0
"""Bound on a look-up of the member's name, so that a slow resolver is not taken for a silent member."""
LONGEST_SECONDS = 60.0
"""Bound beside the time-out: a probe takes no longer, however long the process stands still meanwhile."""


class _Health(NamedTuple):
    probe: Probe
    endpoint: str


class ClusterProbe:
    """`timeout_seconds` is for all that one probe asks. `reads`: whether it asks for more than the health endpoint."""

    def __init__(self, client: Client, lag: EventLoopLag, timeout_seconds: float, *, reads: bool) -> None:
        self._client = client
        self._lag = lag
        self._timeout_seconds = timeout_seconds
        self._reads = reads

    async def ask(self) -> Probe:
        """The verdict. Both are asked at once, so that a slow member is given the whole time for each.

        Raises: LocalFailure, which is no verdict, where neither of them came to the member and failed there.
        """
        if not self._reads:
            return _seen(await self._ask_health()).probe
        asked, answer = await asyncio.gather(self._ask_health(), self._read())
        if isinstance(asked, LocalFailure) and (answer is None or isinstance(answer, float)):
            return Probe("unreachable", "" if answer is None else NO_ANSWER)
        health = _seen(asked)
        if health.probe.sight != "healthy":
            return health.probe
        match answer:
            case LocalFailure():
                raise answer
            case Response():
                return judge_read(answer.code, answer.body, _WHAT, health.endpoint)
            case Probe():
                return answer
            case _:
                return unanswered_read(_WHAT, health.endpoint, answer)

    async def _ask_health(self) -> _Health | LocalFailure:
        """Asks /readyz, and /healthz where there is no /readyz."""
        endpoint = _READY
        try:
            async with self._lag.timeout(self._timeout_seconds):
                response = await self._get(endpoint)
                if response.code == 404:
                    endpoint = _HEALTHY
                    response = await self._get(endpoint)
        except (Untrusted, NoCredential) as error:
            return _Health(Probe("refused", str(error)), endpoint)
        except TooLarge as error:
            return _Health(Probe("too large", str(error)), endpoint)
        except Undecodable as error:
            return _Health(Probe("refused", str(error)), endpoint)
        except TimeoutError:
            return _Health(Probe("unreachable", NO_ANSWER if self._reads else ""), endpoint)
        except LocalFailure as error:
            return error
        except Unreachable:
            return _Health(Probe("unreachable"), endpoint)
        return _Health(judge_health(response.code), endpoint)

    async def _read(self) -> Response | Probe | LocalFailure | float | None:
        """The answer to a read without resourceVersion, which a majority of the store must agree to.

        Without an answer: the seconds that were waited, or None when the connection broke before.
        """
        path = NAMESPACES.path(name=IDENTIFYING_NAMESPACE)
        try:
            async with self._lag.timeout(self._timeout_seconds):
                response = await self._get(path)
            if len(response.body) > MAX_READ_BYTES:
                return Probe("too large", f"GET {path}: the answer is longer than {MAX_READ_BYTES // MiB} MiB")
            return response
        except (Untrusted, NoCredential) as error:
            return Probe("refused", str(error))
        except TooLarge as error:
            return Probe("too large", str(error))
        except Undecodable as error:
            return Probe("refused", str(error))
        except TimeoutError:
            return self._timeout_seconds
        except LocalFailure as error:
            return error
        except Unreachable:
            return None

    async def _get(self, path: str) -> Response:
        bound = LOOKUP_SECONDS.set(min(LONGEST_LOOKUP_SECONDS, self._timeout_seconds / 2))
        try:
            return await self._client.raw("GET", path, timeout_seconds=self._timeout_seconds + LONGEST_SECONDS)
        finally:
            LOOKUP_SECONDS.reset(bound)


def _seen(asked: _Health | LocalFailure) -> _Health:
    """Raises: LocalFailure."""
    if isinstance(asked, LocalFailure):
        raise asked
    return asked
