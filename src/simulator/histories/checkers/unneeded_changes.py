"""S12: an outage changes nothing that did not have to change.

An automatic eviction begins only for what it gives a new place, and never for what others live in, nor for a Job that
is known to have ended. An object whose binding needs it where it is keeps its uid, and the addresses and volumes that
its member gave it. What neighbours keep in what is shared stays as long as that is shared, and what an operator keeps
for a custom resource as long as its user wants that.
"""

from collections.abc import Iterator

from controller_runtime import Key
from kubeapi.meta import Manifest, annotations_of
from leeward.api.names import (
    BINDING_NAME_ANNOTATION,
    BINDING_NAMESPACE_ANNOTATION,
    CLUSTER_BINDING_NAME_ANNOTATION,
    CONDITION_TAINT_KEYS,
    POLICY_TAINTS_ANNOTATION,
)
from leeward.api.work import Binding, GracefulEvictionTask, Work
from simulator.histories.checkers.lateness import CONTROLLERS
from simulator.histories.checkers.needs import Needs, is_of_an_earlier_template
from simulator.histories.checkers.restores import template_uid
from simulator.histories.checkers.scene import Scene, Violation, replicas_of, tasks_of
from simulator.histories.ground_truth import BINDINGS, HOME, KINDS, WORKS, Change, is_ours
from simulator.histories.manifests import OWN, SHARED

LIVED_IN = ("Namespace", "CustomResourceDefinition", "PersistentVolume", "PersistentVolumeClaim")
PLURALS = {"/apps/deployments/": "deployments", "//configmaps/": "configmaps"}
CUSTOM_KINDS = ("Database",)
CUSTOM_PREFIXES = frozenset(KINDS[kind] for kind in CUSTOM_KINDS)
GIVEN = (("spec", "clusterIP"), ("spec", "volumeName"), ("spec", "clusterIPs"))
"""Fields that a member gives to an object for good."""


