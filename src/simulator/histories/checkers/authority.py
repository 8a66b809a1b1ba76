"""S9: who must not place does not place. As long as the scheduling of a binding is suspended, nobody gives it a place,
or says of it that it was scheduled.
"""

from collections.abc import Iterator

from controller_runtime import Key
from leeward.api.meta import find_condition
from leeward.api.work import Binding
from simulator.histories.checkers.scene import Scene, Violation, replicas_of
from simulator.histories.ground_truth import BINDINGS, Change


class AuthorityChecker:
    """`_suspended_since`: since when each binding is nobody's to place."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._suspended_since: dict[Key, float] = {}

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind not in BINDINGS:
            return
        new: Binding | None = change.new
        since = self._suspended_since.get(change.key)
        if since is not None and change.old is not None and new is not None and self._scene.must_know(since):
            for message in _placed(change.old, new):
                yield Violation("S9", change.seconds, f"{change.key} is suspended since {since:.1f}, and {message}")
        if new is None or new.spec.suspension is None or not new.spec.suspension.scheduling:
            self._suspended_since.pop(change.key, None)
        else:
            self._suspended_since.setdefault(change.key, change.seconds)


def _placed(old: Binding, new: Binding) -> Iterator[str]:
    before, after = replicas_of(old), replicas_of(new)
    more = {name: replicas for name, replicas in after.items() if replicas > before.get(name, -1)}
    if more:
        yield f"got {more}"
    said, says = (find_condition(binding.status.conditions, "Scheduled") for binding in (old, new))
    if says is not None and says != said:
        yield f"is said to be scheduled: {says.reason}"
