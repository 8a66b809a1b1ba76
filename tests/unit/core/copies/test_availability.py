"""Availability of a copy: what may be relied upon, and what may be let go."""

from random import Random

import msgspec
import pytest

from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import DEPENDENCIES_REFUSED_ANNOTATION, NOT_OBSERVED_CONDITION
from leeward.api.work import ManifestStatus, Work
from leeward.core.copies.availability import Availability, at_instant, availability, wanted_by_itself
from leeward.core.copies.evidence import (
    is_uncounted,
    served_counts,
)
from leeward.core.execution.removal_conditions import leaving
from tests.builders import NOW, at, cluster, dead, work, works


def at_generation(old: Work, generation: int) -> Work:
    return msgspec.structs.replace(old, metadata=msgspec.structs.replace(old.metadata, generation=generation))


OLD = works({"member1": 2})["member1"]


def test_what_serves_is_known_with_the_instant_of_its_last_change() -> None:
    known = availability(work("member1", 2, reflected=40), cluster("member1"), 2)
    assert known == Availability(2, 2, 2, is_whole=True, since=at(40))


@pytest.mark.parametrize(
    ("copy", "name"),
    [(None, "member1"), (OLD, None), (at_generation(OLD, 7), "member1")],
    ids=["no Work", "no Cluster", "another generation"],
)
def test_what_cannot_be_seen_is_unknown_and_not_nothing(copy: Work | None, name: str | None) -> None:
    assert availability(copy, cluster(name) if name else None, 2).since is None


def test_of_a_cluster_that_is_not_ready_nothing_is_known() -> None:
    known = availability(OLD, dead("member1"), 3)
    assert (known.since, known.at_least, known.at_most) == (None, 0, 3)
    assert known.told == 2, "what was reported last is still a bound for what must not be taken away"


def test_a_kind_without_counts_serves_unless_it_is_unhealthy() -> None:
    (status,) = OLD.status.manifest_statuses
    identifier = msgspec.structs.replace(status.identifier, kind="Secret")
    settings = msgspec.structs.replace(status, identifier=identifier, status=None)
    unknown, unhealthy = (msgspec.structs.replace(settings, health=health) for health in ("Unknown", "Unhealthy"))
    assert served_counts((status, settings, unknown, unhealthy), 5) == (2, 5, None, 0)


def test_where_one_instant_is_not_known_the_other_counts() -> None:
    timeless = cluster("member1")
    conditions = (msgspec.structs.replace(timeless.status.conditions[0], last_transition_time=None),)
    timeless = msgspec.structs.replace(timeless, status=msgspec.structs.replace(timeless.status, conditions=conditions))
    known = availability(work("member1", 2, reflected=40), timeless, 2)
    assert (known.told, known.since) == (2, at(40))


def test_a_copy_of_which_nothing_was_reported_is_unknown() -> None:
    silent = msgspec.structs.replace(OLD, status=msgspec.structs.replace(OLD.status, manifest_statuses=()))
    known = availability(silent, cluster("member1"), 0)
    assert (known.since, known.told, known.at_least) == (None, 0, 0)
    assert not availability(silent, cluster("member1"), 0).is_whole


@pytest.mark.parametrize(("leaves", "at_most"), [(False, 2), (True, 0)])
def test_a_copy_that_leaves_and_is_not_in_its_member_serves_nothing(leaves: bool, at_most: int) -> None:
    told = (leaving("member1", "ReplacementLost"),) if leaves else ()
    status = msgspec.structs.replace(
        OLD.status, manifest_statuses=(), conditions=(*OLD.status.conditions, *filter(None, told))
    )
    gone = msgspec.structs.replace(OLD, status=status)
    assert availability(gone, cluster("member1"), 2).at_most == at_most


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
    known = availability(copy, cluster("member1"), 3)
    assert (known.since, known.at_least, known.at_most) == (None, 0, 3)
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
    known = availability(told(kind, status, "Unhealthy"), cluster("member1"), 3)
    assert known.since is not None
    assert known.at_most == 0


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
    assert availability(copy, cluster(name) if name else None, 3).at_least == ready


