"""Two affinity terms joined: what a binding on its way between them is decided on."""

from typing import Any

import msgspec
import pytest

from leeward.api.policy import ClusterAffinityTerm, Placement, ReplicaSchedulingStrategy
from leeward.api.work import ResourceBinding
from leeward.core.scheduling.affinity import common_term, first_term_of, is_in_term
from leeward.core.scheduling.joined_terms import other_term, with_joined_terms
from leeward.core.scheduling.reschedule import placement_changed
from tests.builders import binding, cluster, fleet, targets

FLEET = fleet(*(cluster(name) for name in "abcd"))


def term(name: str, *clusters: str) -> ClusterAffinityTerm:
    return ClusterAffinityTerm(affinity_name=name, cluster_names=clusters)


def placed(observed: str = "away", *terms: ClusterAffinityTerm, **counts: int) -> ResourceBinding:
    placement = Placement(
        cluster_affinities=terms or (term("home", "a"), term("away", "b", "c")),
        replica_scheduling=ReplicaSchedulingStrategy("Divided", "Weighted"),
    )
    made = binding(placement, sum(counts.values()), targets(**counts))
    return msgspec.structs.replace(
        made, status=msgspec.structs.replace(made.status, scheduler_observing_affinity_name=observed)
    )


@pytest.mark.parametrize(
    ("counts", "other"),
    [
        ({"b": 2, "c": 2}, None),
        ({"a": 1, "b": 3}, "home"),
        ({"a": 4}, None),
        ({"b": 3, "d": 1}, None),
    ],
    ids=["all in one", "in two", "all in the other", "one in none"],
)
def test_the_other_term_is_that_of_the_targets_which_the_observed_one_does_not_let_in(
    counts: dict[str, Any], other: str | None
) -> None:
    assert other_term(placed(**counts), FLEET) == other


def test_joined_the_observed_term_lets_in_the_clusters_of_both_and_its_placement_counts_as_carried_out() -> None:
    bound = placed(a=1, b=3)
    joined = with_joined_terms(bound, FLEET)
    assert [is_in_term(joined.spec, "away", FLEET[name]) for name in "abcd"] == [True, True, True, False]
    assert common_term(joined, ("a", "b"), FLEET) == "away"
    assert not placement_changed(joined)
    assert with_joined_terms(placed(b=4), FLEET).spec == placed(b=4).spec


def test_the_first_term_of_targets_is_told_in_the_order_of_the_policy() -> None:
    bound = placed("away", term("home", "a"), term("away", "a", "b"), a=4)
    assert first_term_of(bound, ["a"], FLEET) == "home"
    assert first_term_of(bound, ["a", "b"], FLEET) == "away"
    assert first_term_of(bound, ["d"], FLEET) is None
