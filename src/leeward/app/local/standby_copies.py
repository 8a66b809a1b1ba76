"""Copies of another control plane that a standby keeps, and the fleet that is made of the newest one.

A copy is read to its end before it takes the place of the one before, which stays beside it: two are kept. While no
newer one can be had, the last good copy stays, and its age says so.
"""

import asyncio
import os
import resource
import subprocess
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

import msgspec

from kubeapi.files import PRIVATE, write_file
from kubeapi.loop import Randomness, Supervisor, SystemClock
from kubeclient import Client
from kubeserver.inprocess import InProcessTransport
from kubeserver.starting import start_apiserver
from kubeserver.store import Store
from kubeserver.store.sqlite import SqliteMedium
from leeward.api.schema import custom_resource_definitions
from leeward.app.cluster_info import refuse_hub_before
from leeward.app.local.archive import MAX_ARCHIVE_BYTES, STORE
from leeward.app.local.backup_writing import write_backup
from leeward.app.local.backups import checked, found_fleet
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import find_fleet, load_fleet
from leeward.app.local.layout import CONTROL_PLANE, Layout
from leeward.app.local.lock import fleet_lock
from leeward.app.local.ports import is_free, pick_port
from leeward.app.member_clients import whoever_obeys
from leeward.core.hub_generation import Generation
from leeward.operations.take_over import raise_generation

NEWEST, BEFORE, STATE, INCOMING = "newest.tar", "before.tar", "standby.json", ".incoming.tar"
COPY_SECONDS = 600.0
_PIECE = 1 << 20


class StandbyCopy(msgspec.Struct, frozen=True, rename="camel"):
    """The newest copy; `taken_at` is when it was begun, so that it holds what was acknowledged before. `by_command`: it
    may be of another machine."""

    taken_at: datetime
    by_command: bool = False


def newest_copy(layout: Layout) -> StandbyCopy:
    """Raises: FleetError when there is none."""
    try:
        copy = msgspec.json.decode((layout.standby / STATE).read_bytes(), type=StandbyCopy)
        (layout.standby / NEWEST).stat()
    except (OSError, msgspec.MsgspecError) as error:
        raise FleetError(f"{layout.root} has no copy of a control plane: run `leeward standby` there") from error
    return copy


def take_copy(layout: Layout, source: Path | Sequence[str], now: datetime) -> StandbyCopy:
    """Copies the control plane in a data directory, or what a command writes. Raises: FleetError."""
    if find_fleet(layout) is not None:
        raise FleetError(f"{layout.root} holds a fleet of its own: a standby needs another --data-dir")
    incoming = layout.standby / INCOMING
    try:
        layout.standby.mkdir(parents=True, exist_ok=True, mode=0o700)
        incoming.unlink(missing_ok=True)
        if isinstance(source, Path):
            write_backup(Layout(source), CONTROL_PLANE, incoming)
        else:
            _receive(source, incoming)
        with checked(incoming) as unpacked:
            load_fleet(Layout(unpacked))
        copy = StandbyCopy(now, not isinstance(source, Path))
        newest = layout.standby / NEWEST
        if newest.exists():
            newest.replace(layout.standby / BEFORE)
        incoming.replace(newest)
        write_file(layout.standby / STATE, msgspec.json.encode(copy))
    except OSError as error:
        raise FleetError(f"the copy cannot be kept in {layout.standby}: {error.strerror or error}") from error
    finally:
        incoming.unlink(missing_ok=True)
    return copy


def _receive(command: Sequence[str], target: Path) -> None:
    """Writes the output of a command, of bounded size and time. Raises: FleetError, OSError."""
    bound = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (MAX_ARCHIVE_BYTES, MAX_ARCHIVE_BYTES))
    with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb") as file:
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=file, timeout=COPY_SECONDS, check=False, preexec_fn=bound
            )
        except subprocess.TimeoutExpired:
            raise FleetError(f"`{command[0]}` has not ended within {COPY_SECONDS:g} s") from None
        os.fsync(file.fileno())
    if done.returncode:
        raise FleetError(f"`{command[0]}` failed with code {done.returncode}")


def found_hub(layout: Layout, port: int | None, before: str, *, force: bool) -> Generation:
    """Makes the fleet of the newest copy, without members of its own, and returns its generation as a hub. The member
    clusters are reached where they are, the hub before at `before`, or where it was published.

    Raises: FleetError, WorldError, OperationFailed."""
    copy = newest_copy(layout)
    backup = layout.standby / NEWEST
    with fleet_lock(layout, create=True), checked(backup) as unpacked:
        fleet = load_fleet(Layout(unpacked))
        own = port or (fleet.control_plane_port if is_free(fleet.control_plane_port) else pick_port(Randomness()))
        generation = asyncio.run(_raised(unpacked / STORE, own, before, copy, force=force))
        hub = msgspec.structs.replace(fleet, control_plane_port=own, dashboard_port=0, members=())
        found_fleet(layout, unpacked, backup, hub)
    return generation


async def _raised(store: Path, port: int, before: str, copy: StandbyCopy, *, force: bool) -> Generation:
    """Raises the generation in a store that nobody serves, over an API server of its own."""
    async with Supervisor("take-over") as supervisor:
        opened = await Store.open(SqliteMedium(store), supervisor)
        try:
            crds = custom_resource_definitions()
            clock, randomness = SystemClock(), Randomness()
            server = await start_apiserver(opened, clock, randomness, supervisor, crds=crds, collectors=False)
            client = Client(InProcessTransport(server), "leeward")
            if not force:
                own = f"https://127.0.0.1:{port}"
                await refuse_hub_before(client, own, before, is_elsewhere=copy.by_command)
            reach = whoever_obeys(client)
            return await raise_generation(client, reach, clock, randomness, force=force)
        finally:
            await opened.close()
