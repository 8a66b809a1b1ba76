"""S17: a template is its policy's until another one may take it over, and a lazy policy waits for its users.

A policy that asks for it takes a claimed template over where its priority is greater, or where it is of the template's
namespace and the other one is not. A lazy policy changes nothing of a binding before a user changes the template. What
has to be in the end says `unclaimed`: who has claimed what, and that bindings are as their policies say.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from controller_runtime import Key
from kubeapi.codec import encode, to_wire
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest, annotations_of, labels_of
from leeward.api.names import CLUSTER_POLICY_ID_LABEL, POLICY_ID_LABEL
from leeward.api.work import Binding
from simulator.histories.checkers.lateness import CONTROLLERS
from simulator.histories.checkers.scene import Scene, Violation
from simulator.histories.checkers.states import States
from simulator.histories.ground_truth import BINDINGS, HOME, KINDS, POLICIES, Change, GroundTruth

IDS = (POLICY_ID_LABEL, CLUSTER_POLICY_ID_LABEL)
"""Labels with the permanent id of a policy, on it and on what it has claimed."""
SYSTEMS = ("karmada.io/", "leeward.dev/")
"""Parts of the names of labels and annotations that control planes write."""
FOLLOWED = ("placement", "failover", "propagateDeps")
"""Fields that a binding has from its policy."""
LAZY = "Lazy"


class ClaimsChecker:
    """`_kinds`: the kind by how its keys begin. `_asked`: what each policy has asked for, None where there was none."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._kinds = {prefix: kind for kind, prefix in KINDS.items()}
        self._asked: dict[tuple[str, Key], States[Manifest | None]] = {}

    def look(self, change: Change) -> Iterator[Violation]:
        if change.place != HOME:
            return
        if change.kind in POLICIES:
            self._note_policy(change)
        elif change.kind in BINDINGS and change.old is not None and change.new is not None and not change.restored:
            yield from self._bound(change, change.old, change.new)
        elif change.kind in self._kinds:
            yield from self._template(change)

    def _note_policy(self, change: Change) -> None:
        before, after, noted = _wish(change.old), _wish(change.new), (change.kind, change.key)
        if before != after or change.restored:
            self._scene.policy_changed_at[noted] = change.seconds
            self._asked.setdefault(noted, States()).note(change.seconds, change.new and change.new["spec"])

    def _known(self, policy: "_Policy") -> list[Manifest]:
        """Specs of which somebody may believe that the policy has them."""
        since = self._scene.lateness.oldest(self._scene.truth.now(), CONTROLLERS)
        states = self._asked.get(policy[:2], States())
        return [spec for spec in states.since(since) if spec is not None] or [policy[2]["spec"]]

    def _template(self, change: Change) -> Iterator[Violation]:
        noted = (change.kind, change.key)
        if change.new is None:
            self._scene.contents.pop(noted, None)
            return
        self._scene.contents.setdefault(noted, States()).note(change.seconds, contents_of(change.new))
        before, after = (claim_of(each) for each in (change.old, change.new))
        if before != after or change.restored:
            self._scene.claimed_at[noted] = change.seconds
        if change.old is None or change.restored or not before or not after or before == after:
            return
        truth, kind = self._scene.truth, self._kinds[change.kind]
        held, taking = (_policy(truth, each) for each in (before, after))
        if held is None or taking is None or not _selects(held, kind, change.new):
            return
        known = [[(*each[:2], {"spec": spec}) for spec in self._known(each)] for each in (taking, held)]
        if not any(preempts(one, other) for one in known[0] for other in known[1]):
            message = f"{kind} {change.key} was taken from {held[1]} by {taking[1]}, which may not"
            yield Violation("S17", change.seconds, message)

    def _bound(self, change: Change, old: Binding, new: Binding) -> Iterator[Violation]:
        """The release of the template that a binding speaks of is another one when a user has changed it."""
        if old.spec.resource != new.spec.resource or new.spec.placement is None or old.spec.placement is None:
            return
        before, after = followed_by(old), followed_by(new)
        policy = _policy(self._scene.truth, claim_of(to_wire(new)))
        if (
            not is_equal(before, after)
            and policy is not None
            and all(is_lazy({"spec": spec}) for spec in self._known(policy))
        ):
            fields = ", ".join(name for name in FOLLOWED if not is_equal(before[name], after[name]))
            message = f"the lazy policy {policy[1]} changed {fields} of {change.key}, and nobody the template"
            yield Violation("S17", change.seconds, message)


