"""Names under which a cluster may join."""

import pytest

from leeward.core.registration import Joined, problem_of_identity

JOINED = (Joined("east", "id-east", "Push"), Joined("west", "id-west", "Pull"), Joined("old", "", "Push"))


@pytest.mark.parametrize(
    ("name", "cluster_id", "said"),
    [
        ("north", "id-north", ""),
        ("east", "id-east", ""),
        ("north", "", ""),
        ("north", "id-east", "as east: use that one, or `leeward unjoin east` first"),
        ("north", "id-west", "as west: use that one, or `leeward unregister west` first"),
        ("north", "id-own", "is the control plane itself"),
    ],
)
def test_a_cluster_joins_once(name: str, cluster_id: str, said: str) -> None:
    problem = problem_of_identity(name, cluster_id, JOINED, "id-own")
    assert said in problem
    assert bool(problem) == bool(said)


def test_a_control_plane_that_is_not_known_refuses_nobody() -> None:
    assert problem_of_identity("north", "", (), "") == ""
