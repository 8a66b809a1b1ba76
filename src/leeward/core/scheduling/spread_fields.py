"""Spread constraints by a field: which it is, and if clusters are counted, or groups of them. `api.spread_field` has
the meaning of each.
"""

from collections.abc import Iterable

import msgspec

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


def constraints_beside(
    constraints: Iterable[SpreadConstraint], filling: int, kept: int
) -> tuple[SpreadConstraint, ...]:
    """The constraints that are left beside so many `kept` clusters, of which some are `filling` groups. Those that
    count groups are as they were: which groups are filled depends on the clusters (`Request.beside`)."""
    return tuple(
        msgspec.structs.replace(c, min_groups=max(1, c.min_groups - filling), max_groups=c.max_groups - kept)
        if is_over_clusters(c)
        else c
        for c in constraints
    )
