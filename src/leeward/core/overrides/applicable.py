"""Applicable override policies: those that select a manifest, in the order in which they are carried out.

ClusterOverridePolicies come before OverridePolicies, and these are selected by the manifest that those have made. Among
either, the less precise selector comes first, so that the most precise one has the last word; then the name decides. A
policy without selectors selects all, but for rights where it has a namespace: no OverridePolicy may change those.

Karmada: pkg/util/overridemanager; same. Differs: there an OverridePolicy changes rights.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kubeapi.codec import DecodeError, from_wire
from kubeapi.meta import ReadOnlyManifest, labels_of
from kubeapi.unstructured import value_at
from leeward.api.cluster import Cluster
from leeward.api.policy import ResourceSelector
from leeward.api.rules.overrides import RBAC_GROUP
from leeward.core.overrides.override_rule import AnyOverridePolicy, Rules
from leeward.core.propagation.matching import NO_MATCH
from leeward.core.propagation.selecting import Scope, Selected, SelectedIn, scopes_of, select_resources

EVERY_KIND: Final = ("", "")
"""Stand-in for apiVersion and kind: what a policy without selectors selects."""


def in_order(found: Iterable[tuple[Rules, int]]) -> tuple[Rules, ...]:
    """The rules of policies, each with the precision with which it selects (`core.propagation.matching`)."""
    return tuple(rules for rules, _ in sorted(found, key=lambda each: (each[1], each[0][0].policy.name)))


def rules_for(cluster: Cluster, selected: Iterable[Rules]) -> Rules:
    """The rules that mean the cluster, of the policies that select a manifest."""
    return tuple(rule for rules in selected for rule in rules if rule.means(cluster))


def select_overridden(policy: AnyOverridePolicy) -> Selected:
    """Selection of a policy, by kind and namespace; without selectors all kinds."""
    return _select(policy.spec.resource_selectors, policy.namespace)


def select_unread(stored: ReadOnlyManifest) -> Selected:
    """Selection of a policy that cannot be read: what its selectors say, or all that it can select where they cannot be
    read either.

    Holds: S14."""
    namespace: str = stored["metadata"].get("namespace", "")
    try:
        selectors = from_wire(value_at(stored, "spec", "resourceSelectors") or [], tuple[ResourceSelector, ...])
    except DecodeError:
        selectors = ()
    return _select(selectors, namespace)


def _select(selectors: Sequence[ResourceSelector], namespace: str) -> Selected:
    if not selectors:
        return {Scope(*EVERY_KIND, namespace): SelectedIn(all=True)}
    return select_resources(selectors, namespace)


def grants_rights(manifest: ReadOnlyManifest) -> bool:
    """Tells whether the manifest is of the RBAC group."""
    return str(manifest.get("apiVersion", "")).partition("/")[0] == RBAC_GROUP


def override_scopes_of(manifest: ReadOnlyManifest) -> Iterator[Scope]:
    """Namespaces of selectors that can match the manifest."""
    for scope in scopes_of(manifest):
        yield scope
        if not (scope.namespace and grants_rights(manifest)):
            yield Scope(*EVERY_KIND, scope.namespace)


def precision_of(selected: Selected, manifest: ReadOnlyManifest) -> int:
    """Precision with which a policy that selects so names the manifest; NO_MATCH where it does not select it."""
    name: str = manifest["metadata"].get("name", "")
    parts = (selected.get(scope) for scope in override_scopes_of(manifest))
    return max((part.precision(name, labels_of(manifest)) for part in parts if part is not None), default=NO_MATCH)


def selects(selected: Selected, manifest: ReadOnlyManifest) -> bool:
    """Tells whether a policy that selects so selects the manifest."""
    return precision_of(selected, manifest) > NO_MATCH


def selecting(found: Iterable[tuple[Rules, Selected]], manifest: ReadOnlyManifest) -> tuple[Rules, ...]:
    """Rules of the policies that select the manifest, in order."""
    ranked = ((rules, precision_of(selected, manifest)) for rules, selected in found)
    return in_order((rules, precision) for rules, precision in ranked if precision > NO_MATCH)
