"""Evidence about a copy: what may be relied upon, and what may be let go."""

import msgspec
import pytest

from kubeapi.meta import Manifest
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import TEMPLATE_GENERATION_ANNOTATION
from leeward.api.work import (
    GracefulEvictionTask,
    ResourceBinding,
    TargetCluster,
    Work,
    WorkloadTemplate,
    WorkSpec,
    WorkStatus,
)
from leeward.core.cluster_health.watched_time import CLOCKS_APART
from leeward.core.eviction.evidence import (
    AGENT_SETTLES,
    Serving,
    believed_from,
    is_seen_healthy,
    is_uncounted,
    known_to_serve,
    may_serve,
    reported_ready,
    seen_ready,
    served_counts,
    trusted,
    was_there_before,
)
from leeward.core.eviction.progress import assess_tasks
from tests.builders import NOW, aggregated, at, binding, cluster, dead, divided, duplicated, fleet, targets, work, works

GRACE_SECONDS = 600.0


def task(name: str, count: int | None = None, **fields: object) -> GracefulEvictionTask:
    opened = GracefulEvictionTask(
        name, "TaintUntolerated", "TaintManager", "Gracefully", replicas=count, creation_timestamp=NOW
    )
    return msgspec.structs.replace(opened, **fields)


def at_generation(old: Work, generation: int) -> Work:
    return msgspec.structs.replace(old, metadata=msgspec.structs.replace(old.metadata, generation=generation))


OLD = works({"member1": 2})["member1"]


def test_what_serves_is_known_with_the_instant_of_its_last_change() -> None:
    assert known_to_serve(work("member1", 2, reflected=40), cluster("member1")) == Serving(2, at(40))


@pytest.mark.parametrize(
    ("copy", "name"),
    [(None, "member1"), (OLD, None), (at_generation(OLD, 7), "member1")],
    ids=["no Work", "no Cluster", "another generation"],
)
def test_what_cannot_be_seen_is_unknown_and_not_nothing(copy: Work | None, name: str | None) -> None:
    assert known_to_serve(copy, cluster(name) if name else None) is None


def test_of_a_cluster_that_is_not_ready_nothing_is_known() -> None:
    assert known_to_serve(OLD, dead("member1")) is None
    assert reported_ready(OLD) == 2, "what was reported last is still a bound for what must not be taken away"


def test_a_kind_without_counts_serves_unless_it_is_unhealthy() -> None:
    (status,) = OLD.status.manifest_statuses
    settings = msgspec.structs.replace(status, identifier=msgspec.structs.replace(status.identifier, kind="Secret"))
    unknown, unhealthy = (msgspec.structs.replace(settings, health=health) for health in ("Unknown", "Unhealthy"))
    assert served_counts((status, settings, unknown, unhealthy)) == (2, 1, 1, 0)


def test_where_one_instant_is_not_known_the_other_counts() -> None:
    timeless = cluster("member1")
    conditions = (msgspec.structs.replace(timeless.status.conditions[0], last_transition_time=None),)
    timeless = msgspec.structs.replace(timeless, status=msgspec.structs.replace(timeless.status, conditions=conditions))
    assert known_to_serve(work("member1", 2, reflected=40), timeless) == Serving(2, at(40))


def test_a_copy_of_which_nothing_was_reported_is_unknown() -> None:
    silent = msgspec.structs.replace(OLD, status=msgspec.structs.replace(OLD.status, manifest_statuses=()))
    assert known_to_serve(silent, cluster("member1")) is None
    assert not is_seen_healthy(silent, cluster("member1"), 0)
    assert (reported_ready(silent), reported_ready(None), seen_ready(silent, cluster("member1"))) == (0, 0, 0)


def told(kind: str, status: object, health: str) -> Work:
    """The Work of a copy of which this was reported."""
    (report,) = OLD.status.manifest_statuses
    identifier = msgspec.structs.replace(report.identifier, kind=kind)
    report = msgspec.structs.replace(report, identifier=identifier, status=status, health=health)
    return msgspec.structs.replace(OLD, status=msgspec.structs.replace(OLD.status, manifest_statuses=(report,)))


