from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from leeward.api.meta import Condition
from leeward.api.names import (
    CLUSTER_OUTAGE_CONDITION,
    EVICTION_HELD_CONDITION,
    LEAVES_AT,
    NOT_SEEN_SINCE,
    REFUSED_CONDITION,
)
from leeward.api.outage import MoveState, OutageApplication
from leeward.api.work import AggregatedStatusItem, GracefulEvictionTask, ResourceBinding
from leeward.operations.applications import (
    ApplicationRow,
    OutageOf,
    RowState,
    ServiceLevel,
    application_key,
    application_row,
    is_listed,
)
from tests.builders import at, binding, divided, duplicated, targets

PLACED = binding(divided({"m1": 1, "m2": 1}), 4, targets(m1=2, m2=2))


def saying(*conditions: Condition, before: ResourceBinding = PLACED) -> ResourceBinding:
    return msgspec.structs.replace(before, status=msgspec.structs.replace(before.status, conditions=conditions))


def reporting(items: Mapping[str, Mapping[str, Any]], before: ResourceBinding = PLACED) -> ResourceBinding:
    told = tuple(AggregatedStatusItem(cluster_name=name, status=status) for name, status in items.items())
    return msgspec.structs.replace(before, status=msgspec.structs.replace(before.status, aggregated_status=told))


def condition(condition_type: str, reason: str, status: str = "True") -> Condition:
    return Condition(condition_type, status, reason, "why", at(60))


def row_of(each: ResourceBinding) -> ApplicationRow:
    return application_row(each)


@pytest.mark.parametrize(
    ("told", "state", "then"),
    [
        ((), RowState.IN_PLACE, ""),
        ((condition(EVICTION_HELD_CONDITION, "NoPlaceToGo"),), RowState.HELD, "waits for free capacity"),
        (
            (condition(EVICTION_HELD_CONDITION, "BrakeEngaged"),),
            RowState.HELD,
            "waits until the clusters are back, or until `leeward brake release`",
        ),
        ((condition(EVICTION_HELD_CONDITION, "OfAnotherVersion"),), RowState.HELD, "waits"),
        ((condition(EVICTION_HELD_CONDITION, "NothingToGain"),), RowState.KEPT, ""),
        ((condition(EVICTION_HELD_CONDITION, "WaitingForTurn"),), RowState.WAITING, "waits for its turn"),
        ((condition(EVICTION_HELD_CONDITION, "NoPlaceToGo", "False"),), RowState.IN_PLACE, ""),
        ((condition("Scheduled", "Unschedulable", "False"),), RowState.NOT_PLACED, "waits for a place"),
        ((condition("Scheduled", "Success"),), RowState.IN_PLACE, ""),
        ((condition(REFUSED_CONDITION, "ForeignTemplate"),), RowState.HINDERED, ""),
        ((condition(CLUSTER_OUTAGE_CONDITION, "Tolerated"),), RowState.KEPT, ""),
        ((condition(CLUSTER_OUTAGE_CONDITION, "EvictionExpected"),), RowState.DUE, ""),
        ((condition(CLUSTER_OUTAGE_CONDITION, "Undecided"),), RowState.UNDECIDED, ""),
        (
            (condition("Scheduled", "Unschedulable", "False"), condition(EVICTION_HELD_CONDITION, "NoPlaceToGo")),
            RowState.HELD,
            "waits for free capacity",
        ),
    ],
)
def test_a_row_says_what_its_binding_says(told: tuple[Condition, ...], state: RowState, then: str) -> None:
    row = row_of(saying(*told))
    assert (row.state, row.next, row.next_at) == (state, then, None)
    assert row.needs_somebody is (state in (RowState.HELD, RowState.NOT_PLACED, RowState.HINDERED))


