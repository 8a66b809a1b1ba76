"""`leeward cordon`"""

from pathlib import Path

import click

from leeward.cli.connections import ask, operator_options, target_of
from leeward.cli.output import say, say_next
from leeward.cli.settings import Settings


@click.command()
@click.argument("cluster")
@operator_options
@click.pass_obj
def cordon(settings: Settings, cluster: str, kubeconfig: Path | None, context: str) -> None:
    """Place nothing new in a cluster.

    What runs there stays. `leeward uncordon` takes it back.
    """
    from leeward.operations.drain import start_cordon

    changed = ask(target_of(settings, kubeconfig, context), lambda client: start_cordon(client, cluster))
    say(f"{cluster} cluster cordoned" if changed else f"{cluster} cluster already cordoned")
    say_next(
        f"leeward drain {cluster}, which moves what runs there", f"leeward uncordon {cluster}, which takes it back"
    )