@pytest.mark.parametrize("status", [None, {}, {"phase": "Running"}], ids=repr)
@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"])
def test_s1_of_a_copy_whose_status_has_no_count_nobody_knows_what_it_serves(kind: str, status: object) -> None:
    copy = told(kind, status, "Healthy")
    assert known_to_serve(copy, cluster("member1")) is None
    assert may_serve(copy, cluster("member1"), 3, NOW) == 3
    assert (served_counts(copy.status.manifest_statuses), is_uncounted(copy)) == ((None,), True)
    assert not is_uncounted(told(kind, status, "Unhealthy"))


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("Deployment", {"replicas": 3, "unavailableReplicas": 3}),
        ("ReplicaSet", {"observedGeneration": 1}),
        ("StatefulSet", {"readyReplicas": 0}),
        ("DaemonSet", {"desiredNumberScheduled": 2}),
        ("Job", {"failed": 1}),
    ],
)
def test_a_status_that_was_written_and_names_no_ready_replicas_says_that_there_are_none(
    kind: str, status: object
) -> None:
    serving = known_to_serve(told(kind, status, "Unhealthy"), cluster("member1"))
    assert serving is not None
    assert serving.ready == 0


@pytest.mark.parametrize(
    ("copy", "name", "ready"),
    [
        (OLD, "member1", 2),
        (OLD, None, 0),
        (None, "member1", 0),
        (None, None, 0),
        (at_generation(OLD, 7), "member1", 0),
    ],
    ids=["fresh", "no Cluster", "no Work", "neither", "another generation"],
)
def test_replicas_that_are_not_known_to_be_ready_count_as_none(copy: Work | None, name: str | None, ready: int) -> None:
    assert seen_ready(copy, cluster(name) if name else None) == ready


def test_a_kind_that_does_not_count_replicas_has_none_that_are_seen_ready() -> None:
    """Nothing is let go for it by their number."""
    (status,) = OLD.status.manifest_statuses
    secret = msgspec.structs.replace(status, identifier=msgspec.structs.replace(status.identifier, kind="Secret"))
    copy = msgspec.structs.replace(OLD, status=msgspec.structs.replace(OLD.status, manifest_statuses=(secret,)))
    assert seen_ready(copy, cluster("member1")) == 0
    assert is_seen_healthy(copy, cluster("member1"), 3), "it is judged by its health alone"


@pytest.mark.parametrize(
    ("applied", "carried", "conditions", "health"),
    [
        (1, 1, ["Applied", "leeward.dev/Reflected"], "Healthy"),
        (0, 1, ["leeward.dev/Reflected"], "Healthy"),
        (1, 0, ["Applied", "leeward.dev/Reflected"], "Unknown"),
    ],
    ids=["of the present one", "an earlier one was applied", "an earlier one was reported on"],
)
def test_what_was_reported_of_an_earlier_generation_is_not_trusted(
    applied: int, carried: int, conditions: list[str], health: str
) -> None:
    copy = work("member1", 2, applied=applied, carried=carried)
    believed = trusted(copy)
    assert [condition.type for condition in believed.status.conditions] == conditions
    (status,) = believed.status.manifest_statuses
    assert (status.health, status.status) == (health, {"readyReplicas": 2})
    assert (believed.metadata, believed.spec) == (copy.metadata, copy.spec)


def test_of_a_work_that_was_never_applied_no_health_is_trusted() -> None:
    bare = msgspec.structs.replace(OLD, status=msgspec.structs.replace(OLD.status, conditions=()))
    believed = trusted(bare)
    assert [status.health for status in believed.status.manifest_statuses] == ["Unknown"]
    assert believed.status.conditions == ()


@pytest.mark.parametrize(
    ("copy", "where", "replicas", "most"),
    [
        (None, cluster("member1"), 3, 0),
        (OLD, None, 3, 0),
        (OLD, dead("member1"), 3, 0),
        (OLD, cluster("member1"), 3, 2),
        (OLD, cluster("member1"), 1, 1),
        (OLD, cluster("member1"), 0, 1),
        (at_generation(OLD, 7), cluster("member1"), 3, 3),
        (at_generation(OLD, 7), cluster("member1"), 0, 1),
        (work("member1", 0, applied=0), cluster("member1"), 3, 0),
        (work("member1", 1, applied=0), cluster("member1"), 3, 3),
    ],
    ids=[
        "no Work",
        "no Cluster",
        "it stays as long as its cluster cannot be seen",
        "what is known",
        "no more than it is to have",
        "a kind without replicas",
        "not known: the whole",
        "not known, without replicas: one",
        "never applied, never reported",
        "never applied as it is now, and reported",
    ],
)
def test_s1_what_is_not_known_of_a_copy_counts_as_the_whole(
    copy: Work | None, where: Cluster | None, replicas: int, most: int
) -> None:
    assert may_serve(copy, where, replicas, NOW) == most


