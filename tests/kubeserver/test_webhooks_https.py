"""Webhooks over HTTPS: the bytes that go out, and who is trusted."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubeserver.webhooks.calling import Address, Uncallable
from kubeserver.webhooks.https import HttpsWebhooks
from tests.certificates import Authority
from tests.https_server import Asked, https_server
from tests.kubeserver.http_contract import PATIENCE_SECONDS


@contextmanager
def echo(authority: Authority, directory: Path) -> Generator[str]:
    """A webhook that answers with what it was asked, under `/broken` with an error; gives its URL."""

    def answer(asked: Asked) -> tuple[int, bytes]:
        said = b"%s %s " % (asked.path.encode(), asked.content_type.encode()) + asked.body
        return 500 if asked.path.startswith("/broken") else 200, said

    with https_server(answer, authority.server_context(directory)) as port:
        yield f"https://127.0.0.1:{port}"


def post(address: Address) -> bytes:
    async def main() -> bytes:
        client = HttpsWebhooks()
        try:
            return await client.post(address, b'{"a":1}', PATIENCE_SECONDS)
        finally:
            await client.close()

    return asyncio.run(main())


def test_a_review_is_posted_with_the_time_that_it_has(tmp_path: Path):
    authority = Authority()
    with echo(authority, tmp_path) as url:
        answer = post(Address(f"{url}/judge", authority.certificate.decode()))
    assert answer == b'/judge?timeout=60s application/json {"a":1}'


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
