"""Override policies that apply, asked of each policy in turn: what the index of policies must answer, too."""

from collections.abc import Iterable

from kubeapi.meta import ReadOnlyManifest
from leeward.core.overrides.applicable import in_order
from leeward.core.overrides.override_rule import AnyOverridePolicy, Rules, rules_of
from leeward.core.propagation.matching import ALL, NO_MATCH, resource_precision


def applicable_policies(manifest: ReadOnlyManifest, policies: Iterable[AnyOverridePolicy]) -> tuple[Rules, ...]:
    """The rules of each, of one kind of policy. Those of other namespaces than the manifest's are passed over."""
    namespace: str = manifest["metadata"].get("namespace", "")
    found = [(each, override_precision(manifest, each)) for each in policies if each.namespace in ("", namespace)]
    return in_order((rules_of(policy), precision) for policy, precision in found if precision > NO_MATCH)


def override_precision(manifest: ReadOnlyManifest, policy: AnyOverridePolicy) -> int:
    """Precision with which the policy selects the manifest: 0 not at all, 1 by kind, 2 by label, 3 by name."""
    selectors = policy.spec.resource_selectors
    if not selectors:
        return ALL
    return max(resource_precision(manifest, selector, policy.namespace) for selector in selectors)
