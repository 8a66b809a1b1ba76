"""`leeward uncordon`"""

from pathlib import Path

import click

from leeward.cli.connections import ask, operator_options, target_of
from leeward.cli.output import say
from leeward.cli.settings import Settings


@click.command()
@click.argument("cluster")
@operator_options
@click.pass_obj
def uncordon(settings: Settings, cluster: str, kubeconfig: Path | None, context: str) -> None:
    """Take back a cordon or a drain.

    Copies that have not left yet, and whose replacement is not healthy yet, stay. What has moved does not move back.
    """
    from leeward.api.names import DRAIN_BUDGET_ANNOTATION
    from leeward.operations.taints import CORDON, DRAIN, change_taints, without_taints

    target, change = target_of(settings, kubeconfig, context), without_taints(CORDON, DRAIN)
    changed = ask(target, lambda client: change_taints(client, cluster, change, {DRAIN_BUDGET_ANNOTATION: None}))
    say(f"{cluster} cluster uncordoned" if changed else f"{cluster} cluster already uncordoned")
