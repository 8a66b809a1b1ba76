"""Rare situations of what goes along with applications, and of what clusters get in their own way."""

from collections.abc import Iterator

from leeward.api.meta import find_condition
from leeward.api.names import OVERRIDE_FAILED_CONDITION
from leeward.api.work import ResourceBinding, Work
from leeward.sim.histories.checkers.scene import replicas_of, tasks_of
from leeward.sim.histories.model import BreakOverride, Override, Step, Unoverride
from leeward.sim.histories.overriding import MARK, marks_of
from leeward.sim.histories.truth import OVERRIDES, Change, Truth, owner_of

OVERRIDES_REACHED = (
    "a copy that moves is overridden in its new cluster",
    "an override policy is changed in the middle of an eviction",
    "an override cannot be carried out where a copy moves to",
    "a namespaced override policy covers one of all namespaces",
)
PROPAGATION = (*OVERRIDES_REACHED,)


def of_step(truth: Truth, step: Step) -> Iterator[str]:
    """As it begins."""
    evicting = any(tasks_of(binding) for binding in truth.bindings.values())
    if evicting and isinstance(step, Override | BreakOverride | Unoverride):
        yield "an override policy is changed in the middle of an eviction"


def of_change(truth: Truth, change: Change) -> Iterator[str]:
    match change.new:
        case Work():
            yield from _of_work(truth, change.old, change.new)
        case ResourceBinding() if tasks_of(change.new) and change.old is not None:
            failed = find_condition(change.new.status.conditions, OVERRIDE_FAILED_CONDITION)
            known = truth.works_of(change.key)
            if failed is not None and any(name not in known for name in replicas_of(change.new)):
                yield "an override cannot be carried out where a copy moves to"
        case _:
            pass


def _of_work(truth: Truth, old: Work | None, new: Work) -> Iterator[str]:
    manifests = new.spec.workload.manifests
    marks = [(name.removeprefix(MARK), value) for each in manifests for name, value in marks_of(each).items()]
    binding = truth.any_binding(owner) if (owner := owner_of(new)) is not None else None
    if old is None and marks and binding is not None and tasks_of(binding):
        yield "a copy that moves is overridden in its new cluster"
    names = {key.name for key in truth.of(OVERRIDES[0])}
    if old is None and any(value.startswith("n") and name in names for name, value in marks):
        yield "a namespaced override policy covers one of all namespaces"
