"""A recorded decision, decided again: what this version decides on the same snapshot, why, and what differs.

A snapshot is recorded by `leeward explain --record`, and by the scheduler where it refuses a decision of its own.
"""

from collections.abc import Iterator
from datetime import datetime

import msgspec

from leeward import __version__
from leeward.answers.decisions import explained
from leeward.answers.explanation import ClusterVerdict, division_sentence, verdicts_of
from leeward.core.placement import Snapshot
from leeward.core.placement.check import check
from leeward.core.scheduling.trace import TermTrace
from leeward.operations.drain import workload_of
from leeward.planning.recording import RecordedOutcome


class Replay(msgspec.Struct, frozen=True, rename="camel"):
    """`recorded` is None where the file does not say what was decided. `violations` are bugs of this version."""

    workload: str
    decided_at: datetime
    now: RecordedOutcome
    recorded: RecordedOutcome | None
    differences: list[str]
    violations: list[str]
    why: list[str]
    verdicts: list[ClusterVerdict]

    @property
    def is_same(self) -> bool:
        return not self.differences and not self.violations


def replay(snapshot: Snapshot, recorded: RecordedOutcome | None) -> Replay:
    """Holds to the same functions as the scheduler."""
    asked = explained(snapshot)
    now = RecordedOutcome.of(asked.decision, __version__)
    term = asked.trace.terms[-1] if asked.trace.terms else TermTrace()
    held = asked.decision.held
    return Replay(
        workload=workload_of(snapshot.binding),
        decided_at=snapshot.now,
        now=now,
        recorded=recorded,
        differences=[] if recorded is None else list(_differences(recorded, now)),
        violations=[str(violation) for violation in check(snapshot, asked.decision)],
        why=[
            *map(division_sentence, term.divisions),
            *([f"{held.message} ({held.reason})"] if held is not None else []),
        ],
        verdicts=verdicts_of(snapshot, term),
    )


def _differences(before: RecordedOutcome, now: RecordedOutcome) -> Iterator[str]:
    for what, old, new in (
        ("goes to", _places(before), _places(now)),
        ("leaves", ", ".join(before.leaves), ", ".join(now.leaves)),
        ("held", before.held, now.held),
        ("no place", before.refusal, now.refusal),
    ):
        if old != new:
            yield f"{what}: {old or 'nothing'} by {before.version}, {new or 'nothing'} by {now.version}"


def _places(outcome: RecordedOutcome) -> str:
    return " ".join(f"{name}:{replicas}" for name, replicas in sorted(outcome.targets.items()))
