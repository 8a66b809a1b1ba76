"""Discovery: a kind that is not offered is one thing, a server that cannot be asked another."""

import pytest

from leeward.client import ApiError, Client, Undecodable, Unreachable, WorldError
from leeward.loop.virtual import run_virtual
from leeward.runtime.discovery import Discovery, UnknownKind
from tests.unit.runtime.small_world import ScriptedTransport, SmallWorld, response, tell


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
            await discovery.enablements()

    tell(story)


def test_all_kinds_are_listed_sorted_and_without_subresources() -> None:
    async def story(world: SmallWorld) -> None:
        enablements = await Discovery(world.client).enablements()
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
