"""Conversion over HTTPS: a real webhook on this machine, with a certificate that the definition vouches for."""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kubeapi import codec
from kubeserver.webhooks.https import HttpsWebhooks
from tests.certificates import Authority
from tests.https_server import Asked, https_server
from tests.kubeserver.api_world import ApiWorld, api_world
from tests.kubeserver.conversion import FIRST, SECOND, answered, gadget, gadgets, rename


@contextmanager
def converter(authority: Authority, directory: Path) -> Generator[str]:
    """A conversion webhook with a certificate of `authority`; gives its URL."""

    def convert(asked: Asked) -> tuple[int, bytes]:
        return 200, answered(codec.decode(asked.body, dict[str, Any]), rename, {})

    with https_server(convert, authority.server_context(directory)) as port:
        yield f"https://127.0.0.1:{port}/convert"


def tell_over_https(story: Callable[[ApiWorld], Awaitable[None]], url: str, authority: Authority) -> None:
    definition = gadgets(url=url, authority=base64.b64encode(authority.certificate).decode())

    async def play() -> None:
        client = HttpsWebhooks()
        try:
            async with api_world(crds=[definition], webhook_client=client) as world:
                await story(world)
        finally:
            await client.close()

    asyncio.run(play())


def test_objects_go_to_the_webhook_and_come_back(tmp_path: Path):
    async def story(world: ApiWorld) -> None:
        for number in range(3):
            assert (await world.create(FIRST, gadget("v1", f"g{number}", size=number))).code == 201
        assert [item["spec"]["length"] for item in (await world.get(SECOND)).body["items"]] == [0, 1, 2]
        assert (await world.create(SECOND, gadget("v2", "h", length=7))).body["spec"]["length"] == 7
        assert (await world.get(f"{FIRST}/h")).body["spec"]["size"] == 7

    authority = Authority()
    with converter(authority, tmp_path) as url:
        tell_over_https(story, url, authority)


def test_a_webhook_with_a_certificate_of_somebody_else_is_not_trusted(tmp_path: Path):
    async def story(world: ApiWorld) -> None:
        assert (await world.create(FIRST, gadget("v1", size=1))).code == 201
        refused = await world.get(f"{SECOND}/g")
        assert refused.code == 500
        assert refused.body["message"].startswith("conversion webhook for example.com/v1, Kind=Widget failed: ")
        assert "certificate" in refused.body["message"]

    with converter(Authority(), tmp_path) as url:
        tell_over_https(story, url, Authority())
