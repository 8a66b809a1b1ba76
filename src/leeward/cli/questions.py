"""Verbs that answer: what they are asked of (a control plane, or a file of `leeward snapshot`), and how they exit.

0 is fine, 1 has findings, 2 could not look: what was asked wrongly is 2 as well, so that no pipeline takes it for a
finding. Nothing that they do changes a control plane.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leeward.app.local.errors import FleetError
from leeward.cli.connections import Target, ask, target_of
from leeward.cli.output import complain
from leeward.cli.settings import Settings

if TYPE_CHECKING:
    from leeward.answers.fleet_state import FleetState
    from leeward.client import Client

WELL, COULD_NOT_LOOK = 0, 2
"""How such a verb exits."""


class AnswerCommand(click.Command):
    """A verb that answers: whatever keeps it from that ends it with COULD_NOT_LOOK, and one line on stderr."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            where = error.ctx.command_path if error.ctx is not None else "leeward"
            complain(f"{error.format_message().rstrip('.')} (see `{where} --help`)")
            raise click.exceptions.Exit(COULD_NOT_LOOK) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except FleetError as error:
            complain(str(error))
            raise click.exceptions.Exit(COULD_NOT_LOOK) from None


def whole_picture(settings: Settings, kubeconfig: Path | None, context: str) -> "FleetState":
    """All of a control plane. Raises: FleetError."""
    target = target_of(settings, kubeconfig, context)
    return ask(target, lambda client: _read(client, target))


async def _read(client: "Client", target: Target) -> "FleetState":
    from kubeapi.loop.clock import SystemClock
    from leeward.answers.reading import read_fleet

    return await read_fleet(client, SystemClock(), target.name)
