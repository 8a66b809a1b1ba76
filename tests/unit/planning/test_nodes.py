"""Groups of nodes give the answers of nodes that are counted one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leeward.api.cluster import ResourceModel, ResourceModelRange
from leeward.planning.nodes import PODS_PER_NODE, Nodes, Sizes

MODELS = tuple(
    ResourceModel(
        grade=grade,
        ranges=(
            ResourceModelRange(name="cpu", min=cpu, max="64"),
            ResourceModelRange(name="memory", min=memory, max="1Ti"),
        ),
    )
    for grade, cpu, memory in ((0, "500m", "8"), (1, "1", "2"), (2, "4", "16"))
)
FREE = {0: (500, 8), 1: (1_000, 2), 2: (4_000, 16)}
ASKS: tuple[Sizes, ...] = (
    (("cpu", 100), ("memory", 1)),
    (("cpu", 500), ("memory", 2)),
    (("cpu", 1_500),),
    (("memory", 4),),
)


class OneByOne:
    """Each node by itself: CPU in milli, memory, and pods that are free."""

    def __init__(self, counts: dict[int, int]) -> None:
        self.nodes = [
            {"cpu": FREE[grade][0], "memory": FREE[grade][1], "pods": PODS_PER_NODE}
            for grade in sorted(counts)
            for _ in range(counts[grade])
        ]

    def fit(self, sizes: Sizes) -> int:
        return sum(min(node[name] // size for name, size in (*sizes, ("pods", 1))) for node in self.nodes)

    def take(self, sizes: Sizes, replicas: int) -> None:
        for node in self.nodes:
            while replicas and all(node[name] >= size for name, size in (*sizes, ("pods", 1))):
                replicas -= 1
                for name, size in (*sizes, ("pods", 1)):
                    node[name] -= size

    def fit_sets(self, parts: list[tuple[Sizes, int]], most: int) -> int:
        for found in range(most):
            for sizes, replicas in parts:
                if self.fit(sizes) < replicas:
                    return found
                self.take(sizes, replicas)
        return most


def nodes_of(counts: dict[int, int]) -> Nodes:
    nodes = Nodes.of(MODELS, counts)
    assert nodes is not None
    return nodes


COUNTS = st.fixed_dictionaries({0: st.integers(0, 4), 1: st.integers(0, 4), 2: st.integers(1, 3)})


@given(COUNTS, st.lists(st.tuples(st.sampled_from(ASKS), st.integers(1, 12)), max_size=12), st.sampled_from(ASKS))
def test_replicas_take_what_they_take_of_single_nodes(
    counts: dict[int, int], taken: list[tuple[Sizes, int]], asked: Sizes
) -> None:
    nodes, single = nodes_of(counts), OneByOne(counts)
    for sizes, replicas in taken:
        assert nodes.fit(asked) == single.fit(asked)
        nodes.take(sizes, replicas)
        single.take(sizes, replicas)
    assert [nodes.fit(sizes) for sizes in ASKS] == [single.fit(sizes) for sizes in ASKS]


@given(COUNTS, st.lists(st.tuples(st.sampled_from(ASKS), st.integers(0, 3)), min_size=1, max_size=3))
def test_whole_sets_fit_as_into_single_nodes(counts: dict[int, int], parts: list[tuple[Sizes, int]]) -> None:
    nodes = nodes_of(counts)
    before = [nodes.fit(sizes) for sizes in ASKS]
    assert nodes.fit_sets(parts, 20) == OneByOne(counts).fit_sets(parts, 20)
    assert [nodes.fit(sizes) for sizes in ASKS] == before, "it was only tried"


def test_a_node_has_room_for_so_many_pods() -> None:
    nodes = nodes_of({2: 2})
    assert nodes.fit((("cpu", 1),)) == 2 * PODS_PER_NODE
    nodes.take((("cpu", 1),), PODS_PER_NODE + 10)
    assert nodes.fit((("cpu", 1),)) == PODS_PER_NODE - 10


@pytest.mark.parametrize("counts", [{0: -1, 2: 5}, {}])
def test_counts_that_make_no_sense_say_nothing(counts: dict[int, int]) -> None:
    assert Nodes.of(MODELS, counts) is None
    assert Nodes.of((), {0: 1}) is None


def test_grades_without_nodes_are_left_out() -> None:
    assert nodes_of({0: 0, 2: 1}).fit((("cpu", 500),)) == 8
    assert nodes_of({0: 0}).fit((("cpu", 500),)) == 0


def test_nodes_become_alike_only_beside_each_other() -> None:
    most, little = (("cpu", 3_500), ("memory", 15)), (("cpu", 500), ("memory", 1))
    around = nodes_of({1: 1, 2: 1})
    around.take(most, 1)
    around.take(little, 1)
    assert around.fit((("cpu", 500),)) == 2, "the first is not beside the last"
    between = nodes_of({1: 2, 2: 1})
    between.take(little, 1)
    between.take(most, 1)
    assert between.fit((("cpu", 1_000),)) == 1, "what stands between them is kept"


def test_sets_are_not_counted_for_ever() -> None:
    assert nodes_of({0: 1}).fit_sets([(ASKS[0], 2)], 10**9) == 2
