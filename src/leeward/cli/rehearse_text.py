"""Text of `leeward rehearse`: expectations that did not come true, then the time line, then the applications."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING

from leeward.answers.what_helps import BY_SUM
from leeward.cli.text_lines import BAD, GOOD, NEEDS_SOMEBODY, QUIET, headline, paragraph, section, table, title
from leeward.cli.timeline_text import outage_lines
from leeward.operations.sentences import counted, full_moment, places
from leeward.sim.rehearsal.expectations import span_of

if TYPE_CHECKING:
    from leeward.sim.rehearsal.expectations import ExpectationResult
    from leeward.sim.rehearsal.rehearsal import RehearsalReport, RehearsedApplication, RehearsedEvent

MOST_LISTED = 12
MOST_AT_ONCE = 4
"""Events of one kind at one instant that are listed; of more, their number."""


def rehearsal_lines(report: "RehearsalReport", wide: bool = False) -> Iterator[str]:
    name = f"{report.name}, on a copy of " if report.name else "on a copy of "
    yield from title(f"{name}{report.control_plane}, as of {full_moment(report.as_of)}; nothing is changed")
    yield from _headline(report)
    for unseen in report.unseen:
        yield from headline("?", f"could not be seen: {unseen}")
    yield from _verdicts(report.verdicts, wide)
    yield from _timeline([each for each in report.timeline if wide or not each.in_outage], wide)
    ends = report.begins + timedelta(seconds=report.duration_seconds)
    if report.outages:
        yield from section("OUTAGES", f"as `leeward timeline` tells them; +0 s is {report.begins:%H:%M:%S}")
    for index, outage in enumerate(report.outages):
        yield from [""] if index else []
        yield from outage_lines(outage, ends, wide, "--wide")
    yield from _applications(report.applications, wide)
    yield from _copy(report, wide)


def _headline(report: "RehearsalReport") -> Iterator[str]:
    failed = sum(not verdict.holds for verdict in report.verdicts)
    number = counted(len(report.verdicts), "expectation")
    if not report.verdicts:
        yield from _service_at_the_end(report.applications)
    elif failed:
        yield from headline(NEEDS_SOMEBODY, f"{failed} of {number} {'does' if failed == 1 else 'do'} not hold")
    else:
        yield from headline(GOOD, f"all of {number} hold{'s' if len(report.verdicts) == 1 else ''}")
    played = f"{span_of(report.duration_seconds)} in {counted(report.clusters, 'cluster')}"
    yield from headline(QUIET, f"{played}, {counted(len(report.applications), 'application')}")


def _service_at_the_end(applications: Sequence["RehearsedApplication"]) -> Iterator[str]:
    number, short = counted(len(applications), "application"), [a for a in applications if a.serves < a.replicas]
    nobody = sum(not each.serves for each in short)
    fewer = len(short) - nobody
    if not short:
        said = f"all replicas of {number} serve"
    elif nobody:
        verb, more = "is" if nobody == 1 else "are", f", {fewer} with fewer replicas" if fewer else ""
        said = f"{nobody} of {number} {verb} down{more}"
    else:
        said = f"{fewer} of {number} serve{'s' * (fewer == 1)} with fewer replicas"
    yield from headline(NEEDS_SOMEBODY if short else GOOD, f"at the end {said}; nothing was expected of it")


def _verdicts(verdicts: Sequence["ExpectationResult"], wide: bool) -> Iterator[str]:
    if not verdicts:
        return
    yield from section("EXPECTED")
    for verdict in verdicts:
        about = "" if verdict.of == "the fleet" else f" ({verdict.of})"
        for line in headline(GOOD if verdict.holds else BAD, f"{verdict.expectation}{about}"):
            yield f"  {line}"
        shown = verdict.shortfalls if wide else verdict.shortfalls[:MOST_LISTED]
        for each in shown:
            at = "" if each.after_seconds is None else f"+{span_of(each.after_seconds)}  "
            named = f"{each.application}: " if each.application and each.application not in each.message else ""
            yield from paragraph(f"{at}{named}{each.message}", "      ", "        ")
        if len(verdict.shortfalls) > len(shown):
            yield f"      {len(verdict.shortfalls) - len(shown)} more: --wide"


def _timeline(events: Sequence["RehearsedEvent"], wide: bool) -> Iterator[str]:
    yield from section("WHAT HAPPENS")
    rows: list[tuple[str, str]] = []
    for (seconds, what), group in groupby(events, key=lambda each: (each.after_seconds, each.what)):
        found = list(group)
        shown = found if wide or len(found) <= MOST_AT_ONCE else found[: MOST_AT_ONCE - 1]
        rows += [(f"+{span_of(seconds)}", each.sentence) for each in shown]
        if len(found) > len(shown):
            rows.append((f"+{span_of(seconds)}", f"{len(found) - len(shown)} more of {what.value.lower()}: --wide"))
    width = max((len(at) for at, _ in rows), default=0)
    for at, sentence in rows:
        yield from paragraph(sentence, f"  {at:<{width}}  ", " " * (width + 6))


def _applications(applications: Sequence["RehearsedApplication"], wide: bool) -> Iterator[str]:
    concerned = [each for each in applications if wide or each.before != each.after or each.fewest < each.replicas]
    if not concerned:
        return
    yield from section("APPLICATIONS", "" if wide else "those that moved, or served with fewer")
    shown = concerned if wide else concerned[:MOST_LISTED]
    header = ("APPLICATION", "FEWEST", "OF", "FOR", "BEFORE", "AFTER")
    rows = [
        (
            each.workload,
            str(each.fewest),
            str(each.replicas),
            "to the end" if each.longest_seconds is None else span_of(each.longest_seconds),
            places(each.before),
            places(each.after),
        )
        for each in shown
    ]
    yield from table(header, rows, (1, 2))
    if len(concerned) > len(shown):
        yield f"  {len(concerned) - len(shown)} more: --wide"
    for each in (each for each in shown if each.by_sum):
        yield from paragraph(f"{each.workload}: {BY_SUM.format(each.by_sum)}")


def _copy(report: "RehearsalReport", wide: bool) -> Iterator[str]:
    if not (report.left_out or report.differs):
        return
    yield from section("THE COPY IS OTHERWISE", "docs/rehearsals.md says what it cannot know")
    for said in (*(f"left out: {each}" for each in report.left_out), *report.differs)[: None if wide else MOST_LISTED]:
        yield from paragraph(said)
