"""Cores that what finds no room asks for."""

import pytest

from leeward.answers.room_arithmetic import cores_asked
from leeward.api.policy import Placement
from leeward.api.work import ReplicaRequirements
from tests.builders import binding, divided, duplicated, targets

HALF = ReplicaRequirements(resource_request={"cpu": "500m"})


@pytest.mark.parametrize(
    ("placement", "needs", "cores"),
    [
        (divided({"a": 1}), HALF, 1.5),
        (duplicated("a", "b"), HALF, 1.5),
        (divided({"a": 1}), ReplicaRequirements(resource_request={"memory": "1Gi"}), None),
        (divided({"a": 1}), None, None),
    ],
    ids=["replicas", "replicas of whole copies", "only memory is said", "nothing is said"],
)
def test_three_that_find_no_room_ask_for_so_many_cores(
    placement: Placement, needs: ReplicaRequirements | None, cores: float | None
) -> None:
    assert cores_asked(binding(placement, 4, targets(a=4), replica_requirements=needs).spec, 3) == cores
