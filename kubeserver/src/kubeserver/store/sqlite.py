"""The durable medium: one SQLite file in WAL mode with `synchronous=FULL`, written by one thread.

    records(revision INTEGER PRIMARY KEY, key, deleted, value, checksum)     compaction(revision)

`user_version` is the version of this schema and `application_id` says that the file is ours: a file of another
version, of somebody else, or with damage is refused when it is opened, with the way out in the message. A second
process on the same file is refused, too. A checksum covers each record, for SQLite itself keeps none; its log is looked
over by `journal.py`.

Holds: D1, D2. Never runs SQLite on the event loop's thread.
"""

import fcntl
import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from kubeserver.store.journal import check_journal
from kubeserver.store.medium import Batch, Loaded, MediumFailed, MediumFull
from kubeserver.store.record import Record
from kubeserver.store.worker import Worker

T = TypeVar("T")

SCHEMA_VERSION = 1
APPLICATION_ID = 0x4C454557
BUSY_SECONDS = 5.0
JOURNAL_BYTES = 64 * 1024 * 1024
MAX_REVISION = 2**62
ROWS = 1_000
"""Most records that go into one statement: SQLite takes 32,766 values."""
RESTORE = "; restore it from a backup, or begin with an empty data directory"

_FORGET = "DELETE FROM records WHERE revision IN (SELECT value FROM json_each(?))"
_RECORDS = """
CREATE TABLE records (
    revision INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    deleted INTEGER NOT NULL,
    value BLOB NOT NULL,
    checksum INTEGER NOT NULL
) STRICT
"""
_COMPACTION = "CREATE TABLE compaction (revision INTEGER NOT NULL) STRICT"
_SCHEMA = f"""
BEGIN;
{_RECORDS};
{_COMPACTION};
INSERT INTO compaction VALUES (0);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""


class SqliteMedium:
    """Keeps records in the file `path`, which is made (mode 0600) when it is not there; its directory must be."""

    def __init__(self, path: Path, connection_type: type[sqlite3.Connection] = sqlite3.Connection) -> None:
        self._path = path
        self._connection_type = connection_type
        self._worker = Worker("store")
        self._connection: sqlite3.Connection | None = None
        self._lock: int | None = None

    async def load(self) -> Loaded:
        return await self._run(self._load)

    async def commit(self, batch: Batch) -> None:
        await self._run(lambda: self._commit(batch))

    async def close(self) -> None:
        await self._run(self._close)
        self._worker.end()

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await self._worker.run(work)
        except (sqlite3.Error, OSError) as error:
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL:
                raise MediumFull(f"{self._path}: {error}; make room on the disk") from error
            raise MediumFailed(f"{self._path}: {error}{_way_out(error)}") from error

    def _load(self) -> Loaded:
        try:
            return self._open_and_read()
        except BaseException:
            self._close()
            raise

    def _open_and_read(self) -> Loaded:
        self._lock = _lock(self._path)
        check_journal(self._path, RESTORE)
        connection = self._connection = _connect(self._path, self._connection_type)
        if _is_empty(connection):
            connection.executescript(_SCHEMA)
        loaded = _read(connection, self._path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {JOURNAL_BYTES}")
        _empty_journal(connection)
        return loaded

    def _commit(self, batch: Batch) -> None:
        connection = self._connection
        if connection is None:
            raise MediumFailed(f"{self._path} is not open")
        try:
            for statement, parameters in _transaction(batch):
                connection.execute(statement, parameters)
        except BaseException:
            with suppress(sqlite3.Error):
                connection.rollback()
            raise

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def check_file(path: Path, name: Path) -> Loaded:
    """Everything in a file that is not in use, called `name` in errors. Raises: MediumFailed, sqlite3.Error."""
    with closing(sqlite3.connect(path)) as connection:
        return _read(connection, name)


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Keeps every process out of the store in `path`. Raises: MediumFailed when one is in it."""
    descriptor = _lock(path)
    try:
        yield
    finally:
        os.close(descriptor)


def _read(connection: sqlite3.Connection, path: Path) -> Loaded:
    """Checks that the file is ours and whole, and reads it. Raises: MediumFailed."""
    _check_identity(connection, path)
    _check_schema(connection, path)
    for (finding,) in connection.execute("PRAGMA quick_check(1)"):
        if finding != "ok":
            raise MediumFailed(f"{path} is damaged: {' '.join(finding.split())}{RESTORE}")
    compacted = _read_compacted(connection, path)
    rows = connection.execute("SELECT revision, key, deleted, value, checksum FROM records ORDER BY revision")
    return Loaded([_record_of(path, *row) for row in rows], compacted)


