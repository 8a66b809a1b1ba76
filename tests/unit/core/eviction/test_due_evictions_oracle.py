"""Eviction tasks open, count and end as in Karmada, where the Karmada-exact switch is set."""

from datetime import datetime, timedelta
from typing import Any

import msgspec

from kubeapi.codec import from_wire, to_wire
from kubeapi.meta import ObjectMeta
from leeward.api.work import (
    AggregatedStatusItem,
    GracefulEvictionTask,
    ResourceBinding,
    ResourceBindingSpec,
    ResourceBindingStatus,
)
from leeward.core.eviction.progress import KARMADA_LAW, assess_tasks
from leeward.core.eviction.tasks import leave
from leeward.core.execution.works import replicas_by_cluster
from tests.builders import table
from tests.oracle import Case, all_at, load, replay

NO_NAME: Any = {"fromCluster": "", "reason": "", "producer": ""}


def test_tasks_end_when_karmada_ends_them() -> None:
    replay(load("eviction", "assessEvictionTasks"), _assess, _assessed, at_least=200)


def _assess(case: Case) -> object:
    given = case.given
    now = datetime.fromisoformat(given["now"])
    bound = _binding(given)
    result = assess_tasks(bound, table(bound, {}, {}, now), now, given["timeoutSeconds"], law=KARMADA_LAW)
    wait = (result.wake_at - timedelta(microseconds=1) - now).total_seconds() if result.wake_at else 0
    return {"kept": to_wire(result.kept), "finished": list(result.finished), "retry": wait}


def _assessed(case: Case) -> object:
    """A retry of 0 or less is none."""
    out = case.expected
    kept = all_at(out, "keptTasks")
    return {"kept": kept, "finished": out["evictedClusters"] or [], "retry": max(0, out["nextRetrySeconds"])}


def _binding(given: dict[str, Any]) -> ResourceBinding:
    items = tuple(from_wire(item, AggregatedStatusItem) for item in all_at(given, "aggregatedStatus"))
    return ResourceBinding(
        metadata=ObjectMeta(name="web", namespace="default", generation=1),
        spec=from_wire(given["spec"], ResourceBindingSpec),
        status=ResourceBindingStatus(
            scheduler_observed_generation=1 if given["hasScheduled"] else 0, aggregated_status=items
        ),
    )


def test_copies_leave_a_binding_as_in_karmada() -> None:
    replay(load("eviction", "mutateSpec"), _mutate, _mutated, at_least=200)


def _mutate(case: Case) -> object:
    spec = from_wire(case.given["spec"], ResourceBindingSpec)
    for step in case.given["ops"]:
        if step["op"] == "RemoveCluster":
            kept = tuple(target for target in spec.clusters if target.name != step["cluster"])
            spec = msgspec.structs.replace(spec, clusters=kept)
        else:
            options: dict[str, Any] = {**NO_NAME, **step.get("options", {}), "fromCluster": step["cluster"]}
            spec = leave(spec, [_unchecked(options)])
    return {"spec": to_wire(spec), "existing": sorted(replicas_by_cluster(spec))}


def _unchecked(task: dict[str, Any]) -> GracefulEvictionTask:
    """The recorded options leave out what the API requires."""
    checked = from_wire({**task, "reason": task["reason"] or "none"}, GracefulEvictionTask)
    return msgspec.structs.replace(checked, reason=task["reason"])


def _mutated(case: Case) -> object:
    return {"spec": case.expected["spec"], "existing": case.expected["existingClusters"] or []}
