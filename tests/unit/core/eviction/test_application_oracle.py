"""Application failover runs its clocks, opens its tasks and preserves state as Karmada does."""

from datetime import datetime, timedelta
from typing import Any

import msgspec

from kubeapi.codec import from_wire, to_wire
from kubeapi.meta import format_time
from leeward.api.work import AggregatedStatusItem, Binding, ClusterResourceBinding, ResourceBinding
from leeward.core.copies.memory import BindingMemory
from leeward.core.eviction.application import (
    FailedCopies,
    StateNotPreserved,
    failure_task,
    find_failures,
)
from leeward.core.eviction.tasks import leave
from tests.oracle import Case, Difference, all_at, at, load, replay, told


def test_application_failover_takes_the_steps_that_karmada_takes() -> None:
    replay(load("app_failover"), _play, _recorded, differs=_forgets_at_once, at_least=250)


def _recorded(case: Case) -> object:
    """Record without the error's text; Go prints a list that it has not made as null."""
    steps = case.expected["steps"]
    return [
        {**told({**step, "error": None, "clusters": step["clusters"] or []}), "failed": "error" in step}
        for step in steps
    ]


def _play(case: Case) -> object:
    return _steps(case, karmada_forgets=False)


def _steps(case: Case, *, karmada_forgets: bool) -> list[dict[str, Any]]:
    given = case.given
    is_namespaced = at(given, "binding", "metadata", "namespace")
    binding = from_wire(given["binding"], ResourceBinding if is_namespaced else ClusterResourceBinding)
    record, now, answers = BindingMemory(), datetime.fromisoformat(given["start"]), list[dict[str, Any]]()
    for step in given["steps"]:
        now += timedelta(seconds=step["sleepSeconds"])
        items = tuple(from_wire(item, AggregatedStatusItem) for item in all_at(step, "aggregatedStatus"))
        failures = find_failures(binding.spec, items, record, now)
        after, complete = _evict_failed(binding, failures)
        left = tuple(i.cluster_name for i in failures.failed) if complete else ()
        since = failures.memory.after_leaving(left, remember=True).unhealthy
        if not complete and karmada_forgets:
            since = {**since, **record.unhealthy}
        record = BindingMemory().noting(since)
        answers.append(_answer(after, record, failures, now, complete))
        binding = after if complete else binding
    return answers


def _evict_failed(binding: Binding, failures: FailedCopies) -> tuple[Binding, bool]:
    """One after the other, as Karmada does; a state that cannot be preserved ends the step, which is then not kept."""
    spec = binding.spec
    for item in failures.failed:
        try:
            spec = leave(spec, [failure_task(binding, item)])
        except StateNotPreserved:
            return msgspec.structs.replace(binding, spec=spec), False
    return msgspec.structs.replace(binding, spec=spec), True


def _answer(
    binding: Binding, record: BindingMemory, failures: FailedCopies, now: datetime, complete: bool
) -> dict[str, Any]:
    """A time to look again is no matter of a step that failed: the queue's back-off decides."""
    wait = int((failures.wake_at - now).total_seconds()) if failures.wake_at and complete else 0
    spec = to_wire(binding.spec)
    told_step = told(
        {
            "clusters": spec.get("clusters", []),
            "gracefulEvictionTasks": spec.get("gracefulEvictionTasks"),
            "retrySeconds": wait,
            "unhealthySince": {name: format_time(at) for name, at in record.unhealthy.items()},
        }
    )
    return {**told_step, "failed": not complete}


def _forgets_at_once(case: Case) -> Difference | None:
    """Difference only where a step fails that tells of a copy that is no longer unhealthy."""
    steps = zip(case.given["steps"], case.expected["steps"], strict=True)
    unkept = [step for step, answer in steps if "error" in answer]
    if not any(item.get("health") != "Unhealthy" for step in unkept for item in all_at(step, "aggregatedStatus")):
        return None

    def check(case: Case, _: Any) -> None:
        assert _steps(case, karmada_forgets=True) == _recorded(case)

    return Difference("a copy that has recovered is forgotten also when another's state cannot be preserved", check)