def _read_compacted(connection: sqlite3.Connection, path: Path) -> int:
    """Checks that revisions go on from where they are, too. Raises: MediumFailed."""
    rows = connection.execute("SELECT revision FROM compaction LIMIT 2").fetchall()
    bounds = connection.execute("SELECT min(revision), max(revision) FROM records").fetchone()
    revisions = [revision for revision in (*rows[0], *bounds) if revision is not None] if len(rows) == 1 else [-1]
    if not all(0 <= revision <= MAX_REVISION for revision in revisions):
        raise MediumFailed(f"{path} is damaged: its revisions are not between 0 and {MAX_REVISION}{RESTORE}")
    return rows[0][0]


def _empty_journal(connection: sqlite3.Connection) -> None:
    """Empties the journal after a transaction of its own: SQLite takes `quick_check` for one that goes on until the
    next."""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _is_empty(connection: sqlite3.Connection) -> bool:
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    return not (tables or any(_identity(connection)))


def _identity(connection: sqlite3.Connection) -> tuple[int, int]:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return application, version


def _check_identity(connection: sqlite3.Connection, path: Path) -> None:
    application, version = _identity(connection)
    if application != APPLICATION_ID:
        raise MediumFailed(f"{path} is a database of another program; give a path of its own to the store")
    if version != SCHEMA_VERSION:
        raise MediumFailed(
            f"{path} has schema version {version}, and this program reads version {SCHEMA_VERSION}; "
            "run the version that wrote it, or begin with an empty data directory"
        )


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Triggers, views and other tables would run, or lie, within our own statements. Raises: MediumFailed."""
    connection.execute("PRAGMA trusted_schema = OFF")
    found = {" ".join((sql or "").split()) for (sql,) in connection.execute("SELECT sql FROM sqlite_schema")}
    if found != {" ".join(sql.split()) for sql in (_RECORDS, _COMPACTION)}:
        raise MediumFailed(f"{path} is damaged: it has other tables, views or triggers than a store{RESTORE}")


def _record_of(path: Path, revision: int, key: str, deleted: int, value: bytes, checksum: int) -> Record:
    """Raises: MediumFailed."""
    if checksum != _checksum(revision, key, deleted, value):
        raise MediumFailed(f"{path} is damaged: checksum of revision {revision} ({key}){RESTORE}")
    return Record(key, revision, value, bool(deleted))


def _connect(path: Path, connection_type: type[sqlite3.Connection]) -> sqlite3.Connection:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    return sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, factory=connection_type
    )


def _lock(path: Path) -> int:
    """Keeps other processes out, until the descriptor is closed."""
    descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise MediumFailed(f"{path} is in use by another process; stop that one first") from error
    return descriptor


Statement = tuple[str, Sequence[Any]]


def _transaction(batch: Batch) -> list[Statement]:
    """Statements of a batch, as few as there can be: before and after each, the thread gives Python up and waits for it
    again.

    One alone is a transaction by itself.
    """
    rows = [_row(record) for record in batch.records]
    chunks = (rows[first : first + ROWS] for first in range(0, len(rows), ROWS))
    statements = [_insertion(chunk) for chunk in chunks]
    if batch.forgotten:
        statements.append((_FORGET, (json.dumps(batch.forgotten),)))
    if batch.forgotten or not statements:
        statements.append(("UPDATE compaction SET revision = ?", (batch.compacted,)))
    return statements if len(statements) == 1 else [("BEGIN IMMEDIATE", ()), *statements, ("COMMIT", ())]


def _insertion(rows: Sequence[Sequence[Any]]) -> Statement:
    places = ", ".join(["(?, ?, ?, ?, ?)"] * len(rows))
    return f"INSERT INTO records VALUES {places}", [value for row in rows for value in row]


def _row(record: Record) -> tuple[int, str, int, bytes, int]:
    deleted = int(record.deleted)
    checksum = _checksum(record.revision, record.key, deleted, record.value)
    return record.revision, record.key, deleted, record.value, checksum


def _checksum(revision: int, key: str, deleted: int, value: bytes) -> int:
    return zlib.crc32(value, zlib.crc32(f"{revision} {deleted} {key}".encode()))


def _way_out(error: Exception) -> str:
    damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
    return RESTORE if damaged else ""
