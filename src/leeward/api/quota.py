"""`policy.karmada.io/v1alpha1`: how much a namespace may use over all clusters."""

from collections.abc import Mapping

from kubeapi.meta import Object, TypedObject
from kubeapi.quantity import Quantity


class StaticClusterAssignment(Object, frozen=True):
    cluster_name: str
    hard: Mapping[str, Quantity]


class FederatedResourceQuotaSpec(Object, frozen=True):
    """`static_assignments` become ResourceQuotas in the clusters."""

    overall: Mapping[str, Quantity]
    static_assignments: tuple[StaticClusterAssignment, ...] = ()


class ClusterQuotaStatus(Object, frozen=True):
    cluster_name: str
    hard: Mapping[str, Quantity] = {}
    used: Mapping[str, Quantity] = {}


class FederatedResourceQuotaStatus(Object, frozen=True):
    overall: Mapping[str, Quantity] = {}
    overall_used: Mapping[str, Quantity] = {}
    aggregated_status: tuple[ClusterQuotaStatus, ...] = ()


class FederatedResourceQuota(TypedObject, frozen=True, kw_only=True):
    """Limits what the resources of a namespace may use in all clusters together."""

    spec: FederatedResourceQuotaSpec
    status: FederatedResourceQuotaStatus = FederatedResourceQuotaStatus()
