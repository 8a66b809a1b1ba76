"""Abilities of the memory medium alone: power cuts and break-downs on request, on virtual time."""

import asyncio

import pytest

from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeserver.store import Raced, Store, StoreFailed
from kubeserver.store.medium import Loaded
from kubeserver.store.memory import MemoryMedium

POD = "//pods/default/a"


def render(revision: int) -> bytes:
    return str(revision).encode()


def test_a_power_cut_fails_the_writes_under_way_and_loses_nothing_that_was_acknowledged() -> None:
    medium = MemoryMedium(sync_seconds=0.01)

    async def before() -> None:
        async with Supervisor() as supervisor:
            store = await Store.open(medium, supervisor)
            await store.put(POD, None, render)
            write = supervisor.start(_refused(store, "//pods/default/b"), "writer")
            await asyncio.sleep(0.005)
            medium.lose_unsynced()
            await write
            with pytest.raises(StoreFailed, match="power was cut"):
                await store.put("//pods/default/c", None, render)
            assert store.head("//pods/default/b") is None

    async def after() -> None:
        async with Supervisor() as supervisor:
            store = await Store.open(medium, supervisor)
            assert [record.key for record in store.list("/").records] == [POD]

    run_virtual(before())
    run_virtual(after())


def test_what_was_written_but_not_synced_survives_a_killed_process() -> None:
    medium = MemoryMedium(sync_seconds=1)

    async def before() -> None:
        async with Supervisor("writer") as writers, Supervisor("process") as process:
            store = await Store.open(medium, process)
            writers.start(_refused(store, POD), "writer")
            await asyncio.sleep(0.5)
            await process.close()
            await asyncio.sleep(0)

    async def after() -> None:
        async with Supervisor() as supervisor:
            assert (await Store.open(medium, supervisor)).get(POD) is not None

    run_virtual(before())
    run_virtual(after())


def test_a_broken_medium_stops_writes_and_readers_go_on() -> None:
    medium = MemoryMedium()

    async def story() -> None:
        async with Supervisor() as supervisor:
            store = await Store.open(medium, supervisor)
            record = await store.put(POD, None, render)
            medium.break_down("disk full")
            outcomes = await asyncio.gather(
                store.put(POD, record, render), store.put("//pods/default/b", None, render), return_exceptions=True
            )
            assert [str(outcome) for outcome in outcomes] == ["memory medium: disk full"] * 2
            medium.repair()
            with pytest.raises(StoreFailed, match="disk full"):
                await store.put(POD, record, render)
            assert store.get(POD) is record
            assert store.list("/").records == [record]
            await store.close()

    run_virtual(story())


def test_a_repaired_medium_takes_the_writes_of_the_next_store() -> None:
    medium = MemoryMedium()

    async def story() -> None:
        medium.break_down()
        medium.repair()
        async with Supervisor() as supervisor:
            store = await Store.open(medium, supervisor)
            await store.put(POD, None, render)
            assert store.get(POD) is not None

    run_virtual(story())


def test_a_backup_has_what_a_power_cut_leaves_and_becomes_another_medium() -> None:
    medium, other = MemoryMedium(sync_seconds=1), MemoryMedium()
    assert medium.durable() == Loaded([], 0)

    async def story() -> None:
        async with Supervisor() as supervisor:
            store = await Store.open(medium, supervisor)
            first = await store.put(POD, None, render)
            await store.put(POD, first, render)
            store.compact(3)
            last = await store.put("//pods/default/b", None, render)
            writer = supervisor.start(_refused(store, "//pods/default/c"), "writer")
            await asyncio.sleep(0.5)
            backup = medium.durable()
            medium.lose_unsynced()
            await writer
            newest = {record.key: record.revision for record in backup.records}
            assert newest == {POD: 3, last.key: 4}
            assert backup.compacted == 3
            other.become(backup)
            copy = await Store.open(other, supervisor)
            assert (copy.revision, copy.compacted, len(copy.list("/").records)) == (4, 3, 2)

    run_virtual(story())


def test_writes_that_queue_while_a_sync_runs_share_the_next_one() -> None:
    medium = MemoryMedium(sync_seconds=1)

    async def story() -> None:
        async with Supervisor() as supervisor:
            store = await Store.open(medium, supervisor)
            await asyncio.gather(*(store.put(f"//pods/default/{n}", None, render) for n in range(100)))
            assert asyncio.get_running_loop().time() == pytest.approx(1)

    run_virtual(story())


def test_a_render_that_fails_takes_no_revision() -> None:
    async def story() -> None:
        async with Supervisor() as supervisor:
            store = await Store.open(MemoryMedium(), supervisor)
            with pytest.raises(ZeroDivisionError):
                await store.put(POD, None, lambda revision: render(revision // 0))
            assert (await store.put(POD, None, render)).revision == 2
            with pytest.raises(Raced):
                await store.put(POD, None, render)

    run_virtual(story())


async def _refused(store: Store, key: str) -> None:
    with pytest.raises(StoreFailed):
        await store.put(key, None, render)
