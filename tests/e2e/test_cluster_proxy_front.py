"""`leeward cluster-proxy` beside a real kube-apiserver, which cannot serve `clusters/NAME/proxy` by itself.

It runs with the rights of its account alone, in front of a control plane without controllers that one real member has
joined. Users come with client certificates, as Karmada's administrators do, and with tokens of service accounts.
"""

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from kubeapi.meta import Manifest
from kubeserver.certificates import Authority
from tests.e2e.program import Program
from tests.e2e.servers import KubeServer
from tests.kubectl import run_command
from tests.ports import free_port

ACCOUNT, SYSTEM = "leeward-cluster-proxy", "karmada-system"
PROXIED = "/apis/cluster.karmada.io/v1alpha1/clusters/{}/proxy"
WAIT_SECONDS = 120.0


@dataclass
class Front:
    """`through` is the administrator's kubeconfig as --print-kubeconfig prints it; `direct` leads past the front."""

    directory: Path
    control_plane: KubeServer
    member: KubeServer
    program: Program
    direct: Path
    through: Path

    def kubectl(self, *arguments: str, kubeconfig: Path | None = None, fails: bool = False, stdin: str = "") -> str:
        cache = ("--cache-dir", str(self.directory / "cache"))
        return run_command(
            ["kubectl", "--kubeconfig", str(kubeconfig or self.through), *cache, *arguments], fails, stdin
        )

    def raw(self, path: str, kubeconfig: Path | None = None, *, fails: bool = False) -> str:
        return self.kubectl("get", "--raw", path, kubeconfig=kubeconfig, fails=fails)

    def user(self, name: str, *, through: bool = True) -> Path:
        """The kubeconfig of a service account in the namespace `default`, made where there is none."""
        path = self.directory / f"{name}.kubeconfig"
        document = yaml.safe_load(self.direct.read_text())
        document["users"] = [{"name": "root", "user": {"token": token_of(self, name, "default")}}]
        path.write_text(yaml.safe_dump(document))
        return self.printed(path) if through else path

    def printed(self, kubeconfig: Path) -> Path:
        leads_here = kubeconfig.with_suffix(".through")
        command = [sys.executable, "-m", "leeward.cli", "cluster-proxy", "--print-kubeconfig"]
        leads_here.write_text(run_command([*command, "--kubeconfig", str(kubeconfig)]))
        return leads_here


def eventually(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not within {WAIT_SECONDS:g} s"
        time.sleep(0.2)


def token_of(front: Front, account: str, namespace: str) -> str:
    """A token that lives as long as its account, which the controller manager fills in."""
    direct, named = front.direct, ("-n", namespace)
    if not front.kubectl("get", "serviceaccount", account, *named, "--ignore-not-found", kubeconfig=direct):
        front.kubectl("create", "serviceaccount", account, *named, kubeconfig=direct)
    metadata: Manifest = {"name": f"{account}-token", "namespace": namespace}
    metadata["annotations"] = {"kubernetes.io/service-account.name": account}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/service-account-token"}
    front.kubectl("apply", "-f", "-", kubeconfig=direct, stdin=json.dumps(secret))

    def read() -> str:
        return front.kubectl(
            "get", "secret", f"{account}-token", *named, "-o", "jsonpath={.data.token}", kubeconfig=direct
        )

    eventually(lambda: bool(read()), f"{account} has a token")
    return base64.b64decode(read()).decode()


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Generator[Front]:
    directory = tmp_path_factory.mktemp("front")
    binaries = Path(os.environ["KUBEBUILDER_ASSETS"])
    servers = [KubeServer(name, directory / name, binaries, workloads=False) for name in ("hub", "real")]
    for server in servers:
        server.start()
    running: list[Program] = []
    try:
        for server in servers:
            server.wait_ready()
        yield begun(directory, servers, running)
    finally:
        for program in running:
            program.stop()
        for server in servers:
            server.stop()


def begun(directory: Path, servers: list[KubeServer], running: list[Program]) -> Front:
    """Leeward is installed, the member has joined, and the front serves."""
    hub, member = servers
    direct = directory / "root.kubeconfig"
    pair = Authority(directory / "hub" / "pki", datetime.now(UTC)).client("root", "root", ("system:masters",))
    document = yaml.safe_load(hub.kubeconfig.read_text())
    named = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
    document["users"] = [{"name": "root", "user": named}]
    document["contexts"][0]["context"]["user"] = "root"
    direct.write_text(yaml.safe_dump(document))
    for verb in (["init"], ["join", "real", "--cluster-kubeconfig", str(member.kubeconfig)]):
        run_command([sys.executable, "-m", "leeward.cli", *verb, "--kubeconfig", str(direct)])
    url = f"https://127.0.0.1:{free_port()}"
    front = Front(directory, hub, member, Program("front", [], directory / "front.log"), direct, direct)
    kubeconfig = directory / "front.kubeconfig"
    document["users"] = [{"name": "root", "user": {"token": token_of(front, ACCOUNT, SYSTEM)}}]
    kubeconfig.write_text(yaml.safe_dump(document))
    listening = ("--bind-address=127.0.0.1", f"--secure-port={url.rpartition(':')[2]}", f"--url={url}")
    command = [sys.executable, "-m", "leeward.cli", "cluster-proxy", "--kubeconfig", str(kubeconfig), *listening]
    front.program.command = command
    front.program.start()
    running.append(front.program)
    published = ("get", "configmap", ACCOUNT, "-n", SYSTEM, "--ignore-not-found", "-o", "name")
    eventually(lambda: bool(front.kubectl(*published, kubeconfig=direct)), "the front has told where it is")
    front.through = front.printed(direct)
    return front


def test_an_administrator_reaches_the_member_with_the_kubeconfig_that_is_printed(front: Front) -> None:
    assert "not found" in front.raw(PROXIED.format("real") + "/version", front.direct, fails=True)
    assert json.loads(front.raw(PROXIED.format("real") + "/version"))["major"] == "1"
    assert "configmap/aimed created" in front.kubectl("create", "configmap", "aimed", *to_member(front))
    own = ["kubectl", "--kubeconfig", str(front.member.kubeconfig)]
    assert "aimed" in run_command([*own, "get", "configmaps"])
    assert "aimed" not in front.kubectl("get", "configmaps"), "the control plane has none"


def to_member(front: Front) -> tuple[str, ...]:
    server = yaml.safe_load(front.through.read_text())["clusters"][0]["cluster"]["server"]
    return ("--server", server + PROXIED.format("real"))


def test_everything_else_is_the_control_planes_own_answer(front: Front) -> None:
    assert front.kubectl("get", "clusters", "-o", "name") == "cluster.cluster.karmada.io/real\n"
    front.kubectl("apply", "-f", "-", stdin=json.dumps(CONFIG))
    applied = front.kubectl("get", "configmap", "passed-on", "-o", "jsonpath={.data.key}", kubeconfig=front.direct)
    assert applied == "value"
    assert "not found" in front.kubectl("get", "configmap", "nobodys", fails=True)
    command = ["kubectl", "--kubeconfig", str(front.through), "get", "configmaps", "-w", "-o", "name"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        front.kubectl("create", "configmap", "seen", kubeconfig=front.direct)
        assert "configmap/seen\n" in iter(watching.stdout.readline, "")
        watching.terminate()


CONFIG: Manifest = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "passed-on", "namespace": "default"},
    "data": {"key": "value"},
}


