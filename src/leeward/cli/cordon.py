"""`leeward cordon`"""

import click

from leeward.app.local.tainting import CORDON, change_taints, control_plane, with_taint
from leeward.cli.settings import Settings


@click.command()
@click.argument("cluster")
@click.pass_obj
def cordon(settings: Settings, cluster: str) -> None:
    """Place nothing new in a cluster.

    What runs there stays. `leeward uncordon` takes it back.
    """
    with control_plane(settings.layout) as api:
        changed = change_taints(api, cluster, with_taint(CORDON))
    click.echo(f"{cluster} cluster cordoned" if changed else f"{cluster} cluster already cordoned")
