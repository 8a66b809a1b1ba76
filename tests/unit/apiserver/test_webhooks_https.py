"""Webhooks over HTTPS: the bytes that go out, and who is trusted."""

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from leeward.apiserver.webhooks.calling import Address, Uncallable
from leeward.apiserver.webhooks.https import HttpsWebhooks
from tests.certificates import Authority


class _Echo(BaseHTTPRequestHandler):
    """Answers with what it was asked; under `/broken` with an error."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        answer = b"%s %s " % (self.path.encode(), self.headers["content-type"].encode()) + body
        self.send_response(500 if self.path.startswith("/broken") else 200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def echo(authority: Authority, directory: Path) -> Generator[str]:
    """A webhook with a certificate of `authority`; gives its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    server.socket = authority.server_context(directory).wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def post(address: Address) -> bytes:
    async def main() -> bytes:
        client = HttpsWebhooks()
        try:
            return await client.post(address, b'{"a":1}', 5)
        finally:
            await client.close()

    return asyncio.run(main())


def test_a_review_is_posted_with_the_time_that_it_has(tmp_path: Path):
    authority = Authority()
    with echo(authority, tmp_path) as url:
        answer = post(Address(f"{url}/judge", authority.certificate.decode()))
    assert answer == b'/judge?timeout=5s application/json {"a":1}'


def test_a_certificate_of_another_authority_is_not_trusted(tmp_path: Path):
    with (
        echo(Authority(), tmp_path) as url,
        pytest.raises(Uncallable, match="certificate"),
    ):
        post(Address(url, Authority().certificate.decode()))


def test_a_certificate_must_be_for_the_service_that_is_called(tmp_path: Path):
    authority = Authority()
    with echo(authority, tmp_path) as url, pytest.raises(Uncallable, match=r"hook\.default\.svc"):
        post(Address(url, authority.certificate.decode(), "hook.default.svc"))


def test_an_error_is_told_with_the_beginning_of_what_was_said(tmp_path: Path):
    authority = Authority()
    with echo(authority, tmp_path) as url, pytest.raises(Uncallable, match="answered with code 500: /broken"):
        post(Address(f"{url}/broken", authority.certificate.decode()))


def test_nobody_at_home_is_told(tmp_path: Path):
    authority = Authority()
    with echo(authority, tmp_path) as url:
        gone = url
    with pytest.raises(Uncallable, match=r"127\.0\.0\.1"):
        post(Address(gone, authority.certificate.decode()))
