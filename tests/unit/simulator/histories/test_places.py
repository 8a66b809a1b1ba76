"""Agreement of two ends of a history on where something runs."""

import pytest

from kubeapi.codec import from_wire
from leeward.api.work import ResourceBinding
from simulator.histories.places import Place, place_of


@pytest.mark.parametrize(
    ("here", "there", "divided", "choosy", "agree"),
    [
        ({"m1": 2, "m2": 2}, {"m1": 2, "m2": 2}, False, False, True),
        ({"m1": 2}, {"m2": 2}, False, False, False),
        ({"m1": 2, "m2": 1}, {"m1": 1, "m2": 2}, True, False, True),
        ({"m1": 3}, {"m1": 1, "m2": 2}, True, False, False),
        ({"m1": 3}, {"m2": 3}, True, True, True),
        ({"m1": 3}, {"m1": 2, "m2": 1}, True, True, False),
    ],
)
def test_ends_agree_but_for_ties(
    here: dict[str, int], there: dict[str, int], divided: bool, choosy: bool, agree: bool
) -> None:
    one, other = Place(here, divided, choosy), Place(there, divided, choosy)
    assert (one.agrees(other), other.agrees(one)) == (agree, agree)


def test_what_takes_no_room_where_room_decides_is_compared_by_its_number_and_that_of_its_clusters() -> None:
    one = Place({"m2": 3, "m3": 3}, divided=True, choosy=True, roomless=True)
    assert one.agrees(Place({"m2": 1, "m3": 5}, divided=True, choosy=True, roomless=True))
    assert not one.agrees(Place({"m2": 1, "m3": 4}, divided=True, choosy=True, roomless=True))
    assert not one.agrees(Place({"m3": 6}, divided=True, choosy=True, roomless=True))


@pytest.mark.parametrize(
    ("kind", "strategy", "roomless"),
    [
        ("Batch", {"weightPreference": {"dynamicWeight": "AvailableReplicas"}}, True),
        ("Batch", {"replicaDivisionPreference": "Aggregated"}, True),
        ("Batch", {"weightPreference": {"staticWeightList": []}}, False),
        ("Deployment", {"weightPreference": {"dynamicWeight": "AvailableReplicas"}}, False),
    ],
)
def test_only_what_has_no_pods_and_is_divided_by_room_takes_none(
    kind: str, strategy: dict[str, object], roomless: bool
) -> None:
    resource = {"apiVersion": "v1", "kind": kind, "name": "web", "namespace": "default"}
    scheduling = {"replicaSchedulingType": "Divided", **strategy}
    requirements = {"resourceRequest": {"cpu": "1"}}
    spec = {"resource": resource, "replicas": 2, "replicaRequirements": requirements}
    placement = {"placement": {"replicaScheduling": scheduling}, "clusters": [{"name": "m1", "replicas": 2}]}
    bound = from_wire({"metadata": {"name": "web", "namespace": "default"}, "spec": spec | placement}, ResourceBinding)
    assert place_of(bound).roomless == roomless
