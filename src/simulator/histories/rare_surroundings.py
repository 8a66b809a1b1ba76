"""Rare situations of what works beside the control plane, and of fleets that are as small as can be."""

from collections.abc import Iterator

from controller_runtime import key_of
from kubeapi.core import Taint
from kubeapi.meta import Manifest, labels_of
from leeward.api.cluster import Cluster
from leeward.api.meta import find_condition
from leeward.api.names import (
    CONDITION_TAINT_KEYS,
    EVICTION_HELD_CONDITION,
    PRESERVED_ANNOTATION,
    cluster_of_execution_space,
)
from leeward.api.work import ResourceBinding, Work
from simulator.histories.checkers.scene import replicas_of, tasks_of
from simulator.histories.ground_truth import HOME, TEMPLATES, Change, GroundTruth
from simulator.histories.manifests import is_autoscaled
from simulator.histories.model import Step

SURROUNDINGS = (
    "a taint of an outage is taken off",
    "a fleet of two is lost at once",
    "a fleet of two loses one",
    "a Job that has ended stays in a cluster that is lost",
    "a Job that runs is begun elsewhere",
    "a CronJob has moved",
    "an autoscaler scales a copy",
    "a copy leaves that has more replicas than it is assigned",
    "what was preserved is in the way of another one",
    "a custom resource stays with what its operator keeps for it",
    "a custom resource that no rule judges is replaced",
)


def of_step(truth: GroundTruth, step: Step) -> Iterator[str]:
    """None of these begins with a step."""
    return iter(())


def of_change(truth: GroundTruth, change: Change) -> Iterator[str]:
    match change.new:
        case Cluster() if change.old is not None:
            yield from _of_cluster(truth, change.old, change.new)
        case ResourceBinding() if change.old is not None:
            yield from _of_binding(truth, change.old, change.new)
        case Work() if change.new.applied is not None and change.new.applied.status == "False":
            members_own = truth.of(TEMPLATES[0], cluster_of_execution_space(change.key.namespace)).values()
            if any(PRESERVED_ANNOTATION in labels_of(each) and _is_for(change.new, each) for each in members_own):
                yield "what was preserved is in the way of another one"
        case _ if change.place != HOME and change.kind == TEMPLATES[0] and change.old is not None:
            if change.new is not None and is_autoscaled(change.new) and _size(change.new) > _size(change.old):
                yield "an autoscaler scales a copy"
        case _:
            pass


def _of_binding(truth: GroundTruth, old: ResourceBinding, new: ResourceBinding) -> Iterator[str]:
    kind = new.spec.resource.kind
    for name in set(tasks_of(new)) - set(tasks_of(old)):
        copy = truth.copy(name, new)
        if kind == "Job" and copy is not None and "completionTime" not in copy.get("status", {}):
            yield "a Job that runs is begun elsewhere"
        if kind == "Deployment" and copy is not None and _size(copy) > replicas_of(old).get(name, 0):
            yield "a copy leaves that has more replicas than it is assigned"
    if kind == "Database" and _is_held_with_its_volumes(new) and not _is_held_with_its_volumes(old):
        yield "a custom resource stays with what its operator keeps for it"
    if kind == "Database" and set(tasks_of(old)) - set(tasks_of(new)) - set(replicas_of(new)):
        yield "a custom resource that no rule judges is replaced"
    if kind == "CronJob" and set(tasks_of(old)) - set(tasks_of(new)) - set(replicas_of(new)):
        yield "a CronJob has moved"


def _is_held_with_its_volumes(binding: ResourceBinding) -> bool:
    held = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION)
    return held is not None and held.reason == "VolumesStay"


def _of_cluster(truth: GroundTruth, old: Cluster, new: Cluster) -> Iterator[str]:
    if _is_taken_off(new) and not _is_taken_off(old) and any(map(_is_of_outage, old.spec.taints)):
        yield "a taint of an outage is taken off"
    if len(truth.clusters) == 2 and old.is_ready and not new.is_ready:
        lost = sum(not cluster.is_ready for cluster in truth.clusters.values())
        yield "a fleet of two is lost at once" if lost == 2 else "a fleet of two loses one"
    if any(map(_is_of_outage, new.taints)) and not any(map(_is_of_outage, old.taints)):
        jobs = (each for each in truth.bindings.values() if each.spec.resource.kind == "Job")
        copies = (truth.copy(new.name, each) for each in jobs if new.name in replicas_of(each))
        if any(copy is not None and "completionTime" in copy.get("status", {}) for copy in copies):
            yield "a Job that has ended stays in a cluster that is lost"


def _is_taken_off(cluster: Cluster) -> bool:
    """Tells whether a NoExecute taint is in force that the spec does not have any more."""
    taken_off = set(cluster.taints) - set(cluster.spec.taints)
    return any(map(_is_of_outage, taken_off)) and not any(map(_is_of_outage, cluster.spec.taints))


def _is_for(work: Work, copy: Manifest) -> bool:
    return any(key_of(each) == key_of(copy) for each in work.spec.workload.manifests)


def _size(copy: Manifest) -> int:
    return copy["spec"]["replicas"]


def _is_of_outage(taint: Taint) -> bool:
    return taint.effect == "NoExecute" and taint.key in CONDITION_TAINT_KEYS
