"""Plug-in TaintToleration: clusters whose taints a placement does not tolerate.

Karmada: plugins/tainttoleration; same. A cluster that is already a target is never filtered out for its taints: only
an eviction takes a copy away.
"""

from collections.abc import Iterable, Sequence

from leeward.api.cluster import Cluster
from leeward.api.core import Taint, Toleration
from leeward.core.scheduling.model import Filter, Request

BLOCKING_EFFECTS = ("NoSchedule", "NoExecute")


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Empty effect: all effects; empty key: all keys; operators other than Equal ("") and Exists never match."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case _:
            return False


def untolerated_taint(
    taints: Iterable[Taint], tolerations: Sequence[Toleration], effects: Sequence[str] = BLOCKING_EFFECTS
) -> Taint | None:
    """The first taint with one of these effects that no toleration matches."""
    relevant = (taint for taint in taints if taint.effect in effects)
    return next((taint for taint in relevant if not any(tolerates(t, taint) for t in tolerations)), None)


def _reject(request: Request, cluster: Cluster) -> str | None:
    if cluster.name in request.assigned:
        return None
    taint = untolerated_taint(cluster.spec.taints, request.placement.cluster_tolerations)
    return None if taint is None else f"cluster(s) had untolerated taint {{{taint}}}"


TAINT_TOLERATION = Filter("TaintToleration", _reject, shared=True)
