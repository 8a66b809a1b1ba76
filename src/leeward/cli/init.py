"""`leeward init`: installs Leeward into a control plane that is a real kube-apiserver."""

from pathlib import Path

import click

from leeward.cli.connections import carry_out, client_of, connection_from, control_plane_options
from leeward.cli.output import say


@click.command()
@control_plane_options
def init(kubeconfig: Path | None, context: str) -> None:
    """Install Leeward's kinds and rights into a control plane. Can be repeated, and brings an older one up to date."""
    from leeward.app.cluster_info import publish
    from leeward.app.install.installing import install

    async def install_and_publish() -> None:
        await install(client)
        await publish(client, connection)

    connection = connection_from(kubeconfig, context)
    client = client_of(connection)
    carry_out(install_and_publish(), client)
    say(f"installed into {connection.server}: now run `leeward serve` and `leeward webhook` beside it")
