"""Policies, and how many applications each has claimed, by the marks on their bindings."""

from collections.abc import Iterator

import msgspec

from leeward.api.names import CLUSTER_POLICY_ID_LABEL, POLICY_ID_LABEL
from leeward.api.policy import AnyPropagationPolicy
from leeward.api.work import Binding


class PolicyRow(msgspec.Struct, frozen=True, rename="camel"):
    """`selects` says of what kinds and names; `claims` is how many bindings bear its mark."""

    kind: str
    namespace: str
    name: str
    priority: int
    preemption: bool
    suspended: bool
    selects: list[str]
    claims: int


def policy_key(policy: AnyPropagationPolicy) -> str:
    """`payments/PropagationPolicy/eu-only`"""
    return f"{policy.namespace}/{_kind(policy)}/{policy.name}"


def claim_of(binding: Binding) -> str:
    """Id of the policy that has claimed it; empty where none has."""
    labels = binding.metadata.labels
    return labels.get(POLICY_ID_LABEL) or labels.get(CLUSTER_POLICY_ID_LABEL) or ""


def claim_by(policy: AnyPropagationPolicy) -> str:
    """Id by which it claims."""
    return policy.metadata.labels.get(POLICY_ID_LABEL if policy.namespace else CLUSTER_POLICY_ID_LABEL, "-")


def policy_row(policy: AnyPropagationPolicy, claims: int) -> PolicyRow:
    spec = policy.spec
    return PolicyRow(
        kind=_kind(policy),
        namespace=policy.namespace,
        name=policy.name,
        priority=spec.priority or 0,
        preemption=spec.preemption == "Always",
        suspended=spec.suspension is not None,
        selects=list(_selects(policy)),
        claims=claims,
    )


def _selects(policy: AnyPropagationPolicy) -> Iterator[str]:
    for selector in policy.spec.resource_selectors:
        name = "/".join(filter(None, (selector.namespace, selector.name)))
        by_label = " by labels" if selector.label_selector is not None else ""
        yield f"{selector.kind} {name or 'of any name'}{by_label}"


def _kind(policy: AnyPropagationPolicy) -> str:
    return "PropagationPolicy" if policy.namespace else "ClusterPropagationPolicy"
