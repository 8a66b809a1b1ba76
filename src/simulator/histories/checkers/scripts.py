"""S16: no answer is no answer. A script that fails, does not end, or makes no sense, makes nothing Healthy, ends no
eviction, and gives no number of replicas.
"""

from collections.abc import Iterator

from controller_runtime import Key
from leeward.api.names import cluster_of_execution_space
from leeward.api.work import ResourceBinding, Work
from simulator.histories.checkers.lateness import CONTROLLERS
from simulator.histories.checkers.scene import Scene, Violation, replicas_of, tasks_of
from simulator.histories.checkers.states import States
from simulator.histories.ground_truth import BINDINGS, CUSTOMIZATIONS, HOME, SCRIPTED, WORKS, Change, asks_otherwise
from simulator.histories.manifests import BATCHES
from simulator.histories.model import Question
from simulator.histories.scripted import troubles_in

LONG_AGO = float("-inf")
"""Beginning of a task that was open before anybody looked: it has had its time."""


class ScriptsChecker:
    """`_troubled_since`: since when each question has had no answer. `_asked`: the replicas that each template has
    asked for. `_renewed`: when each Work asked for something else last. `_begun`: when each open task began."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._troubled_since: dict[Question, float] = {}
        self._asked: dict[Key, States[int]] = {}
        self._renewed: dict[Key, float] = {}
        self._begun: dict[tuple[Key, str], float] = {}

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind == CUSTOMIZATIONS:
            self._note_troubles(change)
        elif change.kind == SCRIPTED and change.place == HOME and change.new is not None:
            self._asked.setdefault(change.key, States()).note(change.seconds, change.new["spec"]["replicas"])
        elif change.kind == WORKS:
            yield from self._reported(change, change.old, change.new)
        elif change.kind == BINDINGS[0] and change.new is not None:
            yield from self._bound(change, change.old, change.new)

    def _note_troubles(self, change: Change) -> None:
        troubles = troubles_in(change.new) if change.new is not None else frozenset[Question]()
        self._troubled_since = {each: self._troubled_since.get(each, change.seconds) for each in troubles}

    def _is_mute(self, question: Question, cluster: str = CONTROLLERS) -> bool:
        """Tells whether everybody must know by now that it has no answer."""
        since = self._troubled_since.get(question)
        return since is not None and not self._scene.knows_more and self._scene.must_know(since, CONTROLLERS, cluster)

    def _reported(self, change: Change, old: Work | None, new: Work | None) -> Iterator[Violation]:
        if new is None:
            self._renewed.pop(change.key, None)
            return
        if asks_otherwise(change):
            self._renewed[change.key] = change.seconds
        before = {each.identifier: each for each in old.status.manifest_statuses} if old is not None else {}
        for each in new.status.manifest_statuses:
            known, cluster = before.get(each.identifier), cluster_of_execution_space(change.key.namespace)
            is_new = known is None or (known.health, known.status) != (each.health, each.status)
            if each.identifier.kind != BATCHES.kind or each.health != "Healthy" or not is_new or change.restored:
                continue
            if self._is_mute("health", cluster):
                since = self._troubled_since["health"]
                message = f"the Work {change.key} is said to be Healthy; nobody can say that since {since:.1f}"
                yield Violation("S16", change.seconds, message)

    def _bound(self, change: Change, old: ResourceBinding | None, new: ResourceBinding) -> Iterator[Violation]:
        resource = new.spec.resource
        if resource.kind != BATCHES.kind:
            return
        if (old is None or old.spec.replicas != new.spec.replicas) and not (change.restored or self._scene.knows_more):
            oldest = self._scene.lateness.oldest(change.seconds, CONTROLLERS)
            states = self._asked.get(Key(resource.namespace, resource.name))
            asked = states.since(oldest) if states is not None else []
            if new.spec.replicas not in asked:
                message = f"{change.key} asks for {new.spec.replicas} replicas, its template for {asked}"
                yield Violation("S16", change.seconds, message)
        if old is not None and old.metadata.uid == new.metadata.uid and new.metadata.deletion_timestamp is None:
            for message in self._ended(change.key, old, new):
                yield Violation("S16", change.seconds, f"{change.key}: {message}")
        for name in tasks_of(new):
            self._begun.setdefault((change.key, name), LONG_AGO if change.restored else change.seconds)

    def _ended(self, key: Key, old: ResourceBinding, new: ResourceBinding) -> Iterator[str]:
        """Judges evictions that ended before their time, though what replaces the copy was written anew since its
        health has been unknown."""
        for name, task in tasks_of(old).items():
            if name in tasks_of(new):
                continue
            began = self._begun.pop((key, name), LONG_AGO)
            grace = task.grace_period_seconds
            patience = self._scene.timing.graceful_eviction_timeout if grace is None else grace
            in_time = self._scene.truth.now() - began >= patience - 1 - self._scene.skew_seconds
            excused = in_time or task.purge_mode == "Directly" or task.suppress_deletion is False
            if excused or name in replicas_of(new) or self._scene.was_leaving(name) or old.spec.asks_for_none:
                continue
            unknown = [cluster for cluster in replicas_of(old) if cluster != name and self._is_unknown(key, cluster)]
            if unknown:
                yield f"the eviction from {name} ended, and nobody can say how {', '.join(unknown)} does"

    def _is_unknown(self, binding: Key, cluster: str) -> bool:
        """Tells whether the Work there was written anew since everybody knows that health has no answer."""
        work = self._scene.truth.key_of_work(binding, cluster)
        since = self._troubled_since.get("health")
        if work is None or since is None or not self._is_mute("health", cluster):
            return False
        return self._renewed.get(work, 0.0) > self._scene.lateness.due(since, CONTROLLERS, cluster)
