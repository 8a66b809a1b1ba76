"""Sizes of replacements: an autoscaler may run more in a cluster that is left than is asked for.

    surplus   replicas that a leaving copy is told to run by its own cluster, and runs, beyond those that leave
    size      replicas of a new copy while others leave: as many as it is assigned, and its share of the surplus

A size is the floor of an autoscaler that is propagated beside the new copy. Copies that were there before have their
own load, and get none. Nothing is remembered: a size is read off the leaving copy's report each time. It ends with the
eviction, at the latest with its grace period. A copy in a cluster that is away counts for nothing.

An eviction waits for the sizes while more and more replicas become ready (`sizes_awaited_until`). Then the law alone
decides (`core.eviction.progress`).

Of two copies that leave, one may have replaced the other. There the larger surplus counts: sizes would feed themselves.
Karmada has no such thing.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from leeward.api.work import ResourceBindingSpec
from leeward.core.cluster_health.watched_time import CLOCKS_APART, Attention
from leeward.core.copies.disruption import CopyTable, KnownCopy
from leeward.core.copies.evidence import was_there_before
from leeward.core.interpreter.own_replicas import own_replicas
from leeward.core.scheduling.division import divide

STANDS_STILL = timedelta(seconds=60)
"""Time after the last change of the ready replicas from which no more are expected: no room, or no autoscaler."""
LONGEST_SECONDS = 86_400.0
"""Bound of a size where a task's grace period is longer."""


class ReplacementSizes(NamedTuple):
    """Replicas by cluster, of new copies that take a share of a surplus. They hold until then."""

    sizes: Mapping[str, int]
    until: datetime


def surplus_of(spec: ResourceBindingSpec, row: KnownCopy) -> int:
    """Replicas beyond those that leave, of a copy that leaves as a whole. A rollout's Pods beside the others are none,
    nor are those that do not run."""
    statuses = row.work.status.manifest_statuses if row.work is not None else ()
    own = min(map(own_replicas, statuses), default=0)
    return 0 if row.assigned else max(0, min(own, row.known.told) - (row.leaving or spec.replicas))


def replacement_sizes(
    spec: ResourceBindingSpec, copies: CopyTable, now: datetime, grace_seconds: float
) -> ReplacementSizes | None:
    """Sizes of the new copies while others leave; None where no surplus leaves, or no copy is new.

    Of copies that are not divided each new one is as large as the largest that leaves.
    """
    leaving = {name: end for name, row in copies.rows.items() if (end := _leaves_until(row, now, grace_seconds))}
    rows = [copies.rows[name] for name in leaving]
    surpluses = [surplus_of(spec, row) for row in rows]
    if spec.asks_for_none or not any(surpluses):
        return None
    began = min(row.task.creation_timestamp for row in rows if row.task and row.task.creation_timestamp)
    assigned = {name: row.assigned for name, row in copies.rows.items() if row.assigned and name not in leaving}
    new = {name: count for name, count in assigned.items() if not was_there_before(copies.rows[name].work, began)}
    if spec.is_divided:
        apart = sum(r.leaving for r in rows) <= spec.replicas and all(was_there_before(r.work, began) for r in rows)
        shares = divide(sum(surpluses) if apart else max(surpluses), new)
    else:
        shares = dict.fromkeys(new, max(surpluses))
    sizes = {name: new[name] + share for name, share in shares.items() if share}
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


def _leaves_until(row: KnownCopy, now: datetime, grace_seconds: float) -> datetime | None:
    """End of the time in which a copy makes its replacement larger: it leaves a cluster that is Ready, and is to run
    until others serve. None without such a time, or where it is over."""
    task = row.task
    if task is None or row.home is None or not row.home.is_ready or row.home.is_being_deleted:
        return None
    began, is_open = task.creation_timestamp, task.suppress_deletion is None and task.purge_rules.keeps_copy
    if began is None or began > now + CLOCKS_APART or not is_open:
        return None
    seconds = grace_seconds if task.grace_period_seconds is None else task.grace_period_seconds
    end = began + timedelta(seconds=min(seconds, LONGEST_SECONDS))
    return end if now < end else None
