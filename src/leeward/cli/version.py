"""`leeward version`"""

import click

from leeward import __version__


@click.command()
def version() -> None:
    """Print the version."""
    click.echo(f"leeward {__version__}")
