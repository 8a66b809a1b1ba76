"""Backup and restore of the clusters of a local fleet: the control plane, or a member.

A backup holds the objects, and what makes them worth something on another machine: the key that signed the service
accounts' tokens, the fleet's certificate authority, and what the fleet is. Put back where there is no fleet, it makes
one; put back into a fleet, it brings the objects and the key they go with, and leaves the fleet as it is.
"""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from leeward.apiserver.store import MediumFailed
from leeward.apiserver.store import backup as copies
from leeward.apiserver.store.backup import Summary
from leeward.app.config import SIGNING_KEY_FILE
from leeward.app.local import processes
from leeward.app.local.archive import STORE, is_archive, unpack, write_archive
from leeward.app.local.errors import FleetError
from leeward.app.local.files import write_file
from leeward.app.local.fleet import find_fleet, load_fleet
from leeward.app.local.layout import CONTROL_PLANE, Layout
from leeward.app.local.lock import fleet_lock
from leeward.app.local.starting import LOCK_SECONDS, start_components


def back_up(layout: Layout, member: str, target: Path) -> Summary:
    """Copies a cluster (`member` "" is the control plane), whether its server runs or not. Raises: FleetError."""
    component = _component(layout, member)
    if target.exists():
        raise FleetError(f"{target} exists already: give another name")
    copy = target.with_name(f".{target.name}.store")
    try:
        copy.unlink(missing_ok=True)
        summary = copies.back_up(_directory(layout, component) / STORE, copy)
        write_archive(target, copy, layout.root, _keys(layout, component))
    except MediumFailed as error:
        raise FleetError(str(error)) from error
    finally:
        copy.unlink(missing_ok=True)
    return summary


def restore(layout: Layout, member: str, backup: Path) -> Summary:
    """Puts a copy back; a server that runs is stopped for it and started again. Raises: FleetError."""
    if not backup.exists():
        raise FleetError(f"{backup} does not exist")
    with fleet_lock(layout, LOCK_SECONDS, create=not member), _unpacked(layout, backup) as unpacked:
        if find_fleet(layout) is None and not member:
            return _found_fleet(layout, unpacked, backup)
        return _restore_component(layout, _component(layout, member), unpacked)


def _restore_component(layout: Layout, component: str, unpacked: Path) -> Summary:
    ran = processes.find_process(layout, component) is not None
    if ran:
        processes.terminate(layout, [component])
    directory = _directory(layout, component)
    try:
        summary = copies.restore(unpacked / STORE, directory / STORE)
        key = directory / SIGNING_KEY_FILE
        kept = unpacked / key.relative_to(layout.root)
        if kept.exists():
            write_file(key, kept.read_bytes())
        return summary
    except MediumFailed as error:
        raise FleetError(str(error)) from error
    finally:
        if ran:
            start_components(layout, [component])


def _found_fleet(layout: Layout, unpacked: Path, backup: Path) -> Summary:
    """Makes the fleet that the backup was taken of; fleet.json comes last, so that half of it is none."""
    fleet_file = unpacked / layout.fleet_file.name
    if not fleet_file.exists():
        raise FleetError(
            f"there is no fleet in {layout.root}, and {backup} is no backup of a control plane with its keys: "
            "start a fleet (`leeward up`), and restore into that"
        )
    try:
        directory = _directory(layout, CONTROL_PLANE)
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        summary = copies.restore(unpacked / STORE, directory / STORE)
    except MediumFailed as error:
        raise FleetError(str(error)) from error
    keys = (path for path in unpacked.rglob("*") if path.is_file() and path.name not in (STORE, fleet_file.name))
    for path in (*keys, fleet_file):
        write_file(layout.root / path.relative_to(unpacked), path.read_bytes())
    return summary


@contextmanager
def _unpacked(layout: Layout, backup: Path) -> Generator[Path]:
    """A directory with what is in the backup; a bare copy of a store is a backup, too."""
    with tempfile.TemporaryDirectory(prefix=".restore-", dir=layout.root) as name:
        directory = Path(name)
        if is_archive(backup):
            unpack(backup, directory)
        else:
            (directory / STORE).symlink_to(backup.resolve())
        yield directory


def _keys(layout: Layout, component: str) -> list[Path]:
    """What goes into the backup beside the store."""
    directory = _directory(layout, component)
    own = [directory / SIGNING_KEY_FILE, *sorted(directory.glob("*.csv"))]
    if component != CONTROL_PLANE:
        return own
    return [layout.fleet_file, *sorted(layout.pki.glob("*")), *own]


def _component(layout: Layout, member: str) -> str:
    fleet = load_fleet(layout)
    return fleet.member(member).name if member else CONTROL_PLANE


def _directory(layout: Layout, component: str) -> Path:
    return layout.control_plane if component == CONTROL_PLANE else layout.member(component)
