"""C1: `Ready` does not follow every probe. A change counts only after its threshold, so two are never closer."""

from collections.abc import Iterator

from simulator.histories.checkers.scene import Scene, Violation
from simulator.histories.ground_truth import Change

ALLOWANCE = 0.75
"""A write that is late shortens what can be seen of the state after it."""
AGAIN_SECONDS = 5.0
"""Seconds after a restore until agents, and controllers that went on, have written once more what was before it."""


class ReadinessChecker:
    """Knows when each cluster became True or False last.

    Unknown is the word of another controller: how long before it ended its cluster was True or False by its own agent,
    which counted on while nobody heard it, is not to be seen. Neither is it of what those write once more who went on
    while the control plane was restored: that lasts since before.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._since: dict[tuple[str, str], float] = {}

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind != "/cluster.karmada.io/clusters/" or change.old is None or change.new is None:
            return
        before, after = change.old.ready, change.new.ready
        if before is None or after is None or before.status == after.status:
            return
        identity = (change.key.name, change.new.metadata.uid)
        if {before.status, after.status} == {"True", "False"}:
            lasted = change.seconds - self._since.get(identity, float("-inf"))
            timing = self._scene.timing
            due = timing.cluster_failure_threshold if after.status == "False" else timing.cluster_success_threshold
            if lasted < due * ALLOWANCE - self._scene.skew_seconds:
                message = (
                    f"{change.key.name} was Ready={before.status} for {lasted:.1f} s only; the threshold is {due:g}"
                )
                yield Violation("C1", change.seconds, message)
        is_early = change.seconds < self._scene.restored_at + AGAIN_SECONDS
        is_again = is_early and self._scene.goes_on(change.key.name)
        self._since[identity] = change.seconds if before.status != "Unknown" and not is_again else float("-inf")
