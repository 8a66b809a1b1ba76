"""Index of propagation policies: finds the one that wins a template without asking every selector of every policy.

The model: for each kind and namespace (`Scope`) the policies that name a template, those that want a label of it, and
those that take all; each list in the order in which policies win. So a search looks at as many lists as the template
has labels, whatever the number of policies. What no list narrows (label selectors that only exclude) is asked one by
one, and the search pauses in between: it is a generator, so that its caller can let others run.

The answer is that of `core.propagation.matching.keep_or_find_policy`; a property test compares the two. Holds: L4.
"""

from bisect import bisect_left, insort
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from controller_runtime import Key, key_of
from kubeapi.meta import ReadOnlyManifest, labels_of
from kubeapi.selectors import Selector, matches
from leeward.api.names import CLUSTER_POLICY_ID_LABEL, POLICY_ID_LABEL
from leeward.api.policy import AnyPropagationPolicy, ClusterPropagationPolicy, PropagationPolicy
from leeward.core.propagation.matching import ALL, BY_LABEL, BY_NAME, NO_MATCH, preempts
from leeward.core.propagation.selecting import Scope, Selected, precision_in, scopes_of, select

P = TypeVar("P", PropagationPolicy, ClusterPropagationPolicy)
Rank = tuple[int, str, Key]
"""Policies win in this order: by priority, the greatest first, then by name."""
Wanted = tuple[str, str | None]
"""A label that a selector asks for: key and value, or a key of any value."""

PAUSE_AFTER = 200
"""Number of label selectors that are asked between two pauses of a search."""
_UNNARROWED: Wanted = ("", None)
Pauses = Generator[None, None, AnyPropagationPolicy | None]


@dataclass(slots=True)
class _Lists:
    """The policies that select in one scope, each list in order of rank."""

    by_name: dict[str, list[Rank]] = field(default_factory=dict[str, list[Rank]])
    by_label: dict[Wanted, list[Rank]] = field(default_factory=dict[Wanted, list[Rank]])
    all: list[Rank] = field(default_factory=list[Rank])


@dataclass(frozen=True, slots=True)
class _Known(Generic[P]):
    policy: P
    rank: Rank
    selected: Selected
    wanted: Mapping[tuple[Scope, Wanted], tuple[Selector, ...]]
    """Label selectors by the list in which they are."""


class PolicyIndex(Generic[P]):
    """Index of one kind of policy."""

    def __init__(self) -> None:
        self._known: dict[Key, _Known[P]] = {}
        self._scopes: dict[Scope, _Lists] = {}
        self._by_id: dict[str, set[Key]] = {}

    def put(self, policy: P) -> Selected:
        """Takes in a policy, in place of an earlier state of it. Returns the selection of that."""
        before = self.drop(key_of(policy))
        rank = -(policy.spec.priority or 0), policy.name, key_of(policy)
        selected = select(policy)
        known = self._known[rank[2]] = _Known(policy, rank, selected, wanted_labels(selected))
        for scope, part in selected.items():
            lists = self._scopes.setdefault(scope, _Lists())
            for name in part.names:
                insort(lists.by_name.setdefault(name, []), rank)
            if part.all:
                insort(lists.all, rank)
        for scope, wanted in known.wanted:
            insort(self._scopes[scope].by_label.setdefault(wanted, []), rank)
        for identity in _ids(policy):
            self._by_id.setdefault(identity, set()).add(rank[2])
        return before

    def drop(self, key: Key) -> Selected:
        """Forgets a policy. Returns its selection."""
        known = self._known.pop(key, None)
        if known is None:
            return {}
        for scope, part in known.selected.items():
            lists = self._scopes[scope]
            for name in part.names:
                _take_out(lists.by_name, name, known.rank)
            if part.all:
                del lists.all[bisect_left(lists.all, known.rank)]
        for scope, wanted in known.wanted:
            _take_out(self._scopes[scope].by_label, wanted, known.rank)
        for scope in known.selected:
            lists = self._scopes[scope]
            if not (lists.by_name or lists.by_label or lists.all):
                del self._scopes[scope]
        for identity in _ids(known.policy):
            self._by_id[identity].discard(key)
            if not self._by_id[identity]:
                del self._by_id[identity]
        return known.selected

    def selected(self, key: Key) -> Selected:
        """Selection of the policy as it is now."""
        known = self._known.get(key)
        return known.selected if known is not None else {}

    def with_id(self, identity: str, template: ReadOnlyManifest) -> P | None:
        """The policy of this permanent id, while it selects the template."""
        for key in sorted(self._by_id.get(identity, ())):
            if precision_in(self._known[key].selected, template) > NO_MATCH:
                return self._known[key].policy
        return None

    def search(self, template: ReadOnlyManifest) -> Generator[None, None, P | None]:
        """The policy that wins the template. Pauses now and then; policies may come and go meanwhile."""
        best: tuple[tuple[int, int, str], P] | None = None
        name: str = template["metadata"].get("name", "")
        labels = labels_of(template)
        for scope in scopes_of(template):
            lists = self._scopes.get(scope)
            if lists is None:
                continue
            found = [(BY_NAME, rank) for rank in lists.by_name.get(name, ())[:1]]
            found += [(ALL, rank) for rank in lists.all[:1]]
            found += yield from self._by_labels(scope, lists, labels)
            for precision, rank in found:
                known, order = self._known.get(rank[2]), (rank[0], -precision, rank[1])
                if known is not None and (best is None or order < best[0]):
                    best = order, known.policy
        return best[1] if best is not None else None

    def _by_labels(
        self, scope: Scope, lists: _Lists, labels: Mapping[str, str]
    ) -> Generator[None, None, list[tuple[int, Rank]]]:
        """First of each list whose labels match."""
        found: list[tuple[int, Rank]] = []
        asked = 0
        for wanted in labels_to_look_for(labels):
            for rank in tuple(lists.by_label.get(wanted, ())):
                known = self._known.get(rank[2])
                selectors = known.wanted.get((scope, wanted), ()) if known is not None else ()
                asked += len(selectors)
                if any(matches(selector, labels) for selector in selectors):
                    found.append((BY_LABEL, rank))
                    break
                if asked >= PAUSE_AFTER:
                    asked = 0
                    yield
        return found


