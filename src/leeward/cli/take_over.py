"""`leeward take-over`"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubeapi.urls import endpoint_fault
from leeward.app.local import FleetError
from leeward.cli.confirming import is_confirmed
from leeward.cli.connections import Target, ask, operator_options, target_of
from leeward.cli.output import say, say_aside, say_next
from leeward.cli.parameters import Number
from leeward.cli.settings import Settings
from leeward.cli.tables import printable

if TYPE_CHECKING:
    from kubeclient import Client
    from leeward.app.local import Layout
    from leeward.core.hub_generation import Generation
    from leeward.operations.take_over import TakenOver


@click.command("take-over")
@click.option(
    "--port", type=Number(1, 65535), help="Port of a hub that is made of a standby's copy.  [default: as before]"
)
@click.option("--hub-before", default="", help="Address of the hub before.  [default: where it is published]")
@click.option(
    "--force",
    is_flag=True,
    help="Also while the hub before answers, when members obey a newer one, or most are silent.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@operator_options
@click.pass_obj
def take_over(
    settings: Settings, port: int | None, hub_before: str, force: bool, yes: bool, kubeconfig: Path | None, context: str
) -> None:
    """Make this copy of a control plane the hub.

    In a data directory of `leeward standby` the control plane is made of its newest copy, and started. Else it is one
    that runs.

    Its generation is raised. Members note it, and from then on refuse every copy with an older one: a hub that comes
    back does nothing there, and evicts nothing. Members that do not answer now are told before anything is written
    there.

    It is refused while the hub before still answers, where members obey a newer hub than this store knows, and where
    most are silent: this machine may be cut off. The exit code is 1 where a member obeys another hub.
    """
    layout = settings.layout
    if hub_before and (not hub_before.startswith("https://") or endpoint_fault(hub_before)):
        raise FleetError(f"--hub-before: {hub_before!r} is no address: give https://HOST:PORT")
    if kubeconfig is None and not context and layout.standby.is_dir() and not layout.fleet_file.exists():
        _confirm(f"the copy in {layout.standby}", yes=yes)
        generation = _start_copy(layout, port, hub_before, force=force)
        target = target_of(settings, None, "")
    else:
        generation = None
        target = target_of(settings, kubeconfig, context)
        _confirm(target.name, yes=yes)
    done = ask(target, lambda client: _take_over(client, target, generation, hub_before, force=force))
    members = len(done.fenced) + len(done.refusing) + len(done.away)
    part = f" of {len(done.fenced)} of {members} members" if len(done.fenced) < members else ""
    say(f"{target.name} is the hub{part}: generation {done.generation.number}")
    say_members(done)
    say_next("leeward status")
    if done.refusing:
        raise FleetError(f"members obey another hub: {', '.join(map(printable, done.refusing))}")


def _confirm(name: str, *, yes: bool) -> None:
    if not is_confirmed(f"Make {name} the hub, and have members refuse the one before?", yes=yes):
        raise click.Abort


def _start_copy(layout: "Layout", port: int | None, before: str, *, force: bool) -> "Generation":
    """Starts the control plane of the newest copy, and returns its generation. Raises: FleetError."""
    from kubeapi.loop import Randomness
    from kubeclient import WorldError
    from leeward.app.local.planning import UpRequest
    from leeward.app.local.standby_copies import found_hub
    from leeward.app.local.starting import start_fleet
    from leeward.operations.errors import OperationFailed

    try:
        generation = found_hub(layout, port, before, force=force)
    except (WorldError, OperationFailed) as error:
        raise FleetError(str(error)) from error
    started = start_fleet(layout, UpRequest(), Randomness(), say_aside)
    say(f"the control plane serves at https://127.0.0.1:{started.fleet.control_plane_port}")
    return generation


async def _take_over(
    client: "Client", target: Target, generation: "Generation | None", before: str, *, force: bool
) -> "TakenOver":
    """`generation`: it is raised already. Raises: FleetError, WorldError, OperationFailed."""
    from kubeapi.loop import Randomness, SystemClock
    from leeward.app.cluster_info import refuse_hub_before
    from leeward.app.member_clients import whoever_obeys
    from leeward.operations.take_over import fence_members
    from leeward.operations.take_over import take_over as make_hub

    if not force and generation is None:
        await refuse_hub_before(client, target.connection.server, before)
    reach = whoever_obeys(client)
    if generation is not None:
        return await fence_members(client, reach, generation)
    return await make_hub(client, reach, SystemClock(), Randomness(), force=force)


def say_members(done: "TakenOver") -> None:
    """Says which members refuse the hub before by now, and which will."""
    if done.fenced:
        say(f"members that refuse older hubs: {', '.join(map(printable, done.fenced))}")
    for name, why in done.refusing.items():
        say(printable(f"{name} refuses this hub: {why}"))
    for name, why in done.away.items():
        say(printable(f"{name} does not refuse older hubs yet: {why}"))
