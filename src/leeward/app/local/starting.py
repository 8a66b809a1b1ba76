"""Starting a fleet and stopping it: `up` and `down`.

Under another version of Leeward than the one that ran a data directory last, each component is backed up before
anything is started: what a version can read it may write in a way that the one before cannot. `leeward restore`
brings it back. No copy is ever deleted."""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from kubeapi.loop import Randomness, SystemClock
from leeward import __version__
from leeward.api.resource import CLUSTERS
from leeward.app.config import SIGNING_KEY_FILE
from leeward.app.local import processes
from leeward.app.local.api import AdminClient
from leeward.app.local.archive import STORE
from leeward.app.local.backup_writing import directory_of, write_backup
from leeward.app.local.components import command_of
from leeward.app.local.credentials import issue_credentials
from leeward.app.local.dashboard_process import spawn_dashboard
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import LocalFleet, Member, save_fleet
from leeward.app.local.layout import CONTROL_PLANE, Layout, agent_of
from leeward.app.local.lock import fleet_lock
from leeward.app.local.logs import fatal_reason, last_lines
from leeward.app.local.planning import UpRequest, plan_fleet, stopped_members
from leeward.app.local.processes import State
from leeward.app.local.registration import (
    identity_of,
    join_push_member,
    joined_as,
    offer_pull_member,
    wait_ready_clusters,
)
from leeward.app.local.waiting import wait_until

Tell = Callable[[str], None]
"""Function that is given a line about what is being waited for."""
START_SECONDS = 60.0
LOCK_SECONDS = 60.0
WATCH_SECONDS = 0.5


class Started(NamedTuple):
    """A fleet that runs. `late` says why clusters are not Ready; `upgraded` names the copy of another version.

    `stopped` are members that were stopped on purpose, and stay so.
    """

    fleet: LocalFleet
    late: dict[str, str]
    upgraded: str
    stopped: frozenset[str] = frozenset()


def in_silence(doing: str) -> None:
    """Tells nobody."""


def start_fleet(layout: Layout, request: UpRequest, randomness: Randomness, tell: Tell = in_silence) -> Started:
    """Starts everything and joins it. A store of another version is copied before.

    When it fails, or is interrupted, nothing is left running. Raises: FleetError.
    """
    with fleet_lock(layout, create=True):
        planned, stopped = plan_fleet(layout, request, randomness), stopped_members(layout, request)
        upgraded = keep_before_upgrade(layout, planned, SystemClock().now())
        fleet = msgspec.structs.replace(planned, leeward=__version__)
        save_fleet(layout, fleet)
        issue_credentials(layout, fleet, randomness)
        try:
            return Started(fleet, _start_all(layout, fleet, stopped, tell), upgraded, stopped)
        except BaseException:
            processes.terminate(layout, processes.remembered_components(layout))
            raise


def stop_fleet(layout: Layout) -> list[str]:
    """Stops everything that runs, and returns its names.

    Raises: FleetError when a process cannot be ended, or, when all others are, one is not known.
    """
    running, known, problems = list[str](), list[str](), list[str]()
    with fleet_lock(layout, LOCK_SECONDS):
        for name in processes.remembered_components(layout):
            try:
                running += [name] if processes.find_process(layout, name) is not None else []
                known.append(name)
            except FleetError as error:
                problems.append(str(error))
        processes.terminate(layout, known)
    if problems:
        raise FleetError(f"{'; '.join(problems)}; all else is stopped: {', '.join(running) or 'nothing ran'}")
    return running


def start_components(layout: Layout, components: Iterable[str]) -> None:
    """Starts those that do not run, and waits until they serve.

    Raises: FleetError with the end of the log, or where the store of one is lost.
    """
    started = [name for name in components if processes.find_process(layout, name) is None]
    refuse_lost_stores(layout, started)
    for name in started:
        processes.spawn(layout, name, command_of(layout, name), os.environ)
    for name in started:
        _wait_ready(layout, name)


def watch_fleet(layout: Layout, pause: Callable[[float], None] = time.sleep) -> None:
    """Returns when `leeward down` stopped the fleet. Raises: FleetError when the control plane died by itself."""
    while processes.state_of(layout, CONTROL_PLANE) is not State.STOPPED:
        for component in processes.remembered_components(layout):
            processes.state_of(layout, component)
        pause(WATCH_SECONDS)
    with fleet_lock(layout, LOCK_SECONDS):
        died = CONTROL_PLANE in processes.remembered_components(layout)
    if died:
        raise FleetError(_with_log(layout, CONTROL_PLANE, "the control plane died"))


