"""The condition EvictionHeld: why something that is due does not happen, for people."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from kubeapi.meta import ReadOnlyManifest
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import BRAKE_NAME, EVICT_SHARED_ANNOTATION, EVICTION_HELD_CONDITION, SYSTEM_NAMESPACE
from leeward.api.purge_mode import PurgeMode
from leeward.api.work import Binding, ResourceBindingSpec, ResourceIdentifier, Work
from leeward.core.cluster_health.brake import BRAKE_ENDS, looks_dead
from leeward.core.copies.evidence import is_applied, refused_dependencies
from leeward.core.eviction.due_evictions import Eviction, is_automatic
from leeward.core.eviction.held_reasons import Deferral, HeldReason
from leeward.core.eviction.progress import Assessment
from leeward.core.eviction.state_preservation import StateNotPreserved
from leeward.core.eviction.volumes import why_volumes_stay
from leeward.core.interpreter import lacks_health_rule, why_not_judged
from leeward.core.interpreter.resource_health import ResourceHealth, health_in
from leeward.core.scheduling import Unplaceable

_ALARMS = {
    HeldReason.BRAKE_ENGAGED.value: "the brake is engaged",
    "ClustersVanished": "clusters are missing from the list, and nobody has unjoined them",
    "SilentAtOnce": "clusters fell silent at once, and the network to them may be down",
}
_BY_GUARD = {
    HeldReason.NOTHING_TO_GAIN: "not evicted from {}, because it has ended there, and would run again elsewhere",
    HeldReason.RUN_UNDER_WAY: "not evicted from {} yet, because the Job runs there, and would begin again elsewhere; "
    f"with purgeMode {PurgeMode.DIRECTLY} it moves at once",
    HeldReason.NOT_CONFIRMED: "not evicted from {}, because the cluster answers again, or was not observed since the "
    "control plane watches again",
}


def alarm_of(reason: str) -> str:
    """Words for the alarm of the brake, by the reason of its condition."""
    return _ALARMS.get(reason, "too many clusters are down or failing")


def why_braked(reason: str) -> str:
    """Sentence why the brake holds evictions, with the way out."""
    return f"{alarm_of(reason)}. The brake stops evictions {BRAKE_ENDS}: see ConfigMap {SYSTEM_NAMESPACE}/{BRAKE_NAME}"


def is_braked(eviction: Eviction, cluster: Cluster) -> bool:
    """Tells whether an engaged brake holds the eviction: it is automatic, and the cluster looks dead."""
    return looks_dead(cluster) and is_automatic(eviction, cluster)


def held_for_place(
    spec: ResourceBindingSpec, due: Sequence[Eviction], refused: Unplaceable, staying: Mapping[str, int]
) -> Condition:
    """Condition that says why, and how many replicas of a divided template stay."""
    kept = [eviction for eviction in due if eviction.cluster in staying]
    count = sum(staying.values())
    stay = "1 replica stays" if count == 1 else f"{count} replicas stay"
    number = f"{stay} in" if spec.is_divided else f"{'N' if refused.cause else 'n'}ot evicted from"
    cause = f"{refused.cause} " if refused.cause else ""
    stays = f"{number} {_list(kept)}, because there is no place to go: {refused.message}"
    return _held(HeldReason.NO_PLACE_TO_GO, f"{cause}{stays}")


def held_without_gain(kept: Sequence[Eviction]) -> Condition:
    """Condition by S12: it would be deleted there, and nothing new would run anywhere for it."""
    why = "no other cluster would take the copy. An eviction would gain nothing"
    return _held(HeldReason.NOTHING_TO_GAIN, f"not evicted from {_list(kept)}, because {why}")


def held_by_guard(reason: HeldReason, kept: Sequence[Eviction]) -> Condition | None:
    """Condition that these evictions do not begin, for a reason that says all."""
    return _held(reason, _BY_GUARD[reason].format(_list(kept))) if kept else None


def held_in_place(binding: Binding, kept: Sequence[Eviction], reason: HeldReason | None) -> Condition | None:
    """Condition that a taint takes nothing away which others live in, or which would leave its volumes behind."""
    if not kept or reason is None:
        return None
    if reason is HeldReason.VOLUMES_STAY:
        return _held(reason, f"not evicted from {_list(kept)}, because {why_volumes_stay(binding)}")
    others = f"what others keep in a {binding.spec.resource.kind} would be deleted with it"
    way_out = f"annotate the policy with {EVICT_SHARED_ANNOTATION}=true to evict it nevertheless"
    return _held(reason, f"not evicted from {_list(kept)}, because {others}; {way_out}")


def held_deferred(
    waiting: Sequence[Eviction], deferred: Mapping[str, Deferral], budgets: Mapping[str, int]
) -> Condition | None:
    """Condition that it is not this binding's turn yet. `budgets` are those of drained clusters that are used up."""
    if not waiting:
        return None
    reasons = (
        f"{deferred[each.cluster]}, {budgets[each.cluster]} at a time"
        if deferred[each.cluster] is Deferral.DRAIN_BUDGET
        else str(deferred[each.cluster])
        for each in waiting
    )
    why = "; ".join(dict.fromkeys(reasons))
    return _held(HeldReason.WAITING_FOR_TURN, f"not evicted from {_list(waiting)} yet, because {why}")


