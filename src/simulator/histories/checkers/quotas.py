"""S18: nothing is admitted beyond a quota that is enforced, and no quota takes away what runs (S1).

What is used is counted from the bindings: the CPUs that their replicas ask for, in all clusters to which they are
assigned. Beyond the limit a binding may come to use no more than before; what it uses already it keeps, also under a
limit that was lowered, and what is evicted no more runs already. What has to be in the end says `unlimited`: the status
of the quota, and a ResourceQuota in each cluster that is assigned something, and in no other.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal

from controller_runtime import Key
from kubeapi.meta import Manifest
from kubeapi.quantity import parse_quantity
from leeward.api.meta import find_condition
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION
from leeward.api.policy import Placement
from leeward.api.work import ResourceBinding
from simulator.histories.checkers.restores import work_of
from simulator.histories.checkers.scene import Scene, Violation, replicas_of, tasks_of
from simulator.histories.ground_truth import BINDINGS, KINDS, QUOTAS, Change, GroundTruth

CPU = "cpu"
EXCEEDED = "QuotaExceeded"
"""Reason of the condition Scheduled."""


class QuotasChecker:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind != BINDINGS[0] or change.new is None or change.restored:
            return
        old: ResourceBinding | None = change.old
        new: ResourceBinding = change.new
        for key, quota in quotas_over(self._scene.truth, change.key.namespace):
            limit, used = limit_of(quota), used_in(self._scene.truth, key.namespace)
            if used > limit and used_by(new) > (_running(old, new) if old is not None else 0):
                message = f"{change.key} was admitted beyond the quota {key}: {used} CPUs are used, {limit} allowed"
                yield Violation("S18", change.seconds, message)
            if old is not None and self._takes_away(old, new):
                message = f"{change.key} went from {replicas_of(old)} to {replicas_of(new)} under the quota {key}"
                yield Violation("S1", change.seconds, f"{message}, and nobody asked for it")

    def _takes_away(self, old: ResourceBinding, new: ResourceBinding) -> bool:
        """Tells whether there is less of it, though as much is asked for, in the same way, and nothing is evicted."""
        before, after = replicas_of(old), replicas_of(new)
        if (
            old.metadata.uid != new.metadata.uid
            or new.metadata.deletion_timestamp is not None
            or old.spec.asks_for_none
        ):
            return False
        if old.spec.is_divided:
            is_less = sum(after.values()) < sum(before.values()) <= old.spec.replicas
        else:
            asked = {name: min(count, old.spec.replicas) for name, count in before.items()}
            is_less = any(after.get(name, -1) < count for name, count in asked.items())
        return is_less and not self._is_asked_for(old, new)

    def _is_asked_for(self, old: ResourceBinding, new: ResourceBinding) -> bool:
        applied = [each.metadata.annotations.get(APPLIED_PLACEMENT_ANNOTATION) for each in (old, new)]
        asked, done = old.spec.reschedule_triggered_at, old.status.last_scheduled_time
        return (
            applied[0] != applied[1]
            or tasks_of(old) != tasks_of(new)
            or (asked is not None and (done is None or asked > done))
            or any(self._scene.was_leaving(name) for name in replicas_of(old))
        )


def unlimited(scene: Scene, members: Iterable[str]) -> Iterator[str]:
    """Quotas that do not say what is used of them, and clusters without the limits that they should have. Of a limit
    that nobody knows any more somebody has to read first (`orphans.clear_orphans`)."""
    truth = scene.truth
    wanted: dict[tuple[str, Key], Manifest] = {}
    for key, quota in truth.of(QUOTAS).items():
        used = parse_quantity(quota.get("status", {}).get("overallUsed", {}).get(CPU, "0"))
        if used != used_in(truth, key.namespace):
            yield f"the quota {key} says that {used} CPUs are used, and it is {used_in(truth, key.namespace)}"
        for assignment in quota["spec"].get("staticAssignments", ()):
            wanted[assignment["clusterName"], key] = assignment["hard"]
    for key, binding in truth.bindings.items():
        if refusal_in(binding) == EXCEEDED and not has_no_room(truth, key, binding):
            yield f"{key} is refused by a quota that has room for it"
    for member in members:
        limits = truth.of(KINDS["ResourceQuota"], member).items()
        works = {key: work_of(each) for key, each in limits}
        known = {
            key: each for key, each in limits if works[key] in truth.works or not scene.is_orphan(member, works[key])
        }
        there = {(member, key): each["spec"]["hard"] for key, each in known.items()}
        for place, key in sorted({*there, *(each for each in wanted if each[0] == member)}):
            if there.get((place, key)) != wanted.get((place, key)):
                is_there, should_be = there.get((place, key)), wanted.get((place, key))
                yield f"the limit {key} in {place} is {is_there} instead of {should_be}"


def has_no_room(truth: GroundTruth, key: Key, binding: ResourceBinding) -> bool:
    """Tells whether what is missing of the binding does not fit: a quota lets in all of it, or nothing."""
    missing = binding.spec.replicas * _copies_of(truth, binding) - sum(replicas_of(binding).values())
    more = requested_by(binding) * max(1, missing)
    return any(used_in(truth, key.namespace) + more > limit_of(quota) for _, quota in quotas_over(truth, key.namespace))


def _copies_of(truth: GroundTruth, binding: ResourceBinding) -> int:
    """Number of copies that are to be: one where it is divided, and else one in each cluster that its placement names,
    as far as its constraint allows. Of several terms it is the one that names the fewest."""
    placement = binding.spec.placement
    if binding.spec.is_divided or placement is None:
        return 1
    most = min(len(names & truth.clusters.keys()) for names in _terms_of(truth, placement))
    return min([most, *(each.max_groups for each in placement.spread_constraints if each.max_groups)])


def _terms_of(truth: GroundTruth, placement: Placement) -> list[set[str]]:
    terms = placement.cluster_affinities or (placement.cluster_affinity,)
    return [set(term.cluster_names) if term is not None else set(truth.clusters) for term in terms]


def refusal_in(binding: ResourceBinding) -> str:
    """Reason why not all of it is scheduled; empty where it is."""
    scheduled = find_condition(binding.status.conditions, "Scheduled")
    return scheduled.reason if scheduled is not None and scheduled.status == "False" else ""


def quotas_over(truth: GroundTruth, namespace: str) -> Iterator[tuple[Key, Manifest]]:
    for key, quota in truth.of(QUOTAS).items():
        if key.namespace == namespace:
            yield key, quota


def limit_of(quota: Manifest) -> Decimal:
    return parse_quantity(quota["spec"]["overall"][CPU])


def used_in(truth: GroundTruth, namespace: str) -> Decimal:
    return sum((used_by(each) for key, each in truth.bindings.items() if key.namespace == namespace), Decimal(0))


def used_by(binding: ResourceBinding) -> Decimal:
    return requested_by(binding) * sum(replicas_of(binding).values())


def _running(old: ResourceBinding, new: ResourceBinding) -> Decimal:
    """CPUs used in the targets, and by copies whose eviction ends because they are targets again."""
    before, after = replicas_of(old), replicas_of(new)
    ended = [task for name, task in tasks_of(old).items() if name in after and name not in tasks_of(new)]
    again = (min(task.replicas or 0, after[task.from_cluster] - before.get(task.from_cluster, 0)) for task in ended)
    return used_by(old) + requested_by(old) * sum(max(0, count) for count in again)


def requested_by(binding: ResourceBinding) -> Decimal:
    """CPUs that one replica asks for."""
    requirements = binding.spec.replica_requirements
    return parse_quantity(requirements.resource_request.get(CPU, "0")) if requirements is not None else Decimal(0)
