"""`apps.karmada.io/v1alpha1`: a request to place workloads afresh, as after an outage."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from kubeapi.meta import Dated, Int32, Int64, Object, TypedObject


class WorkloadReference(Object, frozen=True):
    api_version: str
    kind: str
    name: str
    namespace: str = ""


class ObservedWorkload(Object, frozen=True):
    """`result` is `Successful`, `Failed`, or empty while it is not known."""

    workload: WorkloadReference
    result: str = ""
    reason: str = ""


class WorkloadRebalancerSpec(Object, frozen=True):
    workloads: Annotated[tuple[WorkloadReference, ...], Meta(min_length=1)]
    ttl_seconds_after_finished: Int32 | None = None


class WorkloadRebalancerStatus(Dated, frozen=True):
    observed_workloads: tuple[ObservedWorkload, ...] = ()
    observed_generation: Int64 = 0
    finish_time: datetime | None = None


class WorkloadRebalancer(TypedObject, frozen=True, kw_only=True):
    """Has the listed workloads scheduled afresh, once."""

    spec: WorkloadRebalancerSpec
    status: WorkloadRebalancerStatus = WorkloadRebalancerStatus()
