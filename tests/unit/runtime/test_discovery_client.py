"""Discovery: a kind that is not offered is one thing, a server that cannot be asked another."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeclient import ApiError, Client, Request, Response, Undecodable, Unreachable, WorldError
from leeward.runtime.discovery import Discovery, UnknownKind
from tests.kubecluster.runtime.small_world import ScriptedTransport, SmallWorld, response, tell


def test_a_kind_is_found_under_its_path_and_asked_for_only_once() -> None:
    async def story(world: SmallWorld) -> None:
        discovery = Discovery(world.client)
        deployments = await discovery.resource("apps/v1", "Deployment")
        assert deployments.path("default", "web") == "/apis/apps/v1/namespaces/default/deployments/web"
        world.link.cut()
        assert await discovery.resource("apps/v1", "Deployment") == deployments
        assert (await discovery.resource("apps/v1", "StatefulSet")).plural == "statefulsets"

    tell(story)


def test_an_unknown_kind_is_told_apart_from_a_server_that_cannot_be_asked() -> None:
    async def story(world: SmallWorld) -> None:
        discovery = Discovery(world.client)
        for api_version, kind in (("apps/v1", "Ship"), ("harbour.io/v1", "Ship")):
            with pytest.raises(UnknownKind, match=r"does not offer .* Ship"):
                await discovery.resource(api_version, kind)
        world.link.cut()
        with pytest.raises(Unreachable):
            await discovery.resource("harbour.io/v1", "Ship")
        with pytest.raises(Unreachable):
            await discovery.offer()

    tell(story)


def test_all_kinds_are_listed_sorted_and_without_subresources() -> None:
    async def story(world: SmallWorld) -> None:
        enablements = (await Discovery(world.client).offer()).enablements
        versions = [enablement.group_version for enablement in enablements]
        assert versions == sorted(versions)
        assert {"v1", "apps/v1"} <= set(versions)
        names = [resource.name for enablement in enablements for resource in enablement.resources]
        assert "deployments" in names
        assert not [name for name in names if "/" in name]

    tell(story)


@pytest.mark.parametrize(
    ("code", "body", "error"),
    [(403, {"message": "no"}, ApiError), (503, {}, ApiError), (200, {"resources": "many"}, Undecodable)],
)
def test_a_server_that_says_no_or_nonsense_is_an_error_and_no_empty_answer(
    code: int, body: object, error: type[WorldError]
) -> None:
    async def main() -> None:
        transport = ScriptedTransport(answers=[response(body, code)])
        with pytest.raises(error) as caught:
            await Discovery(Client(transport)).resource("apps/v1", "Deployment")
        assert not isinstance(caught.value, UnknownKind)

    run_virtual(main())


class GroupDown:
    """A way to a server of which one group version does not answer, as a dead aggregated API does."""

    def __init__(self, server: Client) -> None:
        self._server = server
        self.down = ""

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        if request.path == f"/apis/{self.down}":
            return Response(503, b"service unavailable")
        return await self._server.raw(request.method, request.path, timeout_seconds=timeout_seconds)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise Unreachable("there are no streams here")

    async def close(self) -> None:
        pass


def test_a_group_that_does_not_answer_keeps_what_it_offered_before() -> None:
    """One broken aggregated API makes no cluster useless."""

    async def story(world: SmallWorld) -> None:
        transport = GroupDown(world.client)
        discovery = Discovery(Client(transport))
        before = await discovery.offer()
        transport.down = "apps/v1"
        after = await discovery.offer()
        assert (before.failed, after.failed) == ((), ("apps/v1",))
        assert after.enablements == before.enablements

    tell(story)


@pytest.mark.parametrize("api_version", ["", "../api/v1", "v1/namespaces/a/secrets", "v1?watch=true", "V1", "/v1"])
def test_what_is_no_api_version_is_not_asked_about(api_version: str) -> None:
    async def main() -> None:
        transport = ScriptedTransport([])
        with pytest.raises(UnknownKind):
            await Discovery(Client(transport)).resource(api_version, "Secret")
        assert transport.requests == []

    run_virtual(main())
