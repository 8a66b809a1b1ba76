"""Real Helm, 3 and 4, on a fleet of processes: `helm upgrade --install --wait` ends where docs/waiting.md says so.

What is to wait is looked at when all is done: a second `--wait`, which changes nothing, runs into its time-out.
"""

import subprocess
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeapi.meta import Manifest
from tests.processes.fleet import Fleet, needs_kubectl, running_fleet
from tests.waiting_clients import TEMPLATES, documented, ends, policy_for

ROOT = Path(__file__).parents[2]
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
def test_helm_renders_the_dashboard_where_it_is_enabled(programs: Path, client: str) -> None:
    def deployments(*options: str) -> dict[str, Manifest]:
        command = [programs / VERSIONS[client], "template", "leeward", ROOT / "deploy/leeward", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=HELM_SECONDS, check=True)
        found: list[Manifest] = [each for each in yaml.safe_load_all(done.stdout) if each]
        return {each["metadata"]["name"]: each["spec"] for each in found if each["kind"] == "Deployment"}

    def arguments(*options: str) -> list[str]:
        (container,) = deployments(*enabled, *options)["leeward-dashboard"]["template"]["spec"]["containers"]
        return [*container["command"], *(container["args"] or ())]

    enabled = ("--namespace", "karmada-system", "--set", "dashboard.enabled=true")
    given = deployments("--namespace", "karmada-system")
    assert "leeward-dashboard" not in given
    assert deployments(*enabled).keys() == {*given, "leeward-dashboard"}
    always = arguments()
    assert {each.partition("=")[0] for each in always} >= {"--listen", "--tls-cert", "--tls-key"}
    assert arguments("--set", "dashboard.args={--allowed-host=x}") == [*always, "--allowed-host=x"]


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
