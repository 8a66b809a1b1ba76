"""Fields of a cluster by which spread constraints spread, and what each means. One row for each.

Karmada: `SpreadFieldValue` of the policy API; same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, get_args

from leeward.api.cluster import Cluster


class SpreadField(StrEnum):
    """Field to spread by, in the order in which clusters are grouped."""

    REGION = "region"
    PROVIDER = "provider"
    ZONE = "zone"
    CLUSTER = "cluster"


SpreadFieldText = Literal["", "cluster", "region", "zone", "provider"]
"""Texts that a constraint may have."""


@dataclass(frozen=True, slots=True)
class SpreadRules:
    """Meaning of a field.

    values      the groups that a cluster is in
    groups      several clusters can be in one group; else each is by itself
    lacking     what is said of a cluster that is in no group
    """

    values: Callable[[Cluster], tuple[str, ...]]
    groups: bool
    lacking: str


_RULES = {
    SpreadField.REGION: SpreadRules(lambda cluster: (cluster.spec.region,), groups=True, lacking="region"),
    SpreadField.PROVIDER: SpreadRules(lambda cluster: (cluster.spec.provider,), groups=True, lacking="provider"),
    SpreadField.ZONE: SpreadRules(lambda cluster: cluster.spec.zones, groups=True, lacking="zones"),
    SpreadField.CLUSTER: SpreadRules(lambda cluster: (cluster.name,), groups=False, lacking="name"),
}


def rules_of_field(field: SpreadField) -> SpreadRules:
    return _RULES[field]


SPREAD_FIELDS = tuple(SpreadField(text) for text in get_args(SpreadFieldText) if text)
"""Fields in the order in which people are told of them."""
GROUP_FIELDS = tuple(field for field in SPREAD_FIELDS if rules_of_field(field).groups)
