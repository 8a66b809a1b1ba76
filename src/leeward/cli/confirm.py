"""`leeward confirm`"""

from pathlib import Path

import click

from leeward.cli.connections import ask, operator_options, target_of
from leeward.cli.output import say, say_next
from leeward.cli.settings import Settings


@click.command()
@click.argument("cluster")
@operator_options
@click.pass_obj
def confirm(settings: Settings, cluster: str, kubeconfig: Path | None, context: str) -> None:
    """Accept that a cluster was rebuilt under its name.

    What has volumes is held back there until then: it would start on new and empty ones. Restore what can be restored
    first. A later rebuild has to be confirmed again.
    """
    from leeward.operations.taints import confirm_replaced

    identity = ask(target_of(settings, kubeconfig, context), lambda client: confirm_replaced(client, cluster))
    if not identity:
        say(f"{cluster} cluster has nothing to confirm: it was not rebuilt under its name")
        return
    say(f"{cluster} cluster confirmed: volumes are made anew in {identity}")
    say_next("leeward status")
