"""The Helm chart as Helm has rendered it (`make chart`); `tests/processes/test_helm.py` holds that Helm still does."""

from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from click.testing import CliRunner

from kubeapi.codec import parse_yaml
from leeward import __version__
from leeward.cli.program import program
from tests.chart_files import chart_files
from tests.rendered_chart import BASE, CHART, PRODUCTION, ROOT, WHOLE, by_name, components, rendered, values

COMPONENTS = ["controller-manager", "scheduler", "webhook", "cluster-proxy", "dashboard", "descheduler", "agent"]
ESTIMATOR = "scheduler-estimator"
EXAMPLES = [CHART / "values.yaml", *sorted((ROOT / "examples/values").glob("*.yaml"))]
BY_REPLICAS = {"leeward-dashboard", "leeward-descheduler", "karmada-scheduler-estimator-member1"}
"""Components of one replica: a disruption budget would hold up the maintenance of their node for ever."""


def problems(document: Any) -> list[str]:
    schema = (CHART / "values.schema.json").read_text()
    return [error.message for error in jsonschema_rs.validator_for(schema).iter_errors(document)]


def test_definitions_and_rights_are_those_of_the_code() -> None:
    for name, content in chart_files().items():
        assert (CHART / name).read_text() == content, "run `make chart`"


def test_the_alerts_of_the_chart_are_those_of_prometheus() -> None:
    rules = (ROOT / "deploy/prometheus/rules.yaml").read_text()
    assert (CHART / "files/rules.yaml").read_text().endswith(rules), "run `make chart`"
    assert (CHART / "files/values.yaml").read_text().endswith((CHART / "values.yaml").read_text()), "run `make chart`"
    (rule,) = [each for each in rendered("monitoring.yaml") if each["kind"] == "PrometheusRule"]
    assert rule["spec"] == yaml.safe_load(rules)


@pytest.mark.parametrize("component", [*COMPONENTS, ESTIMATOR])
def test_a_component_runs_a_verb_under_an_account_that_has_its_rights(component: str) -> None:
    deployment = rendered(f"{component}.yaml")[0]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["command"][:2] == ["/opt/leeward/bin/leeward", component]
    assert CliRunner().invoke(program, [*container["command"][1:], *container["args"], "--help"]).exit_code == 0
    account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    whole = list(parse_yaml(WHOLE.read_text()))
    assert account in [each["metadata"]["name"] for each in whole if each["kind"] == "ServiceAccount"]
    bound = [each for each in whole if each["kind"] == "ClusterRoleBinding"]
    assert account in [subject["name"] for each in bound for subject in each["subjects"]]


