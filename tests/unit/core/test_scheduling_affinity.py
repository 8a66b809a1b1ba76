"""Clusters that an affinity means: by name, by label, by field."""

from typing import Any

import pytest
from msgspec.structs import replace

from kubeapi.codec import from_wire
from leeward.api.policy import ClusterAffinity
from leeward.core.scheduling.affinity import UNKNOWN_TIER, tier_of
from leeward.core.scheduling.cluster_matching import cluster_matches
from leeward.core.scheduling.model import Request
from tests.placements import binding_spec, cluster

_SOMEWHERE = cluster("m1", provider="p1", region="r1", zones=["z1", "z2"])
NEAR = replace(_SOMEWHERE, metadata=replace(_SOMEWHERE.metadata, labels={"team": "a", "tier": "gold"}))
BARE = cluster("m2")


def asks(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("affinity", "near", "bare"),
    [
        ({}, True, True),
        ({"clusterNames": ["m1", "m3"]}, True, False),
        ({"exclude": ["m1"]}, False, True),
        ({"clusterNames": ["m1", "m2"], "exclude": ["m2"]}, True, False),
        ({"labelSelector": {"matchLabels": {"team": "a"}}}, True, False),
        ({"labelSelector": {"matchLabels": {"team": "b"}}}, False, False),
        ({"labelSelector": asks("team", "DoesNotExist")}, False, True),
        ({"labelSelector": {"matchLabels": {"team": "a"}}, "clusterNames": ["m2"]}, False, False),
        ({"fieldSelector": asks("provider", "In", "p1", "p2")}, True, False),
        ({"fieldSelector": asks("provider", "NotIn", "p1")}, False, True),
        ({"fieldSelector": asks("region", "In", "r1")}, True, False),
        ({"fieldSelector": asks("region", "Exists")}, True, False),
        ({"fieldSelector": asks("region", "DoesNotExist")}, False, True),
        ({"fieldSelector": asks("zone", "In", "z2", "z9")}, True, False),
        ({"fieldSelector": asks("zone", "In", "z9")}, False, False),
        ({"fieldSelector": asks("zone", "NotIn", "z9")}, True, True),
        ({"fieldSelector": asks("zone", "NotIn", "z1")}, False, True),
        ({"fieldSelector": asks("zone", "Exists")}, True, False),
        ({"fieldSelector": asks("zone", "DoesNotExist")}, False, True),
        ({"fieldSelector": asks("zone", "Gt", "1")}, False, False),
        (
            {
                "fieldSelector": {
                    "matchExpressions": [
                        *asks("region", "In", "r1")["matchExpressions"],
                        *asks("zone", "NotIn", "z2")["matchExpressions"],
                    ]
                }
            },
            False,
            False,
        ),
        ({"labelSelector": {"matchLabels": {"team": "a"}}, "fieldSelector": asks("region", "In", "r2")}, False, False),
    ],
)
def test_all_parts_of_an_affinity_have_to_match(affinity: dict[str, Any], near: bool, bare: bool) -> None:
    meant = from_wire(affinity, ClusterAffinity)
    assert (cluster_matches(NEAR, meant), cluster_matches(BARE, meant)) == (near, bare)


FAR = {"affinityName": "far", "clusterNames": ["m1", "m2"]}
TERM = {"affinityName": "near", "clusterNames": ["m1"], "overflowAffinities": [FAR]}


@pytest.mark.parametrize(
    ("placement", "term", "tiers"),
    [
        ({}, "near", (0, 0)),
        ({"clusterAffinity": {"clusterNames": ["m1"]}, "clusterAffinities": [TERM]}, "near", (0, 0)),
        ({"clusterAffinities": [TERM]}, "near", (0, 1)),
        ({"clusterAffinities": [{**TERM, "overflowAffinities": []}]}, "near", (0, UNKNOWN_TIER)),
        ({"clusterAffinities": [TERM]}, "another", (UNKNOWN_TIER, UNKNOWN_TIER)),
    ],
)
def test_the_first_group_of_the_term_that_means_a_cluster_is_its_tier(
    placement: dict[str, Any], term: str, tiers: tuple[int, int]
) -> None:
    request = Request(binding_spec(placement), term)
    assert (tier_of(request, NEAR), tier_of(request, BARE)) == tiers
