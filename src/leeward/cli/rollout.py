"""`leeward rollout`: a change on its way from stage to stage; a pause, an approval, and the way back."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from leeward.app.local.errors import FleetError
from leeward.cli.connections import ask, operator_options, target_of
from leeward.cli.output import say, say_next
from leeward.cli.settings import Settings
from leeward.cli.tables import printable, render_table
from leeward.cli.verbs import VerbGroup

if TYPE_CHECKING:
    from leeward.client import Client
    from leeward.operations.rollout import BindingPlace, RolloutReading

T = TypeVar("T")


@click.group(cls=VerbGroup)
def rollout() -> None:
    """Show, pause, approve or take back a change that goes from stage to stage."""


_resource = click.argument("resource", metavar="TYPE/NAME")
_namespace = click.option("-n", "--namespace", default="default", show_default=True, help="Of the resource.")


@rollout.command()
@_resource
@_namespace
@operator_options
@click.pass_obj
def status(settings: Settings, resource: str, namespace: str, kubeconfig: Path | None, context: str) -> None:
    """Say which cluster has which revision, and why the others do not have the new one."""
    from leeward.operations.rollout import read_rollout

    reading = _asked(settings, resource, namespace, kubeconfig, context, read_rollout)
    for line in _lines(reading):
        say(line)


@rollout.command()
@_resource
@_namespace
@operator_options
@click.pass_obj
def pause(settings: Settings, resource: str, namespace: str, kubeconfig: Path | None, context: str) -> None:
    """Let each cluster keep the revision that it has."""
    from leeward.operations.rollout import pause_rollout

    say(printable(_asked(settings, resource, namespace, kubeconfig, context, pause_rollout)))
    say_next(f"leeward rollout resume {resource} -n {namespace}")


@rollout.command()
@_resource
@_namespace
@operator_options
@click.pass_obj
def resume(settings: Settings, resource: str, namespace: str, kubeconfig: Path | None, context: str) -> None:
    """End a pause, approve the stage that waits, or try a revision again that was taken back."""
    from leeward.operations.rollout import resume_rollout

    say(printable(_asked(settings, resource, namespace, kubeconfig, context, resume_rollout)))
    say_next(f"leeward rollout status {resource} -n {namespace}")


@rollout.command()
@_resource
@_namespace
@operator_options
@click.pass_obj
def undo(settings: Settings, resource: str, namespace: str, kubeconfig: Path | None, context: str) -> None:
    """Take the last change back in all clusters at once. The template stays as it is."""
    from leeward.operations.rollout import undo_rollout

    say(printable(_asked(settings, resource, namespace, kubeconfig, context, undo_rollout)))
    say_next(f"leeward rollout status {resource} -n {namespace}")


def _asked(
    settings: Settings,
    resource: str,
    namespace: str,
    kubeconfig: Path | None,
    context: str,
    operation: "Callable[[Client, Sequence[BindingPlace], datetime], Awaitable[T]]",
) -> T:
    """Raises: FleetError."""
    from kubeapi.loop.clock import SystemClock
    from leeward.answers.subjects import asked_of
    from leeward.operations import OperationFailed

    try:
        places = [(each.namespace, each.name) for each in asked_of(resource, namespace).bindings]
        now = SystemClock().now()

        async def carry_out(client: "Client") -> T:
            return await operation(client, places, now)

        return ask(target_of(settings, kubeconfig, context), carry_out)
    except OperationFailed as error:
        raise FleetError(str(error)) from error


def _lines(reading: "RolloutReading") -> Iterator[str]:
    from kubeapi.meta import format_time
    from leeward.core.rollout.revision import short

    yield f"{printable(reading.name)}: {printable(reading.condition.reason)}"
    yield f"  {printable(reading.condition.message)}"
    yield ""
    rows = list[Sequence[str]]()
    for cluster, revision in reading.revisions.items():
        found, state = reading.progress(cluster), reading.state
        is_new = state.is_under_way and revision == state.target
        what = "new" if is_new else "proven" if revision == state.proven else ""
        since = f"{found.sight} since {format_time(found.since)}" if found is not None else ""
        rows.append((printable(cluster), short(printable(revision)) or "unknown", what, since))
    yield render_table(("CLUSTER", "REVISION", "", "COPY"), rows)
