"""`leeward taint`"""

import click

from leeward.app.local.errors import FleetError
from leeward.app.local.tainting import change_taints, control_plane
from leeward.cli.settings import Settings
from leeward.core.failover.taint_edits import TaintProblem, describe_edits, edit_taints, parse_taint_edits


@click.command()
@click.argument("cluster")
@click.argument("edits", nargs=-1, required=True, metavar="TAINT...")
@click.option("--overwrite", is_flag=True, help="Give a taint that is there already another value.")
@click.pass_obj
def taint(settings: Settings, cluster: str, edits: tuple[str, ...], overwrite: bool) -> None:
    """Add and remove taints of a cluster.

    KEY=VALUE:EFFECT and KEY:EFFECT add one, KEY:EFFECT- removes it, KEY- removes all with the key. Effects are
    NoSchedule and NoExecute.
    """
    try:
        parsed = parse_taint_edits(edits)
        with control_plane(settings.layout) as api:
            change_taints(api, cluster, lambda taints: edit_taints(taints, parsed, overwrite=overwrite))
    except TaintProblem as error:
        raise FleetError(f"cluster {cluster}: {error}") from error
    click.echo(f"cluster/{cluster} {describe_edits(parsed)}")
