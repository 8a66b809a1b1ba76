"""Counts of a copy in a cluster that is not seen, for kinds of every shape."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from kubeapi.codec import from_wire
from kubeapi.meta import Manifest
from leeward.api.names import CLUSTER_OUTAGE_CONDITION
from leeward.api.work import AggregatedStatusItem
from leeward.core.binding_status import tell_template
from leeward.core.execution.unseen import as_seen, outage_condition
from leeward.core.interpreter import aggregate_status

SINCE = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
TRUE: Manifest = {"status": "True", "reason": "Fine", "message": "all is well"}


def items(*statuses: Any) -> list[AggregatedStatusItem]:
    wire = [
        {"clusterName": f"m{number}", "applied": True, "status": status, "health": "Healthy"}
        for number, status in enumerate(statuses, 1)
    ]
    return from_wire(wire, list[AggregatedStatusItem])


def unseen(status: Any) -> Any:
    (item,) = as_seen(items(status), {"m1": SINCE})
    assert item.health == "Unknown"
    return item.status


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        ({"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2}, {"replicas": 2, "updatedReplicas": 2}),
        ({"currentReplicas": 3, "desiredReplicas": 3}, {"currentReplicas": 3, "desiredReplicas": 3}),
        ({"availableReplicas": 2, "unavailableReplicas": 1}, {"unavailableReplicas": 3}),
        ({"numberReady": 2, "numberAvailable": 2, "desiredNumberScheduled": 2}, None),
        ({"currentHealthy": 3, "desiredHealthy": 2, "disruptionsAllowed": 1}, {"desiredHealthy": 2}),
        ({"updatedReadyReplicas": 2, "expectedUpdatedReplicas": 2}, {"expectedUpdatedReplicas": 2}),
        ({"minAvailable": 2, "running": 2}, {"minAvailable": 2, "running": 2}),
        ({"active": 1, "succeeded": 1}, {"active": 1, "succeeded": 1}),
        ({"phase": "Bound"}, {"phase": "Bound"}),
        ({"ready": True, "observedGeneration": 4}, {"ready": True, "observedGeneration": 4}),
    ],
)
def test_counts_of_what_is_ready_are_gone_and_all_others_stay(reported: Manifest, expected: Manifest | None) -> None:
    told = {name: value for name, value in unseen(reported).items() if value != 0}
    assert told == (expected or {"desiredNumberScheduled": 2, "numberUnavailable": 2})


@pytest.mark.parametrize("kind", ["Ready", "Available", "Healthy", "ContainersReady", "example.com/Ready"])
def test_a_condition_that_says_ready_is_unknown(kind: str) -> None:
    (told,) = unseen({"conditions": [{"type": kind, **TRUE}]})["conditions"]
    assert (told["status"], told["reason"]) == ("Unknown", "ClusterNotSeen")
    assert told["message"] == "nothing is known of m1 (since 2026-01-01T00:00:00Z)"


@pytest.mark.parametrize("kind", ["Complete", "Progressing", "NotReady", "ScalingActive", "Stalled"])
def test_a_condition_that_says_something_else_stays(kind: str) -> None:
    status = {"conditions": [{"type": kind, **TRUE}, {"type": "Ready", **TRUE, "status": "False"}]}
    assert unseen(status) == status


def test_what_cannot_be_read_stays_as_it_is() -> None:
    odd = {"readyReplicas": "many", "conditions": "none", "containerStatuses": ["x", {"ready": True}]}
    assert unseen(odd) == {**odd, "conditions": [], "containerStatuses": ["x", {"ready": False}]}
    assert [unseen(each) for each in (None, "text", [1])] == [None, "text", [1]]


def test_copies_in_clusters_that_are_seen_are_the_same_objects() -> None:
    given = items({"readyReplicas": 1}, {"readyReplicas": 1})
    seen = as_seen(given, {"m2": SINCE, "m9": SINCE})
    assert seen[0] is given[0]
    assert seen[1].status == {"readyReplicas": 0}
    assert given[1].status == {"readyReplicas": 1}


def test_a_kind_of_another_project_is_not_ready_where_it_is_not_seen() -> None:
    template: Manifest = {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "app", "generation": 1},
    }
    reported = {"conditions": [{"type": "Ready", **TRUE}], "observedGeneration": 1}
    told = aggregate_status(template, as_seen(items(reported), {"m1": SINCE}))
    assert told is not None
    assert [each["status"] for each in told["status"]["conditions"]] == ["Unknown"]
    clone = {"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": {"generation": 1}}
    counts = {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "updatedReadyReplicas": 2}
    told = aggregate_status(clone, as_seen(items(counts, counts), {"m1": SINCE}))
    assert told is not None
    assert {name: told["status"][name] for name in counts} == {
        "replicas": 4,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "updatedReadyReplicas": 2,
    }


def with_outage(template: Manifest, status: Manifest, not_seen: Mapping[str, datetime], now: datetime) -> Manifest:
    told = outage_condition(template, status, not_seen)
    return tell_template(template, status, {CLUSTER_OUTAGE_CONDITION: told}, now)


def test_the_condition_is_dated_once_and_goes_with_the_outage() -> None:
    template = {"apiVersion": "apps/v1", "kind": "StatefulSet"}
    others = [{"type": "Mine", "status": "True"}]
    status = {"replicas": 1, "conditions": others}
    during = with_outage(template, status, {"m1": SINCE}, SINCE)
    assert [each["type"] for each in during["conditions"]] == ["Mine", "leeward.dev/ClusterOutage"]
    told = {**template, "status": during}
    assert with_outage(told, during, {"m1": SINCE}, NOW) == during
    more = with_outage(told, during, {"m1": SINCE, "m2": NOW}, NOW)
    assert more["conditions"][1]["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    assert "m2 (since 2026-01-01T00:01:00Z)" in more["conditions"][1]["message"]
    assert with_outage(template, more, {}, NOW) == status
    assert with_outage(template, {}, {}, NOW) == {}


@pytest.mark.parametrize("kind", ["Job", "Deployment"])
def test_a_status_that_is_added_up_anew_has_the_date_that_the_template_tells(kind: str) -> None:
    template = {"apiVersion": "batch/v1" if kind == "Job" else "apps/v1", "kind": kind}
    during = with_outage(template, {"active": 1}, {"m1": SINCE}, SINCE)
    told = {**template, "status": during}
    assert with_outage(told, {"active": 1}, {"m1": SINCE}, NOW) == during


def test_a_kind_that_may_refuse_a_condition_and_a_job_that_has_ended_get_none() -> None:
    custom = {"apiVersion": "example.com/v1", "kind": "App"}
    assert with_outage(custom, {"a": 1}, {"m1": SINCE}, NOW) == {"a": 1}
    job = {"apiVersion": "batch/v1", "kind": "Job"}
    ended = {"conditions": [{"type": "Failed", "status": "True"}]}
    assert with_outage(job, ended, {"m1": SINCE}, NOW) == ended
    assert "conditions" in with_outage(job, {"active": 1}, {"m1": SINCE}, NOW)
