"""`leeward backup`"""

from pathlib import Path

import click

from kubeapi.named_files import is_regular, is_standard_output
from leeward.app.local import FleetError, Layout
from leeward.cli.connections import Target, operator_options, target_of
from leeward.cli.named_files import OutputFile
from leeward.cli.output import say, say_next
from leeward.cli.settings import Settings


@click.command()
@click.argument("file", type=OutputFile())
@click.option("--member", default="", metavar="NAME", help="Back up a member.  [default: the control plane]")
@operator_options
@click.pass_obj
def backup(settings: Settings, file: Path, member: str, kubeconfig: Path | None, context: str) -> None:
    """Copy all objects into a file, while everything runs.

    It is those of the control plane, or of one member, with the keys that a restore on a new machine needs. FILE holds
    Secrets and private keys in clear, so only its owner can read it: keep it where you would keep a password.
    `-` is standard output.

    A backup is a copy of the store, so it is taken where the store is. Of a kube-apiserver that is etcd: the command
    says how, and writes nothing.
    """
    from leeward.app.local.backups import back_up

    layout = _layout_of(target_of(settings, kubeconfig, context), settings)
    is_output = is_standard_output(file)
    try:
        summary = back_up(layout, member, file)
    except OSError as error:
        raise FleetError(f"the backup {file} cannot be written: {error.strerror or error}") from error
    say(f"{file}: {summary.objects} objects at revision {summary.revision}, and the keys they go with", err=is_output)
    mode = " (mode 0600)" if is_regular(file) else ""
    say(f"it holds Secrets and private keys in clear{mode}: who has it, has the fleet", err=is_output)
    if is_regular(file):
        say_next(f"leeward restore {file}, which brings it back")


def _layout_of(target: Target, settings: Settings) -> Layout:
    """Layout in which the store of the control plane is. Raises: FleetError when it is not on this machine."""
    if target.layout is not None:
        return target.layout
    if settings.layout.fleet_file.exists():
        from leeward.app.local.control_plane import administrators_connection

        own = administrators_connection(settings.layout)
        asked = (target.connection.server.rstrip("/"), target.connection.certificate_authority)
        if asked == (own.server, own.certificate_authority):
            return settings.layout
    raise FleetError(
        f"nothing is backed up: {target.connection.server} keeps its objects in a store of its own, which no client "
        "can copy whole. Behind a kube-apiserver take a snapshot of its etcd (`etcdctl snapshot save FILE`) and keep "
        "its keys with it; of a fleet of `leeward up`, run `leeward backup FILE --data-dir DIR` where it runs"
    )
