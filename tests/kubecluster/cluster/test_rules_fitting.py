"""The choice of a node, and the nodes themselves."""

from decimal import Decimal
from typing import Any

import pytest

from kubeapi.codec import from_wire
from kubeapi.core import Node
from kubeapi.meta import Manifest, parse_time
from kubecluster.kubelet import choose_address
from kubecluster.rules.fitting import Unschedulable, choose_node, requests_of
from kubecluster.rules.node import MAX_NODES, host_address, render_node, restored_status

NOW = parse_time("2026-01-01T10:00:00Z")


def node(name: str, *, ready: bool = True, cpu: str = "4", **spec: Any) -> Node:
    manifest = {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": spec,
        "status": {
            "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "3"},
            "conditions": [{"type": "Ready", "status": str(ready)}],
        },
    }
    return from_wire(manifest, Node)


def asking(cpu: str = "1", **spec: Any) -> Manifest:
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], **spec}}


def amounts(**values: int) -> dict[str, Decimal]:
    return {name: Decimal(value) for name, value in values.items()}


def affinity(**term: Any) -> Manifest:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"nodeAffinity": required}


@pytest.mark.parametrize(
    ("used", "chosen"),
    [
        ({}, "a"),
        ({"a": amounts(cpu=1, pods=1)}, "b"),
        ({"a": amounts(cpu=1, pods=1), "b": amounts(cpu=2, pods=1)}, "a"),
        ({"a": amounts(cpu=4, pods=1), "b": amounts(cpu=3, pods=2)}, "b"),
    ],
)
def test_the_node_that_is_least_allocated_is_chosen_then_the_first_by_name(used: Any, chosen: str) -> None:
    assert choose_node(asking(), [node("b"), node("a")], used) == chosen


@pytest.mark.parametrize(
    ("pod", "nodes", "used", "message"),
    [
        (asking("5"), [node("a"), node("b")], {}, "0/2 nodes are available: 2 Insufficient cpu."),
        (asking(), [node("a", ready=False)], {}, "0/1 nodes are available: 1 node(s) were not ready."),
        (asking(), [node("a", unschedulable=True)], {}, "0/1 nodes are available: 1 node(s) were unschedulable."),
        (asking(), [node("a")], {"a": amounts(pods=3)}, "0/1 nodes are available: 1 Too many pods."),
        (
            asking(),
            [node("a", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]), node("b", cpu="500m")],
            {},
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s) {gpu: yes}.",
        ),
        (
            asking(nodeSelector={"disk": "ssd"}),
            [node("a")],
            {},
            "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
        ),
        (asking(), [], {}, "no nodes available to schedule pods"),
    ],
)
def test_a_pod_that_fits_nowhere_is_told_why(pod: Manifest, nodes: list[Node], used: Any, message: str) -> None:
    assert choose_node(pod, nodes, used) == Unschedulable(message)


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeSelector": {"kubernetes.io/hostname": "b"}},
        {"affinity": affinity(matchFields=[{"key": "metadata.name", "operator": "In", "values": ["b"]}])},
        {"affinity": affinity(matchExpressions=[{"key": "kubernetes.io/hostname", "operator": "In", "values": ["b"]}])},
    ],
)
def test_selectors_and_affinity_are_heard(spec: Manifest) -> None:
    assert choose_node(asking(**spec), [node("a"), node("b")], {}) == "b"


def test_a_tolerated_taint_is_no_hindrance() -> None:
    taint = {"key": "gpu", "effect": "NoSchedule", "timeAdded": "2026-01-01T10:00:00Z"}
    tolerations = [{"key": "gpu", "operator": "Exists"}]
    assert choose_node(asking(tolerations=tolerations), [node("a", taints=[taint])], {}) == "a"


def test_requests_are_the_sum_of_containers_or_the_greatest_init_container() -> None:
    def container(cpu: str, field: str = "requests") -> Manifest:
        return {"name": "c", "resources": {field: {"cpu": cpu}}}

    spec = {
        "containers": [container("100m"), container("200m", "limits"), container("nonsense")],
        "initContainers": [container("250m"), container("1")],
        "overhead": {"cpu": "50m"},
    }
    assert requests_of({"spec": spec}) == {"cpu": Decimal("1.05"), "pods": Decimal(1)}


def test_nodes_have_addresses_of_their_own() -> None:
    nodes = [render_node(index, {"cpu": "1"}, NOW) for index in (0, 1, MAX_NODES - 1)]
    assert [host_address(n) for n in nodes][:2] == ["172.18.0.2", "172.18.0.3"]
    assert [n["spec"]["podCIDR"] for n in nodes] == ["10.128.0.0/22", "10.128.4.0/22", "10.255.252.0/22"]


def test_the_status_of_a_node_is_put_back_and_keeps_what_others_added() -> None:
    observed = render_node(0, {"cpu": "1"}, NOW)
    own = {"type": "Own", "status": "True"}
    broken = [{**c, "status": "False"} if c["type"] == "Ready" else c for c in observed["status"]["conditions"]]
    status = {**observed["status"], "conditions": [*broken, own], "allocatable": {"cpu": "9", "gpu": "1"}}
    later = parse_time("2026-01-01T11:00:00Z")
    restored = restored_status({**observed, "status": status}, render_node(0, {"cpu": "1"}, later))
    by_type = {condition["type"]: condition for condition in restored["conditions"]}
    assert restored["allocatable"] == {"cpu": "1", "gpu": "1"}
    assert by_type["Own"] == own
    assert (by_type["Ready"]["status"], by_type["Ready"]["lastTransitionTime"]) == ("True", "2026-01-01T11:00:00Z")
    assert by_type["DiskPressure"]["lastTransitionTime"] == "2026-01-01T10:00:00Z"


def test_an_unchanged_node_is_restored_to_what_it_is() -> None:
    observed = render_node(0, {"cpu": "1"}, NOW)
    later = render_node(0, {"cpu": "1"}, parse_time("2026-01-01T11:00:00Z"))
    assert restored_status(observed, later) == observed["status"]


def test_a_pod_gets_the_first_free_address() -> None:
    assert choose_address("10.128.4.0/22", ()) == "10.128.4.2"
    assert choose_address("10.128.4.0/22", {"10.128.4.2", "10.128.4.3"}) == "10.128.4.4"
    assert choose_address("10.128.4.0/30", {"10.128.4.2"}) is None
