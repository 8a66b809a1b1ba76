"""A control plane and members on real kube-apiservers, Leeward's components beside them, and kubectl."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import yaml

from kubeapi.meta import Manifest
from tests.e2e.answers import ask
from tests.e2e.program import Program
from tests.e2e.servers import KubeServer
from tests.kubectl import CONTROL_PLANE, Kubectl, run_command
from tests.ports import free_port

MEMBERS = ("member1", "member2", "member3")
NO_EXECUTE = "cluster.karmada.io/not-ready:NoExecute"
HELD_DOWN = "leeward.dev/flapping:NoSchedule"
PROBING = (
    "--cluster-status-update-frequency=1s",
    "--cluster-failure-threshold=4s",
    "--cluster-success-threshold=2s",
)
DETECTION = (*PROBING, "--cluster-monitor-grace-period=15s", "--failover-eviction-timeout=3s")
"""An agent may be silent for as long as it takes to start again."""
DECISION = ("--graceful-eviction-timeout=20m",)
"""Longer than any test waits: evictions end on evidence here, and never by the clock."""
ELECTION = (
    "--leader-elect-lease-duration=8s",
    "--leader-elect-renew-deadline=6s",
    "--leader-elect-retry-period=1s",
)
TIMING = (*DETECTION, *DECISION, *ELECTION)
"""Karmada's times, made short: a failover within some ten seconds."""
AGENT_TIMING = (*PROBING, "--cluster-lease-duration=4s")
UNSERVED = ("--metrics-bind-address=0", "--health-probe-bind-address=0")
OVERVIEW_CHARACTERS = 4000


class Fleet(Kubectl):
    """`webhook` and `serve` are the components; `nodes` plays the kubelets of all members."""

    patience_seconds = 180.0

    def __init__(self, directory: Path, binaries: Path) -> None:
        super().__init__(directory / "kubeconfig")
        self.directory = directory
        self.control_plane = KubeServer(CONTROL_PLANE, directory / CONTROL_PLANE, binaries, workloads=False)
        self.members = {name: KubeServer(name, directory / name, binaries, workloads=True) for name in MEMBERS}
        self._webhook_url = f"https://127.0.0.1:{free_port()}"
        self.webhook = self._webhook()
        self.serve = self.component("serve", *TIMING, *UNSERVED)
        self.nodes = self._python("nodes", "tests.e2e.nodes", *(str(m.kubeconfig) for m in self.members.values()))
        self._merge_kubeconfigs()

    @property
    def servers(self) -> list[KubeServer]:
        return [self.control_plane, *self.members.values()]

    @property
    def components(self) -> list[Program]:
        return [self.webhook, self.serve, self.nodes]

    def start(self) -> None:
        for server in self.servers:
            server.start()
        for server in self.servers:
            server.wait_ready()

    def start_webhook(self) -> None:
        """Returns when it answers: until then nothing of Karmada's is written."""
        self.webhook.start()
        self.eventually(lambda: ask(f"{self._webhook_url}/readyz").code == 200, "the webhook answers")

    def stop(self) -> None:
        for component in self.components:
            component.stop()
        for server in self.servers:
            server.stop()

    def leeward(self, *arguments: str, fails: bool = False) -> str:
        """Gives what a verb prints that works on the control plane. Fails the test unless it ends as expected."""
        kubeconfig = str(self.control_plane.kubeconfig)
        return run_command([sys.executable, "-m", "leeward.cli", *arguments, "--kubeconfig", kubeconfig], fails)

    def join(self, name: str, *options: str) -> str:
        return self.leeward("join", name, "--cluster-kubeconfig", str(self.members[name].kubeconfig), *options)

    def agent(self, name: str, identity: Path, *more: str) -> Program:
        """The agent of a Pull member, as a process."""
        member = str(self.members[name].kubeconfig)
        options = ("--cluster-name", name, "--karmada-kubeconfig", str(identity), "--kubeconfig", member)
        return self._python(f"{name}-agent", "leeward.cli", "agent", *options, *AGENT_TIMING, *UNSERVED, *more)

    def component(self, verb: str, *options: str, name: str = "") -> Program:
        """`leeward VERB` beside the control plane, as a process; replicas have names of their own."""
        kubeconfig = str(self.control_plane.kubeconfig)
        return self._python(name or verb, "leeward.cli", verb, "--kubeconfig", kubeconfig, *options)

    def is_back(self, member: str) -> bool:
        return self.ready(member)[0] == "True" and not self.taints(member) - {HELD_DOWN}

    def release(self, member: str) -> None:
        """Does what the event ClusterFlapping says that one may do: members die more often here than elsewhere."""
        self.eventually(lambda: self.is_back(member), f"{member} is back")
        self.kubectl("patch", "cluster", member, "--type=merge", "-p", '{"spec": {"taints": []}}')
        self.eventually(lambda: not self.taints(member), f"{member} is not held down any more")

    def overview(self) -> str:
        words = [component.last_words() for component in self.components]
        return "\n".join([super().overview()[:OVERVIEW_CHARACTERS], *words])

    def _webhook(self) -> Program:
        return self.component(
            "webhook",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._webhook_url.rpartition(':')[2]}",
            f"--url={self._webhook_url}",
            "--default-not-ready-toleration-seconds=2",
            "--default-unreachable-toleration-seconds=2",
        )

    def _python(self, name: str, module: str, *arguments: str) -> Program:
        return Program(name, [sys.executable, "-m", module, *arguments], self.directory / f"{name}.log")

    def _merge_kubeconfigs(self) -> None:
        """One file with a context for each server, as kubectl wants it; users are named apart."""
        merged: dict[str, object] = {"apiVersion": "v1", "kind": "Config", "current-context": CONTROL_PLANE}
        contexts: list[Manifest] = []
        clusters: list[Manifest] = []
        users: list[Manifest] = []
        for server in self.servers:
            one = yaml.safe_load(server.kubeconfig.read_text())
            clusters += one["clusters"]
            contexts.append({"name": server.name, "context": {"cluster": server.name, "user": server.name}})
            users.append({"name": server.name, "user": one["users"][0]["user"]})
        self.kubeconfig.write_text(
            yaml.safe_dump({**merged, "contexts": contexts, "clusters": clusters, "users": users})
        )


@contextmanager
def running_fleet(directory: Path, binaries: Path) -> Generator[Fleet]:
    """Installed, with all members joined in Push mode, and stopped in the end."""
    fleet = Fleet(directory, binaries)
    try:
        fleet.start()
        fleet.nodes.start()
        assert "installed" in fleet.leeward("init")
        assert "installed" in fleet.leeward("init")
        fleet.start_webhook()
        fleet.eventually(lambda: fleet.exists("validatingwebhookconfiguration", "leeward-webhook"), "it is asked")
        fleet.serve.start()
        for name in MEMBERS:
            assert f"cluster {name} has joined" in fleet.join(name)
        for name in MEMBERS:
            fleet.eventually(lambda name=name: fleet.ready(name)[0] == "True", f"{name} is ready")
        yield fleet
    finally:
        fleet.stop()
