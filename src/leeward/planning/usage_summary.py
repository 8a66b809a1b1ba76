"""The summary of one member, kept up with the tables of its Nodes and Pods: it costs what has changed since the last.

Sums are those of the tables. What is kept here is the grade of each node (`core/cluster_health/modeling.py`), which
depends on both.
"""

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from decimal import Decimal

from leeward.api.cluster import ResourceModel, ResourceSummary
from leeward.core.amounts import SHOWN, Doubts, render_amounts
from leeward.core.cluster_health.modeling import PODS, Bounds, grade_bounds, grade_index, modelings
from leeward.core.cluster_health.summary import Summary
from leeward.planning.node_table import NodeTable
from leeward.planning.pod_table import PodTable
from leeward.planning.resource_sums import MOST_NANOS, NANO_DIGITS, ResourceShare

STEP = 100
"""Nodes that are graded in one go."""


class UsageSummary:
    def __init__(self) -> None:
        self._nodes: NodeTable = NodeTable()
        self._pods: PodTable = PodTable()
        self._models: Sequence[ResourceModel] = ()
        self._bounds: Bounds | None = None
        self._grades: dict[str, int] = {}
        """Grades of the nodes that offer something."""
        self._counts = Counter[int]()
        self._ungraded: set[str] = set()
        self._made: tuple[int, int, Summary] | None = None
        """The last summary, with the revisions of which it is."""

    def catch_up(
        self, nodes: NodeTable, pods: PodTable, models: Sequence[ResourceModel]
    ) -> Generator[None, None, None]:
        """Grades anew what has changed, in steps; between them the tables may change further."""
        self._collect(nodes, pods, models)
        while self._ungraded:
            for _ in range(min(STEP, len(self._ungraded))):
                self._grade(self._ungraded.pop())
            yield
            self._collect(nodes, pods, models)

    def summary(self, nodes: NodeTable, pods: PodTable, models: Sequence[ResourceModel] = ()) -> Summary:
        """Nodes that are not Ready count, but offer nothing; finished Pods take nothing.

        The same one as long as nothing has changed.
        """
        for _ in self.catch_up(nodes, pods, models):
            pass
        if self._made is None or self._made[:2] != (nodes.revision, pods.revision):
            self._made = nodes.revision, pods.revision, self._summary()
        return self._made[2]

    def _summary(self) -> Summary:
        nodes, pods = self._nodes, self._pods
        resources = ResourceSummary(
            allocatable=render_amounts(nodes.offered.amounts()),
            allocating=render_amounts(pods.allocating),
            allocated=render_amounts(pods.allocated),
            allocatable_modelings=() if self._bounds is None else modelings(self._models, self._counts),
        )
        absurd = nodes.doubts(), pods.doubts()
        found = [doubt for doubts in absurd for doubt in doubts.found]
        doubts = Doubts(found[:SHOWN], sum(doubts.count for doubts in absurd))
        return Summary(nodes.summary, resources, str(doubts))

    def _collect(self, nodes: NodeTable, pods: PodTable, models: Sequence[ResourceModel]) -> None:
        """Notes which nodes are to be graded anew: those that have changed, or all."""
        changed = nodes.changed.take(), pods.changed.take()
        if nodes is not self._nodes or pods is not self._pods or models != self._models:
            self._nodes, self._pods, self._models = nodes, pods, models
            self._bounds = grade_bounds(models)
            self._made = None
            changed = None, None
        if self._bounds is None or None in changed:
            self._grades.clear()
            self._counts.clear()
            self._ungraded = set() if self._bounds is None else set(nodes.names())
        else:
            self._ungraded.update(*(names for names in changed if names is not None))

    def _grade(self, name: str) -> None:
        old = self._grades.pop(name, None)
        if old is not None:
            self._counts[old] -= 1
        offer = self._nodes.offer_of(name)
        if offer is not None and self._bounds is not None:
            grade = grade_index(self._bounds, _free(self._bounds, offer, self._pods.taken_of(name)))
            self._grades[name] = grade
            self._counts[grade] += 1


def _free(bounds: Bounds, offer: ResourceShare, taken: Mapping[str, int]) -> dict[str, Decimal]:
    offered = dict(offer)
    return {
        name: Decimal(offered.get(name, 0) - min(taken.get(name, 0), MOST_NANOS)).scaleb(-NANO_DIGITS)
        for name in (PODS, *bounds)
    }
