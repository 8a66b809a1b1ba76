"""Reasons that keep a binding from being carried out, explained in the words of its condition, as `status` tells it."""

from datetime import UTC, datetime

import msgspec
import pytest

from leeward.answers.explanation import NOTHING_MOVES, ApplicationState, explain_binding
from leeward.answers.fleet_state import key_of_binding
from leeward.api.meta import Condition
from leeward.api.names import (
    BINDING_NAME_ANNOTATION,
    BINDING_NAMESPACE_ANNOTATION,
    REACHABLE_CONDITION,
    REMOVAL_HELD_ANNOTATION,
)
from leeward.api.policy import Placement
from leeward.api.work import AggregatedStatusItem, BindingResource, BindingSnapshot, ResourceBindingSpec
from leeward.operations.binding_findings import hindered as found_hindered
from leeward.operations.binding_findings import refused
from leeward.operations.findings import Observed
from leeward.operations.hindrances import HINDRANCES
from tests.builders import binding, cluster, dead, divided, duplicated, targets, work
from tests.fleet_pictures import picture_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("condition_type", HINDRANCES)
def test_a_hindrance_is_explained_in_the_words_of_its_condition_and_of_status(condition_type: str) -> None:
    placed = binding(divided({"a": 1}), 2, targets(a=2))
    says = "False" if condition_type == REACHABLE_CONDITION else "True"
    condition = Condition(condition_type, says, "SomeReason", "what is so, and where.", last_transition_time=NOW)
    status = msgspec.structs.replace(placed.status, conditions=(*placed.status.conditions, condition))
    hindered = msgspec.structs.replace(placed, status=status)
    told = explain_binding(picture_of([cluster("a")], [hindered]), key_of_binding(hindered))
    assert (told.state, told.needs_somebody) == (ApplicationState.HINDERED, True)
    assert told.headline == f"The application {HINDRANCES[condition_type]} (SomeReason): what is so, and where."
    assert told.why[-1] == "what is so, and where (SomeReason)."
    observed = Observed(NOW, bindings=(hindered,))
    (finding,) = (found for look in (refused, found_hindered) for found in look(observed))
    assert f" {HINDRANCES[condition_type]} (SomeReason, since " in finding.sentence
    assert finding.sentence.endswith(": what is so, and where.")
    well = explain_binding(picture_of([cluster("a")], [placed]), key_of_binding(placed))
    assert not well.needs_somebody


@pytest.mark.parametrize(
    ("placement", "replicas", "said"),
    [
        (divided({"a": 1}), 2, "No eviction is planned, and 0 of 2 replicas are known to be ready"),
        (divided({"a": 1}), 1, "No eviction is planned, and 0 of 1 replica is known to be ready"),
        (divided({"a": 1}), 0, "No eviction is planned; the application is scaled to 0 replicas"),
        (duplicated("a"), 0, "No eviction is planned; the application is scaled to 0 replicas"),
    ],
)
def test_what_serves_agrees_with_how_many_are_asked_for(placement: Placement, replicas: int, said: str) -> None:
    """Pods that request nothing leave a binding without requirements, whatever its template asks for."""
    placed = binding(placement, replicas, targets(a=replicas))
    told = explain_binding(picture_of([cluster("a")], [placed]), key_of_binding(placed))
    assert told.headline == said
    assert (told.state is ApplicationState.WELL) is (replicas == 0)


def test_what_a_member_refuses_needs_somebody_also_where_the_rest_serves() -> None:
    placed = binding(divided({"a": 1}), 2, targets(a=2))
    refused = AggregatedStatusItem(cluster_name="a", applied=False, applied_message="it is somebody else's")
    status = msgspec.structs.replace(placed.status, aggregated_status=(refused,))
    hindered = msgspec.structs.replace(placed, status=status)
    told = explain_binding(picture_of([cluster("a")], [hindered]), key_of_binding(hindered))
    assert (told.state, told.needs_somebody) == (ApplicationState.HINDERED, True)
    assert told.headline == "The application is not applied (AppliedFailed): in a: it is somebody else's"


