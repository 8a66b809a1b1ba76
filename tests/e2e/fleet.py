"""A control plane and members on real kube-apiservers, Leeward's components beside them, and kubectl."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import yaml

from leeward.api.meta import Manifest
from tests.e2e.program import Program
from tests.e2e.servers import KubeServer, free_port
from tests.kubectl import CONTROL_PLANE, Kubectl, run_command

MEMBERS = ("member1", "member2", "member3")
TOLERATION_SECONDS = 2
OVERVIEW_CHARACTERS = 4000


class Fleet(Kubectl):
    """`webhook` and `serve` are the components; `nodes` plays the kubelets of all members."""

    patience_seconds = 90.0

    def __init__(self, directory: Path, binaries: Path) -> None:
        super().__init__(directory / "kubeconfig")
        self.directory = directory
        self.control_plane = KubeServer(CONTROL_PLANE, directory / CONTROL_PLANE, binaries, workloads=False)
        self.members = {name: KubeServer(name, directory / name, binaries, workloads=True) for name in MEMBERS}
        self.webhook = self._webhook()
        self.serve = self._python("serve", "tests.e2e.serve", str(self.control_plane.kubeconfig))
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

    def stop(self) -> None:
        for component in self.components:
            component.stop()
        for server in self.servers:
            server.stop()

    def leeward(self, *arguments: str, fails: bool = False) -> str:
        """What a verb prints that works on the control plane. Fails the test unless it ends as expected."""
        kubeconfig = str(self.control_plane.kubeconfig)
        return run_command([sys.executable, "-m", "leeward.cli", *arguments, "--kubeconfig", kubeconfig], fails)

    def join(self, name: str, *options: str) -> str:
        return self.leeward("join", name, "--cluster-kubeconfig", str(self.members[name].kubeconfig), *options)

    def overview(self) -> str:
        words = [component.last_words() for component in self.components]
        return "\n".join([super().overview()[:OVERVIEW_CHARACTERS], *words])

    def _webhook(self) -> Program:
        port = free_port()
        seconds = str(TOLERATION_SECONDS)
        return self._python(
            "webhook",
            "leeward.cli",
            "webhook",
            "--kubeconfig",
            str(self.control_plane.kubeconfig),
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--url=https://127.0.0.1:{port}",
            "--default-not-ready-toleration-seconds",
            seconds,
            "--default-unreachable-toleration-seconds",
            seconds,
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
        fleet.webhook.start()
        fleet.eventually(lambda: fleet.exists("validatingwebhookconfiguration", "leeward-webhook"), "the webhook is up")
        fleet.serve.start()
        for name in MEMBERS:
            assert f"cluster {name} has joined" in fleet.join(name)
        for name in MEMBERS:
            fleet.eventually(lambda name=name: fleet.ready(name)[0] == "True", f"{name} is ready")
        yield fleet
    finally:
        fleet.stop()
