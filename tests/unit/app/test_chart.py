"""The Helm chart: rendered here without Helm, so it may use no more of its language than this test understands."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from kubeapi.codec import parse_yaml
from kubeapi.meta import Manifest
from leeward.app.install.chart import chart_files
from leeward.cli.program import program

CHART = Path(__file__).parents[3] / "deploy" / "leeward"
ACTION = re.compile(r"\{\{ (toJson )?\.([A-Za-z.]+) \}\}")
GUARD = re.compile(r"\A\{\{- if \.Values\.(\w+)\.enabled \}\}\n(.*)\{\{- end \}\}\n\Z", re.DOTALL)
"""A template that is there where its part is enabled; here it is rendered as if it were."""
COMPONENTS = ["controller-manager", "scheduler", "webhook", "cluster-proxy", "dashboard"]


def rendered(name: str) -> list[Manifest]:
    context: Any = {
        "Values": yaml.safe_load((CHART / "values.yaml").read_text()),
        "Release": {"Namespace": "karmada-system"},
    }

    def value(match: re.Match[str]) -> str:
        found = context
        for step in match[2].split("."):
            found = found[step]
        return json.dumps(found) if match[1] else str(found)

    text = GUARD.sub(r"\2", (CHART / "templates" / name).read_text())
    text = ACTION.sub(value, text)
    assert "{{" not in text, "an action that is more than a value"
    return list(parse_yaml(text))


def test_definitions_and_rights_are_those_of_the_code() -> None:
    for name, content in chart_files().items():
        assert (CHART / name).read_text() == content, "run `make chart`"


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_component_runs_a_verb_under_an_account_that_has_its_rights(component: str) -> None:
    deployment = rendered(f"{component}.yaml")[0]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["command"][:2] == ["/opt/leeward/bin/leeward", component]
    assert CliRunner().invoke(program, [*container["command"][1:], *container["args"], "--help"]).exit_code == 0
    assert container["image"] == "leeward:0.1.0"
    account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    given = [*rendered("rights.yaml"), *rendered("dashboard.yaml")]
    accounts = [m["metadata"]["name"] for m in given if m["kind"] == "ServiceAccount"]
    assert account in accounts


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_deployment_selects_its_own_pods_and_probes_a_port_that_it_opens(component: str) -> None:
    spec = rendered(f"{component}.yaml")[0]["spec"]
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    (container,) = spec["template"]["spec"]["containers"]
    opened = {port["containerPort"] for port in container["ports"]}
    assert {container[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")} <= opened


@pytest.mark.parametrize("component", ["webhook", "cluster-proxy", "dashboard"])
def test_the_service_of_a_server_leads_to_its_pods(component: str) -> None:
    deployment, service = rendered(f"{component}.yaml")[:2]
    assert service["spec"]["selector"].items() <= deployment["spec"]["template"]["metadata"]["labels"].items()
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert service["spec"]["ports"][0]["targetPort"] in {port["containerPort"] for port in container["ports"]}
    assert (service["metadata"]["name"], service["metadata"]["namespace"]) == (f"leeward-{component}", "karmada-system")
