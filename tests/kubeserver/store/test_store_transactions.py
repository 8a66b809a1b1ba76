"""Commits in SQLite: one transaction, all of it or nothing; and what is said when it fails."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import pytest

from kubeserver.store.medium import Batch, MediumFailed
from kubeserver.store.record import Record
from kubeserver.store.sqlite import JOURNAL_BYTES, MAX_REVISION, ROWS, SqliteMedium, locked

RECORDS = [Record(f"//pods/default/{number}", number, b"{}", False) for number in range(2, 2 * ROWS + 3)]


class Watched(sqlite3.Connection):
    """Notes the statements, and fails at those that begin with `fails`."""

    statements: ClassVar[list[str]] = []
    fails = ""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        self.statements.append(" ".join(sql.split()[:2]))
        if self.fails and self.statements[-1] == self.fails:
            raise sqlite3.OperationalError("disk I/O error")
        return super().execute(sql, parameters)


@pytest.fixture(name="watched")
def _watched() -> type[Watched]:
    class Mine(Watched):
        statements: ClassVar[list[str]] = []

    return Mine


def commit(path: Path, watched: type[Watched], *batches: Batch, fails: str = "") -> list[list[str]]:
    """The statements of each commit."""

    async def main() -> list[list[str]]:
        medium = SqliteMedium(path, watched)
        await medium.load()
        watched.fails = fails
        found: list[list[str]] = []
        try:
            for batch in batches:
                watched.statements.clear()
                await medium.commit(batch)
                found.append(list(watched.statements))
        finally:
            await medium.close()
        return found

    return asyncio.run(main())


def rows(path: Path) -> tuple[int, int]:
    """Number of records that the file has, and its compacted revision."""
    with closing(sqlite3.connect(path)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM records").fetchone()
        (compacted,) = connection.execute("SELECT revision FROM compaction").fetchone()
    return count, compacted


def test_a_commit_is_one_transaction_and_one_statement_is_one_by_itself(tmp_path: Path, watched: type[Watched]) -> None:
    one = Batch(RECORDS[:1], (), 0)
    many = Batch(RECORDS[1:], (), 0)
    forgetting = Batch((), (2,), 1)
    nothing = Batch((), (), 7)
    assert commit(tmp_path / "store.db", watched, one, many, forgetting, nothing) == [
        ["INSERT INTO"],
        ["BEGIN IMMEDIATE", "INSERT INTO", "INSERT INTO", "COMMIT"],
        ["BEGIN IMMEDIATE", "DELETE FROM", "UPDATE compaction", "COMMIT"],
        ["UPDATE compaction"],
    ]
    assert rows(tmp_path / "store.db") == (len(RECORDS) - 1, 7)


@pytest.mark.parametrize("fails", ["DELETE FROM", "UPDATE compaction", "COMMIT"])
def test_of_a_commit_that_fails_nothing_is_there_d1(tmp_path: Path, watched: type[Watched], fails: str) -> None:
    path = tmp_path / "store.db"
    commit(path, watched, Batch(RECORDS[:3], (), 0))
    with pytest.raises(MediumFailed) as failed:
        commit(path, watched, Batch(RECORDS[3:5], (2,), 2), fails=fails)
    assert str(failed.value) == f"{path}: disk I/O error", "no backup is needed for that"
    assert rows(path) == (3, 0)


def test_why_a_commit_failed_is_told_also_when_it_cannot_be_taken_back(tmp_path: Path, watched: type[Watched]) -> None:
    class Stuck(watched):
        def rollback(self) -> None:
            raise sqlite3.OperationalError("cannot rollback")

    with pytest.raises(MediumFailed, match=r"store\.db: disk I/O error$"):
        commit(tmp_path / "store.db", Stuck, Batch(RECORDS, (), 0), fails="COMMIT")


def test_a_medium_that_is_not_open_takes_nothing_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with pytest.raises(MediumFailed, match=r"store\.db is not open$"):
        asyncio.run(SqliteMedium(path).commit(Batch(RECORDS[:1], (), 0)))


def test_it_is_closed_as_often_as_one_likes_and_the_file_may_be_used_then(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    async def main() -> None:
        medium = SqliteMedium(path)
        await medium.load()
        await medium._run(medium._close)  # pyright: ignore[reportPrivateUsage]
        await medium.close()

    asyncio.run(main())
    with locked(path), pytest.raises(MediumFailed, match=r"store\.db is in use by another process; stop that one"):
        asyncio.run(main())
    lock = tmp_path / "store.db.lock"
    assert lock.stat().st_mode & 0o777 == 0o600
    assert not [found for found in tmp_path.iterdir() if found.name not in ("store.db", "store.db.lock")]


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("UPDATE compaction SET revision = -1", "its revisions are not between 0 and"),
        (f"UPDATE compaction SET revision = {MAX_REVISION + 1}", "its revisions are not between 0 and"),
        ("INSERT INTO compaction VALUES (3)", "its revisions are not between 0 and"),
        ("DELETE FROM compaction", "its revisions are not between 0 and"),
        ("CREATE VIEW mine AS SELECT 1", "it has other tables, views or triggers than a store"),
        ("CREATE TABLE mine (name TEXT UNIQUE)", "it has other tables, views or triggers than a store"),
    ],
)
def test_a_file_with_anything_else_in_it_is_refused_by_its_name_d7(
    tmp_path: Path, watched: type[Watched], statement: str, sentence: str
) -> None:
    path = tmp_path / "store.db"
    commit(path, watched, Batch(RECORDS[:1], (), 0))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    with pytest.raises(MediumFailed) as failed:
        commit(path, watched)
    assert str(failed.value).startswith(f"{path} is damaged: {sentence}")
    assert str(failed.value).endswith("; restore it from a backup, or begin with an empty data directory")


def test_the_highest_revision_is_one(tmp_path: Path, watched: type[Watched]) -> None:
    path = tmp_path / "store.db"
    commit(path, watched, Batch((), (), MAX_REVISION))
    assert commit(path, watched) == []


def test_the_way_out_of_another_version_is_named(tmp_path: Path, watched: type[Watched]) -> None:
    path = tmp_path / "store.db"
    commit(path, watched)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 7")
    with pytest.raises(MediumFailed) as failed:
        commit(path, watched)
    assert str(failed.value) == (
        f"{path} has schema version 7, and this program reads version 1; "
        "run the version that wrote it, or begin with an empty data directory"
    )


def test_it_waits_for_who_has_the_file_for_a_moment_and_its_log_stays_small(
    tmp_path: Path, watched: type[Watched]
) -> None:
    asked: dict[str, object] = {}

    class Asked(watched):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            asked.update(options)
            super().__init__(*arguments, **options)

    commit(tmp_path / "store.db", Asked)
    assert asked["timeout"] == 5
    assert "PRAGMA journal_size_limit" in Asked.statements
    assert JOURNAL_BYTES == 64 << 20
