"""Real Helm, 3 and 4, on a fleet of processes: `helm upgrade --install --wait` ends where docs/waiting.md says so.

What is to wait is looked at when all is done: a second `--wait`, which changes nothing, runs into its time-out.
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeapi.codec import parse_yaml
from kubeapi.meta import Manifest
from tests.kubectl import Kubectl
from tests.processes.fleet import Fleet, needs_kubectl, running_fleet
from tests.processes.lone_server import lone_server
from tests.rendered_chart import (
    AGENT,
    BASE,
    CHART,
    PRODUCTION,
    ROOT,
    WHOLE,
    base_of,
    by_name,
    components,
    rendering,
    whole,
)
from tests.waiting_clients import TEMPLATES, documented, ends, policy_for

VERSIONS = {"Helm 3": "helm-3", "Helm 4": "helm-4"}
FETCH_SECONDS, HELM_SECONDS = 600, 300
PATIENT, SHORT = "200s", "8s"
"""Time-outs of a wait that has to end, however busy the machine is, and of one that never does."""

pytestmark = [pytest.mark.processes, needs_kubectl]


@pytest.fixture(scope="module")
def programs() -> Path:
    """Folder of the programs of VERSIONS."""
    done = subprocess.run([ROOT / "scripts/helm"], capture_output=True, text=True, timeout=FETCH_SECONDS, check=False)
    if done.returncode:
        pytest.skip(done.stderr.strip())
    return Path(done.stdout.strip())


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    with running_fleet(tmp_path_factory.mktemp("fleet"), "--member", "member1", "--member", "member2") as running:
        yield running


class Helm:
    """One version of Helm with a namespace of its own, and a chart for each template."""

    def __init__(self, fleet: Fleet, client: str, programs: Path, charts: Path) -> None:
        self.fleet, self.client = fleet, client
        self.namespace = VERSIONS[client]
        self._program, self._charts = programs / VERSIONS[client], charts
        fleet.kubectl("create", "namespace", self.namespace)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        where = ("--kubeconfig", str(self.fleet.kubeconfig), "--namespace", self.namespace)
        command = [self._program, *arguments, *where]
        return subprocess.run(command, capture_output=True, text=True, timeout=HELM_SECONDS, check=False)

    def install(self, words: str, patience: str = "") -> str:
        """Installs or upgrades a release, and waits for it where there is patience. Gives what went wrong, if any."""
        template, placement = TEMPLATES[words]
        name = template["metadata"]["name"]
        wait = ("--wait", "--wait-for-jobs", "--timeout", patience) if patience else ()
        chart = self._charts / self.namespace / name
        _write_chart(chart, template, policy_for(template, placement))
        done = self.run("upgrade", "--install", name, str(chart), *wait)
        return done.stderr if done.returncode else ""

    def uninstall(self, words: str) -> str:
        """Takes a release away, and waits until its objects are gone. Gives what went wrong, if it did."""
        done = self.run("uninstall", TEMPLATES[words][0]["metadata"]["name"], "--wait", "--timeout", PATIENT)
        return done.stderr if done.returncode else ""

    def is_done(self, words: str) -> bool:
        """Tells whether the members have all that the template asks for."""
        template, _ = TEMPLATES[words]
        kind, name = template["kind"], template["metadata"]["name"]
        there = self.fleet.get(kind.lower(), name, "-n", self.namespace)
        if kind == "Pod":
            return there["status"].get("phase") == "Running"
        return ends("kubectl", {**there, "kind": kind})

    def is_gone_from(self, member: str) -> bool:
        """Tells whether the member has none of the templates' objects any more."""
        kinds = ",".join(sorted({template["kind"].lower() for template, _ in TEMPLATES.values()}))
        return not self.fleet.kubectl("get", kinds, "-n", self.namespace, "-o", "name", context=member).strip()


def _write_chart(folder: Path, *manifests: Manifest) -> None:
    (folder / "templates").mkdir(parents=True, exist_ok=True)
    chart: dict[str, Any] = {"apiVersion": "v2", "name": folder.name, "version": "0.1.0"}
    (folder / "Chart.yaml").write_text(yaml.safe_dump(chart))
    (folder / "templates/all.yaml").write_text(yaml.safe_dump_all(manifests))


def _each(ask: Callable[[str], str], templates: Iterable[str]) -> dict[str, str]:
    """Finds what goes wrong for each template, all asked for at the same time."""
    with ThreadPoolExecutor() as pool:
        asked = {words: pool.submit(ask, words) for words in templates}
        return {words: answer.result() for words, answer in asked.items()}


@pytest.mark.parametrize("client", VERSIONS)
def test_helm_lints_the_chart_and_renders_the_manifests_that_are_in_the_repository(programs: Path, client: str) -> None:
    helm = programs / VERSIONS[client]
    for values in (CHART / "values.yaml", *(ROOT / "examples/values").glob("*.yaml")):
        subprocess.run([helm, "lint", "--strict", CHART, "-f", values], check=True, timeout=HELM_SECONDS)
    assert by_name(parse_yaml(whole(helm))) == by_name(parse_yaml(WHOLE.read_text())), "run `make chart`"
    base = by_name(base_of(rendering(helm)))
    assert base == by_name(parse_yaml(BASE.read_text())), "run `make chart`"
    assert ("Deployment", "karmada-system", "leeward-dashboard") not in base
    member = rendering(helm, "-f", str(ROOT / "examples/values/member.yaml"))
    there = by_name(parse_yaml(member))
    workloads = {name for kind, _, name in there if kind == "Deployment"}
    assert workloads == {"leeward-agent", "karmada-scheduler-estimator-member3"}
    assert not [name for _, _, name in there if "controller-manager" in name]


