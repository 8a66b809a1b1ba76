"""`leeward drain`"""

import time

import click

from leeward.api.names import DRAIN_BUDGET_ANNOTATION
from leeward.app.local.api import AdminClient
from leeward.app.local.draining import Copy, copies_in
from leeward.app.local.errors import FleetError
from leeward.app.local.tainting import DRAIN, change_taints, control_plane, with_taint, without_taints
from leeward.cli.parameters import Duration
from leeward.cli.settings import Settings
from leeward.loop.clock import Deadline

POLL_SECONDS = 0.5


@click.command()
@click.argument("cluster")
@click.option("--timeout", type=Duration(), default="15m", show_default=True, metavar="DURATION", help="Look so long.")
@click.option(
    "--budget", type=click.IntRange(0), help="Move so many at the same time, 0: all.  [default: all, or as it was]"
)
@click.option("--undo", is_flag=True, help="Take the drain back; a cordon stays.")
@click.pass_obj
def drain(settings: Settings, cluster: str, timeout: float, budget: int | None, undo: bool) -> None:
    """Move everything out of a cluster, gracefully.

    A copy goes when its replacement is healthy elsewhere; with a budget the next one follows then. Ctrl-C and the
    timeout end the looking, not the drain, which `--undo` and `leeward uncordon` take back.
    """
    if undo:
        _undo(settings, cluster)
        return
    with control_plane(settings.layout) as api:
        annotations = {} if budget is None else {DRAIN_BUDGET_ANNOTATION: str(budget) if budget else None}
        change_taints(api, cluster, with_taint(DRAIN), annotations)
        click.echo(f"{cluster} is being drained (taint {DRAIN}{f', {budget} at a time' if budget else ''})")
        try:
            staying = _watch(api, cluster, Deadline(timeout))
        except KeyboardInterrupt:
            click.echo(f"the drain goes on; `leeward uncordon {cluster}` takes it back")
            raise
    click.echo(f"{cluster} is drained" + (f", but for {len(staying)} that stay" if staying else ""))


def _undo(settings: Settings, cluster: str) -> None:
    with control_plane(settings.layout) as api:
        changed = change_taints(api, cluster, without_taints(DRAIN), {DRAIN_BUDGET_ANNOTATION: None})
        moving = [copy.workload for copy in copies_in(api, cluster) if copy.moving]
    click.echo(f"{cluster} is no longer drained" if changed else f"{cluster} was not being drained")
    if moving:
        click.echo(f"  under way, each stays unless its replacement is healthy first: {', '.join(moving)}")


def _watch(api: AdminClient, cluster: str, deadline: Deadline) -> list[Copy]:
    """Tells every change until only what stays is left, and returns that. Raises: FleetError at the deadline."""
    told: dict[str, str] = {}
    most, reported = 0, ""
    while True:
        copies = copies_in(api, cluster)
        most = max(most, len(copies))
        _tell(told, {copy.workload: copy.state for copy in copies})
        left = [copy.workload for copy in copies if not copy.staying]
        if not left:
            return copies
        progress = f"{most - len(copies)} of {most - len(copies) + len(left)} moved"
        if progress != reported and most > len(copies):
            click.echo(f"  {progress}")
        reported = progress
        if deadline.has_passed:
            raise FleetError(
                f"{cluster} is not drained yet, {', '.join(left)} are still in it: the drain goes on; look again with "
                f"`leeward drain {cluster}`, or take it back with `leeward uncordon {cluster}`"
            )
        time.sleep(POLL_SECONDS)


def _tell(told: dict[str, str], states: dict[str, str]) -> None:
    """Prints what changed since, and takes it into `told`."""
    for workload in sorted(told.keys() - states.keys()):
        click.echo(f"  {workload}: moved")
        del told[workload]
    for workload, state in states.items():
        if told.get(workload) != state:
            click.echo(f"  {workload}: {state}")
    told.update(states)
