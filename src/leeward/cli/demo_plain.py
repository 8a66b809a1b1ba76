"""The demonstration as plain lines, for pipes and log files."""

from leeward.app.demo.story import Sight, Story
from leeward.cli.output import say
from leeward.cli.tables import render_table


class PlainAudience:
    def __init__(self, story: Story) -> None:
        self._story = story

    def begin(self, chapter: str) -> None:
        say(chapter)

    def see(self, sight: Sight) -> None:
        say(f"  {offset(sight)}  {sight.step.title}: {sight.seen}")

    def tick(self, now: float) -> None:
        """Plain lines show nothing that moves."""

    def conclude(self) -> None:
        header = ("CHAPTER", "TIME", "STEP", "EXPECTED", "SEEN", "")
        say("\n" + render_table(header, verdicts(self._story)))


def offset(sight: Sight) -> str:
    return f"+{sight.after_seconds:.1f} s"


def verdicts(story: Story) -> list[tuple[str, str, str, str, str, str]]:
    """Chapter, time, step, the expected and the seen scene, and `ok` or `DIFFERS`."""
    seen = [
        (s.step.chapter, offset(s), s.step.title, s.step.expected, s.seen, "ok" if s.is_expected else "DIFFERS")
        for s in story.sights
    ]
    unseen = [(step.chapter, "", step.title, step.expected, "not seen", "DIFFERS") for step in story.unseen]
    return seen + unseen
