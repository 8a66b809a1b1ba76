"""`policy.karmada.io/v1alpha1`: taints that follow a cluster's conditions."""

from typing import Annotated

from msgspec import Meta

from kubeapi.meta import Object, TypedObject
from leeward.api.policy import ClusterAffinity


class MatchCondition(Object, frozen=True):
    """True when the condition is present and its status is (`In`) or is not (`NotIn`) among the values."""

    condition_type: str
    operator: str
    status_values: tuple[str, ...]


class PolicyTaint(Object, frozen=True):
    key: str
    effect: str
    value: str = ""


class ClusterTaintPolicySpec(Object, frozen=True):
    """All conditions of a list must match; an empty list never does."""

    taints: Annotated[tuple[PolicyTaint, ...], Meta(min_length=1)]
    target_clusters: ClusterAffinity | None = None
    add_on_conditions: tuple[MatchCondition, ...] = ()
    remove_on_conditions: tuple[MatchCondition, ...] = ()


class ClusterTaintPolicy(TypedObject, frozen=True, kw_only=True):
    """Adds and removes taints as a cluster's conditions change. Taints stay when the policy is deleted."""

    spec: ClusterTaintPolicySpec
