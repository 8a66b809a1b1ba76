"""Rare situations of evictions and their ends, and of what people own and hold: the second half of `rare`."""

from collections.abc import Iterator, Mapping

from leeward.api.cluster import Cluster
from leeward.api.names import POLICY_TAINTS_ANNOTATION
from leeward.api.work import ResourceBinding
from simulator.histories.checkers.scene import replicas_of, tasks_of
from simulator.histories.ground_truth import HOME, Change, GroundTruth
from simulator.histories.manifests import OWN
from simulator.histories.model import ControllersAreKilled, HubIsSuspended, Step

MOVES = (
    "an affinity term is taken up again beside a copy of both",
    "an application fails over",
    "an application goes home",
    "a copy that is well leaves with its affinity term",
    "what was moved in vain goes on to the next cluster",
    "an eviction ends by time",
    "an eviction is held: NothingToGain",
    "an eviction is held: SharedResource",
    "an eviction is held: WaitingForTurn",
    "an outage strikes what is suspended",
    "an eviction is suspended in its middle",
    "a policy taints a cluster",
    "a member keeps something of its own in what is shared",
    "a cluster refuses what is moved to it",
    "the hub is away for longer than a toleration",
)
AWAY_SECONDS = 40.0
"""The longest toleration that histories know."""
_REASONS: Mapping[str, str] = {
    "ApplicationFailure": "an application fails over",
    "Failback": "an application goes home",
    "AffinityTermLeft": "a copy that is well leaves with its affinity term",
    "ReplacementFailed": "what was moved in vain goes on to the next cluster",
}


def of_step(truth: GroundTruth, step: Step) -> Iterator[str]:
    """Situations of a step as it begins."""
    is_away = isinstance(step, ControllersAreKilled | HubIsSuspended) and step.lasts > AWAY_SECONDS
    if is_away and any(not cluster.is_ready for cluster in truth.clusters.values()):
        yield "the hub is away for longer than a toleration"


def of_change(truth: GroundTruth, change: Change) -> Iterator[str]:
    if change.place != HOME and change.key.name == OWN and change.old is None:
        yield "a member keeps something of its own in what is shared"
    match change.new:
        case Cluster() if change.old is not None:
            yield from _of_cluster(truth, change.old, change.new)
        case ResourceBinding() if change.old is not None:
            yield from _of_binding(truth, change, change.old, change.new)
        case _:
            pass


def _of_cluster(truth: GroundTruth, old: Cluster, new: Cluster) -> Iterator[str]:
    was_tainted, is_tainted = (each.metadata.annotations.get(POLICY_TAINTS_ANNOTATION) for each in (old, new))
    if is_tainted and not was_tainted:
        yield "a policy taints a cluster"
    placed = (binding for binding in truth.bindings.values() if new.name in replicas_of(binding))
    if old.is_ready and not new.is_ready and any(map(_is_suspended, placed)):
        yield "an outage strikes what is suspended"


def _of_binding(truth: GroundTruth, change: Change, old: ResourceBinding, new: ResourceBinding) -> Iterator[str]:
    before, after = tasks_of(old), tasks_of(new)
    for name in set(after) - set(before):
        if after[name].reason in _REASONS:
            yield _REASONS[after[name].reason]
    if _is_suspended(new) and not _is_suspended(old) and before:
        yield "an eviction is suspended in its middle"
    ended = [name for name in set(before) - set(after) if name not in replicas_of(new) and name in truth.clusters]
    if _takes_up_again(old, new):
        yield "an affinity term is taken up again beside a copy of both"
    if ended and new.spec.replicas and any(_is_missing(truth, new, *target) for target in replicas_of(new).items()):
        yield "an eviction ends by time"
    for name in replicas_of(new) if after else ():
        work = truth.works_of(change.key).get(name)
        if work is not None and work.applied is not None and work.applied.status == "False":
            yield "a cluster refuses what is moved to it"


def _takes_up_again(old: ResourceBinding, new: ResourceBinding) -> bool:
    """Evictions are withdrawn together with the term that took over, and a copy that is in both stays."""
    before, after, terms = (
        replicas_of(old),
        replicas_of(new),
        old.spec.placement and old.spec.placement.cluster_affinities,
    )
    returned = [name for name in set(tasks_of(old)) - set(tasks_of(new)) if name in after]
    is_back = bool(returned) and bool(set(before) - set(after)) and not set(after) - set(before) - set(returned)
    return is_back and bool(set(before) & set(after)) and bool(terms)


def _is_missing(truth: GroundTruth, binding: ResourceBinding, name: str, replicas: int) -> bool:
    levels = truth.copies(name, binding).levels
    return not levels or levels[-1][1] < replicas


def _is_suspended(binding: ResourceBinding) -> bool:
    return binding.spec.suspension is not None and bool(binding.spec.suspension.scheduling)