def test_what_is_due_says_when_and_from_where() -> None:
    marks = {NOT_SEEN_SINCE: "2026-01-01T00:00:30Z", LEAVES_AT: "2026-01-01T00:10:00Z"}
    told = reporting({"m1": {"readyReplicas": 2, **marks}, "m2": {"readyReplicas": 2}})
    row = row_of(saying(condition(CLUSTER_OUTAGE_CONDITION, "EvictionExpected"), before=told))
    assert (row.state, row.since, row.next, row.next_at) == (RowState.DUE, at(30), "leaves m1", at(600))
    assert (row.ready, row.wanted) == (2, 4)
    assert [(place.cluster, place.ready, place.seen) for place in row.where] == [("m1", None, False), ("m2", 2, True)]


def test_a_copy_that_is_leaving_is_shown_where_it_still_is() -> None:
    task = GracefulEvictionTask(from_cluster="m3", reason="TaintUntolerated", producer="x", creation_timestamp=at(5))
    moving = binding(divided({"m1": 1}), 4, targets(m1=4), (task,))
    row = row_of(moving)
    assert (row.state, row.since, row.next) == (RowState.MOVING, at(5), "leaves m3 when its replacement is healthy")
    assert [(place.cluster, place.replicas, place.leaving) for place in row.where] == [
        ("m1", 4, False),
        ("m3", 0, True),
    ]


def test_what_has_moved_says_since_when_until_the_outage_is_cleaned_up() -> None:
    moved = OutageApplication(kind="Deployment", name="nginx", state=MoveState.MOVED, to={"m2": 2}, healthy_at=at(90))
    row = application_row(PLACED, OutageOf("m1-1", moved))
    assert (row.state, row.since, row.message, row.outage) == (RowState.MOVED, at(90), "to m2:2", "m1-1")
    assert application_row(PLACED).state is RowState.IN_PLACE


@pytest.mark.parametrize(
    ("told", "states", "level"),
    [
        ({"m1": 2, "m2": 2}, (), ServiceLevel.WHOLE),
        ({"m1": None, "m2": 2}, ("NoPlaceToGo",), ServiceLevel.FEWER),
        ({"m1": None, "m2": None}, ("NoPlaceToGo",), ServiceLevel.NOBODY),
        ({"m1": 0, "m2": 2}, (), ServiceLevel.STARTING),
        ({}, ("NoPlaceToGo",), ServiceLevel.WHOLE),
    ],
)
def test_service_is_what_is_ready_in_clusters_that_are_up(
    told: Mapping[str, int | None], states: tuple[str, ...], level: ServiceLevel
) -> None:
    """Replicas that are ready by cluster: None is a cluster that is down, and one that is not there says nothing."""
    mark = {NOT_SEEN_SINCE: "2026-01-01T00:00:30Z"}
    items = {
        name: {"readyReplicas": 2, **mark} if ready is None else {"readyReplicas": ready}
        for name, ready in told.items()
    }
    held = tuple(condition(EVICTION_HELD_CONDITION, reason) for reason in states)
    assert row_of(saying(*held, before=reporting(items))).serving is level


def test_a_copy_that_is_kept_by_choice_is_not_missed_while_another_one_serves() -> None:
    lost = {"readyReplicas": 3, NOT_SEEN_SINCE: "2026-01-01T00:00:30Z"}
    twice = reporting({"m1": lost, "m2": {"readyReplicas": 3}}, binding(duplicated("m1", "m2"), 3, targets(m1=3, m2=3)))
    assert (
        row_of(saying(condition(EVICTION_HELD_CONDITION, "NothingToGain"), before=twice)).serving is ServiceLevel.WHOLE
    )
    assert row_of(saying(condition(EVICTION_HELD_CONDITION, "NoPlaceToGo"), before=twice)).serving is ServiceLevel.FEWER
    uncollected = condition(CLUSTER_OUTAGE_CONDITION, "StatusCollectionFailed")
    alone = reporting({"m1": lost}, binding(duplicated("m1"), 3, targets(m1=3)))
    assert row_of(saying(uncollected, before=alone)).serving is ServiceLevel.WHOLE, "it is not known to be down"


