"""S1: a Job runs to its end, once. One that runs is not deleted before it, or another copy of it, has ended; one that
has ended is not begun again, neither elsewhere nor in its place.

Judged are the Jobs in members, by the template that they name. Excused is what a person asks for: another placement,
`Directly`, a deleted template, a cluster that leaves, with what has ended there. So is a control plane that was
restored, and knows less.
"""

from collections.abc import Iterator

from controller_runtime import Key
from kubeapi.meta import Manifest, annotations_of
from leeward.api.names import TEMPLATE_UID_ANNOTATION, WORK_NAME_ANNOTATION, WORK_NAMESPACE_ANNOTATION
from leeward.api.work import Binding, Work
from simulator.histories.checkers.scene import Scene, Violation, replicas_of, tasks_of
from simulator.histories.ground_truth import HOME, KINDS, WORKS, Change, is_ours, owner_of

Job = tuple[Key, str]
"""Key of a Job, and the uid of its template."""


class JobsChecker:
    """`_ended`: members in which each Job has ended well. `_told`: since when each Work says so. `_made`: when each
    Work was made."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._ended: dict[Job, set[str]] = {}
        self._told: dict[Key, float] = {}
        self._made: dict[Key, float] = {}

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind == WORKS:
            self._note_work(change)
        if change.place == HOME or change.kind != KINDS["Job"]:
            return
        old, new = change.old, change.new
        if new is not None and is_ours(new) and "completionTime" in new.get("status", {}):
            self._ended.setdefault(_job(change.key, new), set()).add(change.place)
        is_going = new is None or "deletionTimestamp" in new["metadata"]
        if old is not None and is_ours(old) and is_going and "deletionTimestamp" not in old["metadata"]:
            yield from self._killed(change, old)
        elif old is None and new is not None and is_ours(new):
            yield from self._done_again(change, new)

    def _note_work(self, change: Change) -> None:
        work: Work | None = change.new
        if work is None:
            self._told.pop(change.key, None)
            self._made.pop(change.key, None)
            return
        self._made.setdefault(change.key, change.seconds)
        if any("completionTime" in (each.status or {}) for each in work.status.manifest_statuses):
            self._told.setdefault(change.key, change.seconds)

    def _killed(self, change: Change, job: Manifest) -> Iterator[Violation]:
        status, binding = job.get("status", {}), self._judged(change, job)
        conditions = {each.get("type") for each in status.get("conditions") or () if each.get("status") == "True"}
        has_ended = "completionTime" in status or "Failed" in conditions or bool(self._ended.get(_job(change.key, job)))
        if binding is not None and status.get("active") and not has_ended:
            message = f"{change.key} in {change.place} was deleted while it ran, and has ended nowhere"
            yield Violation("S1", change.seconds, message)

    def _done_again(self, change: Change, job: Manifest) -> Iterator[Violation]:
        """Judges a copy whose Work was made when every controller had to know that the Job has ended elsewhere; and one
        whose Work says that it has ended there."""
        binding, made_at = self._judged(change, job), self._made.get(_work(job))
        if binding is None or made_at is None:
            return
        ended = self._ended.get(_job(change.key, job), set()) - {change.place, *replicas_of(binding)}
        in_fleet = (name for name in ended if not self._scene.was_leaving(name))
        works = ((name, self._scene.truth.key_of_work(_key(binding), name)) for name in in_fleet)
        told = {name: self._told[work] for name, work in works if work is not None and work in self._told}
        known = [name for name, since in told.items() if self._scene.lateness.due(since) < made_at]
        if (since := self._told.get(_work(job))) is not None and self._scene.lateness.due(since) < change.seconds:
            known.append(change.place)
        if known:
            message = f"{change.key} was begun in {change.place}, though it has ended in {sorted(known)}"
            yield Violation("S1", change.seconds, message)

    def _judged(self, change: Change, job: Manifest) -> Binding | None:
        """Binding of a Job that nobody has asked to go; None where that is not known."""
        scene, work = self._scene, self._scene.truth.works.get(_work(job))
        owner = owner_of(work) if work is not None else None
        binding = scene.truth.any_binding(owner) if owner is not None else None
        template = scene.truth.template_of(binding) if binding is not None else None
        if binding is None or template is None or binding.metadata.deletion_timestamp is not None:
            return None
        tasks, places = tasks_of(binding).values(), {change.place, *replicas_of(binding), *tasks_of(binding)}
        is_asked = any(task.purge_mode == "Directly" or task.suppress_deletion is False for task in tasks)
        is_excused = scene.restored_at > float("-inf") or change.place in scene.forgotten or is_asked
        is_excused = is_excused or any(scene.was_leaving(name) or name in scene.liars for name in places)
        is_of_template = template["metadata"]["uid"] == annotations_of(job).get(TEMPLATE_UID_ANNOTATION)
        return binding if is_of_template and not is_excused and not binding.spec.asks_for_none else None


def _job(key: Key, job: Manifest) -> Job:
    return key, annotations_of(job).get(TEMPLATE_UID_ANNOTATION, "")


def _work(job: Manifest) -> Key:
    annotations = annotations_of(job)
    return Key(annotations.get(WORK_NAMESPACE_ANNOTATION, ""), annotations.get(WORK_NAME_ANNOTATION, ""))


def _key(binding: Binding) -> Key:
    return Key(binding.namespace, binding.name)
