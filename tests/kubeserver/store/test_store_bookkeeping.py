"""Accounts that a store keeps beside its records: what was to be forgotten, how much there is, and what it says."""

import asyncio
import logging

import pytest

from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeserver.store.keyspace import Keyspace
from kubeserver.store.medium import Batch, Loaded, MediumFull
from kubeserver.store.memory import MemoryMedium
from kubeserver.store.record import Overloaded, Record, StoreFailed, resource_prefix
from kubeserver.store.store import COMPACTION_STEP, Store
from kubeserver.store.watch import YIELD_BYTES, History
from tests.kubeserver.stores import POD, Machine, delete, put, render


class Full(MemoryMedium):
    """Has no room while `is_full`."""

    is_full = False

    async def commit(self, batch: Batch) -> None:
        if self.is_full:
            raise MediumFull("no room")
        await super().commit(batch)


def test_what_a_commit_without_room_was_to_forget_the_next_one_forgets_d6_d8() -> None:
    """Else the deletion goes before what it hides, and what was deleted is there again after a restart."""
    medium = Full()

    async def fill(store: Store) -> None:
        await put(store, POD, "old")
        await put(store, POD, "new")
        await delete(store, POD)
        last = await put(store, "//pods/default/b")
        medium.is_full = True
        store.compact(last.revision)
        await asyncio.sleep(0.1)
        assert store.full == "no room"
        medium.is_full = False
        await put(store, "//pods/default/c")
        assert store.full == ""

    Machine(run_virtual, lambda: medium).tell(fill)
    kept = run_virtual(medium.load()).records
    assert sorted(record.key for record in kept) == ["//pods/default/b", "//pods/default/c"]


def test_that_there_is_no_room_is_said_once_and_that_there_is_again(caplog: pytest.LogCaptureFixture) -> None:
    medium = Full()

    async def story(store: Store) -> None:
        await put(store, POD)
        assert caplog.messages == []
        medium.is_full = True
        for _ in range(3):
            with pytest.raises(StoreFailed, match=r"^no room$"):
                await put(store, POD)
            assert caplog.messages == ["store: writes are refused: no room"]
        medium.is_full = False
        for _ in range(3):
            await put(store, POD)

    with caplog.at_level(logging.INFO):
        Machine(run_virtual, lambda: medium).tell(story)
    assert caplog.messages == ["store: writes are refused: no room", "store: there is room on the disk again"]


def test_objects_are_counted_by_resource_and_deleted_ones_are_not() -> None:
    async def story(store: Store) -> None:
        assert (store.counts(), store.last_change("//pods/")) == ({}, 0)
        await put(store, POD)
        await put(store, POD)
        await put(store, "//pods/default/b")
        removed = await put(store, "/apps/deployments/default/a")
        assert store.counts() == {"//pods/": 2, "/apps/deployments/": 1}
        assert store.last_change("/apps/deployments/") == removed.revision
        gone = await delete(store, "/apps/deployments/default/a")
        assert store.counts() == {"//pods/": 2, "/apps/deployments/": 0}
        assert store.last_change("/apps/deployments/") == gone.revision == store.revision
        assert store.last_change("//pods/") == removed.revision - 1

    Machine(run_virtual, MemoryMedium).tell(story)


def test_the_form_that_a_writer_names_stands_in_the_record() -> None:
    async def story(store: Store) -> None:
        record = await store.put(POD, None, render(), "v1")
        assert record.form == "v1"
        record.remember("v2")
        found = store.get(POD)
        assert found is not None
        assert (found.form, (await delete(store, POD)).form) == ("v2", "v2")

    Machine(run_virtual, MemoryMedium).tell(story)


def test_writers_learn_that_a_store_was_stopped() -> None:
    async def main() -> None:
        refused: list[str] = []
        async with Supervisor("test") as supervisor:
            store = await Store.open(MemoryMedium(sync_seconds=5), supervisor)

            async def write() -> None:
                with pytest.raises(StoreFailed) as failed:
                    await put(store, POD)
                refused.append(str(failed.value))

            writing = asyncio.ensure_future(write())
            await asyncio.sleep(1)
        await writing
        assert refused == ["the store was stopped"]
        assert store.failure == "the store was stopped"

    run_virtual(main())


