"""Duties of the durable medium alone: refuse what is not its own or not whole, and survive a kill."""

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from kubeapi.loop.supervisor import Supervisor
from kubeserver.store import MediumFailed, Store
from kubeserver.store.sqlite import ROWS, SqliteMedium

WRITER = """
import asyncio, sys
from pathlib import Path
from kubeserver.store import Store
from kubeserver.store.sqlite import SqliteMedium
from kubeapi.loop.supervisor import Supervisor

async def main():
    async with Supervisor() as supervisor:
        store = await Store.open(SqliteMedium(Path(sys.argv[1])), supervisor)
        async def write(lane):
            for number in range(1_000_000):
                record = await store.put(f"//pods/{lane}/{number}", None, lambda revision: b"{}")
                print(record.revision, record.key, flush=True)
        await asyncio.gather(*(write(lane) for lane in range(4)))

asyncio.run(main())
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def fill(path: Path, count: int = 3) -> None:
    async def main() -> None:
        async with Supervisor() as supervisor:
            store = await Store.open(SqliteMedium(path), supervisor)
            for number in range(count):
                await store.put(f"//pods/default/{number}", None, lambda revision: b'{"spec":"original"}')
            await store.close()

    asyncio.run(main())


def read(path: Path) -> dict[str, int]:
    async def main() -> dict[str, int]:
        async with Supervisor() as supervisor:
            store = await Store.open(SqliteMedium(path), supervisor)
            found = {record.key: record.revision for record in store.list("/").records}
            await store.close()
            return found

    return asyncio.run(main())


def execute(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def test_the_file_is_readable_by_its_owner_only(path: Path) -> None:
    fill(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_another_schema_version_is_refused(path: Path) -> None:
    fill(path)
    execute(path, "PRAGMA user_version = 7")
    with pytest.raises(MediumFailed, match=r"store\.db has schema version 7, and this program reads version 1"):
        read(path)


def test_a_database_of_another_program_is_refused(path: Path) -> None:
    execute(path, "CREATE TABLE guests (name TEXT)")
    with pytest.raises(MediumFailed, match="database of another program"):
        read(path)


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.write_bytes(b"kind: Deployment\n" * 1_000)
    with pytest.raises(MediumFailed, match="not a database; restore it from a backup"):
        read(path)


def test_a_changed_value_is_noticed(path: Path) -> None:
    fill(path)
    content = path.read_bytes()
    assert content.count(b"original") == 3
    path.write_bytes(content.replace(b"original", b"tampered", 1))
    with pytest.raises(MediumFailed, match=r"store\.db is damaged: checksum of revision \d \(//pods/default/\d\)"):
        read(path)


def test_a_torn_page_is_noticed(path: Path) -> None:
    fill(path, 200)
    with path.open("r+b") as file:
        file.seek(4096 * 2)
        file.write(b"\xff" * 4096)
    with pytest.raises(MediumFailed, match="restore it from a backup"):
        read(path)


def leave_behind(path: Path, count: int, at_once: int = 0) -> Path:
    """Leaves what a killed process does that wrote `at_once`, and then one by one: the file, and its log (returned)."""
    living = path.with_name("living.db")

    async def main() -> None:
        async with Supervisor() as supervisor:
            store = await Store.open(SqliteMedium(living), supervisor)
            large = (store.put(f"//secrets/default/{n}", None, lambda revision: b"x" * 3000) for n in range(at_once))
            await asyncio.gather(*large)
            for number in range(count):
                await store.put(f"//pods/default/{number}", None, lambda revision: b'{"spec":"original"}')
            for suffix in ("", "-wal"):
                shutil.copy(f"{living}{suffix}", f"{path}{suffix}")
            await store.close()

    asyncio.run(main())
    return path.with_name(f"{path.name}-wal")


def spoil(file: Path, offset: int) -> None:
    content = bytearray(file.read_bytes())
    content[offset] ^= 0xFF
    file.write_bytes(content)


@pytest.mark.parametrize("place", [4, 8, 16, 1000], ids=["size", "salt", "checksum", "page"])
def test_d7_a_log_that_was_damaged_in_its_middle_is_refused_again_and_again(path: Path, place: int) -> None:
    """Holds: D7, for SQLite takes the damage for the end of the log."""
    spoil(leave_behind(path, 20), 32 + 3 * (24 + 4096) + place)
    for _ in range(2):
        with pytest.raises(MediumFailed, match=r"store\.db-wal is damaged: \d+ transactions behind .* from a backup"):
            read(path)


@pytest.mark.parametrize("cut", [1, 2000, 4096 + 24])
def test_a_transaction_that_was_half_written_at_a_power_cut_is_the_end_of_the_log(path: Path, cut: int) -> None:
    log = leave_behind(path, 20)
    os.truncate(log, log.stat().st_size - cut)
    assert len(read(path)) == 19
    assert len(read(path)) == 19


def test_damage_in_the_last_transaction_passes_for_a_power_cut(path: Path) -> None:
    log = leave_behind(path, 20)
    spoil(log, log.stat().st_size - 1000)
    assert len(read(path)) == 19


def test_what_the_log_held_before_it_was_begun_anew_is_not_taken_for_lost(path: Path) -> None:
    log = leave_behind(path, count=3, at_once=1_100)
    content = log.read_bytes()
    salts = [content[start + 8 : start + 16] for start in range(32, len(content) - 1, 24 + 4096)]
    assert len(set(salts)) == 2
    ours = salts.count(content[16:24])
    spoil(log, 32 + ours * (24 + 4096) - 1000)
    assert len(read(path)) == 1_102


def test_a_log_is_empty_when_its_store_has_been_opened(path: Path) -> None:
    """Records that a power cut left in it must not be counted again after the next one."""
    log = leave_behind(path, 20)

    async def main() -> None:
        async with Supervisor() as supervisor:
            store = await Store.open(SqliteMedium(path), supervisor)
            assert log.stat().st_size == 0
            await store.close()

    asyncio.run(main())


def test_more_than_one_statement_takes_is_committed_and_forgotten_as_a_whole(path: Path) -> None:
    """Holds: D6."""

    async def write(history_revisions: int, again: int) -> None:
        async with Supervisor() as supervisor:
            store = await Store.open(SqliteMedium(path), supervisor, history_revisions=history_revisions)
            for _ in range(again):
                keys = [f"//pods/default/{number}" for number in range(2 * ROWS + 1)]
                await asyncio.gather(*(store.put(key, store.head(key), lambda revision: b"{}") for key in keys))
            await store.close()

    asyncio.run(write(history_revisions=10, again=4))
    assert sorted(read(path).values()) == list(range(3 * (2 * ROWS + 1) + 2, 4 * (2 * ROWS + 1) + 2))
    with closing(sqlite3.connect(path)) as connection:
        (kept,) = connection.execute("SELECT count(*) FROM records").fetchone()
    assert kept < 2 * (2 * ROWS + 1)


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(MediumFailed, match=r"missing/store\.db: .*No such file or directory"):
        read(tmp_path / "missing" / "store.db")


def test_a_second_process_is_kept_out_and_may_come_in_later(path: Path) -> None:
    async def main() -> None:
        async with Supervisor() as supervisor:
            store = await Store.open(SqliteMedium(path), supervisor)
            with pytest.raises(MediumFailed, match="in use by another process"):
                await Store.open(SqliteMedium(path), supervisor)
            await store.close()

    asyncio.run(main())
    assert read(path) == {}


def test_no_acknowledged_write_is_lost_when_the_process_is_killed(path: Path) -> None:
    """Holds: D1, D3."""
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(40)]
        process.kill()
        lines += process.stdout.readlines()
    acknowledged = {key: int(revision) for revision, key in (line.split() for line in lines if line.endswith("\n"))}
    assert len(acknowledged) >= 40
    assert acknowledged.items() <= read(path).items()
