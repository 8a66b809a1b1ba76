"""`leeward logs`"""

import click

from leeward.app.local import FleetError
from leeward.app.local.fleet import load_fleet
from leeward.app.local.logs import follow, last_lines
from leeward.cli.output import say
from leeward.cli.parameters import Number
from leeward.cli.settings import Settings


@click.command()
@click.argument("component")
@click.option("-f", "--follow", "following", is_flag=True, help="Go on with what is added, until Ctrl-C.")
@click.option("-n", "--tail", type=Number(min=0), default=200, show_default=True, help="How many lines.")
@click.pass_obj
def logs(settings: Settings, component: str, following: bool, tail: int) -> None:
    """Print the log of a component.

    Components are control-plane, the members, MEMBER-agent for Pull members, and dashboard.
    """
    layout = settings.layout
    components = load_fleet(layout).components
    if component not in components:
        raise FleetError(f"there is no component {component!r} in this fleet: choose from {', '.join(components)}")
    path = layout.log(component)
    for line in last_lines(path, tail):
        say(line)
    if following:
        for text in follow(path):
            say(text, nl=False)
