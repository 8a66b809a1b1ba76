"""`leeward deinit`: takes Leeward out of a control plane again."""

from pathlib import Path

import click

from leeward.cli.connections import carry_out, client_of, connection_from, control_plane_options
from leeward.cli.output import say


@click.command()
@click.option("--keep-kinds", is_flag=True, help="Leave the kinds and all objects of theirs; take the rest.")
@control_plane_options
def deinit(keep_kinds: bool, kubeconfig: Path | None, context: str) -> None:
    """Take Leeward's kinds, with all their objects, and its rights out of a control plane.

    One that is Karmada's is refused, since roles of its agents have the names of ours; so is one that was adopted, as
    long as it has clusters: `leeward hand-back` gives it back. Where members obey another hub, it is refused as well.
    """
    from leeward.app.cluster_info import withdraw
    from leeward.app.install.installing import uninstall
    from leeward.app.migration.came_back import refuse_fenced, refuse_karmadas

    async def take_out() -> None:
        await refuse_karmadas(client)
        await refuse_fenced(client)
        await uninstall(client, keep_kinds=keep_kinds)
        await withdraw(client)

    connection = connection_from(kubeconfig, context)
    client = client_of(connection)
    carry_out(take_out(), client)
    say(f"taken out of {connection.server}")
