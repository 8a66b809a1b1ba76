"""Sizes of replacements, over drawn tables: never fewer than are assigned, and no more than ran."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

import msgspec
import pytest

from kubeapi.meta import Manifest
from leeward.api.work import GracefulEvictionTask, ManifestStatus, ResourceBinding, Work
from leeward.core.cluster_health.watched_time import CLOCKS_APART, UNKEPT, Attention, Gap, WatchedTime
from leeward.core.copies.disruption import CopyTable, KnownCopy
from leeward.core.eviction.progress import KARMADA_LAW, LEEWARD_LAW, assess_tasks
from leeward.core.interpreter.own_replicas import (
    OWN_REPLICAS,
    as_assigned,
    has_outgrown,
    own_replicas,
    told_to_run,
    with_own_replicas,
)
from leeward.core.propagation.autoscaled import Floor, floor_of, with_floor
from leeward.core.replacement_size import LONGEST_SECONDS, STANDS_STILL, replacement_sizes, surplus_of
from tests.builders import aggregated, at, binding, cluster, dead, divided, duplicated, fleet, table, targets, work

NAMES = ("a", "b", "c", "d")
GRACE_SECONDS = 600.0
STILL_SECONDS = STANDS_STILL.total_seconds()
LATE = CLOCKS_APART.total_seconds() + 1


def running(own: int, ready: int, name: str = "a", *, since: float = 0, made: float = -3600) -> Work:
    """Work of a copy whose member asks for `own` replicas by itself; so many are ready `since` then."""
    found = work(name, ready, reflected=since)
    (report,) = found.status.manifest_statuses
    told = msgspec.structs.replace(report, status={**(report.status or {}), OWN_REPLICAS: own})
    return msgspec.structs.replace(
        found,
        metadata=msgspec.structs.replace(found.metadata, creation_timestamp=at(made)),
        status=msgspec.structs.replace(found.status, manifest_statuses=(told,)),
    )


def leaving(name: str, replicas: int | None, **fields: object) -> GracefulEvictionTask:
    task = GracefulEvictionTask(name, "TaintUntolerated", "TaintManager", "Gracefully", replicas=replicas)
    return msgspec.structs.replace(task, **{"creation_timestamp": at(0), **fields})


@dataclass(frozen=True, slots=True)
class Drawn:
    bound: ResourceBinding
    copies: CopyTable
    new: frozenset[str]
    away: bool


def drawn(seed: int) -> Drawn:
    """A binding of which one or two copies leave, in a fleet that may be away in part."""
    draw = random.Random(seed)
    left, rest = draw.choice((NAMES[:1], NAMES[:2])), NAMES[2:]
    goes = {name: draw.randint(1, 4) for name in left}
    is_divided, away = draw.random() < 0.6, draw.random() < 0.2
    if is_divided:
        held = {name: draw.randint(0, 6) for name in rest}
        placement, replicas = divided(dict.fromkeys(NAMES, 1)), draw.choice((sum(held.values()) or 1, 2, 8))
    else:
        placement, replicas = duplicated(*NAMES), draw.randint(1, 6)
        held, goes = dict.fromkeys(rest, replicas), dict.fromkeys(left, replicas)
    tasks = tuple(leaving(name, goes[name] if is_divided else None) for name in left)
    clusters = fleet(*(dead(name) if away and name in left else cluster(name) for name in NAMES))
    new = frozenset(name for name in rest if draw.random() < 0.7)
    made = {name: 1 if name in new else -LATE for name in NAMES}
    works = {
        name: running(draw.randint(0, 20), draw.randint(0, 20), name, made=made[name])
        for name in (*left, *rest)
        if name not in new or draw.random() < 0.8
    }
    bound = aggregated(binding(placement, replicas, targets(**held), tasks))
    return Drawn(bound, table(bound, clusters, works, at(1)), new, away)


def own_of(row: KnownCopy) -> int:
    return own_replicas(row.work.status.manifest_statuses[0]) if row.work is not None else 0


@pytest.mark.parametrize("begin", range(0, 4000, 1000))
def test_a_size_is_more_than_is_assigned_and_adds_no_more_than_ran(begin: int) -> None:
    larger = 0
    for each in map(drawn, range(begin, begin + 1000)):
        spec, rows = each.bound.spec, each.copies.rows
        found = replacement_sizes(spec, each.copies, at(1), GRACE_SECONDS)
        surpluses = {
            task.from_cluster: surplus_of(spec, rows[task.from_cluster]) for task in spec.graceful_eviction_tasks
        }
        assigned = {t.name: t.replicas if spec.is_divided else spec.replicas for t in spec.clusters}
        new = {name: count for name, count in assigned.items() if name in each.new and count}
        if not spec.is_divided:
            most = max(0, *(surplus + spec.replicas for surplus in surpluses.values() if surplus), 0)
            assert (found.sizes if found else {}) == ({} if each.away else dict.fromkeys(new, most) if most else {})
            continue
        goes, own = sum(rows[name].leaving for name in surpluses), {name: own_of(row) for name, row in rows.items()}
        takes_rest = sum(new.values()) < goes and sum(own.values()) >= spec.replicas
        replacing = {name for name, count in assigned.items() if count and (name in new or takes_rest)}
        if each.away or not any(own[name] for name in surpluses) or not replacing:
            assert found is None
            continue
        assert found is not None
        newest = 1 if any(rows[name].work for name in new) else 0
        assert found.until == at(newest + GRACE_SECONDS)
        assert found.sizes.keys() == replacing
        more = {name: size - assigned[name] for name, size in found.sizes.items()}
        assert all(count >= 0 for count in more.values())
        assert all(surplus < rows[name].known.told for name, surplus in surpluses.items() if surplus)
        asked_more = max(0, sum(new.values()) - goes)
        low, high = (max(0, most - asked_more) for most in (max(surpluses.values()), sum(surpluses.values())))
        assert low <= sum(more.values()) <= high
        larger += 1
    assert larger > 300


LEAVING_ONE = divided({"a": 1, "b": 1})


@pytest.mark.parametrize(
    ("own", "ready", "task", "seconds", "size"),
    [
        (12, 12, {}, 1, 12),
        (12, 24, {}, 1, 12),
        (24, 12, {}, 1, 12),
        (3, 12, {}, 1, 4),
        (0, 12, {}, 1, 0),
        (12, 12, {"suppress_deletion": True}, 1, 0),
        (12, 12, {"suppress_deletion": False}, 1, 0),
        (12, 12, {"purge_mode": "Directly"}, 1, 0),
        (12, 12, {"creation_timestamp": None}, 1, 0),
        (12, 12, {"creation_timestamp": at(3600)}, 1, 0),
        (12, 12, {}, GRACE_SECONDS - 1, 12),
        (12, 12, {}, GRACE_SECONDS, 0),
        (12, 12, {"grace_period_seconds": 30}, 30, 0),
        (12, 12, {"grace_period_seconds": 0}, 0, 0),
        (12, 12, {"grace_period_seconds": 2**62}, LONGEST_SECONDS - 1, 12),
        (12, 12, {"grace_period_seconds": 2**62}, LONGEST_SECONDS, 0),
    ],
)
def test_a_size_is_what_the_old_cluster_asks_for_and_runs_until_the_grace_period_is_over(
    own: int, ready: int, task: Mapping[str, object], seconds: float, size: int
) -> None:
    bound = aggregated(binding(LEAVING_ONE, 4, targets(b=4), (leaving("a", 4, **task),)))
    copies = table(bound, fleet(cluster("a"), cluster("b")), {"a": running(own, ready)}, at(seconds))
    found = replacement_sizes(bound.spec, copies, at(seconds), GRACE_SECONDS)
    assert (found.sizes if found else {}) == ({"b": size} if size else {})


@pytest.mark.parametrize(
    ("held", "new", "sizes"),
    [
        ({"b": 4}, "b", {"b": 12}),
        ({"b": 10}, "b", {"b": 12}),
        ({"b": 14}, "b", {"b": 14}),
        ({"b": 6}, "", {"b": 14}),
        ({"b": 1, "c": 5}, "b", {"b": 3, "c": 11}),
        ({"b": 4, "c": 96}, "b", {"b": 12}),
        ({"b": 1, "c": 96}, "b", {"b": 9}),
    ],
    ids=["new", "scaled up", "scaled up beyond", "was there", "by share", "grew by nothing", "few run"],
)
def test_a_target_is_as_large_as_what_it_replaces(held: Mapping[str, int], new: str, sizes: Mapping[str, int]) -> None:
    """Twelve replicas leave, of which four are asked for."""
    bound = aggregated(
        binding(divided(dict.fromkeys(NAMES, 1)), sum(held.values()), targets(**held), (leaving("a", 4),))
    )
    works = {name: running(2, 2, name, made=1 if name in new else -LATE) for name in held} | {"a": running(12, 12)}
    copies = table(bound, fleet(*map(cluster, NAMES)), works, at(1))
    found = replacement_sizes(bound.spec, copies, at(1), GRACE_SECONDS)
    assert found is not None
    assert found.sizes == sizes


@pytest.mark.parametrize(("replicas", "size"), [(4, 12), (10, 12), (14, 0), (2, 12)])
def test_a_copy_of_all_replicas_is_as_large_as_the_largest_that_leaves(replicas: int, size: int) -> None:
    bound = aggregated(binding(duplicated("a", "b"), replicas, targets(b=replicas), (leaving("a", 4),)))
    copies = table(bound, fleet(cluster("a"), cluster("b")), {"a": running(12, 12)}, at(1))
    found = replacement_sizes(bound.spec, copies, at(1), GRACE_SECONDS)
    assert (found.sizes if found else {}) == ({"b": size} if size else {})


@pytest.mark.parametrize(("seconds", "size"), [(CLOCKS_APART.total_seconds(), 24), (LATE, 16)])
def test_surpluses_add_up_where_no_copy_can_have_replaced_another(seconds: float, size: int) -> None:
    tasks = leaving("a", 4), leaving("b", 4, creation_timestamp=at(seconds))
    bound = aggregated(binding(divided(dict.fromkeys(NAMES, 1)), 8, targets(c=8), tasks))
    works = {name: running(12, 12, name) for name in ("a", "b")}
    copies = table(bound, fleet(*map(cluster, NAMES)), works, at(seconds))
    found = replacement_sizes(bound.spec, copies, at(seconds), GRACE_SECONDS)
    assert found is not None
    assert found.sizes == {"c": size}


def test_a_copy_makes_nothing_larger_from_a_cluster_that_is_unjoined_or_gone_or_keeps_a_part() -> None:
    unjoined = cluster("a")
    unjoined = msgspec.structs.replace(
        unjoined, metadata=msgspec.structs.replace(unjoined.metadata, deletion_timestamp=at(0))
    )
    bound = aggregated(binding(LEAVING_ONE, 4, targets(b=4), (leaving("a", 4),)))
    for home in ((unjoined,), (dead("a"),), ()):
        copies = table(bound, fleet(*home, cluster("b")), {"a": running(12, 12)}, at(1))
        assert replacement_sizes(bound.spec, copies, at(1), GRACE_SECONDS) is None
    bound = aggregated(binding(LEAVING_ONE, 4, targets(a=2, b=2), (leaving("a", 2),)))
    copies = table(bound, fleet(cluster("a"), cluster("b")), {"a": running(12, 12)}, at(1))
    found = replacement_sizes(bound.spec, copies, at(1), GRACE_SECONDS)
    assert found is not None
    assert found.sizes == {"b": 2}


def test_a_task_that_counts_no_replicas_is_about_all_of_them() -> None:
    bound = aggregated(binding(LEAVING_ONE, 4, targets(b=4), (leaving("a", None),)))
    copies = table(bound, fleet(cluster("a"), cluster("b")), {"a": running(12, 12)}, at(1))
    found = replacement_sizes(bound.spec, copies, at(1), GRACE_SECONDS)
    assert found is not None
    assert found.sizes == {"b": 12}


def test_sizes_do_not_double_from_hop_to_hop_while_another_copy_holds_the_evictions() -> None:
    names = "abcdef"
    works, tasks, found = {"a": running(12, 12)}, list[GracefulEvictionTask](), set[int]()
    for n, (old, new) in enumerate(pairwise(names)):
        tasks.append(leaving(old, 4, creation_timestamp=at(20 * n)))
        bound = aggregated(binding(divided(dict.fromkeys(names, 1)), 100, targets(**{new: 4}), tuple(tasks)))
        copies = table(bound, fleet(*map(cluster, names)), works, at(20 * n + 1))
        sizes = replacement_sizes(bound.spec, copies, at(20 * n + 1), GRACE_SECONDS)
        assert sizes is not None
        found.add(sizes.sizes[new])
        works[new] = running(sizes.sizes[new], sizes.sizes[new], new, made=20 * n)
    assert found == {12}


def test_a_task_of_a_clock_that_is_ahead_beside_another_waits_for_nothing() -> None:
    tasks = leaving("a", 4), leaving("b", 4, creation_timestamp=at(3600))
    bound = aggregated(binding(divided(dict.fromkeys(NAMES, 1)), 8, targets(c=8), tasks))
    works = {name: running(12, 12, name) for name in ("a", "b")} | {"c": running(8, 8, "c", since=3600, made=1)}
    copies = table(bound, fleet(*map(cluster, NAMES)), works, at(1))
    assert assess_tasks(bound, copies, at(1), GRACE_SECONDS).finished == ("b",)


def finishes(
    seconds: float,
    there: Work,
    task: GracefulEvictionTask | None = None,
    *,
    exact: bool = False,
    old: Work | None = None,
    attention: Attention = UNKEPT,
) -> bool:
    """Tells whether the eviction of a copy of 12 has ended, of which 4 are asked for."""
    bound = aggregated(binding(LEAVING_ONE, 4, targets(b=4), (task or leaving("a", 4),)))
    works = {"a": old or running(12, 12), "b": there}
    copies = table(bound, fleet(cluster("a"), cluster("b")), works, at(seconds))
    law = KARMADA_LAW if exact else LEEWARD_LAW
    found = assess_tasks(bound, copies, at(seconds), GRACE_SECONDS, law=law, attention=attention)
    assert found.finished or seconds > GRACE_SECONDS or found.wake_at is not None
    return found.finished == ("a",)


def replacing(own: int, ready: int, since: float = 0, made: float = 0) -> Work:
    return running(own, ready, "b", since=since, made=made)


def test_s1_an_eviction_waits_for_the_size_while_more_become_ready() -> None:
    assert finishes(1, replacing(12, 12))
    assert not finishes(STILL_SECONDS - 1, replacing(4, 4))
    assert finishes(STILL_SECONDS, replacing(4, 4))
    assert finishes(STILL_SECONDS, replacing(12, 4)), "there is no room for more"
    assert not finishes(400, replacing(12, 11, since=400 - STILL_SECONDS + 1))
    assert finishes(400, replacing(12, 11, since=400 - STILL_SECONDS))
    assert not finishes(GRACE_SECONDS - 1, replacing(12, 11, since=GRACE_SECONDS - 2))
    assert finishes(GRACE_SECONDS + 1, replacing(12, 11, since=GRACE_SECONDS - 2))
    assert not finishes(GRACE_SECONDS + 1, replacing(12, 3)), "as many as are asked for are waited for without an end"
    assert not finishes(1, replacing(4, 4, made=-LATE)), "it was there before, and takes the load, too"
    assert finishes(1, replacing(4, 4), leaving("a", 4, grace_period_seconds=0))
    assert finishes(1, replacing(4, 4), leaving("a", 4, creation_timestamp=at(3600))), "a clock that is ahead"
    assert finishes(STILL_SECONDS, replacing(4, 4, since=3600)), "a clock of a member that is ahead"
    assert finishes(1, replacing(4, 4), old=running(4, 4))


def test_a_target_that_dies_passes_its_size_on_to_the_next_one() -> None:
    lost = GRACE_SECONDS + 100
    bound = aggregated(binding(divided(dict.fromkeys(NAMES, 1)), 4, targets(c=4), (leaving("a", 4),)))

    def finished(seconds: float, ready: int, since: float) -> tuple[str, ...]:
        works = {"a": running(12, 12)}
        works["c"] = running(12, ready, "c", since=since, made=lost)
        copies = table(bound, fleet(cluster("a"), dead("b"), cluster("c")), works, at(seconds))
        found = replacement_sizes(bound.spec, copies, at(seconds), GRACE_SECONDS)
        assert (found.sizes if found else {}) == ({"c": 12} if seconds < lost + GRACE_SECONDS else {})
        return assess_tasks(bound, copies, at(seconds), GRACE_SECONDS).finished

    assert "a" not in finished(lost + 5, 4, lost + 4)
    assert "a" in finished(lost + 4 + STILL_SECONDS, 4, lost + 4)
    assert "a" in finished(lost + 30, 12, lost + 29)
    assert "a" in finished(lost + GRACE_SECONDS, 4, lost + GRACE_SECONDS - 1)


def test_s13_time_in_which_nobody_watched_counts_for_no_wait() -> None:
    away = Attention(WatchedTime((Gap(at(10), at(200)),)), "here")
    assert not finishes(190 + STILL_SECONDS - 1, replacing(12, 4), attention=away)
    assert finishes(190 + STILL_SECONDS, replacing(12, 4), attention=away)


def test_karmadas_law_knows_no_sizes() -> None:
    assert finishes(GRACE_SECONDS + 1, replacing(4, 4, made=0), exact=True)


@pytest.mark.parametrize(
    ("status", "outgrown"),
    [
        ({"readyReplicas": 4}, True),
        ({"readyReplicas": 11, "replicas": 12, "updatedReplicas": 12, "generation": 2, "observedGeneration": 2}, True),
        ({"readyReplicas": 3}, False),
        ({"readyReplicas": 12}, False),
        ({"readyReplicas": "4"}, False),
        ({"readyReplicas": 9, "replicas": 12, "updatedReplicas": 4}, False),
        ({"readyReplicas": 9, "generation": 3, "observedGeneration": 2}, False),
        ({"readyReplicas": 4, OWN_REPLICAS: 4}, False),
        ({}, False),
    ],
)
def test_a_copy_that_serves_all_it_is_assigned_has_outgrown_that(status: Manifest, outgrown: bool) -> None:
    found = running(12, 0)
    (report,) = found.status.manifest_statuses
    told = msgspec.structs.replace(report, status={OWN_REPLICAS: 12, **status}, health="Unhealthy")

    def of(*reports: ManifestStatus) -> Work:
        return msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, manifest_statuses=reports))

    assert has_outgrown(of(told), 4) is outgrown
    assert not has_outgrown(of(told), 0)
    assert not has_outgrown(of(told, report), 4)
    assert not has_outgrown(of(), 4)
    assert as_assigned(told, 4).health == ("Healthy" if outgrown else told.health)


@pytest.mark.parametrize(
    ("least", "most", "size", "floor"),
    [
        (1, 20, 12, 12),
        (None, 20, 12, 12),
        (0, 20, 12, 12),
        (15, 20, 12, 15),
        (1, 8, 12, 8),
        (1, 20, 0, 1),
        (3, 0, 12, 3),
    ],
)
def test_a_floor_stays_within_what_the_autoscaler_may_do(least: int | None, most: int, size: int, floor: int) -> None:
    spec: Manifest = {"maxReplicas": most} if least is None else {"minReplicas": least, "maxReplicas": most}
    for until in (None, datetime(2026, 3, 1, tzinfo=UTC)):
        made = with_floor({"metadata": {"name": "web"}, "spec": spec}, Floor(size, until))
        assert made["spec"]["minReplicas"] == floor
        assert floor_of(made) == (Floor(floor, until) if floor > (least or 1) else None)


@pytest.mark.parametrize(
    ("status", "by_leeward", "healthy", "told"),
    [
        ({"replicas": 4, "readyReplicas": 1}, True, False, 4),
        ({"replicas": 2, OWN_REPLICAS: 4}, True, False, 4),
        ({"replicas": 4}, False, True, 4),
        ({"replicas": 2}, False, False, 0),
        ({"readyReplicas": 2}, True, True, 0),
    ],
    ids=["as many Pods", "fewer Pods", "Karmada's agent", "Karmada's agent, of a copy in a rollout", "another kind"],
)
def test_the_replicas_that_an_object_asks_for_are_told_whoever_decides_them(
    status: Manifest, *, by_leeward: bool, healthy: bool, told: int
) -> None:
    copy = work("member1", 1 if healthy else None)
    report = msgspec.structs.replace(copy.status.manifest_statuses[0], status=status)
    conditions = copy.status.conditions if by_leeward else ()
    found = msgspec.structs.replace(copy.status, conditions=conditions, manifest_statuses=(report,))
    assert told_to_run(msgspec.structs.replace(copy, status=found)) == told


def test_an_object_tells_its_replicas_where_it_keeps_its_own_or_has_others() -> None:
    labels = {"resourcetemplate.karmada.io/retain-replicas": "true"}
    observed: Manifest = {"metadata": {"labels": labels}, "spec": {"replicas": 3}}
    assert with_own_replicas({"readyReplicas": 1}, observed) == {"readyReplicas": 1, OWN_REPLICAS: 3}
    assert with_own_replicas(None, observed) is None
    written: Manifest = {"metadata": {}, "spec": {"replicas": 3}}
    assert with_own_replicas({"replicas": 2}, written) == {"replicas": 2, OWN_REPLICAS: 3}
    assert with_own_replicas({"replicas": 3}, written) == {"replicas": 3}
    others: list[Manifest] = [{"metadata": {}}, {"spec": {}}, {"spec": {"replicas": "3"}}]
    for other in ({**observed, **each} for each in others):
        assert with_own_replicas({"readyReplicas": 1}, other) == {"readyReplicas": 1}
