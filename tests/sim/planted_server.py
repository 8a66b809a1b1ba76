"""Planted bugs of the API server, for the checkers that judge it: each breaks one promise of the store."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

from kubeserver.registry.writing import Writer
from kubeserver.store import Record, Store
from kubeserver.store.keyspace import Keyspace
from kubeserver.store.medium import Loaded
from kubeserver.store.watch import Watcher

EVERY = 7


def _acknowledge_before_the_sync() -> Any:
    """Writers are told before the medium was asked."""
    enqueue = Store._enqueue  # pyright: ignore[reportPrivateUsage]

    def hasty(self: Store, record: Record) -> asyncio.Future[Record]:
        done = enqueue(self, record)
        done.set_result(record)
        return done

    return mock.patch.object(Store, "_enqueue", hasty)


def _forget_at_a_restart() -> Any:
    """Fault: the last writes before a crash are not read again."""
    replay = Store._replay  # pyright: ignore[reportPrivateUsage]

    def forgetful(self: Store, loaded: Loaded) -> None:
        kept: Sequence[Record] = loaded.records[:-EVERY] if len(loaded.records) > 2 * EVERY else loaded.records
        replay(self, replace(loaded, records=kept))

    return mock.patch.object(Store, "_replay", forgetful)


def _overwrite_on_conflict() -> Any:
    """The version that a writer names is not compared."""

    def careless(*_: object) -> None:
        return None

    return mock.patch.object(Writer, "_check_identity", careless)


def _swallow_an_event() -> Any:
    """A watch leaves out one record in seven."""
    advance = Watcher._advance  # pyright: ignore[reportPrivateUsage]

    def swallowing(self: Watcher, limit: int) -> Sequence[Record]:
        return [record for record in advance(self, limit) if record.revision % EVERY]

    return mock.patch.object(Watcher, "_advance", swallowing)


def _repeat_an_event() -> Any:
    """A watch tells one record in seven twice."""
    advance = Watcher._advance  # pyright: ignore[reportPrivateUsage]

    def repeating(self: Watcher, limit: int) -> Sequence[Record]:
        return [told for r in advance(self, limit) for told in ((r,) if r.revision % EVERY else (r, r))]

    return mock.patch.object(Watcher, "_advance", repeating)


def _never_compact() -> Any:
    """Records that are forgotten in memory stay on the medium."""
    settle = Keyspace.settle

    def too_little(self: Keyspace, record: Record) -> list[int]:
        settle(self, record)
        return []

    return mock.patch.object(Keyspace, "settle", too_little)


def _compact_one_too_many() -> Any:
    """Records that the oldest revision that can be read still needs are forgotten, too."""
    settle = Keyspace.settle

    def too_much(self: Keyspace, record: Record) -> list[int]:
        return [*settle(self, record), record.revision]

    return mock.patch.object(Keyspace, "settle", too_much)


SERVER_BUGS: Mapping[str, tuple[Callable[[], Any], str]] = {
    "acknowledge before the sync": (_acknowledge_before_the_sync, "D1"),
    "forget at a restart": (_forget_at_a_restart, "D4"),
    "overwrite on conflict": (_overwrite_on_conflict, "D4"),
    "swallow an event": (_swallow_an_event, "D5"),
    "repeat an event": (_repeat_an_event, "D5"),
    "never compact": (_never_compact, "D9"),
    "compact one too many": (_compact_one_too_many, "D6"),
}
"""Planting of each bug, and the invariant that is seen to be broken: a restart's loss (D1) as an old answer."""
