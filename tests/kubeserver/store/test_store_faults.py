"""The store under faults: power cuts at any instant, an error at every single call, a disk that is full.

Whatever happens, what was acknowledged is there afterwards, and nothing is there that nobody wrote.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeserver.store import Batch, MediumFailed, MediumFull, Store, StoreFailed
from kubeserver.store.memory import MemoryMedium
from kubeserver.store.sqlite import SqliteMedium
from kubeserver.store.store import ROOM_SECONDS

Contents = dict[str, bytes]


class Expectation:
    """Writes that were acknowledged, and those that were asked for without an answer."""

    def __init__(self) -> None:
        self.acknowledged: Contents = {}
        self.attempted: dict[str, set[bytes | None]] = {}

    async def write(self, store: Store, key: str, value: bytes | None) -> None:
        """`None` deletes. Raises: StoreFailed."""
        self.attempted.setdefault(key, set()).add(value)
        head = store.head(key)
        if value is None:
            assert head is not None
            await store.delete(key, head, lambda revision: b"gone")
            self.acknowledged.pop(key, None)
        else:
            await store.put(key, head, lambda revision: value)
            self.acknowledged[key] = value
        self.attempted[key].clear()

    def check(self, store: Store) -> None:
        found = {record.key: record.value for record in store.list("/").records}
        for key in {*found, *self.acknowledged, *self.attempted}:
            assert found.get(key) in {self.acknowledged.get(key), *self.attempted.get(key, set())}, key


async def write_until_it_fails(store: Store, expectation: Expectation, lane: str, steps: Iterable[int]) -> None:
    try:
        for step in steps:
            key = f"//pods/{lane}/{step % 3}"
            deletes = step % 5 == 4 and store.head(key) is not None
            await expectation.write(store, key, None if deletes else f"{lane}/{step}".encode())
    except StoreFailed:
        return


@pytest.mark.parametrize("seed", range(30))
def test_a_power_cut_at_any_instant_loses_nothing_that_was_acknowledged(seed: int) -> None:
    """Holds: D2, D3."""
    medium, expectation, randomness = MemoryMedium(sync_seconds=0.003), Expectation(), Randomness(seed)

    async def life(last: bool) -> int:
        async with Supervisor() as supervisor, Supervisor("writers") as writers:
            store = await Store.open(medium, supervisor, history_revisions=20)
            expectation.check(store)
            begun = store.revision
            lanes = [write_until_it_fails(store, expectation, str(lane), range(1_000)) for lane in range(4)]
            tasks = [writers.start(lane, "writer") for lane in lanes]
            await asyncio.sleep(randomness.jitter(0.01, 10))
            if not last:
                medium.lose_unsynced()
            for task in tasks:
                task.cancel()
            return begun

    begun = [run_virtual(life(last=number == 4)) for number in range(5)]
    assert begun == sorted(begun)
    assert begun[-1] > begun[0]


class Fault(sqlite3.Connection):
    """Fails at the `at`th statement: instead of it, or after it was carried out."""

    at = 0
    after = False
    seen = 0

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        return self._maybe(lambda: sqlite3.Connection.execute(self, *arguments))

    def _maybe(self, statement: Callable[[], sqlite3.Cursor]) -> sqlite3.Cursor:
        kind = type(self)
        kind.seen += 1
        if kind.seen == kind.at and not kind.after:
            raise sqlite3.OperationalError("disk I/O error")
        cursor = statement()
        if kind.seen == kind.at:
            raise sqlite3.OperationalError("disk I/O error")
        return cursor


@pytest.mark.parametrize("after", [False, True], ids=["instead", "after"])
def test_an_error_at_the_nth_call_loses_nothing_for_any_n(tmp_path: Path, after: bool) -> None:
    """Holds: D1, D7."""
    number = 0
    while True:
        number += 1
        fault = type("NthFault", (Fault,), {"at": number, "after": after, "seen": 0})
        path, expectation = tmp_path / f"{number}.db", Expectation()
        asyncio.run(_life(SqliteMedium(path, fault), expectation, steps=24))
        asyncio.run(_life(SqliteMedium(path), expectation, steps=3))
        asyncio.run(_life(SqliteMedium(path), expectation, steps=0))
        if fault.seen < number:
            break
    assert number > 40


async def _life(medium: SqliteMedium, expectation: Expectation, steps: int) -> None:
    async with Supervisor() as supervisor:
        try:
            store = await Store.open(medium, supervisor, history_revisions=4)
        except MediumFailed:
            return
        expectation.check(store)
        await write_until_it_fails(store, expectation, "a", range(steps))
        await store.close()


class Asked(sqlite3.Connection):
    """Asks SQLite before every statement that commits, how it will do that."""

    answers: ClassVar[list[tuple[str, int]]] = []

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        if str(arguments[0]).startswith(("COMMIT", "INSERT", "DELETE", "UPDATE")):
            (mode,) = super().execute("PRAGMA journal_mode").fetchone()
            (forced,) = super().execute("PRAGMA synchronous").fetchone()
            self.answers.append((mode, forced))
        return super().execute(*arguments)


def test_d2_every_commit_is_forced_to_the_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    """SQLite at less than FULL (2) forces the log to the disk at checkpoints only, in WAL mode."""
    expectation = Expectation()
    for steps in (24, 3):
        asyncio.run(_life(SqliteMedium(tmp_path / "store.db", Asked), expectation, steps))
    assert len(Asked.answers) > 27
    assert set(Asked.answers) == {("wal", 2)}


class SmallDisk(sqlite3.Connection):
    """A disk with room for some pages only."""

    pages = 30

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.execute(f"PRAGMA max_page_count = {self.pages}")


async def _fill(store: Store, expectation: Expectation) -> None:
    for number in range(100):
        await expectation.write(store, f"//pods/a/{number}", b"x" * 3000)


def test_a_full_disk_refuses_writes_in_clear_words_and_takes_them_again_when_there_is_room(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    async def main() -> None:
        expectation = Expectation()
        async with Supervisor() as supervisor:
            store = await Store.open(SqliteMedium(path, SmallDisk), supervisor, history_revisions=5)
            with pytest.raises(StoreFailed, match=r"store\.db: database or disk is full; make room on the disk"):
                await _fill(store, expectation)
            assert store.failure == ""
            assert "database or disk is full" in store.full
            expectation.check(store)
            for number in range(20):
                await expectation.write(store, "//pods/a/0", None if number % 2 else b"small")
            assert store.full == ""
            expectation.check(store)
            await store.close()
        async with Supervisor() as supervisor:
            store = await Store.open(SqliteMedium(path), supervisor)
            expectation.check(store)
            await expectation.write(store, "//pods/a/new", b"x" * 3000)
            await store.close()

    asyncio.run(main())


class NarrowMedium(MemoryMedium):
    """Has no room as long as it is `full`; `asked` counts the commits that it was given."""

    full = False
    asked = 0

    async def commit(self, batch: Batch) -> None:
        self.asked += 1
        if self.full:
            raise MediumFull("narrow: the disk is full; make room on the disk")
        await super().commit(batch)


def test_a_store_without_room_looks_by_itself_whether_there_is_some_again() -> None:
    medium = NarrowMedium()

    async def main() -> None:
        async with Supervisor() as supervisor:
            store = await Store.open(medium, supervisor)
            medium.full = True
            with pytest.raises(StoreFailed, match="make room"):
                await store.put("//pods/a/0", None, lambda revision: b"x")
            await asyncio.sleep(62)
            assert store.full == "narrow: the disk is full; make room on the disk"
            assert medium.asked == 1 + 62 // ROOM_SECONDS, "and not in a tight loop"
            medium.full = False
            await asyncio.sleep(ROOM_SECONDS)
            assert store.full == ""
            asked = medium.asked
            await asyncio.sleep(60)
            assert medium.asked == asked
            await store.put("//pods/a/0", None, lambda revision: b"x")
            await store.close()

    run_virtual(main())


def test_compaction_under_load_removes_nothing_that_lives_and_never_stops(tmp_path: Path) -> None:
    """Holds: D6, D9."""

    async def main() -> None:
        expectation = Expectation()
        async with Supervisor() as supervisor, Supervisor("writers") as writers:
            store = await Store.open(SqliteMedium(tmp_path / "store.db"), supervisor, history_revisions=50)
            quiet = [expectation.write(store, f"//secrets/a/{number}", b"kept") for number in range(20)]
            await asyncio.gather(*quiet)
            lanes = [write_until_it_fails(store, expectation, str(lane), range(300)) for lane in range(8)]
            tasks = [writers.start(lane, "writer") for lane in lanes]
            while not all(task.done() for task in tasks):
                before = store.compacted
                await asyncio.sleep(0.01)
                store.compact(store.revision)
                assert store.compacted >= before
                expectation.check(store)
            assert store.history_length <= 200
            await store.close()
        async with Supervisor() as supervisor:
            store = await Store.open(SqliteMedium(tmp_path / "store.db"), supervisor)
            expectation.check(store)
            assert len(store.list("//secrets/").records) == 20
            await store.close()

    asyncio.run(main())
