"""Controllers that were away, or are shown no Clusters, take nothing from a member: real processes, the real kubectl.

Two members of a local fleet join a `leeward apiserver`, and `leeward serve` works on it through a proxy on which the
Clusters can vanish. Waits are for what others write: the heartbeat of the controllers, the clock of a taint.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kubeapi.codec import render_yaml
from kubeapi.meta import parse_time
from leeward.app.local import processes
from leeward.app.local.layout import CONTROL_PLANE, Layout
from tests.kubectl import Kubectl, needs_kubectl, run_command
from tests.processes.fleet import Fleet, running_fleet
from tests.processes.hiding_proxy import HidingProxy, hiding_proxy
from tests.processes.lone_server import AS_SINCE_1_34, LoneServer, lone_server

MEMBERS = ("member1", "member2")
TOLERATION_SECONDS = 8
HIDDEN = timedelta(seconds=12)
"""Time of renewed heartbeats: longer than any time-out of the controllers."""
STOP_SECONDS = 60.0
VANISHED = ("True", "ClustersVanished")
FAST = (
    "--cluster-status-update-frequency=1s",
    "--cluster-failure-threshold=2s",
    "--cluster-success-threshold=2s",
    "--cluster-probe-timeout=3s",
    "--failover-eviction-timeout=2s",
    "--graceful-eviction-timeout=4s",
    "--brake-release-after=2s",
    "--leader-elect=false",
    "--metrics-bind-address=0",
    "--health-probe-bind-address=0",
)
TOLERATIONS = [
    {"key": f"cluster.karmada.io/{key}", "operator": "Exists", "effect": "NoExecute"}
    | {"tolerationSeconds": TOLERATION_SECONDS}
    for key in ("not-ready", "unreachable")
]
APP = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: nginx}]}
"""
WEIGHTS = [
    {"targetCluster": {"clusterNames": [name]}, "weight": weight} for weight, name in enumerate(MEMBERS, start=1)
]
POLICY = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "web"},
    "spec": {
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
        "placement": {
            "clusterAffinity": {"clusterNames": list(MEMBERS)},
            "clusterTolerations": TOLERATIONS,
            "replicaScheduling": {
                "replicaDivisionPreference": "Weighted",
                "replicaSchedulingType": "Divided",
                "weightPreference": {"staticWeightList": WEIGHTS},
            },
        },
    },
}

pytestmark = [pytest.mark.processes, needs_kubectl]


class Plane(Kubectl):
    """The control plane as its administrator sees it, past the proxy; and the controllers, which go through it."""

    def __init__(self, directory: Path, fleet: Fleet, server: LoneServer, proxy: HidingProxy) -> None:
        server.write_kubeconfig(directory / "kubeconfig")
        super().__init__(directory / "kubeconfig")
        self.fleet, self.proxy, self._directory = fleet, proxy, directory
        self._serve: subprocess.Popen[bytes] | None = None
        self._way = directory / "through.kubeconfig"
        server.write_kubeconfig(self._way)
        authority = directory / "proxy-ca.crt"
        authority.write_bytes(proxy.authority.certificate)
        text = self._way.read_text().replace(server.url, proxy.url)
        self._way.write_text(text.replace(str(server.authority), str(authority)))

    def kubectl(self, *arguments: str, context: str = "admin", stdin: str = "", fails: bool = False) -> str:
        inside = self.fleet if context in MEMBERS else super()
        return inside.kubectl(*arguments, context=context, stdin=stdin, fails=fails)

    def look(self, *arguments: str, context: str = "admin") -> tuple[int, bytes] | None:
        inside = self.fleet if context in MEMBERS else super()
        return inside.look(*arguments, context=context)

    def get(self, *arguments: str, context: str = "admin") -> dict[str, Any]:
        return super().get(*arguments, context=context)

    def leeward(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "leeward.cli", *arguments, "--kubeconfig", str(self.kubeconfig)]
        return run_command(command)

    def start(self) -> None:
        command = [sys.executable, "-m", "leeward.cli", "serve", *FAST, "--kubeconfig", str(self._way)]
        with (self._directory / "serve.log").open("ab") as log:
            self._serve = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop(self) -> None:
        serve, self._serve = self._serve, None
        if serve is not None:
            serve.kill()
            serve.wait(STOP_SECONDS)

    def signal(self, number: signal.Signals) -> None:
        assert self._serve is not None
        os.kill(self._serve.pid, number)

    def overview(self) -> str:
        return f"{super().overview()}\n{(self._directory / 'serve.log').read_text()[-3000:]}"

    def heartbeat(self) -> tuple[str, datetime]:
        """Tells who watches, and when that was renewed last."""
        spec = self.get("lease", "leeward-heartbeat", "-n", "karmada-system")["spec"]
        return spec["holderIdentity"], parse_time(spec["renewTime"])

    def brake(self) -> tuple[str, str]:
        """Status and reason of its condition; it is written when it is engaged for the first time."""
        listed = self.get("configmaps", "-n", "karmada-system", "--field-selector=metadata.name=leeward-brake")["items"]
        condition = json.loads(listed[0]["data"]["condition"]) if listed else {"status": "False", "reason": ""}
        return condition["status"], condition["reason"]

    def is_well(self) -> bool:
        """Tells whether it is well; members that come and go may be marked as flapping, which takes nothing away."""
        return self.are_ready() and self.brake()[0] == "False" and self.has_applied()

    def are_ready(self) -> bool:
        flapping = {"leeward.dev/flapping:NoSchedule"}
        return all(self.ready(name)[0] == "True" and not self.taints(name) - flapping for name in MEMBERS)

    def has_applied(self) -> bool:
        return all(
            self.get("deployment", "web", context=name)["status"].get("readyReplicas", 0) == replicas
            for replicas, name in enumerate(MEMBERS, start=1)
        )