def unclaimed(scene: Scene) -> Iterator[str]:
    """Templates that belong to another policy than they should, and bindings that are not as theirs says."""
    truth = scene.truth
    for kind, prefix in KINDS.items():
        for key, template in truth.of(prefix).items():
            selecting = [each for each in _policies(truth) if _selects(each, kind, template)]
            if not selecting or "deletionTimestamp" in template["metadata"]:
                continue
            held = _policy(truth, claim_of(template))
            if held is None or held not in selecting:
                yield f"{kind} {key} is claimed by {held[1] if held is not None else 'no policy'}"
                continue
            above = [each[1] for each in selecting if preempts(each, held)]
            if above:
                yield f"{kind} {key} is claimed by {held[1]}, and {above[0]} takes it over"
            binding = truth.any_binding(Key(key.namespace, f"{key.name}-{kind.lower()}"))
            if binding is not None and _is_due(scene, (prefix, key), held):
                wanted, there = _wanted(held[2]), followed_by(binding)
                wrong = [name for name in FOLLOWED if not is_equal(wanted[name], there[name])]
                if wrong:
                    yield f"{kind} {key} has another {', '.join(wrong)} than its policy {held[1]}"


_Policy = tuple[str, Key, Manifest]


def _is_due(scene: Scene, template: tuple[str, Key], policy: _Policy) -> bool:
    """Tells whether the policy must have taken effect: at once, or a lazy one when the template is another than it was
    when that was changed or came to hold it."""
    if not is_lazy(policy[2]):
        return True
    states = scene.contents.get(template)
    since = max(scene.policy_changed_at.get(policy[:2], 0.0), scene.claimed_at.get(template, 0.0))
    return states is not None and states.since(since)[0] != states.states[-1][1]


def preempts(policy: _Policy, held: _Policy) -> bool:
    """Tells whether it may take over what the other one holds."""
    spec, other = policy[2]["spec"], held[2]["spec"]
    if spec.get("preemption") != "Always":
        return False
    if bool(policy[1].namespace) != bool(held[1].namespace):
        return bool(policy[1].namespace)
    return (spec.get("priority") or 0) > (other.get("priority") or 0)


def is_lazy(policy: ReadOnlyManifest) -> bool:
    return policy["spec"].get("activationPreference") == LAZY


def claim_of(manifest: ReadOnlyManifest | None) -> str:
    """The permanent id of the policy that has claimed it; empty without one."""
    labels = labels_of(manifest) if manifest is not None else {}
    return next((labels[label] for label in IDS if labels.get(label)), "")


def policy_of(truth: GroundTruth, manifest: ReadOnlyManifest | None) -> Manifest | None:
    """The policy that has claimed it."""
    found = _policy(truth, claim_of(manifest))
    return found[2] if found is not None else None


def contents_of(template: ReadOnlyManifest) -> bytes:
    """Contents that a user has written of it."""
    body = {name: value for name, value in template.items() if name not in ("status", "metadata")}
    marks = [
        {name: value for name, value in found.items() if not any(part in name for part in SYSTEMS)}
        for found in (labels_of(template), annotations_of(template))
    ]
    return encode([body, *marks])


def followed_by(binding: Binding) -> Mapping[str, Any]:
    spec: Manifest = to_wire(binding.spec)
    return {name: spec.get(name) or None for name in FOLLOWED}


def _wanted(policy: Manifest) -> Mapping[str, Any]:
    return {name: policy["spec"].get(name) or None for name in FOLLOWED}


def _wish(policy: Manifest | None) -> object:
    return None if policy is None else (policy["spec"], "deletionTimestamp" in policy["metadata"])


def _policies(truth: GroundTruth) -> Iterator[_Policy]:
    for prefix in POLICIES:
        for key, policy in truth.of(prefix).items():
            yield prefix, key, policy


def _policy(truth: GroundTruth, claim: str) -> _Policy | None:
    return next((each for each in _policies(truth) if claim and claim == claim_of(each[2])), None)


def _selects(policy: _Policy, kind: str, template: ReadOnlyManifest) -> bool:
    """Histories select by name. A policy that is going selects nothing."""
    metadata = template["metadata"]
    if "deletionTimestamp" in policy[2]["metadata"] or policy[1].namespace != metadata.get("namespace", ""):
        return False
    return any(
        (selector["kind"], selector.get("name")) == (kind, metadata["name"])
        for selector in policy[2]["spec"]["resourceSelectors"]
    )
