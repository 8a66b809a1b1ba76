"""`clusters/NAME/proxy` with a member that is a real kube-apiserver: what users do through it, and what attackers try.

Behind the member are a kubelet and an extension API server that say what reached them (`kubelet.py`). jane may use the
proxy, and in the member what a ClusterRole gives her.
"""

import asyncio
import http.client
import json
import os
import ssl
import subprocess
import sys
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import aiohttp
import pytest

from kubeapi.loop.randomness import Randomness
from leeward.app.local.ports import pick_port
from tests.e2e.kubelet import ELSEWHERE, GROUP, POD, PORT, Kubelet, kubelet_on_a_port
from tests.e2e.servers import KubeServer
from tests.e2e.versions import dialect_of
from tests.kubectl import run_command
from tests.processes.fleet import Fleet, running_fleet

BEHIND = "/apis/cluster.karmada.io/v1alpha1/clusters/real/proxy"
THINGS = f"{BEHIND}/apis/{GROUP}/v1/things"
JANE = "system:serviceaccount:default:jane"
ANSWER_SECONDS = 60
TLS_ENDS_SECONDS = 0.25
"""aiohttp ends TLS after its session, and has nothing to wait for (its documents give this time)."""
Talk = Callable[[aiohttp.ClientWebSocketResponse], Awaitable[None]]


@dataclass
class Proxied:
    """A control plane with one real member. `kubelet` is what is behind that."""

    fleet: Fleet
    member: KubeServer
    kubelet: Kubelet
    server: str
    authority: Path
    token: str

    @property
    def way(self) -> tuple[str, ...]:
        """The arguments by which jane's kubectl goes to the member."""
        trusting = "--certificate-authority", str(self.authority)
        return "--kubeconfig", os.devnull, "--server", self.server + BEHIND, "--token", self.token, *trusting

    def kubectl(self, *arguments: str, fails: bool = False, stdin: str = "") -> str:
        return run_command(["kubectl", *self.way, *arguments], fails, stdin)

    def ask(self, target: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Code, headers by lower name, and body; `_` in the name of a header is a dash."""
        where = self.server.removeprefix("https://")
        connection = http.client.HTTPSConnection(where, timeout=ANSWER_SECONDS, context=self.trust())
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("GET", target, headers={"Authorization": f"Bearer {self.token}", **named})
        answer = connection.getresponse()
        told = {name.lower(): value for name, value in answer.getheaders()}
        body = b"" if answer.status == 101 else answer.read()
        connection.close()
        return answer.status, told, body

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.authority)

    def on_member(self, *arguments: str, stdin: str = "") -> str:
        return run_command(["kubectl", "--kubeconfig", str(self.member.kubeconfig), *arguments], stdin=stdin)


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Generator[Proxied]:
    directory = tmp_path_factory.mktemp("proxied")
    member = KubeServer("real", directory / "real", Path(os.environ["KUBEBUILDER_ASSETS"]), workloads=False)
    member.start()
    try:
        member.wait_ready()
        control_plane = running_fleet(directory / "fleet", "--member", "local")
        with kubelet_on_a_port(directory) as (kubelet, port), control_plane as fleet:
            yield joined(fleet, member, kubelet, port)
    finally:
        member.stop()


def joined(fleet: Fleet, member: KubeServer, kubelet: Kubelet, port: int) -> Proxied:
    """jane may use the proxy of the member, and in the member everything that is tried here."""
    fleet.kubectl("create", "serviceaccount", "jane")
    fleet.kubectl("create", "clusterrole", "proxied", "--verb=*", "--resource=clusters.cluster.karmada.io/proxy")
    fleet.kubectl("create", "clusterrolebinding", "jane", "--clusterrole=proxied", "--serviceaccount=default:jane")
    options = ("--kubeconfig", str(fleet.kubeconfig), "--cluster-kubeconfig", str(member.kubeconfig))
    run_command([sys.executable, "-m", "leeward.cli", "join", "real", *options])
    token = fleet.kubectl("create", "token", "jane").strip()
    authority = fleet.data_dir / "pki" / "ca.crt"
    server = fleet.kubectl("config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")
    proxied = Proxied(fleet, member, kubelet, server, authority, token)
    proxied.on_member(
        "create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": behind(port)})
    )
    for status in (("pod/web", {"phase": "Running"}), ("node/node", node_status(port))):
        patch = json.dumps({"status": status[1]})
        proxied.on_member("patch", status[0], "--subresource=status", "--type=merge", "-p", patch)
    fleet.eventually(lambda: proxied.ask(f"{BEHIND}/apis/{GROUP}/v1/things")[0] == 200, "jane may go there")
    return proxied


def behind(port: int) -> list[dict[str, Any]]:
    """Objects that the member has: a Pod on a node, an extension API behind a Service, and jane's rights."""
    service = {"namespace": "default", "name": "odd", "port": port}
    api = {"group": GROUP, "version": "v1", "service": service, "insecureSkipTLSVerify": True}
    rules = [
        {"apiGroups": ["", GROUP], "resources": ["*"], "verbs": ["*"]},
    ]
    containers = [{**container, "image": "web"} for container in POD["spec"]["containers"]]
    spec = {"nodeName": "node", "automountServiceAccountToken": False, "containers": containers}
    rbac = "rbac.authorization.k8s.io"
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}},
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"}, "spec": spec},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "odd", "namespace": "default"},
            "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]},
        },
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"v1.{GROUP}"},
            "spec": {**api, "groupPriorityMinimum": 2000, "versionPriority": 10},
        },
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": "jane"}, "rules": rules},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "jane"},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "jane"},
            "subjects": [{"apiGroup": rbac, "kind": "User", "name": JANE}],
        },
    ]


