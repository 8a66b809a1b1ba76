"""Plug-in SpreadConstraint: clusters that lack the property by which the placement spreads.

Karmada: plugins/spreadconstraint; same.
"""

from leeward.api.cluster import Cluster
from leeward.core.scheduling.model import Filter, Request


def _reject(request: Request, cluster: Cluster) -> str | None:
    present = {"provider": cluster.spec.provider, "region": cluster.spec.region, "zone": cluster.spec.zones}
    for constraint in request.placement.spread_constraints:
        if not present.get(constraint.spread_by_field, True):
            name = {"zone": "zones"}.get(constraint.spread_by_field, constraint.spread_by_field)
            return f"cluster(s) did not have {name} property"
    return None


SPREAD_CONSTRAINT = Filter("SpreadConstraint", _reject, shared=True)
