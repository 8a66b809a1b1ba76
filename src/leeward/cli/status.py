"""`leeward status`"""

import click
import msgspec

from leeward.app.local.status import ClusterSummary, ComponentStatus, FleetStatus, fleet_status
from leeward.cli.settings import Settings
from leeward.cli.tables import render_table


@click.command()
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="The form.")
@click.pass_obj
def status(settings: Settings, output: str) -> None:
    """Show components and clusters."""
    state = fleet_status(settings.layout)
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(state), indent=2))
    else:
        click.echo(_render(state))


def _render(state: FleetStatus) -> str:
    components = render_table(("COMPONENT", "STATE", "PID", "PORT"), [_component_row(c) for c in state.components])
    if state.clusters is None:
        clusters = f"clusters: unknown, {state.problem}"
    elif state.clusters:
        header = ("CLUSTER", "MODE", "READY", "REASON", "VERSION", "TAINTS")
        clusters = render_table(header, [_cluster_row(cluster) for cluster in state.clusters])
    else:
        clusters = "clusters: none has joined"
    return f"data directory: {state.data_dir}\ntiming: {state.timing}\n\n{components}\n\n{clusters}"


def _component_row(component: ComponentStatus) -> tuple[str, ...]:
    state = f"{component.state} ({component.faults})" if component.faults else component.state
    return component.name, state, str(component.pid or ""), str(component.port or "")


def _cluster_row(cluster: ClusterSummary) -> tuple[str, ...]:
    taints = ",".join(taint.removeprefix("cluster.karmada.io/") for taint in cluster.taints)
    return cluster.name, cluster.mode, cluster.ready, cluster.reason, cluster.version, taints
