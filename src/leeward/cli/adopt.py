"""`leeward adopt`: takes over a control plane that Karmada has run."""

from pathlib import Path

import click

from leeward.app.local import FleetError
from leeward.cli.connections import carry_out, client_of, connection_from, control_plane_options, switch_alone
from leeward.cli.output import say
from leeward.cli.remarks import say_remarks


@click.command()
@click.option("--plan", "only_plan", is_flag=True, help="Say what would happen, and write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@control_plane_options
def adopt(only_plan: bool, yes: bool, kubeconfig: Path | None, context: str) -> None:
    """Take over a control plane that Karmada has run.

    Its clusters, and all that it has placed, stay as they are. Stop Karmada's controllers and scheduler first. The plan
    is shown before anything is written; no object of a member is. A switch that was interrupted goes on when it is
    begun again, and `leeward hand-back` takes it back.
    """
    from kubeapi.loop import SystemClock
    from leeward.app.migration.adopting import adopt, plan
    from leeward.app.migration.review import refusals

    connection = connection_from(kubeconfig, context)
    client = client_of(connection)
    planned = carry_out(plan(client, SystemClock()), client)
    say_remarks(planned.remarks)
    if only_plan:
        raise click.exceptions.Exit(1 if refusals(planned.remarks) else 0)
    if planned.resumed is not None and planned.resumed.adopted_at is None:
        say(f"a switch that began at {planned.resumed.started_at:%Y-%m-%d %H:%M:%S}Z goes on")
    if refusals(planned.remarks):
        raise FleetError("nothing was done: see what refuses above")
    if not yes:
        click.confirm(f"Take over {connection.server}?", abort=True)
    switch_alone(connection, lambda client: adopt(client, SystemClock(), say))
    say(f"adopted {connection.server}: now run `leeward serve` and `leeward webhook` beside it")