def test_who_comes_is_let_through_as_themselves_and_where_they_have_the_right(front: Front) -> None:
    jane = front.user("jane")
    said = front.raw(PROXIED.format("real") + "/version", jane, fails=True)
    assert 'cannot get resource "clusters/proxy"' in said
    assert "forbidden" in front.kubectl("get", "secrets", "-A", kubeconfig=jane, fails=True)
    role = (
        "clusterrole",
        "proxied",
        "--verb=*",
        "--resource=clusters.cluster.karmada.io/proxy",
        "--resource-name=real",
    )
    front.kubectl("create", *role)
    front.kubectl("create", "clusterrolebinding", "jane", "--clusterrole=proxied", "--serviceaccount=default:jane")
    eventually(lambda: may_go(front, jane), "jane has the right")
    member = front.raw(PROXIED.format("real") + "/api/v1/namespaces", jane, fails=True)
    assert 'User "system:serviceaccount:default:jane" cannot list' in member, "what she may there, the member decides"
    other = front.raw(PROXIED.format("other") + "/version", jane, fails=True)
    assert 'cannot get resource "clusters/proxy"' in other


def may_go(front: Front, kubeconfig: Path) -> bool:
    ask = ["kubectl", "--kubeconfig", str(kubeconfig), "get", "--raw", PROXIED.format("real") + "/version"]
    return subprocess.run(ask, capture_output=True, check=False).returncode == 0


def test_nobody_else_is_let_in(front: Front) -> None:
    document = yaml.safe_load(front.through.read_text())
    stranger = Authority(front.directory / "strangers", datetime.now(UTC)).client("x", "root", ("system:masters",))
    credentials: list[Manifest] = [
        {},
        {"token": "nobodys"},
        {"client-certificate": str(stranger.certificate), "client-key": str(stranger.key)},
    ]
    for number, user in enumerate(credentials):
        path = front.directory / f"nobody-{number}.kubeconfig"
        path.write_text(yaml.safe_dump({**document, "users": [{"name": "root", "user": user}]}))
        for asked in (PROXIED.format("real") + "/version", "/api/v1/namespaces"):
            said = front.raw(asked, path, fails=True)
            assert "kube-system" not in said
            assert "gitVersion" not in said
    assert "nobody is impersonated here" in front.kubectl("get", "clusters", "--as=system:admin", fails=True)


def test_nothing_depends_on_it(front: Front) -> None:
    front.program.stop()
    assert (
        front.kubectl("get", "clusters", "-o", "name", kubeconfig=front.direct) == "cluster.cluster.karmada.io/real\n"
    )
    front.program.start()
    eventually(lambda: may_go(front, front.through), "it serves again, with the same certificate")