@pytest.mark.parametrize("deployment", components(), ids=lambda each: each["metadata"]["name"])
def test_a_deployment_selects_its_own_pods_and_probes_a_port_that_it_opens(deployment: Any) -> None:
    spec = deployment["spec"]
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    (container,) = spec["template"]["spec"]["containers"]
    opened = {port["containerPort"] for port in container["ports"]}
    assert {container[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")} <= opened


@pytest.mark.parametrize("deployment", components(), ids=lambda each: each["metadata"]["name"])
def test_replicas_are_spread_and_maintenance_takes_one_at_a_time(deployment: Any) -> None:
    name, pod = deployment["metadata"]["name"], deployment["spec"]["template"]
    spread = pod["spec"]["topologySpreadConstraints"]
    assert [each["topologyKey"] for each in spread] == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
    assert all(each["labelSelector"]["matchLabels"] == pod["metadata"]["labels"] for each in spread)
    budget = by_name(parse_yaml(WHOLE.read_text())).get(("PodDisruptionBudget", "karmada-system", name))
    assert (budget is None) == (deployment["spec"]["replicas"] == 1) == (name in BY_REPLICAS)
    if budget is not None:
        assert budget["spec"] == {"maxUnavailable": 1, "selector": deployment["spec"]["selector"]}


@pytest.mark.parametrize("component", ["webhook", "cluster-proxy", "dashboard", ESTIMATOR])
def test_the_service_of_a_server_leads_to_its_pods(component: str) -> None:
    deployment, service = rendered(f"{component}.yaml")[:2]
    assert service["spec"]["selector"].items() <= deployment["spec"]["template"]["metadata"]["labels"].items()
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert service["spec"]["ports"][0]["targetPort"] in {port["containerPort"] for port in container["ports"]}
    assert service["metadata"]["name"] == deployment["metadata"]["name"]
    assert service["metadata"]["namespace"] == "karmada-system"


def test_the_metrics_of_all_components_and_shards_are_scraped_where_they_are_served() -> None:
    services = {each["metadata"]["name"]: each for each in rendered("monitoring.yaml") if each["kind"] == "Service"}
    (monitor,) = [each for each in rendered("monitoring.yaml") if each["kind"] == "ServiceMonitor"]
    scraped = {endpoint["port"] for endpoint in monitor["spec"]["endpoints"]}
    for deployment in components():
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        served = {port["name"]: port["containerPort"] for port in container["ports"] if "metrics" in port["name"]}
        if not served:
            continue
        service = services.pop(f"{deployment['metadata']['name']}-metrics")
        assert {port["name"]: port["targetPort"] for port in service["spec"]["ports"]} == served
        assert service["metadata"]["labels"].items() >= monitor["spec"]["selector"]["matchLabels"].items()
        assert served.keys() <= scraped
    assert not services


def test_each_shard_is_a_process_whose_metrics_have_a_port_of_their_own() -> None:
    (container,) = rendered("controller-manager.yaml")[0]["spec"]["template"]["spec"]["containers"]
    assert "--shards=2" in container["command"]
    assert {port["containerPort"] for port in container["ports"]} == {10357, 8080, 8180, 8280}


def test_an_image_is_named_by_its_digest_or_else_by_the_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == __version__
    digest = values(PRODUCTION)["image"]["digest"]
    images = {c["image"] for each in components() for c in each["spec"]["template"]["spec"]["containers"]}
    assert images == {f"registry.example/leeward@{digest}"}
    base = [each for each in parse_yaml(BASE.read_text()) if each["kind"] == "Deployment"]
    images = {c["image"] for each in base for c in each["spec"]["template"]["spec"]["containers"]}
    assert images == {f"leeward:{__version__}"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_schema_takes_the_values_that_are_here(path: Path) -> None:
    assert problems(values(path)) == []


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"controllermanager": {"replicas": 3}}, "'controllermanager' was unexpected"),
        ({"controllerManager": {"shards": 0}}, "0 is less than the minimum of 1"),
        ({"webhook": {"args": "--url=https://x"}}, "is not of type"),
        ({"scheduler": {"args": [""]}}, "shorter than 1 character"),
        ({"image": {"digest": "latest"}}, "does not match"),
        ({"estimator": {"clusters": [{"name": "member1"}]}}, '"tlsSecret" is a required property'),
    ],
    ids=["misspelt", "no shards", "one text", "no text", "no digest", "no certificate"],
)
def test_the_schema_refuses_what_would_be_ignored_or_would_not_start(wrong: Any, problem: str) -> None:
    assert any(problem in each for each in problems(wrong)), problems(wrong)


def test_the_schema_takes_flags_of_one_letter_and_values_beside_their_flag() -> None:
    assert problems({"scheduler": {"args": ["-v=2", "--metrics-bind-address", ":8081"]}}) == []


def test_the_schema_has_every_value_of_the_chart() -> None:
    """A value without a description of its form would be taken in any form."""

    def undescribed(given: Any, described: Any, path: str = "") -> list[str]:
        if not isinstance(given, dict) or "properties" not in described:
            return []
        names: dict[str, Any] = {**given}
        return [
            found
            for name, value in names.items()
            for found in (
                undescribed(value, described["properties"][name], f"{path}.{name}")
                if name in described["properties"]
                else [f"{path}.{name}"]
            )
        ]

    schema = yaml.safe_load((CHART / "values.schema.json").read_text())
    assert undescribed(values(), schema) == []
