"""`leeward take-over`"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leeward.cli.confirming import is_confirmed
from leeward.cli.connections import Target, ask, operator_options, target_of
from leeward.cli.output import say, say_next
from leeward.cli.settings import Settings
from leeward.cli.tables import printable

if TYPE_CHECKING:
    from leeward.client import Client
    from leeward.operations.take_over import TakenOver


@click.command("take-over")
@click.option("--force", is_flag=True, help="Also while the hub before answers, or when members obey a newer one.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@operator_options
@click.pass_obj
def take_over(settings: Settings, force: bool, yes: bool, kubeconfig: Path | None, context: str) -> None:
    """Make this copy of a control plane the hub.

    Its generation is raised. Members note it, and from then on refuse every copy with an older one: a hub that comes
    back does nothing there, and evicts nothing. Members that do not answer now are told before anything is written
    there.

    It is refused while the hub before still answers, and where members obey a newer hub than this store knows.
    """
    target = target_of(settings, kubeconfig, context)
    if not is_confirmed(f"Make {target.name} the hub, and have members refuse the one before?", yes=yes):
        raise click.Abort
    done = ask(target, lambda client: _take_over(client, target, force=force))
    say(f"{target.name} is the hub: generation {done.generation}")
    say_members(done.fenced, done.away)
    say_next("leeward status")


async def _take_over(client: "Client", target: Target, *, force: bool) -> "TakenOver":
    """Raises: FleetError, WorldError, OperationFailed."""
    from leeward.app.cluster_info import refuse_hub_before
    from leeward.app.member_clients import whoever_obeys
    from leeward.client.connection import transport_of
    from leeward.operations.take_over import take_over as make_hub

    if not force:
        await refuse_hub_before(client, target.connection.server)
    transport = transport_of(target.connection)
    try:
        return await make_hub(client, whoever_obeys(client, transport), force=force)
    finally:
        await transport.close()


def say_members(fenced: Sequence[str], away: Mapping[str, str]) -> None:
    """Says which members refuse the hub before by now, and which will."""
    if fenced:
        say(f"members that refuse older hubs: {', '.join(map(printable, fenced))}")
    for name, why in away.items():
        say(printable(f"{name} could not be told, and is before anything is written there: {why}"))
