"""Node ports, and who asked for them: a field manager, kubectl's last applied configuration, or nobody."""

import json
from typing import Any

import pytest

from kubeapi.codec import from_wire
from kubeapi.meta import Manifest
from kubeapi.node_ports import retain_node_ports
from leeward.api.work import Work
from leeward.core.execution.given_ports import LAST_APPLIED_ANNOTATION, as_asked, without_unasked
from leeward.core.interpreter import retain

KEY = 'k:{"port":80,"protocol":"TCP"}'
OWNED: Manifest = {"f:spec": {"f:ports": {KEY: {"f:nodePort": {}}}}}
OTHERS: Manifest = {"f:spec": {"f:ports": {KEY: {"f:port": {}}, 'k:{"port":80,"protocol":"UDP"}': {"f:nodePort": {}}}}}


def service(*owned: Manifest, applied: Manifest | None = None, **spec: Any) -> Manifest:
    managers = [{"manager": "kubectl", "operation": "Update", "fieldsV1": each} for each in owned]
    annotations = {LAST_APPLIED_ANNOTATION: json.dumps({"spec": applied})} if applied is not None else {}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "managedFields": managers, "annotations": annotations},
        "spec": {"type": "NodePort", "ports": [{"port": 80, "protocol": "TCP", "nodePort": 31000}], **spec},
    }


def port_of(manifest: Any) -> int | None:
    return manifest["spec"]["ports"][0].get("nodePort")


def work(manifest: Manifest, status: str = "True") -> Work:
    condition = {"type": "Applied", "status": status, "reason": "x"}
    wire = {"metadata": {"name": "w"}, "spec": {"workload": {"manifests": [manifest]}}}
    return from_wire({**wire, "status": {"conditions": [condition]}}, Work)


@pytest.mark.parametrize(
    ("made", "asked"),
    [
        (service(OWNED), True),
        (service(OTHERS), False),
        (service(OTHERS, OWNED), True),
        (service(OTHERS, applied={"ports": [{"port": 80, "nodePort": 31000}]}), True),
        (service(OTHERS, applied={"ports": [{"port": 80}]}), False),
        (service(applied={"ports": [{"port": 80}]}), False),
        (service(), True),
        (service(OTHERS, type="ClusterIP"), True),
        ({**service(OTHERS), "apiVersion": "example.com/v1"}, True),
    ],
    ids=[
        "owned",
        "owned but for the port",
        "owned by one of two",
        "applied with the port",
        "applied without, and owned by nobody",
        "applied without",
        "nobody can tell",
        "not opened",
        "another kind",
    ],
)
def test_a_port_is_passed_on_where_somebody_asked_for_it(made: Manifest, asked: bool) -> None:
    before = json.dumps(made)
    assert port_of(as_asked(made)) == (31000 if asked else 0)
    assert port_of(without_unasked(as_asked(made), made, None)) == (31000 if asked else None)
    assert json.dumps(made) == before


def test_a_report_of_status_is_no_wish() -> None:
    made = service(OTHERS)
    made["metadata"]["managedFields"].append({"subresource": "status", "fieldsV1": OWNED})
    assert port_of(as_asked(made)) == 0


@pytest.mark.parametrize("odd", ["k:{", "k:[1]", "v:1", 'k:{"port":"80"}', "k:" + "[" * 100_000])
def test_odd_managers_and_configurations_are_no_wish_and_no_error(odd: str) -> None:
    made = service({"f:spec": {"f:ports": {odd: {"f:nodePort": {}}}}})
    made["metadata"]["annotations"][LAST_APPLIED_ANNOTATION] = odd
    assert port_of(as_asked(made)) == 0


@pytest.mark.parametrize(
    ("had", "status", "kept"),
    [(31000, "True", 31000), (31000, "False", None), (31001, "True", None), (0, "True", None)],
)
def test_what_a_work_has_carried_out_stays_in_it(had: int, status: str, kept: int | None) -> None:
    made = service(OTHERS)
    before = service(ports=[{"port": 80, "protocol": "TCP", "nodePort": had}])
    assert port_of(without_unasked(as_asked(made), made, work(before, status))) == kept


def test_the_port_of_health_checks_is_judged_alike() -> None:
    balanced: Manifest = {"type": "LoadBalancer", "healthCheckNodePort": 32000}
    made = service(OTHERS, **balanced)
    assert "healthCheckNodePort" not in without_unasked(as_asked(made), made, None)["spec"]
    asked = service({"f:spec": {"f:healthCheckNodePort": {}}}, **balanced)
    assert without_unasked(as_asked(asked), asked, None)["spec"]["healthCheckNodePort"] == 32000
    assert without_unasked(as_asked(made), made, work(made))["spec"]["healthCheckNodePort"] == 32000


@pytest.mark.parametrize(
    ("desired", "observed", "expected"),
    [
        ([{"port": 80}], [{"port": 80, "nodePort": 1}], [1]),
        ([{"port": 80}], [{"port": 80, "protocol": "UDP", "nodePort": 1}], [1]),
        ([{"port": 81, "name": "a"}], [{"port": 80, "name": "a", "nodePort": 1}], [1]),
        ([{"port": 81, "name": "a"}], [{"port": 80, "name": "b", "nodePort": 1}], [0]),
        ([{"port": 80, "nodePort": 2}], [{"port": 80, "nodePort": 1}], [2]),
        ([{"port": 80}, {"port": 81, "nodePort": 1}], [{"port": 80, "nodePort": 1}], [0, 1]),
        (
            [{"port": 81, "name": "a"}, {"port": 80, "name": "b"}],
            [{"port": 80, "name": "a", "nodePort": 1}, {"port": 81, "name": "b", "nodePort": 2}],
            [2, 1],
        ),
    ],
    ids=["the same", "another protocol", "another number", "another port", "asked for", "given away", "crossed"],
)
def test_the_members_choice_is_kept(desired: list[Any], observed: list[Any], expected: list[int]) -> None:
    merged = retain(service(ports=desired), service(ports=observed))
    assert [port.get("nodePort", 0) for port in merged["spec"]["ports"]] == expected


@pytest.mark.parametrize(
    "more", [{"type": "ClusterIP"}, {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}]
)
def test_what_is_not_opened_keeps_no_port(more: Manifest) -> None:
    merged = retain(service(ports=[{"port": 80}], **more), service(ports=[{"port": 80, "nodePort": 1}]))
    assert port_of(merged) is None


def test_one_node_port_for_both_protocols_of_a_number_is_kept_for_both() -> None:
    """kube-apiserver 1.36, pkg/registry/core/service: TCP and UDP of one port number get the same node port."""
    both = [{"name": protocol.lower(), "port": 53, "protocol": protocol} for protocol in ("TCP", "UDP")]
    desired = service(OTHERS, ports=both)
    observed = service(OTHERS, ports=[{**port, "nodePort": 31053} for port in both])
    retain_node_ports(desired, observed)
    assert [port.get("nodePort") for port in desired["spec"]["ports"]] == [31053, 31053]
