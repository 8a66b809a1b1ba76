"""`leeward deinit`: takes Leeward out of a control plane again."""

from pathlib import Path

import click

from leeward.cli.connections import carry_out, client_of, connection_from, control_plane_options
from leeward.cli.output import say


@click.command()
@control_plane_options
def deinit(kubeconfig: Path | None, context: str) -> None:
    """Take Leeward's kinds, with all their objects, and its rights out of a control plane."""
    from leeward.app.cluster_info import withdraw
    from leeward.app.install.installing import uninstall

    async def take_out() -> None:
        await uninstall(client)
        await withdraw(client)

    connection = connection_from(kubeconfig, context)
    client = client_of(connection)
    carry_out(take_out(), client)
    say(f"taken out of {connection.server}")