def node_status(port: int) -> dict[str, Any]:
    endpoints = {"kubeletEndpoint": {"Port": port}}
    return {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}], "daemonEndpoints": endpoints}


@pytest.mark.parametrize("websockets", ["true", "false"])
def test_kubectl_runs_commands_in_a_container(
    proxied: Proxied, monkeypatch: pytest.MonkeyPatch, websockets: str
) -> None:
    """A kubelet of before 1.30 knows no `v5`: today's kubectl asks again, over SPDY, as older ones do at once."""
    monkeypatch.setenv("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", websockets)
    assert proxied.kubectl("exec", "web", "--", "say", "a b", "ü&c#d%20e/f") == "say|a b|ü&c#d%20e/f\n"
    large = "typed by somebody\n" * 100_000
    assert proxied.kubectl("exec", "-i", "web", "--", "cat", stdin=large) == f"cat\n{large}"
    failed = proxied.kubectl("exec", "web", "--", "fails", fails=True)
    assert "it fails\n" in failed
    assert failed.endswith("command terminated with exit code 3\n")
    assert "typed" in proxied.kubectl("attach", "-i", "web", stdin="typed\n")
    assert proxied.kubectl("logs", "web") == "one line\n"


@pytest.mark.parametrize("websockets", ["true", "false"])
def test_kubectl_forwards_a_port(proxied: Proxied, monkeypatch: pytest.MonkeyPatch, websockets: str) -> None:
    monkeypatch.setenv("KUBECTL_PORT_FORWARD_WEBSOCKETS", websockets)
    port = pick_port(Randomness())
    command = ["kubectl", *proxied.way, "port-forward", "web", f"{port}:{PORT}", "--address", "127.0.0.1"]
    pipe = subprocess.PIPE
    forwarding = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)
    try:
        assert forwarding.stdout is not None
        assert forwarding.stdout.readline() == f"Forwarding from 127.0.0.1:{port} -> {PORT}\n"
        for _ in range(2):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS)
            connection.request("GET", "/")
            assert connection.getresponse().read() == b"Pod default/web, port 8080 (simulated)\n"
            connection.close()
    finally:
        forwarding.terminate()
        forwarding.communicate(timeout=30)


def converse(proxied: Proxied, path: str, talk: Talk, *protocols: str) -> None:
    """A client of WebSockets that is no kubectl."""

    async def play() -> None:
        headers = {"Authorization": f"Bearer {proxied.token}", "Origin": proxied.server}
        async with asyncio.timeout(ANSWER_SECONDS), aiohttp.ClientSession(headers=headers) as session:
            url = f"{proxied.server}{BEHIND}{path}"
            async with session.ws_connect(url, protocols=protocols, ssl=proxied.trust()) as socket:
                await talk(socket)
        await asyncio.sleep(TLS_ENDS_SECONDS)

    asyncio.run(play())


