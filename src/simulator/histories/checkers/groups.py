"""S21: nobody of a group is left alone, on either side, for longer than it takes to write, unless a hold says why.

Judged are two members that were in one cluster, and are in two. `GroupHeld` on one of them says who cannot follow; they
are judged anew once they have met again. Any other hold, a fault of the control plane and a user's wish begin the time
anew. A Job that is over follows nobody.
"""

from collections.abc import Iterator
from itertools import combinations

from controller_runtime import Key
from kubeapi.meta import ReadOnlyManifest
from kubeapi.unstructured import mappings_at
from leeward.api.meta import find_condition
from leeward.api.moves_with import MOVES_WITH_ANNOTATION
from leeward.api.names import EVICTION_HELD_CONDITION
from leeward.api.work import ResourceBinding, Work
from simulator.histories.checkers.scene import Scene, Violation, replicas_of
from simulator.histories.ground_truth import Change

SECONDS = 30.0
"""Seconds for the write of the second member: retries, and a cluster that has to be seen first."""
LOOK_SECONDS = 1.0
Pair = tuple[Key, Key]


class GroupsChecker:
    """`_since`: instant from which each pair is in two clusters; None: it has been told why, or never was in one."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._since: dict[Pair, float | None] = {}
        self._look_at = 0.0

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind == "/work.karmada.io/resourcebindings/":
            is_told = change.new is not None and _hold(change.new) == "GroupHeld"
            for pair in [pair for pair in self._since if change.key in pair and self._since[pair] is not None]:
                if is_told or _wish(change.old) != _wish(change.new):
                    self._since[pair] = None if is_told else change.seconds
        return iter(())

    def overdue(self, now: float) -> Iterator[Violation]:
        """Finds pairs that should be together by now; to be asked again and again, also while nothing changes."""
        if now < self._look_at:
            return
        self._look_at = now + LOOK_SECONDS
        groups = dict[str, list[Key]]()
        for key, binding in sorted(self._scene.truth.bindings.items()):
            group = binding.metadata.annotations.get(MOVES_WITH_ANNOTATION)
            if (
                group
                and len(binding.spec.clusters) == 1
                and not any(map(_is_over, self._scene.truth.works_of(key).values()))
            ):
                groups.setdefault(group, []).append(key)
        pairs = {pair for keys in groups.values() for pair in combinations(keys, 2)}
        for pair in self._since.keys() - pairs:
            del self._since[pair]
        for pair in sorted(pairs):
            yield from self._pair(now, pair)

    def _pair(self, now: float, pair: Pair) -> Iterator[Violation]:
        first, second = (self._scene.truth.bindings[key] for key in pair)
        if replicas_of(first).keys() == replicas_of(second).keys():
            self._since[pair] = now
            return
        since, holds = self._since.get(pair), {_hold(first), _hold(second)}
        if since is None or "GroupHeld" in holds:
            self._since[pair] = None
        elif holds != {""} or any(begin <= now <= end for begin, end in self._scene.disturbed):
            self._since[pair] = now
        elif now > self._scene.lateness.due(since) + SECONDS:
            places = [", ".join(replicas_of(each)) for each in (first, second)]
            message = f"{pair[0]} is in {places[0]} and {pair[1]} in {places[1]} since {since:.1f}"
            yield Violation("S21", now, f"{message}, and nothing says why")
            self._since[pair] = None


def _hold(binding: ResourceBinding) -> str:
    held = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION)
    return held.reason if held is not None else ""


def _is_over(work: Work) -> bool:
    """Tells whether a Job has ended, well or not."""
    told: list[ReadOnlyManifest] = [each.status for each in work.status.manifest_statuses if each.status is not None]
    return any("completionTime" in each or _has_failed(each) for each in told)


def _has_failed(status: ReadOnlyManifest) -> bool:
    ended = [each for each in mappings_at(status, "conditions") if each.get("type") == "Failed"]
    return any(each.get("status") == "True" for each in ended)


def _wish(binding: ResourceBinding | None) -> object:
    if binding is None:
        return None
    spec = binding.spec
    return binding.metadata.uid, binding.metadata.deletion_timestamp, spec.placement, spec.suspension
