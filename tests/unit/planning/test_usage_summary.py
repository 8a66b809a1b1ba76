"""Summaries by difference are equal to those that are added up anew, whatever has happened."""

import tracemalloc
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeapi.codec import from_wire
from leeward.api.cluster import ResourceModel
from leeward.api.counted import CountedNode, CountedPod
from leeward.api.defaulting import default_resource_models
from leeward.core.cluster_health.summary import Summary
from leeward.planning.node_table import NodeTable
from leeward.planning.pod_table import PodTable
from leeward.planning.usage_summary import STEP, UsageSummary
from tests.unit.planning import summary_reference

MODELS = tuple(from_wire(model, ResourceModel) for model in default_resource_models())
GPUS = tuple(
    from_wire({"grade": grade, "ranges": [{"name": "nvidia.com/gpu", "min": low, "max": "9"}]}, ResourceModel)
    for grade, low in ((1, "1"), (0, "0"))
)
ALLOCATABLE: tuple[dict[str, str], ...] = (
    {"cpu": "4", "memory": "16Gi", "pods": "3"},
    {"cpu": "7910m", "memory": "31Gi", "pods": "110", "nvidia.com/gpu": "2"},
    {"cpu": "64", "memory": "512000000", "pods": "110"},
    {"cpu": "-4", "memory": "1e99", "pods": "nine", "no resource": "1"},
    {},
)
REQUESTS: tuple[dict[str, str], ...] = (
    {},
    {"cpu": "100m", "memory": "128Mi"},
    {"cpu": "1500m", "memory": "8000000k"},
    {"cpu": "0", "nvidia.com/gpu": "1", "pods": "5"},
    {"cpu": "much", "memory": "-1", "ephemeral-storage": "7Ei"},
)


def node(name: str, allocatable: dict[str, str], *, ready: bool = True, closed: bool = False) -> CountedNode:
    conditions = [
        {"type": "MemoryPressure", "status": "True"},
        {"type": "Ready", "status": "True" if ready else "Unknown"},
    ]
    status = {"allocatable": allocatable, "conditions": conditions}
    return from_wire({"metadata": {"name": name}, "spec": {"unschedulable": closed}, "status": status}, CountedNode)


def pod(name: str, on: str, phase: str, requests: dict[str, str], initial: dict[str, str]) -> CountedPod:
    spec = {
        "nodeName": on,
        "containers": [{"resources": {"requests": requests}}, {"resources": {"limits": {"cpu": "50m"}}}],
        "initContainers": [{"resources": {"requests": initial}}],
        "overhead": {"memory": "1Mi"} if initial else {},
    }
    metadata = {"name": name, "namespace": "default"}
    return from_wire({"metadata": metadata, "spec": spec, "status": {"phase": phase}}, CountedPod)


nodes = st.builds(
    node,
    st.sampled_from(("a", "b", "c")),
    st.sampled_from(ALLOCATABLE),
    ready=st.sampled_from((True, True, True, False)),
    closed=st.sampled_from((False, False, False, True)),
)
pods = st.builds(
    pod,
    st.sampled_from([f"p{number}" for number in range(6)]),
    st.sampled_from(("", "a", "a", "b", "c", "elsewhere")),
    st.sampled_from(("", "Pending", "Running", "Running", "Unknown", "Succeeded", "Failed")),
    st.sampled_from(REQUESTS),
    st.sampled_from(REQUESTS[:3]),
)
Step = tuple[str, Any]
steps = st.one_of(
    st.tuples(st.just("put node"), nodes),
    st.tuples(st.just("put pod"), pods),
    st.tuples(st.sampled_from(("remove node", "remove pod")), st.integers(0, 9)),
    st.tuples(st.just("models"), st.sampled_from(((), MODELS, GPUS))),
    st.tuples(st.just("lose"), st.integers(1, 3)),
    st.tuples(st.sampled_from(("list nodes", "list pods", "look away")), st.none()),
)


class Followed:
    """Nodes and Pods as they are in a member, and tables that are told of changes, but for those that are lost."""

    def __init__(self, nodes: list[CountedNode], pods: list[CountedPod]) -> None:
        self.nodes = {each.metadata.name: each for each in nodes}
        self.pods = {each.metadata.name: each for each in pods}
        self.models: tuple[ResourceModel, ...] = MODELS
        self.usage = UsageSummary()
        self.looks_away = False
        self.losing = 0
        """Number of changes that are not told, after which all is listed."""
        self.seen = Counter[str]()
        self.list_anew()

    def list_anew(self, kinds: str = "nodes pods") -> None:
        """Into new tables."""
        if "nodes" in kinds:
            self.node_table = NodeTable()
            for node in self.nodes.values():
                self.node_table.put(node)
        if "pods" in kinds:
            self.pod_table = PodTable()
            for pod in self.pods.values():
                self.pod_table.put(pod)

    def play(self, step: Step) -> None:
        match step:
            case "put node", each:
                self.nodes[each.metadata.name] = each
                self.tell(self.node_table.put, each)
            case "put pod", each:
                self.pods[each.metadata.name] = each
                self.tell(self.pod_table.put, each)
            case "remove node", number if self.nodes:
                self.tell(self.node_table.remove, self.nodes.pop(chosen(self.nodes, number)))
            case "remove pod", number if self.pods:
                self.tell(self.pod_table.remove, self.pods.pop(chosen(self.pods, number)))
            case "models", models:
                self.models = models
            case "lose", number:
                self.losing = number
            case kind, _ if not self.losing:
                self.list_anew(kind)
            case _:
                pass
        self.seen[step[0]] += 1
        self.looks_away = step[0] == "look away"

    def tell(self, tell: Callable[[Any], None], obj: Any) -> None:
        if not self.losing:
            tell(obj)
            return
        self.losing -= 1
        if not self.losing:
            self.list_anew()
            self.seen["lost"] += 1

    def look(self) -> None:
        if self.losing or self.looks_away:
            return
        found = self.usage.summary(self.node_table, self.pod_table, self.models)
        expected = summary_reference.summarize(list(self.nodes.values()), list(self.pods.values()), self.models)
        assert (found.nodes, found.resources) == (expected.nodes, expected.resources)
        assert same_doubts(found, expected)
        assert (self.node_table.count, self.pod_table.count) == (len(self.nodes), self._counted())
        resources = found.resources
        self.seen["waiting"] += bool(resources.allocating)
        self.seen["taken"] += bool(resources.allocated)
        self.seen["graded"] += any(modeling.count for modeling in resources.allocatable_modelings)
        self.seen["doubted"] += bool(found.doubts)

    def end(self) -> None:
        """Takes all away again."""
        if self.losing:
            self.list_anew()
        for each in self.nodes.values():
            self.node_table.remove(each)
        for each in self.pods.values():
            self.pod_table.remove(each)
        assert self.usage.summary(self.node_table, self.pod_table) == summary_reference.summarize([], [])
        assert (self.node_table.size, self.pod_table.size) == (0, 0)
        assert (self.node_table.count, self.pod_table.count) == (0, 0)

    def _counted(self) -> int:
        return sum(
            each.status.phase not in ("Succeeded", "Failed")
            and (each.spec.node_name != "" or each.status.phase in ("", "Pending"))
            for each in self.pods.values()
        )


