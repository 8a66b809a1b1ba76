"""Index of override policies: finds all that select a manifest without asking every selector of every policy.

As the index of propagation policies: for each kind and namespace the policies that name a manifest, those that want a
label of it, and those that take all. What no list narrows is asked one by one, and the search pauses in between.

The answer is that of asking each policy, which a property test compares. Holds: L4.
"""

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from controller_runtime import Key, key_of
from kubeapi.meta import ReadOnlyManifest, labels_of
from kubeapi.selectors import matches
from leeward.api.override import ClusterOverridePolicy, OverridePolicy
from leeward.core.overrides.applicable import in_order, override_scopes_of, select_overridden
from leeward.core.overrides.override_rule import Rules, rules_of
from leeward.core.propagation.matching import ALL, BY_LABEL, BY_NAME
from leeward.core.propagation.selecting import Scope, Selected
from leeward.runtime.policy_index import PAUSE_AFTER, Wanted, labels_to_look_for, wanted_labels

P = TypeVar("P", OverridePolicy, ClusterOverridePolicy)


@dataclass(slots=True)
class _Selecting:
    """The policies that select in one scope."""

    by_name: dict[str, set[Key]] = field(default_factory=dict[str, set[Key]])
    by_label: dict[Wanted, set[Key]] = field(default_factory=dict[Wanted, set[Key]])
    all: set[Key] = field(default_factory=set[Key])


class OverrideIndex(Generic[P]):
    """Index of one kind of policy."""

    def __init__(self) -> None:
        self._policies: dict[Key, tuple[Rules, Selected]] = {}
        self._scopes: dict[Scope, _Selecting] = {}

    def put(self, policy: P) -> Selected:
        """Takes in a policy, in place of an earlier state of it. Returns the selection of that."""
        key, selected = key_of(policy), select_overridden(policy)
        before = self.drop(key)
        self._policies[key] = rules_of(policy), selected
        for scope, part in selected.items():
            lists = self._scopes.setdefault(scope, _Selecting())
            for name in part.names:
                lists.by_name.setdefault(name, set()).add(key)
            if part.all:
                lists.all.add(key)
        for scope, wanted in wanted_labels(selected):
            self._scopes[scope].by_label.setdefault(wanted, set()).add(key)
        return before

    def drop(self, key: Key) -> Selected:
        """Forgets a policy. Returns its selection."""
        selected = self.selected(key)
        self._policies.pop(key, None)
        for scope, wanted in wanted_labels(selected):
            _take_out(self._scopes[scope].by_label, wanted, key)
        for scope, part in selected.items():
            lists = self._scopes[scope]
            lists.all.discard(key)
            for name in part.names:
                _take_out(lists.by_name, name, key)
            if not (lists.by_name or lists.by_label or lists.all):
                del self._scopes[scope]
        return selected

    def selected(self, key: Key) -> Selected:
        """Selection of the policy as it is now."""
        known = self._policies.get(key)
        return known[1] if known is not None else {}

    def __len__(self) -> int:
        return len(self._policies)

    def __contains__(self, key: Key) -> bool:
        return key in self._policies

    def search(self, manifest: ReadOnlyManifest) -> Generator[None, None, tuple[Rules, ...]]:
        """The rules of the policies that select the manifest, in the order in which they are carried out."""
        found: dict[Key, int] = {}
        name: str = manifest["metadata"].get("name", "")
        for scope in override_scopes_of(manifest):
            lists = self._scopes.get(scope)
            if lists is None:
                continue
            labelled = yield from self._by_labels(scope, lists, manifest)
            for precision, keys in ((ALL, lists.all), (BY_LABEL, labelled), (BY_NAME, lists.by_name.get(name, ()))):
                for key in keys:
                    found[key] = max(precision, found.get(key, precision))
        return in_order(
            (self._policies[key][0], precision) for key, precision in found.items() if key in self._policies
        )

    def _by_labels(
        self, scope: Scope, lists: _Selecting, manifest: ReadOnlyManifest
    ) -> Generator[None, None, set[Key]]:
        labels, found, asked = labels_of(manifest), set[Key](), 0
        for wanted in labels_to_look_for(labels):
            for key in tuple(lists.by_label.get(wanted, ())):
                part = self.selected(key).get(scope)
                selectors = part.labels if part is not None else ()
                asked += len(selectors)
                if any(matches(selector, labels) for selector in selectors):
                    found.add(key)
                if asked >= PAUSE_AFTER:
                    asked = 0
                    yield
        return found


K = TypeVar("K", str, Wanted)


def _take_out(lists: dict[K, set[Key]], wanted: K, key: Key) -> None:
    keys = lists.get(wanted)
    if keys is not None:
        keys.discard(key)
        if not keys:
            del lists[wanted]
