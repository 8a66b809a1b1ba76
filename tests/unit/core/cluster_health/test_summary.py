"""Summaries of nodes and pods, grades of nodes, and what becomes of absurd numbers."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from msgspec import structs

from kubeapi.codec import from_wire
from kubeapi.core import NodeCondition
from leeward.api.cluster import ResourceModel, ResourceModelRange
from leeward.api.counted import CountedContainer as Container
from leeward.api.counted import CountedMeta as Meta
from leeward.api.counted import CountedNode as Node
from leeward.api.counted import CountedNodeSpec as NodeSpec
from leeward.api.counted import CountedNodeStatus as NodeStatus
from leeward.api.counted import CountedPod as Pod
from leeward.api.counted import CountedPodSpec as PodSpec
from leeward.api.counted import CountedPodStatus as PodStatus
from leeward.api.counted import CountedResources as Requirements
from leeward.api.defaulting import default_resource_models
from leeward.core.amounts import Amount, Amounts, Doubts, read_amounts, sum_amounts
from leeward.core.cluster_health.modeling import count_grades
from leeward.core.cluster_health.summary import Summary
from leeward.planning.node_table import NodeTable
from leeward.planning.pod_table import PodTable
from leeward.planning.usage_summary import UsageSummary

DEFAULT_MODELS = tuple(from_wire(model, ResourceModel) for model in default_resource_models())


def summarize(nodes: list[Node], pods: list[Pod], models: tuple[ResourceModel, ...] = ()) -> Summary:
    """Summary made from tables; Pods get names of their own."""
    node_table, pod_table = NodeTable(), PodTable()
    for each in nodes:
        node_table.put(each)
    for number, each in enumerate(pods):
        meta = Meta(name=f"{each.metadata.name}{number}", namespace=each.metadata.namespace)
        pod_table.put(structs.replace(each, metadata=meta))
    return UsageSummary().summary(node_table, pod_table, models)


def node(name: str = "n", ready: bool = True, closed: bool = False, **allocatable: str) -> Node:
    return Node(
        metadata=Meta(name=name),
        spec=NodeSpec(unschedulable=closed),
        status=NodeStatus(
            allocatable={"pods": "110", **allocatable},
            conditions=(NodeCondition("Ready", "True" if ready else "False"),),
        ),
    )


def pod(on: str = "", phase: str = "", init: Mapping[str, str] | None = None, **requests: Any) -> Pod:
    initial = (Container(resources=Requirements(requests=init)),) if init else ()
    return Pod(
        metadata=Meta(name="p", namespace="default"),
        spec=PodSpec(
            node_name=on, containers=(Container(resources=Requirements(requests=requests)),), init_containers=initial
        ),
        status=PodStatus(phase=phase),
    )


def grades(nodes: list[Node], pods: list[Pod], models: tuple[ResourceModel, ...] = DEFAULT_MODELS) -> dict[int, int]:
    """The grades that have nodes."""
    modelings = summarize(nodes, pods, models).resources.allocatable_modelings
    return {modeling.grade: modeling.count for modeling in modelings if modeling.count}


def test_nodes_that_are_not_usable_count_but_offer_nothing() -> None:
    nodes = [node("a", cpu="4"), node("b", ready=False, cpu="8"), node("c", closed=True, cpu="16")]
    summary = summarize(nodes, [])
    assert (summary.nodes.total_num, summary.nodes.ready_num) == (3, 2)
    assert summary.resources.allocatable == {"cpu": "4", "pods": "110"}


def test_pods_that_wait_and_pods_that_run_are_told_apart_and_finished_ones_left_out() -> None:
    pods = [
        pod(on="n", phase="Running", cpu="500m", memory="1Gi", init={"cpu": "2"}),
        pod(on="n", phase="Succeeded", cpu="8"),
        pod(phase="Pending", cpu="1"),
    ]
    resources = summarize([node(cpu="4")], pods).resources
    assert resources.allocated == {"cpu": "2", "memory": "1Gi", "pods": "1"}
    assert resources.allocating == {"cpu": "1", "pods": "1"}


@pytest.mark.parametrize(
    ("cpu", "memory", "grade"),
    [
        ("500m", "1Gi", 0),
        ("1", "4Gi", 1),
        ("1", "3Gi", 0),
        ("2", "16Gi", 2),
        ("64", "4Gi", 1),
        ("127", "1000Gi", 7),
        ("128", "1Ti", 8),
        ("4k", "100Ti", 8),
    ],
)
def test_a_node_is_of_the_highest_default_grade_that_it_reaches_in_all_resources(
    cpu: str, memory: str, grade: int
) -> None:
    assert grades([node(cpu=cpu, memory=memory)], []) == {grade: 1}


def test_what_pods_have_taken_of_a_node_lowers_its_grade() -> None:
    nodes = [node("a", cpu="8", memory="64Gi"), node("b", cpu="8", memory="64Gi")]
    assert grades(nodes, []) == {4: 2}
    assert grades(nodes, [pod(on="b", cpu="5", memory="1Gi")]) == {4: 1, 2: 1}


def test_all_grades_are_told_in_their_order_also_those_without_nodes() -> None:
    modelings = summarize([node(cpu="1", memory="4Gi")], [], DEFAULT_MODELS).resources.allocatable_modelings
    assert [(m.grade, m.count) for m in modelings] == [(grade, int(grade == 1)) for grade in range(9)]


def test_a_node_without_room_for_a_pod_is_of_no_grade_and_hides_no_other() -> None:
    nodes = [node("full", cpu="2", memory="16Gi", pods="1"), node("free", cpu="2", memory="16Gi")]
    assert grades(nodes, [pod(on="full")]) == {2: 1}
    assert grades(nodes, []) == {2: 2}


def model(grade: int, **mins: str) -> ResourceModel:
    return ResourceModel(grade, tuple(ResourceModelRange(name, low, "1Ei") for name, low in mins.items()))


def test_custom_models_are_used_in_order_of_grade_whatever_their_order() -> None:
    custom = (model(1, cpu="2", gpu="1"), model(0, cpu="0", gpu="0"))
    nodes = [node("plain", cpu="16"), node("gpu", cpu="4", gpu="8")]
    assert grades(nodes, [], custom) == {0: 1, 1: 1}


@pytest.mark.parametrize(
    "models",
    [
        (),
        (model(0, cpu="0"), model(1, cpu="much")),
        (model(0, cpu="0"), model(1, memory="1Gi")),
        (model(0, cpu="2"), model(1, cpu="1")),
        (model(0),),
    ],
)
def test_models_that_make_no_sense_give_no_grades(models: tuple[ResourceModel, ...]) -> None:
    assert count_grades(models, [({"pods": Amount(Decimal(1), False)}, {})]) == ()


def test_a_node_below_the_lowest_bound_is_of_no_grade() -> None:
    assert grades([node(cpu="1")], [], (model(0, cpu="2"),)) == {}


@pytest.mark.parametrize(
    ("quantity", "counted"), [("-5", "0"), ("1e999999999", "9223372036854775807"), ("lots", None), ("8Ei", None)]
)
def test_s10_absurd_numbers_are_cut_down_and_named(quantity: str, counted: str | None) -> None:
    summary = summarize([node("liar", cpu=quantity)], [])
    if counted is not None:
        assert summary.resources.allocatable["cpu"] == counted
    assert summary.doubts == f"Node liar: cpu is {quantity}"


def test_s10_sums_stay_within_64_bits() -> None:
    nodes = [node(name, memory="7Ei") for name in "abc"]
    summary = summarize(nodes, [])
    assert summary.resources.allocatable["memory"] == "9223372036854775807"


def test_s10_absurd_requests_of_a_pod_are_named_with_it() -> None:
    summary = summarize([node(cpu="4")], [pod(on="n", cpu="-1"), pod(cpu="x" * 10_000)])
    assert summary.doubts == f"Pod default/p0: cpu is -1; Pod default/p1: cpu is {'x' * 40}"
    assert summary.resources.allocated["cpu"] == "0"


def test_doubts_are_bounded() -> None:
    doubts = Doubts()
    for number in range(1_000):
        read_amounts({"cpu": "-1"}, f"Node {number}", doubts)
    assert str(doubts).endswith("Node 4: cpu is -1; and 995 more")


def test_a_sum_is_written_with_binary_suffixes_when_one_of_its_parts_is() -> None:
    parts: list[Amounts] = [{"memory": Amount(Decimal(1024), False)}, {"memory": Amount(Decimal(1024), True)}]
    assert sum_amounts(parts) == {"memory": Amount(Decimal(2048), True)}


@pytest.mark.parametrize(
    ("on", "phase", "told"),
    [
        ("", "", "allocating"),
        ("", "Pending", "allocating"),
        ("", "Running", ""),
        ("", "Failed", ""),
        ("n", "", "allocated"),
        ("n", "Pending", "allocated"),
        ("n", "Running", "allocated"),
        ("n", "Unknown", "allocated"),
        ("n", "Succeeded", ""),
        ("n", "Failed", ""),
    ],
)
def test_where_a_pod_counts(on: str, phase: str, told: str) -> None:
    resources = summarize([node(cpu="4")], [pod(on=on, phase=phase, cpu="1")]).resources
    counted = {"allocated": resources.allocated, "allocating": resources.allocating}
    assert counted == {kind: {"cpu": "1", "pods": "1"} if kind == told else {} for kind in counted}


def test_a_pod_takes_its_containers_or_its_greatest_init_container_and_its_overhead() -> None:
    def container(**requirements: Any) -> Container:
        return Container(resources=Requirements(**requirements))

    spec = PodSpec(
        node_name="n",
        containers=(container(requests={"cpu": "1"}), container(limits={"cpu": "2", "memory": "1Gi"})),
        init_containers=(container(requests={"cpu": "2"}), container(requests={"memory": "3Gi"})),
        overhead={"cpu": "250m"},
    )
    taken = summarize([], [Pod(metadata=Meta(name="p"), spec=spec)]).resources.allocated
    assert taken == {"cpu": "3250m", "memory": "3Gi", "pods": "1"}
    both = container(requests={"cpu": "1"}, limits={"cpu": "5"})
    bound = PodSpec(node_name="n", containers=(both,))
    assert summarize([], [Pod(metadata=Meta(name="p"), spec=bound)]).resources.allocated["cpu"] == "1"


def test_pods_are_counted_in_tens() -> None:
    waiting = [pod(cpu="1")] * 1024
    assert summarize([], waiting).resources.allocating == {"cpu": "1024", "pods": "1024"}


def test_whose_number_is_absurd_is_said_by_its_kind_and_name() -> None:
    absurd = summarize([node("a", cpu="-3")], [pod(on="a", cpu="much"), pod(memory="-1", init={"cpu": "-7"})])
    for whose in ("Node a", "Pod default/p0", "Pod default/p1"):
        assert whose in absurd.doubts
    assert summarize([], [pod(init={"cpu": "-7"})]).doubts == "Pod default/p0: cpu is -7"
    overhead = PodSpec(overhead={"cpu": "-5"}, containers=())
    told = summarize([], [Pod(metadata=Meta(name="q", namespace="x"), spec=overhead)]).doubts
    assert "Pod x/q" in told
    assert summarize([node("a", cpu="3")], [pod(on="a", cpu="1")]).doubts == ""


def test_only_the_condition_ready_tells_whether_a_node_is_ready() -> None:
    conditions = (NodeCondition("MemoryPressure", "True"), NodeCondition("Ready", "Unknown"))
    found = Node(metadata=Meta(name="a"), status=NodeStatus(allocatable={"cpu": "4"}, conditions=conditions))
    summary = summarize([found], [])
    assert (summary.nodes.total_num, summary.nodes.ready_num, summary.resources.allocatable) == (1, 0, {})
