"""Tells whether a binding has to be scheduled again, and which targets are the same."""

from typing import Any

import msgspec
import pytest

from kubeapi.codec import encode, from_wire
from kubeapi.meta import ObjectMeta
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION
from leeward.api.policy import Placement
from leeward.api.work import ResourceBinding, ResourceBindingStatus, TargetCluster
from leeward.core.scheduling import same_targets
from leeward.core.scheduling.reschedule import (
    applied_placement,
    needs_scheduling,
    placement_changed,
    replicas_changed,
    term_of_targets,
)
from tests.builders import at, targets
from tests.placements import binding_spec, cluster

SHARED: dict[str, Any] = {
    "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
}
COPIED: dict[str, Any] = {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}
NEAR, FAR = ({"affinityName": name, "clusterNames": [name]} for name in ("near", "far"))
FLEET = {"m1": cluster("m1"), "m2": cluster("m2"), "m3": cluster("m3", deleted=True)}
TRIGGERED: dict[str, Any] = {"rescheduleTriggeredAt": "2026-01-01T00:00:30Z"}


def bound(
    placement: dict[str, Any],
    held: dict[str, int],
    applied: dict[str, Any] | None = None,
    *,
    replicas: int = 3,
    observed: str = "",
    **more: Any,
) -> ResourceBinding:
    """Scheduled a minute after the epoch of the tests, for the placement `applied`: for this one when it is None."""
    note = encode(from_wire(placement if applied is None else applied, Placement)).decode()
    return ResourceBinding(
        metadata=ObjectMeta(name="a", namespace="default", annotations={APPLIED_PLACEMENT_ANNOTATION: note}),
        spec=binding_spec(placement, replicas, held, replicaRequirements={"resourceRequest": {}}, **more),
        status=ResourceBindingStatus(scheduler_observing_affinity_name=observed, last_scheduled_time=at(60)),
    )


@pytest.mark.parametrize(
    ("binding", "expected"),
    [
        (bound(SHARED, {"m1": 2, "m2": 1}), False),
        (bound(SHARED, {"m1": 2, "m2": 2}), True),
        (bound(SHARED, {"m1": 2, "m2": 1}, COPIED), True),
        (bound(SHARED, {"m1": 2, "gone": 1}), True),
        (bound(SHARED, {"m1": 2, "m3": 1}), True),
        (bound(COPIED, {"m1": 3}), True),
        (bound({}, {"m1": 3}), True),
        (bound(SHARED, {"m1": 3}, **TRIGGERED), False),
        (bound(SHARED, {"m1": 3}, rescheduleTriggeredAt="2026-01-01T00:01:30Z"), True),
    ],
    ids=[
        "as it is to be",
        "too many",
        "another placement",
        "a cluster is gone",
        "a cluster goes",
        "copied",
        "nothing said",
        "asked for before",
        "asked for since",
    ],
)
def test_a_binding_is_scheduled_again_when_something_of_it_is_not_as_it_is_to_be(
    binding: ResourceBinding, expected: bool
) -> None:
    assert needs_scheduling(binding, FLEET) is expected


def test_what_has_no_replicas_is_always_scheduled_again() -> None:
    shared = bound(SHARED, {"m1": 0}, replicas=0)
    bare = msgspec.structs.replace(shared, spec=msgspec.structs.replace(shared.spec, replica_requirements=None))
    assert needs_scheduling(bare, FLEET) is True


@pytest.mark.parametrize(
    ("placement", "held", "expected"),
    [
        (COPIED, {"m1": 3, "m2": 3}, False),
        (COPIED, {"m1": 3, "m2": 2}, True),
        (SHARED, {"m1": 1, "m2": 2}, False),
        (SHARED, {"m1": 3, "m2": 3}, True),
        ({}, {"m1": 9}, False),
    ],
)
def test_replicas_have_changed_where_the_result_does_not_add_up(
    placement: dict[str, Any], held: dict[str, int], expected: bool
) -> None:
    assert replicas_changed(binding_spec(placement, 3, held)) is expected
    assert replicas_changed(msgspec.structs.replace(binding_spec({}, 3, held), placement=None)) is False


@pytest.mark.parametrize(
    ("before", "observed", "expected"),
    [
        ({"clusterAffinities": [NEAR, FAR]}, "near", False),
        ({"clusterAffinities": [NEAR]}, "near", False),
        ({"clusterAffinities": [{**NEAR, "clusterNames": ["m9"]}, FAR]}, "near", True),
        ({"clusterAffinities": [{**NEAR, "clusterNames": ["m9"]}, FAR]}, "far", False),
        ({"clusterAffinities": [FAR]}, "near", True),
        ({"clusterAffinities": [NEAR]}, "", True),
        ({"clusterAffinities": [NEAR, FAR], "workloadAffinity": {"affinity": {"groupByLabelKey": "a"}}}, "near", False),
        ({"clusterAffinities": [NEAR, FAR], "clusterTolerations": [{"operator": "Exists"}]}, "near", True),
    ],
)
def test_of_several_terms_only_the_observed_one_matters(before: Any, observed: str, expected: bool) -> None:
    after = bound({"clusterAffinities": [NEAR, FAR]}, {}, before, observed=observed)
    assert placement_changed(after) is expected


def test_a_placement_that_is_not_noted_has_changed_and_one_that_cannot_be_read_has_not() -> None:
    noted = bound(SHARED, {})
    assert applied_placement(noted) == from_wire(SHARED, Placement)
    for note, changed in (({}, True), ({APPLIED_PLACEMENT_ANNOTATION: "{"}, False)):
        metadata = msgspec.structs.replace(noted.metadata, annotations=note)
        other = msgspec.structs.replace(noted, metadata=metadata)
        assert applied_placement(other) is None
        assert placement_changed(other) is changed


def test_targets_are_the_same_in_whatever_order() -> None:
    one, other = targets(m1=1, m2=2), (TargetCluster("m2", 2), TargetCluster("m1", 1))
    assert same_targets(one, other) is same_targets(other, one) is True
    assert same_targets(one, targets(m1=2, m2=2)) is False
    assert same_targets(one, one[:1]) is False


M1, M2, BOTH = (
    {"affinityName": name, "clusterNames": names}
    for name, names in (("first", ["m1"]), ("second", ["m2"]), ("all", ["m1", "m2"]))
)


@pytest.mark.parametrize(
    ("held", "observed", "placed", "applied", "term"),
    [
        ({"m2": 3}, "first", 1, None, "second"),
        ({"m2": 3}, "first", 2, None, "first"),
        ({"m2": 3}, "first", 1, COPIED, "first"),
        ({"m1": 2, "m2": 1}, "first", 1, None, "all"),
        ({"m1": 2, "m3": 1}, "second", 1, None, "second"),
        ({}, "second", 1, None, "second"),
    ],
    ids=["placed later", "placed by that", "asked anew", "in both", "in none", "nowhere"],
)
def test_s1_the_term_of_targets_that_were_written_before_their_status_is_that_which_they_are_in(
    held: dict[str, int], observed: str, placed: int, applied: dict[str, Any] | None, term: str
) -> None:
    found = bound({**SHARED, "clusterAffinities": [M1, M2, BOTH]}, held, applied, observed=observed)
    found = msgspec.structs.replace(
        found,
        metadata=msgspec.structs.replace(found.metadata, generation=2),
        status=msgspec.structs.replace(found.status, scheduler_observed_generation=placed),
    )
    assert term_of_targets(found, FLEET) == term
