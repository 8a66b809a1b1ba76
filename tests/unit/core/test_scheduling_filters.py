"""Filters: what each refuses, whom it spares, and what it says; and what it is worth to hold the application."""

from typing import Any

import pytest
from msgspec.structs import replace

from leeward.core.scheduling.filters import API_ENABLEMENT, CLUSTER_EVICTION, SPREAD_CONSTRAINT, TAINT_TOLERATION
from leeward.core.scheduling.locality import CLUSTER_LOCALITY
from leeward.core.scheduling.model import Filter, Request, Unplaceable
from tests.placements import TAINT, binding_spec, cluster, task

WELL = cluster("m1", region="r1", zones=["z1"])
WITHOUT_API = replace(WELL, status=replace(WELL.status, api_enablements=()))
KINDS = {"apiVersion": "apps/v1", "kind": "StatefulSet", "namespace": "default", "name": "a"}


def over(by: str) -> dict[str, Any]:
    return {"spreadConstraints": [{"spreadByField": "cluster"}, {"spreadByField": by, "minGroups": 1, "maxGroups": 1}]}


@pytest.mark.parametrize(
    ("plugin", "refused", "spec", "reason", "spares_held"),
    [
        (API_ENABLEMENT, WITHOUT_API, binding_spec({}), "cluster(s) did not have the API resource", True),
        (API_ENABLEMENT, WELL, binding_spec({}, resource=KINDS), "cluster(s) did not have the API resource", True),
        (
            TAINT_TOLERATION,
            cluster("m1", taints=[TAINT]),
            binding_spec({}),
            "cluster(s) had untolerated taint {k:NoSchedule}",
            True,
        ),
        (
            SPREAD_CONSTRAINT,
            cluster("m1", zones=["z1"]),
            binding_spec(over("region")),
            "cluster(s) did not have region property",
            False,
        ),
        (
            SPREAD_CONSTRAINT,
            cluster("m1", region="r1"),
            binding_spec(over("zone")),
            "cluster(s) did not have zones property",
            False,
        ),
        (
            CLUSTER_EVICTION,
            WELL,
            binding_spec({}, gracefulEvictionTasks=[task("m1")]),
            "cluster(s) is in the process of eviction",
            False,
        ),
    ],
    ids=["no API", "another kind", "a taint", "no region", "no zone", "being left"],
)
def test_each_filter_says_why_it_refuses_a_cluster(
    plugin: Filter, refused: Any, spec: Any, reason: str, spares_held: bool
) -> None:
    assert plugin.reject(Request(spec), refused) == reason
    held = replace(spec, clusters=binding_spec({}, 3, {"m1": 3}).clusters)
    assert plugin.reject(Request(held), refused) == (None if spares_held else reason)
    assert plugin.reject(Request(replace(spec, resource=binding_spec({}).resource)), cluster("m2", **SPREAD)) is None


SPREAD: dict[str, Any] = {"region": "r1", "zones": ["z1"]}


def test_a_cluster_that_holds_the_application_is_better_and_others_are_worth_nothing() -> None:
    request = Request(binding_spec({}, 3, {"m1": 3}))
    assert [CLUSTER_LOCALITY.score(request, cluster(name)) for name in ("m1", "m2")] == [100, 0]


def test_a_failure_keeps_its_kind_and_what_was_rejected_in_the_step_that_contains_it() -> None:
    failure = Unplaceable("Error", "none", {"m1": "no"})
    assert failure.within("step") == Unplaceable("Error", "step: none", {"m1": "no"})


def test_a_filter_concerns_every_request_unless_it_says_otherwise() -> None:
    assert TAINT_TOLERATION.concerns(Request(binding_spec({}))) is True


def test_c2_a_failover_alone_keeps_what_is_assigned() -> None:
    spec = binding_spec({}, 3, {"m1": 3})
    kept = [(asked, name) for asked in (True, False) for name in ("m1", "m2")]
    told = [Request(spec, keep_assigned=asked).keeps(name) for asked, name in kept]
    assert told == [True, False, False, False]
