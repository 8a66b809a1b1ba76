"""A small server over TLS on this machine, whose answers are a function; for tests of those who call others."""

import ssl
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, cast

PATIENCE_SECONDS = 60
"""Seconds after which a connection that says nothing is given up."""


class Asked(NamedTuple):
    """`peer` is the client's certificate, empty where it showed none."""

    method: str
    path: str
    content_type: str
    body: bytes
    peer: dict[str, Any]


Answer = Callable[[Asked], tuple[int, bytes] | tuple[int, bytes, Mapping[str, str]]]
"""Function from what is asked to code, body, and headers."""


@contextmanager
def https_server(answer: Answer, context: ssl.SSLContext) -> Generator[int]:
    """Serves on a free port of 127.0.0.1, each connection in a thread of its own; gives the port.

    At the end it waits for the connections, whose clients have gone: none of them is left for the next test.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        timeout = PATIENCE_SECONDS

        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline()
            if not self.raw_requestline or not self.parse_request():
                self.close_connection = True
                return
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            peer = cast(ssl.SSLSocket, self.connection).getpeercert() or {}
            code, said, *more = answer(Asked(self.command, self.path, self.headers.get("content-type", ""), body, peer))
            self.send_response(code)
            self.send_header("content-length", str(len(said)))
            for header in more:
                for name, value in header.items():
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(said)
            self.wfile.flush()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
