"""Conditions that tell of removals which do not come to an end, or are not made yet (`removal`).

removal_blocked    a Work of which somebody's finalizer keeps an object in the member, and with it what it runs
removal_refused    a Work of which the member does not take the deletion
object_kept        a Work whose object stays for the claims or runs that belong to it in the member
leaving            a Work whose copy is not wanted, and waits to go
removals_blocked   a binding some of whose Works do not go, with the clusters
"""

from collections.abc import Collection, Mapping, Sequence

from kubeapi.meta import ReadOnlyManifest
from leeward.api.meta import Condition, find_condition
from leeward.api.names import LEAVING_CONDITION, REMOVAL_BLOCKED_CONDITION
from leeward.api.work import BRAKE_ENGAGED, CLUSTER_NOT_READY, REPLACEMENT_LOST, Work
from leeward.core.eviction.held_reasons import HeldReason

FINALIZERS, REFUSED, STILL_USED = "Finalizers", "Refused", "StillUsed"
REFUSES = "the cluster refuses "
_BLOCKS = REFUSED, HeldReason.VOLUMES_STAY, HeldReason.SHARED_RESOURCE, HeldReason.RUN_UNDER_WAY
NO_WORDS: Mapping[str, str] = {}
WAITING_FOR_PURGE = HeldReason.WAITING_FOR_PURGE.value


def removal_blocked(objects: Sequence[ReadOnlyManifest]) -> Condition | None:
    """The condition of a Work whose `objects` are still in the member, though their deletion was asked for."""
    kept = [text for text in map(_kept_by, objects) if text]
    return Condition(REMOVAL_BLOCKED_CONDITION, "True", FINALIZERS, "; ".join(kept)) if kept else None


def removal_refused(why: str) -> Condition:
    """The condition of a Work of which the member does not let an object go."""
    return Condition(REMOVAL_BLOCKED_CONDITION, "True", REFUSED, f"{REFUSES}{why}")


def object_kept(reason: HeldReason, why: str) -> Condition:
    """The condition of a Work whose object stays for the claims that belong to it, or until its runs have ended."""
    return Condition(REMOVAL_BLOCKED_CONDITION, "True", reason.value, why)


def _kept_by(observed: ReadOnlyManifest) -> str:
    metadata = observed["metadata"]
    if "deletionTimestamp" not in metadata or not metadata.get("finalizers"):
        return ""
    namespace = metadata.get("namespace")
    name = f"{namespace}/{metadata['name']}" if namespace else metadata["name"]
    finalizers = metadata["finalizers"]
    return f"{observed['kind']} {name} has the finalizer{'s' * (len(finalizers) > 1)} {', '.join(finalizers)}"


def leaving(cluster: str, why: str) -> Condition | None:
    """The condition of a Work whose copy is not wanted in the cluster, and waits to go; None where it is wanted."""
    until = {
        CLUSTER_NOT_READY: f"until cluster {cluster} is Ready again",
        BRAKE_ENGAGED: "as long as the brake is engaged",
        STILL_USED: "as long as a copy in that cluster uses it",
    }
    how_long = until.get(why, "until other clusters surely serve all replicas")
    message = f"Not wanted in cluster {cluster}. Its copy stays {how_long}; then it is deleted."
    return Condition(LEAVING_CONDITION, "True", why, message) if why else None


def removals_blocked(
    works: Mapping[str, Work],
    waiting: Mapping[str, str] = NO_WORDS,
    *,
    kept: Collection[str] = (),
    larger: Collection[str] = (),
) -> Condition | None:
    """The condition of a binding of whose `works`, by cluster, some do not go: `waiting` says why, as
    `why_removal_waits` does; they are `kept` for a copy that is purged, or are `larger` than they are to be."""
    found = {
        cluster: blocked
        for cluster, work in sorted(works.items())
        if work.metadata.deletion_timestamp is not None
        and (blocked := find_condition(work.status.conditions, REMOVAL_BLOCKED_CONDITION)) is not None
    }
    told = [f"Still runs in {cluster}, because {blocked.message}." for cluster, blocked in found.items()]
    held = [cluster for cluster, why in sorted(waiting.items()) if why not in (CLUSTER_NOT_READY, STILL_USED)]
    reasons = {blocked.reason for blocked in found.values()}
    reason = next((each for each in _BLOCKS if each in reasons), FINALIZERS)
    if kept:
        reason, why = WAITING_FOR_PURGE, "no new copy is made before the purged copy is known to be gone"
        told.append(f"Not removed from {', '.join(sorted(kept))}, because {why}.")
    if larger:
        reason = REPLACEMENT_LOST
        told.append(f"Not scaled down in {', '.join(larger)}, because the new copy is not healthy.")
    if held:
        brake = any(waiting[cluster] == BRAKE_ENGAGED for cluster in held)
        reason = BRAKE_ENGAGED if brake else REPLACEMENT_LOST
        why = "the brake is engaged" if brake else "the new copy, or its cluster, is not healthy"
        told.append(f"Not removed from {', '.join(held)}, because {why}.")
    return Condition(REMOVAL_BLOCKED_CONDITION, "True", reason, " ".join(told)) if told else None
