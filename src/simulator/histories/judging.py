"""Judging: all checkers of a run, and what becomes of them when the control plane is restored from an old backup.

What most of them have seen since the backup was taken is no longer true of the control plane: others begin in their
place, which are told of what it holds as of something that is so and does not change. Revisions go on (D3); open
evictions are as old as they were when the backup was taken; and what runs in members has a checker of its own.
"""

from collections.abc import Iterator

from simulator.histories.checkers import (
    CHECKERS,
    TIMED,
    CopiesChecker,
    RestoresChecker,
    Scene,
    StoresChecker,
    Violation,
)
from simulator.histories.ground_truth import HOME, Change


class Judging:
    """`leaves` has to be told of a replaced store before the truth is, and `restored` after it."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._copies, self._stores, self._restores = CopiesChecker(scene), StoresChecker(scene), RestoresChecker(scene)
        self._begin()

    def _begin(self) -> None:
        self._timed = [checker(self._scene) for checker in TIMED]
        others = [checker(self._scene) for checker in CHECKERS]
        self._checkers = [*self._timed, self._copies, self._stores, self._restores, *others]

    def look(self, change: Change) -> Iterator[Violation]:
        for checker in self._checkers:
            yield from checker.look(change)

    def overdue(self, now: float) -> Iterator[Violation]:
        """Finds what should have happened by now."""
        for checker in self._timed:
            yield from checker.overdue(now)

    def leaves(self, place: str) -> None:
        """The contents of a place are about to be replaced."""
        if place == HOME:
            self._restores.leaves()

    def restored(self, taken_at: float) -> Iterator[Violation]:
        """The control plane is as it was then; the truth knows of it already."""
        self._scene.watch.restored(taken_at, self._scene.truth.now())
        self._copies = self._copies.as_of(taken_at)
        self._restores.restored()
        self._begin()
        for change in self._scene.truth.restored():
            yield from self.look(change)
