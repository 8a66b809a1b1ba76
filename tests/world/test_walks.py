"""The walk of ARCHITECTURE.md: each file that a step names is at work while that step happens."""

import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from leeward.sim.world import World
from tests.world.stories import apply, deployment, play, policy, ready_replicas, tasks

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/leeward"
WALK = "One walk: from a template to the end of an outage"
MOST_FILES = 25
STAGES = ["place"] * 4 + ["notice", "taint", "evict", "evict", "remove"]
"""Stage in which each step happens."""
PLACEMENT = {
    "clusterAffinity": {"clusterNames": ["member1", "member2"]},
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
}


class Walked:
    """The files of which something was called, by the stage in which it was."""

    def __init__(self) -> None:
        self.files: dict[str, set[str]] = {}
        self._here = set[str]()
        self._names: dict[str, str] = {}

    def stage(self, name: str) -> None:
        self._here = self.files.setdefault(name, set())

    @contextmanager
    def recording(self) -> Generator[None]:
        before = sys.getprofile()
        sys.setprofile(self._called)
        try:
            yield
        finally:
            sys.setprofile(before)

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        path = frame.f_code.co_filename
        if path not in self._names:
            self._names[path] = str(Path(path).relative_to(SOURCE)) if path.startswith(f"{SOURCE}/") else ""
        self._here.add(self._names[path])


def steps_of(walk: str) -> dict[int, list[str]]:
    """The files that each step of a walk names."""
    text = (ROOT / "ARCHITECTURE.md").read_text().partition(f"## {walk}\n")[2].partition("\n## ")[0]
    steps = re.split(r"^(\d)\. ", text, flags=re.MULTILINE)[1:]
    return {int(n): re.findall(r"`([\w/]+\.py)`", step) for n, step in zip(steps[::2], steps[1::2], strict=True)}


def test_every_file_of_the_walk_is_at_work_in_its_step() -> None:
    walked = Walked()

    async def story(world: World) -> None:
        walked.stage("place")
        await apply(world.client, deployment("web", 3), policy("web", PLACEMENT))
        await world.until(lambda: bool(world.assigned("web-deployment")), 60)
        (old,) = world.assigned("web-deployment")
        while await ready_replicas(world, old, "web") != 3:
            await world.sleep(1)
        await world.sleep(30)
        walked.stage("notice")
        await world.member(old).stop()
        await world.until(lambda: not world.is_ready(old), 120)
        walked.stage("taint")
        await world.until(lambda: any(t.effect == "NoExecute" for t in world.cluster(old).spec.taints), 900)
        walked.stage("evict")
        await world.until(lambda: old not in world.assigned("web-deployment"), 900)
        await world.until(lambda: tasks(world, "web-deployment") == [], 900)
        walked.stage("remove")
        await world.sleep(30)
        await world.member(old).start()
        await world.until(lambda: world.is_ready(old), 120)
        while await ready_replicas(world, old, "web") != -1:
            await world.sleep(1)

    with walked.recording():
        play(story, {"member1": "Push", "member2": "Push"})
    named = steps_of(WALK)
    assert list(named) == list(range(1, len(STAGES) + 1))
    missing = {
        (step, file)
        for step, stage in zip(named, STAGES, strict=True)
        for file in named[step]
        if file not in walked.files[stage]
    }
    assert not missing
    assert len([file for files in named.values() for file in files]) <= MOST_FILES
