"""The end of a TLS connection that has stopped to be HTTP, on uvloop."""

import asyncio
import socket
import ssl
import threading
from contextlib import aclosing
from pathlib import Path

import uvloop

from kubeapi.transport import Request
from kubeclient.connection import Connection
from kubeclient.forwarding import Conversation, Forwarder
from tests.certificates import Authority

MESSAGE, PIECES = b"\x82\x7e\x10\x00" + b"x" * 4096, 230


def say_much(listener: socket.socket, context: ssl.SSLContext) -> None:
    """Switches to a WebSocket, sends `PIECES` messages, and ends the connection, as after an exec."""
    accepted, _ = listener.accept()
    with context.wrap_socket(accepted, server_side=True) as connection:
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(4096)
        connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        connection.sendall(MESSAGE * PIECES)


def test_the_last_bytes_before_the_end_of_a_connection_are_passed_on(tmp_path: Path) -> None:
    """uvloop drops those that nobody has read: of more than half a mebibyte a part is lost without reading ahead."""
    authority = Authority()
    context = authority.server_context(tmp_path)
    context.verify_mode = ssl.CERT_NONE

    async def main(listener: socket.socket, server: threading.Thread) -> None:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        forwarder = Forwarder(Connection(url, authority.certificate))
        upgrade = {"connection": "upgrade", "upgrade": "websocket"}
        answer = await forwarder.forward(Request("GET", "/exec", headers=upgrade))
        assert isinstance(answer, Conversation)
        size = 0
        async with aclosing(answer.pieces) as pieces:
            async for piece in pieces:
                await asyncio.to_thread(server.join)
                size += len(piece)
        assert size == PIECES * len(MESSAGE)
        await forwarder.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=say_much, args=(listener, context), daemon=True)
        server.start()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(asyncio.wait_for(main(listener, server), 60))
