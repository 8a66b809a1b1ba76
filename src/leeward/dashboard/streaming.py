"""The stream of a page: the fleet as it changes, as server-sent events, until the page or the session goes.

A comment line comes when nothing else does, so that a page notices within seconds that it is not live any more. What
the user may see is asked again meanwhile: when that is other than it was, the stream ends, and the page begins anew.
"""

import asyncio
from contextlib import suppress

from aiohttp import web

from leeward.client import Unauthorized, WorldError
from leeward.dashboard.context import DashboardContext
from leeward.dashboard.feed import FeedReader
from leeward.dashboard.rights import FleetSight
from leeward.dashboard.sessions import Session
from leeward.dashboard.user_shares import UserShares

HEARTBEAT_SECONDS = 3.0
WRITE_SECONDS = 20.0
"""Seconds that a browser may take for a frame."""
MOST_STREAMS, MOST_STREAMS_OF_ONE = 500, 20
HEARTBEAT = b": still here\n\n"


class Streaming:
    def __init__(self, context: DashboardContext) -> None:
        self._context = context
        self._shares = UserShares("pages are open", "close some", each=MOST_STREAMS_OF_ONE, most=MOST_STREAMS)

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/api/events", self._context.signed_in(self._events))]

    async def _events(self, request: web.Request, session: Session) -> web.StreamResponse:
        """Raises: TooManyAtOnce."""
        with self._shares.taken_by(session):
            return await self._stream(request, session)

    async def _stream(self, request: web.Request, session: Session) -> web.StreamResponse:
        since = request.headers.get("Last-Event-ID", "") or request.query.get("since", "")
        sight = session.sight
        reader, frames, leave = self._context.follower.open(sight, since)
        try:
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})
            await response.prepare(request)
            with suppress(ConnectionError, TimeoutError):
                await self._write(response, b"retry: 1000\n\n")
                for frame in frames:
                    await self._write(response, frame)
                await self._go_on(response, reader, session, sight)
            return response
        finally:
            leave()

    async def _go_on(
        self, response: web.StreamResponse, reader: FeedReader, session: Session, sight: FleetSight
    ) -> None:
        """Raises: ConnectionError, TimeoutError where the browser does not read."""
        while await self._is_as_it_was(session, sight):
            try:
                frame = await reader.next(HEARTBEAT_SECONDS)
            except TimeoutError:
                frame = HEARTBEAT
            if frame is None:
                return
            await self._write(response, frame)

    async def _is_as_it_was(self, session: Session, sight: FleetSight) -> bool:
        """Tells whether the session is still there, and sees what it saw. A page that is open is in use."""
        if self._context.sessions.find(session.id) is not session:
            return False
        try:
            await self._context.look_at_rights(session)
        except Unauthorized:
            await self._context.sessions.end(session)
            return False
        except WorldError:
            return True
        return session.sight == sight

    async def _write(self, response: web.StreamResponse, frame: bytes) -> None:
        async with asyncio.timeout(WRITE_SECONDS):
            await response.write(frame)
