"""The real kubectl looks into the containers of a local member: directly, and through the control plane's proxy."""

from collections.abc import Generator

import pytest

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


def test_usage_is_shown_for_pods_and_nodes(fleet: Fleet, way: list[str]) -> None:
    assert fleet.kubectl(*way, "top", "pod", "--no-headers").split() == ["web", "500m", "8Mi"]
    nodes = {line.split()[0] for line in fleet.kubectl(*way, "top", "node", "--no-headers").splitlines()}
    assert nodes == {"node-1", "node-2"}


@pytest.mark.parametrize("verb", [("attach", "web"), ("port-forward", "web", "0:8080")], ids=["attach", "port-forward"])
def test_other_verbs_say_which_ones_are_answered(fleet: Fleet, way: list[str], verb: tuple[str, ...]) -> None:
    assert "answer kubectl logs and kubectl exec alone" in fleet.kubectl(*way, *verb, fails=True)