@pytest.mark.parametrize(
    ("kind", "status", "health", "replicas", "expected"),
    [
        ("Secret", None, "Healthy", 3, (3, 3, True)),
        ("Secret", None, "Healthy", 0, (1, 1, True)),
        ("Secret", None, "Unhealthy", 3, (0, 0, False)),
        ("Secret", None, "Unknown", 3, (0, 3, False)),
        ("Secret", None, "", 3, (0, 3, False)),
        ("Rollout", {"readyReplicas": 4}, "Unhealthy", 5, (4, 4, False)),
        ("Rollout", {"readyReplicas": 4}, "Unknown", 5, (4, 4, False)),
        ("Rollout", {"readyReplicas": 4}, "Healthy", 5, (4, 4, False)),
        ("Rollout", {"readyReplicas": 5}, "Healthy", 5, (5, 5, True)),
        ("Rollout", {"readyReplicas": 4}, "Healthy", 0, (4, 4, True)),
        ("Rollout", {"readyReplicas": "4"}, "Unhealthy", 5, (0, 0, False)),
        ("Deployment", {"readyReplicas": 4, "replicas": 4}, "Healthy", 5, (4, 4, False)),
    ],
)
def test_s1_one_unit_holds_for_every_kind(
    kind: str, status: object, health: str, replicas: int, expected: tuple[int, int, bool]
) -> None:
    """Replicas where the status tells them, else the copy as a whole."""
    known = availability(told(kind, status, health), cluster("member1"), replicas)
    assert (known.at_least, known.at_most, known.is_whole) == expected


@pytest.mark.parametrize("wanted", [2, 3])
def test_a_copy_wanted_by_itself_with_as_many_as_its_own_cluster_wants(wanted: int) -> None:
    copy = told("Deployment", {"readyReplicas": 2, "replicas": wanted}, "Healthy")
    assert wanted_by_itself(copy, cluster("member1")) == (2 if wanted == 2 else 0)
    assert wanted_by_itself(None, cluster("member1")) == 0


def reporting(copy: Work, *reports: ManifestStatus) -> Work:
    return msgspec.structs.replace(copy, status=msgspec.structs.replace(copy.status, manifest_statuses=reports))


(REPORT,) = OLD.status.manifest_statuses


def test_s1_a_copy_of_several_manifests_serves_as_its_least_one() -> None:
    ill = msgspec.structs.replace(REPORT, status={"readyReplicas": 1}, health="Unhealthy")
    both = reporting(OLD, REPORT, ill)
    assert availability(both, cluster("member1"), 2) == Availability(1, 1, 1, since=at(0))
    never = reporting(work("member1", 0, applied=0), msgspec.structs.replace(ill, status={"readyReplicas": 0}), REPORT)
    assert availability(never, cluster("member1"), 2).at_most == 2, "one of them was there"
    unjudged = msgspec.structs.replace(REPORT, status=None, health="Unknown")
    assert is_uncounted(reporting(OLD, REPORT, unjudged))
    three, two = (msgspec.structs.replace(REPORT, status={"readyReplicas": 3, "replicas": n}) for n in (3, 2))
    assert wanted_by_itself(reporting(OLD, three, two), cluster("member1")) == 2


def test_s1_nobody_relies_on_a_copy_that_lacks_objects_and_all_of_it_may_serve() -> None:
    metadata = msgspec.structs.replace(OLD.metadata, annotations={DEPENDENCIES_REFUSED_ANNOTATION: "Secret s"})
    assert availability(msgspec.structs.replace(OLD, metadata=metadata), cluster("member1"), 2) == Availability(
        at_most=2
    )


def test_s1_a_copy_that_leaves_and_is_in_its_member_yet_serves_what_it_tells() -> None:
    told = leaving("member1", "ReplacementLost")
    assert told is not None
    status = msgspec.structs.replace(OLD.status, conditions=(*OLD.status.conditions, told))
    assert availability(msgspec.structs.replace(OLD, status=status), cluster("member1"), 2).at_least == 2


def test_s1_of_a_cluster_that_nobody_can_look_at_nothing_is_known() -> None:
    unseen = cluster("member1")
    conditions = (*unseen.status.conditions, Condition(NOT_OBSERVED_CONDITION, "True", "Test"))
    unseen = msgspec.structs.replace(unseen, status=msgspec.structs.replace(unseen.status, conditions=conditions))
    assert availability(OLD, unseen, 2) == Availability(2, at_most=2)


def test_of_a_cluster_without_conditions_nothing_is_known() -> None:
    assert availability(OLD, cluster("member1", None), 2) == Availability(2, at_most=2)


def test_s1_what_the_member_refused_is_not_applied() -> None:
    applied, reflected = OLD.status.conditions
    conditions = (msgspec.structs.replace(applied, status="False"), reflected)
    refused = msgspec.structs.replace(OLD, status=msgspec.structs.replace(OLD.status, conditions=conditions))
    assert availability(refused, cluster("member1"), 2) == Availability(2, at_most=2)


