"""C4: evictions for taints are never closer than the configured rate lets them be.

Only those count that --resource-eviction-rate spaces out. A set of controllers that starts anew knows of the turns
that others took, and a write may be as late as the way to the API server makes it. What leaves several clusters in one
decision takes as many turns after it, and so do the members of a group that leaves.
"""

from collections.abc import Iterator

from leeward.api.work import ResourceBinding
from simulator.histories.checkers.lateness import CONTROLLERS
from simulator.histories.checkers.scene import Scene, Violation, tasks_of
from simulator.histories.ground_truth import Change


class RatesChecker:
    """`_due` is when the next eviction may be seen, as if each took its turn on the dot."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._due = 0.0

    def look(self, change: Change) -> Iterator[Violation]:
        rate = self._scene.evictions_per_second
        if not rate or change.kind != "/work.karmada.io/resourcebindings/" or change.new is None:
            return
        begun, now = _begun(change.old, change.new), change.seconds
        if not begun:
            return
        if self._scene.lateness.due(now, CONTROLLERS) < self._due and not self._follows(change.new, begun):
            early = self._due - now
            message = f"is evicted from {', '.join(begun)} {early:.1f} s before the rate of {rate:g} per second"
            yield Violation("C4", now, f"{change.key} {message}")
        self._due = max(now, self._due) + len(begun) / rate

    def _follows(self, binding: ResourceBinding, begun: list[str]) -> bool:
        """Tells whether the others of its group have begun to leave these clusters before."""
        beside = self._scene.beside(binding)
        return all(any(name in tasks_of(other) for other in beside) for name in begun)


def _begun(old: ResourceBinding | None, new: ResourceBinding) -> list[str]:
    known = tasks_of(old) if old is not None else {}
    return [name for name, task in tasks_of(new).items() if name not in known and task.reason == "TaintUntolerated"]
