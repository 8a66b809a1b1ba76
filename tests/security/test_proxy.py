"""Secrets and rights that the cluster proxy could give away.

The attacker has a member cluster (its API server answers whatever it likes), or the right `clusters/proxy` on one, or
the right to write Clusters. It answers with redirects, cookies and policies for origins, names headers in
`Connection`, puts line ends into names, and points Clusters to the control plane or to a metadata service.

It must not get: a credential of the control plane or of its users, a request in the impersonator's own name or in
anybody's but the user's, a say in what a browser does with the control plane, a request to an address of its choice.
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from kubeapi.codec import from_wire
from kubeapi.core import Secret
from kubeapi.errors import NoCredential
from kubeapi.field import Node
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.meta import Manifest
from kubeapi.transport import Request
from kubeclient import Client
from kubeclient.connection import Connection
from kubeclient.forwarding import Forwarder
from kubeserver.auth.authentication import Authenticator
from kubeserver.handler import ANONYMOUS, User
from kubeserver.handlers.connecting import PROXY
from kubeserver.http.front import HttpFront
from leeward.api.cluster import Cluster
from leeward.api.names import ALLOW_HTTP_ANNOTATION
from leeward.api.resource import CLUSTERS
from leeward.api.rules.member_addresses import AddressRules, address_problems, parse_networks, rules_of_control_plane
from leeward.api.schema import custom_resource_definitions
from leeward.app.connect import address_rules, connect, reach
from leeward.manager.admission import KarmadaAdmission
from leeward.manager.cluster_proxy import ClusterProxy
from leeward.manager.timing import Timing
from leeward.webhook.reviews import judge
from tests.kubeserver.api_world import Answer, ApiWorld, api_world

CLUSTER = "/apis/cluster.karmada.io/v1alpha1/clusters"
BEHIND = f"{CLUSTER}/member1/proxy"
JANE = User("jane", ("system:masters", "dev", "system:authenticated"))
OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"


@dataclass
class HostileMember:
    """A server of bytes: it keeps the head of each request, and answers with `answers` in turn, the last for good."""

    answers: list[bytes] = field(default_factory=lambda: [OK])
    heads: list[str] = field(default_factory=list[str])
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"))
            writer.write(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])
            await writer.drain()
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    def seen(self, name: str) -> list[str]:
        """The values of a header in the latest request."""
        pairs = (line.partition(": ") for line in self.heads[-1].split("\r\n")[1:])
        return [value for key, _, value in pairs if key.lower() == name]

    @property
    def target(self) -> str:
        return self.heads[-1].split(" ")[1]


@dataclass
class Plane:
    """A control plane over HTTP on this machine, with the member joined. `user` is who asks."""

    world: ApiWorld
    member: HostileMember
    port: int
    user: list[User]

    async def ask(self, target: str, *headers: str, method: str = "GET") -> tuple[int, dict[str, str], str]:
        """Code, headers by lower name, and body."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        lines = [f"{method} {target} HTTP/1.1", "Host: plane", *headers]
        if not any(line.lower().startswith("connection:") for line in headers):
            lines.append("Connection: close")
        writer.write("\r\n".join([*lines, "", ""]).encode())
        async with asyncio.timeout(60):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            body = b"" if " 101 " in head else await reader.read(64 * 1024)
        writer.close()
        first, *rest = head.split("\r\n")
        pairs = (line.partition(": ") for line in rest if line)
        return int(first.split(" ")[1]), {key.lower(): value for key, _, value in pairs}, body.decode()


def attack(story: Callable[[Plane], Awaitable[None]]) -> None:
    async def play() -> None:
        async with AsyncExitStack() as stack:
            world = await stack.enter_async_context(api_world(crds=custom_resource_definitions()))
            member = HostileMember()
            server = await asyncio.start_server(member.serve, "127.0.0.1", 0)
            stack.push_async_callback(server.wait_closed)
            stack.callback(server.close)
            member.port = server.sockets[0].getsockname()[1]
            proxy = ClusterProxy(Client(world.transport), reach, world.server)
            stack.push_async_callback(proxy.close)
            world.server.connect(CLUSTERS.group, CLUSTERS.plural, PROXY, proxy.connect)
            await _join(world, f"http://127.0.0.1:{member.port}")
            user = [JANE]
            front = HttpFront(world.server, _Anybody(user), None)
            stack.push_async_callback(front.stop)
            await story(Plane(world, member, await front.start(), user))

    asyncio.run(play())


