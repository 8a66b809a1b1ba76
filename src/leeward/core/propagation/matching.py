"""The policy that wins a template.

A policy of the template's namespace always beats a cluster-wide one; then the greater explicit priority, then the more
precise selector, then the name. Karmada: pkg/detector/compare.go, pkg/util/selector.go; same. Holds: S17.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from kubeapi.meta import ReadOnlyManifest
from kubeapi.selectors import matches, selector_of
from leeward.api.names import CLUSTER_POLICY_ID_LABEL, POLICY_ID_LABEL
from leeward.api.policy import (
    AnyPropagationPolicy,
    ClusterPropagationPolicy,
    PropagationPolicy,
    PropagationSpec,
    ResourceSelector,
)

NO_MATCH, ALL, BY_LABEL, BY_NAME = range(4)

P = TypeVar("P", PropagationPolicy, ClusterPropagationPolicy)


def find_policy(
    template: ReadOnlyManifest,
    policies: Iterable[PropagationPolicy],
    cluster_policies: Iterable[ClusterPropagationPolicy],
) -> AnyPropagationPolicy | None:
    """The policy that claims the template. Policies of other namespaces and those being deleted are passed over."""
    namespace: str = template["metadata"].get("namespace", "")
    local = [policy for policy in policies if namespace and policy.namespace == namespace]
    return _best(template, local) or _best(template, list(cluster_policies))


def keep_or_find_policy(
    template: ReadOnlyManifest,
    claimed_by: str,
    policies: Iterable[PropagationPolicy],
    cluster_policies: Iterable[ClusterPropagationPolicy],
    *,
    preemption: bool = False,
) -> AnyPropagationPolicy | None:
    """The policy with the permanent id `claimed_by` while it matches; else the one that wins.

    With `preemption` (the gate PropagationPolicyPreemption) one that preempts it takes a claimed template over.
    """
    local, everywhere = list(policies), list(cluster_policies)
    for policy in (*local, *everywhere):
        ids = (policy.metadata.labels.get(POLICY_ID_LABEL), policy.metadata.labels.get(CLUSTER_POLICY_ID_LABEL))
        if claimed_by and claimed_by in ids and _selects(policy, template):
            above = find_policy(template, _preempting(local, policy), _preempting(everywhere, policy))
            return above if preemption and above is not None else policy
    return find_policy(template, local, everywhere)


def preempts(policy: AnyPropagationPolicy, claimed: AnyPropagationPolicy) -> bool:
    """Tells whether a policy may take over a template that another has claimed, where it selects it, too.

    One of a namespace always preempts a cluster-wide one, and never the other way round; else the greater explicit
    priority does. Karmada: pkg/detector/preemption.go; same.
    """
    if policy.spec.preemption != "Always":
        return False
    if bool(policy.namespace) != bool(claimed.namespace):
        return bool(policy.namespace)
    return (policy.spec.priority or 0) > (claimed.spec.priority or 0)


def _preempting(policies: Iterable[P], claimed: AnyPropagationPolicy) -> list[P]:
    return [policy for policy in policies if preempts(policy, claimed)]


def _selects(policy: AnyPropagationPolicy, template: ReadOnlyManifest) -> bool:
    namespace = policy.namespace
    return (
        policy.metadata.deletion_timestamp is None
        and namespace in ("", template["metadata"].get("namespace", ""))
        and selector_priority(template, policy.spec, namespace) > NO_MATCH
    )


def selector_priority(template: ReadOnlyManifest, spec: PropagationSpec, policy_namespace: str) -> int:
    """Precision with which the best selector names the template: 0 not at all, 1 by kind, 2 by label, 3 by name.

    A selector without namespace means the policy's own (`policy_namespace`), or any for a cluster-wide policy ("").
    """
    return max(
        (resource_precision(template, selector, policy_namespace) for selector in spec.resource_selectors), default=0
    )


def _best(template: ReadOnlyManifest, policies: Sequence[P]) -> P | None:
    ranked = [
        (-(policy.spec.priority or 0), -precision, policy.name, policy)
        for policy in policies
        if policy.metadata.deletion_timestamp is None
        and (precision := selector_priority(template, policy.spec, policy.namespace))
    ]
    return min(ranked, key=lambda entry: entry[:3])[3] if ranked else None


def resource_precision(template: ReadOnlyManifest, selector: ResourceSelector, policy_namespace: str) -> int:
    """Precision of one selector, as above."""
    metadata: ReadOnlyManifest = template["metadata"]
    namespace: Any = selector.namespace or policy_namespace
    if (selector.api_version, selector.kind) != (template.get("apiVersion"), template.get("kind")):
        return NO_MATCH
    if namespace and namespace != metadata.get("namespace"):
        return NO_MATCH
    if selector.name:
        return BY_NAME if selector.name == metadata.get("name") else NO_MATCH
    if selector.label_selector is None:
        return ALL
    return BY_LABEL if matches(selector_of(selector.label_selector), metadata.get("labels") or {}) else NO_MATCH
