"""Alerts and board under deploy/: their PromQL parses, and asks for what the product measures, under its labels."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import click
import promql_parser
import pytest
import yaml
from prometheus_client import CollectorRegistry

from kubeapi.loop.clock import VirtualClock
from kubeserver.handlers.measuring import Measured
from leeward.api.names import MANAGER_LEASE, SCHEDULER_LEASE
from leeward.cli.program import program
from leeward.operations.findings import HOLDS, Hold
from leeward.runtime.metrics import Metrics

ROOT = Path(__file__).parents[3]
RULES, OPERATOR_RULES = (ROOT / "deploy/prometheus" / name for name in ("rules.yaml", "prometheusrule.yaml"))
BOARD = json.loads((ROOT / "deploy/grafana/leeward.json").read_text())
RULE_TESTS = RULES.with_suffix(".test.yaml")
RUNBOOKS = ROOT / "docs/runbooks.md"
OF_EVERY_TARGET = frozenset({"job", "instance"})
"""Labels that Prometheus adds."""
VALUES: Mapping[str, frozenset[str]] = {
    "result": frozenset({"success", "error", "bug", "late", "held", "conflict", "throttled"}),
    "name": frozenset({MANAGER_LEASE, SCHEDULER_LEASE, "leeward-shard-.*"}),
    "component": frozenset({"apiserver"}),
    "code": frozenset({"5.."}),
}
"""Values that may be asked of a label, beside reasons."""

rules: list[dict[str, Any]] = [
    rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in cast(list[Any], group["rules"])
]
panels: list[dict[str, Any]] = [panel for panel in BOARD["panels"] if panel["type"] != "row"]


@cache
def measured() -> Mapping[str, frozenset[str]]:
    """The labels of each sample that a component or an API server can have, by its name."""
    metrics, requests = Metrics(), CollectorRegistry()
    Measured(cast(Any, None), cast(Any, None), VirtualClock(), requests)
    found: dict[str, frozenset[str]] = {}
    for registry in (metrics.registry, requests):
        for name, collector in vars(registry)["_names_to_collectors"].items():
            more = {"le"} if name.endswith("_bucket") else set[str]()
            labels = cast(tuple[str, ...], vars(collector)["_labelnames"])
            found[name] = OF_EVERY_TARGET.union(more, labels)
    return found


def nodes(text: str) -> list[Any]:
    """Nodes of the parsed query. Raises: ValueError where it is none."""
    found: list[Any] = []
    promql_parser.walk(promql_parser.parse(text.replace("$__rate_interval", "5m")), found.append)
    return found


def selectors(text: str) -> list[Any]:
    return [node for node in nodes(text) if isinstance(node, promql_parser.VectorSelector)]


def kept_labels(text: str) -> Iterator[str]:
    """Labels that aggregations keep."""
    for node in nodes(text):
        if isinstance(node, promql_parser.AggregateExpr) and node.modifier is not None:
            yield from node.modifier.labels


def problems(text: str) -> Iterator[str]:
    """Problems of the query: what it asks for that nobody measures."""
    labels: set[str] = set()
    for selector in selectors(text):
        if selector.name not in measured():
            yield f"nobody measures {selector.name}"
            continue
        labels |= measured()[selector.name]
        for matcher in selector.matchers.matchers:
            if matcher.name not in measured()[selector.name]:
                yield f"{selector.name} has no label {matcher.name}"
            elif unknown := set(matcher.value.split("|")) - VALUES.get(matcher.name, frozenset(HOLDS)):
                yield f"{matcher.name} is never {', '.join(unknown)}"
    yield from (f"nothing has a label {each}" for each in kept_labels(text) if each not in labels)


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("max(leeward_brake) == 1", "nobody measures leeward_brake"),
        ("leeward_brake_engaged{cluster='a'}", "leeward_brake_engaged has no label cluster"),
        ("sum by (cluster) (rate(leeward_evictions_held_total[5m]))", "nothing has a label cluster"),
        ("leeward_held_evictions{reason='NoPlace'}", "reason is never NoPlace"),
        ("rate(controller_runtime_reconcile_total{result='fine'}[5m])", "result is never fine"),
    ],
)
def test_a_query_for_what_is_not_there_is_found(query: str, problem: str) -> None:
    assert list(problems(query)) == [problem]


def test_what_is_no_query_is_found() -> None:
    with pytest.raises(ValueError, match=r"."):
        list(problems("sum by (rate("))


@pytest.mark.parametrize("rule", rules, ids=[rule["alert"] for rule in rules])
def test_an_alert_asks_for_what_is_measured(rule: dict[str, Any]) -> None:
    assert list(problems(rule["expr"])) == []
    labels = {name for selector in selectors(rule["expr"]) for name in measured()[selector.name]}
    said = re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"]))
    assert set(said) <= labels
    assert set(said) <= set(kept_labels(rule["expr"])), "an aggregation has dropped the label"


def is_whole(words: list[str]) -> bool:
    """Tells whether they name a verb that does something, and none that only has verbs of its own."""
    found: click.Command | None = program
    while words and isinstance(found, click.Group):
        found, words = found.get_command(click.Context(found), words[0]), words[1:]
    return found is not None and not isinstance(found, click.Group)


def test_a_command_that_only_says_how_to_go_on_is_found() -> None:
    assert [is_whole(words) for words in (["brake", "status"], ["brake"], ["sttatus"], [])] == [
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("rule", rules, ids=[rule["alert"] for rule in rules])
def test_an_alert_has_a_sentence_a_next_command_and_a_runbook(rule: dict[str, Any]) -> None:
    notes = rule["annotations"]
    assert set(notes) == {"summary", "command", "runbook"}
    assert notes["summary"].endswith(".")
    assert len(notes["summary"].split()) > 5
    name, *words = re.sub(r"\{\{.*?\}\}", "x", notes["command"]).split()
    assert name == "kubectl" or (name == "leeward" and is_whole(words))
    page, _, anchor = notes["runbook"].partition("#")
    assert page == str(RUNBOOKS.relative_to(ROOT))
    assert anchor == rule["alert"].lower()
    assert rule["labels"]["severity"] in ("critical", "warning", "info")


def test_the_page_of_runbooks_has_a_paragraph_for_each_alert_and_no_other() -> None:
    _, *parts = re.split(r"^## ", RUNBOOKS.read_text(), flags=re.MULTILINE)
    pages = {part.partition("\n")[0]: part.partition("\n")[2].strip() for part in parts}
    assert list(pages) == [rule["alert"] for rule in rules]
    assert all(len(page.split()) > 40 for page in pages.values())


def test_the_operators_rules_are_the_plain_ones() -> None:
    manifest = yaml.safe_load(OPERATOR_RULES.read_text())
    assert (manifest["apiVersion"], manifest["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert manifest["spec"] == yaml.safe_load(RULES.read_text())


def test_each_alert_is_tested_by_the_file_that_promtool_runs() -> None:
    tests = yaml.safe_load(RULE_TESTS.read_text())
    assert tests["rule_files"] == [RULES.name]
    firing = json.dumps([[*each.get("alert_rule_test", []), *each["promql_expr_test"]] for each in tests["tests"][3:]])
    firing += json.dumps([[each["exp_alerts"] for each in test["alert_rule_test"]] for test in tests["tests"][1:3]])
    assert [rule["alert"] for rule in rules if rule["alert"].lower() not in firing.lower()] == []
    (well,) = tests["tests"][0]["promql_expr_test"]
    assert (well["expr"], well["exp_samples"]) == ('ALERTS{alertstate="firing"}', [])


def test_what_asks_for_somebody_is_all_that_is_counted_as_held() -> None:
    (rule,) = (rule for rule in rules if rule["alert"] == "LeewardEvictionsHeld")
    (selector,) = selectors(rule["expr"])
    (matcher,) = selector.matchers.matchers
    assert set(matcher.value.split("|")) == {str(reason) for reason, hold in HOLDS.items() if hold is Hold.HELD}


@pytest.mark.parametrize("panel", panels, ids=[panel["title"] for panel in panels])
def test_a_panel_shows_what_is_measured(panel: dict[str, Any]) -> None:
    assert panel["targets"]
    for target in panel["targets"]:
        assert list(problems(target["expr"])) == []
        said = re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])
        assert all(name in target["expr"] for name in said)
    assert panel["description"].endswith(".")


def test_the_board_takes_any_prometheus_and_its_panels_lie_beside_each_other() -> None:
    assert [each["name"] for each in BOARD["templating"]["list"]] == ["datasource"]
    places = [panel["gridPos"] for panel in BOARD["panels"]]
    for one, other in combinations(places, 2):
        apart_x = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        apart_y = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert apart_x or apart_y, (one, other)
    assert all(place["x"] + place["w"] <= 24 for place in places)
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert len(ids) == len(set(ids))
