"""`leeward backup`"""

from pathlib import Path

import click

from leeward.cli.settings import Settings


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--member", default="", metavar="NAME", help="Back up a member.  [default: the control plane]")
@click.pass_obj
def backup(settings: Settings, file: Path, member: str) -> None:
    """Copy all objects into a file, while everything runs.

    It is those of the control plane, or of one member, with the keys that a restore on a new machine needs. FILE holds
    Secrets and private keys in clear, so only its owner can read it: keep it where you would keep a password.
    """
    from leeward.app.local.backups import back_up

    summary = back_up(settings.layout, member, file)
    click.echo(f"{file}: {summary.objects} objects at revision {summary.revision}, and the keys they go with")
    click.echo("it holds Secrets and private keys in clear (mode 0600): who has it, has the fleet")
