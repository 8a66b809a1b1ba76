"""Volumes that are held back: which manifests have some, and what their binding says."""

from typing import Any

import pytest

from leeward.api.meta import Condition
from leeward.api.names import VOLUMES_HELD_CONDITION
from leeward.api.work import Work, WorkStatus
from leeward.core.execution.held_volumes import has_volumes, held_in, volumes_held

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
    assert told.message == "Not made in a: StatefulSet n/db: rebuilt; Not made in b: StatefulSet n/db: rebuilt"
