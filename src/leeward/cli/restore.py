"""`leeward restore`"""

from pathlib import Path

import click

from kubeapi.named_files import STANDARD
from leeward.app.local import FleetError
from leeward.cli.confirming import is_confirmed
from leeward.cli.named_files import InputFile
from leeward.cli.output import say, say_next
from leeward.cli.settings import Settings


@click.command()
@click.argument("file", type=InputFile())
@click.option("--member", default="", metavar="NAME", help="Restore a member.  [default: the control plane]")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def restore(settings: Settings, file: Path, member: str, yes: bool) -> None:
    """Put back what was backed up.

    The objects in FILE take the place of all that are there now. What runs is stopped for it, and started again. In a
    directory without a fleet, the fleet that was backed up is made: `leeward up` then starts it.

    `-` is standard input, with --yes.
    """
    from leeward.app.local.backups import restore as put_back

    what = f"member {member}" if member else "the control plane"
    if file == STANDARD and not yes:
        raise FleetError("standard input holds the backup, so that nobody can be asked: give --yes")
    if file != STANDARD and not file.exists():
        raise FleetError(f"{file} does not exist")
    if not is_confirmed(f"Replace all objects of {what}?", yes=yes):
        raise click.Abort
    summary = put_back(settings.layout, member, file)
    say(f"{what}: {summary.objects} objects as of revision {summary.revision}")
    if summary.moved:
        say("ports of the fleet that was backed up are in use: this one has others, which `leeward up` shows")
    say_next("leeward up", "leeward orphans, for what has been made since")
