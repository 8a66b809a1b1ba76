"""`leeward uncordon`"""

from pathlib import Path

import click

from leeward.cli.connections import ask, operator_options, target_of
from leeward.cli.output import say, say_next
from leeward.cli.settings import Settings


@click.command()
@click.argument("cluster")
@operator_options
@click.pass_obj
def uncordon(settings: Settings, cluster: str, kubeconfig: Path | None, context: str) -> None:
    """Take back a cordon or a drain.

    Copies that have not left yet, and whose replacement is not healthy yet, stay. What has moved does not move back.
    """
    from leeward.operations.drain import undo_cordon

    changed = ask(target_of(settings, kubeconfig, context), lambda client: undo_cordon(client, cluster))
    say(f"{cluster} cluster uncordoned" if changed else f"{cluster} cluster already uncordoned")
    say_next("leeward status")
