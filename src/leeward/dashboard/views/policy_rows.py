"""Policies, and how many applications each has claimed, by the marks on their bindings."""

from collections.abc import Iterator, Sequence

import msgspec

from kubeapi.core import Taint, Toleration
from kubeapi.meta import LabelSelectorRequirement
from kubeapi.toleration import tolerates
from leeward.api.names import CLUSTER_POLICY_ID_LABEL, CONDITION_TAINT_KEYS, POLICY_ID_LABEL
from leeward.api.policy import AnyPropagationPolicy, ClusterAffinity, Placement
from leeward.api.work import Binding
from leeward.core.cluster_health.condition_taints import NO_EXECUTE
from leeward.operations.sentences import long_span


class PolicyRow(msgspec.Struct, frozen=True, rename="camel"):
    """`selects` has the kinds and names; `claims` is how many bindings bear its mark.

    `goes` says to which clusters it lets applications go, `tolerates` how long they stay in one that is lost.
    """

    kind: str
    namespace: str
    name: str
    priority: int
    preemption: bool
    suspended: bool
    selects: list[str]
    claims: int
    goes: str
    tolerates: str


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
        goes=" else ".join(_clusters_of(each) for each in _affinities(spec.placement)),
        tolerates=_tolerated(spec.placement.cluster_tolerations),
    )


def _affinities(placement: Placement) -> Sequence[ClusterAffinity]:
    return placement.cluster_affinities or (placement.cluster_affinity or ClusterAffinity(),)


def _clusters_of(affinity: ClusterAffinity) -> str:
    """`fra-1, fra-2`; `region in (eu)`; `any cluster`"""
    labels, fields = affinity.label_selector, affinity.field_selector
    parts = [", ".join(affinity.cluster_names)]
    if labels is not None:
        parts += [f"{key}={value}" for key, value in labels.match_labels.items()]
        parts += map(_requirement, labels.match_expressions)
    parts += map(_requirement, () if fields is None else fields.match_expressions)
    parts.append(f"not {', '.join(affinity.exclude)}" if affinity.exclude else "")
    return " and ".join(filter(None, parts)) or "any cluster"


def _requirement(each: LabelSelectorRequirement) -> str:
    words = {"In": "in", "NotIn": "not in", "Exists": "is there", "DoesNotExist": "is not there"}
    values = f" ({', '.join(each.values)})" if each.values else ""
    return f"{each.key} {words.get(each.operator, each.operator)}{values}"


def _tolerated(tolerations: Sequence[Toleration]) -> str:
    """`5 min`, or by taint where they differ: `not-ready 5 min, unreachable for ever`"""
    told = {key.rpartition("/")[2]: _stay(tolerations, key) for key in CONDITION_TAINT_KEYS}
    if len(set(told.values())) == 1:
        return next(iter(told.values()))
    return ", ".join(f"{word} {stay}" for word, stay in told.items())


def _stay(tolerations: Sequence[Toleration], key: str) -> str:
    taint = Taint(key=key, effect=NO_EXECUTE)
    found = next((each for each in tolerations if tolerates(each, taint)), None)
    if found is None:
        return "not at all"
    return "for ever" if found.toleration_seconds is None else long_span(found.toleration_seconds)


def _selects(policy: AnyPropagationPolicy) -> Iterator[str]:
    for selector in policy.spec.resource_selectors:
        name = "/".join(filter(None, (selector.namespace, selector.name)))
        by_label = " by labels" if selector.label_selector is not None else ""
        yield f"{selector.kind} {name or 'of any name'}{by_label}"


def _kind(policy: AnyPropagationPolicy) -> str:
    return "PropagationPolicy" if policy.namespace else "ClusterPropagationPolicy"
