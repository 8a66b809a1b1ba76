"""`leeward unjoin`: a cluster leaves; options as with karmadactl."""

from pathlib import Path

import click

from leeward.cli.connections import carry_out, client_of, connection_from, control_plane_options
from leeward.cli.named_files import InputFile
from leeward.cli.output import say, say_line
from leeward.cli.parameters import Duration


@click.command()
@click.argument("name")
@click.option("--force", is_flag=True, help="Give up what runs in a cluster that is dead.")
@click.option("--wait", type=Duration(), default="1m", show_default=True, metavar="DURATION", help="Wait so long.")
@click.option(
    "--cluster-kubeconfig",
    type=InputFile(exists=True),
    help="Kubeconfig of the cluster, to take out of it what `leeward join` has put there.",
)
@click.option("--cluster-context", default="", help="Context in that kubeconfig.  [default: the current one]")
@control_plane_options
def unjoin(
    name: str,
    force: bool,
    wait: float,
    cluster_kubeconfig: Path | None,
    cluster_context: str,
    kubeconfig: Path | None,
    context: str,
) -> None:
    """Let a Push cluster leave, and take back what was placed there.

    `leeward unregister` is for Pull. One that is dead stays until it is back, unless --force gives up what runs there.
    """
    from kubeapi.loop import SystemClock
    from leeward.app.joining import forget_cluster, hub_that_leaves
    from leeward.app.leaving import unjoin_cluster

    hub = ""
    if cluster_kubeconfig is not None:
        asked, member = (
            client_of(connection_from(*at)) for at in ((kubeconfig, context), (cluster_kubeconfig, cluster_context))
        )
        hub = carry_out(hub_that_leaves(asked, member, name), asked, member)
    client = client_of(connection_from(kubeconfig, context))
    carry_out(
        unjoin_cluster(client, name, SystemClock(), force=force, wait_seconds=wait, tell=say_line, mode="Push"), client
    )
    if cluster_kubeconfig is not None:
        member = client_of(connection_from(cluster_kubeconfig, cluster_context))
        client = client_of(connection_from(kubeconfig, context))
        for kept in carry_out(forget_cluster(member, name, hub, client), member, client):
            say_line(f"{kept} stays in the cluster: another control plane, or somebody else, has made it")
    say(f"cluster {name} has left")
