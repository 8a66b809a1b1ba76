"""`leeward explain`"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from leeward.app.local.errors import FleetError
from leeward.cli.connections import ask, target_of
from leeward.cli.questions import FINDINGS, WELL, AnswerCommand, colours, picture_in, picture_options, rendered
from leeward.cli.settings import Settings

if TYPE_CHECKING:
    from leeward.answers.subjects import Answer


@click.command(cls=AnswerCommand)
@click.argument("resource", metavar="TYPE/NAME")
@click.option("-n", "--namespace", default="default", show_default=True, help="Of the resource.")
@picture_options
@click.pass_obj
def explain(
    settings: Settings,
    resource: str,
    namespace: str,
    output: str,
    file: Path | None,
    kubeconfig: Path | None,
    context: str,
) -> int:
    """Say why an application is where it is, what holds it, and what happens next.

    TYPE/NAME is a resource that a policy propagates (`deploy/web`), a binding (`rb/web-deployment`), a Work
    (`work/NAME -n karmada-es-CLUSTER`), or `cluster/NAME`. Nothing is changed.

    Exits 0 when there is nothing to do, 1 when something needs somebody, 2 when it could not look.
    """
    from leeward.answers.cluster_explanation import ClusterExplanation
    from leeward.answers.explanation import Explanation
    from leeward.cli.explain_text import cluster_lines, explanation_lines, work_lines

    answer = _answer(settings, resource, namespace, file, kubeconfig, context)
    if output != "table":
        click.echo(rendered(answer, output))
    elif isinstance(answer, Explanation):
        click.echo("\n".join(explanation_lines(answer)), color=colours())
    elif isinstance(answer, ClusterExplanation):
        click.echo("\n".join(cluster_lines(answer)), color=colours())
    else:
        click.echo("\n".join(work_lines(answer)), color=colours())
    return FINDINGS if answer.needs_somebody else WELL


def _answer(
    settings: Settings, resource: str, namespace: str, file: Path | None, kubeconfig: Path | None, context: str
) -> "Answer":
    """Raises: FleetError."""
    from kubeapi.loop.clock import SystemClock
    from leeward.answers.subjects import asked_of, explain_in, explain_live
    from leeward.operations import OperationFailed

    try:
        asked = asked_of(resource, namespace)
        if file is not None:
            return explain_in(picture_in(file, kubeconfig, context), asked)
    except OperationFailed as error:
        raise FleetError(str(error)) from error
    target = target_of(settings, kubeconfig, context)
    return ask(target, lambda client: explain_live(client, SystemClock(), asked, target.name))
