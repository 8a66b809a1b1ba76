"""An API server that is not of `leeward up`, with the components beside it: warnings, and a component that is gone."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import pytest

from kubeapi.codec import parse_first_yaml, render_yaml
from tests.kubectl import Kubectl, needs_kubectl
from tests.ports import free_port
from tests.processes.lone_server import AS_SINCE_1_34, LoneServer, lone_server

SECONDS = 60
POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: nginx, namespace: default}
spec:
  association: true
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: nginx}]
"""
QUOTA = """
apiVersion: policy.karmada.io/v1alpha1
kind: FederatedResourceQuota
metadata: {name: quota, namespace: default}
spec: {overall: {cpu: 1}}
"""
BINDING = """
apiVersion: work.karmada.io/v1alpha2
kind: ResourceBinding
metadata: {name: web-deployment, namespace: default}
spec:
  resource: {apiVersion: apps/v1, kind: Deployment, name: web, namespace: default}
  replicas: 2
  replicaRequirements: {resourceRequest: {cpu: "1"}}
  clusters: [{name: m1, replicas: 2}]
"""

pytestmark = [pytest.mark.processes, needs_kubectl]


@contextmanager
def component(directory: Path, *arguments: str) -> Generator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "leeward.cli", *arguments, "--kubeconfig", str(directory / "kubeconfig")]
    with (directory / f"{arguments[0]}.log").open("ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait(SECONDS)


def leeward(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "leeward.cli", *arguments, "--kubeconfig", str(directory / "kubeconfig")]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


class Plane(Kubectl):
    """kubectl as the administrator, with what it prints on stderr."""

    def __init__(self, directory: Path, server: LoneServer) -> None:
        server.write_kubeconfig(directory / "kubeconfig")
        super().__init__(directory / "kubeconfig")
        self.directory = directory

    def apply(self, manifest: str) -> str:
        """Applies the manifest, and gives what kubectl warns of."""
        command = ["kubectl", "--kubeconfig", str(self.kubeconfig), "apply", "-f", "-"]
        done = subprocess.run(command, input=manifest, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, done.stderr
        return done.stderr

    def status(self) -> tuple[int, str]:
        done = leeward(self.directory, "status")
        return done.returncode, done.stdout

    def overview(self) -> str:
        return "\n".join(path.read_text()[-2000:] for path in sorted(self.directory.glob("*.log")))


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Generator[Plane]:
    directory = tmp_path_factory.mktemp("plane")
    with ExitStack() as stack:
        server = stack.enter_context(lone_server(directory, *AS_SINCE_1_34))
        plane = Plane(directory, server)
        done = leeward(directory, "init")
        assert done.returncode == 0, done.stderr
        yield plane


def test_what_is_ignored_warns_through_the_webhook(plane: Plane) -> None:
    port = free_port()
    listening = ("--bind-address", "127.0.0.1", "--secure-port", str(port), "--url", f"https://127.0.0.1:{port}")
    with component(plane.directory, "webhook", *listening):
        plane.eventually(
            lambda: plane.exists("validatingwebhookconfiguration", "leeward-webhook", context="admin"),
            "it is pointed to",
        )
        for manifest in (POLICY, POLICY.replace("nginx", "other")):
            assert plane.apply(manifest).startswith("Warning: spec.association is stored and has no effect yet: ")
        changed = POLICY.replace("association: true", "association: true\n  priority: 7")
        assert "Warning: spec.association" in plane.apply(changed), "an update warns, too"
        assert plane.apply(POLICY.replace("  association: true\n", "  association: false\n")) == ""
        assert plane.apply(QUOTA).startswith("Warning: spec.overall refuses nothing without --feature-gates=")
        plane.kubectl("delete", "propagationpolicies,federatedresourcequotas", "--all", "--wait=false", context="admin")
    plane.kubectl("delete", "validatingwebhookconfiguration,mutatingwebhookconfiguration", "--all", context="admin")


def test_growth_beyond_a_quota_is_refused_through_the_webhook(plane: Plane) -> None:
    port = free_port()
    listening = ("--bind-address", "127.0.0.1", "--secure-port", str(port), "--url", f"https://127.0.0.1:{port}")
    with component(plane.directory, "webhook", *listening, "--feature-gates", "FederatedQuotaEnforcement=true"):
        plane.eventually(
            lambda: plane.exists("validatingwebhookconfiguration", "leeward-webhook", context="admin"),
            "it is pointed to",
        )
        plane.apply(QUOTA)
        said = plane.kubectl("apply", "-f", "-", stdin=BINDING, context="admin", fails=True)
        assert "FederatedResourceQuota(default/quota) exceeded for resource cpu: requested sum 2, limit 1." in said
        plane.kubectl("apply", "-f", "-", stdin=BINDING.replace("replicas: 2", "replicas: 1"), context="admin")
        plane.kubectl("delete", "resourcebindings,federatedresourcequotas", "--all", "--wait=false", context="admin")
    plane.kubectl("delete", "validatingwebhookconfiguration,mutatingwebhookconfiguration", "--all", context="admin")


def test_a_component_that_is_gone_is_named(plane: Plane) -> None:
    quick = ("--metrics-bind-address=0", "--health-probe-bind-address=0")
    with component(plane.directory, "serve", *quick) as serving:
        plane.eventually(
            lambda: "karmada-controller-manager, karmada-scheduler at work" in plane.status()[1], "both are at work"
        )
        assert plane.status()[0] == 0
        serving.kill()
        names = ("karmada-controller-manager", "karmada-scheduler")

        def all_are_named() -> bool:
            code, text = plane.status()
            return code == 1 and all(f"! {name} has not renewed its lease (since " in text for name in names)

        plane.eventually(all_are_named, "their leases have ended", times=2)
    lines = plane.status()[1].splitlines()
    for name in names:
        said = [line.startswith(f"! {name} has not renewed its lease (since ") for line in lines]
        assert any(said)
        there = f"kubectl --kubeconfig {plane.directory}/kubeconfig"
        assert lines[said.index(True) + 1] == f"    {there} get lease {name} -n karmada-system -o yaml"


def test_a_controller_manager_beside_a_foreign_scheduler_says_that_it_evicts_itself(plane: Plane) -> None:
    """Karmada's scheduler is played by its Lease. Ours is told from it by what it writes there."""
    lease = ("lease", "karmada-scheduler", "-n", "karmada-system")
    holder = '"holderIdentity": "karmada-scheduler-0_1", "leaseDurationSeconds": 15'
    times = count()
    plane.kubectl("delete", *lease, "--ignore-not-found", context="admin")

    def is_noticed() -> bool:
        renewed = f'"renewTime": "2026-01-01T00:00:00.{next(times):06d}Z"'
        plane.kubectl("patch", *lease, "--type=merge", "-p", f'{{"spec": {{{holder}, {renewed}}}}}', context="admin")
        return "karmada-scheduler-0_1 leads karmada-scheduler" in plane.overview()

    quick = ("--metrics-bind-address=0", "--health-probe-bind-address=0")
    with component(plane.directory, "scheduler", *quick):
        found = ("get", *lease, "-o", "jsonpath={.spec.holderIdentity}")
        plane.eventually(lambda: "_leeward_" in plane.kubectl(*found, context="admin"), "ours leads")
    with component(plane.directory, "controller-manager", *quick):
        plane.eventually(is_noticed, "the foreign scheduler is noticed", times=2)
        plane.eventually(
            lambda: "ForeignScheduler" in plane.kubectl("get", "events", "-n", "karmada-system", context="admin"),
            "an event says so",
        )


def test_a_scheduler_of_another_name_holds_a_lease_of_its_own_at_the_server_that_is_named(plane: Plane) -> None:
    """A manifest as Karmada's users write it for a second scheduler, with flags of Karmada 1.4."""
    config = parse_first_yaml(plane.kubeconfig.read_text())
    server = config["clusters"][0]["cluster"]["server"]
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    elsewhere = plane.directory / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kubeconfig").write_text(render_yaml(config))
    flags = ("--scheduler-name=mine", "--leader-elect-resource-name=my-scheduler", "--metrics-bind-address=0")
    older = ("--bind-address=127.0.0.1", f"--secure-port={free_port()}", "--log_file_max_size=1")
    with component(elsewhere, "scheduler", f"--master={server}", *flags, *older):
        plane.eventually(
            lambda: plane.exists("lease", "my-scheduler", "-n", "karmada-system", context="admin"), "it leads"
        )
    assert "--log-file-max-size (" in (elsewhere / "scheduler.log").read_text()


@pytest.mark.parametrize("name", ["controller-manager", "scheduler", "descheduler"])
def test_a_component_gets_ready_and_leads_with_the_account_that_it_is_given(plane: Plane, name: str) -> None:
    token = plane.kubectl("create", "token", f"leeward-{name}", "-n", "karmada-system", context="admin").strip()
    directory = plane.directory / name
    directory.mkdir()
    config = parse_first_yaml(plane.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    (directory / "kubeconfig").write_text(render_yaml(config))
    health, metrics = free_port(), free_port()
    listening = (f"--health-probe-bind-address=127.0.0.1:{health}", f"--metrics-bind-address=127.0.0.1:{metrics}")
    with component(directory, name, *listening):
        held = f"karmada-{name}"
        plane.eventually(
            lambda: plane.exists("lease", held, "-n", "karmada-system", context="admin"), f"{held} is held"
        )
        assert "forbidden" not in (directory / f"{name}.log").read_text()
