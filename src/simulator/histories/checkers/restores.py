"""S5 and S1: what a control plane does that is restored as it was some time ago, or that a cluster has left.

What was made in members since its backup was taken it does not know: it runs on, whatever its objects say, until their
Work is there again. So does what others live in (Namespaces, definitions, claims) in a cluster that was unjoined. And
what it was about to remove then may be what serves by now: where the Work was wanted until the restore, and is going
afterwards, its copy goes only when all that the binding is assigned is truly ready. A copy of a template that was made
since the backup stays, whatever the Work of its name asks for: an order is about one template.
"""

from collections.abc import Iterator

from controller_runtime import Key
from kubeapi.meta import Manifest, ReadOnlyManifest, annotations_of
from leeward.api.names import (
    TEMPLATE_UID_ANNOTATION,
    WORK_NAME_ANNOTATION,
    WORK_NAMESPACE_ANNOTATION,
    cluster_of_execution_space,
)
from leeward.api.work import Binding, Work
from simulator.histories.checkers.needs import needed_by
from simulator.histories.checkers.scene import Scene, Violation, covers, replicas_of
from simulator.histories.ground_truth import HOME, KINDS, WORKS, Change, is_ours, owner_of

SHARED = frozenset({"CustomResourceDefinition", "Namespace", "PersistentVolumeClaim"})
PLURALS = {"/apps/deployments/": "deployments", "//configmaps/": "configmaps"}


