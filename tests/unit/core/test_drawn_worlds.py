"""Draws of the strategies of properties: worlds in which nothing can happen show nothing, so there are floors."""

from collections import Counter
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from leeward.api.cluster import Cluster
from leeward.api.work import ResourceBindingSpec, ResourceBindingStatus
from leeward.core.placement import Snapshot, decide
from leeward.core.scheduling import Placed
from leeward.planning import Fleet
from tests.builders import at
from tests.outages import Outage, outages
from tests.placements import fleets, schedule_on, specs

DRAWN = 200


def reached(strategy: st.SearchStrategy[tuple[object, ...]], see: Callable[..., set[str]]) -> Counter[str]:
    """Number of examples, of a hundred, in which each thing was seen."""
    found = Counter[str]()

    @settings(max_examples=DRAWN)
    @given(strategy)
    def look(drawn: tuple[object, ...]) -> None:
        found.update(see(*drawn))

    look()
    return Counter({what: 100 * count // DRAWN for what, count in found.items()})


def seen_in_scheduling(spec: ResourceBindingSpec, fleet: list[Cluster]) -> set[str]:
    result = schedule_on(spec, ResourceBindingStatus(), fleet)
    facts = {
        "clusters": bool(fleet),
        "several clusters": len(fleet) > 1,
        "placed": isinstance(result, Placed),
        "placed on several": isinstance(result, Placed) and len(result.clusters) > 1,
        "unplaceable": not isinstance(result, Placed),
        "divided": spec.is_divided,
        "kept": isinstance(result, Placed) and bool(spec.clusters),
    }
    return {what for what, holds in facts.items() if holds}


def seen_in_outage(outage: Outage) -> set[str]:
    decision = decide(Snapshot(outage.binding, Fleet(outage.fleet.values()), now=at(10_000)))
    facts = {
        "ran somewhere": bool(outage.before),
        "lost a copy": bool(outage.dead & set(outage.before)),
        "evicted": bool(decision.evicted),
        "moved": bool(decision.evicted) and isinstance(decision.result, Placed),
        "held": decision.held is not None,
        "a part stays": bool(set(outage.before) - outage.dead),
    }
    return {what for what, holds in facts.items() if holds}


def test_what_is_scheduled_has_clusters_and_is_often_placed() -> None:
    found = reached(st.tuples(specs, fleets), seen_in_scheduling)
    floors = {"clusters": 70, "several clusters": 55, "placed": 30, "placed on several": 10, "unplaceable": 15}
    assert {what: found[what] for what in floors if found[what] < floors[what]} == {}, found
    assert found["divided"] >= 50
    assert found["kept"] >= 15


def test_outages_take_something_away_that_ran_and_can_go_elsewhere() -> None:
    found = reached(st.tuples(outages()), seen_in_outage)
    floors = {"ran somewhere": 55, "lost a copy": 45, "evicted": 20, "moved": 10, "held": 10, "a part stays": 15}
    assert {what: found[what] for what in floors if found[what] < floors[what]} == {}, found
