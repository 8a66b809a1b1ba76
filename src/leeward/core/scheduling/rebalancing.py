"""Rebalancing, as a WorkloadRebalancer asks for it: each workload that it lists is scheduled afresh, once.

A binding is told so by `spec.rescheduleTriggeredAt`. For the first generation that is the rebalancer's creation, so
doing it again after a restart has no second effect. A workload that is listed later counts from when that is seen. A
workload that is no longer listed stays in the status if it was rebalanced, and leaves it otherwise. None is rebalanced
again because others were added.

Karmada: pkg/controllers/workloadrebalancer; same, but that later workloads count from then on (there they are not
moved when they have been scheduled since the rebalancer was made). Holds: C3.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from kubeapi.meta import wire_time
from leeward.api.rebalancer import ObservedWorkload, WorkloadRebalancer, WorkloadRebalancerStatus, WorkloadReference
from leeward.api.work import Binding

SUCCESSFUL, FAILED = "Successful", "Failed"
NOT_FOUND = "ReferencedBindingNotFound"


def triggered_at(rebalancer: WorkloadRebalancer, now: datetime) -> datetime:
    """Instant since which the workloads without a result are wanted afresh."""
    created = rebalancer.metadata.creation_timestamp
    return created if created is not None and rebalancer.metadata.generation <= 1 else wire_time(now)


def needs_trigger(binding: Binding, at: datetime) -> bool:
    before = binding.spec.reschedule_triggered_at
    return before is None or before < at


def asked_at(binding: Binding, at: datetime) -> datetime:
    """Instant to ask for, so that it is done. Clocks differ, and by the scheduler's the binding may have been scheduled
    later than that."""
    scheduled = binding.status.last_scheduled_time
    return at if scheduled is None or scheduled < at else scheduled + timedelta(seconds=1)


def pending(rebalancer: WorkloadRebalancer) -> tuple[WorkloadReference, ...]:
    """The listed workloads, each once, that are still to be rebalanced. A missing one is looked for once only."""
    status = rebalancer.status
    current = status.observed_generation == rebalancer.metadata.generation
    done = {o.workload for o in status.observed_workloads if o.result == SUCCESSFUL or (current and o.result)}
    return tuple(workload for workload in dict.fromkeys(rebalancer.spec.workloads) if workload not in done)


def observed(workload: WorkloadReference, found: bool) -> ObservedWorkload:
    return ObservedWorkload(workload, SUCCESSFUL) if found else ObservedWorkload(workload, FAILED, NOT_FOUND)


def next_status(
    rebalancer: WorkloadRebalancer, outcomes: Sequence[ObservedWorkload], now: datetime
) -> WorkloadRebalancerStatus:
    """The status with these outcomes in it; finished once every listed workload has one.

    Earlier successes stay when they are listed no more: they tell that a workload was scheduled afresh."""
    known = {outcome.workload: outcome for outcome in (*rebalancer.status.observed_workloads, *outcomes)}
    succeeded = {workload for workload, outcome in known.items() if outcome.result == SUCCESSFUL}
    kept = sorted({*rebalancer.spec.workloads, *succeeded}, key=_order)
    workloads = tuple(known.get(workload, ObservedWorkload(workload)) for workload in kept)
    finished = all(workload.result for workload in workloads)
    before = rebalancer.status.finish_time if not outcomes else None
    return msgspec.structs.replace(
        rebalancer.status,
        observed_workloads=workloads,
        observed_generation=rebalancer.metadata.generation,
        finish_time=(before or wire_time(now)) if finished else None,
    )


def expires_at(rebalancer: WorkloadRebalancer) -> datetime | None:
    """Instant at which a finished rebalancer is to be deleted; None: never, or not yet known."""
    seconds, finished = rebalancer.spec.ttl_seconds_after_finished, rebalancer.status.finish_time
    if seconds is None or finished is None or pending(rebalancer):
        return None
    return finished + timedelta(seconds=seconds)


def _order(workload: WorkloadReference) -> tuple[str, ...]:
    return workload.api_version, workload.kind, workload.namespace, workload.name
