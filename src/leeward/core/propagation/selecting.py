"""Selectors of a policy, sorted by kind and name, so that a template is looked up and not searched for.

    SelectedIn          the selection of a policy of one kind in one namespace: names, all, or by labels
    Selected            the whole of a policy's selectors, by kind and namespace
    select              makes it

The answer is that of `core.propagation.matching.selector_priority`, which a property test compares.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kubeapi.meta import ReadOnlyManifest, labels_of
from kubeapi.selectors import Selector, matches, selector_of
from leeward.api.policy import AnyPropagationPolicy, ResourceSelector
from leeward.core.propagation.matching import ALL, BY_LABEL, BY_NAME, NO_MATCH


class Scope(NamedTuple):
    """A kind in a namespace. An empty namespace is every one, and that of objects without a namespace."""

    api_version: str
    kind: str
    namespace: str


@dataclass(frozen=True, slots=True)
class SelectedIn:
    names: frozenset[str] = frozenset()
    labels: tuple[Selector, ...] = ()
    all: bool = False

    def precision(self, name: str, labels: Mapping[str, str]) -> int:
        """Precision as of `selector_priority`, of a template in this scope."""
        if name in self.names:
            return BY_NAME
        if any(matches(selector, labels) for selector in self.labels):
            return BY_LABEL
        return ALL if self.all else NO_MATCH


Selected = Mapping[Scope, SelectedIn]


def select(policy: AnyPropagationPolicy) -> Selected:
    """Selection of a policy; nothing once it is being deleted. One with a namespace selects in no other."""
    if policy.metadata.deletion_timestamp is not None:
        return {}
    return select_resources(policy.spec.resource_selectors, policy.namespace)


def select_resources(selectors: Iterable[ResourceSelector], policy_namespace: str) -> Selected:
    """Selection of a policy's selectors; `policy_namespace` is empty for a cluster-wide one."""
    found: dict[Scope, list[ResourceSelector]] = {}
    for selector in selectors:
        namespace = selector.namespace or policy_namespace
        if policy_namespace in ("", namespace):
            found.setdefault(Scope(selector.api_version, selector.kind, namespace), []).append(selector)
    return {scope: _selected_in(selectors) for scope, selectors in found.items()}


def _selected_in(selectors: Sequence[ResourceSelector]) -> SelectedIn:
    """Selection by the selectors of one scope; a name counts before labels."""
    others = [selector.label_selector for selector in selectors if not selector.name]
    return SelectedIn(
        frozenset(selector.name for selector in selectors if selector.name),
        tuple(selector_of(labels) for labels in others if labels is not None),
        None in others,
    )


def scopes_of(template: ReadOnlyManifest) -> Iterator[Scope]:
    """Namespaces of selectors that can match the template: in its namespace, and in all."""
    api_version, kind = template.get("apiVersion", ""), template.get("kind", "")
    namespace: str = template["metadata"].get("namespace", "")
    if namespace:
        yield Scope(api_version, kind, namespace)
    yield Scope(api_version, kind, "")


def precision_in(selected: Selected, template: ReadOnlyManifest) -> int:
    """Precision with which the best selector names the template; see `selector_priority`."""
    name: str = template["metadata"].get("name", "")
    labels = labels_of(template)
    parts = (selected.get(scope) for scope in scopes_of(template))
    return max((part.precision(name, labels) for part in parts if part is not None), default=NO_MATCH)
