"""The contract of the store, run on every medium."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from leeward.apiserver.store import (
    Compacted,
    FutureRevision,
    Medium,
    Overloaded,
    Raced,
    Record,
    Store,
    StoreFailed,
    Watcher,
)
from leeward.apiserver.store import store as store_module
from leeward.apiserver.store.memory import MemoryMedium
from leeward.apiserver.store.sqlite import SqliteMedium
from leeward.apiserver.store.watch import BREATH, BREATH_BYTES
from leeward.loop.supervisor import Supervisor
from leeward.loop.virtual import run_virtual

POD = "//pods/default/a"
Story = Callable[[Store], Awaitable[None]]


class Machine:
    """One medium that outlives its stores, and the loop that it is used on."""

    def __init__(self, run: Callable[[Coroutine[Any, Any, Any]], Any], medium: Callable[[], Medium]) -> None:
        self._run = run
        self._medium = medium

    def tell(self, story: Story, **options: int) -> None:
        """Opens the store, plays the story, and closes the store."""

        async def to_the_end(store: Store) -> None:
            await story(store)
            await store.close()

        self.tell_unclosed(to_the_end, **options)

    def tell_unclosed(self, story: Story, **options: int) -> None:
        async def main() -> None:
            async with Supervisor("test") as supervisor:
                await story(await Store.open(self._medium(), supervisor, **options))

        self._run(main())


@pytest.fixture(params=["memory-virtual", "memory-real", "sqlite"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    memory = MemoryMedium()
    match request.param:
        case "memory-virtual":
            return Machine(run_virtual, lambda: memory)
        case "memory-real":
            return Machine(asyncio.run, lambda: memory)
        case _:
            return Machine(asyncio.run, lambda: SqliteMedium(tmp_path / "store.db"))


def render(text: str = "") -> Callable[[int], bytes]:
    return lambda revision: f"{text}@{revision}".encode()


async def put(store: Store, key: str, text: str = "") -> Record:
    return await store.put(key, store.head(key), render(text))


async def delete(store: Store, key: str) -> Record:
    head = store.head(key)
    assert head is not None
    return await store.delete(key, head, render("gone"))


async def take(watcher: Watcher, count: int) -> list[tuple[str, int, bool]]:
    found: list[tuple[str, int, bool]] = []
    for _ in range(count):
        record = await watcher.next()
        assert record is not None
        found.append((record.key, record.revision, record.deleted))
    return found


async def is_waiting(watcher: Watcher) -> bool:
    try:
        async with asyncio.timeout(0.01):
            await watcher.next()
    except TimeoutError:
        return True
    return False


def keys(store: Store, prefix: str, **options: Any) -> list[str]:
    return [record.key for record in store.list(prefix, **options).records]


def test_an_empty_store_is_at_revision_1(machine: Machine) -> None:
    async def story(store: Store) -> None:
        assert store.revision == 1
        assert store.list("/").records == []
        assert store.get(POD) is None

    machine.tell(story)


def test_a_write_is_visible_when_it_returns(machine: Machine) -> None:
    async def story(store: Store) -> None:
        record = await store.put(POD, None, render("one"))
        assert (record.revision, record.value, record.previous) == (2, b"one@2", None)
        assert store.get(POD) is record
        assert store.revision == 2

    machine.tell(story)


def test_readers_see_only_durable_writes_and_writers_see_those_under_way(machine: Machine) -> None:
    async def story(store: Store) -> None:
        async with Supervisor("writers") as writers:
            task = writers.start(store.put(POD, None, render("one")), "writer")
            while store.head(POD) is None:
                assert store.get(POD) is None
                await asyncio.sleep(0)
            head = store.head(POD)
            assert store.get(POD) is None
            assert await task is head

    machine.tell(story)


def test_of_two_writers_who_saw_the_same_head_one_is_refused(machine: Machine) -> None:
    async def story(store: Store) -> None:
        first = await put(store, POD)
        outcomes = await asyncio.gather(
            store.put(POD, first, render("x")), store.put(POD, first, render("y")), return_exceptions=True
        )
        assert isinstance(outcomes[0], Record)
        assert isinstance(outcomes[1], Raced)
        assert store.revision == 3

    machine.tell(story)


def test_a_write_that_expects_the_wrong_thing_is_refused_and_takes_no_revision(machine: Machine) -> None:
    async def story(store: Store) -> None:
        first = await put(store, POD)
        with pytest.raises(Raced, match="expected nothing, found revision 2"):
            await store.put(POD, None, render())
        await delete(store, POD)
        with pytest.raises(Raced, match="expected revision 2, found nothing"):
            await store.delete(POD, first, render())
        assert (await put(store, POD)).revision == 4

    machine.tell(story)


def test_writes_that_depend_on_writes_under_way_are_committed_in_order(machine: Machine) -> None:
    async def story(store: Store) -> None:
        watcher = store.watch("//pods/", store.revision)
        records = await asyncio.gather(*(put(store, POD, str(n)) for n in range(20)))
        assert [record.revision for record in records] == list(range(2, 22))
        assert records[7].previous is records[6]
        assert await take(watcher, 20) == [(POD, revision, False) for revision in range(2, 22)]

    machine.tell(story)


def test_a_list_is_sorted_by_key_and_paged(machine: Machine) -> None:
    async def story(store: Store) -> None:
        for name in ("b/x", "a/y", "a/x", "ab/x"):
            await put(store, f"//pods/{name}")
        await put(store, "/apps/deployments/a/x")
        assert keys(store, "//pods/") == ["//pods/a/x", "//pods/a/y", "//pods/ab/x", "//pods/b/x"]
        assert keys(store, "//pods/a/") == ["//pods/a/x", "//pods/a/y"]
        page = store.list("//pods/", limit=3)
        assert ([r.key for r in page.records][-1], page.more, page.remaining) == ("//pods/ab/x", True, 1)
        last = store.list("//pods/", start_after="//pods/ab/x", limit=3)
        assert (len(last.records), last.more, last.remaining) == (1, False, 0)
        assert len(keys(store, "/")) == 5

    machine.tell(story)


def test_a_list_at_an_older_revision_shows_what_was(machine: Machine) -> None:
    async def story(store: Store) -> None:
        await put(store, POD, "old")
        await put(store, "//pods/default/b")
        before = store.revision
        await put(store, POD, "new")
        await delete(store, "//pods/default/b")
        await put(store, "//pods/default/c")
        listing = store.list("//pods/", revision=before)
        assert [r.value for r in listing.records] == [b"old@2", b"@3"]
        assert listing.revision == before
        assert keys(store, "//pods/") == [POD, "//pods/default/c"]
        assert keys(store, "//pods/", revision=1) == []

    machine.tell(story)


def test_a_revision_that_is_not_there_yet_is_refused(machine: Machine) -> None:
    async def story(store: Store) -> None:
        with pytest.raises(FutureRevision, match="revision 9 is not there yet"):
            store.list("/", revision=9)
        with pytest.raises(FutureRevision):
            store.watch("/", after=2)

    machine.tell(story)


def test_a_recreated_key_has_no_previous_record(machine: Machine) -> None:
    async def story(store: Store) -> None:
        created = await put(store, POD)
        deleted = await delete(store, POD)
        again = await put(store, POD)
        assert (deleted.deleted, deleted.previous, deleted.value) == (True, created, b"gone@3")
        assert again.previous is None

    machine.tell(story)


def test_everything_is_there_after_a_restart(machine: Machine) -> None:
    async def before(store: Store) -> None:
        await put(store, POD, "one")
        await put(store, POD, "two")
        await put(store, "//pods/default/b")
        await delete(store, "//pods/default/b")

    async def after(store: Store) -> None:
        assert store.revision == 5
        record = store.get(POD)
        assert record is not None
        assert record.value == b"two@3"
        assert record.previous is not None
        assert record.previous.value == b"one@2"
        watcher = store.watch("//pods/", after=2)
        assert [revision for _, revision, _ in await take(watcher, 3)] == [3, 4, 5]
        assert (await put(store, "//pods/default/b")).revision == 6

    machine.tell(before)
    machine.tell(after)


def test_revisions_are_not_used_again_when_the_newest_record_was_a_deletion_and_is_compacted(machine: Machine) -> None:
    async def before(store: Store) -> None:
        await put(store, POD)
        await delete(store, POD)
        store.compact(1_000)
        await put(store, "//pods/default/b")
        await delete(store, "//pods/default/b")

    async def after(store: Store) -> None:
        assert store.revision == 5
        assert (await put(store, POD)).revision == 6

    machine.tell(before)
    machine.tell(after)


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


def test_a_watch_of_everything_sees_all_resources_in_order(machine: Machine) -> None:
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
        for number in range(BREATH + 2):
            await put(store, f"//pods/default/{number:03}")
        await put(store, "//pods/default/large", "x" * BREATH_BYTES)
        await put(store, "//pods/default/last")
        until = asyncio.get_running_loop().time() + 5
        assert [len(await watcher.take(until)) for _ in range(3)] == [BREATH, 3, 1]
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


def test_what_is_compacted_is_refused_and_live_records_stay(machine: Machine) -> None:
    async def story(store: Store) -> None:
        await put(store, POD, "one")
        await put(store, "//pods/default/b")
        await delete(store, "//pods/default/b")
        await put(store, POD, "two")
        await put(store, "//pods/default/c")
        store.compact(5)
        with pytest.raises(Compacted, match="revision 4 is compacted; the oldest one is 5"):
            store.list("//pods/", revision=4)
        with pytest.raises(Compacted):
            store.watch("//pods/", after=4)
        assert keys(store, "//pods/", revision=5) == [POD]
        assert await take(store.watch("//pods/", after=5), 1) == [("//pods/default/c", 6, False)]
        await put(store, "//nodes//n")

    async def after(store: Store) -> None:
        assert keys(store, "//pods/") == [POD, "//pods/default/c"]
        assert store.compacted == 5

    machine.tell(story)
    machine.tell(after)


def test_compaction_cuts_the_chains(machine: Machine) -> None:
    async def story(store: Store) -> None:
        for text in ("one", "two", "three"):
            await put(store, POD, text)
        store.compact(4)
        newest = await put(store, POD, "four")
        assert newest.previous is not None
        assert newest.previous.value == b"three@4"
        store.compact(5)
        await put(store, "//pods/default/b")
        assert newest.previous is not None
        assert newest.previous.previous is None

    machine.tell(story)


def test_a_watcher_whose_place_is_compacted_ends(machine: Machine) -> None:
    async def story(store: Store) -> None:
        watcher = store.watch("//pods/", after=1)
        await put(store, POD)
        await put(store, POD)
        store.compact(3)
        assert await watcher.next() is None

    machine.tell(story)


def test_history_is_bounded_in_revisions_and_on_the_medium(machine: Machine) -> None:
    async def churn(store: Store) -> None:
        await put(store, "//nodes//stays")
        for number in range(100):
            await put(store, POD, str(number))
        for number in range(50):
            await put(store, f"//pods/default/{number}")
            await delete(store, f"//pods/default/{number}")
        assert store.revision - store.compacted <= 20
        assert store.history_length <= 21
        assert keys(store, "/") == ["//nodes//stays", POD]

    async def after(store: Store) -> None:
        assert store.history_length <= 25
        assert keys(store, "/") == ["//nodes//stays", POD]

    machine.tell(churn, history_revisions=10)
    machine.tell(after)


def test_history_is_bounded_in_bytes(machine: Machine) -> None:
    async def story(store: Store) -> None:
        for _ in range(50):
            await put(store, POD, "x" * 1_000)
        assert store.history_length < 15

    machine.tell(story, history_bytes=10_000)


def test_a_queue_that_is_full_refuses_and_takes_writes_again_later(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "MAX_UNDER_WAY", 2)

    async def story(store: Store) -> None:
        outcomes = await asyncio.gather(*(put(store, POD) for _ in range(3)), return_exceptions=True)
        assert isinstance(outcomes[2], Overloaded)
        assert (await put(store, POD)).revision == 4

    machine.tell(story)


def test_closing_commits_what_was_queued(machine: Machine) -> None:
    async def before(store: Store) -> None:
        async with Supervisor("writers") as writers:
            tasks = [writers.start(put(store, f"//pods/default/{n}"), "writer") for n in range(5)]
            await asyncio.sleep(0)
            await store.close()
            assert all(task.done() for task in tasks) or await asyncio.gather(*tasks)

    async def after(store: Store) -> None:
        assert store.revision == 6

    machine.tell_unclosed(before)
    machine.tell(after)
