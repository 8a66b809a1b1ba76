"""Secrets that hold the token of a service account: filled, bound to both, and taken away when there is no account."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any

from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import Manifest
from kubeserver.controllers.token_secrets import UID_ANNOTATION
from tests.kubeserver.api_world import Answer, ApiWorld, tell, who

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
SECRETS = "/api/v1/namespaces/default/secrets"
ROBOT = {"metadata": {"name": "robot"}}


def with_controller(story: Callable[[ApiWorld], Awaitable[None]]) -> None:
    async def play(world: ApiWorld) -> None:
        async with Supervisor("tokens") as supervisor:
            supervisor.start(world.server.token_secrets(b"the authority").run(), "token-secrets")
            await story(world)

    tell(play)


def token_secret(account: str = "robot", **annotations: str) -> Manifest:
    own = {"kubernetes.io/service-account.name": account, **annotations}
    return {"metadata": {"name": "token", "annotations": own}, "type": "kubernetes.io/service-account-token"}


async def settled(world: ApiWorld) -> Answer:
    await asyncio.sleep(1)
    return await world.get(f"{SECRETS}/token")


def read(answer: Answer) -> dict[str, str]:
    return {key: base64.b64decode(text).decode() for key, text in answer.body["data"].items()}


def test_a_secret_of_an_account_is_filled_with_a_token_that_works() -> None:
    async def story(world: ApiWorld) -> None:
        account = await world.create(ACCOUNTS, ROBOT)
        await world.create(SECRETS, token_secret())
        secret = await settled(world)
        data = read(secret)
        assert (data["namespace"], data["ca.crt"]) == ("default", "the authority")
        assert who(world, data["token"]) == "system:serviceaccount:default:robot"
        assert secret.body["metadata"]["annotations"][UID_ANNOTATION] == account.body["metadata"]["uid"]

    with_controller(story)


def test_what_is_in_the_secret_already_stays() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(ACCOUNTS, ROBOT)
        await world.create(SECRETS, {**token_secret(), "data": {"note": base64.b64encode(b"mine").decode()}})
        first = read(await settled(world))
        await world.patch(f"{SECRETS}/token", {"metadata": {"labels": {"a": "b"}}})
        assert read(await settled(world)) == first
        assert first["note"] == "mine"

    with_controller(story)


def test_the_token_ends_with_its_secret() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(ACCOUNTS, ROBOT)
        await world.create(SECRETS, token_secret())
        token = read(await settled(world))["token"]
        await world.delete(f"{SECRETS}/token")
        assert who(world, token) == ""

    with_controller(story)


def test_the_secret_goes_with_its_account() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(ACCOUNTS, ROBOT)
        await world.create(SECRETS, token_secret())
        token = read(await settled(world))["token"]
        await world.delete(f"{ACCOUNTS}/robot")
        assert who(world, token) == ""
        assert (await settled(world)).code == 404

    with_controller(story)


def test_a_secret_for_an_account_that_is_not_there_goes() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(SECRETS, token_secret("nobody"))
        assert (await settled(world)).code == 404
        await world.create(ACCOUNTS, ROBOT)
        wrong: dict[str, Any] = {UID_ANNOTATION: "of-another-life"}
        await world.create(SECRETS, token_secret(**wrong))
        assert (await settled(world)).code == 404

    with_controller(story)
