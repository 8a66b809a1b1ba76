"""`leeward run`: one component of a fleet in the foreground, as its own process. `leeward up` starts it so."""

from collections.abc import Coroutine
from typing import Any, Literal

import click

from kubeapi.process import log_to_stderr, serve
from leeward.app.local import Layout
from leeward.app.local.components import agent_config, control_plane_config, member_config
from leeward.app.local.fleet import LocalFleet, load_fleet
from leeward.cli.parameters import Duration
from leeward.cli.settings import Settings

Component = Literal["control-plane", "member", "agent", "dashboard"]


@click.command()
@click.argument("component", type=click.Choice(["control-plane", "member", "agent", "dashboard"]))
@click.argument("name", default="")
@click.option("--event-ttl", type=Duration(), help="How long its API server keeps events.  [default: the fleet's]")
@click.pass_obj
def run(settings: Settings, component: Component, name: str, event_ttl: float | None) -> None:
    """Run one component of a fleet in the foreground."""
    if component in ("agent", "dashboard") and event_ttl is not None:
        raise click.UsageError(f"--event-ttl: {component} has no API server, and keeps no events")
    if bool(name) != (component in ("member", "agent")):
        raise click.UsageError(f"{component} takes no name" if name else f"{component}: give the name of the member")
    settings.debug = True
    layout = settings.layout
    fleet = load_fleet(layout)
    log_to_stderr()
    serve(_work(layout, fleet, component, name, event_ttl), name or component)


def _work(
    layout: Layout, fleet: LocalFleet, component: Component, name: str, event_ttl: float | None
) -> Coroutine[Any, Any, None]:
    """`event_ttl`, in seconds, where it is not that of the fleet."""
    match component:
        case "control-plane":
            from leeward.app.control_plane import run_control_plane

            return run_control_plane(control_plane_config(layout, fleet, event_ttl))
        case "member":
            from leeward.app.member import run_member

            return run_member(member_config(layout, fleet, fleet.member(name), event_ttl))
        case "agent":
            from leeward.app.agent import run_agent

            return run_agent(agent_config(layout, fleet, fleet.member(name)))
        case "dashboard":
            from leeward.app.local.dashboard_process import run_local_dashboard

            return run_local_dashboard(layout, fleet)
