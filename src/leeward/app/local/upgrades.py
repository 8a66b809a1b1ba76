"""A data directory under another version of Leeward than the one that ran it last: what is there is copied first.

What a version cannot read it refuses (`fleet.py`, the store); what it can read it may write in a way that the one
before cannot. So each component is backed up before anything is started, and `leeward restore` brings it back. Nothing
here deletes a copy.
"""

from datetime import datetime
from pathlib import Path

from leeward import __version__
from leeward.app.local.archive import STORE
from leeward.app.local.backup_writing import directory_of, write_backup
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import LocalFleet
from leeward.app.local.layout import CONTROL_PLANE, Layout

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
    kept = [name for name in _components(fleet) if (directory_of(layout, name) / STORE).exists()]
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
        f"as it was, it is kept in {directory} (back with that version: `leeward restore {_example(directory)}`)"
    )


def _components(fleet: LocalFleet) -> tuple[str, ...]:
    return (CONTROL_PLANE, *(member.name for member in fleet.members))


def _example(directory: Path) -> Path:
    return directory / f"{CONTROL_PLANE}.tar"
