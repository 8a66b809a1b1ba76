"""`leeward standby`"""

import shlex
import time
from pathlib import Path

import click

from kubeapi.loop import SystemClock
from leeward.app.local import FleetError
from leeward.cli.output import complain, say, say_next
from leeward.cli.parameters import Duration
from leeward.cli.settings import Settings

FRESH, OLD, NONE = 0, 1, 2


@click.command()
@click.option("--from", "source", type=click.Path(path_type=Path), help="Data directory of the control plane to copy.")
@click.option("--command", default="", help="Command that writes a backup to standard output, instead of --from.")
@click.option("--interval", type=Duration(), default="1m", show_default=True, help="Pause between two copies.")
@click.option("--max-age", type=Duration(), default="5m", show_default=True, help="Age from which a copy is too old.")
@click.option("--once", is_flag=True, help="Take one copy, and end.")
@click.pass_obj
def standby(settings: Settings, source: Path | None, command: str, interval: float, max_age: float, once: bool) -> None:
    """Keep a fresh copy of a control plane, for `leeward take-over`.

    The copy is kept in the data directory of this machine, with the one before it. It holds Secrets and private keys
    in clear. While none can be taken, the last one stays, and its age is told.

    With neither --from nor --command the age of the copy is shown: exit code 1 when it is too old, 2 when there is
    none.

    Behind a kube-apiserver the copy is that of etcd, by a mirror or `etcdctl snapshot`, and needs no standby here.
    """
    from leeward.app.local.standby_copies import take_copy

    layout = settings.layout
    if source is not None and command:
        raise click.UsageError("--from and --command both say where the copy comes from: give one of them")
    words: Path | list[str] | None = source.absolute() if source is not None else shlex.split(command) or None
    if words is None:
        click.get_current_context().exit(_shown_age(settings, max_age))
    while True:
        try:
            copy = take_copy(layout, words, SystemClock().now())
            say(f"copy of {copy.taken_at:%Y-%m-%d %H:%M:%S} UTC in {layout.standby}")
        except FleetError as error:
            if once or layout.fleet_file.exists():
                raise
            complain(f"no newer copy: {error}")
            _shown_age(settings, max_age)
        if once:
            say_next("leeward take-over")
            return
        time.sleep(interval)


def _shown_age(settings: Settings, max_age: float) -> int:
    """The exit code; says how old the copy is."""
    from leeward.app.local.standby_copies import newest_copy

    try:
        seconds = (SystemClock().now() - newest_copy(settings.layout).taken_at).total_seconds()
    except FleetError as error:
        complain(str(error))
        return NONE
    say(f"the copy is {seconds:.0f} s old{', which is too old' if seconds > max_age else ''}")
    return OLD if seconds > max_age else FRESH
