"""S1 and C2: a copy leaves only when what replaces it is there, or when the user asked for it."""

from collections.abc import Iterator

from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION
from leeward.api.work import GracefulEvictionTask, ResourceBinding
from leeward.runtime.identity import Key
from leeward.sim.histories.checkers.lateness import CONTROLLERS
from leeward.sim.histories.checkers.scene import Scene, Violation, covers, replicas_of, seconds_of, tasks_of
from leeward.sim.histories.truth import Change


class CopiesChecker:
    """`rendered_at`: since when each Work asks for what it asks for. Nothing that was true before is health for it."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._rendered_at: dict[Key, float] = {}

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind == "/work.karmada.io/works/":
            self._note(change)
        if change.kind != "/work.karmada.io/resourcebindings/" or change.old is None or change.new is None:
            return
        old: ResourceBinding = change.old
        new: ResourceBinding = change.new
        if old.metadata.uid != new.metadata.uid or new.metadata.deletion_timestamp is not None:
            return
        for message in self._ended(old, new):
            yield Violation("S1", change.seconds, f"{change.key}: {message}")
        for invariant, message in self._lost(old, new):
            yield Violation(invariant, change.seconds, f"{change.key}: {message}")

    def _note(self, change: Change) -> None:
        before, after = (work.metadata.generation if work is not None else 0 for work in (change.old, change.new))
        if before != after:
            self._rendered_at[change.key] = change.seconds

    def _ended(self, old: ResourceBinding, new: ResourceBinding) -> Iterator[str]:
        """Tasks that were ended, and whose copy, or part of a copy, goes. Where as many replicas stay there as are
        asked for by now, what goes is nobody's."""
        before, after, kept = replicas_of(old), replicas_of(new), tasks_of(new)
        for name, task in tasks_of(old).items():
            if name in kept or self._scene.was_leaving(name) or after.get(name, -1) > before.get(name, -1):
                continue
            if task.suppress_deletion is False or task.purge_mode == "Directly":
                continue
            if old.spec.asks_for_none or (old.spec.is_divided and before.get(name, 0) >= old.spec.replicas):
                continue
            others = {target: replicas for target, replicas in before.items() if target != name}
            if not covers(old, before) or not others:
                yield f"the eviction from {name} has ended, but {before or 'nothing'} does not replace it"
            elif not self._was_ready(old, others):
                yield from self._ended_on_time(old, task, others)

    def _was_ready(self, binding: ResourceBinding, targets: dict[str, int]) -> bool:
        """Whether each target truly had its replicas ready at a moment that the decision can rest on."""
        return all(
            name in self._scene.liars
            or self._scene.truth.copies(name, binding).best_since(self._scene.evidence_since(name))
            >= self._needed(binding, replicas)
            for name, replicas in targets.items()
        )

    def _ended_on_time(
        self, binding: ResourceBinding, task: GracefulEvictionTask, targets: dict[str, int]
    ) -> Iterator[str]:
        timing, truth = self._scene.timing, self._scene.truth
        grace = timing.graceful_eviction_timeout if task.grace_period_seconds is None else task.grace_period_seconds
        created = task.creation_timestamp
        age = truth.now() - seconds_of(created) if created is not None else 0.0
        if age < grace - 1 - self._scene.skew_seconds:
            yield f"the eviction from {task.from_cluster} ended after {age:.0f} s; {targets} was never all ready"
        elif self._is_surely_well(binding, task.from_cluster, task.replicas or 0):
            yield f"time took the healthy copy in {task.from_cluster} away; {targets} was never all ready"

    def _is_surely_well(self, binding: ResourceBinding, name: str, replicas: int) -> bool:
        """Whether the copy has been ready for so long, in a cluster that is Ready, that this must be known: as the
        health of what its Work asks for now, too."""
        cluster = self._scene.cluster(name)
        if cluster is None or not cluster.is_ready or name in self._scene.liars or cluster.ready is None:
            return False
        since = self._scene.evidence_since(name)
        ready_at = cluster.ready.last_transition_time
        if ready_at is None or seconds_of(ready_at) > since or not self._must_speak_of_now(binding, name):
            return False
        return self._scene.truth.copies(name, binding).worst_since(since) >= self._needed(binding, max(1, replicas))

    def _must_speak_of_now(self, binding: ResourceBinding, name: str) -> bool:
        """Whether what the Work asks for must have been applied, and looked at, by now."""
        work = self._scene.truth.works_of(Key(binding.metadata.namespace, binding.name)).get(name)
        if work is None:
            return False
        rendered_at = self._rendered_at[Key(work.metadata.namespace, work.name)]
        return self._scene.must_know(rendered_at, CONTROLLERS, name)

    def _lost(self, old: ResourceBinding, new: ResourceBinding) -> Iterator[tuple[str, str]]:
        """Targets that are gone or smaller, though neither an eviction nor the user asked for it."""
        before, after = replicas_of(old), replicas_of(new)
        if _users_wish(old, new) or any(self._scene.was_leaving(name) for name in before):
            return
        evicting = [name for name, task in tasks_of(new).items() if tasks_of(old).get(name) != task]
        withdrawn = [name for name in tasks_of(old) if name not in tasks_of(new) and name in after]
        for name, replicas in before.items():
            if name in evicting or after.get(name, -1) >= replicas:
                continue
            if withdrawn and not self._is_ready(new):
                ready = self._scene.truth.copies(name, new).worst_since(self._scene.evidence_since(name))
                if self._is_surely_well(new, name, replicas) and ready > after.get(name, 0):
                    yield "S1", f"taking {withdrawn} back cost {name} {ready} ready replicas, of which {after} is left"
            elif withdrawn:
                continue
            elif evicting:
                yield "C2", f"the eviction from {evicting} shrank {name} from {replicas} to {after.get(name, 0)}"
            else:
                yield "S1", f"{name} went from {replicas} to {after.get(name, 'nothing')} and nobody asked for it"

    def _is_ready(self, binding: ResourceBinding) -> bool:
        """Whether all that the binding is assigned is ready: nothing that others have ready is missed then."""
        copies = {name: self._scene.truth.copies(name, binding) for name in replicas_of(binding)}
        return covers(binding, replicas_of(binding)) and all(
            copies[name].worst_since(self._scene.evidence_since(name)) >= self._needed(binding, max(1, replicas))
            for name, replicas in replicas_of(binding).items()
        )

    @staticmethod
    def _needed(binding: ResourceBinding, replicas: int) -> int:
        return replicas if binding.spec.is_workload else 1


def _users_wish(old: ResourceBinding, new: ResourceBinding) -> bool:
    """Whether this write carries out another placement, other replicas, or a request to place afresh."""
    before, after = (b.metadata.annotations.get(APPLIED_PLACEMENT_ANNOTATION) for b in (old, new))
    if before != after:
        return True
    replicas = replicas_of(old).values()
    wrong = sum(replicas) != old.spec.replicas if old.spec.is_divided else any(n != old.spec.replicas for n in replicas)
    if wrong and old.spec.is_workload:
        return True
    asked, done = old.spec.reschedule_triggered_at, old.status.last_scheduled_time
    return asked is not None and (done is None or asked > done)