@pytest.mark.parametrize(
    ("reason", "text", "cause"),
    [
        (
            "NoPlaceToGo",
            "The policy allows m1 only, and m1 is down. 2 replicas stay: 0/6 clusters",
            "The policy allows",
        ),
        ("BrakeEngaged", "not evicted from m1, because too many clusters are down", "The brake stops evictions"),
        ("NothingToGain", "kept in m1. Leaving gains nothing", "kept in m1. Leaving gains nothing"),
    ],
)
def test_a_row_tells_the_cause_without_the_text_of_the_scheduler(reason: str, text: str, cause: str) -> None:
    told = Condition(EVICTION_HELD_CONDITION, "True", reason, text, at(60))
    assert row_of(saying(told)).message.startswith(cause)
    assert "0/6" not in row_of(saying(told)).message


@pytest.mark.parametrize(
    ("healths", "level"),
    [
        (("Unknown", "Healthy"), ServiceLevel.UNKNOWN),
        (("Healthy", "Healthy"), ServiceLevel.WHOLE),
        (("Unknown", "Unhealthy"), ServiceLevel.STARTING),
    ],
)
def test_nobody_calls_whole_what_nobody_judges(healths: tuple[str, str], level: ServiceLevel) -> None:
    told: Any = healths
    items = tuple(AggregatedStatusItem(cluster_name=f"m{i + 1}", health=each) for i, each in enumerate(told))
    custom = binding(duplicated("m1", "m2"), 0, targets(m1=0, m2=0))
    resource = msgspec.structs.replace(custom.spec.resource, api_version="data.example.com/v1", kind="Database")
    spec = msgspec.structs.replace(custom.spec, resource=resource)
    status = msgspec.structs.replace(custom.status, aggregated_status=items)
    assert row_of(msgspec.structs.replace(custom, spec=spec, status=status)).serving is level


def test_copies_that_are_not_divided_are_each_whole() -> None:
    row = row_of(binding(duplicated("m1", "m2"), 3, targets(m1=3, m2=3)))
    assert (row.ready, row.wanted) == (0, 6)


@pytest.mark.parametrize(
    ("status", "ready"),
    [
        ({"readyReplicas": 3}, 3),
        ({"numberReady": 2}, 2),
        ({"readyReplicas": "3"}, None),
        ({"readyReplicas": True}, None),
        ({"readyReplicas": -1}, 0),
        ({}, None),
        ("nonsense", None),
        (None, None),
    ],
)
def test_what_no_status_tells_is_not_known(status: Any, ready: int | None) -> None:
    row = row_of(reporting({"m1": status}))
    assert next(place.ready for place in row.where if place.cluster == "m1") == ready


def test_only_applications_are_listed_and_what_is_not_in_its_place() -> None:
    spec = PLACED.spec
    resource = msgspec.structs.replace(spec.resource, kind="ConfigMap")
    settings = msgspec.structs.replace(PLACED, spec=msgspec.structs.replace(spec, resource=resource, replicas=0))
    held = saying(condition(EVICTION_HELD_CONDITION, "NoPlaceToGo"), before=settings)
    assert [is_listed(each, row_of(each)) for each in (PLACED, settings, held)] == [True, False, True]
    assert application_key(PLACED) == "default/Deployment/nginx"


def test_what_a_member_refuses_is_hindered() -> None:
    items = (
        AggregatedStatusItem(cluster_name="m1", applied=True),
        AggregatedStatusItem(cluster_name="m2", applied_message="why"),
    )
    told = msgspec.structs.replace(PLACED, status=msgspec.structs.replace(PLACED.status, aggregated_status=items))
    assert (row_of(told).state, row_of(told).message) == (
        RowState.HINDERED,
        "the application is not applied: in m2: why",
    )
