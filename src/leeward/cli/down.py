"""`leeward down`"""

import click

from leeward.app.local.starting import stop_fleet
from leeward.cli.output import say
from leeward.cli.settings import Settings


@click.command()
@click.pass_obj
def down(settings: Settings) -> None:
    """Stop everything that runs.

    Nothing is lost: `leeward up` on the same data directory brings it back.
    """
    stopped = stop_fleet(settings.layout)
    say(f"stopped: {', '.join(stopped)}" if stopped else "nothing was running")
