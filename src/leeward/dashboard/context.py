"""Context of all requests: how the dashboard was started, the fleet that it follows, and who has signed in.

signed_in   wraps a handler that needs a session: finds it by its header, and brings what its user may see up to date
answered    JSON, and errors as JSON
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from aiohttp import web

from kubeapi import codec
from kubeapi.loop import Clock, Supervisor
from kubeclient import Client, Forbidden, Unauthorized, Unreachable, WorldError
from kubeclient.connection import Connection
from leeward.dashboard.following import FleetFollower
from leeward.dashboard.http_guard import Handler
from leeward.dashboard.rights import review_sight
from leeward.dashboard.sessions import LinkKey, Session, SessionStore
from leeward.dashboard.user_shares import TooManyAtOnce
from leeward.operations import OperationFailed

log = logging.getLogger(__name__)

SESSION_HEADER = "X-Leeward-Session"
"""Header with the id of a session: another site cannot set it, and no browser sends it of its own."""
SIGHT_SECONDS = 30.0
"""Seconds for which it is believed what a user may see."""

UserHandler = Callable[[web.Request, Session], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardConfig:
    """`key` opens a session with the dashboard's own identity; None: there is no such way in.

    `allowed_hosts` are names by which requests may name us, beside addresses and `localhost`.
    """

    name: str
    connection: Connection
    key: LinkKey | None = field(default=None, repr=False)
    allowed_hosts: tuple[str, ...] = ()
    allow_actions: bool = False


@dataclass(frozen=True, slots=True)
class DashboardContext:
    config: DashboardConfig
    clock: Clock
    client: Client
    supervisor: Supervisor
    follower: FleetFollower
    sessions: SessionStore

    def session_of(self, request: web.Request) -> Session | None:
        return self.sessions.find(request.headers.get(SESSION_HEADER, ""))

    async def look_at_rights(self, session: Session) -> None:
        """Asks again what the user may see, where that was a while ago. Raises: Unauthorized, WorldError."""
        now = self.clock.monotonic()
        if now - session.seen_at < SIGHT_SECONDS:
            return
        is_known, namespaces = self.follower.is_synced, self.follower.namespaces
        session.sight = await review_sight(session.client, session.user, namespaces)
        session.seen_at = now if is_known else float("-inf")

    def signed_in(self, handler: UserHandler) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            session = self.session_of(request)
            if session is None:
                return failed(401, "nobody has signed in, or the session is over: sign in again")
            try:
                await self.look_at_rights(session)
                return await handler(request, session)
            except Unauthorized:
                await self.sessions.end(session)
                return failed(401, "the control plane does not know this credential any more: sign in again")

        return handle


@web.middleware
async def errors_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answers what went wrong as a sentence; of our own faults only that there was one."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        if error.status < 400:
            raise
        return failed(error.status, error.text or error.reason)
    except TooManyAtOnce as error:
        return failed(429, str(error))
    except OperationFailed as error:
        return failed(400, str(error))
    except Forbidden as error:
        return failed(403, str(error))
    except Unreachable as error:
        return failed(502, f"the control plane does not answer: {error}")
    except WorldError as error:
        return failed(502, f"the control plane says: {error}")
    except Exception:
        log.exception("%s %s failed", request.method, request.path)
        return failed(500, "the dashboard could not answer: its log says why")


def answered(value: object, status: int = 200) -> web.Response:
    return web.Response(status=status, body=codec.encode(value), content_type="application/json")


def failed(status: int, sentence: str) -> web.Response:
    return answered({"error": sentence}, status)
