"""Members of a running fleet: they come and go, and die in five ways.

`kill`, `pause`, `make_unready`, `stall` and `slow_down` do to a member what the world does to a cluster; `revive`,
`resume`, `make_ready` and `serve` undo it.
"""

import logging
import shutil
from collections.abc import Sequence
from contextlib import closing
from typing import Literal

import msgspec

from kubeapi.loop import Randomness
from leeward.api.resource import CLUSTERS
from leeward.app.local import processes
from leeward.app.local.api import AdminClient
from leeward.app.local.credentials import delete_credentials, issue_credentials, write_kubeconfig
from leeward.app.local.errors import FleetError
from leeward.app.local.faults import read_faults, write_faults
from leeward.app.local.fleet import LocalFleet, Member, MemberRequest, load_fleet, save_fleet
from leeward.app.local.layout import CONTROL_PLANE, Layout, agent_of
from leeward.app.local.lock import fleet_lock
from leeward.app.local.planning import add_to_fleet
from leeward.app.local.ports import is_free
from leeward.app.local.processes import State
from leeward.app.local.registration import identity_of, joined_as, leave, offer_anew, take_back
from leeward.app.local.starting import LOCK_SECONDS, join_members, start_components

log = logging.getLogger(__name__)

Part = Literal["apiserver", "agent"]


def add_member(layout: Layout, request: MemberRequest, randomness: Randomness) -> bool:
    """Adds a member and joins it; returns whether it is Ready. One of the fleet that has left joins again.

    When it does not start or join, nothing of a new one is left. Raises: FleetError.
    """
    with fleet_lock(layout, LOCK_SECONDS):
        before = _running_fleet(layout)
        is_new = all(member.name != request.name for member in before.members)
        fleet = add_to_fleet(before, request, randomness)
        member = fleet.member(request.name)
        _refuse_joined(layout, fleet, member, is_new=is_new)
        save_fleet(layout, fleet)
        try:
            issue_credentials(layout, fleet, randomness)
            if not is_new and member.mode == "pull":
                processes.terminate(layout, [agent_of(member.name)])
            start_components(layout, [member.name])
            return _join(layout, fleet, member)
        except BaseException:
            if is_new:
                _give_up(layout, fleet, member)
            raise


def remove_member(layout: Layout, name: str, *, force: bool = False) -> None:
    """Takes the member out of the fleet, and deletes its data. Raises: FleetError when it does not leave."""
    with fleet_lock(layout, LOCK_SECONDS):
        fleet = _running_fleet(layout)
        member = fleet.member(name)
        api = AdminClient(layout, fleet.control_plane_port)
        if force:
            processes.terminate(layout, member.components)
        leave(api, member, force=force)
        api.close()
        _delete_member(layout, fleet, member)


def kill(layout: Layout, name: str, only: Part | None = None) -> None:
    """The processes end without a goodbye: connections are refused."""
    with fleet_lock(layout, LOCK_SECONDS):
        processes.kill(layout, _parts(load_fleet(layout).member(name), only))


def revive(layout: Layout, name: str, only: Part | None = None) -> None:
    """Starts a killed member. Raises: FleetError when it is paused, or its port was taken."""
    with fleet_lock(layout, LOCK_SECONDS):
        member = _running_fleet(layout).member(name)
        parts = _parts(member, only)
        for part in parts:
            if processes.state_of(layout, part) is State.PAUSED:
                raise FleetError(f"{part} is paused, not stopped: `leeward member resume {name}`")
        if name in parts and processes.find_process(layout, name) is None and not is_free(member.port):
            raise FleetError(
                f"port {member.port}, which {name} had, is in use by another program: end that, "
                "or restart the fleet (`leeward down`, `leeward up`), and the member gets another port"
            )
        for part in parts:
            start_components(layout, [part])
        if agent_of(name) in parts:
            _offer_anew(layout, member)


def pause(layout: Layout, name: str, only: Part | None = None) -> None:
    """The processes are frozen: connections hang."""
    for part in _parts(load_fleet(layout).member(name), only):
        processes.pause(layout, part)


