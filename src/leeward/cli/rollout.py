"""`leeward rollout`: a change on its way from stage to stage; a pause, an approval, and the way back."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from kubeapi.loop import SystemClock
from leeward.app.local import FleetError
from leeward.cli.connections import ask, operator_options, target_of
from leeward.cli.output import say, say_next
from leeward.cli.questions import AnswerCommand
from leeward.cli.settings import Settings
from leeward.cli.tables import printable
from leeward.cli.verbs import VerbGroup

if TYPE_CHECKING:
    from kubeclient import Client
    from leeward.operations.rollout import BindingPlace, RolloutReading

T = TypeVar("T")


@click.group(cls=VerbGroup)
def rollout() -> None:
    """Show, pause, approve or roll back a change that goes from stage to stage."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """One application, and where it is asked for."""

    settings: Settings
    resource: str
    namespace: str
    kubeconfig: Path | None
    context: str

    def carry_out(self, operation: "Callable[[Client, Sequence[BindingPlace], datetime], Awaitable[T]]") -> T:
        """Raises: FleetError."""
        from leeward.answers.subjects import asked_of
        from leeward.operations import OperationFailed

        try:
            places = [(each.namespace, each.name) for each in asked_of(self.resource, self.namespace).bindings]
            now = SystemClock().now()

            async def asking(client: "Client") -> T:
                return await operation(client, places, now)

            return ask(target_of(self.settings, self.kubeconfig, self.context), asking)
        except OperationFailed as error:
            raise FleetError(str(error)) from error

    def change(
        self, operation: "Callable[[Client, Sequence[BindingPlace], datetime], Awaitable[str]]", then: str = "status"
    ) -> None:
        """Tells the change, and the verb that comes `then`. Raises: FleetError."""
        say(printable(self.carry_out(operation)))
        say_next(f"leeward rollout {then} {self.resource} -n {self.namespace}")


def _verb(does: Callable[[_Asked], None]) -> click.Command:
    """Verb of the group about one application, with the name and the help of the function."""

    cls = AnswerCommand if does.__name__ == "status" else None

    @rollout.command(does.__name__, cls=cls, help=does.__doc__)
    @click.argument("resource", metavar="TYPE/NAME")
    @click.option("-n", "--namespace", default="default", show_default=True, help="Of the resource.")
    @operator_options
    @click.pass_obj
    def called(settings: Settings, resource: str, namespace: str, kubeconfig: Path | None, context: str) -> None:
        does(_Asked(settings, resource, namespace, kubeconfig, context))

    return called


@_verb
def status(asked: _Asked) -> None:
    """Say which cluster has which revision, and why the others do not have the new one."""
    from leeward.operations.rollout import read_rollout

    reading = asked.carry_out(read_rollout)
    for line in _lines(reading):
        say(line)
    if reading.view.command:
        say_next(f"{reading.view.command}: {reading.view.gain}")


@_verb
def pause(asked: _Asked) -> None:
    """Let each cluster keep the revision that it has."""
    from leeward.operations.rollout import pause_rollout

    asked.change(pause_rollout, "resume")


@_verb
def resume(asked: _Asked) -> None:
    """End a pause, approve the stage that waits, or try a revision again that was rolled back."""
    from leeward.operations.rollout import resume_rollout

    asked.change(resume_rollout)


@_verb
def undo(asked: _Asked) -> None:
    """Roll the last change back in all clusters at once. The template stays as it is."""
    from leeward.operations.rollout import undo_rollout

    asked.change(undo_rollout)


def _lines(reading: "RolloutReading") -> Iterator[str]:
    from leeward.cli.explain_text import rollout_lines, when
    from leeward.cli.text_lines import paragraph

    view, now = reading.view, SystemClock().now()
    yield f"{printable(reading.name)}: {printable(view.reason)}"
    yield from paragraph(view.message, later="  ")
    yield ""
    yield from rollout_lines(view)
    if view.next:
        yield ""
        yield from paragraph(f"{when(view.next_at, now)}: {view.next}", later="  ")
