"""Drawn worlds: no step of an eviction leaves fewer serving replicas than are asked for, or than served before.

A small model of copies and of the law, which reads no Works, agrees with the decision on what may go.
"""

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from kubeapi.unstructured import value_at
from leeward.api.cluster import Cluster
from leeward.api.work import GracefulEvictionTask, ResourceBinding, Work
from leeward.core.cluster_health.watched_time import ALWAYS
from leeward.core.copies.disruption import CopyTable
from leeward.core.eviction.progress import assess_tasks
from leeward.core.eviction.withdrawal import Returns
from leeward.core.interpreter.plausible import plausible_count
from leeward.core.placement import Snapshot, decide
from leeward.planning import Fleet
from tests.builders import aggregated, at, binding, cluster, dead, divided, duplicated, fleet, table, targets, work

NAMES = ("a", "b", "c", "d")
GRACE_SECONDS = 600.0


class Drawn(NamedTuple):
    bound: ResourceBinding
    clusters: Fleet
    works: Mapping[str, Work]
    seconds: float


@st.composite
def moves(draw: st.DrawFn) -> Drawn:
    """Divided: parts leave, and some replicas have no place. Duplicated: 3 replicas each, where a copy leaves or
    stays."""
    is_divided = draw(st.booleans())
    held = {name: count for name in NAMES if (count := draw(st.integers(0, 3)))}
    leaving = {name: count for name in NAMES if (count := draw(st.integers(0, 3)))}
    if not is_divided:
        held, leaving = dict.fromkeys(held, 3), {name: 3 for name in leaving if name not in held}
    tasks = tuple(
        GracefulEvictionTask(
            name, "TaintUntolerated", "TaintManager", "Gracefully", replicas=count, creation_timestamp=at(0)
        )
        for name, count in leaving.items()
    )
    placement = divided(dict.fromkeys(NAMES, 1)) if is_divided else duplicated(*NAMES, groups=max(1, len(held)))
    asked = max(1, sum(held.values()) + draw(st.integers(0, 2))) if is_divided else 3
    clusters = fleet(*(dead(name) if draw(st.integers(0, 4)) == 0 else cluster(name) for name in NAMES))
    there = {name: held.get(name, 0) + leaving.get(name, 0) for name in {**held, **leaving}}
    ready = {name: draw(st.one_of(st.just(count), st.integers(0, count))) for name, count in there.items()}
    works = {name: work(name, count, carried=draw(st.integers(0, 1))) for name, count in ready.items()}
    bound = aggregated(binding(placement, asked, targets(**held), tasks))
    return Drawn(bound, clusters, works, draw(st.sampled_from([60.0, GRACE_SECONDS + 1])))


def serves_on(copies: CopyTable, taken: Mapping[str, int]) -> bool:
    """Tells whether enough serves afterwards for every truth at the ends of the bounds."""
    for truth in product(*({row.at_least, row.at_most} for row in copies.rows.values())):
        serving = dict(zip(copies.rows, truth, strict=True))
        after = sum(min(count, taken.get(name, count)) for name, count in serving.items())
        if after < min(copies.asked, sum(truth)):
            return False
    return True


@given(moves())
def test_s1_no_eviction_that_ends_takes_what_may_be_missed(drawn: Drawn) -> None:
    now = at(drawn.seconds)
    copies = table(drawn.bound, drawn.clusters, drawn.works, now)
    ended = assess_tasks(drawn.bound, copies, now, GRACE_SECONDS).finished
    assert serves_on(copies, {name: copies.rows[name].assigned for name in ended})


@given(moves())
def test_s1_no_return_gives_up_what_may_be_missed_where_it_can_be_seen(drawn: Drawn) -> None:
    now = at(drawn.seconds)
    copies = table(drawn.bound, drawn.clusters, drawn.works, now)
    found = Returns(drawn.bound, copies, drawn.clusters, now, GRACE_SECONDS, ALWAYS).find()
    after = {target.name: target.replicas for target in found.clusters} if found is not None else {}
    before = {target.name: target.replicas for target in drawn.bound.spec.clusters if found is not None}
    taken = {name: after.get(name, 0) for name, count in before.items() if after.get(name, -1) < count}
    assert serves_on(copies, {name: left for name, left in taken.items() if drawn.clusters[name].is_ready})
    assert found is None or sum(after.values()) >= sum(before.values())


class Copy(NamedTuple):
    """A copy of the model. `told` replicas were reported last; `is_fresh`: of its present contents, in a Ready
    cluster."""

    assigned: int
    leaving: int
    told: int
    is_fresh: bool

    @property
    def bounds(self) -> tuple[int, int]:
        """Replicas that it surely serves, and that it may serve."""
        wanted = self.assigned + self.leaving
        return (min(self.told, wanted), self.told) if self.is_fresh else (0, wanted)


def model_of(drawn: Drawn) -> dict[str, Copy]:
    spec = drawn.bound.spec
    held = {target.name: target.replicas for target in spec.clusters}
    leaving = {task.from_cluster: task.replicas or 0 for task in spec.graceful_eviction_tasks}
    return {
        name: Copy(held.get(name, 0), leaving.get(name, 0), _told(copy), _is_fresh(copy, drawn.clusters[name]))
        for name, copy in drawn.works.items()
    }


def _told(copy: Work) -> int:
    (report,) = copy.status.manifest_statuses
    return plausible_count(value_at(report.status, "readyReplicas"))


def _is_fresh(copy: Work, there: Cluster) -> bool:
    return there.is_ready and copy.status.conditions[1].observed_generation == copy.metadata.generation


def lets_go(model: Mapping[str, Copy], asked: int, taken: Mapping[str, int]) -> bool:
    """Law of the model: who may lose something leaves enough."""
    surely = {name: min(copy.bounds[0], taken.get(name, copy.bounds[0])) for name, copy in model.items()}
    losing = [name for name, left in taken.items() if model[name].bounds[1] > left]
    return all(sum(surely.values()) - surely[name] + taken[name] >= asked for name in losing)


def asked_of(drawn: Drawn) -> int:
    """Replicas that are asked for in all."""
    spec = drawn.bound.spec
    return spec.replicas if spec.is_divided else spec.replicas * max(1, len(spec.clusters))


@given(moves())
def test_the_model_and_the_table_agree_on_what_may_go(drawn: Drawn) -> None:
    model, copies = model_of(drawn), table(drawn.bound, drawn.clusters, drawn.works, at(drawn.seconds))
    assert {name: (row.at_least, row.at_most) for name, row in copies.rows.items() if name in model} == {
        name: copy.bounds for name, copy in model.items()
    }
    for name, copy in model.items():
        taken = {name: copy.assigned}
        assert copies.may_disrupt(taken) is lets_go(model, asked_of(drawn), taken)


@given(moves())
def test_the_model_and_the_decision_agree_on_which_evictions_end(drawn: Drawn) -> None:
    """The decision ends them one after the other, each with those before it taken away."""
    model, asked = model_of(drawn), asked_of(drawn)
    decision = decide(Snapshot(drawn.bound, drawn.clusters, drawn.works, now=at(drawn.seconds)))
    taken = {name: model[name].assigned for name in decision.finished}
    assert lets_go(model, asked, taken)
    for task in () if decision.withdrawn else drawn.bound.spec.graceful_eviction_tasks:
        copy = model[task.from_cluster]
        loses = copy.bounds[1] > copy.assigned
        if loses and task.from_cluster not in decision.finished:
            assert not lets_go(model, asked, {**taken, task.from_cluster: copy.assigned})
