"""Copies of a store's file: taken while the server writes, and put back when it does not run.

A copy is one consistent state, made by SQLite itself, checked before it gets its name. A store that is put back begins
`REVISIONS_AHEAD` later than it was, and than the one whose place it takes: nobody who saw what came after the copy may
take a new revision for an old one, so every watch begins anew (410). Holds: D3, D7.
"""

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from kubeserver.store.medium import MediumFailed
from kubeserver.store.sqlite import MAX_REVISION, check_file, locked
from kubeserver.store.store import FIRST_REVISION

REVISIONS_AHEAD = 1_000_000_000
_REVISIONS = ("records", "compaction")
"""The tables that tell of them."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Summary of a copy. `revision` is the newest one, `objects` counts those that live."""

    revision: int
    objects: int


def back_up(store: Path, target: Path) -> Summary:
    """Copies the file `store` to `target`, which must not be there. Raises: MediumFailed."""
    if not store.exists():
        raise MediumFailed(f"{store} does not exist: there is nothing to back up")
    if target.exists():
        raise MediumFailed(f"{target} exists already: give another name")
    return _copy(store, target)


def restore(backup: Path, store: Path) -> Summary:
    """Puts `backup` in the place of the file `store`, which no process may have open. Raises: MediumFailed."""
    if not backup.exists():
        raise MediumFailed(f"{backup} does not exist")
    with locked(store):
        beside = store.with_name(f".{store.name}.restored")
        beside.unlink(missing_ok=True)
        summary = _copy(backup, beside)
        _move_ahead(beside, revision_behind(summary.revision, _newest_revision(store)))
        for suffix in ("-wal", "-shm"):
            store.with_name(store.name + suffix).unlink(missing_ok=True)
        beside.replace(store)
        _sync_directory(store.parent)
    return summary


def live_names(backup: Path, prefix: str) -> set[str]:
    """The rest of each key that begins with `prefix`, and lives. Raises: MediumFailed."""
    try:
        newest = {record.key: record for record in check_file(backup, backup).records}
    except sqlite3.Error as error:
        raise MediumFailed(f"{backup} cannot be read: {error}") from error
    return {key.removeprefix(prefix) for key, last in newest.items() if key.startswith(prefix) and not last.deleted}


def _copy(source: Path, target: Path) -> Summary:
    beside = target.with_name(f".{target.name}.new")
    try:
        beside.unlink(missing_ok=True)
        os.close(os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        address = f"{source.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as reading, closing(sqlite3.connect(beside)) as writing:
            reading.backup(writing)
            writing.execute("PRAGMA journal_mode = DELETE")
        summary = _checked(beside, source)
        beside.replace(target)
        _sync_directory(target.parent)
    except (sqlite3.Error, OSError) as error:
        raise MediumFailed(f"{source} cannot be copied to {target}: {error}") from error
    finally:
        beside.unlink(missing_ok=True)
    return summary


def _checked(copy: Path, source: Path) -> Summary:
    """Reads all of the copy: a damaged one must not be found when it is needed. Raises: MediumFailed."""
    loaded = check_file(copy, source)
    newest = {record.key: record for record in loaded.records}
    revision = max(loaded.records[-1].revision if loaded.records else 0, loaded.compacted, FIRST_REVISION)
    return Summary(revision, sum(not record.deleted for record in newest.values()))


def revision_behind(copied: int, replaced: int) -> int:
    """Revision at which a copy goes on that ends at `copied`, in the place of a store that ended at `replaced`."""
    ahead = copied + REVISIONS_AHEAD
    return ahead if ahead > replaced else replaced + REVISIONS_AHEAD


def _newest_revision(store: Path) -> int:
    """Newest revision of the store that is replaced; 0 where there is none, or it cannot be read, which may be why it
    is replaced."""
    if not store.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"{store.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            found = [connection.execute(f"SELECT max(revision) FROM {table}").fetchone()[0] for table in _REVISIONS]
    except sqlite3.Error:
        return 0
    return max((r for r in found if isinstance(r, int) and r <= MAX_REVISION - REVISIONS_AHEAD), default=0)


def _move_ahead(path: Path, revision: int) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE compaction SET revision = ?", (revision,))
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
