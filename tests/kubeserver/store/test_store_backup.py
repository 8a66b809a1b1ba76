"""Copies of a store: consistent, checked, for their owner only; and what is put back is never mistaken for the past."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from kubeapi.loop.supervisor import Supervisor
from kubeserver.store import Compacted, MediumFailed, Store
from kubeserver.store.backup import REVISIONS_AHEAD, Summary, back_up, restore, revision_behind
from kubeserver.store.sqlite import MAX_REVISION, SqliteMedium


async def put(store: Store, name: str, value: str = "x") -> int:
    key = f"//pods/default/{name}"
    return (await store.put(key, store.head(key), lambda revision: value.encode())).revision


def fill(path: Path, *names: str) -> None:
    async def main() -> None:
        async with Supervisor() as supervisor:
            store = await Store.open(SqliteMedium(path), supervisor)
            for name in names:
                await put(store, name)
            await store.close()

    asyncio.run(main())


def test_a_backup_is_taken_while_the_server_writes_and_is_one_consistent_state(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    async def main() -> None:
        async with Supervisor() as supervisor, Supervisor("writers") as writers:
            store = await Store.open(SqliteMedium(path), supervisor)

            async def write() -> None:
                number = 0
                while True:
                    await put(store, "even", str(number))
                    await put(store, "odd", str(number))
                    number += 1

            await put(store, "even", "0")
            await put(store, "odd", "0")
            writers.start(write(), "writer")
            for number in range(5):
                await asyncio.sleep(0.01)
                before = store.revision
                summary = await asyncio.to_thread(back_up, path, tmp_path / f"{number}.db")
                assert before <= summary.revision <= store.revision
                assert summary.objects == 2
            await writers.close()
            await store.close()

    async def look() -> list[int]:
        async with Supervisor() as supervisor:
            store = await Store.open(SqliteMedium(tmp_path / "4.db"), supervisor)
            values = [int(record.value) for record in store.list("/").records]
            await store.close()
            return values

    asyncio.run(main())
    assert (tmp_path / "4.db").stat().st_mode & 0o777 == 0o600
    even, odd = asyncio.run(look())
    assert even - odd in (0, 1)


def test_what_is_restored_is_what_was_and_its_revisions_are_new(tmp_path: Path) -> None:
    """Holds: D3."""
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    fill(path, "a", "b")
    assert back_up(path, copy) == Summary(3, 2)
    fill(path, "c", "d")
    assert restore(copy, path) == Summary(3, 2)

    async def main() -> None:
        async with Supervisor() as supervisor:
            store = await Store.open(SqliteMedium(path), supervisor)
            assert [record.key[-1] for record in store.list("//pods/").records] == ["a", "b"]
            assert store.revision == 3 + REVISIONS_AHEAD
            with pytest.raises(Compacted):
                store.watch("//pods/", after=5)
            assert await put(store, "e") == 4 + REVISIONS_AHEAD
            await store.close()
        async with Supervisor() as supervisor:
            store = await Store.open(SqliteMedium(path), supervisor)
            assert len(store.list("//pods/").records) == 3
            await store.close()

    asyncio.run(main())


def test_d3_what_is_restored_twice_begins_behind_what_was_written_in_between(tmp_path: Path) -> None:
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    fill(path, "a", "b")
    back_up(path, copy)
    restore(copy, path)
    fill(path, "c", "d")
    between = back_up(path, tmp_path / "between.db").revision
    restore(copy, path)
    fill(path, "e")
    assert back_up(path, tmp_path / "after.db").revision > between


def test_d3_no_revision_of_a_store_that_was_replaced_is_given_again() -> None:
    assert revision_behind(3, 9) == 3 + REVISIONS_AHEAD
    assert revision_behind(3, 3 + REVISIONS_AHEAD) == 3 + 2 * REVISIONS_AHEAD
    assert revision_behind(3, 4 + REVISIONS_AHEAD) == 4 + 2 * REVISIONS_AHEAD


@pytest.mark.parametrize("absurd", [None, MAX_REVISION, MAX_REVISION - REVISIONS_AHEAD + 1])
def test_a_store_that_is_empty_or_tells_absurd_revisions_is_replaced_by_one_that_opens(
    tmp_path: Path, absurd: int | None
) -> None:
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    fill(path, "a")
    back_up(path, copy)
    path.unlink()
    fill(path)
    if absurd is not None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE compaction SET revision = ?", (absurd,))
    restore(copy, path)
    fill(path, "b")
    assert back_up(path, tmp_path / "again.db") == Summary(3 + REVISIONS_AHEAD, 2)


def test_a_store_that_cannot_be_read_is_replaced_all_the_same(tmp_path: Path) -> None:
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    fill(path, "a")
    back_up(path, copy)
    path.write_bytes(b"nonsense" * 1000)
    assert restore(copy, path) == Summary(2, 1)
    assert back_up(path, tmp_path / "again.db").revision == 2 + REVISIONS_AHEAD


def test_a_store_in_use_is_not_replaced(tmp_path: Path) -> None:
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    fill(path, "a")
    back_up(path, copy)

    async def main() -> None:
        async with Supervisor() as supervisor:
            store = await Store.open(SqliteMedium(path), supervisor)
            with pytest.raises(MediumFailed, match="in use by another process"):
                restore(copy, path)
            await store.close()

    asyncio.run(main())


def test_a_damaged_or_foreign_copy_is_refused_and_the_store_stays_as_it_was(tmp_path: Path) -> None:
    """Holds: D7."""
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    fill(path, "a")
    back_up(path, copy)
    copy.write_bytes(copy.read_bytes().replace(b"//pods/default/a", b"//pods/default/b"))
    with pytest.raises(MediumFailed) as failed:
        restore(copy, path)
    assert str(failed.value).startswith(f"{copy} is damaged: checksum")
    copy.write_bytes(b"nonsense" * 1000)
    with pytest.raises(MediumFailed, match="not a database"):
        restore(copy, path)
    assert back_up(path, tmp_path / "again.db") == Summary(2, 1)
    assert sorted(file.name for file in tmp_path.glob(".*")) == []


def test_what_is_not_there_or_in_the_way_is_named(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with pytest.raises(MediumFailed, match=r"store\.db does not exist: there is nothing to back up"):
        back_up(path, tmp_path / "copy.db")
    fill(path, "a")
    with pytest.raises(MediumFailed, match=r"store\.db exists already: give another name"):
        back_up(path, path)
    with pytest.raises(MediumFailed, match=r"none\.db does not exist"):
        restore(tmp_path / "none.db", path)


def test_a_log_that_a_killed_process_left_is_not_read_into_what_is_restored(tmp_path: Path) -> None:
    """SQLite would take it for the restored file's own: what was restored would be gone again."""
    store, copy = tmp_path / "store.db", tmp_path / "copy.db"
    fill(store, "old")
    back_up(store, copy)

    async def killed() -> None:
        async with Supervisor() as supervisor:
            living = tmp_path / "living.db"
            shutil.copy(store, living)
            opened = await Store.open(SqliteMedium(living), supervisor)
            for number in range(20):
                await put(opened, f"new-{number}")
            for suffix in ("", "-wal", "-shm"):
                shutil.copy(f"{living}{suffix}", f"{store}{suffix}")
            await opened.close()

    asyncio.run(killed())
    restore(copy, store)
    assert not store.with_name("store.db-wal").exists()
    assert not store.with_name("store.db-shm").exists()

    async def read() -> list[str]:
        async with Supervisor() as supervisor:
            opened = await Store.open(SqliteMedium(store), supervisor)
            found = [record.key.rpartition("/")[2] for record in opened.list("/").records]
            await opened.close()
            return found

    assert asyncio.run(read()) == ["old"]


def test_revisions_go_on_also_from_a_backup_of_what_was_restored_d3(tmp_path: Path) -> None:
    """Nothing was written in between: the newest record is older than the revision that was given out."""
    store, first, second = tmp_path / "store.db", tmp_path / "first.db", tmp_path / "second.db"
    fill(store, "a")
    back_up(store, first)
    once = restore(first, store).revision + REVISIONS_AHEAD
    assert back_up(store, second).revision == once
    assert restore(second, store).revision == once


def test_an_empty_store_is_backed_up_at_the_first_revision(tmp_path: Path) -> None:
    fill(tmp_path / "store.db")
    found = back_up(tmp_path / "store.db", tmp_path / "copy.db")
    assert (found.revision, found.objects) == (1, 0)