def test_a_store_that_is_stopped_while_it_waits_takes_no_more_writes() -> None:
    async def main() -> None:
        async with Supervisor("test") as supervisor:
            store = await Store.open(MemoryMedium(), supervisor)
            await put(store, POD)
        assert store.failure == "the store was stopped"
        with pytest.raises(StoreFailed, match=r"^the store was stopped$"):
            await put(store, POD)

    run_virtual(main())


def test_no_writer_waits_where_history_ends_and_nothing_of_it_is_to_be_forgotten() -> None:
    async def story(store: Store) -> None:
        began = asyncio.get_running_loop().time()
        for number in range(5):
            await put(store, f"//pods/default/p{number}")
        assert store.compacted > 1
        assert asyncio.get_running_loop().time() == began

    Machine(run_virtual, MemoryMedium).tell(story, history_revisions=1)


def test_a_writer_learns_that_a_store_was_stopped_before_it_had_written_anything() -> None:
    async def main() -> None:
        async with Supervisor("test") as supervisor:
            store = await Store.open(MemoryMedium(), supervisor)
            await asyncio.sleep(1)
            writing = asyncio.ensure_future(put(store, POD))
            await asyncio.sleep(0)
        with pytest.raises(StoreFailed, match=r"^the store was stopped$"):
            async with asyncio.timeout(1):
                await writing

    run_virtual(main())


def test_of_a_store_that_is_closed_nothing_goes_on_and_watches_end_at_once() -> None:
    async def main() -> None:
        async with Supervisor("test") as supervisor:
            store = await Store.open(MemoryMedium(), supervisor)
            await put(store, POD)
            assert store._heads == {}, "what is durable is no more under way"  # pyright: ignore[reportPrivateUsage]
            committer = store._committer  # pyright: ignore[reportPrivateUsage]
            await store.close()
            assert committer is not None
            assert committer.done()
            assert await store.watch("/", store.revision).next() is None

    run_virtual(main())


def test_a_store_that_does_not_end_its_writes_is_closed_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> float:
        async with Supervisor("test") as supervisor:
            store = await Store.open(MemoryMedium(sync_seconds=1_000), supervisor)
            writing = asyncio.ensure_future(put(store, POD))
            await asyncio.sleep(0)
            began = asyncio.get_running_loop().time()
            await store.close()
            with pytest.raises(StoreFailed):
                await writing
            assert store.failure == "the store is closed"
            return asyncio.get_running_loop().time() - began

    seconds = run_virtual(main())
    assert caplog.messages == [f"store: 1 writes were not committed within {seconds:.0f} s"]


def test_too_many_writes_under_way_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeserver.store.store.MAX_UNDER_WAY", 2)

    async def story(store: Store) -> None:
        under_way = [asyncio.ensure_future(put(store, f"//pods/default/{n}")) for n in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Overloaded, match=r"^2 writes are under way; try again later$"):
            await put(store, POD)
        await asyncio.gather(*under_way)

    Machine(run_virtual, MemoryMedium).tell(story)


def test_history_counts_its_bytes_down_to_nothing_d9() -> None:
    history = History(1, 1)
    for revision in range(2, 6):
        history.append(Record(POD, revision, b"x" * 100, False))
    assert (history.bytes, history.last_changes) == (400, {"//pods/": 5})
    assert history.has_compacted() is False
    history.compacted = 2
    assert history.has_compacted() is False, "what is at the compacted revision is still read"
    history.compacted = 4
    assert [record.revision for record in history.pop_compacted(1)] == [2]
    assert history.has_compacted() is True
    assert [record.revision for record in history.pop_compacted(COMPACTION_STEP)] == [3]
    assert (history.bytes, history.has_compacted()) == (200, False)


