"""`leeward run`: one component of a fleet in the foreground, as its own process. `leeward up` starts it so."""

from collections.abc import Coroutine
from typing import Any, Literal

import click

from leeward.app.local.components import agent_config, control_plane_config, member_config
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import Fleet, load_fleet
from leeward.app.local.layout import Layout
from leeward.cli.serving import log_to_stderr, serve
from leeward.cli.settings import Settings

Component = Literal["control-plane", "member", "agent"]


@click.command()
@click.argument("component", type=click.Choice(["control-plane", "member", "agent"]))
@click.argument("name", default="")
@click.pass_obj
def run(settings: Settings, component: Component, name: str) -> None:
    """Run one component of a fleet in the foreground."""
    if bool(name) != (component != "control-plane"):
        raise FleetError(f"{component} takes no name" if name else f"{component}: give the name of the member")
    settings.debug = True
    layout = settings.layout
    fleet = load_fleet(layout)
    log_to_stderr()
    serve(_work(layout, fleet, component, name), name or component)


def _work(layout: Layout, fleet: Fleet, component: Component, name: str) -> Coroutine[Any, Any, None]:
    match component:
        case "control-plane":
            from leeward.app.control_plane import run_control_plane

            return run_control_plane(control_plane_config(layout, fleet))
        case "member":
            from leeward.app.member import run_member

            return run_member(member_config(layout, fleet, fleet.member(name)))
        case "agent":
            from leeward.app.agent import run_agent

            return run_agent(agent_config(layout, fleet, fleet.member(name)))