@pytest.mark.parametrize(("seconds", "before"), [(-1, True), (0, False), (1, False)])
def test_a_copy_was_there_before_when_no_two_clocks_can_explain_it(seconds: float, *, before: bool) -> None:
    made = msgspec.structs.replace(OLD.metadata, creation_timestamp=at(seconds) - CLOCKS_APART)
    assert was_there_before(msgspec.structs.replace(OLD, metadata=made), NOW) is before


def test_of_what_has_no_instant_nothing_was_there_before() -> None:
    made = msgspec.structs.replace(OLD.metadata, creation_timestamp=at(-1_000_000))
    assert not was_there_before(msgspec.structs.replace(OLD, metadata=made), None)
    assert not was_there_before(OLD, NOW)
    assert not was_there_before(None, NOW)


def assess(bound: ResourceBinding, copies: dict[str, Work], seconds: float, *, brake: bool = False) -> tuple[str, ...]:
    clusters = fleet(*(cluster(f"member{number}") for number in (1, 2, 3)))
    assessment = assess_tasks(aggregated(bound), clusters, copies, at(seconds), GRACE_SECONDS, brake=brake)
    if not assessment.finished and assessment.wake_at is not None:
        assert assessment.wake_at > at(seconds), "an instant to wake up at lies ahead"
    return assessment.finished


ONE = duplicated("member1", "member2", "member3")


@pytest.mark.parametrize(
    ("old", "new", "ends"),
    [(2, 0, False), (2, 1, False), (1, 1, True), (0, 1, True), (0, 0, True), (2, 2, True)],
)
def test_s1_time_ends_a_task_only_where_the_old_copy_serves_no_more(old: int, new: int, ends: bool) -> None:
    bound = binding(ONE, 3, targets(member2=3), (task("member1", 3),))
    copies = works({"member1": old, "member2": new})
    assert bool(assess(bound, copies, GRACE_SECONDS + 1)) is ends
    assert not assess(bound, copies, GRACE_SECONDS - 1), "not before its time"
    assert not assess(bound, copies, 10 * GRACE_SECONDS, brake=True), "S4"


def test_s1_a_whole_grace_period_passes_after_the_last_change_of_the_old_copy() -> None:
    bound = binding(ONE, 3, targets(member2=3), (task("member1", 3),))
    copies = {**works({"member2": 1}), "member1": work("member1", 0, reflected=1_000)}
    assert not assess(bound, copies, 1_000 + GRACE_SECONDS)
    assert assess(bound, copies, 1_000 + GRACE_SECONDS + 1) == ("member1",)


def test_s1_a_part_that_leaves_is_held_against_what_of_its_replacement_is_ready() -> None:
    shares = divided({"member1": 1, "member2": 1})
    bound = binding(shares, 6, targets(member2=6), (task("member1", 3),))
    assert not assess(bound, works({"member1": 2, "member2": 4}), 10_000), "one of three is replaced, two serve"
    assert assess(bound, works({"member1": 2, "member2": 5}), 10_000) == ("member1",)
    assert assess(bound, works({"member1": 1, "member2": 4}), 10_000) == ("member1",)


def test_s1_two_old_copies_never_rest_on_the_same_ready_replicas() -> None:
    shares = divided({"member1": 1, "member2": 1, "member3": 1})
    bound = binding(shares, 4, targets(member3=4), (task("member1", 2), task("member2", 2)))
    assert assess(bound, works({"member1": 2, "member2": 2, "member3": 2}), 10_000) == ("member1",)


def test_s1_what_left_twice_is_replaced_once() -> None:
    """m3's copy of 3 went to m1 and m2; then m1 was left with 3, of which 1 had come from m3."""
    shares = divided({"member1": 1, "member2": 1, "member3": 1})
    later = task("member1", 3, creation_timestamp=at(60))
    bound = binding(shares, 9, targets(member2=9), (task("member3", 3), later))
    assert assess(bound, works({"member3": 3, "member1": 1, "member2": 8}), 10_000) == ("member1",)
    assert assess(bound, works({"member3": 3, "member1": 0, "member2": 9}), 10_000) == ("member3", "member1")


def test_s1_what_stays_of_a_divided_copy_is_no_part_of_what_leaves() -> None:
    shares = divided({"member1": 1, "member2": 1})
    bound = binding(shares, 4, (TargetCluster("member1", 1), TargetCluster("member2", 3)), (task("member1", 1),))
    assert not assess(bound, works({"member1": 2, "member2": 2}), 10_000), "two serve, and one of them leaves"
    assert assess(bound, works({"member1": 1, "member2": 2}), 10_000) == ("member1",), "what serves is what stays"


