"""Eviction limiter: the rate of evictions for taints (--resource-eviction-rate), and the budget of a drained cluster.

The rate spaces evictions out: whoever is due takes the next free instant, and leaves then. The budget of a drained
cluster bounds how many bindings leave it at the same time, each until its eviction is finished; the next in line
follows. A drained cluster that dies is left as others are: its budget holds nobody back then.

A decision is given an `EvictionBudget`; what it then evicts, or defers, is settled here. Application failover is not
limited. Holds: C4.

Karmada: the eviction queue of the taint manager; same for the rate (0 is one in half an hour), except that a restart
forgets it there. There is no budget.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Generic, TypeVar

from leeward.api.cluster import Cluster
from leeward.api.names import DRAIN_BUDGET_ANNOTATION
from leeward.core.cluster_health.watched_time import has_stepped
from leeward.core.eviction.due_evictions import drain_budget
from leeward.core.eviction.held_reasons import Deferral
from leeward.core.placement import Decision, EvictionBudget

K = TypeVar("K", bound=Hashable)

SLOWEST = timedelta(minutes=30)
RESOLUTION = timedelta(seconds=1)
"""Resolution of the times that eviction tasks tell."""


def _has_budget(cluster: Cluster | None) -> bool:
    return cluster is not None and DRAIN_BUDGET_ANNOTATION in cluster.metadata.annotations


class EvictionLimiter(Generic[K]):
    """Limiter of evictions: it says who may leave when, for one scheduler. Its keys are those of bindings; it is
    bounded by their number."""

    def __init__(self, per_second: float | None) -> None:
        """`per_second` None is without a limit."""
        self._rate = _Rate(per_second)
        self._leaving: dict[K, frozenset[str]] = {}
        self._count: dict[str, int] = {}
        self._waiting: dict[K, frozenset[str]] = {}
        self._waiting_for: dict[str, dict[K, None]] = {}
        """Keys that wait for the budget of a cluster, by its name, in their order."""

    def look(self, now: datetime, monotonic_seconds: float) -> None:
        """Takes in what time it is by both clocks. A step of the wall clock neither hurries a turn nor puts it off."""
        self._rate.look(now, monotonic_seconds)

    def budget(self, key: K, clusters: Mapping[str, Cluster], now: datetime) -> EvictionBudget:
        """Budget that is left to the binding now."""
        already = self._leaving.get(key, frozenset[str]())
        drained = (name for name in self._count if name not in already and _has_budget(clusters.get(name)))
        budgets = {name: drain_budget(clusters.get(name)) for name in drained}
        exhausted = {n: budget for n, budget in budgets.items() if budget is not None and self._count[n] >= budget}
        return EvictionBudget(self._rate.turn_at(key, now), exhausted)

    def settle(self, key: K, decision: Decision, now: datetime) -> None:
        """Takes the turn of what the decision evicts, or reserves one for what it has deferred."""
        left = frozenset(eviction.cluster for eviction in decision.evicted if eviction.taints)
        deferred = [name for name, why in decision.deferred.items() if why is Deferral.RATE]
        self._rate.settle(key, len(deferred) or len(left), now)
        drained = frozenset(name for name, why in decision.deferred.items() if why is Deferral.DRAIN_BUDGET)
        self._set_waiting(key, drained)
        self._set_leaving(key, self._leaving.get(key, frozenset()) | left)

    def observe(self, key: K, leaving: Iterable[str]) -> None:
        """Takes in what a binding says of itself: the clusters that it has open eviction tasks for."""
        self._set_leaving(key, frozenset(leaving))

    def see_evictions(self, at: Iterable[datetime], now: datetime) -> None:
        """Evictions for taints that a binding tells of, to the second: those of an earlier process count like ours, so
        that a restart does not hurry anything. What is yet to come is the word of a clock that was wrong."""
        self._rate.see([instant for instant in at if instant <= now])

    def forget(self, key: K) -> None:
        """The binding is gone."""
        self._set_leaving(key, frozenset())
        self._set_waiting(key, frozenset())
        self._rate.give_back(key)

    @property
    def waiting(self) -> int:
        """Number of bindings that wait for their turn."""
        return len(self._waiting) + self._rate.waiting

    def next_in_line(self, fleet: Mapping[str, Cluster]) -> Iterator[K]:
        """Keys that waited for a budget, as many as have room now. Who waits where there is none costs nothing."""
        found: dict[K, None] = {}
        for cluster, keys in self._waiting_for.items():
            budget = drain_budget(fleet.get(cluster))
            left = None if budget is None else max(budget - self._count.get(cluster, 0), 0)
            found |= dict.fromkeys(islice((key for key in keys if key not in found), left))
        yield from found

    def _set_waiting(self, key: K, clusters: frozenset[str]) -> None:
        for cluster in self._waiting.pop(key, frozenset[str]()):
            del self._waiting_for[cluster][key]
            if not self._waiting_for[cluster]:
                del self._waiting_for[cluster]
        if clusters:
            self._waiting[key] = clusters
        for cluster in sorted(clusters):
            self._waiting_for.setdefault(cluster, {})[key] = None

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
        self._looked: tuple[datetime, float] | None = None

    def look(self, now: datetime, monotonic_seconds: float) -> None:
        """Moves all instants with the wall clock when it has stepped since the last look."""
        before, looked = self._looked, (now, monotonic_seconds)
        self._looked = looked
        if before is None or not has_stepped(before, looked):
            return
        step = now - before[0] - timedelta(seconds=monotonic_seconds - before[1])
        self._reserved = {key: turn + step for key, turn in self._reserved.items()}
        self._free_from, self._next, self._last = (
            None if instant is None else instant + step for instant in (self._free_from, self._next, self._last)
        )

    def turn_at(self, key: Hashable, now: datetime) -> datetime | None:
        """Instant from which `key` may go on; None is now."""
        if self._interval is None:
            return None
        turn = self._reserved.get(key) or self._next
        return turn if turn is not None and turn > now else None

    def settle(self, key: Hashable, evictions: int, now: datetime) -> None:
        """Takes the turn for so many evictions, or reserves it where it is yet to come; none gives it back."""
        if self._interval is None:
            return
        if not evictions:
            self.give_back(key)
            return
        turn = self._reserved.get(key) or max(now, self._next or now)
        if key not in self._reserved:
            self._next = turn + self._interval * evictions
        if turn > now:
            self._reserved[key] = turn
            return
        self._reserved.pop(key, None)
        self._last = now
        self._free_from = max(now + self._interval * evictions, self._free_from or now)
        self._forget_unused()

    def see(self, at: Sequence[datetime]) -> None:
        """Takes in when evictions began; what is later than our last one was not ours."""
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
        """Gives up turns that were reserved and not taken when nobody waits any more: they hold up no one."""
        if not self._reserved:
            self._next = self._free_from
