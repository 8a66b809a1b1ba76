"""Rare situations of what goes along with applications, and of what clusters get in their own way."""

from collections.abc import Iterator

from leeward.api.meta import find_condition
from leeward.api.names import OVERRIDE_FAILED_CONDITION, cluster_of_execution_space
from leeward.api.work import ResourceBinding, Work
from simulator.histories.checkers.scene import replicas_of, tasks_of
from simulator.histories.ground_truth import OVERRIDES, Change, GroundTruth, owner_of
from simulator.histories.manifests import BATCHES
from simulator.histories.model import BreakOverride, BreakScript, Override, Read, Step, Unoverride
from simulator.histories.named_objects import named_by, there
from simulator.histories.overriding import MARK, marks_of

OVERRIDES_REACHED = (
    "a copy that moves is overridden in its new cluster",
    "an override policy is changed in the middle of an eviction",
    "an override cannot be carried out where a copy moves to",
    "a namespaced override policy covers one of all namespaces",
)
DEPENDENCIES_REACHED = (
    "what a copy needs is in its new cluster before it",
    "what a copy needed leaves a cluster behind it",
    "two applications need one object",
    "an object has a policy of its own, and is needed elsewhere",
    "a template comes to name something else in the middle of an eviction",
)
SCRIPTS_REACHED = (
    "a script gives no answer in the middle of an eviction",
    "nobody can say how a copy does that is moved to",
    "what only scripts understand has moved",
)
PROPAGATION = (*OVERRIDES_REACHED, *DEPENDENCIES_REACHED, *SCRIPTS_REACHED)


def of_step(truth: GroundTruth, step: Step) -> Iterator[str]:
    """Situations of a step as it begins."""
    evicting = any(tasks_of(binding) for binding in truth.bindings.values())
    if evicting and isinstance(step, Override | BreakOverride | Unoverride):
        yield "an override policy is changed in the middle of an eviction"
    if evicting and isinstance(step, BreakScript):
        yield "a script gives no answer in the middle of an eviction"
    if evicting and isinstance(step, Read):
        yield "a template comes to name something else in the middle of an eviction"


def of_change(truth: GroundTruth, change: Change) -> Iterator[str]:
    match change.new:
        case Work():
            yield from _of_work(truth, change, change.new)
        case ResourceBinding() if change.old is not None and change.new.spec.resource.kind == BATCHES.kind:
            ended = set(tasks_of(change.old)) - {*tasks_of(change.new), *replicas_of(change.new)}
            if ended and change.new.metadata.deletion_timestamp is None:
                yield "what only scripts understand has moved"
        case ResourceBinding() if change.new.spec.required_by:
            yield from _of_shared(change.new)
        case ResourceBinding() if tasks_of(change.new) and change.old is not None:
            failed = find_condition(change.new.status.conditions, OVERRIDE_FAILED_CONDITION)
            known = truth.works_of(change.key)
            if failed is not None and any(name not in known for name in replicas_of(change.new)):
                yield "an override cannot be carried out where a copy moves to"
        case _:
            pass


def _of_shared(binding: ResourceBinding) -> Iterator[str]:
    if len(binding.spec.required_by) > 1:
        yield "two applications need one object"
    targets = set(replicas_of(binding))
    if targets and any(target.name not in targets for each in binding.spec.required_by for target in each.clusters):
        yield "an object has a policy of its own, and is needed elsewhere"


def _of_work(truth: GroundTruth, change: Change, new: Work) -> Iterator[str]:
    old: Work | None = change.old
    manifests = new.spec.workload.manifests
    marks = [(name.removeprefix(MARK), value) for each in manifests for name, value in marks_of(each).items()]
    owner = owner_of(new)
    binding = truth.any_binding(owner) if owner is not None else None
    if old is None and marks and binding is not None and tasks_of(binding):
        yield "a copy that moves is overridden in its new cluster"
    names = {key.name for key in truth.of(OVERRIDES[0])}
    if old is None and any(value.startswith("n") and name in names for name, value in marks):
        yield "a namespaced override policy covers one of all namespaces"
    cluster = cluster_of_execution_space(change.key.namespace)
    if owner is None or not isinstance(binding, ResourceBinding):
        return
    named = named_by(new)
    unknown = any(each.health == "Unknown" for each in new.status.manifest_statuses)
    if unknown and binding.spec.resource.kind == BATCHES.kind and tasks_of(binding) and cluster in replicas_of(binding):
        yield "nobody can say how a copy does that is moved to"
    if old is None and named and tasks_of(binding) and all(there(truth, n, owner.namespace, cluster) for n in named):
        yield "what a copy needs is in its new cluster before it"
    goes = old is not None and old.metadata.deletion_timestamp is None and new.metadata.deletion_timestamp is not None
    if goes and binding.spec.placement is None and truth.template_of(binding) is not None:
        yield "what a copy needed leaves a cluster behind it"
