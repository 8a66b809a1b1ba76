"""Discovery documents: the aggregated form says the same as the plain one, in two requests."""

from typing import NoReturn

import pytest

from kubeapi import codec
from kubeclient import Client, Request, Response, Undecodable
from kubeclient.api_resource_lists import OfferedResource, read_root
from leeward.runtime.discovery import Discovery
from tests.kubecluster.runtime.small_world import SmallWorld, tell


class Plain:
    """A way to a server that knows only plain discovery; counts what is asked."""

    def __init__(self, server: Client, *, is_old: bool) -> None:
        self.asked: list[str] = []
        self._server = server
        self._is_old = is_old

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        self.asked.append(request.path)
        accept = "application/json" if self._is_old else request.headers["accept"]
        return await self._server.raw(request.method, request.path, timeout_seconds=timeout_seconds, accept=accept)

    def stream(self, request: Request) -> NoReturn:
        raise AssertionError("discovery needs no stream")

    async def close(self) -> None:
        pass


def test_both_forms_offer_the_same_and_the_aggregated_one_takes_two_requests() -> None:
    async def story(world: SmallWorld) -> None:
        old, new = (Plain(world.client, is_old=is_old) for is_old in (True, False))
        assert await Discovery(Client(old)).offer() == await Discovery(Client(new)).offer()
        assert new.asked == ["/api", "/apis"]
        assert "/apis/apps/v1" in old.asked

    tell(story)


def test_a_stale_version_is_one_that_did_not_answer() -> None:
    versions = [
        {"version": "v1", "freshness": "Current", "resources": [SHIPS, ONLY_FOR_ITS_SUBRESOURCE]},
        {"version": "v2", "freshness": "Stale", "resources": [SHIPS]},
    ]
    document = {"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "sea.io"}, "versions": versions}]}
    assert read_root(codec.encode(document)) == {
        "sea.io/v1": [OfferedResource("ships", "Ship", True)],
        "sea.io/v2": None,
    }


@pytest.mark.parametrize("document", [{"kind": "APIGroupDiscoveryList", "items": 7}, {"groups": "many"}])
def test_nonsense_is_no_offer(document: object) -> None:
    with pytest.raises(Undecodable, match="discovery"):
        read_root(codec.encode(document))


SHIPS = {"resource": "ships", "responseKind": {"kind": "Ship"}, "scope": "Namespaced"}
ONLY_FOR_ITS_SUBRESOURCE = {"resource": "boats", "scope": "Namespaced"}
