"""`leeward hand-back`: gives a control plane that was adopted back to Karmada."""

from pathlib import Path

import click

from leeward.app.local import FleetError
from leeward.cli.connections import carry_out, client_of, connection_from, control_plane_options, switch_alone
from leeward.cli.output import say
from leeward.cli.remarks import say_remarks


@click.command("hand-back")
@click.option("--plan", "only_plan", is_flag=True, help="Say what would happen, and write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@control_plane_options
def hand_back(only_plan: bool, yes: bool, kubeconfig: Path | None, context: str) -> None:
    """Give a control plane that was adopted back to Karmada.

    Nothing of ours stays in it; policies, bindings, Works and the members' objects stay as they are. Stop `leeward
    serve` and `leeward webhook` first, and start karmada-aggregated-apiserver; Karmada's other programs after it. The
    plan is shown before anything is written.
    """
    from kubeapi.loop import SystemClock
    from leeward.app.migration.came_back import refuse_fenced
    from leeward.app.migration.handing_back import hand_back, plan_hand_back
    from leeward.app.migration.review import Remark, refusals

    async def planned() -> list[Remark]:
        await refuse_fenced(client)
        return await plan_hand_back(client, SystemClock())

    connection = connection_from(kubeconfig, context)
    client = client_of(connection)
    remarks = carry_out(planned(), client)
    say_remarks(remarks)
    if only_plan:
        raise click.exceptions.Exit(1 if refusals(remarks) else 0)
    if refusals(remarks):
        raise FleetError("nothing was done: see what refuses above")
    if not yes:
        click.confirm(f"Hand {connection.server} back to Karmada?", abort=True)
    switch_alone(connection, lambda client: hand_back(client, SystemClock(), say))
    say(f"handed {connection.server} back: now start karmada-webhook, karmada-controller-manager and karmada-scheduler")
