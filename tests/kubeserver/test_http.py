"""The HTTP front over real sockets: what comes in, what goes out, and what of both is bounded."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest

from kubeapi.transport import Request
from kubeserver.auth.authentication import Authenticator
from kubeserver.http.front import WRITE_TIMEOUT_SECONDS, HttpFront
from tests.certificates import Authority
from tests.kubeserver import http_contract
from tests.kubeserver.echo import Echo, EchoClient, skip
from tests.kubeserver.http_contract import PATIENCE_SECONDS, ask
from tests.ports import free_port

Story = Callable[[EchoClient], Awaitable[None]]


def serve(story: Story, handler: Echo | None = None, token: str = "", **options: Any) -> None:
    """Plays a story with a client of a plain HTTP server."""
    http_contract.serve(lambda url: EchoClient(url, token), story, handler, **options)


def test_a_request_arrives_as_it_was_sent() -> None:
    serve(http_contract.a_request_arrives_as_it_was_sent)


def test_of_repeated_query_keys_the_first_one_counts() -> None:
    async def story(client: EchoClient) -> None:
        _, answer = await ask(client, query=cast(Mapping[str, str], [("a", "1"), ("b", "2"), ("a", "3")]))
        assert answer["query"] == {"a": "1", "b": "2"}

    serve(story)


def test_a_bearer_token_says_who_asks() -> None:
    serve(http_contract.a_bearer_token_says_who_asks, token="secret")


def test_who_shows_a_wrong_token_is_nobody_and_is_not_listened_to() -> None:
    async def story(client: EchoClient) -> None:
        _, seen = await ask(client, body=b"x" * 100)
        assert (seen["user"], seen["body"]) == ([""], "")

    serve(story, token="wrong")


def test_a_body_that_is_too_large_is_answered_with_a_413_status() -> None:
    async def story(client: EchoClient) -> None:
        assert (await ask(client, body=b"x" * 3 * 1024 * 1024))[0] == 201
        code, status = await ask(client, body=b"x" * (3 * 1024 * 1024 + 1))
        assert (code, status["reason"]) == (413, "RequestEntityTooLarge")

    serve(story, token="secret")


def test_who_shows_no_credential_is_not_listened_to_for_long() -> None:
    async def story(client: EchoClient) -> None:
        assert (await ask(client, body=b"x" * 64 * 1024))[0] == 201
        code, status = await ask(client, body=b"x" * (64 * 1024 + 1))
        assert (code, status["message"]) == (413, "Request entity too large: limit is 65536")

    serve(story)


def tell_raw(sent: bytes, **options: Any) -> bytes:
    """Answers of a plain server to these bytes, until it ends the connection; nothing where it breaks it off."""

    async def main() -> bytes:
        front = HttpFront(Echo(), Authenticator(), None, **options)
        reader, writer = await asyncio.open_connection("127.0.0.1", await front.start())
        writer.write(sent)
        async with asyncio.timeout(PATIENCE_SECONDS):
            try:
                answer = await reader.read()
            except ConnectionResetError:
                answer = b""
        writer.transport.abort()
        await front.stop()
        return answer

    return asyncio.run(main())


@pytest.mark.parametrize("sent", [b"", b"POST /x HTTP/1.1\r\nAuthorization: Bearer wrong\r\n"])
def test_a_connection_that_comes_to_no_request_is_ended(sent: bytes) -> None:
    assert tell_raw(sent, idle_seconds=0.05) == b""


def test_of_one_user_only_so_many_bytes_are_held_at_a_time() -> None:
    async def story(client: EchoClient) -> None:
        answers = [await ask(client, body=b"x" * size) for size in (6, 6, 11, 10)]
        assert [code for code, _ in answers] == [201, 201, 429, 201]

    serve(story, token="secret", bodies_bytes=10)


def test_large_answers_that_nobody_fetches_are_few_and_given_up() -> None:
    port = free_port()

    async def story(client: EchoClient) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        try:
            writer.write(b"GET /huge HTTP/1.1\r\nHost: x\r\n\r\n")
            async with asyncio.timeout(3 * WRITE_TIMEOUT_SECONDS):
                while await large(client) != 429:
                    pass
                skip(WRITE_TIMEOUT_SECONDS + 1)
                while await large(client) != 200:
                    pass
        finally:
            writer.transport.abort()

    serve(story, port=port, answers_bytes=20_000_000)


async def large(client: EchoClient) -> int:
    """The code of an answer that is much smaller than what nobody fetches."""
    return (await client.send(Request("GET", "/large", {}, {"accept-encoding": "identity"}), timeout_seconds=60)).code


def test_bytes_that_are_no_text_are_replaced() -> None:
    answer = tell_raw(b"GET /x HTTP/1.1\r\nHost: x\r\nX-Test: a\xff\r\nConnection: close\r\n\r\n")
    assert b'"x-test": "a?"' in answer


def test_what_a_garbled_head_says_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert b" 400 " in tell_raw(b"GET /x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer s3cret\x00\r\n\r\n")
    assert "Error handling request from 127.0.0.1: it is no valid HTTP: BadHttpMessage" in caplog.text
    assert "s3cret" not in caplog.text


def test_a_handler_that_crashes_is_answered_with_a_500_status() -> None:
    async def story(client: EchoClient) -> None:
        code, status = await ask(client, "/crash")
        assert (code, status["reason"]) == (500, "InternalError")

    serve(story)


def test_a_large_answer_is_compressed_for_those_who_accept_it() -> None:
    async def story(client: EchoClient) -> None:
        packed = await client.send(Request("GET", "/large"), timeout_seconds=PATIENCE_SECONDS)
        plain = await client.send(
            Request("GET", "/large", {}, {"accept-encoding": "identity"}), timeout_seconds=PATIENCE_SECONDS
        )
        assert packed.headers["content-encoding"] == "gzip"
        assert "content-encoding" not in plain.headers
        assert packed.body == plain.body

    serve(story)


def test_a_stream_brings_lines_as_they_come_until_it_ends() -> None:
    echo = Echo()
    serve(partial(http_contract.a_stream_brings_lines_as_they_come_until_it_ends, echo=echo), echo)


def test_a_client_that_goes_away_ends_the_stream() -> None:
    echo = Echo()

    async def story(client: EchoClient) -> None:
        async with client.stream(Request("GET", "/watch")) as lines, aclosing(cast(Any, lines)):
            echo.lines.put_nowait(b"one")
            await anext(lines)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await echo.closed.wait()

    serve(story, echo)


def test_a_client_that_is_gone_before_its_stream_begins_is_no_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def is_gone(*_: object) -> None:
        raise aiohttp.ClientConnectionResetError("Cannot write to closing transport")

    async def story(client: EchoClient) -> None:
        monkeypatch.setattr("aiohttp.web.StreamResponse.prepare", is_gone)
        with pytest.raises(aiohttp.ClientError):
            async with client.stream(Request("GET", "/watch")):
                pass

    serve(story)
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_a_stream_that_breaks_off_does_not_look_as_if_it_had_ended() -> None:
    echo = Echo()
    serve(partial(http_contract.a_stream_that_breaks_off_is_an_error, echo=echo, error=aiohttp.ClientError), echo)


def test_stopping_with_open_streams_ends_them_cleanly() -> None:
    asyncio.run(http_contract.stopping_with_open_streams_ends_them_cleanly(EchoClient, aiohttp.ClientError))


def test_a_taken_port_is_an_error() -> None:
    async def main() -> None:
        front = HttpFront(Echo(), Authenticator(), None)
        port = await front.start()
        with pytest.raises(OSError, match="address already in use"):
            await HttpFront(Echo(), Authenticator(), None, port=port).start()
        await front.stop()

    asyncio.run(main())


def user_over_tls(directory: Path, *subject: str) -> list[str]:
    """User and groups for whom a TLS server takes a client, with a certificate for this subject, or with none."""
    authority = Authority()
    tls = ssl.create_default_context(cadata=authority.certificate.decode())
    if subject:
        file = directory / "client.pem"
        file.write_bytes(b"".join(authority.issue(*subject)))
        tls.load_cert_chain(file)

    async def main() -> list[str]:
        front = HttpFront(Echo(), Authenticator(), authority.server_context(directory))
        client = EchoClient(f"https://127.0.0.1:{await front.start()}", tls=tls)
        try:
            return (await ask(client))[1]["user"]
        finally:
            await client.close()
            await front.stop()

    return asyncio.run(main())


def test_a_client_certificate_says_who_asks(tmp_path: Path) -> None:
    who = user_over_tls(tmp_path, "bob", "system:masters", "ops")
    assert who == ["bob", "system:masters", "ops", "system:authenticated"]


def test_without_a_certificate_a_client_is_anonymous(tmp_path: Path) -> None:
    assert user_over_tls(tmp_path)[0] == "system:anonymous"


def test_a_stream_is_not_asked_for_more_than_its_client_takes() -> None:
    echo = Echo()

    async def story(client: EchoClient) -> None:
        for _ in range(100):
            echo.lines.put_nowait(b"x" * 1_000_000)
        async with client.stream(Request("GET", "/watch")) as lines:
            await anext(lines)
            for _ in range(10):
                await ask(client)
            assert echo.lines.qsize() > 50

    serve(story, echo)
