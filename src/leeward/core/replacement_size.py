"""Sizes of replacements: an autoscaler may run more in a cluster that is left than is asked for.

    surplus   replicas that a leaving copy is told to run by its own cluster, and runs, beyond those that leave
    size      replicas of a target while others leave: as many as it is assigned, and its share of the surplus

A size is the floor of an autoscaler that is propagated beside the target. A new copy replaces as many replicas as it is
assigned. Divided copies that were there before replace the rest. They have no size while all copies together run fewer
than is asked for: then their own load decides. Replicas that a user asks for meanwhile are taken off a surplus.

Nothing is remembered: a size is read off the reports each time. It ends with the eviction, at the latest with its grace
period after its newest target was made. A copy in a cluster that is away counts for nothing.

An eviction waits for the sizes while more and more replicas become ready (`sizes_awaited_until`). Then the law alone
decides (`core.eviction.progress`).
Of two copies that leave, one may have replaced the other. There the larger surplus counts: sizes would feed themselves.
Karmada has no such thing.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from leeward.api.work import ResourceBindingSpec
from leeward.core.cluster_health.watched_time import BEGINNING, CLOCKS_APART, Attention
from leeward.core.copies.disruption import CopyTable, KnownCopy
from leeward.core.copies.evidence import was_there_before
from leeward.core.interpreter.own_replicas import own_replicas
from leeward.core.scheduling.division import divide

STANDS_STILL = timedelta(seconds=60)
"""Time after the last change of the ready replicas from which no more are expected: no room, or no autoscaler."""
LONGEST_SECONDS = 86_400.0
"""Bound of a size where a task's grace period is longer."""


class ReplacementSizes(NamedTuple):
    """Replicas by cluster, of targets that replace leaving copies. They hold until then."""

    sizes: Mapping[str, int]
    until: datetime


def surplus_of(spec: ResourceBindingSpec, row: KnownCopy) -> int:
    """Replicas beyond those that leave, of a copy that leaves as a whole. A rollout's Pods beside the others are none,
    nor are those that do not run."""
    return 0 if row.assigned else max(0, min(_own(row), row.known.told) - _leaving(spec, row))


def replacement_sizes(
    spec: ResourceBindingSpec, copies: CopyTable, now: datetime, grace_seconds: float
) -> ReplacementSizes | None:
    """Sizes of the targets while others leave; None where no cluster that is left scales its copy.

    Of copies that are not divided each new one is as large as the largest that leaves.
    """
    works = [row.work for row in copies.rows.values() if row.work is not None and row.assigned]
    instants = [work.metadata.creation_timestamp for work in works]
    latest = max((at for at in instants if at is not None and at <= now), default=BEGINNING)
    found = {name: _leaves_until(row, now, latest, grace_seconds) for name, row in copies.rows.items()}
    leaving = {name: end for name, end in found.items() if end is not None}
    rows = [copies.rows[name] for name in leaving]
    if spec.asks_for_none or not any(map(_own, rows)):
        return None
    starts = [row.task.creation_timestamp for row in rows if row.task and row.task.creation_timestamp]
    began, surpluses = min(starts), [surplus_of(spec, row) for row in rows]
    assigned = {name: row.assigned for name, row in copies.rows.items() if row.assigned and name not in leaving}
    new = {name: count for name, count in assigned.items() if not was_there_before(copies.rows[name].work, began)}
    if not spec.is_divided:
        most = max(surplus + row.leaving if surplus else 0 for surplus, row in zip(surpluses, rows, strict=True))
        sizes = {name: most for name, count in new.items() if most > count}
    else:
        goes = sum(_leaving(spec, row) for row in rows)
        apart = goes <= spec.replicas and all(was_there_before(row.work, began) for row in rows)
        surplus = sum(surpluses) if apart and max(starts) - began <= CLOCKS_APART else max(surpluses)
        more, rest = max(0, sum(new.values()) - goes), max(0, goes - sum(new.values()))
        takes_rest = rest and sum(map(_own, copies.rows.values())) >= spec.replicas
        old = {name: count for name, count in assigned.items() if takes_rest and name not in new}
        weights = {n: c * max(1, sum(old.values())) for n, c in new.items()} | {n: c * rest for n, c in old.items()}
        shares = divide(max(0, surplus - more), weights)
        sizes = {name: assigned[name] + shares.get(name, 0) for name in weights}
    return ReplacementSizes(sizes, min(leaving.values())) if sizes else None


def sizes_awaited_until(
    spec: ResourceBindingSpec, copies: CopyTable, name: str, now: datetime, grace_seconds: float, attention: Attention
) -> datetime:
    """Instant until which the copy in the cluster `name` waits for larger replacements; `now` where it does not.

    They are waited for while ready replicas become more. Only watched time counts (S13)."""
    row, found = copies.rows[name], replacement_sizes(spec, copies, now, grace_seconds)
    if found is None or row.task is None or not row.at_least or not surplus_of(spec, row):
        return now
    targets = [(copies.rows[target], size) for target, size in found.sizes.items()]
    lacking = [each for each, size in targets if each.at_least == 0 or each.known.told < size]
    if not lacking:
        return now
    instants = (row.task.creation_timestamp, *(each.known.since for each in lacking))
    last = max((at for at in instants if at is not None and at <= now + CLOCKS_APART), default=now - STANDS_STILL)
    return min(attention.time.moved(last) + STANDS_STILL, found.until)


def _leaves_until(row: KnownCopy, now: datetime, latest: datetime, grace_seconds: float) -> datetime | None:
    """End of the time in which a copy makes its replacement larger: it leaves a cluster that is Ready, and is to run
    until others serve. None without such a time, or where it is over. The time runs from the `latest` target's begin: a
    copy that was to replace it may be lost."""
    task = row.task
    if task is None or row.home is None or not row.home.is_ready or row.home.is_being_deleted:
        return None
    began, is_open = task.creation_timestamp, task.suppress_deletion is None and task.purge_rules.keeps_copy
    if began is None or began > now + CLOCKS_APART or not is_open:
        return None
    seconds = grace_seconds if task.grace_period_seconds is None else task.grace_period_seconds
    end = max(began, latest) + timedelta(seconds=min(seconds, LONGEST_SECONDS))
    return end if now < end else None


def _leaving(spec: ResourceBindingSpec, row: KnownCopy) -> int:
    """Replicas that leave; a task that counts none is about all of them."""
    return row.leaving or (0 if row.assigned else spec.replicas)


def _own(row: KnownCopy) -> int:
    """Number of replicas that its own cluster asks for; 0 where that is not told."""
    return min(map(own_replicas, row.work.status.manifest_statuses), default=0) if row.work is not None else 0
