"""S15: what a copy needs is in its cluster before the copy's Work is written, and leaves after it.

Needed is what a template names, and what the Work of a copy that is still there names. Judged by what the members hold
and what their Works say, and not by what bindings say of each other.
"""

from collections.abc import Iterator

from controller_runtime import Key
from leeward.api.names import cluster_of_execution_space, execution_space, work_name
from leeward.api.work import Binding, ResourceBinding, Work
from simulator.histories.checkers.lateness import CONTROLLERS
from simulator.histories.checkers.needs import Needs
from simulator.histories.checkers.scene import Scene, Violation
from simulator.histories.checkers.states import States
from simulator.histories.ground_truth import (
    BINDINGS,
    CUSTOMIZATIONS,
    HOME,
    KINDS,
    SCRIPTED,
    TEMPLATES,
    WORKS,
    Change,
    asks_otherwise,
    is_execution_space,
    owner_of,
)
from simulator.histories.manifests import BATCHES
from simulator.histories.named_objects import Named, follows, named_by, named_in, there
from simulator.histories.scripted import troubles_in

LONGEST_WAIT_SECONDS = 15.0
"""A copy that waits for what it needs is made without it then, and an event says so (decision 83)."""
SLACK_SECONDS = 0.1
_KIND_OF = {prefix: kind for kind, prefix in KINDS.items() if kind in ("ConfigMap", "Secret", "PersistentVolumeClaim")}


class DependenciesChecker:
    """`_made`: since when each object is in the control plane. `_following`: since when each binding has what its
    template names follow it. `_named`: what each template has named, and each Work. `_placed`: whether each Work of an
    object says that it was tried. `_mute`: whether no script says what objects of the scripted kind need."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._needs = Needs()
        self._made: dict[tuple[str, Key], float] = {}
        self._following: dict[Key, float] = {}
        self._named: dict[tuple[str, Key], States[frozenset[Named]]] = {}
        self._placed: dict[Key, States[bool]] = {}
        self._mute = States[bool]()

    def look(self, change: Change) -> Iterator[Violation]:
        self._needs.note(change)
        if change.kind in BINDINGS:
            self._note_following(change)
        elif change.kind == CUSTOMIZATIONS:
            self._mute.note(change.seconds, change.new is not None and "dependencies" in troubles_in(change.new))
        elif change.kind == WORKS and is_execution_space(change.key.namespace):
            if not change.restored and not self._scene.knows_more:
                yield from self._judge(change)
            if asks_otherwise(change):
                self._note_named((WORKS, change.key), named_by(change.new) if change.new is not None else frozenset())
            self._note_tried(change.key, change.new)
        elif change.place == HOME and change.kind in KINDS.values():
            self._note_template(change)

    def _note_following(self, change: Change) -> None:
        binding: Binding | None = change.new
        if not isinstance(binding, ResourceBinding) or not follows(binding):
            self._following.pop(change.key, None)
        else:
            self._following.setdefault(change.key, change.seconds)

    def _note_template(self, change: Change) -> None:
        if change.kind in _KIND_OF:
            kind, goes = _KIND_OF[change.kind], change.new is None or "deletionTimestamp" in change.new["metadata"]
            if goes:
                self._made.pop((kind, change.key), None)
            else:
                self._made.setdefault((kind, change.key), change.seconds)
        if change.kind in (TEMPLATES[0], SCRIPTED):
            named = named_in(change.new) if change.new is not None else frozenset[Named]()
            self._note_named((HOME, change.key), named)

    def _note_named(self, who: tuple[str, Key], named: frozenset[Named]) -> None:
        self._named.setdefault(who, States([(float("-inf"), frozenset())])).note(self._scene.truth.now(), named)

    def _note_tried(self, key: Key, work: Work | None) -> None:
        tried = work is not None and (bool(work.spec.suspend_dispatching) or work.applied is not None)
        self._placed.setdefault(key, States()).note(self._scene.truth.now(), tried)

    def _judge(self, change: Change) -> Iterator[Violation]:
        work: Work = change.new if change.new is not None else change.old
        owner, cluster = owner_of(work), cluster_of_execution_space(change.key.namespace)
        binding = self._scene.truth.bindings.get(owner) if owner is not None else None
        if owner is None or binding is None or self._scene.was_leaving(cluster):
            return
        if change.old is None:
            for message in self._early(binding, owner, work, cluster):
                yield Violation("S15", change.seconds, f"the Work of {owner} in {cluster} was written {message}")
        elif change.old.metadata.deletion_timestamp is None and (
            change.new is None or change.new.metadata.deletion_timestamp is not None
        ):
            for message in self._taken(binding, cluster):
                yield Violation("S15", change.seconds, f"{owner} leaves {cluster}, {message}")

    def _early(self, binding: ResourceBinding, owner: Key, work: Work, cluster: str) -> Iterator[str]:
        """Finds what the copy needs, and is not there."""
        following, needed = self._following.get(owner), self._needs.since(owner, cluster)
        now, truth = self._scene.truth.now(), self._scene.truth
        if following is None or not self._scene.must_know(following):
            return
        if needed is not None and now >= needed + LONGEST_WAIT_SECONDS - SLACK_SECONDS:
            return
        oldest = self._scene.lateness.oldest(now, CONTROLLERS)
        if binding.spec.resource.kind == BATCHES.kind and any(self._mute.since(oldest)):
            return
        for kind, name in sorted(named_by(work)):
            made = self._made.get((kind, Key(owner.namespace, name)))
            if made is None or not self._scene.must_know(made):
                continue
            tried = Key(execution_space(cluster), work_name(kind, name, owner.namespace))
            if there(truth, (kind, name), owner.namespace, cluster) is None and not self._was_tried(tried):
                yield f"before the {kind} {name} was there"

    def _was_tried(self, work: Key) -> bool:
        """Tells whether a Work of the object, which may be gone by now, said so lately."""
        oldest = self._scene.lateness.oldest(self._scene.truth.now(), CONTROLLERS)
        return any(self._placed[work].since(oldest) if work in self._placed else ())

    def _taken(self, attached: ResourceBinding, cluster: str) -> Iterator[str]:
        """Finds bindings whose copy it is taken from."""
        resource, truth = attached.spec.resource, self._scene.truth
        needed = resource.kind, resource.name
        template = truth.template_of(attached)
        if template is None or KINDS.get(resource.kind) not in _KIND_OF:
            return
        if "deletionTimestamp" in template["metadata"] or template["metadata"]["uid"] != resource.uid:
            return
        for key, binding in truth.bindings.items():
            following = self._following.get(key)
            if following is None or not self._scene.must_know(following) or key.namespace != resource.namespace:
                continue
            oldest = self._scene.lateness.oldest(truth.now(), CONTROLLERS)
            work = truth.key_of_work(key, cluster)
            if work is not None and self._names_all_the_time((WORKS, work), needed, oldest):
                yield f"where the copy of {key} is, which names it"
            home = HOME, Key(binding.spec.resource.namespace, binding.spec.resource.name)
            since = self._needs.since(key, cluster)
            if since is not None and self._scene.must_know(since) and self._names_all_the_time(home, needed, oldest):
                yield f"where {key} is to be since {since:.1f}, whose template names it"

    def _names_all_the_time(self, who: tuple[str, Key], needed: Named, oldest: float) -> bool:
        states = self._named[who].since(oldest) if who in self._named else []
        return bool(states) and all(needed in each for each in states)