def test_a_reader_gets_so_many_bytes_at_once() -> None:
    history = History(1, 1)
    for revision in range(2, 8):
        history.append(Record(POD, revision, b"x" * (YIELD_BYTES // 4), False))
    first = history.everything.read("/", 1, 100)
    assert (len(first.records), first.all) == (4, False)
    rest = history.everything.read("/", first.records[-1].revision, 100)
    assert (len(rest.records), rest.all) == (2, True)
    again = history.everything.read("/", 1, 100)
    assert len(again.records) == 4
    history.append(Record(POD, 8, b"", False))
    assert len(history.everything.read("/", first.records[-1].revision, 100).records) == 3
    history.everything.drop(7)
    assert [record.revision for record in history.everything.read("/", 1, 100).records] == [8]


def test_a_deletion_that_is_settled_is_forgotten_and_so_is_its_resource_d9() -> None:
    keyspace = Keyspace()
    deletion = Record(POD, 3, b"", True)
    for record in (Record(POD, 2, b"", False), deletion):
        keyspace.append(record)
    assert keyspace.at(2, "//pods/", "") != []
    assert keyspace.at(3, "//pods/", "") == []
    assert keyspace.settle(deletion) == [2, 3]
    assert (keyspace.newest(POD), keyspace.counts()) == (None, {})


@pytest.mark.parametrize(
    ("prefix", "resource"),
    [
        ("/", ""),
        ("//", ""),
        ("//pods", ""),
        ("//pods/", "//pods/"),
        ("//p/default/a", "//p/"),
        ("/a/b/", "/a/b/"),
        ("/apps", ""),
        ("/apps/", ""),
        ("/apps/deployments/default/a", "/apps/deployments/"),
        ("", ""),
    ],
)
def test_the_resource_of_a_key(prefix: str, resource: str) -> None:
    assert resource_prefix(prefix) == resource


def test_a_record_tells_what_it_is() -> None:
    assert repr(Record(POD, 3, b"", False)) == "write of //pods/default/a at 3"
    assert repr(Record(POD, 4, b"", True)) == "deletion of //pods/default/a at 4"


def test_a_medium_in_memory_becomes_what_a_backup_was() -> None:
    medium = MemoryMedium()

    async def story(store: Store) -> None:
        await put(store, POD)

    Machine(run_virtual, lambda: medium).tell(story)
    medium.become(Loaded([Record("//pods/default/b", 7, b"b", False)], 5))
    loaded = run_virtual(medium.load())
    assert ([record.key for record in loaded.records], loaded.compacted) == (["//pods/default/b"], 5)


@pytest.mark.parametrize("cuts", [1, 2])
def test_each_power_cut_fails_the_commit_that_runs(cuts: int) -> None:
    async def main() -> None:
        medium = MemoryMedium(sync_seconds=1)
        for _ in range(cuts):
            committing = asyncio.ensure_future(medium.commit(Batch((Record(POD, 2, b"", False),), (), 0)))
            await asyncio.sleep(0.5)
            medium.lose_unsynced()
            with pytest.raises(Exception, match=r"^memory medium: the power was cut before the sync$"):
                await committing
        assert (await medium.load()).records == []

    run_virtual(main())


class Held(MemoryMedium):
    """Commits nothing before it is let go on."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = asyncio.Event()

    async def commit(self, batch: Batch) -> None:
        await self.goes_on.wait()
        await super().commit(batch)


def test_a_writer_sees_what_is_live_under_a_prefix_with_the_writes_under_way() -> None:
    """Written, changed, deleted and made anew while the medium commits nothing; and nothing of another prefix."""
    medium = Held()
    prefix, names = "//pods/default/", ("kept", "changed", "deleted")

    async def story(store: Store) -> None:
        medium.goes_on.set()
        for name in names:
            await put(store, f"{prefix}{name}", "old")
        await put(store, "//pods/other/durable")
        assert [record.key for record in store.heads(prefix)] == [f"{prefix}{name}" for name in sorted(names)]
        medium.goes_on.clear()
        async with Supervisor("writers") as writers:
            for number, write in enumerate(
                (
                    put(store, f"{prefix}changed", "new"),
                    delete(store, f"{prefix}deleted"),
                    put(store, f"{prefix}made", "new"),
                    put(store, "//pods/other/made"),
                )
            ):
                writers.start(write, f"write {number}")
            await asyncio.sleep(1)
            seen = {record.key.removeprefix(prefix): record.value.partition(b"@")[0] for record in store.heads(prefix)}
            assert seen == {"kept": b"old", "changed": b"new", "made": b"new"}
            durable = {record.key.removeprefix(prefix) for record in store.list(prefix).records}
            assert durable == set(names), "readers see what is committed"
            medium.goes_on.set()
            await asyncio.sleep(1)
        assert {record.key.removeprefix(prefix) for record in store.heads(prefix)} == {"kept", "changed", "made"}

    Machine(run_virtual, lambda: medium).tell(story)
