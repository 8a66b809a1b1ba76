"""The way in over HTTP(S): bytes of the network to a `Request`, and the handler's answer back.

Every path goes to the one handler. A watch is asked for its next piece when its connection has taken the last one, so
nothing piles up here; a client that goes away ends it. Stopping ends the open watches cleanly.

Never looks into a body, and decides nothing but who asks. How a request is read is in `incoming.py`.
"""

import asyncio
import logging
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any, cast

from aiohttp import WSMsgType, web
from msgspec import structs

from kubeapi.connections import Connections, TooManyConnections
from kubeapi.errors import WorldError
from kubeapi.listening import Listener
from kubeapi.loop import Supervisor
from kubeapi.status import Status
from kubeapi.transport import Request, Response
from kubeserver.auth.authentication import Authenticator, BadCredential
from kubeserver.auth.authorization.attributes import is_watch
from kubeserver.errors import status_response
from kubeserver.handler import REJECTED, Handler, StreamResponse, User, WayBack
from kubeserver.handlers.fairness import RETRY_AFTER_SECONDS, too_many
from kubeserver.http.heap import HeapTrimming
from kubeserver.http.incoming import TooLarge, read_body, read_head, serving
from kubeserver.http.memory_limit import UserLimit, UserLimitExceeded
from kubeserver.http.outgoing import keep_little, render, write, write_pieces
from kubeserver.http.upgrading import pass_bytes

log = logging.getLogger(__name__)

MAX_BODIES_BYTES = 64 * 1024 * 1024
MAX_ANSWERS_BYTES = 256 * 1024 * 1024
MAX_PIECES_BYTES = 512 * 1024 * 1024
"""Most bytes of watches that their clients have not taken yet."""
MAX_WATCHES = 1_000
"""Most watches of one user at a time."""
SMALL_BYTES = 64 * 1024
"""An answer that the system takes at once, whether or not somebody fetches it."""
IDLE_SECONDS = 90.0
"""Seconds for which a connection may say nothing, or not come to the end of a head."""
REQUEST_TIMEOUT_SECONDS = 60.0
WRITE_TIMEOUT_SECONDS = 60.0
STOP_TIMEOUT_SECONDS = 0.5
PING_SECONDS = 30.0
MAX_MESSAGE_BYTES = 4 * 1024 * 1024