def test_s1_of_a_report_without_any_instant_the_whole_may_serve() -> None:
    def timeless(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
        return tuple(msgspec.structs.replace(each, last_transition_time=None) for each in conditions)

    here = cluster("member1")
    here = msgspec.structs.replace(
        here, status=msgspec.structs.replace(here.status, conditions=timeless(here.status.conditions))
    )
    copy = msgspec.structs.replace(
        OLD, status=msgspec.structs.replace(OLD.status, conditions=timeless(OLD.status.conditions))
    )
    known = availability(copy, here, 3)
    assert (known.at_least, known.at_most, known.since) == (2, 3, None)


def test_a_copy_of_no_replicas_is_whole_where_it_is_healthy_and_one_may_be_lost_with_it() -> None:
    copy = told("Deployment", None, "Healthy")
    assert availability(copy, cluster("member1"), 0) == Availability(at_most=1, is_whole=True)
    known = Availability(believed_from=at(60))
    assert at_instant(known, 0, at(0)).at_most == 1


def test_a_cron_job_is_judged_by_its_health() -> None:
    identifier = msgspec.structs.replace(REPORT.identifier, kind="CronJob", group="batch")
    cron_job = msgspec.structs.replace(REPORT, identifier=identifier, status={"lastScheduleTime": "x"})
    job = msgspec.structs.replace(identifier, kind="Job")
    bare, runs, done = (
        msgspec.structs.replace(cron_job, identifier=job, status=status)
        for status in ({}, {"active": 1}, {"conditions": [{"type": "Complete", "status": "True"}]})
    )
    assert served_counts((cron_job, bare, runs, done), 3) == (3, None, 0, 3)


@pytest.mark.parametrize(
    ("copy", "where", "replicas", "most"),
    [
        (None, cluster("member1"), 3, 0),
        (OLD, None, 3, 3),
        (OLD, dead("member1"), 3, 3),
        (OLD, cluster("member1"), 3, 2),
        (OLD, cluster("member1"), 1, 1),
        (OLD, cluster("member1"), 0, 2),
        (at_generation(OLD, 7), cluster("member1"), 3, 3),
        (at_generation(OLD, 7), cluster("member1"), 0, 2),
        (work("member1", 0, applied=0), cluster("member1"), 3, 0),
        (work("member1", 1, applied=0), cluster("member1"), 3, 3),
    ],
    ids=[
        "no Work",
        "no Cluster",
        "its cluster cannot be seen",
        "what is known",
        "no more than it is to have",
        "of a kind without replicas all that is told",
        "not known: the whole",
        "not known, without replicas: all that was told",
        "never applied, never reported",
        "never applied as it is now, and reported",
    ],
)
def test_s1_what_is_not_known_of_a_copy_counts_as_the_whole(
    copy: Work | None, where: Cluster | None, replicas: int, most: int
) -> None:
    assert at_instant(availability(copy, where, replicas), replicas, NOW).at_most == most


COUNTS = {"Deployment": "readyReplicas", "StatefulSet": "readyReplicas", "DaemonSet": "numberReady", "Job": "succeeded"}


@pytest.mark.parametrize("seed", range(4))
def test_s1_bounds_say_of_drawn_reports_what_may_be_relied_upon_and_what_may_be_lost(seed: int) -> None:
    """Kinds that count their replicas, whatever was reported, whenever, and of whichever generation."""
    random = Random(seed)
    for _ in range(1_000):
        kind, field = random.choice(list(COUNTS.items()))
        ready, replicas, health = (
            random.randrange(5),
            random.randrange(1, 5),
            random.choice(["Healthy", "Unhealthy", ""]),
        )
        reflected, carried, applied = random.choice([-10, 10]), random.randrange(2), random.randrange(2)
        where = random.choice([cluster("member1"), dead("member1"), None])
        there = work("member1", 0, reflected=reflected, carried=carried, applied=applied)
        (report,) = told(kind, {field: ready}, health).status.manifest_statuses
        there = msgspec.structs.replace(
            there, status=msgspec.structs.replace(there.status, manifest_statuses=(report,))
        )
        known = availability(there, where, replicas)
        is_fresh = where is not None and where.is_ready and reflected >= 0 and carried == applied == 1
        assert (known.since is not None) is is_fresh
        assert known.is_whole is (is_fresh and health == "Healthy" and ready >= replicas), "seen healthy"
        assert known.at_least == (min(ready, replicas) if is_fresh else 0), "what is not known counts for nothing"
        most = min(ready, replicas) if is_fresh else replicas if ready or applied else 0
        assert known.at_most == most, "and is lost as a whole"
        assert known.told == ready
