"""Claiming policies: the one that has claimed a template, and the others that select it, in the order in which they
would."""

import msgspec

from leeward.answers.fleet_state import BindingName, FleetState
from leeward.api.names import CLUSTER_POLICY_NAME_ANNOTATION, POLICY_NAME_ANNOTATION, POLICY_NAMESPACE_ANNOTATION
from leeward.api.policy import AnyPropagationPolicy
from leeward.api.work import Binding
from leeward.core.propagation.matching import NO_MATCH, selector_priority


class PolicyClaim(msgspec.Struct, frozen=True, rename="camel"):
    """A policy that selects the template. `precision`: 1 by kind, 2 by label, 3 by name."""

    kind: str
    name: str
    namespace: str
    priority: int
    precision: int

    def __str__(self) -> str:
        return f"{self.kind} {'/'.join(filter(None, (self.namespace, self.name)))} (priority {self.priority})"

    @property
    def rank(self) -> tuple[bool, int, int, str]:
        """Sorts the one first that wins: see `core.propagation.matching.find_policy`."""
        return (not self.namespace, -self.priority, -self.precision, self.name)


def policies_selecting(state: FleetState, binding: Binding) -> list[PolicyClaim]:
    """All policies that select the binding's template, the one first that would win."""
    recorded, template = state.recorded, state.template_of(binding).as_manifest()
    local = [policy for policy in recorded.policies if policy.namespace == binding.spec.resource.namespace]
    found = list[PolicyClaim]()
    for policy in (*local, *recorded.cluster_policies):
        precision = selector_priority(template, policy.spec, policy.namespace)
        if precision > NO_MATCH and policy.metadata.deletion_timestamp is None:
            found.append(_claim_of(policy, precision))
    return sorted(found, key=lambda claim: claim.rank)


def claimed_by_name(binding: Binding) -> tuple[str, str, str] | None:
    """Kind, namespace and name of the policy that the binding says it is of."""
    annotations = binding.metadata.annotations
    if name := annotations.get(POLICY_NAME_ANNOTATION):
        return "PropagationPolicy", annotations.get(POLICY_NAMESPACE_ANNOTATION, ""), name
    name = annotations.get(CLUSTER_POLICY_NAME_ANNOTATION)
    return ("ClusterPropagationPolicy", "", name) if name else None


def claim_sentence(state: FleetState, binding: Binding) -> str:
    """`Claimed by PropagationPolicy payments/eu-only (priority 10), before ...`"""
    selecting, claimed = policies_selecting(state, binding), claimed_by_name(binding)
    if claimed is None:
        return _unclaimed_sentence(state, binding)
    name = f"{claimed[0]} {'/'.join(filter(None, claimed[1:]))}"
    mine = next((each for each in selecting if (each.kind, each.namespace, each.name) == claimed), None)
    if mine is None:
        return f"{name} claimed the template, and does not select it any more. The last placement still holds."
    after = [each for each in selecting if each.rank > mine.rank]
    above = [each for each in selecting if each.rank < mine.rank]
    said = f"Claimed by {mine}" + (f", before {', '.join(map(str, after))}" if after else "")
    if above:
        return f"{said}; {above[0]} would win anew, but a claim lasts while its policy selects the template."
    return f"{said}."


def _unclaimed_sentence(state: FleetState, binding: Binding) -> str:
    if not binding.spec.required_by:
        has_placement = binding.spec.placement is not None
        return (
            "No policy selects the template any more. The placement of the last policy still holds."
            if has_placement
            else "No policy."
        )
    needed_by = (state.bindings.get(BindingName(each.namespace, each.name)) for each in binding.spec.required_by)
    if any(each is not None and each.spec.propagate_deps for each in needed_by):
        return "No policy has claimed the template: it follows the objects that need it."
    return (
        "No policy has claimed the template, and nothing needs it any more. Its copies stay until the template is "
        "deleted."
    )


def _claim_of(policy: AnyPropagationPolicy, precision: int) -> PolicyClaim:
    kind = "PropagationPolicy" if policy.namespace else "ClusterPropagationPolicy"
    return PolicyClaim(kind, policy.name, policy.namespace, policy.spec.priority or 0, precision)
