"""`leeward version`"""

import click

from leeward import __version__
from leeward.cli.output import say


@click.command()
def version() -> None:
    """Print the version."""
    say(f"leeward {__version__}")
