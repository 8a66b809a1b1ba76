"""Volumes that are held back: which manifests have some, and what their binding says."""

from typing import Any

import msgspec
import pytest

from kubeapi.meta import ObjectMeta
from leeward.api.cluster import Cluster, ClusterSpec, ClusterStatus
from leeward.api.meta import Condition
from leeward.api.names import VOLUMES_HELD_CONDITION
from leeward.api.work import (
    AggregatedStatusItem,
    BindingResource,
    ResourceBinding,
    ResourceBindingSpec,
    ResourceBindingStatus,
    Work,
    WorkStatus,
)
from leeward.core.cluster_health.cluster_identity import with_identity
from leeward.core.execution.held_volumes import (
    MADE_FOR_ANNOTATION,
    has_volumes,
    held_in,
    is_held,
    made_for,
    volumes_held,
)
from tests.builders import at

CLAIM: dict[str, Any] = {"name": "d", "persistentVolumeClaim": {"claimName": "data"}}


def workload(kind: str, *volumes: dict[str, Any], **spec: Any) -> dict[str, Any]:
    whole = {"template": {"spec": {"volumes": list(volumes)}}, **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"namespace": "n"}, "spec": whole}


@pytest.mark.parametrize(
    ("manifest", "has"),
    [
        ({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"namespace": "n"}}, True),
        (workload("StatefulSet", volumeClaimTemplates=[{"metadata": {"name": "data"}}]), True),
        (workload("StatefulSet", CLAIM), True),
        (workload("StatefulSet"), False),
        (workload("Deployment", CLAIM), True),
        (workload("Deployment", {"name": "d", "emptyDir": {}}), False),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "n"}}, False),
        ({"apiVersion": "example.com/v1", "kind": "PersistentVolumeClaim"}, False),
    ],
)
def test_what_makes_volumes_or_writes_to_some_is_held(manifest: dict[str, Any], has: bool) -> None:
    assert has_volumes(manifest) is has


def work(status: str) -> Work:
    condition = Condition(VOLUMES_HELD_CONDITION, status, "ClusterReplaced", "StatefulSet n/db: rebuilt")
    return Work(status=WorkStatus(conditions=(condition,)))


def test_a_binding_names_each_cluster_in_which_it_is_held() -> None:
    assert volumes_held({"a": Work(), "b": work("False")}) is None
    assert held_in(work("False")) is None
    told = volumes_held({"b": work("True"), "a": work("True"), "c": work("False")})
    assert told is not None
    assert (
        told.message
        == "Not made in a, because StatefulSet n/db: rebuilt; Not made in b, because StatefulSet n/db: rebuilt"
    )


def rebuilt(uid: str) -> Cluster:
    """A Cluster that was `a`, and in which the member with this uid answers."""
    before = Cluster(metadata=ObjectMeta(name="member1"), spec=ClusterSpec(sync_mode="Push"))
    for seen in ("a", uid):
        conditions = with_identity(before, before.status.conditions, seen, at(0))
        before = msgspec.structs.replace(before, status=ClusterStatus(conditions=conditions))
    return before


def bound(*reported: str) -> ResourceBinding:
    items = tuple(AggregatedStatusItem(cluster_name=name) for name in reported)
    return ResourceBinding(
        spec=ResourceBindingSpec(resource=WEB), status=ResourceBindingStatus(aggregated_status=items)
    )


WEB = BindingResource(api_version="apps/v1", kind="Deployment", name="web")
MADE_FOR_B = {MADE_FOR_ANNOTATION: "b"}


@pytest.mark.parametrize(
    ("cluster", "binding", "before", "expected"),
    [
        (rebuilt("b"), bound(), None, MADE_FOR_B),
        (rebuilt("b"), bound("member2"), None, MADE_FOR_B),
        (rebuilt("b"), bound("member1"), None, {}),
        (rebuilt("b"), bound(), {}, {}),
        (rebuilt("b"), bound("member1"), {**MADE_FOR_B, "other": "x"}, MADE_FOR_B),
        (rebuilt("a"), bound(), None, {}),
    ],
)
def test_a_work_is_made_for_the_rebuilt_cluster_only_where_it_was_not_there_before(
    cluster: Cluster, binding: ResourceBinding, before: dict[str, str] | None, expected: dict[str, str]
) -> None:
    assert made_for(cluster, binding, before) == expected


@pytest.mark.parametrize(
    ("annotations", "uid", "expected"),
    [
        ({}, "b", True),
        ({}, "", True),
        ({}, "a", False),
        (MADE_FOR_B, "b", False),
        (MADE_FOR_B, "", False),
        (MADE_FOR_B, "c", True),
        (MADE_FOR_B, "a", False),
        ({MADE_FOR_ANNOTATION: ""}, "", True),
    ],
)
def test_a_work_is_held_unless_it_was_made_for_the_cluster_that_answers(
    annotations: dict[str, str], uid: str, expected: bool
) -> None:
    assert is_held(Work(metadata=ObjectMeta(annotations=annotations)), rebuilt("b"), uid) is expected
