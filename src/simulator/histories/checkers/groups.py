"""S21: nobody of a group is left alone, on either side, for longer than it takes to write, unless a hold says why.

Judged are two members that are in two clusters. For as long as they are, `GroupHeld` stands on one of them, or each has
another hold. A fault of the control plane begins the time anew. A Job that is over follows nobody.
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
    """`_since`: instant of the last look at which each pair was together, or was told why it is not."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._since: dict[Pair, float] = {}
        self._look_at = 0.0

    def look(self, _: Change) -> Iterator[Violation]:
        """Looks at each second are enough: parted groups and their words last."""
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
        holds = {_hold(first), _hold(second)}
        is_told = "GroupHeld" in holds or "" not in holds
        is_disturbed = any(begin <= now <= end for begin, end in self._scene.disturbed)
        if is_told or is_disturbed or replicas_of(first).keys() == replicas_of(second).keys():
            self._since[pair] = now
        elif now > self._scene.lateness.due(self._since.setdefault(pair, now)) + SECONDS:
            places = [", ".join(replicas_of(each)) for each in (first, second)]
            message = f"{pair[0]} is in {places[0]} and {pair[1]} in {places[1]} since {self._since[pair]:.1f}"
            yield Violation("S21", now, f"{message}, and nothing says why")
            self._since[pair] = now


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
