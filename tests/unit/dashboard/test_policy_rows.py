"""Rows of policies: to which clusters each lets applications go, and how long they stay in one that is lost."""

import pytest

from kubeapi.codec import from_wire
from kubeapi.meta import Manifest
from leeward.api.policy import PropagationPolicy
from leeward.dashboard.views.policy_rows import policy_row

NOT_READY = {"key": "cluster.karmada.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
UNREACHABLE = {**NOT_READY, "key": "cluster.karmada.io/unreachable"}


def told(placement: Manifest) -> tuple[str, str]:
    selector = {"apiVersion": "apps/v1", "kind": "Deployment"}
    spec = {"resourceSelectors": [selector], "placement": placement}
    row = policy_row(from_wire({"metadata": {"name": "p", "namespace": "n"}, "spec": spec}, PropagationPolicy), 1)
    return row.goes, row.tolerates


@pytest.mark.parametrize(
    ("placement", "goes", "tolerates"),
    [
        ({}, "any cluster", "not at all"),
        ({"clusterAffinity": {"clusterNames": ["a", "b"]}}, "a, b", "not at all"),
        ({"clusterAffinity": {"exclude": ["a"]}}, "not a", "not at all"),
        (
            {
                "clusterAffinity": {
                    "labelSelector": {"matchLabels": {"tier": "edge"}},
                    "fieldSelector": {"matchExpressions": [{"key": "region", "operator": "In", "values": ["eu"]}]},
                },
                "clusterTolerations": [{"operator": "Exists"}],
            },
            "tier=edge and region in (eu)",
            "for ever",
        ),
        (
            {
                "clusterAffinities": [
                    {"affinityName": "one", "clusterNames": ["a"]},
                    {"affinityName": "two", "clusterNames": ["b"]},
                ],
                "clusterTolerations": [{**each, "tolerationSeconds": 300} for each in (NOT_READY, UNREACHABLE)],
            },
            "a else b",
            "5 min",
        ),
        (
            {"clusterTolerations": [{**NOT_READY, "tolerationSeconds": 60}]},
            "any cluster",
            "not-ready 1 min, unreachable not at all",
        ),
    ],
)
def test_a_policy_tells_where_it_lets_go_and_how_long_it_stays(placement: Manifest, goes: str, tolerates: str) -> None:
    assert told(placement) == (goes, tolerates)
