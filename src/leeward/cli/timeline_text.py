"""Text of `leeward timeline`: a headline for each outage, its steps, and how long applications took."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime

import click

from leeward.answers.timeline import OutageStory, Timeline
from leeward.api.outage import MoveState, OutageApplication
from leeward.cli import text_lines
from leeward.cli.tables import printable
from leeward.core.placement.cause import cause_in
from leeward.operations.outage_story import StoryLine, Tone, name_of
from leeward.operations.sentences import counted, full_moment, long_span, moment

MOST_LISTED = 12
TO_COME = "."
MARKS = {
    Tone.BAD: text_lines.BAD,
    Tone.NEEDS_SOMEBODY: text_lines.NEEDS_SOMEBODY,
    Tone.LEAVES: text_lines.LEAVES,
    Tone.GOOD: text_lines.GOOD,
    Tone.PLAIN: text_lines.QUIET,
    Tone.TO_COME: TO_COME,
}


def timeline_lines(told: Timeline, everything: bool = False) -> Iterator[str]:
    number = counted(len(told.outages), "outage") if told.outages else "no outage"
    since = f" since {full_moment(told.since)}" if told.since is not None else ""
    yield from text_lines.title(f"{told.control_plane}, as of {full_moment(told.as_of)}: {number}{since}")
    for unseen in told.unseen:
        yield from text_lines.headline("?", f"could not be seen: {unseen}")
    for index, outage in enumerate(told.outages):
        if index:
            yield ""
        yield from _outage(outage, told, everything)
    if not told.outages:
        yield from text_lines.headline(text_lines.GOOD, "no outage matches" if told.narrowed else "no cluster failed")
    for rollout in told.rollouts:
        yield ""
        yield from text_lines.headline(
            text_lines.SOON if rollout.under_way else text_lines.GOOD, f"{rollout.application}: {rollout.headline}"
        )
        steps = [(f"{moment(each.at, told.as_of)}  {each.reason}", each.message) for each in rollout.steps]
        yield from text_lines.pairs(steps)


def _outage(outage: OutageStory, told: Timeline, everything: bool) -> Iterator[str]:
    if everything or outage.running or len(told.outages) == 1:
        yield from outage_lines(outage, told.as_of, everything, "--all; for the post-mortem: -o markdown")
        return
    yield from text_lines.headline(text_lines.GOOD, f"{outage.headline}{_range(outage, told.as_of)}")
    if outage.recovery:
        yield from text_lines.paragraph(f"recovery: {outage.recovery}")
    yield from text_lines.paragraph(f"details: leeward timeline --outage {outage.name}")


def outage_lines(outage: OutageStory, now: datetime, everything: bool, more: str) -> Iterator[str]:
    """Lines that tell one outage; `more` says how to see the rest."""
    yield from text_lines.headline(
        text_lines.NEEDS_SOMEBODY if outage.running else text_lines.GOOD, f"{outage.headline}{_range(outage, now)}"
    )
    yield from _story(outage, now)
    yield from _held(outage)
    yield from _recovered(outage, everything, more)


def _range(outage: OutageStory, now: datetime) -> str:
    """`; 21 Nov 16:44:02 to 17:03:10` of an outage that is over."""
    ended = outage.status.returned_at
    if outage.running or ended is None:
        return ""
    began = outage.spec.since
    day = "" if began.date() == now.date() else f"{moment(began, now)} "
    return f"; {day}{began:%H:%M:%S} to {ended:%H:%M:%S}"


def _story(outage: OutageStory, now: datetime) -> Iterator[str]:
    width = max((len(_after(line)) for line in outage.story), default=0)
    yield click.style(f"  {'UTC':<8}  {'SINCE':>{width}}     WHAT", bold=True)
    for line in outage.story:
        at = f"{line.at:%H:%M:%S}" if line.at is not None else "-"
        mark = MARKS[line.tone]
        text = f"  {at:<8}  {_after(line):>{width}}  {mark}  {printable(line.sentence)}".rstrip()
        yield click.style(
            text if len(text) <= text_lines.COLUMNS else f"{text[: text_lines.COLUMNS - 3]}...",
            fg=text_lines.COLOURS.get(mark),
        )
    if outage.status.omitted_steps:
        yield f"  {counted(outage.status.omitted_steps, 'step')} between are left out"


def _after(line: StoryLine) -> str:
    if line.after_seconds is None:
        return "-"
    return f"{'+' if line.after_seconds else ''}{long_span(line.after_seconds)}"


def _held(outage: OutageStory) -> Iterator[str]:
    """Each cause once, with the applications that are held for it."""
    by_cause = defaultdict[tuple[str, str], list[str]](list)
    for each in outage.applications:
        if each.state is MoveState.HELD:
            by_cause[each.reason, cause_in(each.reason, each.message)].append(name_of(each))
    if by_cause:
        yield ""
    for (reason, cause), names in by_cause.items():
        who = names[0] if len(names) == 1 else f"{len(names)} applications"
        yield from text_lines.headline(text_lines.NEEDS_SOMEBODY, f"{who} cannot move ({reason}): {cause}")
        if len(names) > 1:
            more = f", and {len(names) - MOST_LISTED} more: -o json" if len(names) > MOST_LISTED else ""
            yield from text_lines.paragraph(f"{', '.join(names[:MOST_LISTED])}{more}")


def _recovered(outage: OutageStory, everything: bool, how: str) -> Iterator[str]:
    gone = [each for each in outage.applications if each.left_at is not None]
    if not gone:
        return
    yield ""
    if outage.recovery:
        yield from text_lines.paragraph(f"recovery: {outage.recovery}")
    shown = gone if everything else gone[:MOST_LISTED]
    header = ("APPLICATION", "TO", "LEFT", "HEALTHY", "TOOK", "RECOVERY")
    yield from text_lines.table(header, [_row(each) for each in shown], (4, 5))
    more = outage.status.moved + outage.status.moving - len(gone) if len(gone) == len(shown) else 0
    if len(gone) > len(shown):
        yield f"  {len(gone) - len(shown)} more: {how}"
    elif more > 0 and len(outage.applications) == len(outage.status.listed):
        yield f"  {more} more applications are counted, and not listed"


def _row(each: OutageApplication) -> Sequence[str]:
    to = " ".join(f"{name}:{count}" if count else name for name, count in each.to.items())
    left, healthy = each.left_at, each.healthy_at
    took = long_span((healthy - left).total_seconds()) if left is not None and healthy is not None else ""
    recovery = long_span(each.recovery_seconds) if each.recovery_seconds is not None else each.state.value.lower()
    return name_of(each), to, *(f"{at:%H:%M:%S}" if at else "" for at in (left, healthy)), took, recovery
