"""`leeward replay`"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leeward.cli.named_files import InputFile, decode_file
from leeward.cli.output import say_coloured
from leeward.cli.questions import FINDINGS, MAX_PICTURE_BYTES, WELL, AnswerCommand, rendered

if TYPE_CHECKING:
    from leeward.answers.replay import Replay


@click.command(cls=AnswerCommand)
@click.argument("file", type=InputFile())
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", help="The form.")
def replay(file: Path, output: str) -> int:
    """Decide a recorded decision again, with its reasons.

    FILE is of `leeward explain --record FILE`, or what the scheduler logs of a decision that it refuses. Nothing is
    asked of any control plane: a new version shows what it would decide otherwise, before an upgrade.

    Exits 0 when the same is decided, 1 when not, 2 when it could not look.
    """
    from kubeapi.codec import DecodeError
    from leeward.answers.replay import replay as replay_recorded
    from leeward.planning.recording import decode_recorded

    way_out = "record one with `leeward explain --record`"
    snapshot, recorded = decode_file(file, decode_recorded, DecodeError, way_out, MAX_PICTURE_BYTES)
    told = replay_recorded(snapshot, recorded)
    say_coloured(rendered(told, output) if output != "table" else "\n".join(_lines(told)))
    return WELL if told.is_same else FINDINGS


def _lines(told: "Replay") -> Iterator[str]:
    from leeward.cli.text_lines import GOOD, NEEDS_SOMEBODY, headline, pairs, paragraph, section, title
    from leeward.operations.sentences import full_moment

    by = f" by {told.recorded.version}" if told.recorded is not None else ""
    yield from title(f"{told.workload}, decided{by} at {full_moment(told.decided_at)}")
    for problem in (*told.differences, *(f"it would be refused: {each}" for each in told.violations)):
        yield from headline(NEEDS_SOMEBODY, problem)
    if told.is_same:
        said = "decided the same again" if told.recorded is not None else "decided; what was decided is not recorded"
        yield from headline(GOOD, said)
    yield from section("DECIDED")
    places = " ".join(f"{name}:{replicas}" for name, replicas in told.now.targets.items())
    rows = [("goes to", places or "nowhere"), ("leaves", ", ".join(told.now.leaves) or "nothing")]
    rows += [(name, value) for name, value in (("held", told.now.held), ("no place", told.now.refusal)) if value]
    yield from pairs(rows)
    yield from section("WHY")
    for sentence in told.why:
        yield from paragraph(sentence)
    yield from pairs(
        [
            (" ".join(each.clusters), f"{each.plugin}: {each.reason}" if each.plugin else "kept")
            for each in told.verdicts
        ]
    )
