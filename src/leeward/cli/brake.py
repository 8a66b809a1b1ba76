"""`leeward brake`: the brake on evictions, which the control plane applies when most of the fleet looks dead."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from leeward.cli.connections import ask, operator_options, target_of
from leeward.cli.output import say, say_next
from leeward.cli.questions import AnswerCommand
from leeward.cli.settings import Settings
from leeward.cli.tables import printable
from leeward.cli.verbs import VerbGroup

if TYPE_CHECKING:
    from leeward.core.cluster_health.brake import Brake


@click.group(cls=VerbGroup)
def brake() -> None:
    """Show or release the brake on evictions."""


@brake.command(cls=AnswerCommand)
@operator_options
@click.pass_obj
def status(settings: Settings, kubeconfig: Path | None, context: str) -> None:
    """Say whether the brake is engaged, and why."""
    from leeward.operations.brake import read_brake

    reading = ask(target_of(settings, kubeconfig, context), read_brake)
    message = reading.message.removeprefix("released by hand: ") if reading.brake.overruled else reading.message
    said = f": {printable(message)}" if message else ""
    say(f"{_describe(reading.brake)}{said}")


@brake.command()
@operator_options
@click.pass_obj
def release(settings: Settings, kubeconfig: Path | None, context: str) -> None:
    """Let evictions begin although most of the fleet seems to be down.

    It stays released until the fleet looks well again.
    """
    from leeward.operations.brake import release_brake

    before = ask(target_of(settings, kubeconfig, context), release_brake).brake
    if before.engaged and not before.overruled:
        say("the brake is released, until the fleet looks well again")
        say_next("leeward status", "leeward timeline")
    else:
        say(_describe(before))


def _describe(state: "Brake") -> str:
    from kubeapi.meta import format_time

    if state.overruled:
        return "the brake is released by hand"
    return f"the brake is engaged (since {format_time(state.since)})" if state.since else "the brake is not engaged"
