"""The contract of the store, run on every medium: watches."""

import asyncio

import pytest

from kubeapi.loop.supervisor import Supervisor
from kubeserver.store import Store, StoreFailed
from kubeserver.store.watch import YIELD_BYTES, YIELD_RECORDS
from tests.kubeserver.stores import POD, Machine, delete, is_waiting, put, take


def test_a_watch_sees_the_past_and_the_present_of_its_prefix_only(machine: Machine) -> None:
    async def story(store: Store) -> None:
        await put(store, POD)
        watcher = store.watch("//pods/default/", after=1)
        await put(store, "//pods/other/a")
        await put(store, "//podtemplates/default/a")
        await delete(store, POD)
        assert await take(watcher, 2) == [(POD, 2, False), (POD, 5, True)]
        assert await is_waiting(watcher)

    machine.tell(story)


def test_d5_a_watch_of_everything_sees_all_resources_in_order(machine: Machine) -> None:
    async def story(store: Store) -> None:
        watcher = store.watch("/", after=1)
        await put(store, POD)
        await put(store, "/apps/deployments/default/a")
        await put(store, "//nodes//n")
        assert [revision for _, revision, _ in await take(watcher, 3)] == [2, 3, 4]

    machine.tell(story)


def test_progress_passes_over_records_of_others_but_not_over_one_that_is_not_handed_out(machine: Machine) -> None:
    async def story(store: Store) -> None:
        watcher = store.watch("//pods/", after=1)
        await put(store, "//nodes//n")
        assert watcher.progress == 1
        assert await is_waiting(watcher)
        assert watcher.progress == 2
        await put(store, POD)
        assert watcher.progress == 2
        await take(watcher, 1)
        assert watcher.progress == 3

    machine.tell(story)


def test_a_reader_that_waits_is_woken_by_what_concerns_it(machine: Machine) -> None:
    async def story(store: Store) -> None:
        watcher = store.watch("/", after=1, concerns=lambda record: record.deleted)
        async with Supervisor("reader") as readers:
            waiting = readers.start(watcher.next(), "reader")
            await asyncio.sleep(0)
            await put(store, POD)
            await put(store, "//nodes//n")
            assert not waiting.done()
            assert watcher.progress == 3
            await delete(store, POD)
            record = await waiting
            assert record is not None
            assert (record.key, record.revision, record.deleted) == (POD, 4, True)

    machine.tell(story)


def test_a_reader_lets_others_run_when_it_begins_and_after_each_so_many_records(machine: Machine) -> None:
    async def story(store: Store) -> None:
        for number in range(2 * YIELD_RECORDS + 1):
            await put(store, f"//pods/default/p{number}")
        watcher, turns = store.watch("//pods/", after=1), list[int]()
        read = 0

        async def beside() -> None:
            while read <= 2 * YIELD_RECORDS:
                turns.append(read)
                await asyncio.sleep(0)

        async with Supervisor("others") as others:
            others.start(beside(), "others")
            for _ in range(2 * YIELD_RECORDS + 1):
                await watcher.next()
                read += 1
        assert turns == [0, YIELD_RECORDS, 2 * YIELD_RECORDS]

    machine.tell(story)


def test_a_reader_that_stops_waiting_loses_nothing(machine: Machine) -> None:
    async def story(store: Store) -> None:
        watcher = store.watch("//pods/", after=1)
        async with Supervisor("reader") as readers:
            waiting = readers.start(watcher.next(), "reader")
            await asyncio.sleep(0)
            await put(store, POD)
            waiting.cancel()
            await asyncio.wait([waiting])
        if waiting.cancelled():
            assert await take(watcher, 1) == [(POD, 2, False)]
        assert watcher.progress == 2

    machine.tell(story)


def test_all_that_is_ready_is_taken_at_once_a_breath_at_most(machine: Machine) -> None:
    async def story(store: Store) -> None:
        watcher = store.watch("//pods/", after=1)
        for number in range(YIELD_RECORDS + 2):
            await put(store, f"//pods/default/{number:03}")
        await put(store, "//pods/default/large", "x" * YIELD_BYTES)
        await put(store, "//pods/default/last")
        until = asyncio.get_running_loop().time() + 5
        assert [len(await watcher.take(until)) for _ in range(3)] == [YIELD_RECORDS, 3, 1]
        assert watcher.progress == store.revision

    machine.tell(story)


def test_whoever_takes_waits_until_something_comes_or_the_time_is_over(machine: Machine) -> None:
    async def story(store: Store) -> None:
        watcher, loop = store.watch("//pods/", after=1), asyncio.get_running_loop()
        assert not await watcher.take(loop.time() + 0.01)
        assert not watcher.ended
        async with Supervisor("reader") as readers:
            waiting = readers.start(watcher.take(loop.time() + 5), "reader")
            await asyncio.sleep(0)
            await put(store, POD)
            assert [record.key for record in await waiting] == [POD]
        watcher.close()
        assert not await watcher.take(loop.time() + 5)
        assert watcher.ended

    machine.tell(story)


def test_a_watcher_that_is_too_slow_ends(machine: Machine) -> None:
    async def story(store: Store) -> None:
        slow = store.watch("//pods/", after=1, limit=3)
        for number in range(4):
            await put(store, f"//pods/default/{number}")
        assert await slow.next() is None
        replaying = store.watch("//pods/", after=1, limit=3)
        assert len(await take(replaying, 4)) == 4

    machine.tell(story)


def test_an_idle_watcher_is_not_slow_however_much_is_written_beside_it(machine: Machine) -> None:
    async def story(store: Store) -> None:
        watcher = store.watch("//pods/mine/", after=1, limit=3)
        async with Supervisor("reader") as readers:
            waiting = readers.start(watcher.next(), "reader")
            await asyncio.sleep(0)
            for number in range(10):
                await put(store, f"//pods/other/{number}")
            store.compact(store.revision)
            await put(store, "//pods/mine/a")
            record = await waiting
            assert record is not None
            assert record.revision == 12

    machine.tell(story)


def test_closing_ends_watchers_with_none(machine: Machine) -> None:
    async def story(store: Store) -> None:
        one, two = store.watch("//pods/", after=1), store.watch("/", after=1)
        async with Supervisor("readers") as readers:
            waiting = [readers.start(watcher.next(), "reader") for watcher in (one, two)]
            await asyncio.sleep(0)
            one.close()
            assert await waiting[0] is None
            await store.close()
            assert await waiting[1] is None
        assert await one.next() is None
        with pytest.raises(StoreFailed, match="closed"):
            await put(store, POD)

    machine.tell_unclosed(story)
