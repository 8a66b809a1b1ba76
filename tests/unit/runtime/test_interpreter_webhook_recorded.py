"""Recorded answers of Karmada's example webhook, over HTTPS: each operation is understood, and each error is told.

`tests/data/interpreter-webhook.json` says how they were made.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kubeapi.codec import from_wire
from kubeapi.meta import Manifest
from leeward.api.interpreter_config import DependentObjectReference
from leeward.api.work import AggregatedStatusItem, Component
from leeward.core.interpreter import ReplicaInterpretation
from leeward.core.interpreter.resource_health import ResourceHealth
from leeward.runtime.interpreter import NotInterpreted
from tests.https_server import Asked
from tests.unit.runtime.test_interpreter_webhooks import Ask, over_https

RECORDED: dict[str, dict[str, Any]] = {
    each["name"]: each
    for each in json.loads((Path(__file__).parents[2] / "data/interpreter-webhook.json").read_text())["answers"]
}
WORKLOAD: Manifest = RECORDED["replicas"]["request"]["object"]
BARE: Manifest = {**WORKLOAD, "status": {}}
SICK: Manifest = {**WORKLOAD, "status": {"readyReplicas": 1}}
PAUSED: Manifest = RECORDED["retain"]["request"]["observedObject"]
ITEMS = [from_wire(each, AggregatedStatusItem) for each in RECORDED["aggregate"]["request"]["aggregatedStatus"]]
SETTINGS = DependentObjectReference(api_version="v1", kind="ConfigMap", namespace="default", name="settings")


def heard(directory: Path, name: str, ask: Ask) -> tuple[Any, Any]:
    """Answer of the interpreter when the webhook says what it did, and the request that it got."""
    recorded, requests = RECORDED[name], list[Any]()

    def answer(asked: Asked) -> tuple[int, bytes, Mapping[str, str]]:
        requests.append(json.loads(asked.body)["request"])
        return recorded["code"], recorded["body"].encode(), {"content-type": recorded["contentType"]}

    return over_https(directory, answer, ask), requests[-1]


def with_spec(**changes: Any) -> Manifest:
    """The workload as the webhook patches it: Go writes the resources of a container, and no false."""
    template = json.loads(json.dumps(WORKLOAD["spec"]["template"]))
    template["spec"]["containers"][0]["resources"] = {}
    return {**WORKLOAD, "spec": {"replicas": 3, "template": template, **changes}}


UNDERSTOOD: list[tuple[str, Ask, Any]] = [
    ("replicas", lambda i: i.replicas(WORKLOAD), ReplicaInterpretation(3, None)),
    (
        "components",
        lambda i: i.replicas(WORKLOAD, multiple_pod_templates=True),
        ReplicaInterpretation(0, None, (Component(name="main", replicas=3),)),
    ),
    ("revise", lambda i: i.revise(WORKLOAD, 2), with_spec(replicas=2)),
    ("retain", lambda i: i.retain(WORKLOAD, PAUSED), with_spec(paused=True)),
    ("aggregate", lambda i: i.aggregate(WORKLOAD, ITEMS), {**with_spec(), "status": {"readyReplicas": 5}}),
    ("dependencies", lambda i: i.dependencies(WORKLOAD), [SETTINGS]),
    ("status", lambda i: i.status(WORKLOAD), {"readyReplicas": 3}),
    ("status-empty", lambda i: i.status(BARE), {}),
    ("healthy", lambda i: i.health(WORKLOAD), ResourceHealth.HEALTHY),
    ("unhealthy", lambda i: i.health(SICK), ResourceHealth.UNHEALTHY),
]


@pytest.mark.parametrize(("name", "ask", "expected"), UNDERSTOOD, ids=[name for name, _, _ in UNDERSTOOD])
def test_each_operation_is_understood(tmp_path: Path, name: str, ask: Ask, expected: Any) -> None:
    found, request = heard(tmp_path, name, ask)
    assert found == expected
    assert request == RECORDED[name]["request"], "the webhook is asked what it was asked for the record"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (
            "object-not-read",
            "did not succeed: json: cannot unmarshal string into Go struct field WorkloadSpec.spec.replicas "
            "of type int32 (code 400)",
        ),
        (
            "retain-without-observed",
            "did not succeed: nil observedObject in exploreReview with operation type: Retain (code 400)",
        ),
        ("unknown-operation", "did not succeed: wrong request operation type: Prune (code 400)"),
        (
            "no-json",
            "did not succeed: couldn't get version/kind; json parse error: unexpected end of JSON input (code 400)",
        ),
        (
            "content-type",
            "did not succeed: contentType=application/json; charset=utf-8, expected application/json (code 400)",
        ),
        ("no-such-path", "answered with code 404: 404 page not found"),
    ],
)
def test_an_error_is_told_and_is_neither_zero_nor_empty_nor_ill(tmp_path: Path, name: str, why: str) -> None:
    asks: list[Ask] = [
        lambda i: i.replicas(WORKLOAD),
        lambda i: i.dependencies(WORKLOAD),
        lambda i: i.status(WORKLOAD),
        lambda i: i.health(WORKLOAD),
    ]
    for ask in asks:
        with pytest.raises(NotInterpreted) as refused:
            heard(tmp_path, name, ask)
        assert str(refused.value) == f"webhook farms.example.com: it {why}"
