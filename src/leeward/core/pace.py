"""How fast copies may leave clusters because of taints: --resource-eviction-rate, and the budget of a drain.

The rate spaces evictions out: whoever is due takes the next free instant, and leaves then. The budget of a drained
cluster bounds how many bindings leave it at the same time, each until its eviction is finished; the next in line
follows. A drained cluster that dies is left as others are: its budget holds nobody back then.

Application failover is not paced. Holds: C4.

Karmada: the eviction queue of the taint manager; same for the rate (0 is one in half an hour), except that a restart
forgets it there. There is no budget.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from leeward.api.cluster import Cluster
from leeward.api.names import DRAIN_BUDGET_ANNOTATION, DRAIN_TAINT
from leeward.core.failover.brake import looks_dead
from leeward.core.failover.holding import Eviction
from leeward.core.placement import Decision

K = TypeVar("K", bound=Hashable)

SLOWEST = timedelta(minutes=30)
RESOLUTION = timedelta(seconds=1)
"""Of the times that eviction tasks tell."""


def drain_budget(cluster: Cluster | None) -> int | None:
    """How many bindings may be on their way out of a cluster that is drained; None is any number."""
    if cluster is None or looks_dead(cluster):
        return None
    text = cluster.metadata.annotations.get(DRAIN_BUDGET_ANNOTATION, "")
    return max(int(text), 1) if text.isdecimal() else None


class Pace(Generic[K]):
    """Who may leave when, for one scheduler. Its keys are those of bindings; it is bounded by their number."""

    def __init__(self, per_second: float | None) -> None:
        """`per_second` None is without a limit."""
        self._rate = _Rate(per_second)
        self._leaving: dict[K, frozenset[str]] = {}
        self._count: dict[str, int] = {}
        self._waiting: dict[K, frozenset[str]] = {}

    def decide(
        self, key: K, fleet: Mapping[str, Cluster], now: datetime, decide: Callable[[Mapping[str, str]], Decision]
    ) -> Decision:
        """The decision at this pace; `decide` is given the clusters that may not be left yet, with the reasons."""
        self._waiting.pop(key, None)
        decision = decide({})
        by_taint = [eviction for eviction in decision.evicted if eviction.taints]
        crowded = self._crowded(key, by_taint, fleet)
        free = [eviction for eviction in by_taint if eviction.cluster not in crowded]
        wait_until = self._rate.wait_until(key, len(free), now)
        waits = dict(crowded)
        if wait_until is not None:
            waits |= {eviction.cluster: "evictions are spaced out by --resource-eviction-rate" for eviction in free}
        if waits:
            decision = decide(waits)
            if crowded:
                self._waiting[key] = frozenset(crowded)
        left = frozenset(eviction.cluster for eviction in decision.evicted if eviction.taints)
        self._set_leaving(key, self._leaving.get(key, frozenset()) | left)
        return decision if wait_until is None else replace(decision, wake_at=_earlier(decision.wake_at, wait_until))

    def observe(self, key: K, leaving: Iterable[str]) -> None:
        """What a binding says of itself: the clusters that it has open eviction tasks for."""
        self._set_leaving(key, frozenset(leaving))

    def see_evictions(self, at: Iterable[datetime], now: datetime) -> None:
        """Evictions for taints that a binding tells of, to the second: those of an earlier process count like ours, so
        that a restart does not hurry anything. What is yet to come is the word of a clock that was wrong."""
        self._rate.see([instant for instant in at if instant <= now])

    def forget(self, key: K) -> None:
        """The binding is gone."""
        self._set_leaving(key, frozenset())
        self._waiting.pop(key, None)
        self._rate.give_back(key)

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return len(self._waiting) + self._rate.waiting

    def next_in_line(self, fleet: Mapping[str, Cluster]) -> Iterator[K]:
        """Those that waited for a budget, as many as have room now."""
        room: dict[str, int | None] = {}
        for key, clusters in list(self._waiting.items()):
            for cluster in clusters:
                budget = drain_budget(fleet.get(cluster))
                left = room.setdefault(cluster, None if budget is None else budget - self._count.get(cluster, 0))
                if left is None or left > 0:
                    room[cluster] = None if left is None else left - 1
                    yield key
                    break

    def _crowded(self, key: K, evictions: Sequence[Eviction], fleet: Mapping[str, Cluster]) -> dict[str, str]:
        """The clusters whose budget is used up by others."""
        already = self._leaving.get(key, frozenset[str]())
        crowded: dict[str, str] = {}
        for eviction in evictions:
            budget = drain_budget(fleet.get(eviction.cluster))
            is_drain = all(taint.key == DRAIN_TAINT for taint in eviction.taints)
            if budget is None or not is_drain or eviction.cluster in already:
                continue
            if self._count.get(eviction.cluster, 0) >= budget:
                crowded[eviction.cluster] = f"it is drained with a budget, {budget} at a time"
        return crowded

    def _set_leaving(self, key: K, clusters: frozenset[str]) -> None:
        before = self._leaving.pop(key, frozenset[str]())
        if clusters:
            self._leaving[key] = clusters
        for cluster in before - clusters:
            self._count[cluster] -= 1
            if not self._count[cluster]:
                del self._count[cluster]
        for cluster in clusters - before:
            self._count[cluster] = self._count.get(cluster, 0) + 1


class _Rate:
    """Instants at which evictions may happen, one after the other."""

    def __init__(self, per_second: float | None) -> None:
        self._interval: timedelta | None = None
        if per_second is not None:
            self._interval = timedelta(seconds=1 / per_second) if per_second > 0 else SLOWEST
        self._reserved: dict[Hashable, datetime] = {}
        self._free_from: datetime | None = None
        self._next: datetime | None = None
        self._last: datetime | None = None

    def wait_until(self, key: Hashable, evictions: int, now: datetime) -> datetime | None:
        """When `key` may go on with so many evictions; None is now, and that takes the turn."""
        if self._interval is None:
            return None
        if not evictions:
            self.give_back(key)
            return None
        turn = self._reserved.get(key) or max(now, self._next or now)
        if key not in self._reserved:
            self._next = turn + self._interval * evictions
        if turn > now:
            self._reserved[key] = turn
            return turn
        self._reserved.pop(key, None)
        self._last = now
        self._free_from = max(now + self._interval * evictions, self._free_from or now)
        self._forget_unused()
        return None

    def see(self, at: Sequence[datetime]) -> None:
        """What is later than our last one was not ours."""
        newest = max(at, default=None)
        if self._interval is None or newest is None or (self._last is not None and newest <= self._last):
            return
        self._last = newest
        free_from = newest + RESOLUTION + self._interval * at.count(newest)
        self._free_from = max(free_from, self._free_from or free_from)
        self._next = max(free_from, self._next or free_from)

    @property
    def waiting(self) -> int:
        return len(self._reserved)

    def give_back(self, key: Hashable) -> None:
        if self._reserved.pop(key, None) is not None:
            self._forget_unused()

    def _forget_unused(self) -> None:
        """When nobody waits any more, turns that were reserved and not taken hold up no one."""
        if not self._reserved:
            self._next = self._free_from


def _earlier(one: datetime | None, other: datetime) -> datetime:
    return other if one is None else min(one, other)
