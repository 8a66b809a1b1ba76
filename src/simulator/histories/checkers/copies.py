"""S1 and C2: a copy leaves only when the law of `core.copies.disruption` lets it, or when the user asked for it.

Which replicas are ready is counted from the members' Pods. A task ends when what stays there and all other copies have
truly had ready all that is asked for; or, past its grace period, where the old cluster is Ready, the brake is off, and
the old copy has nothing ready that is to go. Nothing else excuses the end of a task: no label, release or scaling, no
Pod that restarts, no cluster that cannot be looked at. What the user asked for is done: `Directly`, `suppressDeletion:
false`, another placement, a Cluster that is deleted, and replicas that nobody wants any more.
"""

from collections.abc import Iterator

from controller_runtime import Key
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION, BRAKE_NAME
from leeward.api.work import GracefulEvictionTask, ResourceBinding
from simulator.histories.checkers.scene import Scene, Violation, covers, replicas_of, tasks_of
from simulator.histories.checkers.works import given_replicas
from simulator.histories.ground_truth import Change
from simulator.histories.manifests import asked_replicas, is_autoscaled
from simulator.histories.named_objects import runs_on_foreign


class CopiesChecker:
    """`_begun`: when each open task began; `_noted`: the same, as of when. `_unready_since`, `_braked_since`: since
    when nothing may be concluded from a cluster, or from any."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._begun: dict[Key, dict[str, float]] = {}
        self._noted: dict[Key, list[tuple[float, dict[str, float]]]] = {}
        self._unready_since: dict[str, float] = {}
        self._braked_since: float | None = None

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind == "/cluster.karmada.io/clusters/":
            self._note_cluster(change)
        elif change.key.name == BRAKE_NAME:
            self._note_brake(change)
        if change.kind != "/work.karmada.io/resourcebindings/" or change.old is None or change.new is None:
            return
        old: ResourceBinding = change.old
        new: ResourceBinding = change.new
        if old.metadata.uid != new.metadata.uid or new.metadata.deletion_timestamp is not None:
            return
        for invariant, message in self._ended(change.key, old, new):
            yield Violation(invariant, change.seconds, f"{change.key}: {message}")
        for invariant, message in self._lost(old, new):
            yield Violation(invariant, change.seconds, f"{change.key}: {message}")
        self._note_tasks(change.key, new)

    def as_of(self, taken_at: float) -> "CopiesChecker":
        """A new one that knows of open tasks what was known of them then."""
        anew = CopiesChecker(self._scene)
        for key, noted in self._noted.items():
            then = [begun for at, begun in noted if at <= taken_at]
            anew._begun[key] = then[-1] if then else {}
        return anew

    def _note_cluster(self, change: Change) -> None:
        if change.new is not None and change.new.is_ready:
            self._unready_since.pop(change.key.name, None)
        else:
            self._unready_since.setdefault(change.key.name, change.seconds)

    def _note_brake(self, change: Change) -> None:
        if change.new is None or "since" not in change.new.get("data", {}):
            self._braked_since = None
        elif self._braked_since is None:
            self._braked_since = change.seconds

    def _note_tasks(self, key: Key, new: ResourceBinding) -> None:
        known, now = self._begun.get(key, {}), self._scene.truth.now()
        self._begun[key] = {name: known.get(name, now) for name in tasks_of(new)}
        if self._begun[key] != known:
            self._noted.setdefault(key, []).append((now, self._begun[key]))

    def _ended(self, key: Key, old: ResourceBinding, new: ResourceBinding) -> Iterator[tuple[str, str]]:
        """Tasks that were ended, and whose copy, or part of a copy, goes. Where as many replicas stay there as are
        asked for by now, what goes is nobody's."""
        before, after, kept = replicas_of(old), replicas_of(new), tasks_of(new)
        for name, task in tasks_of(old).items():
            if name in kept or self._scene.was_leaving(name) or after.get(name, -1) > before.get(name, -1):
                continue
            if task.suppress_deletion is False or task.purge_mode == "Directly" or old.spec.asks_for_none:
                continue
            others = {*before, *(each for each, other in kept.items() if other.purge_mode != "Directly")} - {name}
            if self._braked_since is not None and self._scene.must_know(self._braked_since):
                yield "S4", f"the eviction from {name} ended while the brake is engaged"
            elif not any(map(self._scene.may_lie, others)) and not self._is_enough(old, name, others):
                yield from self._served_nothing(key, old, task, others)

    def _is_enough(self, binding: ResourceBinding, name: str, others: set[str]) -> bool:
        """Tells whether all that is asked for was truly ready in the others, with what stays, at a moment that the
        decision can rest on."""
        before, spec = replicas_of(binding), binding.spec
        given = {each: self._given(binding, each) for each in before}
        needs = {
            each: min(own, self._needed(binding, count))
            if (own := given[each]) is not None
            else self._needed(binding, count)
            for each, count in before.items()
        }
        if spec.is_divided:
            asked = spec.replicas - sum(before.values()) + sum(needs.values())
            return before.get(name, 0) + sum(max(0, self._best(binding, each)) for each in others) >= asked
        whole = self._needed(binding, spec.replicas)
        ready = sum(min(whole, max(0, self._best(binding, each))) for each in others)
        return bool(before) and needs.get(name, 0) + ready >= sum(needs.values())

    def _given(self, binding: ResourceBinding, name: str) -> int | None:
        """Replicas that an override gives a copy, or its own cluster one that is newer than all evictions; those are
        no fewer than the others lose. Of copies that are not divided each replaces one."""
        truth, before = self._scene.truth, replicas_of(binding)
        copy, work = truth.copy(name, binding), truth.works_of(_key(binding)).get(name)
        made = work.metadata.creation_timestamp if work is not None else None
        began = [task.creation_timestamp for task in tasks_of(binding).values()]
        is_new = made is not None and all(at is not None and at <= made for at in began)
        if copy is None or not is_autoscaled(copy) or (binding.spec.is_divided and not is_new):
            return given_replicas(truth, binding, name)
        losing = [max(0, self._best(binding, each) - before.get(each, 0)) for each in tasks_of(binding)]
        return max(asked_replicas(copy), sum(losing) if binding.spec.is_divided else max(losing, default=0))

    def _served_nothing(
        self, key: Key, binding: ResourceBinding, task: GracefulEvictionTask, others: set[str]
    ) -> Iterator[tuple[str, str]]:
        """Judges an eviction that time has ended: what it may end, and what not."""
        name, timing, truth = task.from_cluster, self._scene.timing, self._scene.truth
        grace = timing.graceful_eviction_timeout if task.grace_period_seconds is None else task.grace_period_seconds
        began = self._begun.get(key, {}).get(name, truth.now())
        unready_since, why = self._unready_since.get(name), f"{sorted(others)} never served all that is asked for"
        serving = truth.copies(name, binding).worst_since(self._scene.evidence_since(name))
        if binding.spec.is_divided:
            serving -= replicas_of(binding).get(name, 0)
        if truth.now() - began < grace - 1 - self._scene.skew_seconds:
            yield "S1", f"the eviction from {name} ended after {truth.now() - began:.0f} s; {why}"
        elif unready_since is not None and self._scene.must_know(unready_since):
            yield "S1", f"the eviction from {name} ended, which is not Ready since {unready_since:.1f}; {why}"
        elif serving > 0:
            yield "S1", f"time took {serving} ready replicas in {name} away; {why}"
        elif not covers(binding, replicas_of(binding)):
            yield "S1", f"the eviction from {name} has ended, and {replicas_of(binding)} does not replace it"

    def _best(self, binding: ResourceBinding, name: str) -> int:
        """Most replicas that were ready; none of a copy whose configuration is somebody else's (S16)."""
        if runs_on_foreign(self._scene.truth, binding, name):
            return 0
        return self._scene.truth.copies(name, binding).best_since(self._scene.evidence_since(name))

    def _lost(self, old: ResourceBinding, new: ResourceBinding) -> Iterator[tuple[str, str]]:
        """Targets that are gone or smaller, though neither an eviction nor the user asked for it."""
        before, after = replicas_of(old), replicas_of(new)
        if _users_wish(old, new) or any(self._scene.was_leaving(name) for name in before):
            return
        evicting = [name for name, task in tasks_of(new).items() if tasks_of(old).get(name) != task]
        back = [name for name in tasks_of(old) if after.get(name, -1) > before.get(name, -1)]
        evicting = [name for name in evicting if name not in back]
        withdrawn = [name for name in tasks_of(old) if (name not in tasks_of(new) and name in after) or name in back]
        gained = sum(max(0, self._best(new, name)) for name in withdrawn)
        for name, replicas in before.items():
            if name in evicting or after.get(name, -1) >= replicas:
                continue
            if withdrawn and not self._is_ready(new):
                ready = self._scene.truth.copies(name, new).worst_since(self._scene.evidence_since(name))
                if ready - max(0, after.get(name, 0)) > gained:
                    yield "S1", f"taking {withdrawn} back cost {name} {ready} ready replicas, of which {after} is left"
            elif withdrawn:
                continue
            elif evicting:
                yield "C2", f"the eviction from {evicting} shrank {name} from {replicas} to {after.get(name, 0)}"
            else:
                yield "S1", f"{name} went from {replicas} to {after.get(name, 'nothing')} and nobody asked for it"

    def _is_ready(self, binding: ResourceBinding) -> bool:
        """Tells whether all that the binding is assigned is ready: nothing that others have ready is missed then."""
        copies = {name: self._scene.truth.copies(name, binding) for name in replicas_of(binding)}
        return covers(binding, replicas_of(binding)) and all(
            copies[name].worst_since(self._scene.evidence_since(name)) >= self._needed(binding, max(1, replicas))
            for name, replicas in replicas_of(binding).items()
        )

    @staticmethod
    def _needed(binding: ResourceBinding, replicas: int) -> int:
        return replicas if binding.spec.is_workload else 1


def _key(binding: ResourceBinding) -> Key:
    return Key(binding.metadata.namespace, binding.metadata.name)


def _users_wish(old: ResourceBinding, new: ResourceBinding) -> bool:
    """Tells whether this write carries out another placement, other replicas, or a request to place afresh."""
    before, after = (b.metadata.annotations.get(APPLIED_PLACEMENT_ANNOTATION) for b in (old, new))
    if before != after:
        return True
    replicas = replicas_of(old).values()
    wrong = sum(replicas) != old.spec.replicas if old.spec.is_divided else any(n != old.spec.replicas for n in replicas)
    if wrong and old.spec.is_workload:
        return True
    asked, done = old.spec.reschedule_triggered_at, old.status.last_scheduled_time
    return asked is not None and (done is None or asked > done)
