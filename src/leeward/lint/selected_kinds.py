"""Kinds that a policy selects, and what they have in common, by what is known of kinds."""

from leeward.api.policy import AnyPropagationPolicy, ResourceSelector
from leeward.core.eviction.shared_resources import SHARED_KINDS
from leeward.core.interpreter.kinds import KINDS


def selects_only_shared_kinds(policy: AnyPropagationPolicy) -> bool:
    """Tells whether no taint evicts anything of what it selects."""
    return all(_is_shared(selector) for selector in policy.spec.resource_selectors)


def selects_replicas(policy: AnyPropagationPolicy) -> bool:
    """Tells whether it selects a kind that is known to have replicas."""
    kinds = [(selector.api_version, selector.kind) for selector in policy.spec.resource_selectors]
    return any(kind in KINDS and KINDS[kind].replicas is not None for kind in kinds)


def _is_shared(selector: ResourceSelector) -> bool:
    return (selector.api_version.rpartition("/")[0], selector.kind) in SHARED_KINDS
