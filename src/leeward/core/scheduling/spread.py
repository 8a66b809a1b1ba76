"""Plug-in SpreadConstraint: clusters that lack the property by which the placement spreads.

Karmada: plugins/spreadconstraint; same.
"""

from leeward.api.cluster import Cluster
from leeward.core.scheduling.model import Filter, Request
from leeward.core.scheduling.spread_fields import field_of, rules_of_field


def _reject(request: Request, cluster: Cluster) -> str | None:
    for constraint in request.placement.spread_constraints:
        field = field_of(constraint)
        if field is not None and not any(rules_of_field(field).values(cluster)):
            return f"cluster(s) did not have {rules_of_field(field).lacking} property"
    return None


SPREAD_CONSTRAINT = Filter("SpreadConstraint", _reject, shared=True)
