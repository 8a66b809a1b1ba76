"""Paths that lead out of the server."""

import pytest

from kubeapi.transport import Request, Response
from kubeserver.handler import ANONYMOUS
from kubeserver.handlers.connecting import Connect, ConnectRequest, Connects, key_of, leads_out

CLUSTER = "/apis/cluster.karmada.io/v1alpha1/clusters/member1"


async def nowhere(asked: ConnectRequest) -> Response:
    raise AssertionError(asked)


KNOWN: dict[str, Connect] = {key_of("cluster.karmada.io", "clusters", "proxy"): nowhere}


@pytest.mark.parametrize(
    ("path", "rest"),
    [("/proxy", "/"), ("/proxy/", "/"), ("/proxy/version", "/version"), ("/proxy/a/b%2Fc//d", "/a/b%2Fc//d")],
)
def test_what_follows_the_subresource_goes_on_as_it_is(path: str, rest: str) -> None:
    found = Connects(KNOWN).find(Request("GET", CLUSTER + path), ANONYMOUS)
    assert found is not None
    asked = found[1]
    assert (asked.resource, asked.subresource) == (("cluster.karmada.io", "v1alpha1", "clusters"), "proxy")
    assert (asked.name, asked.path) == ("member1", rest)
    assert leads_out(CLUSTER + path)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        CLUSTER,
        f"{CLUSTER}/status",
        "/apis/cluster.karmada.io/v1alpha1/clusters//proxy/x",
        "/apis/cluster.karmada.io//clusters/member1/proxy/status",
        "/apis/apps/v1/deployments/a/proxy",
        "/api/v1/namespaces/default/pods/a/proxy",
    ],
)
def test_everything_else_stays(path: str) -> None:
    assert Connects(KNOWN).find(Request("GET", path), ANONYMOUS) is None