class UnneededChangesChecker:
    """`_by_hand`: until when each cluster had a NoExecute taint that a person has set; `_ended_since`: when each Work
    first told that its Job had ended. `_made_of`: the uid of the template of each custom resource, by its own."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._needs = Needs()
        self._by_hand: dict[str, float] = {}
        self._ended_since: dict[Key, float] = {}
        self._made_of: dict[str, str] = {}

    def look(self, change: Change) -> Iterator[Violation]:
        self._needs.note(change)
        self._note_template(change)
        if change.kind == "/cluster.karmada.io/clusters/":
            self._note_taints(change)
        elif change.kind in BINDINGS and change.new is not None:
            for message in self._evicted(change.key, change.old, change.new):
                yield Violation("S12", change.seconds, f"{change.key}: {message}")
        elif change.kind == WORKS:
            self._note_end(change)
        elif change.place != HOME and change.old is not None:
            for message in self._changed(change):
                yield Violation("S12", change.seconds, f"{change.key} in {change.place} {message}")

    def _note_taints(self, change: Change) -> None:
        if change.new is None:
            return
        of_policies = change.new.metadata.annotations.get(POLICY_TAINTS_ANNOTATION, "").split(",")
        keys = [t.key for t in change.new.taints if t.effect == "NoExecute" and f"{t.key}:NoExecute" not in of_policies]
        if any(key not in CONDITION_TAINT_KEYS for key in keys):
            self._by_hand[change.key.name] = float("inf")
        elif self._by_hand.get(change.key.name) == float("inf"):
            self._by_hand[change.key.name] = change.seconds

    def _note_template(self, change: Change) -> None:
        made = change.new if change.place != HOME and change.kind in CUSTOM_PREFIXES else None
        if made is not None and (uid := template_uid(made)):
            self._made_of[made["metadata"]["uid"]] = uid

    def _note_end(self, change: Change) -> None:
        work: Work | None = change.new
        if work is None or not any("completionTime" in (each.status or {}) for each in work.status.manifest_statuses):
            self._ended_since.pop(change.key, None)
        else:
            self._ended_since.setdefault(change.key, change.seconds)

    def _has_ended(self, binding: Key, cluster: str) -> bool:
        """Tells whether every controller must know that it is a Job which has ended there."""
        work = self._scene.truth.key_of_work(binding, cluster)
        since = self._ended_since.get(work) if work is not None else None
        return since is not None and self._scene.must_know(since)

    def _evicted(self, key: Key, old: Binding | None, new: Binding) -> Iterator[str]:
        """Judges what begins to leave for a taint."""
        if old is None or old.metadata.uid != new.metadata.uid or new.metadata.deletion_timestamp is not None:
            return
        begun = [t for name, t in tasks_of(new).items() if name not in tasks_of(old) and t.reason == "TaintUntolerated"]
        if begun and new.spec.resource.kind in LIVED_IN:
            yield f"others live in it, and it was evicted from {[t.from_cluster for t in begun]}"
            return
        automatic = [task for task in begun if self._is_automatic(task)]
        for name in (task.from_cluster for task in automatic if self._has_ended(key, task.from_cluster)):
            yield f"is a Job that has ended in {name}, and was evicted from there"
        if automatic and not new.spec.is_divided:
            newcomers = set(replicas_of(new)) - set(replicas_of(old))
            if len(newcomers) < len(automatic):
                names = [task.from_cluster for task in automatic]
                yield f"was evicted from {names}, which gained {sorted(newcomers) or 'nothing'}"
        elif automatic:
            before, after = replicas_of(old), replicas_of(new)
            missing = new.spec.replicas - sum(after.get(name, 0) for name in before)
            if missing > 0 and not any(replicas > before.get(name, 0) for name, replicas in after.items()):
                yield f"was evicted from {[task.from_cluster for task in automatic]}, which gained nothing"

    def _is_automatic(self, task: GracefulEvictionTask) -> bool:
        """Tells whether nobody wanted the cluster to be left, or the purge to be done at once."""
        wanted_until = self._by_hand.get(task.from_cluster, float("-inf"))
        is_wanted = wanted_until == float("inf") or not self._scene.must_know(wanted_until)
        return task.purge_mode != "Directly" and not is_wanted and not self._scene.was_leaving(task.from_cluster)

    def _changed(self, change: Change) -> Iterator[str]:
        goes = change.new is None or "deletionTimestamp" in change.new["metadata"]
        went = "deletionTimestamp" in change.old["metadata"]
        if (change.place, PLURALS.get(change.kind, ""), change.key.name) in self._scene.touched:
            return
        if change.key.name == OWN:
            if goes and not went and self._must_stay(change):
                yield "was kept there by somebody, and is gone"
        elif goes and not went and is_ours(change.old):
            yield from self._deleted(change)
        elif goes and not went and change.kind == KINDS["PersistentVolumeClaim"] and self._is_kept_for(change):
            yield "was kept there by an operator, and is gone with its data"
        elif change.new is not None and is_ours(change.old):
            for path in GIVEN:
                before, after = (_at(manifest, *path) for manifest in (change.old, change.new))
                if before is not None and before != after:
                    yield f"had the {path[-1]} {before}, and has {after}"

    def _deleted(self, change: Change) -> Iterator[str]:
        """Judges a deletion: whoever deletes the object must know by now whether its binding needs it there."""
        key = _binding_of(change.old)
        binding = self._scene.truth.any_binding(key) if key is not None else None
        if binding is not None and is_of_an_earlier_template(change.old, binding):
            return
        since = self._needs.since(key, change.place) if key is not None else None
        parties = (CONTROLLERS, change.place)
        if since is not None and not self._scene.was_leaving(change.place) and self._scene.must_know(since, *parties):
            yield f"was deleted, uid and all, though {key} needs it there since {since:.1f}"

    def _is_kept_for(self, change: Change) -> bool:
        """Tells whether a claim belongs to a custom resource that its user has neither deleted nor asked to purge, in
        a cluster that has never left. A template that was made again under the name has claims of its own."""
        owners = [each for each in change.old["metadata"].get("ownerReferences", ()) if each["kind"] in CUSTOM_KINDS]
        if not owners or self._scene.is_cleared or change.place in self._scene.gone_since:
            return False
        key = Key(change.key.namespace, f"{owners[0]['name']}-{owners[0]['kind'].lower()}")
        binding = self._scene.truth.bindings.get(key)
        template = self._scene.truth.template_of(binding) if binding is not None else None
        if binding is None or template is None or "deletionTimestamp" in template["metadata"]:
            return False
        if self._made_of.get(owners[0]["uid"]) != template["metadata"]["uid"]:
            return False
        failover = binding.spec.failover
        policies = [failover.cluster] if failover is not None and failover.cluster is not None else []
        return all(wish.purge_mode != "Directly" for wish in (*tasks_of(binding).values(), *policies))

    def _must_stay(self, change: Change) -> bool:
        """Tells whether what it was put into is still shared, and its cluster has never left."""
        if change.place in self._scene.gone_since:
            return False
        group = change.kind.strip("/").partition("/")[0]
        shared = {"Namespace": Key("", change.key.namespace), "CustomResourceDefinition": Key("", f"widgets.{group}")}
        for kind, key in shared.items():
            template = self._scene.truth.of(KINDS[kind]).get(key)
            if kind in SHARED and template is not None and "deletionTimestamp" not in template["metadata"]:
                return True
        return False


def _binding_of(manifest: Manifest) -> Key | None:
    """The binding that an object of ours says it belongs to."""
    annotations = annotations_of(manifest)
    if CLUSTER_BINDING_NAME_ANNOTATION in annotations:
        return Key("", annotations[CLUSTER_BINDING_NAME_ANNOTATION])
    if BINDING_NAME_ANNOTATION not in annotations:
        return None
    return Key(annotations.get(BINDING_NAMESPACE_ANNOTATION, ""), annotations[BINDING_NAME_ANNOTATION])


def _at(manifest: Manifest, section: str, field: str) -> object:
    return manifest.get(section, {}).get(field)
