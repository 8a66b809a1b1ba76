"""Rare situations of what works beside the control plane, and of fleets that are as small as can be."""

from collections.abc import Iterator

from leeward.api.cluster import Cluster
from leeward.api.core import Taint
from leeward.api.names import CONDITION_TAINT_KEYS
from leeward.sim.histories.ground_truth import Change, GroundTruth
from leeward.sim.histories.model import Step

SURROUNDINGS = (
    "a taint of an outage is taken off",
    "a fleet of two is lost at once",
    "a fleet of two loses one",
)


def of_step(truth: GroundTruth, step: Step) -> Iterator[str]:
    """None of these begins with a step."""
    return iter(())


def of_change(truth: GroundTruth, change: Change) -> Iterator[str]:
    match change.new:
        case Cluster() if change.old is not None:
            yield from _of_cluster(truth, change.old, change.new)
        case _:
            pass


def _of_cluster(truth: GroundTruth, old: Cluster, new: Cluster) -> Iterator[str]:
    if _is_taken_off(new) and not _is_taken_off(old) and any(map(_is_of_outage, old.spec.taints)):
        yield "a taint of an outage is taken off"
    if len(truth.clusters) == 2 and old.is_ready and not new.is_ready:
        lost = sum(not cluster.is_ready for cluster in truth.clusters.values())
        yield "a fleet of two is lost at once" if lost == 2 else "a fleet of two loses one"


def _is_taken_off(cluster: Cluster) -> bool:
    """Tells whether a NoExecute taint is in force that the spec does not have any more."""
    taken_off = set(cluster.taints) - set(cluster.spec.taints)
    return any(map(_is_of_outage, taken_off)) and not any(map(_is_of_outage, cluster.spec.taints))


def _is_of_outage(taint: Taint) -> bool:
    return taint.effect == "NoExecute" and taint.key in CONDITION_TAINT_KEYS
