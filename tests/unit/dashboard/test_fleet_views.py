"""A renderer's memory is never seen: after any changes it tells what one tells that remembers nothing."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from kubeapi import codec
from kubeapi.meta import ObjectMeta
from leeward.answers.decisions import fleet_of
from leeward.answers.fleet_state import spec_there
from leeward.answers.room_arithmetic import amounts_of
from leeward.api.cluster import Cluster, ResourceSummary
from leeward.api.meta import Condition
from leeward.api.names import EVICTION_HELD_CONDITION, REFUSED_CONDITION
from leeward.api.outage import ClusterOutage, MoveState, OutageApplication, OutageSpec, OutageStatus
from leeward.api.work import (
    AggregatedStatusItem,
    ReplicaRequirements,
    ResourceBinding,
    ResourceBindingStatus,
    is_application,
)
from leeward.core.eviction.held_reasons import HeldReason
from leeward.dashboard.feed import Collections, Feed
from leeward.dashboard.rights import WHOLE_SIGHT, FleetSight
from leeward.dashboard.seen_fleet import SeenFleet
from leeward.dashboard.views import FleetRenderer
from leeward.dashboard.views.fleet_views import FLEET, RenderCounts
from leeward.dashboard.views.outage_rows import known_by_outages, outage_rows, seen_of
from leeward.operations.applications import RowState, application_key, application_row, is_listed
from leeward.operations.clusters import ORDER, cluster_row, is_overfull
from leeward.operations.findings import Observed
from leeward.operations.status import findings_of
from leeward.operations.taints import CORDON, DRAIN
from tests.builders import at, binding, cluster, dead, divided, targets

PART = FleetSight(clusters=True, namespaces=frozenset({"open"}))
CLUSTERS, APPLICATIONS = ("member1", "member2", "member3"), ("a", "b", "c", "d")


def with_cores(known: Cluster, waiting: int = 0) -> Cluster:
    """The cluster with 8 cores, and with Pods that wait for nodes with so many."""
    allocating = {"cpu": str(7 + waiting)} if waiting else {}
    summary = ResourceSummary(allocatable={"cpu": "8", "pods": "10"}, allocated={"cpu": "1"}, allocating=allocating)
    return msgspec.structs.replace(known, status=msgspec.structs.replace(known.status, resource_summary=summary))


Fleets = tuple[dict[str, Cluster], dict[str, ResourceBinding]]
Edit = Callable[[Fleets], None]
Round = tuple[list[Edit], list[str]]
"""Edits of a fleet, and the clusters that have an outage then."""
places = st.dictionaries(st.sampled_from(CLUSTERS), st.integers(0, 3), max_size=2)
clusters = st.one_of(
    st.none(),
    st.sampled_from(CLUSTERS).map(lambda name: with_cores(cluster(name))),
    st.sampled_from(CLUSTERS).map(lambda name: with_cores(cluster(name), waiting=1)),
    st.sampled_from(CLUSTERS).map(lambda name: cluster(name, taints=(CORDON,))),
    st.sampled_from(CLUSTERS).map(lambda name: cluster(name, taints=(DRAIN,))),
    st.sampled_from(CLUSTERS).map(dead),
)


outages = st.lists(st.sampled_from(CLUSTERS), max_size=2, unique=True)


def application(name: str, placed: Mapping[str, int], healthy: bool, says: Condition | None) -> ResourceBinding:
    made = binding(divided({"member1": 1, "member2": 1}), sum(placed.values()), targets(**placed))
    namespace = "open" if name in "ab" else "closed"
    items = tuple(
        AggregatedStatusItem(cluster_name=place, applied=healthy, health="Healthy" if healthy else "Unhealthy")
        for place in placed
    )
    return msgspec.structs.replace(
        made,
        metadata=ObjectMeta(name=f"{name}-deployment", namespace=namespace),
        spec=msgspec.structs.replace(
            made.spec,
            resource=msgspec.structs.replace(made.spec.resource, name=name, namespace=namespace),
            replica_requirements=ReplicaRequirements(resource_request={"cpu": "500m"}),
        ),
        status=ResourceBindingStatus(aggregated_status=items, conditions=() if says is None else (says,)),
    )


said = st.sampled_from(
    (
        None,
        Condition("Scheduled", "True", "Success"),
        Condition("Scheduled", "False", "NoClusterFit", "no room"),
        Condition(EVICTION_HELD_CONDITION, "True", HeldReason.NO_PLACE_TO_GO, "no room"),
        Condition(EVICTION_HELD_CONDITION, "True", HeldReason.WAITING_FOR_TURN, "others first"),
        Condition(REFUSED_CONDITION, "True", "OutOfReach", "not theirs"),
    )
)
applications = st.builds(application, st.sampled_from(APPLICATIONS), places, st.booleans(), said)


def put_cluster(fleets: Fleets, each: Cluster | None) -> None:
    """Makes the cluster so; the last one leaves where there is none."""
    if each is not None:
        fleets[0][each.name] = each
    elif fleets[0]:
        fleets[0].popitem()


def put_application(fleets: Fleets, each: ResourceBinding) -> None:
    fleets[1][each.name] = each


def settle(fleets: Fleets, number: int) -> None:
    """Lets all copies arrive of one of the applications that have copies on their way."""
    if coming := on_their_way(fleets):
        chosen = coming[number % len(coming)]
        placed = {target.name: target.replicas for target in chosen.spec.clusters}
        put_application(fleets, application(chosen.spec.resource.name, placed, True, None))


def delete(fleets: Fleets, number: int) -> None:
    """Deletes one of the applications with copies on their way, or one of all where there is none."""
    if chosen := on_their_way(fleets) or list(fleets[1].values()):
        del fleets[1][chosen[number % len(chosen)].name]


def on_their_way(fleets: Fleets) -> list[ResourceBinding]:
    return [each for each in fleets[1].values() if spec_there(each, {}) is not None]


numbers = st.integers(0, len(APPLICATIONS) - 1)
edits: st.SearchStrategy[Edit] = st.one_of(
    clusters.map(lambda each: partial(put_cluster, each=each)),
    applications.map(lambda each: partial(put_application, each=each)),
    numbers.map(lambda number: partial(settle, number=number)),
    numbers.map(lambda number: partial(delete, number=number)),
)
rounds_drawn = st.lists(st.tuples(st.lists(edits, min_size=1, max_size=3), outages), min_size=2, max_size=6)
somewhere = st.dictionaries(st.sampled_from(CLUSTERS), st.integers(1, 3), min_size=1, max_size=2)
on_the_way = st.builds(application, st.sampled_from(APPLICATIONS), somewhere, st.just(False), st.none())
beginnings = st.lists(st.one_of(on_the_way, applications), min_size=1, max_size=4)


def outage(name: str) -> ClusterOutage:
    """Running, and known to concern the application `a`, wherever that is by now."""
    moved = OutageApplication(kind="Deployment", name="a", namespace="open", state=MoveState.MOVED)
    return ClusterOutage(
        metadata=ObjectMeta(name=f"{name}-1"),
        spec=OutageSpec(cluster=name, since=at(0)),
        status=OutageStatus(applications=1, moved=1, listed=(moved,)),
    )


def seen(known: Fleets, second: int, running: Sequence[str] = ()) -> SeenFleet:
    return SeenFleet(
        outages=tuple(map(outage, running)),
        control_plane="plane",
        now=at(second),
        clusters=tuple(known[0].values()),
        bindings=tuple(known[1].values()),
    )


def in_order(collections: Collections) -> list[tuple[str, list[tuple[str, bytes]]]]:
    return [(name, list(objects.items())) for name, objects in collections.items()]


def versions(beginning: Sequence[ResourceBinding], rounds: Sequence[Round]) -> Iterator[SeenFleet]:
    """The fleet as it begins, and after each round."""
    known: Fleets = {name: with_cores(cluster(name)) for name in CLUSTERS}, {each.name: each for each in beginning}
    yield seen(known, 0)
    for second, (changed, running) in enumerate(rounds, 1):
        for edit in changed:
            edit(known)
        yield seen(known, second, running)


@given(st.sampled_from((WHOLE_SIGHT, PART)), beginnings, rounds_drawn)
def test_what_is_remembered_changes_nothing_that_is_told(
    sight: FleetSight, beginning: list[ResourceBinding], rounds: list[Round]
) -> None:
    renderer = FleetRenderer(sight)
    for now in versions(beginning, rounds):
        told = renderer.render(now)
        assert in_order(told) == in_order(FleetRenderer(sight).render(now))
        assert_is_of_the_whole_fleet(told, now, sight)


def test_what_is_on_its_way_is_often_drawn_to_arrive_and_to_be_deleted() -> None:
    """Floors, of 100 draws: a memory that keeps what was on its way is seen in these alone."""
    found = Counter[str]()

    @settings(max_examples=100)
    @given(beginnings, rounds_drawn)
    def look(beginning: list[ResourceBinding], rounds: list[Round]) -> None:
        found.update({each for pair in pairwise(versions(beginning, rounds)) for each in became_of_what_came(*pair)})

    look()
    floors = {"arrives": 20, "is deleted": 18, "is still on its way": 20}
    assert {what: found[what] for what in floors if found[what] < floors[what]} == {}, found


def became_of_what_came(before: SeenFleet, now: SeenFleet) -> Iterator[str]:
    """Fates of applications that had reserved room in clusters that are there, and whose cores are known."""
    measured = {each.name for each in now.clusters if each.status.resource_summary is not None}
    coming = {each.name for each, _ in now.state.coming}
    there = {each.name for each in now.bindings}
    for each, arrived in before.state.coming:
        reserved = {target.name for target in each.spec.clusters} - {target.name for target in arrived.clusters}
        if not reserved & measured:
            continue
        if each.name in coming:
            yield "is still on its way"
        else:
            yield "arrives" if each.name in there else "is deleted"


def assert_is_of_the_whole_fleet(told: Collections, now: SeenFleet, sight: FleetSight) -> None:
    """Compares what is sought in few bindings, or summed up by difference, with what all of them say."""
    visible = [each for each in now.bindings if sight.shows(each.namespace)]
    clusters = now.clusters if sight.clusters else ()
    rows = [cluster_row(each, tuple(now.bindings)) for each in clusters]
    rows.sort(key=lambda row: (ORDER[row.state], row.name))
    observed = Observed(now.now, tuple(clusters) if sight.clusters else None, tuple(rows), tuple(visible))
    summary = msgspec.json.decode(told[FLEET][FLEET])
    assert summary["findings"] == from_json(findings_of(observed))
    assert summary["applications"] == sum(map(is_application, visible))
    assert summary["replicas"] == sum(target.replicas for each in visible for target in each.spec.clusters)
    listed = outage_rows(seen_of(now.state, sight)) if sight.outages else {}
    assert {name: msgspec.json.decode(row) for name, row in told["outages"].items()} == from_json(listed)
    known = known_by_outages(now.state.recorded.outages)
    full = {each.name for each in now.clusters if is_overfull(each)}
    made = {application_key(each): each for each in visible}
    rows_made = {key: application_row(each, known.get(key), full) for key, each in made.items()}
    shown = {key: row for key, row in rows_made.items() if is_listed(made[key], row)}
    assert list(told["applications"]) == sorted(shown, key=lambda key: (list(RowState).index(shown[key].state), key))
    assert {key: msgspec.json.decode(row) for key, row in told["applications"].items()} == from_json(shown)
    assert_what_comes_is_reserved(told, now)


def assert_what_comes_is_reserved(told: Collections, now: SeenFleet) -> None:
    reserved = fleet_of(now.state).reservations.all()
    for name, tile in told["clusters"].items():
        known = next(each for each in now.clusters if each.name == name)
        assert msgspec.json.decode(tile)["room"] == [
            from_json(each) for each in amounts_of(known, reserved.get(name, ()))
        ]


def from_json(value: Any) -> Any:
    """Value as a page reads it."""
    return msgspec.json.decode(codec.encode(value))


def a_fleet(applications: int, clusters: int) -> Fleets:
    placed = [{f"c{n % clusters}": 1, f"c{(n + 1) % clusters}": 1} for n in range(applications)]
    made = [application(f"app{n}", where, True, None) for n, where in enumerate(placed)]
    return {f"c{n}": cluster(f"c{n}") for n in range(clusters)}, {each.name: each for each in made}


def test_a_version_looks_at_what_has_changed_and_at_nothing_else() -> None:
    known, renderer = a_fleet(400, 20), FleetRenderer(WHOLE_SIGHT)
    renderer.render(seen(known, 0))
    assert renderer.last == RenderCounts(bindings=400, applications=400, clusters=20, policies=0, judged=0)
    known[1]["app7-deployment"] = application("app7", {"c7": 1, "c9": 1}, True, None)
    renderer.render(seen(known, 1))
    in_c7_c8_c9 = 3
    assert renderer.last == RenderCounts(bindings=2, applications=1, clusters=in_c7_c8_c9, policies=0, judged=0)
    renderer.render(seen(known, 2))
    assert renderer.last == RenderCounts(bindings=0, applications=0, clusters=0, policies=0, judged=0)


def test_replicas_that_wait_for_a_node_are_missed_on_the_page_as_in_status() -> None:
    known, renderer = a_fleet(40, 20), FleetRenderer(WHOLE_SIGHT)
    known[1]["app3-deployment"] = application("app3", {"c3": 1, "c4": 1}, False, None)
    assert serving(renderer.render(seen(known, 0))) == ("Starting", 0)
    known[0]["c3"] = with_cores(known[0]["c3"], waiting=1)
    assert serving(renderer.render(seen(known, 1))) == ("Nobody", 1)
    in_c3 = 4
    assert renderer.last.applications == in_c3
    assert serving(renderer.render(seen(known, 2))) == ("Nobody", 1)
    assert renderer.last.applications == 0
    known[0]["c3"] = with_cores(known[0]["c3"])
    assert serving(renderer.render(seen(known, 3))) == ("Starting", 0)


def test_the_totals_of_the_page_are_the_sums_of_status() -> None:
    """Clusters are four; of one nothing is seen. The page also counts what waits for a node there, beside what runs."""
    known = a_fleet(40, 4)
    known[0].update({f"c{n}": with_cores(cluster(f"c{n}")) for n in range(3)}, c3=dead("c3"))
    now = seen(known, 0)
    told = FleetRenderer(WHOLE_SIGHT).render(now)
    rows = [cluster_row(each, tuple(now.bindings)) for each in now.clusters]
    tiles = [msgspec.json.decode(tile) for tile in told["clusters"].values()]
    summary, ready = msgspec.json.decode(told[FLEET][FLEET]), [row for row in rows if row.ready == "True"]
    rooms = [next(each for each in tile["room"] if each["resource"] == "cpu") for tile in tiles if tile["room"]]
    assert (len(tiles), len(ready)) == (len(rows), 3)
    assert sum(each["allocatable"] for each in rooms) == sum(row.cores or 0 for row in rows) == 24
    assert sum(each["requested"] for each in rooms) == sum(row.cores_allocated or 0 for row in ready) == 3
    assert summary["replicas"] == sum(row.replicas for row in rows) == 80
    assert summary["applications"] == len(now.bindings) == 40


def serving(told: Collections) -> tuple[str, int]:
    """Verdict on the application 3, and the number of those that serve nobody."""
    row = next(msgspec.json.decode(row) for key, row in told["applications"].items() if key.endswith("/app3"))
    return row["serving"], msgspec.json.decode(told[FLEET][FLEET])["nobody"]


def test_findings_are_sought_where_something_is_wrong() -> None:
    known, renderer = a_fleet(400, 20), FleetRenderer(WHOLE_SIGHT)
    known[1]["app7-deployment"] = application("app7", {"c7": 1}, True, Condition("Scheduled", "False", "NoRoom", "no"))
    known[0]["c3"] = dead("c3")
    renderer.render(seen(known, 0))
    in_c3 = 40
    assert renderer.last.judged == 1 + in_c3
    del known[0]["c3"]
    told = renderer.render(seen(known, 1))
    assert renderer.last.judged == 1 + in_c3
    assert b"1 cluster that 40 bindings name cannot be found: c3" in told[FLEET][FLEET]


def test_the_first_view_of_a_large_fleet_is_few_bytes_made_once() -> None:
    known, feed = a_fleet(2_000, 50), Feed("life")
    feed.publish(at(0), FleetRenderer(WHOLE_SIGHT).render(seen(known, 0)))
    _, frames = feed.open()
    assert sum(len(frame.packed) for frame in frames) < 40 * 2_000
    head = frames[0].plain[:100_000]
    assert b'"headline"' in head
    assert all(f'"c{number}":'.encode() in head for number in range(50))
    assert all(one is other for one, other in zip(frames, feed.open()[1], strict=True))
