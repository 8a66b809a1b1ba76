"""Backup and restore of the clusters of a local fleet: the store of the control plane, or of a member."""

from pathlib import Path

from leeward.apiserver.store import MediumFailed
from leeward.apiserver.store import backup as copies
from leeward.apiserver.store.backup import Summary
from leeward.app.local import processes
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import load_fleet
from leeward.app.local.layout import CONTROL_PLANE, Layout
from leeward.app.local.lock import fleet_lock
from leeward.app.local.starting import LOCK_SECONDS, start_components


def back_up(layout: Layout, member: str, target: Path) -> Summary:
    """Copies a store (`member` "" is the control plane), whether its server runs or not. Raises: FleetError."""
    component = _component(layout, member)
    try:
        return copies.back_up(_store(layout, component), target)
    except MediumFailed as error:
        raise FleetError(str(error)) from error


def restore(layout: Layout, member: str, backup: Path) -> Summary:
    """Puts a copy back; a server that runs is stopped for it and started again. Raises: FleetError."""
    component = _component(layout, member)
    with fleet_lock(layout, LOCK_SECONDS):
        ran = processes.find_process(layout, component) is not None
        if ran:
            processes.terminate(layout, [component])
        try:
            return copies.restore(backup, _store(layout, component))
        except MediumFailed as error:
            raise FleetError(str(error)) from error
        finally:
            if ran:
                start_components(layout, [component])


def _component(layout: Layout, member: str) -> str:
    fleet = load_fleet(layout)
    return fleet.member(member).name if member else CONTROL_PLANE


def _store(layout: Layout, component: str) -> Path:
    directory = layout.control_plane if component == CONTROL_PLANE else layout.member(component)
    return directory / "store.db"
