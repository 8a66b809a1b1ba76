"""`leeward up`"""

from contextlib import suppress
from functools import partial

import click

from kubeapi.loop import Randomness
from leeward.app.local import FleetError, Layout
from leeward.app.local.dashboard_process import is_built, link_of, runs
from leeward.app.local.fleet import MAX_NODES, MIN_NODES, LocalFleet, MemberRequest, TimingName
from leeward.app.local.planning import AlreadyRunning, UpRequest
from leeward.app.local.starting import Started, start_fleet, stop_fleet, watch_fleet
from leeward.app.local.supervising import supervise_fleet
from leeward.cli.flags import component_flags, written_flags
from leeward.cli.interrupts import interrupt_on_termination
from leeward.cli.output import say, say_aside, say_next
from leeward.cli.parameters import NewMember, Number
from leeward.cli.proposals import for_same_fleet
from leeward.cli.settings import Settings
from leeward.cli.tables import render_table


@click.command()
@click.option(
    "--member",
    "members",
    type=NewMember(),
    multiple=True,
    metavar="NAME[=push|pull]",
    help="A member to start; repeatable.  [default: member1 member2 member3=pull, or those that are there]",
)
@click.option("--port", type=Number(1, 65535), help="The control plane's port.  [default: a free one]")
@click.option(
    "--timing",
    type=click.Choice(["karmada", "fast"]),
    help="Karmada's time-outs (minutes), or a few seconds each.  [default: karmada, or as it was]",
)
@click.option("--nodes", type=Number(MIN_NODES, MAX_NODES), help="Nodes of each member.  [default: 2, or as it was]")
@click.option(
    "--load-balancers/--no-load-balancers",
    default=None,
    help="Give LoadBalancer Services and Ingresses of members addresses.  [default: yes, or as it was]",
)
@component_flags("up")
@click.option(
    "--dashboard/--no-dashboard", default=None, help="Serve the dashboard, too.  [default: where its page is built]"
)
@click.option("--detach", is_flag=True, help="Return when all is ready, and leave it running.")
@click.option("--supervise", is_flag=True, help="Start again what dies by itself, for as long as this command runs.")
@click.pass_context
def up(
    context: click.Context,
    members: tuple[MemberRequest, ...],
    port: int | None,
    timing: TimingName | None,
    nodes: int | None,
    load_balancers: bool | None,
    dashboard: bool | None,
    detach: bool,
    supervise: bool,
) -> None:
    """Start a control plane and member clusters.

    On a data directory that was used before, this starts what was there, with the members that are named added. Flags
    of the components are kept there too. Where the control plane died by itself, members that were stopped before stay
    so, unless they are named.
    """
    if detach and supervise:
        raise click.UsageError("--supervise needs somebody who looks: leave --detach out, and run it under systemd")
    layout = context.ensure_object(Settings).layout
    interrupt_on_termination()
    request = UpRequest(members, port, timing, written_flags(context), _page(dashboard), nodes, load_balancers)
    started = _start(layout, request)
    if detach:
        _announce(layout, started)
        return
    try:
        _announce(layout, started)
        say("\nrunning; Ctrl-C stops everything")
        if supervise:
            supervise_fleet(layout, partial(say, err=True))
        else:
            watch_fleet(layout)
    except KeyboardInterrupt:
        with suppress(BrokenPipeError):
            say("\nstopping")
        stop_fleet(layout)
    except (FleetError, BrokenPipeError):
        stop_fleet(layout)
        raise


def _page(wish: bool | None) -> bool:
    return is_built() if wish is None else wish


def _start(layout: Layout, request: UpRequest) -> Started:
    """Raises: FleetError."""
    try:
        return start_fleet(layout, request, Randomness(), say_aside)
    except AlreadyRunning as refusal:
        _say_ways_in(layout, refusal.fleet, with_dashboard=runs(layout))
        raise


def _announce(layout: Layout, started: Started) -> None:
    fleet, late, upgraded, stopped = started
    if upgraded:
        say(f"{upgraded}\n")
    rows = [("control-plane", "", f"https://127.0.0.1:{fleet.control_plane_port}", "serving")]
    for member in fleet.members:
        state = "stopped" if member.name in stopped else late.get(member.name, "ready")
        rows.append((member.name, member.mode, f"https://127.0.0.1:{member.port}", state))
    say(render_table(("NAME", "MODE", "ADDRESS", "STATE"), rows))
    say()
    _say_ways_in(layout, fleet, with_dashboard=fleet.dashboard_port != 0)
    for name in sorted(stopped):
        say(f"{name} was stopped, and stays so: `{for_same_fleet(f'leeward member start {name}')}` starts it")
    say_next(f"export KUBECONFIG={layout.kubeconfig}", "kubectl get clusters")


def _say_ways_in(layout: Layout, fleet: LocalFleet, *, with_dashboard: bool) -> None:
    say(f"kubeconfig: {layout.kubeconfig}")
    if with_dashboard:
        say(f"dashboard:  {link_of(layout, fleet)}")
