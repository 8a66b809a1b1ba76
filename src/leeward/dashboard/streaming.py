"""The stream of a page: the fleet as it changes, as server-sent events, until the page or the session goes.

A comment line comes when nothing else does, so that a page notices within seconds that it is not live any more. What
the user may see is asked again meanwhile: when that is other than it was, the stream ends, and the page begins anew.

Whoever takes gzip gets frames as they were compressed for all (`frames`).
"""

import asyncio
from contextlib import suppress

from aiohttp import web

from kubeclient import Unauthorized, WorldError
from leeward.dashboard.context import DashboardContext
from leeward.dashboard.feed import FeedReader
from leeward.dashboard.frames import GZIP, Frame, GzipStream
from leeward.dashboard.rights import FleetSight
from leeward.dashboard.sessions import Session
from leeward.dashboard.user_shares import UserShares

HEARTBEAT_SECONDS = 3.0
WRITE_SECONDS = 20.0
"""Seconds that a browser may take for a frame."""
MOST_STREAMS, MOST_STREAMS_OF_ONE = 500, 20
HEARTBEAT = Frame(b": still here\n\n")
BEGIN = Frame(b"retry: 1000\n\n")


class _Sending:
    """Sending of frames to one browser, compressed where it takes that."""

    def __init__(self, request: web.Request) -> None:
        self._request = request
        self._gzip = GzipStream() if GZIP in request.headers.get("Accept-Encoding", "") else None
        headers = {"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", "Vary": "Accept-Encoding"}
        self.response = web.StreamResponse(headers={**headers, "Content-Encoding": GZIP} if self._gzip else headers)

    async def begin(self) -> None:
        await self.response.prepare(self._request)
        if self._gzip is not None:
            await self._write(self._gzip.begin())
        await self.send(BEGIN)

    async def send(self, frame: Frame) -> None:
        """Raises: ConnectionError, TimeoutError where the browser does not read."""
        await self._write(frame.plain if self._gzip is None else self._gzip.part(frame))

    async def end(self) -> None:
        if self._gzip is not None:
            await self._write(self._gzip.end())

    async def _write(self, data: bytes) -> None:
        async with asyncio.timeout(WRITE_SECONDS):
            await self.response.write(data)


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
            sending = _Sending(request)
            with suppress(ConnectionError, TimeoutError):
                await sending.begin()
                for frame in frames:
                    await sending.send(frame)
                await self._go_on(sending, reader, session, sight)
                await sending.end()
            return sending.response
        finally:
            leave()

    async def _go_on(self, sending: _Sending, reader: FeedReader, session: Session, sight: FleetSight) -> None:
        """Raises: ConnectionError, TimeoutError where the browser does not read."""
        while await self._is_as_it_was(session, sight):
            try:
                frame = await reader.next(HEARTBEAT_SECONDS)
            except TimeoutError:
                frame = HEARTBEAT
            if frame is None:
                return
            await sending.send(frame)

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