class HttpFront:
    """Serves `handler` on one port. `delay` gives the seconds that every request waits first: a slow server."""

    def __init__(
        self,
        handler: Handler,
        authenticator: Authenticator,
        ssl_context: ssl.SSLContext | None,
        host: str = "127.0.0.1",
        port: int = 0,
        delay: Callable[[], float] | None = None,
        idle_seconds: float = IDLE_SECONDS,
        bodies_bytes: int = MAX_BODIES_BYTES,
        answers_bytes: int = MAX_ANSWERS_BYTES,
        write_seconds: float = WRITE_TIMEOUT_SECONDS,
        pieces_bytes: int = MAX_PIECES_BYTES,
        watches: int = MAX_WATCHES,
        connections: Connections | None = None,
    ) -> None:
        self._handler = handler
        self._authenticator = authenticator
        self._ssl_context = ssl_context
        self._host = host
        self._port = port
        self._delay = delay
        self._idle_seconds = idle_seconds
        self._write_seconds = write_seconds
        self._bodies = UserLimit(bodies_bytes)
        self._answers = UserLimit(answers_bytes)
        self._pieces = UserLimit(pieces_bytes)
        self._watches = UserLimit(watches)
        self._heap = HeapTrimming()

        self._conversations = Supervisor("conversations of the API server")
        self._open: set[asyncio.Timeout] = set()
        self._connections = connections
        self._listener: Listener | None = None
        self._runner: web.ServerRunner | None = None

    async def start(self) -> int:
        """Listens; gives the port. Raises: OSError when the address is taken."""
        server = web.Server(
            self._serve,
            keepalive_timeout=self._idle_seconds,
            handler_cancellation=True,
            access_log=None,
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=STOP_TIMEOUT_SECONDS)
        await self._runner.setup()
        self._listener = Listener(server, self._ssl_context, self._connections)
        try:
            return await self._listener.start(self._host, self._port)
        except OSError:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Ends the watches, lets running requests finish for a moment, and closes all connections."""
        runner, self._runner = self._runner, None
        if self._listener is not None:
            await self._listener.close()
        while self._open:
            self._open.pop().reschedule(0)
        await self._conversations.close()
        if runner is not None:
            await _close(runner)
        self._heap.stop()

    async def _serve(self, incoming: web.BaseRequest) -> web.StreamResponse:
        try:
            head = read_head(incoming)
            user = self._user(head, incoming)
        except Exception:
            return await render(incoming, _failed(incoming))
        try:
            with serving(self._listener, incoming, user), self._watches.taken(user.name, int(is_watch(head))):
                return await self._serve_user(incoming, head, user)
        except UserLimitExceeded:
            return await render(incoming, too_many(RETRY_AFTER_SECONDS, _too_many_watches(user, self._watches.most)))
        except TooManyConnections as error:
            return await render(incoming, too_many(RETRY_AFTER_SECONDS, str(error)))

    async def _serve_user(self, incoming: web.BaseRequest, head: Request, user: User) -> web.StreamResponse:
        try:
            if user == REJECTED:
                answer = await self._answer(head, user)
            else:
                async with read_body(incoming, user, self._bodies) as body:
                    answer = await self._answer(structs.replace(head, body=body), user)
        except TooLarge as error:
            answer = _refusal(413, "RequestEntityTooLarge", str(error))
        except UserLimitExceeded:
            answer = too_many(RETRY_AFTER_SECONDS)
        except TimeoutError:
            answer = _refusal(504, "Timeout", "the request was not completed in time")
        except ConnectionError:
            raise
        except Exception:
            answer = _failed(incoming)
        if self._runner is None:
            answer = _refusal(503, "ServiceUnavailable", "the server is stopping")
        if isinstance(answer, StreamResponse):
            if answer.way_back is not None and answer.way_back.upgrade:
                return await self._pass_bytes(incoming, answer, answer.way_back)
            if answer.way_back is not None:
                return await self._converse(incoming, answer, answer.way_back)
            return await self._stream(incoming, answer, user)
        if len(answer.body) <= SMALL_BYTES:
            return await render(incoming, answer)
        return await self._send(incoming, answer, user)

    def _user(self, head: Request, incoming: web.BaseRequest) -> User:
        try:
            return self._authenticator.authenticate(head, _peer_certificate(incoming))
        except BadCredential:
            return REJECTED

    async def _answer(self, request: Request, user: User) -> Response | StreamResponse:
        async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
            if self._delay is not None and (seconds := self._delay()) > 0:
                await asyncio.sleep(seconds)
            return await self._handler.handle(request, user)

    async def _send(self, incoming: web.BaseRequest, answer: Response, user: User) -> web.StreamResponse:
        """A large answer is kept for its client, but not for long, and not as many as the client likes."""
        try:
            with self._answers.taken(user.name, len(answer.body)):
                async with asyncio.timeout(self._write_seconds):
                    return await write(incoming, answer)
        except UserLimitExceeded:
            return await render(incoming, too_many(RETRY_AFTER_SECONDS))
        except TimeoutError:
            _abort(incoming)
            raise ConnectionResetError("the client does not take its answer") from None

    async def _stream(self, incoming: web.BaseRequest, answer: StreamResponse, user: User) -> web.StreamResponse:
        """Writes what comes; a stream that breaks off ends without the mark of its end, so that it shows."""
        headers = {**answer.headers, "content-type": answer.content_type}
        outgoing = web.StreamResponse(status=answer.code, headers=headers)
        outgoing.enable_chunked_encoding()
        try:
            await outgoing.prepare(incoming)
            keep_little(incoming)
            await self._pass_on(answer, outgoing, user)
            await outgoing.write_eof()
        except (TimeoutError, ConnectionError):
            _abort(incoming)
        except UserLimitExceeded:
            log.info("a watch of %r is ended: %d bytes of its pieces were not taken", user.name, self._pieces.most)
            _abort(incoming)
        except Exception:
            log.exception("a watch broke off")
            _abort(incoming)
        finally:
            self._heap.something_ended()
        return outgoing

    async def _pass_on(self, answer: StreamResponse, outgoing: web.StreamResponse, user: User) -> None:
        """Returns when the stream has ended, or when the server stops.

        Raises: TimeoutError for a client that hangs; UserLimitExceeded for one of many.
        """
        until_stop = asyncio.timeout(None)
        try:
            async with until_stop, aclosing(cast(AsyncGenerator[bytes, None], answer.lines)) as lines:
                self._open.add(until_stop)
                async for line in lines:
                    with self._pieces.taken(user.name, len(line)):
                        async with asyncio.timeout(self._write_seconds):
                            await write_pieces(outgoing, line + answer.line_end)
                    del line
        except TimeoutError:
            if not until_stop.expired():
                raise
        finally:
            self._open.discard(until_stop)

    async def _pass_bytes(
        self, incoming: web.BaseRequest, answer: StreamResponse, way_back: WayBack
    ) -> web.StreamResponse:
        try:
            return await pass_bytes(incoming, answer, way_back, self._conversations)
        except WorldError as error:
            log.info("%s: %s", incoming.path, error)
            raise ConnectionResetError(str(error)) from error

    async def _converse(
        self, incoming: web.BaseRequest, answer: StreamResponse, way_back: WayBack
    ) -> web.StreamResponse:
        """Messages go both ways, until either side ends it. What the other side has said before it ended is told to its
        end, even if it takes nothing any more: a command may end before all of its input has come."""
        protocols = (way_back.protocol,) if way_back.protocol else ()
        outgoing = web.WebSocketResponse(protocols=protocols, max_msg_size=MAX_MESSAGE_BYTES, heartbeat=PING_SECONDS)
        await outgoing.prepare(incoming)
        telling = self._conversations.start(_tell(outgoing, answer), "websocket")
        try:
            async for message in outgoing:
                if message.type is WSMsgType.BINARY:
                    await way_back.send(message.data)
                elif message.type is WSMsgType.TEXT:
                    await way_back.send(message.data.encode())
        except WorldError as error:
            log.info("%s: %s", incoming.path, error)
            await asyncio.wait((telling,), timeout=WRITE_TIMEOUT_SECONDS)
        finally:
            telling.cancel()
            await outgoing.close()
        return outgoing


async def _tell(outgoing: web.WebSocketResponse, answer: StreamResponse) -> None:
    """Sends each line as a message, and closes the conversation after the last."""
    try:
        async with aclosing(cast(AsyncGenerator[bytes, None], answer.lines)) as lines:
            async for line in lines:
                async with asyncio.timeout(WRITE_TIMEOUT_SECONDS):
                    await outgoing.send_bytes(line)
    except (TimeoutError, ConnectionError, WorldError) as error:
        log.info("a conversation broke off: %s", error)
    finally:
        await outgoing.close()


def _peer_certificate(incoming: web.BaseRequest) -> dict[str, Any] | None:
    return incoming.get_extra_info("peercert")


def _refusal(code: int, reason: str, message: str) -> Response:
    return status_response(Status(message=message, reason=reason, code=code))


def _failed(incoming: web.BaseRequest) -> Response:
    """Answer to an error; to be called where an exception is handled."""
    log.exception("%s %s failed", incoming.method, incoming.path)
    return _refusal(500, "InternalError", "an internal error; the server's log says more")


def _too_many_watches(user: User, most: int) -> str:
    return (
        f"too many watches: {user.name} has {most} open already: close some of them, or watch all namespaces at once "
        "instead of each"
    )


def _abort(incoming: web.BaseRequest) -> None:
    if incoming.transport is not None:
        incoming.transport.abort()


async def _close(runner: web.ServerRunner) -> None:
    """Closes all connections, also where a client does not answer the end of TLS."""
    connections = runner.server.connections if runner.server is not None else ()
    transports = [each.transport for each in connections if each.transport is not None]
    await runner.cleanup()
    for transport in transports:
        with suppress(AttributeError):  # asyncio's for one that was lost, and closed once more by aiohttp
            transport.abort()
    await asyncio.sleep(0)