class RestoresChecker:
    """`leaves` is to be called before a store is replaced, `restored` when the truth knows what is in it."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._wanted: set[Key] = set()

    def leaves(self) -> None:
        """Notes which Works were wanted last."""
        self._wanted = {key for key in self._scene.truth.works if self._is_wanted(key)}

    def restored(self) -> None:
        truth, scene = self._scene.truth, self._scene
        scene.orphaned.clear()
        for member in truth.members:
            unknown = {work for _, work in copies_of(scene, member) if work not in truth.works}
            scene.orphaned.update((member, work) for work in unknown if not scene.is_forgotten(member, work))
        scene.restored_at = truth.now()
        scene.forgotten_templates = self._templates_there() - self._known_templates()
        scene.overtaken.clear()
        scene.overtaken.update(key for key in self._wanted if key in truth.works and not self._is_wanted(key))
        self._wanted = set()

    def _templates_there(self) -> set[str]:
        """The uids of templates of which members hold copies."""
        truth = self._scene.truth
        return {
            template_uid(copy)
            for member in truth.members
            for prefix in KINDS.values()
            for copy in truth.of(prefix, member).values()
            if is_ours(copy)
        } - {""}

    def _known_templates(self) -> set[str]:
        """The uids of templates that the control plane knows of."""
        truth = self._scene.truth
        known = {found["metadata"]["uid"] for prefix in KINDS.values() for found in truth.of(prefix).values()}
        known |= {each.spec.resource.uid for each in (*truth.bindings.values(), *truth.cluster_bindings.values())}
        return known | {template_uid(each) for work in truth.works.values() for each in work.spec.workload.manifests}

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind == WORKS:
            self._note(change.key, change.new)
            if change.new is None:
                self._note_left(change.key, change.old)
        elif takes_away(self._scene, change):
            for invariant, message in self._gone(change):
                yield Violation(invariant, change.seconds, f"{change.key} in {change.place} {message}")

    def _note(self, key: Key, work: Work | None) -> None:
        """A Work that is made again knows what runs there, but for one whose binding is forgotten, too; one that is
        wanted again overtakes nothing."""
        if work is not None and self._names_a_binding(work):
            self._scene.orphaned.discard((cluster_of_execution_space(key.namespace), key))
        if work is not None and work.metadata.deletion_timestamp is None and self._is_wanted(key):
            self._scene.overtaken.discard(key)

    def _note_left(self, key: Key, gone: Work) -> None:
        """Notes of a Work which objects it leaves there: those of a forgotten template, or, once the control plane was
        restored, of another one than its own; and, where it goes with its cluster, those that others live in."""
        member, own = cluster_of_execution_space(key.namespace), set(map(template_uid, gone.spec.workload.manifests))
        copies = [what for what, work in copies_of(self._scene, member) if work == key]
        there = [self._scene.truth.of(KINDS[kind], member)[name] for kind, name in copies]
        is_of_another = self._scene.is_restored and any(template_uid(copy) not in own for copy in there)
        if is_of_another or any(self._is_forgotten(member, *what) for what in copies):
            self._scene.orphaned.add((member, key))
        cluster = self._scene.cluster(member)
        is_unjoined = cluster is None or cluster.is_being_deleted
        if is_unjoined and any(kind in SHARED for kind, _ in copies):
            self._scene.orphaned.add((member, key))

    def _is_forgotten(self, member: str, kind: str, key: Key) -> bool:
        """Tells whether a copy was made of a template that the control plane has forgotten."""
        copy = self._scene.truth.of(KINDS[kind], member)[key]
        return not self._scene.is_cleared and template_uid(copy) in self._scene.forgotten_templates

    def _names_a_binding(self, work: Work) -> bool:
        """Tells whether the binding of the Work is there, if it names one."""
        owner = owner_of(work)
        return owner is None or self._scene.truth.any_binding(owner) is not None

    def _is_wanted(self, key: Key) -> bool:
        truth, cluster = self._scene.truth, cluster_of_execution_space(key.namespace)
        work = truth.works[key]
        binding = self._binding_of(work)
        needed = binding is not None and cluster in needed_by(binding)
        return work.metadata.deletion_timestamp is None and needed

    def _binding_of(self, work: Work) -> Binding | None:
        owner = owner_of(work)
        return None if owner is None else self._scene.truth.any_binding(owner)

    def _gone(self, change: Change) -> Iterator[tuple[str, str]]:
        work = work_of(change.old)
        if (change.place, work) in self._scene.orphaned:
            yield "S5", f"was deleted; the control plane knows nothing of its Work {work}"
        elif template_uid(change.old) in self._scene.forgotten_templates and not self._scene.is_cleared:
            yield "S5", f"was deleted; it is of a template that the control plane has forgotten, and {work} of another"
        if work in self._scene.overtaken and work in self._scene.truth.works:
            binding = self._binding_of(self._scene.truth.works[work])
            if binding is not None and not self._may_go(binding, change.place):
                targets = replicas_of(binding)
                yield "S1", f"was deleted, as was wanted before the backup; {targets or 'nothing'} is not ready"

    def _may_go(self, binding: Binding, member: str) -> bool:
        """Tells whether nothing is lost with it, or its user has asked for that."""
        scene, spec = self._scene, binding.spec
        if binding.metadata.deletion_timestamp is not None or spec.asks_for_none or scene.was_leaving(member):
            return True
        if scene.truth.template_of(binding) is None or spec.resource.kind != "Deployment":
            return True
        targets = {name: replicas for name, replicas in replicas_of(binding).items() if name != member}
        since = scene.evidence_since(member)
        others = [scene.truth.copies(name, binding).best_since(since) for name in scene.truth.members if name != member]
        if spec.is_divided and sum(max(0, each) for each in others) >= spec.replicas:
            return True
        ready = {name: scene.truth.copies(name, binding).best_since(since) for name in targets}
        return covers(binding, targets) and all(ready[name] >= replicas for name, replicas in targets.items())


def takes_away(scene: Scene, change: Change) -> bool:
    """Tells whether somebody deletes something of ours in a member, and it is no user who does."""
    if change.place == HOME or change.old is None or not is_ours(change.old) or not _goes(change):
        return False
    return (change.place, PLURALS.get(change.kind, ""), change.key.name) not in scene.touched


def copies_of(scene: Scene, member: str) -> Iterator[tuple[tuple[str, Key], Key]]:
    """Copies of ours that a member holds: its kind and key, and the Work that it says it was made from."""
    for kind, prefix in KINDS.items():
        for key, copy in scene.truth.of(prefix, member).items():
            if is_ours(copy) and "deletionTimestamp" not in copy["metadata"]:
                yield (kind, key), work_of(copy)


def work_of(copy: Manifest) -> Key:
    annotations = annotations_of(copy)
    return Key(annotations.get(WORK_NAMESPACE_ANNOTATION, ""), annotations.get(WORK_NAME_ANNOTATION, ""))


def template_uid(manifest: ReadOnlyManifest) -> str:
    """The uid of the template that an object was made of; empty where it does not say."""
    return annotations_of(manifest).get(TEMPLATE_UID_ANNOTATION, "")


def _goes(change: Change) -> bool:
    gone = change.new is None or "deletionTimestamp" in change.new["metadata"]
    return gone and "deletionTimestamp" not in change.old["metadata"]