@contextmanager
def joined(directory: Path) -> Generator[Plane]:
    """The members of a fleet whose own control plane has ended, on another one."""
    with ExitStack() as stack:
        options = [option for name in MEMBERS for option in ("--member", name)]
        fleet = stack.enter_context(running_fleet(directory / "fleet", *options))
        processes.terminate(Layout(fleet.data_dir), [CONTROL_PLANE])
        server = stack.enter_context(lone_server(directory, *AS_SINCE_1_34))
        proxy = HidingProxy(
            server.url, server.authority, "/apis/cluster.karmada.io/v1alpha1/clusters", token="admin-token"
        )
        plane = Plane(directory, fleet, server, stack.enter_context(hiding_proxy(proxy, directory)))
        stack.callback(plane.stop)
        plane.leeward("init")
        plane.start()
        for name in MEMBERS:
            there = ("--cluster-kubeconfig", str(fleet.kubeconfig), "--cluster-context", name)
            plane.leeward("join", name, *there)
        plane.eventually(plane.are_ready, "both are ready: replicas go where a cluster is when they are placed")
        plane.kubectl("create", "-f", "-", stdin=f"{APP}---\n{render_yaml(POLICY)}")
        yield plane


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Generator[Plane]:
    with joined(tmp_path_factory.mktemp("plane")) as running:
        running.eventually(running.is_well, "all runs", times=2)
        yield running


def identities(plane: Plane) -> dict[str, str]:
    """The uid of what was placed, of Works and bindings, and the binding's generation, which any new place changes."""
    found: dict[str, str] = {}
    for context, kinds in (("admin", "works,resourcebindings"), *((name, "deployments,pods") for name in MEMBERS)):
        namespaces = "-A" if context == "admin" else "-ndefault"
        for item in plane.get(kinds, namespaces, context=context)["items"]:
            metadata = item["metadata"]
            name = f"{context}/{item['kind']}/{metadata.get('namespace')}/{metadata['name']}"
            found[name] = metadata["uid"]
            if item["kind"] == "ResourceBinding":
                found[f"{name}/generation"] = str(metadata["generation"])
    assert sum("/Pod/" in name for name in found) == 3
    assert sum(name.startswith("admin/Work/") for name in found) >= len(MEMBERS)
    return found


@pytest.mark.parametrize("way", ["stopped", "suspended"])
def test_s13_a_member_that_came_back_meanwhile_loses_nothing_when_the_controllers_go_on(plane: Plane, way: str) -> None:
    plane.eventually(plane.is_well, "all is well")
    before = identities(plane)
    plane.fleet.leeward("member", "pause", "member1")
    plane.eventually(lambda: any(t.endswith(":NoExecute") for t in plane.taints("member1")), "NoExecute is set")
    if way == "stopped":
        plane.stop()
    else:
        plane.signal(signal.SIGSTOP)
    set_at = max(parse_time(t["timeAdded"]) for t in plane.get("cluster", "member1")["spec"]["taints"])
    assert plane.get("resourcebinding", "web-deployment")["spec"].get("gracefulEvictionTasks") is None
    plane.fleet.leeward("member", "resume", "member1")
    plane.eventually(plane.has_applied, "member1 is well again")
    ended = set_at + 2 * timedelta(seconds=TOLERATION_SECONDS)
    plane.eventually(lambda: datetime.now(UTC) > ended, "all tolerations have ended by the wall clock")
    if way == "stopped":
        plane.start()
    else:
        plane.signal(signal.SIGCONT)
    plane.eventually(lambda: plane.heartbeat()[1] > ended + timedelta(seconds=4), "the controllers watch again")
    plane.eventually(plane.is_well, "and see that member1 is well")
    assert identities(plane) == before


def test_s5_clusters_that_are_shown_no_more_lose_nothing(plane: Plane) -> None:
    """Nor when the controllers start while they are hidden, and never have seen one."""
    plane.eventually(plane.is_well, "all is well")
    before = identities(plane)
    plane.proxy.hide()
    plane.eventually(lambda: plane.brake() == VANISHED, "the brake says what has vanished")
    holder, hidden_at = plane.heartbeat()
    plane.eventually(lambda: plane.heartbeat()[1] > hidden_at + HIDDEN, "the controllers go on all the while")
    plane.stop()
    plane.start()
    plane.eventually(lambda: plane.heartbeat()[0] != holder, "others watch")
    started_at = plane.heartbeat()[1]
    plane.eventually(lambda: plane.heartbeat()[1] > started_at + HIDDEN, "and go on, too")
    assert plane.proxy.in_place > 0
    assert plane.brake() == VANISHED
    assert identities(plane) == before
    plane.proxy.show()
    plane.eventually(plane.is_well, "they are shown again")
    assert identities(plane) == before
