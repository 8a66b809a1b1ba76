"""The Helm chart as Helm renders it, written into the repository by `make chart`: python -m tests.rendered_chart

    deploy/kustomize/leeward.yaml   by its own values, as the base of kustomize, without Helm's labels
    tests/data/chart.yaml           with all of its parts: the values for production, and an agent beside them

So tests read manifests without Helm, and users install without it. `tests/processes/test_helm.py` renders them again.
"""

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from kubeapi.codec import parse_yaml
from kubeapi.meta import Manifest
from kubeapi.yaml_writing import render_yaml_stream

ROOT = Path(__file__).parents[1]
CHART, PRODUCTION = ROOT / "deploy/leeward", ROOT / "examples/values/production.yaml"
BASE, WHOLE = ROOT / "deploy/kustomize/leeward.yaml", ROOT / "tests/data/chart.yaml"
AGENT = ("--set", "agent.enabled=true,agent.clusterName=member3")
OF_HELM = ("app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "helm.sh/chart")
_HEAD = "# Written by `make chart`.\n"
_SOURCE = "# Source: leeward/templates/"


def rendering(helm: Path, *options: str) -> str:
    """Manifests of the chart as text. Raises: CalledProcessError."""
    command = [helm, "template", "leeward", CHART, "--namespace", "karmada-system", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def whole(helm: Path) -> str:
    return rendering(helm, "-f", str(PRODUCTION), *AGENT)


def base_of(text: str) -> list[Manifest]:
    """Manifests without the labels that say that Helm has installed them."""
    found = list(parse_yaml(text))
    for manifest in found:
        labels = manifest["metadata"].get("labels", {})
        for name in OF_HELM:
            labels.pop(name, None)
    return found


def rendered(name: str) -> list[Manifest]:
    """Manifests of one template of the whole chart: its Deployment first, then its Service."""
    first = ["Deployment", "Service"]
    parts = WHOLE.read_text().split("---\n" + _SOURCE)[1:]
    found = [each for part in parts if part.startswith(name + "\n") for each in parse_yaml(part.partition("\n")[2])]
    return sorted(found, key=lambda each: first.index(each["kind"]) if each["kind"] in first else len(first))


def components() -> list[Manifest]:
    """Deployments of the whole chart."""
    return [each for each in parse_yaml(WHOLE.read_text()) if each["kind"] == "Deployment"]


def by_name(manifests: Iterable[Manifest]) -> dict[tuple[str, str, str], Manifest]:
    return {(m["kind"], m["metadata"].get("namespace", ""), m["metadata"]["name"]): m for m in manifests}


def values(path: Path = CHART / "values.yaml") -> dict[str, Any]:
    return yaml.safe_load(path.read_text())


def main() -> None:
    programs = subprocess.run([ROOT / "scripts/helm"], capture_output=True, text=True, check=True, timeout=600)
    helm = Path(programs.stdout.strip()) / "helm-4"
    BASE.write_text(_HEAD + render_yaml_stream(base_of(rendering(helm)), width=120))
    WHOLE.write_text(_HEAD + whole(helm))


if __name__ == "__main__":
    main()
