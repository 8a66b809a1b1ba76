"""Signatures by which who has a bootstrap token knows that `kube-public/cluster-info` is the server's own."""

import asyncio
import base64
from collections.abc import Awaitable, Callable

import pytest

from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import Manifest
from kubeserver.auth.tokens.bootstrap import detached_signature
from tests.kubeserver.api_world import ApiWorld, tell

INFOS, SECRETS = "/api/v1/namespaces/kube-public/configmaps", "/api/v1/namespaces/kube-system/secrets"
INFO: Manifest = {"metadata": {"name": "cluster-info"}, "data": {"kubeconfig": "one", "other": "kept"}}
SIGNING = {"usage-bootstrap-signing": "true"}


def token(token_id: str, **data: str) -> Manifest:
    told = {"token-id": token_id, "token-secret": "0123456789abcdef", **data}
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in told.items()}
    name = f"bootstrap-token-{token_id}"
    return {"metadata": {"name": name}, "type": "bootstrap.kubernetes.io/token", "data": encoded}


async def info(world: ApiWorld) -> dict[str, str]:
    await asyncio.sleep(1)
    return (await world.get(f"{INFOS}/cluster-info")).body["data"]


def signed(content: str, *ids: str) -> dict[str, str]:
    signatures = {f"jws-kubeconfig-{each}": detached_signature(content, each, "0123456789abcdef") for each in ids}
    return {"kubeconfig": content, "other": "kept", **signatures}


def signing(story: Callable[[ApiWorld], Awaitable[None]]) -> None:
    async def play(world: ApiWorld) -> None:
        async with Supervisor("signer") as supervisor:
            supervisor.start(world.server.bootstrap_signer().run(), "bootstrap-signer")
            await story(world)

    tell(play)


@pytest.mark.parametrize(
    ("content", "signature"),
    [
        (
            "Hello from the other side. I must have called a thousand times.",
            "VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8",
        ),
        ("", "7Ui1ALizW4jXphVUB7xUqC9vLYLL9RZeOFfVLoB7Tgk"),
    ],
)
def test_signatures_are_those_of_kubernetes(content: str, signature: str) -> None:
    """The values are those that Kubernetes tests its own with (cluster-bootstrap, token/jws)."""
    expected = f"eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..{signature}"
    assert detached_signature(content, "joshua", "my voice is my passcode") == expected


def test_tokens_sign_what_is_there_and_what_comes_and_sign_anew_when_it_changes() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(SECRETS, token("aaaaaa", **SIGNING))
        await world.create(INFOS, INFO)
        assert await info(world) == signed("one", "aaaaaa")
        await world.create(SECRETS, token("bbbbbb", **SIGNING))
        assert await info(world) == signed("one", "aaaaaa", "bbbbbb")
        await world.patch(f"{INFOS}/cluster-info", {"data": {"kubeconfig": "two"}})
        assert await info(world) == signed("two", "aaaaaa", "bbbbbb")
        await world.patch(f"{INFOS}/cluster-info", {"data": {"jws-kubeconfig-aaaaaa": "forged"}})
        assert await info(world) == signed("two", "aaaaaa", "bbbbbb")
        await world.call("DELETE", f"{SECRETS}/bootstrap-token-aaaaaa")
        assert await info(world) == signed("two", "bbbbbb")

    signing(story)


def test_a_token_that_has_ended_signs_no_more() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(INFOS, INFO)
        await world.create(SECRETS, token("aaaaaa", **SIGNING, expiration="2026-01-01T01:00:00Z"))
        assert await info(world) == signed("one", "aaaaaa")
        await asyncio.sleep(3_700)
        assert await info(world) == signed("one")

    signing(story)


@pytest.mark.parametrize(
    "secret",
    [
        token("aaaaaa"),
        token("aaaaaa", **{"usage-bootstrap-signing": "false"}),
        token("aaaaaa", **SIGNING, expiration="2001-01-01T00:00:00Z"),
        token("aaaaaa", **SIGNING, expiration="never"),
        {**token("aaaaaa", **SIGNING), "type": "Opaque"},
        {**token("bbbbbb", **SIGNING), "metadata": {"name": "bootstrap-token-aaaaaa"}},
    ],
)
def test_what_is_no_signing_token_signs_nothing(secret: Manifest) -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(INFOS, INFO)
        await world.create(SECRETS, secret)
        assert await info(world) == signed("one")

    signing(story)


def test_nothing_is_written_when_nothing_changes() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(SECRETS, token("aaaaaa", **SIGNING))
        await world.create(INFOS, INFO)
        await info(world)
        before = (await world.get(f"{INFOS}/cluster-info")).body["metadata"]["resourceVersion"]
        await world.patch(f"{SECRETS}/bootstrap-token-aaaaaa", {"metadata": {"labels": {"a": "b"}}})
        await info(world)
        assert (await world.get(f"{INFOS}/cluster-info")).body["metadata"]["resourceVersion"] == before

    signing(story)