class PolicyIndexes:
    """All policies, and with `preemption` once more those that take over templates of others."""

    def __init__(self, *, preemption: bool = False) -> None:
        self._all = PolicyIndex[PropagationPolicy](), PolicyIndex[ClusterPropagationPolicy]()
        self._preempting = (PolicyIndex[PropagationPolicy](), PolicyIndex[ClusterPropagationPolicy]())
        self._preemption = preemption

    def put(self, policy: AnyPropagationPolicy) -> Selected:
        """Takes in a policy, in place of an earlier state of it. Returns the selection of that."""
        if isinstance(policy, PropagationPolicy):
            return self._put(policy, self._all[0], self._preempting[0])
        return self._put(policy, self._all[1], self._preempting[1])

    def drop(self, policy: AnyPropagationPolicy) -> Selected:
        """Forgets a policy. Returns its selection."""
        number, key = int(not isinstance(policy, PropagationPolicy)), key_of(policy)
        self._preempting[number].drop(key)
        return self._all[number].drop(key)

    def selected(self, key: Key, *, clustered: bool) -> Selected:
        """Selection of the policy as it is now."""
        return self._all[int(clustered)].selected(key)

    def claiming(self, template: ReadOnlyManifest, claimed_by: str) -> AnyPropagationPolicy | None:
        """The policy with the permanent id `claimed_by`, while it selects the template."""
        if not claimed_by:
            return None
        return self._all[0].with_id(claimed_by, template) or self._all[1].with_id(claimed_by, template)

    def search(self, template: ReadOnlyManifest, claimed_by: str) -> Pauses:
        """The policy with the permanent id `claimed_by` while it matches, or one that preempts it; else the winner."""
        kept = self.claiming(template, claimed_by)
        if kept is None:
            return (yield from _search(template, *self._all))
        if self._preemption:
            local, everywhere = self._preempting
            above = yield from _search(template, local, everywhere)
            if above is not None and preempts(above, kept):
                return above
        return kept

    def _put(self, policy: P, index: PolicyIndex[P], preempting: PolicyIndex[P]) -> Selected:
        if self._preemption and policy.spec.preemption == "Always":
            preempting.put(policy)
        else:
            preempting.drop(key_of(policy))
        return index.put(policy)


def _search(
    template: ReadOnlyManifest, local: PolicyIndex[PropagationPolicy], everywhere: PolicyIndex[ClusterPropagationPolicy]
) -> Pauses:
    own = (yield from local.search(template)) if template["metadata"].get("namespace") else None
    return own or (yield from everywhere.search(template))


def wanted_labels(selected: Selected) -> Mapping[tuple[Scope, Wanted], tuple[Selector, ...]]:
    """The label selectors, by scope and by a label of which a manifest must have one for them to match."""
    found: dict[tuple[Scope, Wanted], list[Selector]] = {}
    for scope, part in selected.items():
        for selector in part.labels:
            for wanted in _narrowest(selector):
                found.setdefault((scope, wanted), []).append(selector)
    return {place: tuple(selectors) for place, selectors in found.items()}


def labels_to_look_for(labels: Mapping[str, str]) -> Iterable[Wanted]:
    """Groups of `wanted_labels` under which there can be selectors that match these labels."""
    return (_UNNARROWED, *((key, None) for key in labels), *labels.items())


def _narrowest(selector: Selector) -> Iterable[Wanted]:
    """The labels of which a template must have one for the selector to match: the fewest."""
    choices: list[list[Wanted]] = [
        [(requirement.key, value) for value in dict.fromkeys(requirement.values)]
        for requirement in selector
        if requirement.operator == "In"
    ]
    for requirement in selector:
        if requirement.operator in ("Exists", "Gt", "Lt"):
            choices.append([(requirement.key, None)])
    return min(choices, key=len, default=[_UNNARROWED])


def _ids(policy: AnyPropagationPolicy) -> set[str]:
    labels = policy.metadata.labels
    return {labels[label] for label in (POLICY_ID_LABEL, CLUSTER_POLICY_ID_LABEL) if labels.get(label)}


K = TypeVar("K", str, Wanted)


def _take_out(lists: dict[K, list[Rank]], key: K, rank: Rank) -> None:
    ranks = lists[key]
    del ranks[bisect_left(ranks, rank)]
    if not ranks:
        del lists[key]
