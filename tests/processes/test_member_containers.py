"""The real kubectl looks into the containers of a local member: directly, and through the control plane's proxy."""

import http.client
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubeapi.loop.randomness import Randomness
from leeward.app.local.ports import pick_port
from tests.kubectl import CONTROL_PLANE
from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

pytestmark = [pytest.mark.processes, needs_kubectl]

WEB = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {motd: hello}
---
apiVersion: v1
kind: Pod
metadata: {name: web, annotations: {leeward.dev/simulated-cpu: 500m}}
spec:
  containers:
  - name: main
    image: nginx:1
    ports: [{containerPort: 8080}]
    env: [{name: MOTD, valueFrom: {configMapKeyRef: {name: settings, key: motd}}}]
    volumeMounts: [{name: settings, mountPath: /etc/settings}]
  volumes: [{name: settings, configMap: {name: settings}}]
"""
LINE = "web: container main started, image nginx:1 (simulated)\n"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    with running_fleet(tmp_path_factory.mktemp("fleet"), "--member", "member1") as running:
        running.kubectl("apply", "-f", "-", context="member1", stdin=WEB)
        running.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s", context="member1")
        yield running


@pytest.fixture(params=["member", "proxy"])
def way(request: pytest.FixtureRequest, fleet: Fleet) -> list[str]:
    """The arguments by which kubectl goes to the member."""
    if request.param == "member":
        return ["--context", "member1"]
    view = ("config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")
    server = f"{fleet.kubectl(*view)}/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy"
    return ["--context", CONTROL_PLANE, "--server", server]


def test_logs_are_shown(fleet: Fleet, way: list[str]) -> None:
    assert fleet.kubectl(*way, "logs", "web") == LINE
    assert fleet.kubectl(*way, "logs", "web", "--timestamps").endswith(f"Z {LINE}")


def test_commands_run_and_say_how_they_ended(fleet: Fleet, way: list[str]) -> None:
    said = fleet.kubectl(*way, "exec", "web", "--", "sh", "-c", "echo $MOTD; cat /etc/settings/motd; hostname")
    assert said == "hello\nhelloweb\n"
    failed = fleet.kubectl(*way, "exec", "web", "--", "sh", "-c", "echo out; exit 3", fails=True)
    assert failed == "out\ncommand terminated with exit code 3\n"
    typed = fleet.kubectl(*way, "exec", "-i", "web", "--", "sh", stdin="echo typed\nexit 0\n")
    assert typed == "typed\n"
    unknown = fleet.kubectl(*way, "exec", "web", "--", "nginx", fails=True)
    assert 'exec: "nginx": executable file not found in $PATH' in unknown


def test_an_older_kubectl_speaks_spdy(fleet: Fleet, way: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Speaks as kubectl before 1.31 does, which knows nothing else."""
    monkeypatch.setenv("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "false")
    failed = fleet.kubectl(*way, "exec", "web", "--", "sh", "-c", "echo $MOTD; cat none; exit 3", fails=True)
    assert failed.startswith("hello\n")
    assert "cat: can't open 'none'" in failed
    assert failed.endswith("command terminated with exit code 3\n")
    assert fleet.kubectl(*way, "exec", "-i", "web", "--", "sh", stdin="echo typed\nexit 0\n") == "typed\n"
    large = "typed by somebody\n" * 100_000
    assert fleet.kubectl(*way, "exec", "-i", "web", "--", "cat", stdin=large) == large


def test_files_are_copied_into_a_container_and_out_of_it(fleet: Fleet, way: list[str], tmp_path: Path) -> None:
    given, back, mounted = (tmp_path / name for name in ("given", "back", "motd"))
    given.write_bytes(b"from here\n" * 10_000)
    fleet.kubectl(*way, "cp", str(given), "web:/tmp/there")
    assert fleet.kubectl(*way, "exec", "web", "--", "cat", "/tmp/there") == given.read_text()
    fleet.kubectl(*way, "cp", "web:/tmp/there", str(back))
    assert back.read_bytes() == given.read_bytes()
    fleet.kubectl(*way, "cp", "web:/etc/settings/motd", str(mounted))
    assert mounted.read_text() == "hello"


def test_usage_is_shown_for_pods_and_nodes(fleet: Fleet, way: list[str]) -> None:
    assert fleet.kubectl(*way, "top", "pod", "--no-headers").split() == ["web", "500m", "8Mi"]
    nodes = {line.split()[0] for line in fleet.kubectl(*way, "top", "node", "--no-headers").splitlines()}
    assert nodes == {"node-1", "node-2"}


def test_attach_shows_the_log_and_ends_with_the_pod(fleet: Fleet, way: list[str]) -> None:
    fleet.kubectl("run", "short", "--image", "nginx:1", context="member1")
    fleet.kubectl("wait", "--for=condition=Ready", "pod/short", "--timeout=60s", context="member1")
    with kubectl_beside(fleet, *way, "attach", "short") as attached:
        assert attached.stdout is not None
        assert attached.stdout.readline() == "short: container short started, image nginx:1 (simulated)\n"
        fleet.kubectl("delete", "pod", "short", context="member1")
        assert attached.wait(60) == 0


def test_a_port_is_forwarded(fleet: Fleet, way: list[str]) -> None:
    port = pick_port(Randomness())
    with kubectl_beside(fleet, *way, "port-forward", "web", f"{port}:8080", "--address", "127.0.0.1") as forwarding:
        assert forwarding.stdout is not None
        assert forwarding.stdout.readline() == f"Forwarding from 127.0.0.1:{port} -> 8080\n"
        for _ in range(2):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/")
            assert connection.getresponse().read() == b"Pod default/web, port 8080 (simulated)\n"
            connection.close()


@contextmanager
def kubectl_beside(fleet: Fleet, *arguments: str) -> Generator["subprocess.Popen[str]"]:
    """A kubectl that goes on while the test does something else; it is ended with the block."""
    command = ["kubectl", "--kubeconfig", str(fleet.kubeconfig), *arguments]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=30)
