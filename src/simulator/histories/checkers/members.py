"""S5, S6 and S9: what the control plane does to objects in members."""

from collections.abc import Iterator

from controller_runtime import Key, key_of
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, annotations_of, labels_of
from leeward.api.names import (
    TEMPLATE_UID_ANNOTATION,
    WORK_NAME_ANNOTATION,
    WORK_NAMESPACE_ANNOTATION,
    cluster_of_execution_space,
)
from leeward.api.work import Work
from simulator.histories.checkers.lateness import CONTROLLERS
from simulator.histories.checkers.scene import Scene, Violation
from simulator.histories.ground_truth import BINDINGS, HOME, KINDS, TEMPLATES, WORKS, Change, owner_of
from simulator.histories.manifests import is_autoscaled

SECRETS = KINDS["Secret"]


class MembersChecker:
    """Remembers since when each Work has wanted its object without a break: deciding to delete takes a moment.

    `_left`: the uids of what was left to its owner in a member, and since when. The template is gone, its policy has
    preserved it, and so has its Work ended.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._wanted_since: dict[Key, float] = {}
        self._preserving: set[Key] = set()
        """Bindings whose policy preserved what they made, when they were last seen."""
        self._left: dict[tuple[str, str], float] = {}

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind == WORKS:
            self._note(change)
        elif change.kind in BINDINGS and change.new is not None:
            keeps = self._preserving.add if change.new.spec.preserve_resources_on_deletion else self._preserving.discard
            keeps(change.key)
        if change.place == HOME or change.kind not in (*TEMPLATES, SECRETS) or change.old is None:
            return
        plural = "deployments" if change.kind == TEMPLATES[0] else "configmaps"
        if (change.place, plural, change.key.name) in self._scene.touched or change.key.namespace != "default":
            return
        if (change.place, change.old["metadata"].get("uid")) in self._left:
            yield from self._taken_back(change)
        elif not _identity(change.old):
            yield from self._foreign(change)
        elif change.kind == SECRETS:
            return
        elif change.new is None or "deletionTimestamp" in change.new["metadata"]:
            yield from self._deleted(change)
        elif is_autoscaled(change.old) and is_autoscaled(change.new):
            yield from self._scaled(change)

    def _note(self, change: Change) -> None:
        work: Work | None = change.new
        if work is None or work.metadata.deletion_timestamp is not None:
            self._wanted_since.pop(change.key, None)
            if work is None:
                self._scene.ended_at[change.key] = change.seconds
                self._note_left(change)
        else:
            self._wanted_since.setdefault(change.key, change.seconds)

    def _note_left(self, change: Change) -> None:
        """Remembers what a Work leaves in its member for good."""
        work: Work | None = change.old
        if work is None or owner_of(work) not in self._preserving:
            return
        truth, member = self._scene.truth, cluster_of_execution_space(change.key.namespace)
        for manifest in work.spec.workload.manifests:
            prefix, uid = KINDS.get(manifest["kind"], ""), annotations_of(manifest).get(TEMPLATE_UID_ANNOTATION)
            template, copy = (truth.of(prefix, place).get(key_of(manifest)) for place in (HOME, member))
            if copy is not None and (template is None or template["metadata"]["uid"] != uid):
                self._left[member, copy["metadata"]["uid"]] = change.seconds

    def _taken_back(self, change: Change) -> Iterator[Violation]:
        """Finds what was left to its owner, and does not stay as that wants it."""
        if change.new is None or not is_equal(_contents(change.old), _contents(change.new)):
            since = self._left[change.place, change.old["metadata"]["uid"]]
            what = "deleted" if change.new is None else "changed"
            message = f"{change.key} in {change.place} was left to its owner at {since:.1f}, and was {what}"
            yield Violation("S6", change.seconds, message)

    def _foreign(self, change: Change) -> Iterator[Violation]:
        """An object that is not ours stays as it is; its status and what the member itself notes are its own."""
        if change.new is None or _asked(change.old) != _asked(change.new):
            what = "deleted" if change.new is None else "changed"
            yield Violation("S6", change.seconds, f"{change.key} in {change.place} is not ours, and was {what}")

    def _deleted(self, change: Change) -> Iterator[Violation]:
        if "deletionTimestamp" in change.old["metadata"]:
            return
        key = _identity(change.old)
        since = self._wanted_since.get(key) if key is not None else None
        parties = (change.place,) if change.place in self._scene.pulling else (CONTROLLERS, change.place)
        if since is not None and self._scene.must_know(since, *parties):
            message = (
                f"{change.key} in {change.place} was deleted, though its Work {key} has wanted it since {since:.1f}"
            )
            yield Violation("S5", change.seconds, message)

    def _scaled(self, change: Change) -> Iterator[Violation]:
        """Replicas of a copy that is autoscaled are what its autoscaler wants, from when it has first wanted some."""
        wanted = self._scene.autoscaled.get((change.place, change.key.name))
        before, after = (manifest["spec"]["replicas"] for manifest in (change.old, change.new))
        is_same = change.old["metadata"]["uid"] == change.new["metadata"]["uid"]
        if is_same and before == wanted != after:
            message = f"{change.key} in {change.place} had the {before} replicas of its autoscaler, and has {after}"
            yield Violation("S9", change.seconds, message)


def _identity(manifest: Manifest) -> Key | None:
    """The Work that an object says it was made from."""
    annotations = annotations_of(manifest)
    if WORK_NAME_ANNOTATION not in annotations:
        return None
    return Key(annotations.get(WORK_NAMESPACE_ANNOTATION, ""), annotations[WORK_NAME_ANNOTATION])


def _asked(manifest: Manifest) -> tuple[object, ...]:
    annotations = {k: v for k, v in annotations_of(manifest).items() if not k.startswith("deployment.kubernetes.io/")}
    return *_contents(manifest), labels_of(manifest), annotations


def _contents(manifest: Manifest) -> list[object]:
    return [manifest.get("spec"), manifest.get("data")]
