"""The contract of the store, run on every medium: compaction, and the bounds of its history."""

import pytest

from kubeserver.store import Compacted, Store
from tests.kubeserver.stores import POD, Machine, delete, keys, put, take


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
