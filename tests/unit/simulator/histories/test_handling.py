"""D10: an object with which something cannot be done is found; of a server that is well nothing is."""

from collections.abc import Awaitable, Callable

import pytest

from kubeapi.status import Status
from kubeclient import Request, Response
from kubeserver.errors import status_response
from kubeserver.handler import Handler, StreamResponse, User
from simulator.histories.handling import unhandled
from tests.kubeserver.api_world import CONFIG_MAPS, ApiWorld, config_map, tell

UNREADABLE = Status(message="cannot be decoded", reason="InternalError", code=500)


class Broken:
    """Can do all that `server` can, but one thing."""

    def __init__(self, server: Handler, method: str) -> None:
        self._server = server
        self._method = method

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        if request.method == self._method and "configmaps" in request.path:
            return status_response(UNREADABLE)
        return await self._server.handle(request, user)


def with_one_config_map(story: Callable[[ApiWorld], Awaitable[None]]) -> None:
    async def tale(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("web"))
        await story(world)

    tell(tale)


def test_d10_what_a_server_has_accepted_it_can_handle_and_trying_changes_nothing() -> None:
    async def story(world: ApiWorld) -> None:
        before = world.store.revision
        assert await unhandled(world.server, list(world.store.list("/").records), 0) == []
        assert world.store.revision == before

    with_one_config_map(story)


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_d10_an_object_that_is_stuck_is_found(method: str) -> None:
    async def story(world: ApiWorld) -> None:
        problems = await unhandled(Broken(world.server, method), list(world.store.list("/").records), 0)
        assert problems
        assert all(problem.startswith(method) and "cannot be decoded" in problem for problem in problems)

    with_one_config_map(story)