def join_members(layout: Layout, fleet: LocalFleet, members: Sequence[Member]) -> dict[str, str]:
    """Joins members whose API servers run; returns a message for each that is not Ready in time, by name.

    Raises: FleetError.
    """
    api = AdminClient(layout, fleet.control_plane_port, START_SECONDS)
    try:
        ids = {member.name: _identity(api, layout, member) for member in members}
        elsewhere = {name: other for name in ids if (other := joined_as(api, name, ids[name]))}
        joining = [member for member in members if member.name not in elsewhere]
        for member in joining:
            if member.mode == "push":
                join_push_member(api, layout, member, ids[member.name])
        start_components(layout, [agent_of(member.name) for member in joining if member.mode == "pull"])
        late = wait_ready_clusters(api, {member.name for member in joining})
        for member in joining:
            if member.mode == "pull" and api.find(CLUSTERS.path(name=member.name)) is not None:
                offer_pull_member(api, layout, member, ids[member.name])
    finally:
        api.close()
    return dict.fromkeys(sorted(late), "not ready yet") | {name: f"joined as {elsewhere[name]}" for name in elsewhere}


def _identity(api: AdminClient, layout: Layout, member: Member) -> str:
    """Identity of a member; empty for one that has joined before and does not tell it now. Raises: FleetError."""
    try:
        return identity_of(layout, member)
    except FleetError:
        if api.find(CLUSTERS.path(name=member.name)) is None:
            raise
        return ""


def _start_all(layout: Layout, fleet: LocalFleet, stopped: frozenset[str], tell: Tell) -> dict[str, str]:
    """Starts all processes but those of `stopped`. Nobody waits for the dashboard: no other process needs it."""
    members = [member for member in fleet.members if member.name not in stopped]
    names = [member.name for member in members]
    tell(f"starting the API servers of the control plane and of {', '.join(names) or 'no member'}")
    start_components(layout, [CONTROL_PLANE, *names])
    if fleet.dashboard_port:
        spawn_dashboard(layout, fleet)
    tell("joining the members, and waiting until they are Ready")
    return join_members(layout, fleet, members)


def _wait_ready(layout: Layout, component: str) -> None:
    def settled() -> bool:
        return layout.ready_file(component).exists() or processes.state_of(layout, component) is State.STOPPED

    in_time = wait_until(settled, START_SECONDS)
    if layout.ready_file(component).exists():
        return
    what = "ended while it started" if in_time else f"did not serve within {START_SECONDS:g} seconds"
    raise FleetError(_with_log(layout, component, f"{component} {what}"))


def _with_log(layout: Layout, component: str, problem: str) -> str:
    path = layout.log(component)
    if reason := fatal_reason(path):
        return f"{problem}: {reason}"
    lines = last_lines(path, 5)
    return "\n  ".join([f"{problem}; the end of {path}:", *lines]) if lines else f"{problem}; {path} is empty"


def refuse_lost_stores(layout: Layout, components: Iterable[str]) -> None:
    """Raises: FleetError where the store of one is missing or empty, and its key says that it had one."""
    for name in components:
        directory = directory_of(layout, name)
        store = directory / STORE
        if not (directory / SIGNING_KEY_FILE).exists() or (store.exists() and store.stat().st_size):
            continue
        what = "is empty" if store.exists() else "is missing"
        if name == CONTROL_PLANE:
            way_out = "`leeward restore FILE` puts a backup in its place, and another --data-dir has a new fleet"
        else:
            way_out = (
                f"`leeward restore FILE --member {name}` puts a backup in its place, and without the directory "
                f"{directory} it is a new and empty cluster"
            )
        raise FleetError(f"{store} {what}, and {name} ran here before: all its objects would be gone; {way_out}")


UNNAMED = "unnamed"
"""A version that did not write its name into fleet.json."""


def keep_before_upgrade(layout: Layout, fleet: LocalFleet, now: datetime) -> str:
    """Backs up each component whose objects another version has written; a sentence that says so, empty when none has.

    Raises: FleetError when a copy cannot be written: then nothing has been changed.
    """
    if fleet.leeward == __version__:
        return ""
    before = fleet.leeward or UNNAMED
    directory = layout.upgrades / f"from-{before}-{now:%Y%m%d-%H%M%S}"
    kept = [
        name
        for name in (CONTROL_PLANE, *(each.name for each in fleet.members))
        if (directory_of(layout, name) / STORE).exists()
    ]
    if not kept:
        return ""
    try:
        directory.mkdir(parents=True, mode=0o700)
    except OSError as error:
        raise FleetError(f"{directory} cannot be made, to keep a copy in: {error.strerror or error}") from error
    for name in kept:
        write_backup(layout, name, directory / f"{name}.tar")
    return (
        f"leeward {before} ran this fleet last, and this is {__version__}: nothing had to be migrated; "
        f"as it was, it is kept in {directory} (back with that version: "
        f"`leeward restore {directory}/{CONTROL_PLANE}.tar`)"
    )