def test_a_client_of_websockets_runs_a_command(proxied: Proxied) -> None:
    async def talk(socket: aiohttp.ClientWebSocketResponse) -> None:
        assert socket.protocol == "v4.channel.k8s.io"
        said = [message.data async for message in socket if message.data[1:]]
        assert said[0] == b"\x01say|a b\n"
        assert json.loads(said[1][1:])["status"] == "Success"

    query = "command=say&command=a%20b&stdout=true&stderr=true"
    converse(proxied, f"/api/v1/namespaces/default/pods/web/exec?{query}", talk, "v4.channel.k8s.io")


def test_a_watch_tells_as_it_happens_over_http_and_over_websockets(proxied: Proxied) -> None:
    """Over a WebSocket, an API server tells its events as text."""
    watch = ["kubectl", *proxied.way, "get", "configmaps", "-w", "-o", "name", "--request-timeout=60s"]
    with subprocess.Popen(watch, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        for name in ("first", "second"):
            proxied.on_member("create", "configmap", name)
            assert next(line for line in watching.stdout if name in line) == f"configmap/{name}\n"
        watching.terminate()

    async def talk(socket: aiohttp.ClientWebSocketResponse) -> None:
        messages = [await socket.receive() for _ in range(2)]
        assert {message.type for message in messages} == {aiohttp.WSMsgType.TEXT}
        told = {(message.json()["type"], message.json()["object"]["metadata"]["name"]) for message in messages}
        assert told == {("ADDED", "first"), ("ADDED", "second")}

    converse(proxied, "/api/v1/namespaces/default/configmaps?watch=true", talk)


@pytest.mark.parametrize("upgrade", ["", "websocket", "SPDY/3.1"])
def test_a_redirect_is_a_502_that_leads_nowhere(proxied: Proxied, upgrade: str) -> None:
    asked = {"Connection": "Upgrade", "Upgrade": upgrade, **WEBSOCKET} if upgrade else {}
    code, headers, body = proxied.ask(f"{THINGS}/redirect", **asked)
    assert (code, "location" in headers, "set-cookie" in headers) == (502, False, False)
    assert ELSEWHERE.encode() not in body
    assert dialect_of(proxied.member.version).redirect.encode() in body


WEBSOCKET = {"Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec_WebSocket_Version": "13"}


@pytest.mark.parametrize(
    "named",
    ["Impersonate-User", "close, impersonate-user, Impersonate-Group", "Authorization", "Impersonate-Extra-Scopes"],
)
def test_no_header_of_the_connection_takes_the_users_name_away(proxied: Proxied, named: str) -> None:
    code, _, _ = proxied.ask(f"{THINGS}/who", Connection=named)
    heard = proxied.kubelet.last("/who").headers
    assert (code, heard["x-remote-user"]) == (200, JANE)
    assert "system:serviceaccounts" in heard["x-remote-group"]


def test_nothing_of_the_client_vouches_for_somebody_else(proxied: Proxied) -> None:
    claims = {
        "X_Remote_User": "system:admin",
        "X_Remote_Group": "system:masters",
        "Cookie": "session=janes",
        "Audit_ID": "forged",
        "X_Custom": "stays",
        "Connection": "X-Hop, keep-alive",
        "X_Hop": "goes",
    }
    code, _, _ = proxied.ask(f"{THINGS}/claims", **claims)
    heard = proxied.kubelet.last("/claims").headers
    assert (code, heard["x-remote-user"], heard["x-custom"]) == (200, JANE, "stays")
    assert "system:masters" not in heard["x-remote-group"]
    assert not {"cookie", "x-hop", "authorization"} & heard.keys()
    assert heard.get("audit-id") != "forged"
    code, _, _ = proxied.ask(f"{THINGS}/claims", Impersonate_User="system:admin")
    assert code == 403


@pytest.mark.parametrize("query", ["q=a%20b", "q=%23", "q=a%2Fb", "q=a+b", "q=%E4%BA%BA", "q=1&q=2", "q=a%3Db%26c"])
def test_a_query_arrives_as_it_would_without_the_proxy(proxied: Proxied, query: str) -> None:
    """A kube-apiserver of 1.20 writes a query anew before it passes it on: `%20` becomes `+`."""
    path = f"/apis/{GROUP}/v1/things/query?{query}"
    proxied.on_member("get", "--raw", path)
    straight = proxied.kubelet.last("/query").query_string
    assert proxied.ask(BEHIND + path)[0] == 200
    heard = proxied.kubelet.last("/query").query_string
    assert (heard, parse_qsl(heard)) == (straight, parse_qsl(query))
