"""End of an eviction: what time may decide, and what it may not."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from kubeapi.meta import ObjectMeta
from leeward.api.meta import Condition
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
from leeward.core.eviction.progress import Assessment, assess_tasks
from tests.builders import aggregated, at, binding, cluster, dead, divided, duplicated, fleet, targets, work
from tests.builders import works as copies_of

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
    assert assess_tasks(BINDING, {}, works, now, GRACE_SECONDS).finished == finished


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
    assessment = assess_tasks(msgspec.structs.replace(BINDING, spec=spec), {}, works, BEGAN, GRACE_SECONDS)
    assert assessment.finished == finished


@pytest.mark.parametrize("year", [8999, 9999])
@pytest.mark.parametrize("mode", ["Directly", "Gracefully", "Never"])
def test_an_eviction_that_somebody_has_dated_at_the_end_of_time_goes_on(year: int, mode: str) -> None:
    """Anybody who may write a binding may write such a task; no other instant lies beyond it."""
    begun = msgspec.structs.replace(TASK, purge_mode=mode, creation_timestamp=datetime(year, 12, 31, 23, tzinfo=UTC))
    spec = msgspec.structs.replace(BINDING.spec, graceful_eviction_tasks=(begun,))
    bound = msgspec.structs.replace(BINDING, spec=spec)
    for works in ({}, {"m1": Work(metadata=ObjectMeta(name="web"))}):
        assert assess_tasks(bound, {}, works, BEGAN, GRACE_SECONDS).kept == (begun,)


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
    attention: Attention = UNKEPT,
) -> Assessment:
    """The judgement of the tasks; all clusters but the `lost` are well."""
    names = ("member1", "member2", "member3")
    clusters = fleet(*(dead(name) if name in lost else cluster(name) for name in names))
    return assess_tasks(bound, clusters, copies, at(seconds), GRACE_SECONDS, exact=exact, attention=attention)


def test_a_target_that_is_being_left_is_no_replacement_of_itself() -> None:
    bound = aggregated(binding(COPIES, 3, targets(member1=3), (task("member1"),)))
    assert assess(bound, copies_of({"member1": 3}), 10).finished == ()


def test_s1_what_a_whole_copy_serves_counts_in_full_though_it_is_a_target_as_well() -> None:
    bound = aggregated(binding(COPIES, 3, targets(member1=3, member2=3), (task("member1"),)))
    assert assess(bound, copies_of({"member1": 3, "member2": 1}), 10_000).finished == ()


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


def test_s1_a_part_of_unknown_size_is_no_claim_to_what_replaces_others() -> None:
    bound = aggregated(binding(SHARES, 4, targets(member2=4), (task("member1"), task("member3"))))
    assert assess(bound, copies_of({"member1": 1, "member2": 3, "member3": 1}), 10_000).finished == ()


TWO = aggregated(binding(SHARES, 4, targets(member3=4), (task("member1", 2), task("member2", 2))))
HALF = copies_of({"member1": 2, "member2": 2, "member3": 2})


@pytest.mark.parametrize(
    ("first", "finished"),
    [
        (work("member1", 2), ("member1",)),
        (work("member1", 2, reflected=1_000), ("member2",)),
        (None, ("member2",)),
        (work("member1", 3), ("member2",)),
    ],
    ids=["it goes first", "it has not had its time", "it cannot be seen", "it serves more"],
)
def test_s1_ready_replicas_stand_for_the_first_copy_that_goes_and_for_none_that_stays(
    first: Work | None, finished: tuple[str, ...]
) -> None:
    copies = {name: copy for name, copy in {**HALF, "member1": first}.items() if copy is not None}
    assert assess(TWO, copies, 1_001).finished == finished


def test_s1_each_whole_copy_is_held_against_the_whole_replacement() -> None:
    bound = aggregated(binding(COPIES, 3, targets(member3=3), (task("member1"), task("member2"))))
    assert assess(bound, HALF, 10_000).finished == ("member1", "member2")
    more = {**HALF, "member2": work("member2", 3)}
    assert assess(bound, more, 10_000).finished == ("member1",)


def test_s1_at_the_very_end_of_the_grace_period_two_copies_do_not_rest_on_the_same_replicas() -> None:
    assert assess(TWO, HALF, GRACE_SECONDS).finished == ()
    assert assess(TWO, HALF, JUST_LATE).finished == ("member1",)


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


def test_what_stays_of_a_divided_copy_covers_what_left_it_when_it_is_all_that_is_asked_for() -> None:
    bound = aggregated(binding(SHARES, 2, targets(member1=2), (task("member1", 1),)))
    assert assess(bound, copies_of({"member1": 2}), 10).finished == ("member1",)
    whole = aggregated(binding(COPIES, 2, targets(member1=2), (task("member1", 1),)))
    assert assess(whole, copies_of({"member1": 2}), 10).finished == ()


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
    copies = copies_of({"member1": 1, "member2": 1})
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
        assert assess_tasks(bound, clusters, copies, at(10), GRACE_SECONDS).finished == finished


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
