"""`leeward hand-back`: gives a control plane that was adopted back to Karmada."""

from pathlib import Path

import click

from leeward.cli.connections import carry_out, client_of, connection_from, control_plane_options
from leeward.cli.output import say


@click.command("hand-back")
@click.option("--yes", is_flag=True, help="Do not ask.")
@control_plane_options
def hand_back(yes: bool, kubeconfig: Path | None, context: str) -> None:
    """Give a control plane that was adopted back to Karmada.

    Nothing of ours stays in it. Stop `leeward serve` and `leeward webhook` first, and start
    karmada-aggregated-apiserver; Karmada's other programs after it. Policies, bindings, Works and the members' objects
    stay as they are.
    """
    from kubeapi.loop.clock import SystemClock
    from leeward.app.migration.handing_back import hand_back

    connection = connection_from(kubeconfig, context)
    if not yes:
        click.confirm(f"Hand {connection.server} back to Karmada?", abort=True)
    client = client_of(connection)
    carry_out(hand_back(client, SystemClock(), say), client)
    say(f"handed {connection.server} back: now start karmada-webhook, karmada-controller-manager and karmada-scheduler")
