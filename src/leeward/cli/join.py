"""`leeward join`: a real cluster becomes a Push member; options as with karmadactl."""

from pathlib import Path

import click

from leeward.cli.connections import carry_out, client_of, connection_from, control_plane_options
from leeward.cli.named_files import InputFile
from leeward.cli.output import say, say_next


@click.command()
@click.argument("name")
@click.option(
    "--cluster-kubeconfig", required=True, type=InputFile(exists=True), help="Kubeconfig of the cluster that joins."
)
@click.option("--cluster-context", default="", help="Context in that kubeconfig.  [default: the current one]")
@click.option("--cluster-provider", default="", help="Who runs the cluster, for spread constraints.")
@click.option("--cluster-region", default="", help="Where the cluster is.")
@click.option("--cluster-zone", "zones", multiple=True, help="In which zone; may be repeated.")
@click.option("--allow-http", is_flag=True, help="Send the credential in the clear, to a server of http://.")
@control_plane_options
def join(
    name: str,
    cluster_kubeconfig: Path,
    cluster_context: str,
    cluster_provider: str,
    cluster_region: str,
    zones: tuple[str, ...],
    allow_http: bool,
    kubeconfig: Path | None,
    context: str,
) -> None:
    """Join a cluster: from now on the control plane watches it and places applications there."""
    from leeward.app.joining import Joining, join_cluster

    connection = connection_from(cluster_kubeconfig, cluster_context)
    member, control_plane = client_of(connection), client_of(connection_from(kubeconfig, context))
    joining = Joining(name, connection, cluster_provider, cluster_region, zones, allow_http=allow_http)
    carry_out(join_cluster(control_plane, member, joining), member, control_plane)
    say(f"cluster {name} has joined")
    say_next(f"kubectl get cluster {name}", "leeward status")
