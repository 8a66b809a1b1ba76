"""Room on nodes: what fits where, with claims, sidecars, sets, what is assumed, and nodes that come and go."""

from collections.abc import Mapping
from typing import Any

import pytest

from kubeapi.codec import from_wire
from kubeapi.core import Node
from leeward.api.work import Component, ComponentReplicaRequirements
from leeward.core.scheduling.model import MAX_REPLICAS
from leeward.estimator.node_room import MAX_SETS, NodeRoom, pod_sizes
from leeward.estimator.objects import PlacedPod

NOTHING: dict[str, Any] = {}
HALF = {"cpu": "500m", "memory": "512Mi"}


def node(name: str, cpu: str = "2", pods: str = "10", *, is_ready: str = "True", **more: Any) -> Node:
    allocatable = {"cpu": cpu, "memory": "4Gi", "pods": pods, **more.pop("allocatable", {})}
    metadata = {"name": name, "labels": more.pop("labels", {})}
    status = {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": is_ready}]}
    return from_wire({"metadata": metadata, "spec": more, "status": status}, Node)


def pod(name: str, on: str, cpu: str = "1", phase: str = "Running", **spec: Any) -> PlacedPod:
    containers = [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]
    body = {"nodeName": on, "containers": containers, **spec}
    metadata = {"name": name, "namespace": "default"}
    return from_wire({"metadata": metadata, "spec": body, "status": {"phase": phase}}, PlacedPod)


def room(*seen: Node | PlacedPod) -> NodeRoom:
    found = NodeRoom()
    for each in seen:
        if isinstance(each, Node):
            found.see_node(None, each)
        else:
            found.see_pod(None, each)
    return found


def asking(request: Mapping[str, str] = HALF, **claim: Any) -> ComponentReplicaRequirements:
    return from_wire({"resourceRequest": request, "nodeClaim": claim or None}, ComponentReplicaRequirements)


def component(replicas: int, request: Mapping[str, str] = HALF, **claim: Any) -> Component:
    return Component(name="some", replicas=replicas, replica_requirements=asking(request, **claim))


def test_replicas_fit_node_by_node_and_not_into_the_sum_of_what_is_left() -> None:
    fragmented = room(node("n1", cpu="700m"), node("n2", cpu="800m"), node("n3", cpu="900m"))
    assert fragmented.replicas(asking({"cpu": "1"})) == 0
    assert fragmented.replicas(asking({"cpu": "400m"})) == 1 + 2 + 2


def test_pods_take_what_they_ask_for_until_they_are_over() -> None:
    found = room(node("n1"), pod("a", on="n1"), pod("b", on="n1", cpu="500m"))
    assert found.replicas(asking()) == 1
    found.see_pod(pod("b", on="n1", cpu="500m"), pod("b", on="n1", cpu="500m", phase="Succeeded"))
    assert found.replicas(asking()) == 2
    found.see_pod(pod("a", on="n1"), None)
    assert found.replicas(asking()) == 4


def test_a_pod_that_is_resized_or_gets_its_node_counts_once() -> None:
    found = room(node("n1"), pod("a", on="", phase="Pending"))
    assert found.replicas(asking()) == 4
    found.see_pod(None, pod("a", on="n1"))
    found.see_pod(None, pod("a", on="n1", cpu="1500m"))
    assert found.replicas(asking()) == 1


def test_a_node_holds_no_more_pods_than_it_says() -> None:
    assert room(node("n1", pods="1")).replicas(asking()) == 1
    assert room(node("n1", pods="3"), pod("a", on="n1", cpu="0")).replicas(asking({})) == 2


def test_pods_may_be_known_before_their_node_and_after_it() -> None:
    found = room(pod("a", on="n1"), node("n1"))
    assert found.replicas(asking()) == 2
    found.see_node(node("n1"), None)
    assert found.replicas(asking()) == 0
    found.see_node(None, node("n1"))
    assert found.replicas(asking()) == 2


def test_a_resource_that_no_node_has_fits_nowhere() -> None:
    assert room(node("n1")).replicas(asking({"example.com/gpu": "1"})) == 0
    assert room(node("n1", allocatable={"example.com/gpu": "3"})).replicas(asking({"example.com/gpu": "1"})) == 3


@pytest.mark.parametrize(
    ("seen", "claim", "fits"),
    [
        (node("n1", is_ready="Unknown"), {}, 0),
        (node("n1", unschedulable=True), {}, 0),
        (node("n1", unschedulable=True), {"tolerations": [{"operator": "Exists"}]}, 4),
        (node("n1", taints=[{"key": "a", "effect": "NoSchedule"}]), {}, 0),
        (node("n1", taints=[{"key": "a", "effect": "NoSchedule"}]), {"tolerations": [{"key": "a"}]}, 4),
        (node("n1", taints=[{"key": "a", "effect": "PreferNoSchedule"}]), {}, 4),
        (node("n1"), {"nodeSelector": {"disk": "ssd"}}, 0),
        (node("n1", labels={"disk": "ssd"}), {"nodeSelector": {"disk": "ssd"}}, 4),
    ],
    ids=["not ready", "cordoned", "cordon tolerated", "taint", "tolerated", "preference", "no label", "label"],
)
def test_only_nodes_that_take_the_replica_count(seen: Node, claim: Mapping[str, Any], fits: int) -> None:
    assert room(seen).replicas(asking(HALF, **claim)) == fits


@pytest.mark.parametrize(
    ("terms", "fits"),
    [
        ([{"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["3"]}]}], 4),
        ([{"matchExpressions": [{"key": "cores", "operator": "Lt", "values": ["3"]}]}], 0),
        ([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}], 4),
        ([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}], 0),
        ([NOTHING, {"matchExpressions": [{"key": "cores", "operator": "Exists"}]}], 4),
        ([NOTHING], 0),
        ([], 0),
        ([{"matchExpressions": [{"key": "cores", "operator": "Unheard"}]}], 0),
    ],
    ids=["more", "less", "its name", "another name", "one of two", "an empty term", "no term", "an unknown operator"],
)
def test_affinity_is_that_of_kubernetes(terms: list[Any], fits: int) -> None:
    found = room(node("n1", labels={"cores": "4"}))
    assert found.replicas(asking(HALF, hardNodeAffinity={"nodeSelectorTerms": terms})) == fits


def test_a_set_fits_as_often_as_all_of_it_does() -> None:
    found = room(node("n1", labels={"disk": "ssd"}), node("n2"))
    job = component(1, {"cpu": "500m"}, nodeSelector={"disk": "ssd"})
    assert found.sets([job, component(2)]) == 2
    assert found.sets([component(9)]) == 0
    assert found.replicas(asking()) == 8, "a question takes nothing"


def test_sets_that_ask_for_nothing_are_bounded() -> None:
    assert room(node("n1")).sets([component(0)]) == MAX_REPLICAS
    assert room(*(node(f"n{i}", pods="9000") for i in range(2))).sets([component(1, {})]) == MAX_SETS


def test_what_is_on_its_way_takes_its_room_first() -> None:
    found = room(node("n1"), node("n2"))
    assert found.replicas(asking(), [component(3)]) == 5
    assert found.replicas(asking(), [component(1_000_000)]) == 0
    assert found.sets([component(2)], [component(3)]) == 2


def test_what_cannot_be_read_counts_as_nothing_and_in_a_question_is_refused() -> None:
    found = room(node("n1", cpu="two"), node("n2"), pod("a", on="n2", cpu="lots"))
    assert found.replicas(asking()) == 4
    with pytest.raises(ValueError, match="lots"):
        found.replicas(asking({"cpu": "lots"}))


def test_absurd_amounts_stay_within_what_can_be_said() -> None:
    assert room(node("n1", cpu="9e30", pods="9e30")).replicas(asking({"cpu": "1m"})) == MAX_REPLICAS
    assert room(node("n1", cpu="-4")).replicas(asking({"cpu": "1m"})) == 0


def test_sidecars_run_beside_the_containers_and_init_containers_before_them() -> None:
    def part(cpu: str, **more: str) -> dict[str, Any]:
        return {"name": "part", "resources": {"requests": {"cpu": cpu}}, **more}

    sidecar = part("300m", restartPolicy="Always")
    assert pod_sizes(pod("a", on="n1", initContainers=[sidecar, part("500m")]))["cpu"] == 1_300
    assert pod_sizes(pod("a", on="n1", initContainers=[sidecar, part("2")]))["cpu"] == 2_300
    assert pod_sizes(pod("a", on="n1", initContainers=[part("2"), sidecar], overhead={"cpu": "1"}))["cpu"] == 3_000
    limited = {"name": "main", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}}
    assert pod_sizes(pod("a", on="n1", containers=[limited])) == {"cpu": 1_000, "memory": 2**30, "pods": 1}
