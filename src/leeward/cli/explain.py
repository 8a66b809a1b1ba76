"""`leeward explain`"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubeapi.named_files import is_standard_output
from leeward.app.local import FleetError
from leeward.cli.connections import ask, target_of
from leeward.cli.named_files import OutputFile, write_output
from leeward.cli.questions import (
    FINDINGS,
    WELL,
    AnswerCommand,
    picture_in,
    picture_options,
    say_answer,
    without_collecting,
)
from leeward.cli.settings import Settings

if TYPE_CHECKING:
    from leeward.answers.fleet_state import FleetState
    from leeward.answers.subjects import Answer, AskedOf


@click.command(cls=AnswerCommand)
@click.argument("resource", metavar="TYPE/NAME")
@click.option("-n", "--namespace", default="default", show_default=True, help="Of the resource.")
@click.option(
    "--record",
    type=OutputFile(),
    help="Also write what is decided on, for `replay`. With `-` the answer goes to stderr.",
)
@picture_options
@click.pass_obj
def explain(
    settings: Settings,
    resource: str,
    namespace: str,
    record: Path | None,
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
    with without_collecting():
        state, answer = _answer(settings, resource, namespace, record, file, kubeconfig, context)
        say_answer(state, answer, output, _lines(answer), err=record is not None and is_standard_output(record))
    return FINDINGS if answer.needs_somebody else WELL


def _answer(
    settings: Settings,
    resource: str,
    namespace: str,
    record: Path | None,
    file: Path | None,
    kubeconfig: Path | None,
    context: str,
) -> "tuple[FleetState, Answer]":
    """Raises: FleetError."""
    from leeward.answers.subjects import asked_of, explain_in, record_of
    from leeward.operations import OperationFailed

    try:
        asked = asked_of(resource, namespace)
        state = _state(settings, asked, file, kubeconfig, context)
        answer = explain_in(state, asked)
        if record is not None:
            write_output(record, record_of(state, asked))
    except OperationFailed as error:
        raise FleetError(str(error)) from error
    return state, answer


def _state(
    settings: Settings, asked: "AskedOf", file: Path | None, kubeconfig: Path | None, context: str
) -> "FleetState":
    """Raises: FleetError."""
    from kubeapi.loop import SystemClock
    from leeward.answers.subjects import read_asked

    if file is not None:
        return picture_in(file, kubeconfig, context)
    target = target_of(settings, kubeconfig, context)
    return ask(target, lambda client: read_asked(client, SystemClock(), asked, target.name), briefly=True)


def _lines(answer: "Answer") -> Iterator[str]:
    from leeward.answers.cluster_explanation import ClusterExplanation
    from leeward.answers.explanation import Explanation
    from leeward.cli.explain_text import cluster_lines, explanation_lines, work_lines

    if isinstance(answer, Explanation):
        return explanation_lines(answer)
    return cluster_lines(answer) if isinstance(answer, ClusterExplanation) else work_lines(answer)