class _Anybody(Authenticator):
    def __init__(self, user: list[User]) -> None:
        super().__init__()
        self._user = user

    def authenticate(self, request: Any, certificate: Any) -> User:
        return self._user[0]


async def _join(world: ApiWorld, endpoint: str) -> None:
    secret = {"metadata": {"name": "speaker"}, "stringData": {"token": "the-impersonators"}}
    await world.create("/api/v1/namespaces/default/secrets", secret)
    metadata = {"name": "member1", "annotations": {ALLOW_HTTP_ANNOTATION: "true"}}
    spec = {
        "syncMode": "Push",
        "apiEndpoint": endpoint,
        "impersonatorSecretRef": {"namespace": "default", "name": "speaker"},
    }
    body = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": metadata, "spec": spec}
    assert (await world.create(CLUSTER, body)).code == 201


def answering(line: str, *headers: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {line}", *headers, "Connection: close", "Content-Length: 0", "", ""]).encode()


@pytest.mark.parametrize("code", [300, 301, 302, 303, 304, 305, 307, 308, 399])
def test_a_redirect_of_a_member_is_a_502_that_leads_nowhere(code: int) -> None:
    async def story(plane: Plane) -> None:
        plane.member.answers = [answering(f"{code} Go", "Location: https://evil.example/collect")]
        got, headers, body = await plane.ask(f"{BEHIND}/api/v1/nodes")
        assert got == 502
        assert "location" not in headers
        assert "evil.example" not in str(headers) + body
        assert "cluster member1 has answered with a redirect" in body

    attack(story)


def test_not_modified_is_the_answer_to_who_has_asked_for_it() -> None:
    async def story(plane: Plane) -> None:
        plane.member.answers = [answering("304 Not Modified", 'ETag: "a"', "Location: https://evil.example")]
        code, headers, _ = await plane.ask(f"{BEHIND}/openapi/v3", 'If-None-Match: "a"')
        assert (code, headers["etag"], "location" in headers) == (304, '"a"', False)

    attack(story)


def test_a_redirect_of_an_upgrade_is_a_502_too() -> None:
    async def story(plane: Plane) -> None:
        plane.member.answers = [answering("302 Go", "Location: https://evil.example")]
        for upgrade in ("SPDY/3.1", "websocket"):
            asked = ("Connection: Upgrade", f"Upgrade: {upgrade}", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: a")
            code, headers, _ = await plane.ask(f"{BEHIND}/api/v1/namespaces/a/pods/b/exec", *asked)
            assert (code, "location" in headers) == (502, False)

    attack(story)


def test_nothing_of_an_answer_speaks_for_the_control_plane() -> None:
    hostile = {
        "Set-Cookie": "session=evil",
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Allow-Credentials": "true",
        "Strict-Transport-Security": "max-age=0",
        "Audit-Id": "forged",
        "WWW-Authenticate": "Basic",
        "Alt-Svc": 'h2="evil.example:443"',
        "Clear-Site-Data": '"*"',
        "Refresh": "0; url=https://evil.example",
        "Location": "https://evil.example",
        "Content-Security-Policy": "default-src *",
    }
    kept = {"Content-Type": "text/html", "Warning": '299 - "old"', "ETag": '"a"', "X-App": "1"}

    async def story(plane: Plane) -> None:
        plane.member.answers = [answering("200 OK", *(f"{k}: {v}" for k, v in {**hostile, **kept}.items()))]
        code, headers, _ = await plane.ask(f"{BEHIND}/api/v1/namespaces/a/services/b/proxy/")
        assert code == 200
        assert {k.lower() for k in hostile} & headers.keys() == {"content-security-policy"}
        assert headers["content-security-policy"].startswith("sandbox ")
        assert {k: headers.get(k.lower()) for k in kept} == kept

    attack(story)


@pytest.mark.parametrize(
    "named",
    ["Impersonate-User", "impersonate-user, Impersonate-Group", "close, IMPERSONATE-GROUP", "Authorization"],
)
@pytest.mark.parametrize("upgrade", ["", "SPDY/3.1"])
def test_no_header_of_the_connection_takes_the_users_name_away(named: str, upgrade: str) -> None:
    async def story(plane: Plane) -> None:
        also = (f"Upgrade: {upgrade}",) if upgrade else ()
        connection = f"Connection: {named}, Upgrade" if upgrade else f"Connection: {named}"
        await plane.ask(f"{BEHIND}/api", connection, *also)
        assert plane.member.heads
        assert plane.member.seen("impersonate-user") == ["jane"]
        assert plane.member.seen("impersonate-group") == ["system:masters", "dev"]
        assert plane.member.seen("authorization") == ["Bearer the-impersonators"]

    attack(story)


def test_a_client_says_neither_who_it_is_nor_what_it_is_known_by() -> None:
    token = base64.urlsafe_b64encode(b"the-users").decode().rstrip("=")
    claimed = (
        "Authorization: Bearer the-users",
        "Cookie: session=the-users",
        f"Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.{token}, v5.channel.k8s.io",
        "X-Remote-User: root",
        "X-Remote-Group: system:masters",
        "Audit-Id: forged",
    )

    async def story(plane: Plane) -> None:
        for upgrade in (
            (),
            ("Connection: Upgrade", "Upgrade: SPDY/3.1"),
            ("Connection: Upgrade", "Upgrade: websocket"),
        ):
            plane.member.heads.clear()
            await plane.ask(f"{BEHIND}/api", *claimed, *upgrade)
            told = "".join(plane.member.heads)
            assert told
            for secret in ("the-users", token, "x-remote-", "forged", "ookie"):
                assert secret not in told.replace("X-Remote", "x-remote")

    attack(story)


def test_whom_a_user_may_not_impersonate_no_member_hears_of() -> None:
    async def story(plane: Plane) -> None:
        plane.user[0] = User("mallory", ("system:authenticated",))
        for claim in ("Impersonate-User: admin", "Impersonate-Group: system:masters", "Impersonate-Extra-a: b"):
            code, _, _ = await plane.ask(f"{BEHIND}/api", claim)
            assert code in (400, 403)
        assert plane.member.heads == []
        plane.user[0] = JANE
        await plane.ask(f"{BEHIND}/api", "Impersonate-User: bob", "Impersonate-Group: system:masters")
        assert plane.member.seen("impersonate-user") == ["bob"]
        assert plane.member.seen("impersonate-group") == ["system:masters"]

    attack(story)


async def _allow_anybody(world: ApiWorld) -> None:
    api = "rbac.authorization.k8s.io"
    rule = {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/proxy"], "verbs": ["*"]}
    role = {"apiVersion": f"{api}/v1", "kind": "ClusterRole", "metadata": {"name": "open"}, "rules": [rule]}
    await world.create(f"/apis/{api}/v1/clusterroles", role)
    binding: Manifest = {
        "apiVersion": f"{api}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "open"},
        "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": "open"},
        "subjects": [{"apiGroup": api, "kind": "Group", "name": "system:unauthenticated"}],
    }
    assert (await world.create(f"/apis/{api}/v1/clusterrolebindings", binding)).code == 201


def test_nobody_goes_on_whom_the_control_plane_has_not_authenticated() -> None:
    async def story(plane: Plane) -> None:
        await _allow_anybody(plane.world)
        plane.user[0] = ANONYMOUS
        code, _, body = await plane.ask(f"{BEHIND}/api")
        assert (code, "has not authenticated" in body, plane.member.heads) == (403, True, [])

    attack(story)


@pytest.mark.parametrize(
    "user",
    [
        User("jane\r\nImpersonate-Group: system:masters", ("dev",)),
        User("jane", ("dev\nsystem:masters",)),
        User("jane ", ("dev",)),
        User("jane", ("dev", "")),
    ],
)
@pytest.mark.parametrize("upgrade", [(), ("Connection: Upgrade", "Upgrade: SPDY/3.1")])
def test_a_name_that_no_header_can_hold_goes_nowhere(user: User, upgrade: tuple[str, ...]) -> None:
    async def story(plane: Plane) -> None:
        plane.user[0] = User(user.name, (*user.groups, "system:masters"))
        code, _, _ = await plane.ask(f"{BEHIND}/api", *upgrade)
        assert (code, plane.member.heads) == (403, [])

    attack(story)


QUERIES = (
    "labelSelector=a%3Db%2Cc%20in%20(d)&fieldSelector=metadata.name%3Dx",
    "command=sh&command=-c&command=echo%20a%23b%26c%3Bd+e%2Bf",
    "name=%E2%82%AC&path=a%2Fb&empty=&bare&%20=1&x=%25%32%30",
)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("upgrade", ["", "SPDY/3.1", "websocket"])
def test_a_query_arrives_as_it_was_sent(query: str, upgrade: str) -> None:
    async def story(plane: Plane) -> None:
        also = ("Connection: Upgrade", f"Upgrade: {upgrade}") if upgrade else ()
        await plane.ask(f"{BEHIND}/api/v1/pods?{query}", *also)
        assert plane.member.target == f"/api/v1/pods?{query}"

    attack(story)


def test_a_query_for_all_clusters_arrives_without_its_pages() -> None:
    async def story(plane: Plane) -> None:
        await plane.ask(f"{CLUSTER}/*/proxy/api/v1/pods?limit=5&labelSelector=a%20in%20(b)&continue=x&q=1%232")
        assert plane.member.target == "/api/v1/pods?labelSelector=a%20in%20(b)&q=1%232"

    attack(story)


def test_no_path_leads_upwards_out_of_the_endpoint() -> None:
    async def story(plane: Plane) -> None:
        for path in ("/../../other", "/a/%2e%2e/b", "/a%2F..%2Fb", "/./a"):
            code, _, _ = await plane.ask(f"{BEHIND}{path}")
            assert code == 400
        assert plane.member.heads == []

    attack(story)


@pytest.mark.parametrize(
    "switched",
    [
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: evil/1\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nX-A: b\nSet-Cookie: session=evil\r\n\r\n",
    ],
)
def test_a_member_switches_to_nothing_but_what_was_asked_for(switched: bytes) -> None:
    async def story(plane: Plane) -> None:
        plane.member.answers = [switched]
        code, headers, _ = await plane.ask(f"{BEHIND}/exec", "Connection: Upgrade", "Upgrade: SPDY/3.1", method="POST")
        assert (code, "set-cookie" in headers) == (503, False)

    attack(story)


def test_an_upgrade_brings_no_cookie_either() -> None:
    async def story(plane: Plane) -> None:
        switched = ("HTTP/1.1 101 Go", "Upgrade: SPDY/3.1", "Set-Cookie: a=b", "X-Stream-Protocol-Version: v4", "", "")
        plane.member.answers = ["\r\n".join(switched).encode()]
        code, headers, _ = await plane.ask(f"{BEHIND}/exec", "Connection: Upgrade", "Upgrade: SPDY/3.1", method="POST")
        assert (code, headers["x-stream-protocol-version"], "set-cookie" in headers) == (101, "v4", False)

    attack(story)


def test_a_wish_that_is_taken_back_ends_the_way_in_the_clear() -> None:
    async def story(plane: Plane) -> None:
        assert (await plane.ask(f"{BEHIND}/api"))[0] == 200
        wish = {"metadata": {"annotations": {ALLOW_HTTP_ANNOTATION: None}}}
        assert (await plane.world.patch(f"{CLUSTER}/member1", wish)).code == 200
        code, _, body = await plane.ask(f"{BEHIND}/api")
        assert (code, "use https://" in body, len(plane.member.heads)) == (503, True, 1)
        wish = {"metadata": {"annotations": {ALLOW_HTTP_ANNOTATION: "true"}}}
        assert (await plane.world.patch(f"{CLUSTER}/member1", wish)).code == 200
        assert (await plane.ask(f"{BEHIND}/api"))[0] == 200

    attack(story)


FORBIDDEN = (
    "https://169.254.169.254",
    "https://169.254.10.10:6443",
    "https://[fe80::1]:6443",
    "https://[::ffff:169.254.169.254]",
    "https://[64:ff9b::a9fe:a9fe]",
    "https://2852039166",
    "https://0xa9fea9fe",
    "https://169.254.43518",
    "https://100.100.100.200",
    "https://168.63.129.16",
    "https://[fd00:ec2::254]",
    "https://metadata.google.internal",
    "https://0.0.0.0:6443",
    "https://[::]:6443",
    "https://224.0.0.1",
    "https://127.0.0.1:7443",
    "https://localhost:7443",
    "https://[::1]:7443",
    "https://127.8.9.1:7443",
    "https://[::ffff:127.0.0.1]:7443",
    "http://member.example",
    "HTTP://member.example",
)
PLANE = rules_of_control_plane("https://127.0.0.1:7443")


def _cluster(endpoint: str, proxy: str = "", **annotations: str) -> Manifest:
    spec = {"syncMode": "Push", "apiEndpoint": endpoint, "secretRef": {"namespace": "a", "name": "b"}}
    spec |= {"proxyURL": proxy} if proxy else {}
    metadata = {"name": "member1", "annotations": annotations}
    return {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": metadata, "spec": spec}


async def _create(body: Manifest, rules: AddressRules = PLANE) -> Answer:
    def admission(store: Any) -> tuple[KarmadaAdmission]:
        return (KarmadaAdmission(VirtualClock(), Randomness(1), Timing.karmada(), store, addresses=rules),)

    async with api_world(crds=custom_resource_definitions(), admission_over=admission) as world:
        return await world.create(CLUSTER, body)


@pytest.mark.parametrize("endpoint", FORBIDDEN)
def test_a_cluster_leads_to_no_forbidden_address(endpoint: str) -> None:
    refused = asyncio.run(_create(_cluster(endpoint)))
    assert (refused.code, "spec.apiEndpoint" in refused.body["message"]) == (422, True)
    secret = from_wire({"metadata": {"name": "b", "namespace": "a"}, "data": {"token": "eA=="}}, Secret)

    async def use() -> None:
        client = connect(from_wire(_cluster(endpoint), Cluster), secret, addresses=PLANE)
        with pytest.raises(NoCredential, match=r"spec\.apiEndpoint"):
            await client.raw("GET", "/readyz")

    asyncio.run(use())


@pytest.mark.parametrize("proxy", ["http://169.254.169.254:80", "http://127.0.0.1:7443", "https://[fe80::1]"])
def test_no_proxy_of_a_cluster_is_at_a_forbidden_address(proxy: str) -> None:
    refused = asyncio.run(_create(_cluster("https://member.example", proxy)))
    assert (refused.code, "spec.proxyURL" in refused.body["message"]) == (422, True)


def test_a_socks_proxy_is_refused_where_it_is_written_and_where_it_would_be_used() -> None:
    """Karmada takes one. Here nothing would go through it, and the request must not go another way."""
    said = "socks5 proxies are not supported: give an HTTP proxy"
    socks = _cluster("https://member.example", "socks5://proxy.example:1080")
    refused = asyncio.run(_create(socks))
    assert (refused.code, "spec.proxyURL" in refused.body["message"], said in refused.body["message"]) == (
        422,
        True,
        True,
    )
    response = judge({"operation": "CREATE", "resource": {"resource": "clusters"}, "object": socks})
    assert said in response["status"]["message"]
    tainted = {**socks, "spec": {**socks["spec"], "taints": [{"key": "a", "effect": "NoSchedule"}]}}
    change = {"operation": "UPDATE", "resource": {"resource": "clusters"}, "object": tainted, "oldObject": socks}
    assert judge(change)["allowed"], "one that is there can still be changed"
    secret = from_wire({"metadata": {"name": "b", "namespace": "a"}, "data": {"token": "eA=="}}, Secret)
    with pytest.raises(ValueError, match=r"spec\.proxyURL of the Cluster: socks5"):
        reach(from_wire(socks, Cluster), None, secret)

    async def use() -> None:
        with pytest.raises(NoCredential, match=r"spec\.proxyURL of the Cluster: socks5"):
            await connect(from_wire(socks, Cluster), secret).raw("GET", "/readyz")

    asyncio.run(use())


def test_what_is_wished_for_or_allowed_is_let_through() -> None:
    wished = _cluster("http://10.0.0.8:8080", **{ALLOW_HTTP_ANNOTATION: "true"})
    assert asyncio.run(_create(wished)).code == 201
    assert asyncio.run(_create(_cluster("https://127.0.0.1:6443"))).code == 201
    assert asyncio.run(_create(_cluster("https://10.0.0.8:7443", "http://proxy.example:3128"))).code == 201
    allowed = AddressRules(parse_networks("169.254.0.0/16"), PLANE.own)
    assert asyncio.run(_create(_cluster("https://169.254.10.10:6443"), allowed)).code == 201
    assert (
        asyncio.run(
            _create(_cluster("https://127.0.0.1:7443"), AddressRules(parse_networks("0.0.0.0/0"), PLANE.own))
        ).code
        == 422
    )


@pytest.mark.parametrize("endpoint", ["https://169.254.169.254", "http://member.example", "https://127.0.0.1:7443"])
def test_the_webhook_of_a_real_kube_apiserver_refuses_likewise(endpoint: str) -> None:
    request = {"operation": "CREATE", "resource": {"resource": "clusters"}, "object": _cluster(endpoint)}
    refused = judge(request, addresses=PLANE)
    assert (refused["allowed"], "spec.apiEndpoint" in refused["status"]["message"]) == (False, True)
    assert judge(request | {"oldObject": _cluster(endpoint)}, addresses=PLANE)["allowed"]
    assert judge(request | {"object": _cluster("https://member.example")}, addresses=PLANE)["allowed"]


def test_a_cluster_that_is_there_can_be_changed_in_all_else() -> None:
    old = Node("", _cluster("http://169.254.1.1"))
    tainted = _cluster("http://169.254.1.1")
    tainted["spec"]["taints"] = [{"key": "a", "effect": "NoExecute"}]
    assert list(address_problems(Node("", tainted), old, PLANE)) == []
    moved = Node("", _cluster("http://169.254.1.2"))
    assert len(list(address_problems(moved, old, PLANE))) == 2


def test_where_the_control_plane_is_on_no_loopback_members_are_on_none() -> None:
    async def play() -> None:
        rules = await address_rules("https://192.0.2.10:5443")
        assert "loopback" in rules.url_fault("https://127.0.0.1:10357")
        assert "itself" in rules.url_fault("https://192.0.2.10:5443")
        assert rules.url_fault("https://192.0.2.10:6443") == ""
        local = await address_rules("https://localhost:5443")
        assert local.url_fault("https://127.0.0.1:6443") == ""
        assert "itself" in local.url_fault("https://127.0.0.1:5443")

    asyncio.run(play())


def test_a_name_that_resolves_to_a_forbidden_address_is_not_asked() -> None:
    """`localhost.` is a name like any other to the resolver; here it is where the control plane is not."""

    async def play() -> None:
        member = HostileMember()
        server = await asyncio.start_server(member.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        rules = AddressRules(loopback=False)
        forwarder = Forwarder(Connection(f"http://localhost:{port}", token="ours", addresses=rules))
        for headers in ({}, {"upgrade": "SPDY/3.1"}, {"upgrade": "websocket"}):
            with pytest.raises(NoCredential, match="loopback"):
                await forwarder.forward(Request("GET", "/api", headers=headers))
        await forwarder.close()
        assert member.heads == []
        server.close()
        await server.wait_closed()

    asyncio.run(play())
