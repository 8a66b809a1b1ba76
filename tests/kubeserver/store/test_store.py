"""The contract of the store, run on every medium: what is written, read, and there after a restart."""

import asyncio

import pytest

from kubeapi.loop.supervisor import Supervisor
from kubeserver.store import FutureRevision, Overloaded, Raced, Record, Store
from kubeserver.store import store as store_module
from tests.kubeserver.stores import POD, Machine, delete, keys, put, render, take


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


def test_d4_a_write_that_expects_the_wrong_thing_is_refused_and_takes_no_revision(machine: Machine) -> None:
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


def test_d3_revisions_are_not_used_again_when_the_newest_record_was_a_deletion_and_is_compacted(
    machine: Machine,
) -> None:
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
