"""`leeward uncordon`"""

import click

from leeward.api.names import DRAIN_BUDGET_ANNOTATION
from leeward.app.local.tainting import CORDON, DRAIN, change_taints, control_plane, without_taints
from leeward.cli.settings import Settings


@click.command()
@click.argument("cluster")
@click.pass_obj
def uncordon(settings: Settings, cluster: str) -> None:
    """Take back a cordon or a drain.

    Copies that have not left yet, and whose replacement is not healthy yet, stay. What has moved does not move back.
    """
    with control_plane(settings.layout) as api:
        changed = change_taints(api, cluster, without_taints(CORDON, DRAIN), {DRAIN_BUDGET_ANNOTATION: None})
    click.echo(f"{cluster} cluster uncordoned" if changed else f"{cluster} cluster already uncordoned")
