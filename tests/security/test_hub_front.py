"""Identities that the front of a real kube-apiserver could give away: it may impersonate everybody there.

The attacker reaches `leeward cluster-proxy` over the network, with a token of their own, or with none. They say in
headers that they are somebody else, show a certificate of another authority, or ask for the proxy of a cluster that is
not theirs, or while the control plane does not say who they are.

They must not get: a request in anybody's name but their own, in the front's own, or into a member without the right.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

import pytest

from kubeapi.core import Secret
from kubeapi.errors import Unreachable
from kubeapi.transport import Request, Response
from kubeclient import Client
from kubeclient.forwarding import Conversation, Forwarded
from kubeserver.auth.authentication import Authenticator
from kubeserver.handler import ANONYMOUS, StreamResponse, User
from leeward.api.cluster import Cluster
from leeward.app.hub_front import BEARER, Certificates, HubFront

PROXIED = "/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy/version"
ROOT = User("root", ("system:masters", "system:authenticated"))
CLUSTER = {
    "metadata": {"name": "member1", "uid": "1"},
    "spec": {
        "syncMode": "Push",
        "apiEndpoint": "https://member1.example",
        "impersonatorSecretRef": {"namespace": "karmada-cluster", "name": "member1-impersonator"},
    },
}


@dataclass
class Hub:
    """The control plane: it knows one token, and lets one user to the proxy. `heard` is what was passed on to it."""

    lets: str = "jane"
    silent: bool = False
    heard: list[Request] = field(default_factory=list[Request])
    reviewed: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    in_member: list[Request] = field(default_factory=list[Request])

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        if self.silent:
            raise Unreachable("it does not answer")
        if request.path.endswith("/tokenreviews"):
            known = json.loads(request.body)["spec"]["token"] == "janes"
            user = {"username": "jane", "groups": ["dev", "system:authenticated"]}
            return answer({"status": {"authenticated": known, **({"user": user} if known else {})}}, 201)
        if request.path.endswith("/subjectaccessreviews"):
            spec = json.loads(request.body)["spec"]
            self.reviewed.append(spec)
            return answer({"status": {"allowed": spec["user"] == self.lets}}, 201)
        found = CLUSTER if request.path.endswith("/clusters/member1") else {"metadata": {}, "data": {"token": "dA=="}}
        return answer(found)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise NotImplementedError

    async def close(self) -> None:
        """Has nothing to close."""

    async def forward(self, request: Request) -> Forwarded | Conversation:
        self.heard.append(request)
        return Forwarded(200, {"content-type": "application/json"}, pieces())


@dataclass
class MemberOf:
    hub: Hub

    async def forward(self, request: Request) -> Forwarded | Conversation:
        self.hub.in_member.append(request)
        return Forwarded(200, {"content-type": "application/json"}, pieces())

    async def close(self) -> None:
        """Has nothing to close."""


async def pieces() -> AsyncGenerator[bytes, None]:
    yield b"{}"


def answer(body: object, code: int = 200) -> Response:
    return Response(code, json.dumps(body).encode(), {"content-type": "application/json"})


def ask(hub: Hub, path: str, user: User = ANONYMOUS, method: str = "GET", **headers: str) -> int:
    """Code of the front's answer; `_` in the name of a header is a dash."""

    def reach(cluster: Cluster, authority: Secret | None, impersonator: Secret) -> MemberOf:
        return MemberOf(hub)

    async def play() -> int:
        front = HubFront(Client(hub), hub.forward, reach)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        got = await front.handle(Request(method, path, {}, named), user)
        if isinstance(got, StreamResponse):
            async for _ in got.lines:
                pass
        await front.close()
        return got.code

    return asyncio.run(play())


def identity(request: Request) -> tuple[str | None, str | None]:
    return request.headers.get("impersonate-user"), request.headers.get("impersonate-group")


def test_who_has_a_token_goes_on_as_its_user_and_no_credential_goes_along() -> None:
    hub = Hub()
    assert ask(hub, "/api/v1/pods", BEARER, authorization="Bearer janes", x_remote_user="root", cookie="a=b") == 200
    (heard,) = hub.heard
    assert identity(heard) == ("jane", "dev")
    assert not {"authorization", "cookie", "x-remote-user"} & heard.headers.keys()


@pytest.mark.parametrize("path", ["/api/v1/secrets", PROXIED, "/apis/cluster.karmada.io/v1alpha1/clusters/*/proxy/api"])
@pytest.mark.parametrize(("user", "token"), [(ANONYMOUS, ""), (BEARER, "Bearer nobodys"), (BEARER, "Bearer ")])
def test_nobody_is_let_through(path: str, user: User, token: str) -> None:
    hub = Hub()
    assert ask(hub, path, user, authorization=token) == 401
    assert (hub.heard, hub.in_member) == ([], [])


def test_only_who_may_use_the_proxy_of_a_cluster_gets_there_and_as_themselves() -> None:
    hub = Hub(lets="jane")
    assert ask(hub, PROXIED, ROOT) == 403
    assert hub.in_member == []
    assert ask(hub, PROXIED, BEARER, "DELETE", authorization="Bearer janes") == 200
    (heard,) = hub.in_member
    assert (identity(heard), heard.path, hub.heard) == (("jane", "dev"), "/version", [])
    expected = {"group": "cluster.karmada.io", "resource": "clusters", "subresource": "proxy", "verb": "delete"}
    assert hub.reviewed[-1]["resourceAttributes"] == {**expected, "name": "member1", "version": "v1alpha1"}
    assert hub.reviewed[-1]["groups"] == ["dev", "system:authenticated"]


@pytest.mark.parametrize("path", ["/api/v1/secrets", PROXIED])
@pytest.mark.parametrize("header", ["impersonate_user", "impersonate_group", "impersonate_extra_x", "impersonate_uid"])
def test_nobody_says_in_a_header_that_they_are_somebody_else(path: str, header: str) -> None:
    hub = Hub(lets="root")
    assert ask(hub, path, ROOT, **{header: "admin"}) == 403
    assert (hub.heard, hub.in_member) == ([], [])


def test_nobody_gets_anywhere_while_the_control_plane_does_not_say_who_they_are() -> None:
    hub = Hub(silent=True)
    assert ask(hub, "/api/v1/secrets", BEARER, authorization="Bearer janes") == 503
    assert ask(hub, PROXIED, ROOT) == 503
    assert (hub.heard, hub.in_member) == ([], [])


def test_a_certificate_that_names_the_placeholder_of_tokens_is_an_ordinary_user() -> None:
    certificate = {"subject": ((("commonName", BEARER.name),),)}
    known = Certificates().authenticate(Request("GET", "/", {}, {}), certificate)
    assert known == Authenticator().authenticate(Request("GET", "/", {}, {}), certificate) != BEARER


def test_probes_are_answered_and_tell_nothing() -> None:
    hub = Hub(silent=True)
    assert [ask(hub, path) for path in ("/healthz", "/livez", "/readyz")] == [200] * 3
    assert hub.heard == []
