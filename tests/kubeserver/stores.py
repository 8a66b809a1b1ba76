"""Stores for tests: on one medium after the other, and short ways to write to them and to watch them."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from kubeapi.loop.supervisor import Supervisor
from kubeserver.store import Medium, Record, Store, Watcher

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
