"""Backup and restore of the clusters of a local fleet: the control plane, or a member.

A backup holds the objects, and what makes them worth something on another machine: the key that signed the service
accounts' tokens, the fleet's certificate authority, and what the fleet is. Put back where there is no fleet, it makes
one; put back into a fleet, it brings the objects and the key they go with, and leaves the fleet as it is.

A backup is input, which may come from anybody: names, ports, flags and sizes are checked before anything is written,
and a restore is all or nothing.

Where the fleet that was backed up may still run on this machine, another one that is made of its backup gets ports of
its own: both have the same keys, so at one address each takes the other for its own. A cluster that has joined from
elsewhere cannot be moved like this, and would be acted on by both."""

import os
import shutil
import sys
from collections.abc import Generator, Set
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from kubeapi.files import PRIVATE, sync_directory, write_file
from kubeapi.loop import Randomness
from kubeapi.named_files import STANDARD, is_regular
from kubeserver.store import MediumFailed
from kubeserver.store import backup as copies
from kubeserver.store.backup import Summary
from leeward.api.resource import CLUSTERS
from leeward.app.config import SIGNING_KEY_FILE
from leeward.app.local import processes
from leeward.app.local.archive import MAX_ARCHIVE_BYTES, STORE, is_archive, unpack
from leeward.app.local.backup_writing import directory_of, write_backup
from leeward.app.local.components import settings_of_fleet
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import LocalFleet, find_fleet, load_fleet, save_fleet
from leeward.app.local.layout import CONTROL_PLANE, Layout
from leeward.app.local.lock import fleet_lock
from leeward.app.local.planning import refuse_foreign_directory, taken_ports
from leeward.app.local.ports import is_free, pick_port
from leeward.app.local.restore_directory import unpacking
from leeward.app.local.starting import LOCK_SECONDS, start_components

RESTORING = ".restoring"
"""Name, in the data directory, of a fleet that is being put back, until all of it is there."""
UNREADABLE = ".json.unreadable"
_PIECE = 1 << 20
_CLUSTER_KEYS = f"/{CLUSTERS.group}/{CLUSTERS.plural}//"


class Restored(NamedTuple):
    """Copy that was put back. `moved`: the fleet that was made of it has other ports than the copied one."""

    objects: int
    revision: int
    moved: bool = False


def back_up(layout: Layout, member: str, target: Path) -> Summary:
    """Copies a cluster (`member` "" is the control plane), whether its server runs or not. Raises: FleetError."""
    return write_backup(layout, _component(layout, member), target)


def restore(layout: Layout, member: str, backup: Path) -> Restored:
    """Puts a copy back; a server that runs is stopped for it and started again.

    The backup is looked through first, to its last record: what is damaged, not whole or another cluster's changes and
    stops nothing. Raises: FleetError.
    """
    if not is_regular(backup):
        if backup != STANDARD and not backup.exists():
            raise FleetError(f"{backup} does not exist")
        with unpacking() as directory:
            name = "standard-input" if backup == STANDARD else backup.name
            return restore(layout, member, _received(backup, directory / name))
    if not member and not is_archive(backup) and find_fleet(layout) is None:
        raise _makes_no_fleet(layout, backup)
    if member:
        load_fleet(layout).member(member)
    with checked(backup) as unpacked:
        _refuse_other(unpacked, backup, member)
        with fleet_lock(layout, LOCK_SECONDS, create=not member):
            clear_interrupted(layout)
            if not member:
                _put_fleet_file_back(layout, Layout(unpacked))
            if find_fleet(layout) is None and not member:
                return found_fleet(layout, unpacked, backup)
            if not member:
                _refuse_other_running(layout, unpacked)
            summary = _restore_component(layout, _component(layout, member), unpacked)
            return Restored(summary.objects, summary.revision)