def test_a_copy_whose_cluster_has_left_the_fleet_with_its_work_bars_nothing() -> None:
    bound = binding(ONE, 3, targets(member2=3), (task("gone", 3),))
    assert not assess(bound, works({"member2": 0}), 2 * GRACE_SECONDS), "the next cluster is tried meanwhile"
    assert assess(bound, works({"member2": 0}), 2 * GRACE_SECONDS + 1) == ("gone",)
    stays = {**works({"member2": 0}), "gone": OLD}
    assert not assess(bound, stays, 10 * GRACE_SECONDS), "as long as its Work is there something may run there"


def test_the_grace_period_of_the_task_comes_before_the_default() -> None:
    bound = binding(ONE, 3, targets(member2=3), (task("member1", 3, grace_period_seconds=60),))
    copies = works({"member1": 1, "member2": 1})
    assert not assess(bound, copies, 60)
    assert assess(bound, copies, 61) == ("member1",)


def told_by_karmada(ready: int, *, template_generation: str = "2", observed: int = 1, **status: object) -> Work:
    """The Work of a copy in a member with Karmada's own agent, as that reports it."""
    (report,) = OLD.status.manifest_statuses
    fields = {"readyReplicas": ready, "resourceTemplateGeneration": 2, "generation": 1, "observedGeneration": observed}
    said = msgspec.structs.replace(report, status={**fields, **status})
    manifest = {"metadata": {"annotations": {TEMPLATE_GENERATION_ANNOTATION: template_generation}}}
    applied = Condition("Applied", "True", "AppliedSuccessful")
    return msgspec.structs.replace(
        OLD,
        spec=WorkSpec(workload=WorkloadTemplate(manifests=(manifest,))),
        status=WorkStatus(conditions=(applied,), manifest_statuses=(said,)),
    )


def refused(told: Work) -> Work:
    conditions = (Condition("Applied", "False", "AppliedFailed"),)
    return msgspec.structs.replace(told, status=msgspec.structs.replace(told.status, conditions=conditions))


def beside_another(told: Work) -> Work:
    """Adds a manifest of which nothing is reported."""
    manifests = (*told.spec.workload.manifests, {"metadata": {"name": "other"}})
    return msgspec.structs.replace(told, spec=WorkSpec(workload=WorkloadTemplate(manifests=manifests)))


def test_other_replicas_of_a_kind_with_a_rule_are_no_other_template() -> None:
    told = at_generation(told_by_karmada(1), 2)
    (manifest,) = told.spec.workload.manifests
    asking = WorkSpec(workload=WorkloadTemplate(manifests=({**manifest, "spec": {"replicas": 3}},)))
    serving = known_to_serve(msgspec.structs.replace(told, spec=asking), cluster("member1"))
    assert serving is not None
    assert serving.ready == 1


@pytest.mark.parametrize(("reflected", "ready"), [(49, 0), (50, 2), (None, 0)])
def test_s1_what_was_read_before_the_cluster_became_ready_is_not_fresh(reflected: float | None, ready: int) -> None:
    copy = work("member1", 2, reflected=reflected or 0)
    if reflected is None:
        conditions = tuple(msgspec.structs.replace(c, last_transition_time=None) for c in copy.status.conditions)
        copy = msgspec.structs.replace(copy, status=msgspec.structs.replace(copy.status, conditions=conditions))
    back = cluster("member1")
    conditions = (msgspec.structs.replace(back.status.conditions[0], last_transition_time=at(50)),)
    back = msgspec.structs.replace(back, status=msgspec.structs.replace(back.status, conditions=conditions))
    assert seen_ready(copy, back) == ready


def test_a_report_without_generations_is_believed_as_karmada_believes_it() -> None:
    told = told_by_karmada(2)
    assert is_seen_healthy(told, cluster("member1"), 2)
    assert known_to_serve(told, cluster("member1")) is not None
    assert trusted(told) is told


@pytest.mark.parametrize(
    "told",
    [
        told_by_karmada(2, template_generation="3"),
        told_by_karmada(2, observed=0),
        msgspec.structs.replace(told_by_karmada(2), status=WorkStatus()),
        refused(told_by_karmada(2)),
        beside_another(told_by_karmada(2)),
    ],
    ids=[
        "of another template",
        "of an object that was not looked at",
        "never applied",
        "refused",
        "of one of two manifests",
    ],
)
def test_a_report_that_is_about_something_else_is_not_believed_s1(told: Work) -> None:
    assert not is_seen_healthy(told, cluster("member1"), 2)
    assert known_to_serve(told, cluster("member1")) is None


