"""The reasons of a decision come from the implementation that decides, with what others have reserved."""

import msgspec
import pytest
from hypothesis import given

from kubeapi.core import Taint
from leeward.api.cluster import Cluster
from leeward.api.names import FLAPPING_TAINT
from leeward.api.policy import ClusterAffinityTerm
from leeward.api.work import ResourceBinding, ResourceBindingSpec, TargetCluster
from leeward.core.placement import Snapshot, decide
from leeward.core.placement.ranks import ClusterRank, find_replacement
from leeward.core.placement.replacement import place_anew
from leeward.core.scheduling import Placed, Trace
from leeward.planning import Fleet
from leeward.planning.fleet import placement_fleet
from tests.builders import at, binding, cluster, dead, divided, duplicated, fleet, targets
from tests.outages import Outage, outages
from tests.rooms import DYNAMIC, roomy, spread


@given(outages())
def test_asking_for_reasons_changes_no_decision(outage: Outage) -> None:
    snapshot = Snapshot(outage.binding, placement_fleet(outage.fleet.values()), now=at(10_000))
    trace = Trace()
    decision = decide(snapshot, trace)
    assert decision == decide(snapshot)
    if isinstance(decision.result, Placed) and decision.evicted:
        gained = {t.name for t in decision.clusters if t.replicas > outage.before.get(t.name, 0)}
        assert gained <= set(trace.terms[-1].selected)


def test_the_room_that_is_told_is_what_others_have_left() -> None:
    bound = spread(DYNAMIC, {"a": 4})
    clusters = placement_fleet([dead("a"), roomy(cluster("b"), 6), roomy(cluster("c"), 6)])
    clusters.reserve("default/other", spread(DYNAMIC, {"c": 5}).spec, (TargetCluster("c", 9),))
    trace = Trace()
    decision = decide(Snapshot(bound, clusters, now=at(300)), trace)
    assert {name: candidate.room for name, candidate in trace.terms[-1].candidates.items()} == {"b": 6, "c": 2}
    assert trace.terms[-1].divisions[-1].weights == {"b": 6, "c": 2}
    assert decision.clusters == (TargetCluster("b", 3), TargetCluster("c", 1))


SHARES = divided({"a": 1, "b": 1, "c": 1})
HELD_DOWN = cluster("b", taints=(Taint(FLAPPING_TAINT, "NoSchedule", time_added=at(0)),))
AWAY = binding(SHARES, 4, targets(a=4))
NOWHERE = msgspec.structs.replace(AWAY.spec, clusters=())


def between_terms() -> ResourceBinding:
    """Binding in a cluster of the first term that begins to look dead, and is left for the second."""
    terms = tuple(ClusterAffinityTerm(affinity_name=name, cluster_names=(name,)) for name in ("a", "b"))
    placement = msgspec.structs.replace(duplicated(), cluster_affinity=None, cluster_affinities=terms)
    return binding(placement, 2, targets(a=2))


LOOKS_DEAD = cluster("b", ready="False")


@pytest.mark.parametrize(
    ("bound", "left", "clusters", "selected"),
    [
        (AWAY, NOWHERE, fleet(HELD_DOWN), "b"),
        (AWAY, NOWHERE, fleet(LOOKS_DEAD, cluster("c")), "c"),
        (between_terms(), between_terms().spec, fleet(cluster("a", ready="False"), cluster("b")), "b"),
    ],
    ids=["a last resort", "one looks dead", "another term"],
)
def test_a_replacement_that_is_asked_for_again_is_told_as_well(
    bound: ResourceBinding, left: ResourceBindingSpec, clusters: Fleet, selected: str
) -> None:
    trace = Trace()
    result = find_replacement(bound, left, clusters, at(0), upto=ClusterRank.HELD_DOWN, trace=trace)
    assert isinstance(result, Placed)
    assert trace.terms[-1].selected == (selected,)


def test_what_goes_to_another_term_is_told_with_what_was_thought_to_stay() -> None:
    few = spread(DYNAMIC, {"a": 3})
    assert few.spec.placement is not None
    terms = between_terms().spec.placement
    assert terms is not None
    placement = msgspec.structs.replace(few.spec.placement, cluster_affinities=terms.cluster_affinities)
    more = msgspec.structs.replace(few.spec, replicas=6, placement=placement)
    trace = Trace()
    result = find_replacement(few, more, fleet(cluster("a", ready="False"), roomy(cluster("b"), 9)), at(0), trace=trace)
    assert isinstance(result, Placed)
    assert result.clusters == targets(b=6)
    assert trace.terms[-1].divisions[-1].result == {"b": 6}


@pytest.mark.parametrize(("there", "tried"), [(HELD_DOWN, ()), (cluster("b"), ("b",))])
def test_a_place_that_is_asked_for_again_is_told_as_well(there: Cluster, tried: tuple[str, ...]) -> None:
    trace = Trace()
    assert isinstance(
        place_anew(AWAY, NOWHERE, fleet(there), at(0), dict.fromkeys(tried, ClusterRank.TRIED), trace), Placed
    )
    assert trace.terms[-1].selected == ("b",)


def test_nothing_is_told_where_nothing_was_asked_of_scheduling() -> None:
    trace = Trace()
    bound = binding(divided({"a": 1}), 1, targets(a=1))
    decide(Snapshot(bound, placement_fleet([cluster("a")]), now=at(0)), trace)
    assert trace.terms == []
