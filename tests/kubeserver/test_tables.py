"""Rows of tables, where they show more than a field."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeserver.builtin_kinds import BUILT_IN
from kubeserver.handlers.table import columns_of, render_row
from kubeserver.kinds.kind import Kind
from kubeserver.structures.structure import blank

NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
THEN = "2026-01-01T00:00:00Z"
_POD = {"kind": "Pod", "name": "p", "fieldPath": "spec"}
_GATES = [{"conditionType": "a"}, {"conditionType": "b"}]

_CELLS: list[tuple[str, Manifest, dict[str, Any]]] = [
    (
        "v1/Event",
        {"involvedObject": _POD, "source": {"component": "c", "host": "h"}, "firstTimestamp": THEN, "message": " m "},
        {"Last Seen": "60s", "Object": "pod/p", "Subobject": "spec", "Source": "c, h", "Message": "m", "Count": 1},
    ),
    (
        "events.k8s.io/v1/Event",
        {"regarding": _POD, "reportingController": "c", "eventTime": THEN, "series": {"count": 2}, "note": "n"},
        {"Last Seen": "60s", "Object": "pod/p", "Subobject": "spec", "Source": "c", "Message": "n", "Count": 2},
    ),
    ("v1/Pod", {"spec": {"readinessGates": _GATES}}, {"Readiness Gates": "0/2"}),
    ("v1/Pod", {}, {"Readiness Gates": "<none>"}),
    (
        "v1/PersistentVolume",
        {"spec": {"accessModes": ["ReadWriteMany", "ReadWriteOnce"]}, "status": {"phase": "Available"}},
        {"Access Modes": "RWO,RWX", "Status": "Available"},
    ),
    (
        "v1/PersistentVolumeClaim",
        {"metadata": {"deletionTimestamp": THEN}, "status": {"accessModes": ["ReadWriteOncePod"]}},
        {"Access Modes": "RWOP", "Status": "Terminating"},
    ),
    (
        "storage.k8s.io/v1/StorageClass",
        {"metadata": {"name": "a", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}},
        {"Name": "a (default)", "AllowVolumeExpansion": False},
    ),
    (
        "scheduling.k8s.io/v1/PriorityClass",
        {"value": 1, "preemptionPolicy": "Never"},
        {"Value": 1, "Global-Default": False, "PreemptionPolicy": "Never"},
    ),
]


@pytest.mark.parametrize(("name", "manifest", "shown"), _CELLS)
def test_a_row_shows_what_kubectl_prints(name: str, manifest: Manifest, shown: dict[str, Any]) -> None:
    assert _row(name, manifest)["cells"].items() >= shown.items()


@pytest.mark.parametrize(
    ("phase", "said"), [("Succeeded", "The pod has completed successfully."), ("Failed", "The pod failed.")]
)
def test_the_row_of_a_pod_says_that_it_is_done(phase: str, said: str) -> None:
    completed = {"type": "Completed", "status": "True", "reason": phase, "message": said}
    assert _row("v1/Pod", {"status": {"phase": phase}})["conditions"] == [completed]
    assert "conditions" not in _row("v1/Pod", {"status": {"phase": "Running"}})


def _row(name: str, manifest: Manifest) -> dict[str, Any]:
    """Row of a table: its cells by the names of their columns."""
    kind = next(kind for kind in BUILT_IN if f"{kind.api_version}/{kind.kind}" == name)
    row = render_row(kind, {"metadata": {}, **manifest}, NOW, "", "v1")
    names = (column.name for column in columns_of(kind))
    return {**row, "cells": dict(zip(names, row["cells"], strict=True))}


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: f"{kind.api_version}/{kind.kind}")
def test_an_object_that_says_nothing_has_a_row(kind: Kind):
    manifest = {"kind": kind.kind, "apiVersion": kind.api_version, **blank(kind.structure)}
    assert len(render_row(kind, manifest, NOW, "None", "v1")["cells"]) == len(columns_of(kind))