def resume(layout: Layout, name: str, only: Part | None = None) -> None:
    for part in _parts(load_fleet(layout).member(name), only):
        processes.resume(layout, part)


def make_unready(layout: Layout, name: str) -> None:
    """/readyz answers 500."""
    _change_faults(layout, name, unready=True)


def make_ready(layout: Layout, name: str) -> None:
    _change_faults(layout, name, unready=False)


def stall(layout: Layout, name: str) -> None:
    """/readyz answers ok, and reads and writes get no answer."""
    _change_faults(layout, name, stalled=True)


def serve(layout: Layout, name: str) -> None:
    _change_faults(layout, name, stalled=False)


def slow_down(layout: Layout, name: str, latency_seconds: float) -> None:
    """Lets every answer come `latency_seconds` later; 0 ends it."""
    _change_faults(layout, name, latency_seconds=latency_seconds)


def _change_faults(layout: Layout, name: str, **changes: bool | float) -> None:
    with fleet_lock(layout, LOCK_SECONDS):
        path = layout.faults(load_fleet(layout).member(name).name)
        write_faults(path, msgspec.structs.replace(read_faults(path), **changes))


def _refuse_joined(layout: Layout, fleet: LocalFleet, member: Member, *, is_new: bool) -> None:
    """Refuses a name that is taken, before anything is done. Raises: FleetError when a Cluster has it."""
    with closing(AdminClient(layout, fleet.control_plane_port)) as api:
        cluster = api.find(CLUSTERS.path(name=member.name))
    if cluster is not None and is_new:
        raise FleetError(f"a cluster has joined as {member.name} already: give another name")
    if cluster is not None:
        raise FleetError(f"there is a member {member.name} in this fleet already: give another name")


def _join(layout: Layout, fleet: LocalFleet, member: Member) -> bool:
    """Returns whether it is Ready. Raises: FleetError."""
    with closing(AdminClient(layout, fleet.control_plane_port)) as api:
        if other := joined_as(api, member.name, identity_of(layout, member)):
            raise FleetError(f"{member.name} has joined already, as {other}: let {other} leave first")
    return not join_members(layout, fleet, [member])


def _give_up(layout: Layout, fleet: LocalFleet, member: Member) -> None:
    """Leaves nothing of a member that could not be added: no process, no file, no Cluster, no Secret."""
    try:
        cluster_id = identity_of(layout, member)
    except FleetError:
        cluster_id = ""
    processes.terminate(layout, member.components)
    try:
        with closing(AdminClient(layout, fleet.control_plane_port)) as api:
            take_back(api, member, cluster_id)
    except FleetError as error:
        log.warning("what was made for %s in the control plane could not be taken back: %s", member.name, error)
    _delete_member(layout, fleet, member)


def _offer_anew(layout: Layout, member: Member) -> None:
    """An agent that joins its cluster again does not say how users reach it; who started it does."""
    try:
        with closing(AdminClient(layout, load_fleet(layout).control_plane_port)) as api:
            offer_anew(api, layout, member, identity_of(layout, member))
    except FleetError as error:
        log.warning("the cluster proxy may not reach %s: %s", member.name, error)


def _delete_member(layout: Layout, fleet: LocalFleet, member: Member) -> None:
    processes.terminate(layout, member.components)
    without = fleet.without_member(member.name)
    save_fleet(layout, without)
    write_kubeconfig(layout, without)
    delete_credentials(layout, member.name)
    shutil.rmtree(layout.member(member.name), ignore_errors=True)
    for component in member.components:
        layout.log(component).unlink(missing_ok=True)


def _running_fleet(layout: Layout) -> LocalFleet:
    fleet = load_fleet(layout)
    if processes.find_process(layout, CONTROL_PLANE) is None:
        raise FleetError(f"the fleet in {layout.root} does not run: start it with `leeward up`")
    return fleet


def _parts(member: Member, only: Part | None) -> Sequence[str]:
    if only == "agent" and member.mode == "push":
        raise FleetError(f"{member.name} is a Push member: it has no agent; leave out --only")
    match only:
        case None:
            return member.components
        case "apiserver":
            return (member.name,)
        case "agent":
            return (agent_of(member.name),)
