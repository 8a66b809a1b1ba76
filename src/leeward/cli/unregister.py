"""`leeward unregister`: a Pull member leaves; options as with karmadactl."""

from pathlib import Path

import click

from leeward.cli.connections import carry_out, client_of, connection_from, control_plane_options
from leeward.cli.output import say, say_line
from leeward.cli.parameters import Duration


@click.command()
@click.argument("name")
@click.option("--wait", type=Duration(), default="1m", show_default=True, metavar="DURATION", help="Wait so long.")
@control_plane_options
def unregister(name: str, wait: float, kubeconfig: Path | None, context: str) -> None:
    """Let a Pull cluster leave. Its agent, when it lives, takes back its objects there; then stop it."""
    from kubeapi.loop import SystemClock
    from leeward.app.leaving import unjoin_cluster

    client = client_of(connection_from(kubeconfig, context))
    carry_out(
        unjoin_cluster(client, name, SystemClock(), force=False, wait_seconds=wait, tell=say_line, mode="Pull"), client
    )
    say(f"cluster {name} has left")