def test_a_report_without_counts_is_not_known_to_serve_nothing_s1() -> None:
    told = told_by_karmada(0)
    (said,) = told.status.manifest_statuses
    silent = msgspec.structs.replace(said, status=None)
    told = msgspec.structs.replace(told, status=msgspec.structs.replace(told.status, manifest_statuses=(silent,)))
    assert known_to_serve(told, cluster("member1")) is None


def test_fewer_ready_replicas_than_asked_for_are_not_healthy_whoever_reports_them_s1() -> None:
    assert not is_seen_healthy(told_by_karmada(1), cluster("member1"), 2)


def test_a_report_of_karmadas_agent_is_believed_a_minute_after_its_cluster_has_returned_s1() -> None:
    told = told_by_karmada(2)
    assert believed_from(told, cluster("member1")) == at(0) + AGENT_SETTLES
    assert believed_from(OLD, cluster("member1")) is None, "ours says itself what it is about"
    (applied,) = told.status.conditions
    later = msgspec.structs.replace(applied, last_transition_time=at(5))
    anew = msgspec.structs.replace(told, status=msgspec.structs.replace(told.status, conditions=(later,)))
    assert believed_from(anew, cluster("member1")) is None, "it was applied after that"


def test_a_report_of_karmadas_agent_waits_for_nothing_that_is_not_there() -> None:
    told = told_by_karmada(2)
    assert believed_from(None, cluster("member1")) is None
    assert believed_from(told, None) is None
    assert believed_from(told, cluster("member1", ready=None)) is None
    (applied,) = told.status.conditions
    at_once = msgspec.structs.replace(applied, last_transition_time=at(0))
    anew = msgspec.structs.replace(told, status=msgspec.structs.replace(told.status, conditions=(at_once,)))
    assert believed_from(anew, cluster("member1")) == at(0) + AGENT_SETTLES, "it may have been applied before it left"


def test_until_then_a_copy_may_serve_all_of_its_replicas_s1() -> None:
    told = told_by_karmada(0)
    assert [may_serve(told, cluster("member1"), 2, at(seconds)) for seconds in (59, 60)] == [2, 0]


def test_an_eviction_ends_by_such_a_report_only_then_s1() -> None:
    moved = aggregated(binding(duplicated("member1"), 2, targets(member1=2), (task("member2"),)))
    clusters, copies = fleet(cluster("member1"), cluster("member2")), {"member1": told_by_karmada(2)}
    copies["member2"] = works({"member2": 2})["member2"]
    early = assess_tasks(moved, clusters, copies, at(59), GRACE_SECONDS)
    assert (early.finished, early.wake_at) == ((), at(60))
    assert assess_tasks(moved, clusters, copies, at(60), GRACE_SECONDS).finished == ("member2",)


@pytest.mark.parametrize(
    ("generation", "ready", "is_told"), [(1, None, True), (2, 1, False), (2, None, False), (2, 2, True)]
)
def test_other_replicas_of_a_kind_without_a_rule_are_counted_s1(
    generation: int, ready: int | None, is_told: bool
) -> None:
    (report,) = OLD.status.manifest_statuses
    counts = {} if ready is None else {"readyReplicas": ready}
    said = msgspec.structs.replace(
        report, identifier=msgspec.structs.replace(report.identifier, kind="CloneSet"), status=counts
    )
    told = told_by_karmada(2)
    manifest = {"metadata": {}, "spec": {"replicas": 2}}
    told = msgspec.structs.replace(
        at_generation(told, generation),
        spec=WorkSpec(workload=WorkloadTemplate(manifests=(manifest,))),
        status=msgspec.structs.replace(told.status, manifest_statuses=(said,)),
    )
    assert is_seen_healthy(told, cluster("member1"), 2) is is_told


def test_a_status_that_has_no_observed_generation_is_believed() -> None:
    told = told_by_karmada(2)
    (said,) = told.status.manifest_statuses
    fields: Manifest = dict(said.status or {})
    fields.pop("observedGeneration")
    silent = msgspec.structs.replace(said, status=fields)
    told = msgspec.structs.replace(told, status=msgspec.structs.replace(told.status, manifest_statuses=(silent,)))
    assert is_seen_healthy(told, cluster("member1"), 2)
