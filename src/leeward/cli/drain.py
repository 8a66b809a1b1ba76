"""`leeward drain`"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubeapi.loop import Deadline
from leeward.app.local import FleetError
from leeward.cli.connections import Target, ask, operator_options, target_of
from leeward.cli.output import say, say_next
from leeward.cli.parameters import Duration, Number
from leeward.cli.settings import Settings
from leeward.cli.tables import printable

if TYPE_CHECKING:
    from kubeclient import Client
    from leeward.operations.drain import Copy

POLL_SECONDS = 0.5


@click.command()
@click.argument("cluster")
@click.option("--timeout", type=Duration(), default="15m", show_default=True, metavar="DURATION", help="Look so long.")
@click.option("--budget", type=Number(0), help="Move so many at the same time, 0: all.  [default: all, or as it was]")
@click.option("--undo", is_flag=True, help="Take the drain back; a cordon stays.")
@operator_options
@click.pass_obj
def drain(
    settings: Settings,
    cluster: str,
    timeout: float,
    budget: int | None,
    undo: bool,
    kubeconfig: Path | None,
    context: str,
) -> None:
    """Move everything out of a cluster, gracefully.

    A copy goes when its replacement is healthy elsewhere; with a budget the next one follows then. Ctrl-C and the
    timeout end the looking, not the drain, which `--undo` and `leeward uncordon` take back.
    """
    target = target_of(settings, kubeconfig, context)
    if undo:
        _undo(target, cluster)
        return
    begun = list[str]()

    async def start_and_watch(client: "Client") -> list["Copy"]:
        from leeward.operations.drain import start_drain
        from leeward.operations.taints import DRAIN

        await start_drain(client, cluster, budget)
        begun.append(cluster)
        say(f"{cluster} is being drained (taint {DRAIN}{f', {budget} at a time' if budget else ''})")
        return await _watch(client, cluster, Deadline(timeout))

    try:
        staying = ask(target, start_and_watch)
    except KeyboardInterrupt:
        if begun:
            say(f"the drain goes on; `leeward uncordon {cluster}` takes it back")
        raise
    say(
        f"{cluster} is drained"
        + (f", but for {len(staying)} that {'stays' if len(staying) == 1 else 'stay'}" if staying else "")
    )
    say_next(f"leeward drain {cluster} --undo, which takes it back", f"leeward unjoin {cluster}, which lets it leave")


def _undo(target: Target, cluster: str) -> None:
    async def undo(client: "Client") -> tuple[bool, list[str]]:
        from leeward.operations.drain import copies_in, undo_drain

        changed = await undo_drain(client, cluster)
        return changed, [copy.workload for copy in await copies_in(client, cluster) if copy.moving]

    changed, moving = ask(target, undo)
    say(f"{cluster} is no longer drained" if changed else f"{cluster} was not being drained")
    say_next(f"leeward uncordon {cluster}, where it is cordoned, too", "leeward status")
    if moving:
        names = printable(", ".join(moving))
        say(f"  under way, each stays unless its replacement is healthy first: {names}")


async def _watch(client: "Client", cluster: str, deadline: Deadline) -> list["Copy"]:
    """Tells every change until only what stays is left, and returns that. Raises: FleetError at the deadline."""
    from leeward.operations.drain import copies_in

    told: dict[str, str] = {}
    most, reported = 0, ""
    while True:
        copies = await copies_in(client, cluster)
        most = max(most, len(copies))
        _tell(told, {copy.workload: copy.state for copy in copies})
        left = [copy.workload for copy in copies if not copy.staying]
        if not left:
            return copies
        progress = f"{most - len(copies)} of {most - len(copies) + len(left)} moved"
        if progress != reported and most > len(copies):
            say(f"  {progress}")
        reported = progress
        if deadline.has_passed:
            raise FleetError(
                f"{cluster} is not drained yet, {printable(', '.join(left))} are still in it: the drain goes on; look "
                f"again with `leeward drain {cluster}`, or take it back with `leeward uncordon {cluster}`"
            )
        await rest()


async def rest() -> None:
    """Waits until the next look."""
    await asyncio.sleep(POLL_SECONDS)


def _tell(told: dict[str, str], states: dict[str, str]) -> None:
    """Prints the changes since, and takes them into `told`."""
    for workload in sorted(told.keys() - states.keys()):
        say(f"  {printable(workload)}: moved")
        del told[workload]
    for workload, state in states.items():
        if told.get(workload) != state:
            say(f"  {printable(workload)}: {printable(state)}")
    told.update(states)
