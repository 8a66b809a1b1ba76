"""Plug-in TaintToleration: clusters whose taints a placement does not tolerate.

Karmada: plugins/tainttoleration; same. A cluster that is already a target is never filtered out for its taints: only
an eviction takes a copy away.
"""

from leeward.api.cluster import Cluster
from leeward.core.scheduling.model import Filter, Request
from leeward.core.toleration import untolerated_taint


def _reject(request: Request, cluster: Cluster) -> str | None:
    if cluster.name in request.assigned:
        return None
    taint = untolerated_taint(cluster.spec.taints, request.placement.cluster_tolerations)
    return None if taint is None else f"cluster(s) had untolerated taint {{{taint}}}"


TAINT_TOLERATION = Filter("TaintToleration", _reject, shared=True)