def held_for_lost_state(due: Sequence[Eviction], error: StateNotPreserved) -> Condition:
    way_out = "remove the rule from failover.cluster.statePreservation to evict the copy without its state"
    return _held(HeldReason.STATE_NOT_PRESERVED, f"not evicted from {_list(due)}, because {error}; {way_out}")


def held_tasks(
    assessment: Assessment,
    braked: Sequence[Eviction],
    works: Mapping[str, Work],
    targets: Collection[str],
    brake_reason: str = "",
) -> Condition | None:
    """Condition that something due does not happen, where it is not for want of a place. `targets` are the clusters
    where the binding is to run."""
    if braked:
        return _held(HeldReason.BRAKE_ENGAGED, f"not evicted from {_list(braked)}, because {why_braked(brake_reason)}")
    purging = [t.from_cluster for t in assessment.kept if t.from_cluster in works and not t.purge_rules.keeps_copy]
    if purging:
        before = f"the copy in {', '.join(purging)} is known to be gone"
        return _held(HeldReason.WAITING_FOR_PURGE, f"no new copy is made before {before} (purgeMode Directly)")
    if assessment.overdue:
        clusters = ", ".join(assessment.overdue)
        if assessment.is_under_way:
            return _held(HeldReason.RUN_UNDER_WAY, f"the old copy in {clusters} stays until the new Job ends")
        why = _why_not_healthy({name: works.get(name) for name in sorted(targets)})
        return _held(HeldReason.REPLACEMENT_MISSING, f"the old copy in {clusters} stays, because {why}")
    suppressed = ", ".join(task.from_cluster for task in assessment.kept if task.suppress_deletion)
    if suppressed:
        return _held(HeldReason.DELETION_SUPPRESSED, f"the copy in {suppressed} stays, because suppressDeletion is set")
    return None


def _why_not_healthy(targets: Mapping[str, Work | None]) -> str:
    replacements = {name: work for name, work in targets.items() if work is not None}
    needed = {name: refused_dependencies(work) for name, work in replacements.items()}
    refused = [f"{name} does not have {objects}" for name, objects in needed.items() if objects]
    if refused:
        return f"the new copy lacks what it needs ({'; '.join(refused)})"
    unknown = [
        n for n, w in replacements.items() if ResourceHealth.UNKNOWN in map(health_in, w.status.manifest_statuses)
    ]
    if not unknown:
        return "; ".join(_where_not_healthy(targets)) or "the new copy does not exist, is not healthy, or runs no Pod"
    kinds = (status.identifier for name in unknown for status in replacements[name].status.manifest_statuses)
    unjudged = [each.kind for each in kinds if lacks_health_rule(_manifest_of(each))]
    if unjudged:
        return f"the new copy runs in {', '.join(unknown)}, and {why_not_judged(unjudged[0])}"
    return (
        f"the health of the new copy in {', '.join(unknown)} is not known. Where a script or a webhook that "
        "interprets its kind fails, an event InterpretHealthFailed of the Work there says so"
    )


def _where_not_healthy(targets: Mapping[str, Work | None]) -> Iterator[str]:
    """`the new copy is not healthy in fra-2`, of all targets that may be at fault."""
    known = {name: work or Work() for name, work in targets.items()}
    unhealthy = [n for n, w in known.items() if ResourceHealth.UNHEALTHY in map(health_in, w.status.manifest_statuses)]
    unapplied = [name for name, work in known.items() if not is_applied(work) and name not in unhealthy]
    for what, names in (("healthy", unhealthy), ("applied", unapplied)):
        yield from [f"the new copy is not {what} in {', '.join(names)}"] if names else ()


def _manifest_of(identifier: ResourceIdentifier) -> ReadOnlyManifest:
    """Manifest that names only its kind."""
    api_version = "/".join(filter(None, (identifier.group, identifier.version)))
    return {"apiVersion": api_version, "kind": identifier.kind}


def held_refused(why: str) -> Condition:
    """Condition that the decision would have broken an invariant."""
    return _held(HeldReason.DECISION_REFUSED, f"nothing is moved, because {why}; Leeward decides again after a minute")


def _held(reason: HeldReason, message: str) -> Condition:
    return Condition(type=EVICTION_HELD_CONDITION, status="True", reason=reason.value, message=message)


def _list(evictions: Sequence[Eviction]) -> str:
    return ", ".join(f"{e.cluster} ({', '.join(map(str, e.taints))})" for e in evictions)
