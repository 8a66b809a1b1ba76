"""Story of the demonstration: what must be seen when member1 dies and comes back, chapter by chapter; and what was
seen.

Pure: time is an argument. A step has been seen when its `look` gives a text; it is as expected when the text is the
expected one. A step that shows something else is kept as it was seen: the story never waits for a better moment.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from leeward.app.demo.scene import Scene

CREATED, STOPPED, BACK, SETTLED = "created", "member1 stopped", "member1 back", "5 s later"


@dataclass(frozen=True, slots=True)
class Step:
    """`look` returns "" as long as there is nothing to say."""

    chapter: str
    title: str
    expected: str
    look: Callable[[Scene], str]


@dataclass(frozen=True, slots=True)
class Sight:
    """A step that was seen, `after_seconds` after its chapter began."""

    step: Step
    seen: str
    after_seconds: float

    @property
    def is_expected(self) -> bool:
        return self.seen == self.step.expected


class Story:
    """The steps in their order: only the next one is looked for."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = tuple(steps)
        self._began_at = 0.0
        self.chapter = ""
        self.sights: list[Sight] = []

    def begin(self, chapter: str, now: float) -> None:
        self.chapter, self._began_at = chapter, now

    @property
    def pending(self) -> tuple[Step, ...]:
        """The steps of this chapter that were not seen yet."""
        return tuple(step for step in self._steps[len(self.sights) :] if step.chapter == self.chapter)

    @property
    def unseen(self) -> tuple[Step, ...]:
        return self._steps[len(self.sights) :]

    @property
    def is_as_expected(self) -> bool:
        return not self.unseen and all(sight.is_expected for sight in self.sights)

    def elapsed(self, now: float) -> float:
        """Seconds since the chapter began."""
        return now - self._began_at

    def look(self, scene: Scene, now: float) -> list[Sight]:
        """The steps of this chapter that can be seen now, and could not before."""
        new: list[Sight] = []
        while self.pending and (seen := self.pending[0].look(scene)):
            new.append(Sight(self.pending[0], seen, self.elapsed(now)))
            self.sights.append(new[-1])
        return new


def failover_story() -> Story:
    return Story(
        [
            Step(CREATED, "the scheduler divides 3 replicas", "member1:1 member2:2", _assignment),
            Step(CREATED, "they run in the members", "member1:1 member2:2 ready", _running),
            Step(STOPPED, "past the threshold member1 is not ready", "Ready=False, not-ready:NoSchedule", _not_ready),
            Step(STOPPED, "past the eviction time-out", "not-ready:NoExecute", _no_execute),
            Step(
                STOPPED, "the toleration ends: evicted and placed", "member2:3, leaving member1, in one write", _moved
            ),
            Step(STOPPED, "the eviction task ends", "with 3 replicas ready in member2", _task_ended),
            Step(STOPPED, "the Work of member1 waits for it", "kept until it is back", _work_kept),
            Step(BACK, "past the threshold member1 is ready", "Ready=True, no taints", _ready_again),
            Step(BACK, "nginx in member1", "gone", lambda scene: "" if "member1" in scene.deployments else "gone"),
            Step(BACK, "the Work of member1", "gone", lambda scene: "" if "member1" in scene.works else "gone"),
            Step(SETTLED, "nothing moves back", "member2:3", _assignment),
            Step(SETTLED, "and all of it runs", "member2:3 ready", _running),
        ]
    )


def _assignment(scene: Scene) -> str:
    return _list(scene.assigned)


def _running(scene: Scene) -> str:
    ready = {name: count for name in scene.assigned if (count := scene.ready_replicas(name))}
    return f"{_list(ready)} ready" if ready and ready == scene.assigned else ""


def _not_ready(scene: Scene) -> str:
    health, taints = scene.health("member1"), scene.taints("member1")
    return f"Ready={health}, {' '.join(taints)}" if health != "True" and taints else ""


def _no_execute(scene: Scene) -> str:
    return " ".join(taint for taint in scene.taints("member1") if taint.endswith(":NoExecute"))


def _moved(scene: Scene) -> str:
    if "member1" in scene.assigned:
        return ""
    left = f"leaving {' '.join(scene.being_left)}" if scene.being_left else "without an eviction task"
    writes = "one write" if scene.writes_of_move == 1 else f"{scene.writes_of_move} writes"
    return f"{_list(scene.assigned) or 'nowhere'}, {left}, in {writes}"


def _task_ended(scene: Scene) -> str:
    if scene.being_left:
        return ""
    ready = max(scene.ready_replicas("member2"), scene.reported_replicas("member2"))
    return f"with {ready} replicas ready in member2"


def _work_kept(scene: Scene) -> str:
    work = scene.works.get("member1")
    if work is None:
        return "gone"
    if work.metadata.deletion_timestamp is not None:
        return "being deleted"
    return "kept until it is back" if work.is_leaving else ""


def _ready_again(scene: Scene) -> str:
    is_back = scene.health("member1") == "True" and not scene.taints("member1")
    return "Ready=True, no taints" if is_back else ""


def _list(replicas: dict[str, int]) -> str:
    return " ".join(f"{name}:{count}" for name, count in sorted(replicas.items()))
