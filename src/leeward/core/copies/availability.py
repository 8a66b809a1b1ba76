"""Availability of a copy: the replicas that it serves now, as one number within bounds.

    at_least   replicas that surely serve; nothing else may be relied upon
    at_most    replicas that may serve; nothing more is lost with the copy
    told       replicas that were reported last, at whatever time
    is_whole   the copy is Healthy with all that it is to run, by fresh evidence

Where a report is fresh (`evidence`), both bounds are its number. Where it is not, nothing is sure, and all may serve.
One unit holds for every kind: ready replicas where the status tells them, else the copy as a whole. Of a Job only one
that is complete serves, and does so for ever; one that is under way may serve (`job_copies`).
"""

from dataclasses import dataclass
from datetime import datetime

from leeward.api.cluster import Cluster
from leeward.api.work import Work
from leeward.core.copies.evidence import (
    believed_from,
    is_applied,
    is_fresh,
    is_judged_well,
    refused_dependencies,
    served_counts,
    when_told,
)
from leeward.core.copies.job_copies import is_complete_job, is_job_under_way
from leeward.core.interpreter.own_replicas import told_to_run


@dataclass(frozen=True, slots=True)
class Availability:
    """Bounds of a copy. `since` is the instant since which `told` stands; None where nobody knows its present number.

    Until `believed_from` a report of Karmada's own agent may be of before its cluster's return."""

    told: int = 0
    at_least: int = 0
    at_most: int = 0
    is_whole: bool = False
    since: datetime | None = None
    believed_from: datetime | None = None


NOTHING = Availability()


def availability(work: Work | None, cluster: Cluster | None, replicas: int) -> Availability:
    """Bounds of the copy of `replicas` replicas that `work` describes. Holds: S1.

    A copy that was never applied, and of which nothing was ever reported, serves nothing. Neither does a leaving one
    that is gone. Nobody relies on one that lacks objects, or runs on somebody else's (`refused_dependencies`).
    """
    if work is None:
        return NOTHING
    statuses = work.status.manifest_statuses
    counts = served_counts(statuses, max(1, replicas))
    known = [count for count in counts if count is not None]
    told, is_told = min(known, default=0), bool(statuses) and len(known) == len(statuses)
    whole = replicas or max(1, told)
    if refused_dependencies(work):
        return Availability(at_most=whole)
    since = when_told(work, cluster) if cluster is not None and is_fresh(work, cluster) else None
    if is_complete_job(work):
        return Availability(whole, whole, whole, is_whole=True, since=since)
    if not is_fresh(work, cluster):
        was_nothing = not any(count != 0 for count in counts)
        return Availability(told, at_most=0 if was_nothing and not is_applied(work) else whole)
    if not statuses and work.is_leaving:
        return NOTHING
    is_run = is_job_under_way(work)
    is_whole = bool(statuses) and not is_run and all(is_judged_well(status, replicas) for status in statuses)
    if not is_told:
        return Availability(told, at_most=whole, is_whole=is_whole)
    surely = min(whole, told)
    at_most = whole if since is None or is_run else surely
    return Availability(told, surely, at_most, is_whole, since, believed_from(work, cluster))


def at_instant(known: Availability, replicas: int, now: datetime) -> Availability:
    """Bounds by the reports that may be believed `now`."""
    if known.believed_from is None or now >= known.believed_from:
        return known
    return Availability(known.told, at_most=max(1, replicas))


def wanted_by_itself(work: Work | None, cluster: Cluster | None) -> int:
    """Number of replicas with which a copy is whole by an override or an autoscaler; 0 where that is not known."""
    wanted = told_to_run(work)
    return wanted if wanted and availability(work, cluster, wanted).is_whole else 0
