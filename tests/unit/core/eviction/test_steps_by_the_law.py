"""Drawn worlds: no step of an eviction leaves fewer serving replicas than are asked for, or than served before."""

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from leeward.api.cluster import Cluster
from leeward.api.work import GracefulEvictionTask, ResourceBinding, Work
from leeward.core.cluster_health.watched_time import ALWAYS
from leeward.core.copies.disruption import CopyTable
from leeward.core.eviction.progress import assess_tasks
from leeward.core.eviction.withdrawal import Returns
from tests.builders import aggregated, at, binding, cluster, dead, divided, duplicated, fleet, table, targets, work

NAMES = ("a", "b", "c", "d")
GRACE_SECONDS = 600.0


class Drawn(NamedTuple):
    bound: ResourceBinding
    clusters: Mapping[str, Cluster]
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
