"""A server that is frozen is named soon, and before anything is sent that would change something."""

import asyncio

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, Unreachable
from kubeclient.connection import Connection
from kubeclient.preflight import ANSWER_SECONDS, REMOTE_ANSWER_SECONDS, PreflightTransport, preflight_transport_of
from kubecluster.network import LinkedTransport, Place
from kubeserver.inprocess import ADMIN
from tests.kubeserver.api_world import api_world

CONFIG_MAPS: Resource[Manifest] = Resource.of_manifests("v1", "configmaps", "ConfigMap", True)


def test_a_frozen_server_is_named_and_asked_for_nothing_else() -> None:
    async def story() -> None:
        async with api_world() as world:
            place, asked = Place(), list[str]()
            place.put(world.server)
            place.witness = lambda request, _: asked.append(f"{request.method} {request.path}")
            client = Client(PreflightTransport(LinkedTransport(place, ADMIN), "https://here:6443", 2.0))
            place.link.hang()
            began = asyncio.get_running_loop().time()
            said = "https://here:6443 has not answered within 2 s, and nothing was changed: is it stopped"
            with pytest.raises(Unreachable, match=said):
                await client.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "default")
            assert asyncio.get_running_loop().time() - began == 2.0
            assert asked == []
            place.link.flow()
            await client.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "default")
            await client.get(CONFIG_MAPS, "a", "default")
            one, other = "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/configmaps/a"
            assert asked == ["GET /livez", f"POST {one}", f"GET {other}"], "it is greeted once"

    run_virtual(story())


def test_a_server_far_away_is_given_more_time() -> None:
    near, far = (
        preflight_transport_of(Connection(server=server)) for server in ("https://127.0.0.1:1", "https://example.com")
    )
    assert isinstance(near, PreflightTransport)
    assert isinstance(far, PreflightTransport)
    assert (near.answer_seconds, far.answer_seconds) == (ANSWER_SECONDS, REMOTE_ANSWER_SECONDS)
