"""`leeward cordon`"""

from pathlib import Path

import click

from leeward.cli.connections import ask, operator_options, target_of
from leeward.cli.output import say
from leeward.cli.settings import Settings


@click.command()
@click.argument("cluster")
@operator_options
@click.pass_obj
def cordon(settings: Settings, cluster: str, kubeconfig: Path | None, context: str) -> None:
    """Place nothing new in a cluster.

    What runs there stays. `leeward uncordon` takes it back.
    """
    from leeward.operations.taints import CORDON, change_taints, with_taint

    target = target_of(settings, kubeconfig, context)
    changed = ask(target, lambda client: change_taints(client, cluster, with_taint(CORDON)))
    say(f"{cluster} cluster cordoned" if changed else f"{cluster} cluster already cordoned")