def chosen(there: Collection[str], number: int) -> str:
    return sorted(there)[number % len(there)]


def same_doubts(found: Summary, expected: Summary) -> bool:
    """Tells whether as many are told, in any order: the first that were found are, which depends on the history."""
    return count(found.doubts) == count(expected.doubts) and (
        "more" in expected.doubts or sorted(found.doubts.split("; ")) == sorted(expected.doubts.split("; "))
    )


def count(doubts: str) -> int:
    told = doubts.split("; ") if doubts else []
    more = int(told.pop().split()[1]) if told and told[-1].startswith("and ") else 0
    return len(told) + more


def test_s10_a_summary_by_difference_is_that_of_all_nodes_and_pods() -> None:
    """Every step is checked; and when all is taken away nothing is left, also of the bytes that it is reckoned at."""
    seen = Counter[str]()

    @given(
        st.lists(nodes, min_size=1, max_size=3),
        st.lists(pods, min_size=2, max_size=6),
        st.lists(steps, min_size=8, max_size=12),
    )
    def holds(nodes: list[CountedNode], pods: list[CountedPod], history: list[Step]) -> None:
        followed = Followed(nodes, pods)
        followed.look()
        for step in history:
            followed.play(step)
            followed.look()
        followed.end()
        seen.update(("all", *(key for key, times in followed.seen.items() if times)))

    holds()
    floors = {"remove pod": 25, "models": 40, "lost": 25, "waiting": 10, "taken": 50, "graded": 25, "doubted": 40}
    reached = {what: 100 * seen[what] // seen["all"] for what in floors}
    assert seen["all"] < 50 or all(reached[what] >= floor for what, floor in floors.items()), reached


def fleet(size: int) -> tuple[NodeTable, PodTable]:
    node_table, pod_table = NodeTable(), PodTable()
    for number in range(size):
        node_table.put(node(f"n{number}", ALLOCATABLE[1]))
    for number in range(2 * size):
        pod_table.put(pod(f"p{number}", f"n{number % size}", "Running", REQUESTS[1], {}))
    return node_table, pod_table


def test_only_what_has_changed_is_graded_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    node_table, pod_table = fleet(50)
    usage = UsageSummary()
    first = usage.summary(node_table, pod_table, MODELS)
    graded: list[str] = []
    grade = UsageSummary._grade  # pyright: ignore[reportPrivateUsage]

    def noted(self: UsageSummary, name: str) -> None:
        graded.append(name)
        grade(self, name)

    monkeypatch.setattr(UsageSummary, "_grade", noted)
    assert usage.summary(node_table, pod_table, MODELS) is first
    pod_table.put(pod("p7", "n7", "Running", REQUESTS[1], {}))
    assert usage.summary(node_table, pod_table, MODELS) is first
    pod_table.put(pod("p7", "n7", "Running", REQUESTS[2], {}))
    node_table.put(node("n8", ALLOCATABLE[0]))
    assert usage.summary(node_table, pod_table, MODELS) != first
    assert sorted(graded) == ["n7", "n8"]


def test_a_pod_takes_some_tens_of_bytes_and_the_budget_is_told_no_less() -> None:
    """The bytes include what its Node and its application take: 40 Pods on a Node, 20 of an application."""
    made = [
        pod(
            f"application-7c5ddbdf54-{n}", f"node-{n % 100}", "Running", {"cpu": f"{1 + n % 200}m", "memory": "1Gi"}, {}
        )
        for n in range(4_000)
    ]
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        table = PodTable()
        for each in made:
            table.put(each)
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert taken / table.count < 100
    assert taken <= table.size < 6 * taken


def test_a_large_cluster_is_graded_in_steps_between_which_it_may_change() -> None:
    node_table, pod_table = fleet(3 * STEP)
    usage = UsageSummary()
    steps = usage.catch_up(node_table, pod_table, MODELS)
    next(steps)
    next(steps)
    node_table.put(node("n0", ALLOCATABLE[2]))
    node_table.remove(node("n1", {}))
    assert 1 <= sum(1 for _ in steps) <= 2
    again = UsageSummary().summary(node_table, pod_table, MODELS)
    assert usage.summary(node_table, pod_table, MODELS) == again
