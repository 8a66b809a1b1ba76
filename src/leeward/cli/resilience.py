"""`leeward resilience`"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leeward.app.local import FleetError
from leeward.cli.parameters import Number
from leeward.cli.questions import FINDINGS, WELL, AnswerCommand, picture_options, say_answer, whole_picture
from leeward.cli.settings import Settings

if TYPE_CHECKING:
    from leeward.answers.resilience import LossReport, Resilience

MOST_LISTED = 20


@click.command(cls=AnswerCommand)
@click.option("--n", "number", type=Number(min=1), default=1, show_default=True, help="So many lost together.")
@click.option("--by", default="cluster", show_default=True, help="cluster, region, zone, provider or label:KEY.")
@click.option("--wide", is_flag=True, help="List all losses.")
@picture_options
@click.pass_obj
def resilience(
    settings: Settings,
    number: int,
    by: str,
    wide: bool,
    output: str,
    file: Path | None,
    kubeconfig: Path | None,
    context: str,
) -> int:
    """Say for each possible loss whether the rest can run everything, worst first.

    A loss is a cluster, or all of a region, a zone, a provider or a label's value. Nothing is changed.

    Exits 0 when every loss can be borne, 1 when not, 2 when it could not look.
    """
    from leeward.answers.resilience import losses_by, survey
    from leeward.operations import OperationFailed

    state = whole_picture(settings, kubeconfig, context, file)
    try:
        answer = survey(state, losses_by(state, by, number), by)
    except OperationFailed as error:
        raise FleetError(str(error)) from error
    say_answer(state, answer, output, _lines(answer, number, wide))
    return WELL if answer.survives_all else FINDINGS


def _lines(told: "Resilience", number: int, wide: bool) -> Iterator[str]:
    from leeward.cli.text_lines import headline, paragraph, section, table, title
    from leeward.operations.sentences import counted, full_moment

    yield from title(f"{told.control_plane}, as of {full_moment(told.as_of)}; nothing is changed")
    bad = [loss for loss in told.losses if loss.wanting]
    yield from _answer(told, number, bad)
    for unseen in told.unseen:
        yield from headline("?", f"could not be seen: {unseen}")
    yield from section("LOSSES")
    shown = told.losses if wide else told.losses[:MOST_LISTED]
    header = ("LOST", "APPS", "MOVE", "STAY", "DOWN", "FEWER", "REPLICAS MISSING", "NOTE")
    rows: list[Sequence[str]] = []
    for each in shown:
        figures = (each.applications, each.moving, each.kept, each.nobody, each.wanting - each.nobody, each.missing)
        rows.append((each.loss, *map(str, figures), _note(each)))
    yield from table(header, rows, (1, 2, 3, 4, 5, 6))
    if len(told.losses) > len(shown):
        yield f"  {len(told.losses) - len(shown)} more: --wide"
    if told.without_second_place:
        yield from section("COULD NOT MOVE", counted(len(told.without_second_place), "application"))
        yield from paragraph(", ".join(told.without_second_place))
    if bad:
        yield ""
        yield from paragraph(f"why: leeward what-if --fail {','.join(bad[0].clusters)}")


def _answer(told: "Resilience", number: int, bad: "Sequence[LossReport]") -> Iterator[str]:
    """The headline: how many losses were simulated, after how many not everything can run, and the worst."""
    from leeward.cli.text_lines import GOOD, NEEDS_SOMEBODY, headline
    from leeward.operations.sentences import counted

    what = told.by if ":" not in told.by else f"group by {told.by}"
    lost = f"{number} {what}s at once" if number > 1 else f"each {what} in turn"
    simulated = f"the loss of {lost} was simulated ({counted(len(told.losses), 'case')})"
    if not bad:
        yield from headline(GOOD, f"{simulated}: the other clusters can always run everything")
        return
    would = "be down" if bad[0].nobody else "serve with fewer replicas"
    worst = f"{counted(bad[0].nobody or bad[0].wanting, 'application')} would {would}"
    found = "in each" if len(bad) == len(told.losses) else f"in {len(bad)} of them"
    said = f"{simulated}: {found}, not everything can run. Worst case, the loss of {bad[0].loss}: {worst}"
    yield from headline(NEEDS_SOMEBODY, said)


def _note(loss: "LossReport") -> str:
    if loss.braked:
        return "the brake stops all evictions"
    waits = f"{loss.waiting} wait for a node" if loss.waiting > 1 else "1 waits for a node" if loss.waiting else ""
    by_sum = f"{loss.by_sum} fit by the sum of what is free, not by the grades of nodes" if loss.by_sum else ""
    if loss.worst:
        return "; ".join(filter(None, (", ".join(app.workload for app in loss.worst[:2]), waits, by_sum)))
    if loss.fullest is None or not loss.fullest.tight:
        return ""
    full = loss.fullest
    of = "" if full.resource == "cpu" else f" ({full.resource})"
    return f"{'overfull' if full.overfull else 'tight'}: {full.cluster} {full.share:.0%} full{of}"
