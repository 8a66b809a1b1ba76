"""Plan of the fleet that `leeward up` starts: from the directory, the request, and the free ports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from kubeapi.loop import Randomness
from leeward.app.local import processes
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import DEFAULT_MEMBERS, LocalFleet, Member, MemberRequest, TimingName, find_fleet
from leeward.app.local.layout import CONTROL_PLANE, Layout
from leeward.app.local.ports import is_free, pick_port


@dataclass(frozen=True, slots=True)
class UpRequest:
    """Request of the user; empty or None: as it is, or the default. `dashboard`: whether it has one."""

    members: tuple[MemberRequest, ...] = ()
    port: int | None = None
    timing: TimingName | None = None
    flags: Mapping[str, str] = field(default_factory=dict[str, str])
    dashboard: bool = False
    nodes: int | None = None
    load_balancers: bool | None = None


class AlreadyRunning(FleetError):
    """Refusal to start a fleet that runs."""

    def __init__(self, layout: Layout, fleet: LocalFleet) -> None:
        super().__init__(
            f"a fleet is already running in {layout.root}: see `leeward status`, add to it with `leeward member add`, "
            "or stop it with `leeward down`"
        )
        self.fleet = fleet


def plan_fleet(layout: Layout, request: UpRequest, randomness: Randomness) -> LocalFleet:
    """Raises: FleetError when the directory is in use or foreign, a port is taken, or a member has another mode."""
    fleet = find_fleet(layout)
    if fleet is None:
        refuse_foreign_directory(layout)
        timing = request.timing or "karmada"
        fleet = LocalFleet(request.port or pick_port(randomness), timing=timing, flags=request.flags)
        wanted = request.members or DEFAULT_MEMBERS
    else:
        if processes.find_process(layout, CONTROL_PLANE) is not None:
            raise AlreadyRunning(layout, fleet)
        port, timing = request.port or fleet.control_plane_port, request.timing or fleet.timing
        flags = {**fleet.flags, **request.flags}
        fleet = msgspec.structs.replace(fleet, control_plane_port=port, timing=timing, flags=flags)
        wanted = request.members
    fleet = _with_surroundings(fleet, request)
    _refuse_taken_port(layout, fleet, given=request.port is not None)
    for member in wanted:
        fleet = add_to_fleet(fleet, member, randomness)
    return _with_dashboard(_with_free_ports(layout, fleet, randomness), request, randomness)


def add_to_fleet(fleet: LocalFleet, request: MemberRequest, randomness: Randomness) -> LocalFleet:
    """The fleet with the member; unchanged when it is in it. Raises: FleetError when it is there in the other mode."""
    present = next((member for member in fleet.members if member.name == request.name), None)
    if present is None:
        port = pick_port(randomness, taken_ports(fleet))
        return fleet.with_member(Member(request.name, request.mode, port))
    if present.mode != request.mode:
        raise FleetError(
            f"member {request.name} is asked for in {request.mode} mode, but is in {present.mode} mode: "
            f"remove it first (`leeward member remove {request.name}`), or give the new one another name"
        )
    return fleet


def taken_ports(fleet: LocalFleet) -> Sequence[int]:
    return [fleet.control_plane_port, fleet.dashboard_port, *(member.port for member in fleet.members)]


def _with_surroundings(fleet: LocalFleet, request: UpRequest) -> LocalFleet:
    """LocalFleet whose members have the nodes and load balancers that are asked for."""
    nodes = fleet.nodes if request.nodes is None else request.nodes
    balancers = fleet.load_balancers if request.load_balancers is None else request.load_balancers
    return msgspec.structs.replace(fleet, nodes=nodes, load_balancers=balancers)


def _with_dashboard(fleet: LocalFleet, request: UpRequest, randomness: Randomness) -> LocalFleet:
    """LocalFleet with its dashboard as asked for, which keeps its port, unless another program took that meanwhile."""
    if not request.dashboard:
        return msgspec.structs.replace(fleet, dashboard_port=0)
    others = taken_ports(msgspec.structs.replace(fleet, dashboard_port=0))
    if fleet.dashboard_port and fleet.dashboard_port not in others and is_free(fleet.dashboard_port):
        return fleet
    return msgspec.structs.replace(fleet, dashboard_port=pick_port(randomness, others))


def _with_free_ports(layout: Layout, fleet: LocalFleet, randomness: Randomness) -> LocalFleet:
    """Members keep their ports, but for those that another program took while they were stopped."""
    for member in fleet.members:
        runs = processes.find_process(layout, member.name) is not None
        if not runs and (member.port == fleet.control_plane_port or not is_free(member.port)):
            port = pick_port(randomness, taken_ports(fleet))
            fleet = fleet.with_member(msgspec.structs.replace(member, port=port))
    return fleet


def stopped_members(layout: Layout, request: UpRequest) -> frozenset[str]:
    """The members that somebody stopped before the control plane died by itself: nothing of them is remembered.

    After `leeward down`, which forgets all, there are none, and those that are named now are to run.
    """
    fleet, remembered = find_fleet(layout), set(processes.remembered_components(layout))
    if fleet is None or CONTROL_PLANE not in remembered:
        return frozenset()
    stopped = {member.name for member in fleet.members if remembered.isdisjoint(member.components)}
    return frozenset(stopped - {member.name for member in request.members})


def refuse_foreign_directory(layout: Layout, known: Sequence[Path] = ()) -> None:
    """Raises: FleetError when the data directory holds something, and no fleet."""
    others = [entry for entry in layout.root.iterdir() if entry not in (layout.lock_file, *known)]
    if others:
        raise FleetError(f"{layout.root} is not empty and holds no fleet: give another --data-dir")


def _refuse_taken_port(layout: Layout, fleet: LocalFleet, *, given: bool) -> None:
    port = fleet.control_plane_port
    if not is_free(port):
        whose = "" if given else ", which the control plane of this fleet had,"
        raise FleetError(f"port {port}{whose} is in use by another program: give another one with --port")
