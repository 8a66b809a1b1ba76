"""Spread fields: what a placement spreads its clusters by. One row for each.

Karmada: `SpreadFieldValue` of the policy API. A constraint that names a label instead has no field.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from leeward.api.cluster import Cluster
from leeward.api.policy import SpreadConstraint


class SpreadField(StrEnum):
    """In the order in which clusters are grouped."""

    REGION = "region"
    PROVIDER = "provider"
    ZONE = "zone"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class SpreadRules:
    """What a field means.

    values      the groups that a cluster is in
    groups      several clusters can be in one group; else each is by itself
    lacking     what is said of a cluster that is in no group
    """

    values: Callable[[Cluster], tuple[str, ...]]
    groups: bool
    lacking: str


_REGION = SpreadRules(lambda cluster: (cluster.spec.region,), groups=True, lacking="region")
_PROVIDER = SpreadRules(lambda cluster: (cluster.spec.provider,), groups=True, lacking="provider")
_ZONE = SpreadRules(lambda cluster: cluster.spec.zones, groups=True, lacking="zones")
_CLUSTER = SpreadRules(lambda cluster: (cluster.name,), groups=False, lacking="name")


def rules_of_field(field: SpreadField) -> SpreadRules:
    match field:
        case SpreadField.REGION:
            return _REGION
        case SpreadField.PROVIDER:
            return _PROVIDER
        case SpreadField.ZONE:
            return _ZONE
        case SpreadField.CLUSTER:
            return _CLUSTER
        case _:
            assert_never(field)


def field_of(constraint: SpreadConstraint) -> SpreadField | None:
    """None for a constraint by a label, or by nothing."""
    return SpreadField(constraint.spread_by_field) if constraint.spread_by_field else None


def is_over_clusters(constraint: SpreadConstraint) -> bool:
    """Whether it counts clusters, rather than groups of them."""
    field = field_of(constraint)
    return field is not None and not rules_of_field(field).groups


def cluster_constraint(constraints: Iterable[SpreadConstraint]) -> SpreadConstraint | None:
    """The one that counts clusters; the last of several, as for every field."""
    return next((each for each in reversed(tuple(constraints)) if is_over_clusters(each)), None)