@pytest.mark.parametrize(
    ("placement", "replicas", "said"),
    [
        (divided({"a": 1}), 3, "the 3 replicas there count as running immediately"),
        (divided({"a": 1}), 1, "the copy there counts as running immediately"),
        (duplicated("a"), 3, "the copy there counts as running immediately"),
    ],
)
def test_what_a_return_would_show_agrees_with_how_many_there_are(
    placement: Placement, replicas: int, said: str
) -> None:
    placed = binding(placement, replicas, targets(a=replicas))
    told = explain_binding(picture_of([dead("a", since=-900), cluster("b")], [placed]), key_of_binding(placed))
    assert {each.change: each.effect for each in told.helps}["if a comes back"] == said


def test_what_has_failed_over_is_said_to_stay_though_it_would_be_placed_otherwise() -> None:
    moved = binding(divided({"a": 1, "b": 2}), 3, targets(b=3))
    told = explain_binding(picture_of([cluster("a"), cluster("b"), cluster("c")], [moved]), key_of_binding(moved))
    assert told.why[1:] == [
        "If the application were placed again now, 2 of 3 clusters would be eligible: a, b.",
        "3 replicas would be divided by weight: a would get 1 (3 * 1/3 = 1.00), b would get 2 (3 * 2/3 = 2.00).",
        NOTHING_MOVES,
    ]
    home = msgspec.structs.replace(moved, spec=msgspec.structs.replace(moved.spec, clusters=targets(a=1, b=2)))
    well = explain_binding(picture_of([cluster("a"), cluster("b")], [home]), key_of_binding(home))
    assert NOTHING_MOVES not in well.why


def test_a_cluster_that_cannot_be_looked_into_is_not_said_to_be_lost() -> None:
    placed = binding(divided({"a": 1, "b": 1, "c": 1}), 3, targets(a=1, b=1, c=1))
    unseen = dead("b")
    (ready,) = unseen.status.conditions
    refused = msgspec.structs.replace(ready, reason="StatusCollectionFailed")
    unseen = msgspec.structs.replace(unseen, status=msgspec.structs.replace(unseen.status, conditions=(refused,)))
    told = explain_binding(picture_of([dead("a"), unseen, cluster("c")], [placed]), key_of_binding(placed))
    assert told.headline == "a is down, b is not seen; 0 of 3 replicas are known to be ready"


@pytest.mark.parametrize(
    ("follows", "said"),
    [
        (True, "No policy has claimed the template: it follows the objects that need it."),
        (False, "nothing needs it any more. Its copies stay until the template"),
        (None, "nothing needs it any more"),
    ],
)
def test_a_claim_that_nothing_needs_any_more_is_said_to_stay(follows: bool | None, said: str) -> None:
    """Dependants may be gone, or let nothing follow any more."""
    placed = binding(divided({"a": 1}), 1, targets(a=1))
    needing = msgspec.structs.replace(placed, spec=msgspec.structs.replace(placed.spec, propagate_deps=follows))
    snapshot = BindingSnapshot(namespace=placed.namespace, name=placed.name, clusters=targets(a=1))
    resource = BindingResource(api_version="v1", kind="PersistentVolumeClaim", namespace="default", name="data")
    attached = msgspec.structs.replace(
        placed,
        metadata=msgspec.structs.replace(placed.metadata, name="data-persistentvolumeclaim", uid="of-data"),
        spec=ResourceBindingSpec(resource=resource, required_by=(snapshot,)),
    )
    bindings = [attached] if follows is None else [attached, needing]
    told = explain_binding(picture_of([cluster("a")], bindings), key_of_binding(attached))
    assert said in told.why[0]


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (False, "the copy in a is deleted when a is back"),
        (True, "the copy in a is deleted when a is back and the new copy is healthy"),
    ],
)
def test_what_becomes_of_a_copy_in_a_lost_cluster_depends_on_what_replaces_it(*, held: bool, said: str) -> None:
    moved = binding(divided({"a": 1, "b": 1}), 2, targets(b=2))
    left = work("a", 2)
    marks = {BINDING_NAMESPACE_ANNOTATION: moved.namespace, BINDING_NAME_ANNOTATION: moved.name}
    marks |= {REMOVAL_HELD_ANNOTATION: "true"} if held else {}
    left = msgspec.structs.replace(left, metadata=msgspec.structs.replace(left.metadata, annotations=marks))
    picture = picture_of([dead("a", since=-900), cluster("b")], [moved], [left])
    assert said in [step.sentence for step in explain_binding(picture, key_of_binding(moved)).next]
