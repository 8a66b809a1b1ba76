"""The reasons of a decision come from the implementation that decides, with what others have reserved."""

from hypothesis import given

from leeward.api.work import TargetCluster
from leeward.core.placement import Snapshot, decide
from leeward.core.scheduling import Placed, Trace
from leeward.planning.fleet import placement_fleet
from tests.builders import at, binding, cluster, dead, divided, targets
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
    fleet = placement_fleet([dead("a"), roomy(cluster("b"), 6), roomy(cluster("c"), 6)])
    fleet.reserve("default/other", spread(DYNAMIC, {"c": 5}).spec, (TargetCluster("c", 9),))
    trace = Trace()
    decision = decide(Snapshot(bound, fleet, now=at(300)), trace)
    assert {name: candidate.room for name, candidate in trace.terms[-1].candidates.items()} == {"b": 6, "c": 2}
    assert trace.terms[-1].divisions[-1].weights == {"b": 6, "c": 2}
    assert decision.clusters == (TargetCluster("b", 3), TargetCluster("c", 1))


def test_nothing_is_told_where_nothing_was_asked_of_scheduling() -> None:
    trace = Trace()
    bound = binding(divided({"a": 1}), 1, targets(a=1))
    decide(Snapshot(bound, placement_fleet([cluster("a")]), now=at(0)), trace)
    assert trace.terms == []