def _received(backup: Path, copy: Path) -> Path:
    """A file with the bytes of a pipe or a device, which has no size. Raises: FleetError."""
    try:
        source = nullcontext(sys.stdin.buffer) if backup == STANDARD else backup.open("rb")
        with source as opened, open(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb") as file:
            while piece := opened.read(_PIECE):
                file.write(piece)
                if file.tell() > MAX_ARCHIVE_BYTES:
                    raise FleetError(f"{backup} is no backup of Leeward's: it has over {MAX_ARCHIVE_BYTES} bytes")
    except OSError as error:
        raise FleetError(f"the backup {backup} cannot be read: {error.strerror or error}") from error
    return copy


def _put_fleet_file_back(layout: Layout, backed_up: Layout) -> None:
    """Puts back the fleet's description, from a backup of this very one, where its own file is lost or unreadable: a
    later version may have written it. That file is kept beside it."""
    with suppress(FleetError):
        if find_fleet(layout) is not None:
            return
    authorities = [each.pki / "ca.crt" for each in (layout, backed_up)]
    if not backed_up.fleet_file.exists() or not all(path.exists() for path in authorities):
        return
    if authorities[0].read_bytes() == authorities[1].read_bytes():
        if layout.fleet_file.exists():
            layout.fleet_file.rename(layout.fleet_file.with_suffix(UNREADABLE))
        write_file(layout.fleet_file, backed_up.fleet_file.read_bytes())


def _refuse_other_running(layout: Layout, checked: Path) -> None:
    """Raises: FleetError where the fleet that was backed up may run beside the one in `layout`."""
    if Layout(checked).fleet_file.exists():
        refuse_other_running(load_fleet(layout), load_fleet(Layout(checked)), _joined(checked))


def _joined(checked: Path) -> set[str]:
    return copies.live_names(checked / STORE, _CLUSTER_KEYS)


def _refuse_other(checked: Path, backup: Path, member: str) -> None:
    """Raises: FleetError for the backup of another cluster than the one that is to have it."""
    own = member or CONTROL_PLANE
    of = _taken_of(checked)
    if of not in ("", own):
        whose, way_out = (
            ("the control plane", "leave out --member") if of == CONTROL_PLANE else (of, f"give --member {of}")
        )
        raise FleetError(f"{backup} is a backup of {whose}, and not of {member or 'the control plane'}: {way_out}")


def _taken_of(checked: Path) -> str:
    """The component that a backup was taken of; empty for a bare copy of a store."""
    paths = Layout(checked)
    if paths.fleet_file.exists():
        return CONTROL_PLANE
    members = paths.member("any").parent
    return next((path.name for path in members.iterdir()), "") if members.is_dir() else ""


def _restore_component(layout: Layout, component: str, checked: Path) -> Summary:
    ran = processes.find_process(layout, component) is not None
    if ran:
        processes.terminate(layout, [component])
    directory = directory_of(layout, component)
    try:
        return _replace(directory, checked, directory.relative_to(layout.root))
    except MediumFailed as error:
        raise FleetError(str(error)) from error
    finally:
        if ran:
            start_components(layout, [component])


def _replace(directory: Path, checked: Path, own: Path) -> Summary:
    """Puts back the key and then the objects; when that fails, both are as they were. Raises: MediumFailed."""
    key = directory / SIGNING_KEY_FILE
    kept = checked / own / SIGNING_KEY_FILE
    before = key.read_bytes() if key.exists() else None
    try:
        if kept.exists():
            write_file(key, kept.read_bytes())
        return copies.restore(checked / STORE, directory / STORE)
    except BaseException:
        if before is not None:
            write_file(key, before)
        elif kept.exists():
            key.unlink(missing_ok=True)
        raise


def _makes_no_fleet(layout: Layout, backup: Path) -> FleetError:
    return FleetError(
        f"there is no fleet in {layout.root}, and {backup} is no backup of a control plane with its keys: "
        "start a fleet (`leeward up`), and restore into that"
    )


def found_fleet(layout: Layout, checked: Path, backup: Path, instead: LocalFleet | None = None) -> Restored:
    """Makes the fleet that the backup was taken of, or another one with its objects: beside its place, and then in it,
    fleet.json last. A failure leaves nothing. Raises: FleetError.
    """
    if not Layout(checked).fleet_file.exists():
        raise _makes_no_fleet(layout, backup)
    refuse_foreign_directory(layout, () if instead is None else (layout.standby,))
    backed_up = load_fleet(Layout(checked))
    fleet = instead or beside_another(backed_up, _joined(checked), Randomness())
    staged = Layout(layout.root / RESTORING)
    try:
        staged.control_plane.mkdir(parents=True, mode=0o700)
        summary = copies.restore(checked / STORE, staged.control_plane / STORE)
        for path in (path for path in checked.rglob("*") if path.is_file() and not path.name.startswith(STORE)):
            write_file(staged.root / path.relative_to(checked), path.read_bytes())
        if fleet != backed_up:
            save_fleet(staged, fleet)
        for path in (staged.pki, staged.control_plane, staged.fleet_file):
            path.rename(layout.root / path.name)
            sync_directory(layout.root)
        staged.root.rmdir()
        return Restored(summary.objects, summary.revision, moved=fleet != backed_up)
    except BaseException as error:
        clear_interrupted(layout)
        if isinstance(error, MediumFailed | OSError):
            raise FleetError(f"the backup cannot be put into {layout.root}: {error}") from error
        raise


def clear_interrupted(layout: Layout) -> None:
    """Deletes the files of a restore that was ended midway: all are its own where there is no fleet yet."""
    staged = layout.root / RESTORING
    if staged.is_dir() and not layout.fleet_file.exists():
        for path in (layout.pki, layout.control_plane):
            shutil.rmtree(path, ignore_errors=True)
    shutil.rmtree(staged, ignore_errors=True)


@contextmanager
def checked(backup: Path) -> Generator[Path]:
    """A directory with the files of the backup, and a store that was read to its end; a bare copy of one is a backup,
    too. It is not in the data directory. Raises: FleetError."""
    with unpacking() as directory:
        store = directory / STORE
        if is_archive(backup):
            unpack(backup, directory)
            _refuse_partial(directory, backup)
        else:
            store.symlink_to(backup.resolve())
        try:
            copies.back_up(store, directory / f".{STORE}.read")
        except MediumFailed as error:
            raise FleetError(f"{backup} is no backup, or is damaged: {error.__cause__ or error}") from error
        (directory / f".{STORE}.read").replace(store)
        yield directory


def _refuse_partial(unpacked: Path, backup: Path) -> None:
    """Raises: FleetError for the backup of a control plane that lacks a necessary file."""
    paths = Layout(unpacked)
    if not paths.fleet_file.exists():
        return
    try:
        settings_of_fleet(load_fleet(paths))
    except FleetError as error:
        raise FleetError(f"the fleet in the backup {backup} cannot be read: {error}") from error
    needed = (paths.pki / "ca.crt", paths.pki / "ca.key", paths.control_plane / SIGNING_KEY_FILE)
    missing = [str(path.relative_to(unpacked)) for path in needed if not path.exists()]
    if missing:
        raise FleetError(f"the backup {backup} is not whole: {', '.join(missing)} is missing; take another one")


def _component(layout: Layout, member: str) -> str:
    fleet = load_fleet(layout)
    return fleet.member(member).name if member else CONTROL_PLANE


def beside_another(fleet: LocalFleet, joined: Set[str], randomness: Randomness) -> LocalFleet:
    """The fleet as it was backed up; with other ports throughout where one of its own is in use.

    `joined` are the Clusters of its control plane. Raises: FleetError when one of them is no member of it, either.
    """
    used = [port for port in taken_ports(fleet) if port and not is_free(port)]
    if not used:
        return fleet
    _refuse_shared(used[0], joined - {member.name for member in fleet.members})
    drawn = list[int]()
    for _ in range(2 + len(fleet.members)):
        drawn.append(pick_port(randomness, (*drawn, *taken_ports(fleet))))
    pairs = zip(fleet.members, drawn[2:], strict=True)
    members = tuple(msgspec.structs.replace(member, port=port) for member, port in pairs)
    dashboard = drawn[1] if fleet.dashboard_port else 0
    return msgspec.structs.replace(fleet, control_plane_port=drawn[0], dashboard_port=dashboard, members=members)


def refuse_other_running(own: LocalFleet, backed_up: LocalFleet, joined: Set[str]) -> None:
    """Raises: FleetError when the backup is of another fleet that runs, one of whose clusters is no member of `own`."""
    port = backed_up.control_plane_port
    if port not in taken_ports(own) and not is_free(port):
        _refuse_shared(port, joined - {member.name for member in own.members})


def _refuse_shared(port: int, shared: Set[str]) -> None:
    """Raises: FleetError when there are clusters on which two control planes would act."""
    if shared:
        raise FleetError(
            f"port {port} of the fleet that was backed up is in use, so it may run; two control planes would act on "
            f"{', '.join(sorted(shared))}: stop that one first (`leeward down` with its --data-dir)"
        )
