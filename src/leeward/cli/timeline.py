"""`leeward timeline`"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from leeward.app.local import FleetError
from leeward.cli.connections import ask, target_of
from leeward.cli.parameters import Duration
from leeward.cli.questions import FINDINGS, WELL, AnswerCommand, picture_in, say_answer, source_options
from leeward.cli.settings import Settings

if TYPE_CHECKING:
    from leeward.answers.fleet_state import FleetState


@click.command(cls=AnswerCommand)
@click.option("--since", type=Duration(), metavar="DURATION", help="Only outages that lasted into the last 12h, say.")
@click.option("--cluster", default="", metavar="NAME", help="Only outages of this cluster.")
@click.option("--app", "application", default="", metavar="TYPE/NAME", help="Only those that concern deploy/web, say.")
@click.option("-n", "--namespace", default="default", show_default=True, help="Of the application.")
@click.option("--outage", "name", default="", metavar="NAME", help="Only this one, with all that is known of it.")
@click.option("--all", "everything", is_flag=True, help="Tell all of them, with all applications that are listed.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml", "markdown"]),
    default="table",
    help="The form; markdown is a report for the post-mortem.",
)
@source_options
@click.pass_obj
def timeline(
    settings: Settings,
    since: float | None,
    cluster: str,
    application: str,
    namespace: str,
    name: str,
    everything: bool,
    output: str,
    file: Path | None,
    kubeconfig: Path | None,
    context: str,
) -> int:
    """Tell the outages of clusters: what left, what was held, how long it took; and the turns of rollouts.

    A running one is told step by step, others in a line; one that is asked for by name, or the only one, as a whole.
    They are kept as objects (`kubectl get outages`) beyond the lifetime of events. Nothing is changed.

    Exits 0 when no outage is running, 1 when one is, 2 when it could not look.
    """
    from leeward.answers.outage_report import report
    from leeward.answers.timeline import OutageFilter
    from leeward.answers.timeline import timeline as told_of
    from leeward.cli.timeline_text import timeline_lines
    from leeward.operations import OperationFailed

    asked = OutageFilter(since, cluster, application, namespace, name)
    try:
        state = _state(settings, file, kubeconfig, context)
        answer = told_of(state, asked)
    except OperationFailed as error:
        raise FleetError(str(error)) from error
    is_report = output == "markdown"
    lines = report(answer).split("\n") if is_report else timeline_lines(answer, everything=everything)
    say_answer(state, answer, output, lines, of_room=False)
    return FINDINGS if answer.is_running else WELL


def _state(settings: Settings, file: Path | None, kubeconfig: Path | None, context: str) -> "FleetState":
    """Raises: FleetError, OperationFailed."""
    from kubeapi.loop import SystemClock
    from leeward.answers.reading import read_outages

    if file is not None:
        return picture_in(file, kubeconfig, context)
    target = target_of(settings, kubeconfig, context)
    return ask(target, lambda client: read_outages(client, SystemClock(), target.name))
