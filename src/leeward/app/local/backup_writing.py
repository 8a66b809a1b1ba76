"""Writing the backup of one component: a copy of its store, and the keys that another machine needs to use it."""

import os
from pathlib import Path

from kubeapi.named_files import STANDARD, is_regular, write_named
from kubeserver.store import MediumFailed
from kubeserver.store import backup as copies
from kubeserver.store.backup import Summary
from leeward.app.config import SIGNING_KEY_FILE
from leeward.app.local.archive import STORE, problem_of_name, write_archive
from leeward.app.local.errors import FleetError
from leeward.app.local.layout import CONTROL_PLANE, Layout
from leeward.app.local.restore_directory import unpacking


def directory_of(layout: Layout, component: str) -> Path:
    """Directory in which the control plane, or a member, has its store."""
    return layout.control_plane if component == CONTROL_PLANE else layout.member(component)


def write_backup(layout: Layout, component: str, target: Path) -> Summary:
    """`target` must not be a file that is there; what is no regular file is written through. The server may run.

    Raises: FleetError, OSError.
    """
    if is_regular(target):
        raise FleetError(f"{target} exists already: give another name")
    if target != STANDARD and not target.exists():
        return _write_file(layout, component, Path(os.path.realpath(target)))
    with unpacking() as directory:
        archive = directory / "archive"
        summary = _write_file(layout, component, archive)
        with archive.open("rb") as file:
            write_named(target, file)
    return summary


def _write_file(layout: Layout, component: str, target: Path) -> Summary:
    copy = target.with_name(f".{target.name}.store")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        why = "is no folder that can be written to" if target.parent.exists() else "is not there"
        raise FleetError(f"the backup {target} cannot be written: {target.parent} {why}; give another name")
    try:
        copy.unlink(missing_ok=True)
        summary = copies.back_up(directory_of(layout, component) / STORE, copy)
        write_archive(target, copy, layout.root, _keys(layout, component))
    except MediumFailed as error:
        raise FleetError(str(error)) from error
    finally:
        copy.unlink(missing_ok=True)
    return summary


def _keys(layout: Layout, component: str) -> list[Path]:
    """Files that go into the backup beside the store."""
    directory = directory_of(layout, component)
    own = [directory / SIGNING_KEY_FILE, *sorted(directory.glob("*.csv"))]
    if component != CONTROL_PLANE:
        return own
    return [layout.fleet_file, *(path for path in sorted(layout.pki.glob("*")) if _is_kept(layout, path)), *own]


def _is_kept(layout: Layout, path: Path) -> bool:
    return not problem_of_name(str(path.relative_to(layout.root)))
