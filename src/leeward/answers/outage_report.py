"""Markdown report of outages and rollouts, for the post-mortem: when each turn came, its reason, and how long it took.

Everything that others have named is made printable and cannot end a cell, so that no row can be forged.
"""

from collections.abc import Iterator, Sequence

from kubeapi.text import shown
from leeward.answers.timeline import OutageStory, RolloutStory, Timeline
from leeward.api.outage import MoveState
from leeward.core.placement.cause import cause_in
from leeward.core.rollout.state import short
from leeward.operations.outage_story import name_of
from leeward.operations.sentences import full_moment, long_span


def report(told: Timeline) -> str:
    """The whole report, without a line end at its end."""
    return "\n".join(_lines(told)).rstrip("\n")


def _lines(told: Timeline) -> Iterator[str]:
    yield f"# Outages of {_text(told.control_plane)}"
    yield ""
    since = f", since {full_moment(told.since)}" if told.since is not None else ""
    yield f"As of {full_moment(told.as_of)}{since}. All times are UTC."
    for unseen in told.unseen:
        yield f"\nCould not be seen: {_text(unseen)}"
    if not told.outages:
        yield "\nNo outage matches." if told.narrowed else "\nNo cluster failed."
    for outage in told.outages:
        yield ""
        yield from _outage(outage)
    for rollout in told.rollouts:
        yield ""
        yield from _rollout(rollout)


def _outage(outage: OutageStory) -> Iterator[str]:
    status, spec = outage.status, outage.spec
    yield f"## {_text(outage.cluster)}, {full_moment(spec.since)}"
    yield ""
    yield f"{_text(outage.headline)}."
    yield ""
    ended = full_moment(status.returned_at) if status.returned_at is not None else "-"
    facts = [
        ("First failure", full_moment(spec.since)),
        ("Back", ended),
        ("Cause", f"{status.reason}: {status.message}"),
        ("Failures", str(status.failures)),
        ("Applications", outage.tally),
        ("Recovery", outage.recovery or "-"),
    ]
    yield from _table(("", ""), facts)
    yield ""
    yield "### What happened"
    yield ""
    rows = [
        (
            f"{line.at:%H:%M:%S}" if line.at is not None else "-",
            f"+{long_span(line.after_seconds)}" if line.after_seconds is not None else "-",
            line.sentence,
        )
        for line in outage.story
    ]
    yield from _table(("UTC", "Since the first failure", "What"), rows)
    yield from _stayed(outage)
    yield from _moved(outage)


def _stayed(outage: OutageStory) -> Iterator[str]:
    """Table of what was held or kept, also where its copy serves again by now."""
    stayed = [each for each in outage.applications if each.reason and each.state is not MoveState.MOVED]
    if stayed:
        yield "\n### Not moved\n"
        rows = [(name_of(each), each.reason, cause_in(each.reason, each.message), each.state.value) for each in stayed]
        yield from _table(("Application", "Reason", "Why", "Now"), rows)


def _moved(outage: OutageStory) -> Iterator[str]:
    moved = [each for each in outage.applications if each.left_at is not None]
    if not moved:
        return
    yield "\n### Applications, the slowest first\n"
    rows = [
        (
            name_of(each),
            " ".join(f"{name}:{count}" for name, count in each.to.items()),
            f"{each.left_at:%H:%M:%S}" if each.left_at is not None else "-",
            f"{each.healthy_at:%H:%M:%S}" if each.healthy_at is not None else "-",
            long_span(each.recovery_seconds) if each.recovery_seconds is not None else each.state.value,
        )
        for each in moved
    ]
    yield from _table(("Application", "To", "Left", "Healthy", "Recovery"), rows)
    unlisted = outage.status.applications - len(outage.status.listed)
    if unlisted > 0:
        yield f"\n{unlisted} more applications are counted, and not listed."


def _rollout(rollout: RolloutStory) -> Iterator[str]:
    yield f"## Rollout of {_text(rollout.application)}"
    yield ""
    yield f"{_text(rollout.headline)}."
    yield ""
    rows = [
        (full_moment(each.at), each.stage, short(each.revision), each.reason, each.message) for each in rollout.steps
    ]
    yield from _table(("At", "Stage", "Revision", "Turn", "Why"), rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(_text(cell) or '-' for cell in row)} |"


def _text(text: str) -> str:
    """Text in one line, with nothing in it that Markdown acts on within a cell."""
    escaped = shown(text)
    for letter in "\\`*_<>[]|":
        escaped = escaped.replace(letter, f"\\{letter}")
    return escaped