@pytest.mark.parametrize("client", VERSIONS)
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("agent.enabled=true",), "agent.clusterName: give the name"),
        (("descheduler.enabled=true",), "set estimator.enabled, too"),
        (("estimator.enabled=true",), "estimator.clientTlsSecret: name the Secret"),
        (("controlplane.enabled=true",), "controlplane"),
    ],
    ids=["agent", "descheduler", "estimator", "misspelt"],
)
def test_helm_says_which_value_is_wrong(programs: Path, client: str, options: tuple[str, ...], problem: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        rendering(programs / VERSIONS[client], *(part for option in options for part in ("--set", option)))
    assert problem in refused.value.stderr


def test_old_servers_get_the_disruption_budget_that_they_know(programs: Path) -> None:
    def versions(kubernetes: str) -> set[str]:
        found = parse_yaml(rendering(programs / "helm-3", "--kube-version", kubernetes))
        return {each["apiVersion"] for each in found if each["kind"] == "PodDisruptionBudget"}

    assert versions("v1.20.0") == {"policy/v1beta1"}
    assert versions("v1.34.0") == {"policy/v1"}


@pytest.mark.parametrize("client", VERSIONS)
def test_helm_installs_the_whole_chart_and_takes_it_away(programs: Path, tmp_path: Path, client: str) -> None:
    """The server judges each manifest by the types of its kind: a field that there is not is refused."""
    with lone_server(tmp_path) as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        kubectl = partial(Kubectl(tmp_path / "kubeconfig").kubectl, context="admin")
        kubectl("apply", "-f", str(ROOT / "tests/data/monitoring-kinds.yaml"))

        def helm(*arguments: str) -> str:
            command = [programs / VERSIONS[client], *arguments, "--namespace", "karmada-system"]
            command += ["--kubeconfig", tmp_path / "kubeconfig"]
            return subprocess.run(command, capture_output=True, text=True, check=True, timeout=HELM_SECONDS).stdout

        told = helm("install", "leeward", str(CHART), "--create-namespace", "-f", str(PRODUCTION), *AGENT)
        assert "kubectl -n karmada-system rollout status deployment leeward-controller-manager" in told
        kubectl("apply", "--dry-run=server", "--validate=strict", "-f", str(WHOLE))
        there = json.loads(kubectl("get", "deployments", "-n", "karmada-system", "-o", "json"))["items"]
        assert {each["metadata"]["name"] for each in there} == {each["metadata"]["name"] for each in components()}
        secret = ("secret", "generic", "member1", "-n", "karmada-cluster")
        kubectl("create", *secret, "--from-literal=token=x")
        helm("upgrade", "leeward", str(CHART), "-f", str(PRODUCTION), "--set", "controllerManager.shards=3")
        helm("uninstall", "leeward")
        assert not kubectl("get", "deployments", "-n", "karmada-system", "-o", "name")
        assert kubectl("get", "secret", "member1", "-n", "karmada-cluster", "-o", "name"), "a member's credential"
        kubectl("apply", "--server-side", "--validate=strict", "-k", str(ROOT / "deploy"))
        assert len(kubectl("get", "deployments", "-n", "karmada-system", "-o", "name").splitlines()) == 4


@pytest.mark.parametrize("client", VERSIONS)
def test_an_upgrade_that_reuses_the_values_of_an_older_chart_has_the_new_sections(
    programs: Path, tmp_path: Path, client: str
) -> None:
    """Helm brings the values of the older release then, and none of the new chart."""
    older = shutil.copytree(CHART, tmp_path / "older")
    shutil.copy(ROOT / "tests/data/chart-0.1.0-values.yaml", older / "values.yaml")
    with lone_server(tmp_path) as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")

        def helm(*arguments: str) -> str:
            where = ("--namespace", "karmada-system", "--kubeconfig", tmp_path / "kubeconfig")
            command = [programs / VERSIONS[client], *arguments, *where]
            return subprocess.run(command, capture_output=True, text=True, check=True, timeout=HELM_SECONDS).stdout

        helm("install", "leeward", str(older), "--create-namespace", "--set", "scheduler.replicas=3")
        helm("upgrade", "leeward", str(CHART), "--reuse-values")
        there = by_name(parse_yaml(helm("get", "manifest", "leeward")))
    base = by_name(parse_yaml(rendering(programs / VERSIONS[client])))
    assert there.keys() == base.keys()
    scheduler = there["Deployment", "karmada-system", "leeward-scheduler"]["spec"]
    assert scheduler["replicas"] == 3
    assert scheduler["template"]["spec"]["topologySpreadConstraints"]


@pytest.mark.parametrize("client", VERSIONS)
def test_helm_waits_for_what_the_documentation_says(fleet: Fleet, programs: Path, tmp_path: Path, client: str) -> None:
    helm = Helm(fleet, client, programs, tmp_path)
    said = documented()
    ending = [words for words in TEMPLATES if said[words][client]]
    waiting = [words for words in TEMPLATES if not said[words][client]]
    assert ending
    assert waiting

    wrong = _each(helm.install, waiting) | _each(partial(helm.install, patience=PATIENT), ending)
    assert not any(wrong.values()), wrong
    for words in waiting:
        fleet.eventually(partial(helm.is_done, words), f"{words} is done")
    wrong = _each(partial(helm.install, patience=SHORT), waiting)
    assert all(wrong.values()), wrong

    wrong = _each(helm.uninstall, TEMPLATES)
    assert not any(wrong.values()), wrong
    for member in ("member1", "member2"):
        fleet.eventually(partial(helm.is_gone_from, member), f"{member} has nothing of Helm's")
