"""Text of `leeward explain`: the headline, where, why, what is next, and what would help."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from math import floor

from leeward.answers.cluster_explanation import ClusterExplanation
from leeward.answers.copies import CopyRow
from leeward.answers.explanation import ApplicationState, Explanation
from leeward.answers.next_steps import NextStep
from leeward.answers.room_arithmetic import RoomRow
from leeward.answers.what_helps import Help
from leeward.answers.work_explanation import WorkExplanation
from leeward.cli import text_lines
from leeward.cli.proposals import for_same_fleet
from leeward.cli.tables import printable
from leeward.operations.rollout_view import RolloutView
from leeward.operations.sentences import counted, full_moment, moment, span

MARKS = {
    ApplicationState.HELD: text_lines.NEEDS_SOMEBODY,
    ApplicationState.UNPLACED: text_lines.NEEDS_SOMEBODY,
    ApplicationState.HINDERED: text_lines.NEEDS_SOMEBODY,
    ApplicationState.OUTAGE: text_lines.SOON,
    ApplicationState.MOVING: text_lines.LEAVES,
    ApplicationState.NOT_SERVING: text_lines.SOON,
    ApplicationState.WAITING: text_lines.SOON,
    ApplicationState.KEPT: text_lines.QUIET,
    ApplicationState.WELL: text_lines.GOOD,
}
WHERE = ("CLUSTER", "ASSIGNED", "READY", "AT LEAST SINCE", "WHAT")
ASSUMED = "flags are not known here: the defaults are assumed for all instants"


def explanation_lines(told: Explanation) -> Iterator[str]:
    replicas = f", {counted(told.replicas, 'replica')}" if told.replicas else ""
    yield from text_lines.title(f"{told.workload}{replicas}, as of {full_moment(told.as_of)}")
    yield from text_lines.headline(
        text_lines.NEEDS_SOMEBODY if told.needs_somebody else MARKS[told.state], told.headline
    )
    if told.where:
        yield from text_lines.section("WHERE")
        yield from text_lines.table(WHERE, [_copy(each, told.as_of) for each in told.where], (1, 2))
    yield from _why(told.why)
    yield from _verdicts(told)
    if told.room:
        yield from text_lines.section("ROOM")
        yield from text_lines.table(*_room(told.room))
    if told.rollout is not None:
        yield from text_lines.section("ROLLOUT", f"revision {told.rollout.target}")
        yield from rollout_lines(told.rollout)
    yield from _next(told.next, told.as_of, told.settings_told)
    if told.helps:
        yield from text_lines.section("WHAT WOULD HELP")
        yield from help_lines(told.helps)
    yield from _unseen(told.unseen)


def rollout_lines(view: RolloutView) -> Iterator[str]:
    """Lines of each cluster: its stage, its revision, and why it has no other one."""
    yield from text_lines.table(
        ("CLUSTER", "STAGE", "WHAT"), [(row.cluster, row.stage, row.sentence) for row in view.clusters]
    )


def help_lines(helps: Sequence[Help]) -> Iterator[str]:
    """Changes that help, each with its command below it, uncut and to be copied."""
    for each in helps:
        yield from text_lines.paragraph(f"{each.change}, then {each.effect}")
        if each.command:
            yield f"      {printable(for_same_fleet(each.command))}"


def cluster_lines(told: ClusterExplanation) -> Iterator[str]:
    yield from text_lines.title(f"cluster {told.cluster}, as of {full_moment(told.as_of)}")
    yield from text_lines.headline(text_lines.NEEDS_SOMEBODY if told.needs_somebody else text_lines.GOOD, told.headline)
    yield from _why(told.why)
    yield from _next(told.next, told.as_of, told.settings_told)
    yield from _unseen(told.unseen)


def work_lines(told: WorkExplanation) -> Iterator[str]:
    yield from text_lines.title(f"Work {told.work} of binding {told.binding}, as of {full_moment(told.as_of)}")
    yield from text_lines.headline(text_lines.NEEDS_SOMEBODY if told.needs_somebody else text_lines.GOOD, told.headline)
    yield from _why(told.why)
    yield from _unseen(told.unseen)


def _copy(row: CopyRow, now: datetime) -> tuple[str, ...]:
    ready = "?" if row.ready is None else str(row.ready)
    since = "-" if row.there_since is None else moment(row.there_since, now)
    return row.cluster, str(row.assigned), ready, since, row.what


def _why(sentences: Sequence[str]) -> Iterator[str]:
    yield from text_lines.section("WHY")
    for number, sentence in enumerate(sentences, 1):
        yield from text_lines.paragraph(sentence, f"  {number}  ", "     ")


def when(at: datetime | None, now: datetime) -> str:
    """`02:45:17, in 4 min`"""
    if at is None:
        return "-"
    seconds = (at - now).total_seconds()
    return f"{moment(at, now)}, in {span(seconds)}" if seconds > 0 else f"{moment(at, now)}, now"


def _verdicts(told: Explanation) -> Iterator[str]:
    refused = [each for each in told.verdicts if each.plugin]
    rows = [(_names(each.clusters), f"{each.plugin}: {each.reason}") for each in refused]
    yield from text_lines.pairs(rows, "       ")


def _names(names: Sequence[str]) -> str:
    if len(names) <= 2:
        return " ".join(names)
    return f"{names[0]} and {len(names) - 1} more"


def _room(rows: Sequence[RoomRow]) -> tuple[Sequence[str], Sequence[Sequence[str]], Sequence[int]]:
    header = ("CLUSTER", "OF", "HAS", "REQUESTED", "RESERVED", "FREE", "EACH", "ROOM")
    cells = [
        (
            row.cluster,
            row.resource,
            _figure(row.allocatable, row.resource),
            f"- {_figure(row.requested, row.resource)}",
            f"- {_figure(row.reserved, row.resource)}",
            f"= {_figure(row.free, row.resource)}",
            f"/ {_figure(row.each, row.resource)}",
            _fits(row),
        )
        for row in rows
    ]
    return header, cells, (2, 3, 4, 5, 6)


def _fits(row: RoomRow) -> str:
    """`= 27`, and `= 27, by nodes 16` where the scheduler counts with less than the division gives."""
    by_division = max(0, floor(row.free / row.each))
    return f"= {by_division}" if row.room == by_division else f"= {by_division}, by nodes {row.room}"


def _figure(amount: float, resource: str) -> str:
    """Amount as exact as a request is, so that the printed figures add up."""
    if resource in ("memory", "ephemeral-storage"):
        return f"{amount / 2**20:.0f} MiB"
    cores = f"{amount:.3f}"
    return cores.removesuffix("0") if resource == "cpu" else f"{amount:g}"


def _next(steps: Sequence[NextStep], now: datetime, settings_told: bool) -> Iterator[str]:
    yield from text_lines.section("NEXT")
    if not steps:
        yield "  nothing, until a cluster, a policy or the template changes"
    yield from text_lines.pairs([(when(step.at, now), step.sentence) for step in steps])
    if not settings_told and any(step.at is not None and step.at > now for step in steps):
        yield f"  ({ASSUMED})"


def _unseen(unseen: Sequence[str]) -> Iterator[str]:
    for each in unseen:
        yield from text_lines.headline("?", f"could not be seen: {each}")
