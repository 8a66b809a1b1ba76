"""Spread constraints by a field: which it is, and if clusters are counted, or groups of them. `api.spread_field` has
the meaning of each.
"""

from collections.abc import Iterable

from leeward.api.policy import SpreadConstraint
from leeward.api.spread_field import SpreadField, rules_of_field


def field_of(constraint: SpreadConstraint) -> SpreadField | None:
    """None for a constraint by a label, or by nothing."""
    return SpreadField(constraint.spread_by_field) if constraint.spread_by_field else None


def is_over_clusters(constraint: SpreadConstraint) -> bool:
    """Tells whether it counts clusters, rather than groups of them."""
    field = field_of(constraint)
    return field is not None and not rules_of_field(field).groups


def cluster_constraint(constraints: Iterable[SpreadConstraint]) -> SpreadConstraint | None:
    """Constraint that counts clusters; the last of several, as for every field."""
    return next((each for each in reversed(tuple(constraints)) if is_over_clusters(each)), None)
