"""Names under which a cluster may join."""

import pytest

from leeward.core.cluster_health.cluster_identity import problem_of_reached
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


@pytest.mark.parametrize(
    ("found", "whose"),
    [
        ("id-own", "the control plane itself"),
        ("id-east", "the cluster east, which has joined, too"),
        ("id-north", ""),
        ("id-rebuilt", ""),
        ("", ""),
    ],
)
def test_s6_a_connection_leads_to_no_other_cluster_that_is_known(found: str, whose: str) -> None:
    joined = (Joined("north", "id-north", "Push"), Joined("east", "id-east", "Pull"), Joined("west", "", "Push"))
    problem = problem_of_reached("north", found, joined, "id-own")
    lead = f"spec.apiEndpoint and the Secret of north lead to {whose}"
    said = f"{lead}: nothing is done there for north; give it those of its own cluster"
    assert problem == (said if whose else "")


def test_an_id_that_two_have_is_not_questioned() -> None:
    joined = (Joined("east", "id-1", "Push"), Joined("north", "id-1", "Push"))
    assert problem_of_reached("north", "id-1", joined, "id-own") == ""
    assert problem_of_reached("west", "id-1", joined, "") != ""
