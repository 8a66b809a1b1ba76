"""End of an eviction: what time may decide, and what it may not."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from kubeapi.meta import ObjectMeta
from leeward.api.meta import Condition
from leeward.api.policy import Placement
from leeward.api.work import (
    AggregatedStatusItem,
    BindingResource,
    GracefulEvictionTask,
    Health,
    ReplicaRequirements,
    ResourceBinding,
    ResourceBindingSpec,
    ResourceBindingStatus,
    TargetCluster,
    Work,
)
from leeward.core.cluster_health.watched_time import UNKEPT, Attention
from leeward.core.eviction.progress import KARMADA_LAW, LEEWARD_LAW, Assessment, assess_tasks
from tests.builders import (
    aggregated,
    at,
    binding,
    cluster,
    dead,
    divided,
    duplicated,
    fleet,
    table,
    targets,
    wanting,
    work,
)
from tests.builders import works as copies_of
from tests.unit.core.copies.test_evidence import told_by_karmada

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
GRACE_SECONDS = 60.0
TASK = GracefulEvictionTask("m1", "TaintUntolerated", "someone", "Directly", creation_timestamp=BEGAN)
BINDING = ResourceBinding(
    metadata=ObjectMeta(name="web", namespace="default", generation=1),
    spec=ResourceBindingSpec(
        resource=BindingResource(api_version="apps/v1", kind="Deployment", namespace="default", name="web"),
        replicas=2,
        replica_requirements=ReplicaRequirements(),
        clusters=(TargetCluster("m2", 2),),
        graceful_eviction_tasks=(TASK,),
    ),
)


@pytest.mark.parametrize(
    ("seconds", "works", "finished"),
    [(119, {}, ()), (121, {}, ("m1",)), (121, {"m1": Work(metadata=ObjectMeta(name="web"))}, ())],
    ids=["in time", "late, and the copy is gone", "late, and the copy is there"],
)
def test_a_replacement_that_never_gets_well_bars_the_cluster_of_a_purged_copy_for_two_graces(
    seconds: float, works: dict[str, Work], finished: tuple[str, ...]
) -> None:
    now = BEGAN + timedelta(seconds=seconds)
    assert assess_tasks(BINDING, table(BINDING, {}, works, now), now, GRACE_SECONDS).finished == finished


@pytest.mark.parametrize(
    ("replicas", "directly", "clusters", "finished"),
    [
        (0, False, (), ("m1",)),
        (0, False, (TargetCluster("m2", 1),), ("m1",)),
        (0, True, (), ()),
        (1, False, (), ()),
    ],
    ids=["to nothing", "just now", "and its copy is not gone yet", "still wanted"],
)
def test_an_eviction_of_what_was_scaled_to_nothing_is_finished(
    replicas: int, directly: bool, clusters: tuple[TargetCluster, ...], finished: tuple[str, ...]
) -> None:
    task = TASK if directly else msgspec.structs.replace(TASK, purge_mode="Gracefully")
    shares = divided({"m1": 1, "m2": 1})
    spec = msgspec.structs.replace(
        BINDING.spec, replicas=replicas, placement=shares, clusters=clusters, graceful_eviction_tasks=(task,)
    )
    works = {"m1": Work(metadata=ObjectMeta(name="web"))}
    bound = msgspec.structs.replace(BINDING, spec=spec)
    assessment = assess_tasks(bound, table(bound, {}, works, BEGAN), BEGAN, GRACE_SECONDS)
    assert assessment.finished == finished


@pytest.mark.parametrize("year", [8999, 9999])
@pytest.mark.parametrize("mode", ["Directly", "Gracefully", "Never"])
def test_an_eviction_that_somebody_has_dated_at_the_end_of_time_goes_on(year: int, mode: str) -> None:
    """Anybody who may write a binding may write such a task; no other instant lies beyond it."""
    begun = msgspec.structs.replace(TASK, purge_mode=mode, creation_timestamp=datetime(year, 12, 31, 23, tzinfo=UTC))
    spec = msgspec.structs.replace(BINDING.spec, graceful_eviction_tasks=(begun,))
    bound = msgspec.structs.replace(BINDING, spec=spec)
    for works in ({}, {"m1": Work(metadata=ObjectMeta(name="web"))}):
        assert assess_tasks(bound, table(bound, {}, works, BEGAN), BEGAN, GRACE_SECONDS).kept == (begun,)


COPIES = duplicated("member1", "member2", "member3")
SHARES = divided({"member1": 1, "member2": 1, "member3": 1})
JUST_LATE = GRACE_SECONDS + 0.000001


def task(name: str, replicas: int | None = None, **fields: object) -> GracefulEvictionTask:
    opened = GracefulEvictionTask(
        name, "TaintUntolerated", "TaintManager", "Gracefully", replicas=replicas, creation_timestamp=at(0)
    )
    return msgspec.structs.replace(opened, **fields)


def assess(
    bound: ResourceBinding,
    copies: dict[str, Work],
    seconds: float,
    *lost: str,
    exact: bool = False,
    brake: bool = False,
    attention: Attention = UNKEPT,
) -> Assessment:
    """The judgement of the tasks; all clusters but the `lost` are well."""
    names = ("member1", "member2", "member3")
    clusters = fleet(*(dead(name) if name in lost else cluster(name) for name in names))
    known = table(bound, clusters, copies, at(seconds))
    return assess_tasks(
        bound,
        known,
        at(seconds),
        GRACE_SECONDS,
        law=KARMADA_LAW if exact else LEEWARD_LAW,
        brake=brake,
        attention=attention,
    )


def test_a_copy_that_is_a_target_again_loses_nothing_when_its_eviction_ends() -> None:
    bound = aggregated(binding(COPIES, 3, targets(member1=3, member2=3), (task("member1"),)))
    assert assess(bound, copies_of({"member1": 3, "member2": 1}), 10).finished == ()
    assert assess(bound, copies_of({"member1": 3, "member2": 3}), 10).finished == ("member1",)


@pytest.mark.parametrize(
    ("asked", "tasks", "held", "ready", "finished"),
    [
        (3, "member1", {"member2": 3}, {"member1": 2, "member2": 3}, ["member1"]),
        (3, "member1", {"member2": 3}, {"member1": 1, "member2": 1}, []),
        (4, "member1:2 member2:2", {"member3": 4}, {"member1": 2, "member2": 2, "member3": 2}, ["member1"]),
        (4, "member1:2 member2:2", {"member3": 4}, {"member1": 2, "member2": 2, "member3": 1}, []),
        (4, "member1:0 member3:0", {"member2": 4}, {"member1": 1, "member2": 3, "member3": 1}, ["member1"]),
        (6, "member1:3", {"member2": 6}, {"member1": 2, "member2": 5}, []),
        (2, "member1:1", {"member1": 2}, {"member1": 2}, ["member1"]),
        (4, "member1:1", {"member1": 1, "member2": 3}, {"member1": 2, "member2": 2}, []),
        (4, "member1:1", {"member1": 1, "member2": 3}, {"member1": 2, "member2": 3}, ["member1"]),
        (9, "member3:3 member1:3", {"member2": 9}, {"member3": 3, "member1": 1, "member2": 8}, ["member3"]),
    ],
    ids=[
        "it is replaced", "degraded everywhere", "two do not rest on the same replicas",
        "too little for either", "parts of unknown size", "five of six", "what stays is enough",
        "a part, and one is missing", "a part, and all serve", "it left twice",
    ],
)  # fmt: skip
def test_s1_a_copy_goes_when_the_others_surely_serve_all_that_is_asked_for(
    asked: int, tasks: str, held: dict[str, int], ready: dict[str, int | None], finished: list[str]
) -> None:
    """Neither time nor another copy that is as bad ends an eviction."""
    parts = [each.partition(":") for each in tasks.split()]
    opened = tuple(task(name, int(count) if count else None) for name, _, count in parts)
    bound = aggregated(binding(SHARES if ":" in tasks else COPIES, asked, targets(**held), opened))
    copies = copies_of({name: count for name, count in ready.items() if count is not None})
    for seconds in (1, 100_000):
        assert assess(bound, copies, seconds).finished == tuple(finished)


@pytest.mark.parametrize(
    ("old", "reflected", "ends_at"),
    [(0, 0, GRACE_SECONDS), (0, 1_000, 1_000 + GRACE_SECONDS), (1, 0, None)],
    ids=["nothing all the time", "nothing for a while", "one"],
)
def test_s1_time_ends_an_eviction_only_where_the_old_copy_has_served_nothing_for_long(
    old: int, reflected: float, ends_at: float | None
) -> None:
    bound = aggregated(binding(COPIES, 3, targets(member2=3), (task("member1"),)))
    copies = {**copies_of({"member2": 0}), "member1": work("member1", old, reflected=reflected)}
    assert assess(bound, copies, ends_at or 100_000).finished == ()
    assert ends_at is None or assess(bound, copies, ends_at + 1).finished == ("member1",)
    assert assess(bound, copies, 100_000, brake=True).finished == (), "S4"


@pytest.mark.parametrize("placement", [COPIES, SHARES], ids=["duplicated", "divided"])
@pytest.mark.parametrize(
    ("wanted", "size", "ready", "finished"),
    [
        (1, 1, 1, ("member1",)),
        (1, 2, 2, ()),
        (3, 1, 1, ()),
        (2, 4, 2, ()),
        (2, 2, 1, ("member1",)),
        (2, 8, 2, ()),
        (2, None, 2, ()),
    ],
    ids=[
        "as many", "more are lost", "it is on its way", "Pods restart", "Pods of as many restart",
        "its own number is beyond the task's", "nobody knows how many",
    ],
)  # fmt: skip
def test_s1_a_replacement_is_whole_with_what_its_own_cluster_wants_unless_more_is_lost(
    placement: Placement, wanted: int, size: int | None, ready: int, finished: tuple[str, ...]
) -> None:
    """The size of the old copy counts, and not what is ready of it at this instant."""
    bound = aggregated(binding(placement, 4, targets(member2=4), (task("member1", 4),)))
    old, new = work("member1", ready), work("member2", min(wanted, 2))
    copies = {"member1": wanting(size, old) if size else old, "member2": wanting(wanted, new)}
    assert assess(bound, copies, 1).finished == finished


@pytest.mark.parametrize("placement", [COPIES, SHARES], ids=["duplicated", "divided"])
def test_s1_no_replacement_is_whole_with_fewer_while_the_old_copy_cannot_be_seen(placement: Placement) -> None:
    """An autoscaler there may run any number."""
    bound = aggregated(binding(placement, 6, targets(member2=6), (task("member1", 6),)))
    copies = {"member1": wanting(1, work("member1", 1)), "member2": wanting(1, work("member2", 1))}
    assert assess(bound, copies, 1).finished == ("member1",)
    assert assess(bound, copies, 1, "member1").finished == ()


@pytest.mark.parametrize(
    ("mode", "copies", "finished", "overdue"),
    [
        ("Directly", {"member2": 0}, ("member1",), ()),
        ("Gracefully", {"member2": 0}, (), ("member1",)),
        ("Directly", {"member1": 0, "member2": 0}, (), ("member1",)),
    ],
    ids=["purged and gone", "it should be there", "purged and not gone yet"],
)
def test_s1_only_a_copy_that_was_purged_is_gone_while_its_cluster_is_not(
    mode: str, copies: dict[str, int | None], finished: tuple[str, ...], overdue: tuple[str, ...]
) -> None:
    bound = aggregated(binding(COPIES, 3, targets(member2=3), (task("member1", purge_mode=mode),)))
    for lost in ((), ("member1",)):
        late = assess(bound, copies_of(copies), 2 * GRACE_SECONDS, *lost)
        assert (late.finished, late.overdue) == ((), overdue), "the next cluster is tried meanwhile"
        ended = assess(bound, copies_of(copies), 2 * GRACE_SECONDS + 1, *lost)
        assert (ended.finished, ended.overdue) == (finished, overdue)


@pytest.mark.parametrize(
    ("clusters", "copies", "finished"),
    [
        ({}, {}, ("member1",)),
        ({"member2": 2}, {"member2": 2}, ("member1",)),
        ({}, {"member1": 3}, ()),
        ({"member2": 3}, {}, ()),
    ],
    ids=["nowhere", "too little", "not gone yet", "it is to be replaced"],
)
def test_a_purged_copy_that_nothing_replaces_holds_no_place_free(
    clusters: dict[str, int], copies: dict[str, int | None], finished: tuple[str, ...]
) -> None:
    purged = task("member1", 3, purge_mode="Directly")
    bound = aggregated(binding(SHARES, 3, targets(**clusters), (purged,)))
    assert assess(bound, copies_of(copies), 1).finished == finished
    left = aggregated(binding(SHARES, 3, targets(**clusters), (task("member1", 3),)))
    assert assess(left, copies_of(copies), 1).finished == (), "what left gracefully may still be there"


def test_a_task_is_overdue_once_its_grace_period_is_past_and_nothing_is_to_be_looked_at_by_time_then() -> None:
    unseen = aggregated(binding(COPIES, 3, targets(member2=3), (task("member1"),)))
    in_time = assess(unseen, {}, GRACE_SECONDS, "member1")
    assert (in_time.overdue, in_time.wake_at) == ((), at(JUST_LATE))
    late = assess(unseen, {}, JUST_LATE, "member1")
    assert (late.overdue, late.wake_at) == (("member1",), None)


@pytest.mark.parametrize(
    ("others", "kept"),
    [
        ((task("member3", creation_timestamp=at(20)),), ["member1", "member3"]),
        ((task("member3", creation_timestamp=None),), ["member1", "member3"]),
        ((task("member3", suppress_deletion=False),), ["member1"]),
    ],
    ids=["a later one", "one that nobody has dated", "one that a person has ended"],
)
def test_each_of_several_tasks_is_judged_and_the_earliest_end_is_looked_at(
    others: tuple[GracefulEvictionTask, ...], kept: list[str]
) -> None:
    for tasks in ((task("member1"), *others), (*others, task("member1"))):
        found = assess(aggregated(binding(COPIES, 3, targets(member2=3), tasks)), copies_of({"member2": 0}), 10)
        assert (sorted(each.from_cluster for each in found.kept), found.wake_at) == (kept, at(JUST_LATE))


def test_a_task_that_nobody_has_dated_begins_now() -> None:
    unknown = task("member1", creation_timestamp=None)
    bound = aggregated(binding(COPIES, 3, targets(member2=3), (unknown,)))
    begun = assess(bound, copies_of({"member2": 3}), 10)
    assert (begun.finished, begun.wake_at) == ((), at(10 + JUST_LATE))
    assert begun.kept == (msgspec.structs.replace(unknown, creation_timestamp=at(10)),)


@pytest.mark.parametrize("suppress", [True, False])
def test_a_task_that_a_person_holds_or_ends_is_not_a_matter_of_time(*, suppress: bool) -> None:
    held = task("member1", suppress_deletion=suppress)
    bound = aggregated(binding(COPIES, 3, targets(member2=3), (held,)))
    assessment = assess(bound, copies_of({"member1": 3, "member2": 0}), 10_000)
    assert (assessment.kept, assessment.finished) == ((held,), ())
    gone = assess(bound, copies_of({"member2": 0}), 10_000)
    assert (gone.kept, gone.finished) == (((held,), ()) if suppress else ((), ("member1",)))
    assert (assessment.overdue, assessment.wake_at) == ((), None)
    undated = msgspec.structs.replace(held, creation_timestamp=None)
    dated = assess(aggregated(binding(COPIES, 3, targets(member2=3), (undated,))), {}, 10)
    assert (dated.kept[0].creation_timestamp, dated.wake_at) == (at(10), None)


def test_s13_nothing_ends_by_time_before_the_members_were_looked_at_again() -> None:
    bound = aggregated(binding(COPIES, 3, targets(member2=3), (task("member1"),)))
    copies = copies_of({"member1": 0, "member2": 1})
    settling = Attention(heartbeat="h", settled_at=at(10_060))
    early = assess(bound, copies, 10_000, attention=settling)
    assert (early.finished, early.wake_at) == ((), at(10_060))
    assert assess(bound, copies, 10_060, attention=settling).finished == ("member1",)


def test_s13_a_healthy_replacement_counts_when_the_members_were_looked_at_again() -> None:
    bound = aggregated(binding(COPIES, 3, targets(member2=3), (task("member1"),)))
    copies = copies_of({"member1": 3, "member2": 3})
    settling = Attention(heartbeat="h", settled_at=at(50))
    early = assess(bound, copies, 10, attention=settling)
    assert (early.finished, early.wake_at) == ((), at(50))
    assert assess(bound, copies, 50, attention=settling).finished == ("member1",)


def test_s1_a_replacement_whose_cluster_begins_to_fail_is_not_relied_upon() -> None:
    bound = aggregated(binding(COPIES, 3, targets(member2=3), (task("member1"),)))
    copies = copies_of({"member1": 3, "member2": 3})
    well = cluster("member2")
    doubt = Condition("leeward.dev/Failing", "True", "ClusterNotReachable")
    status = msgspec.structs.replace(well.status, conditions=(*well.status.conditions, doubt))
    for target, finished in ((well, ("member1",)), (msgspec.structs.replace(well, status=status), ())):
        clusters = fleet(cluster("member1"), target)
        known = table(bound, clusters, copies, at(10))
        assert assess_tasks(bound, known, at(10), GRACE_SECONDS).finished == finished


@pytest.mark.parametrize(
    ("health", "observed", "finished"),
    [
        ({"member2": "Healthy", "member3": "Healthy"}, 1, ("member1",)),
        ({"member2": "Healthy", "member3": "Unhealthy"}, 1, ()),
        ({"member2": "Healthy"}, 1, ()),
        ({"member1": "Unhealthy", "member2": "Healthy", "member3": "Healthy"}, 1, ("member1",)),
        ({"member2": "Healthy", "member3": "Healthy"}, 0, ()),
    ],
    ids=["all healthy", "one unhealthy", "one unknown", "the old one does not count", "an earlier generation"],
)
def test_in_karmada_the_reported_health_ends_a_task_and_so_does_time(
    health: dict[str, Health], observed: int, finished: tuple[str, ...]
) -> None:
    bound = binding(COPIES, 3, targets(member2=3, member3=3), (task("member1"),))
    items = tuple(AggregatedStatusItem(cluster_name=name, health=how) for name, how in health.items())
    status = ResourceBindingStatus(scheduler_observed_generation=observed, aggregated_status=items)
    bound = msgspec.structs.replace(bound, status=status)
    assert assess(bound, {}, 1, exact=True).finished == finished
    assert assess(bound, {}, GRACE_SECONDS, exact=True).finished == finished
    assert assess(bound, {}, JUST_LATE, exact=True).finished == ("member1",)


def test_a_copy_whose_cluster_has_left_the_fleet_with_its_work_bars_nothing() -> None:
    bound = aggregated(binding(COPIES, 3, targets(member2=3), (task("gone"),)))
    assert not assess(bound, copies_of({"member2": 0}), 2 * GRACE_SECONDS).finished, (
        "the next cluster is tried meanwhile"
    )
    assert assess(bound, copies_of({"member2": 0}), 2 * GRACE_SECONDS + 1).finished == ("gone",)
    stays = copies_of({"member2": 0, "gone": 2})
    assert not assess(bound, stays, 10 * GRACE_SECONDS).finished, "its Work is there, and something may run"


def test_the_grace_period_of_the_task_comes_before_the_default() -> None:
    bound = aggregated(binding(COPIES, 3, targets(member2=3), (task("member1", grace_period_seconds=20),)))
    copies = copies_of({"member1": 0, "member2": 1})
    assert (assess(bound, copies, 20).finished, assess(bound, copies, 21).finished) == ((), ("member1",))


def test_s1_an_eviction_ends_by_a_report_of_karmadas_agent_once_it_is_of_after_the_return() -> None:
    bound = aggregated(binding(COPIES, 2, targets(member1=2), (task("member2"),)))
    copies = {"member1": told_by_karmada(2), **copies_of({"member2": 2})}
    early = assess(bound, copies, 59)
    assert (early.finished, early.wake_at) == ((), at(60))
    assert assess(bound, copies, 60).finished == ("member2",)
