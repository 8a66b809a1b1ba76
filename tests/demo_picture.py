"""The picture of the demonstration in the README, made by a run of it; `python -m tests.demo_picture` writes it.

It shows the screen as it was just before the cluster came back: by then the application has moved.
"""

import asyncio
import io
import re
import tempfile
from pathlib import Path

from rich.console import Console, RenderableType

from kubeapi.loop.randomness import Randomness
from leeward.app.demo.scene import Scene
from leeward.app.demo.stage import play
from leeward.app.demo.story import Story, failover_story
from leeward.app.local.layout import Layout
from leeward.app.local.planning import DEFAULT_MEMBERS, UpRequest
from leeward.app.local.starting import start_fleet, stop_fleet
from leeward.cli.demo_live import LiveAudience

PICTURE = Path(__file__).parents[1] / "docs/pictures/demo.svg"
LAST_CHAPTER = "member1 back"
COLUMNS = 104
FONT_FACES = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


class PictureAudience(LiveAudience):
    """Keeps the last screen before the last chapter."""

    def __init__(self, story: Story, scene: Scene) -> None:
        super().__init__(story, scene, Console(file=io.StringIO(), width=COLUMNS, force_terminal=True))
        self.picture = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
        self._is_taken = False
        self._last: RenderableType = ""

    def begin(self, chapter: str) -> None:
        if chapter == LAST_CHAPTER and not self._is_taken:
            self._is_taken = True
            self.picture.print(self._last)
        super().begin(chapter)

    def tick(self, now: float) -> None:
        self._last = self.render(now)
        super().tick(now)


def make_picture() -> str:
    """The SVG of a run that was as expected; it loads no fonts from elsewhere."""
    with tempfile.TemporaryDirectory(prefix="leeward-demo-") as root:
        layout, story, scene = Layout(Path(root)), failover_story(), Scene()
        try:
            start_fleet(layout, UpRequest(DEFAULT_MEMBERS, timing="fast"), Randomness())
            with PictureAudience(story, scene) as audience:
                asyncio.run(play(layout, story, scene, audience))
        finally:
            stop_fleet(layout)
    assert story.is_as_expected
    drawn = audience.picture.export_svg(title="leeward demo", unique_id="demo")
    return FONT_FACES.sub("", drawn).replace("Fira Code", "ui-monospace")


if __name__ == "__main__":
    PICTURE.write_text(make_picture())
