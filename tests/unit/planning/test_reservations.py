"""Room that clusters have left beside what is reserved, node by node where they say what nodes they have."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from kubeapi.codec import from_wire
from leeward.api.cluster import Cluster
from leeward.api.work import Component, ResourceBindingSpec, TargetCluster, TargetComponent
from leeward.core.quota.quota_room import ReportedQuota
from leeward.core.quota.usage import amounts_of
from leeward.core.scheduling.model import MAX_REPLICAS, Request
from leeward.planning.capacity import Capacity, Demand
from leeward.planning.nodes import MAX_ASKS, Nodes
from leeward.planning.reservations import Reservations, Reserved
from tests.builders import targets
from tests.placements import binding_spec

ONE_CPU = Demand.of({"cpu": "1"})
MODELS = [
    {"grade": 0, "ranges": [{"name": "cpu", "min": "1", "max": "4"}, {"name": "memory", "min": "2", "max": "8"}]},
    {"grade": 1, "ranges": [{"name": "cpu", "min": "4", "max": "9"}, {"name": "memory", "min": "8", "max": "9"}]},
]


def member(name: str = "m1", nodes: Mapping[int, int] | None = None, **allocatable: Any) -> Cluster:
    """A cluster with so much to give; with so many nodes of each grade, where these are told."""
    summary: dict[str, Any] = {"allocatable": {"pods": 100, **allocatable}}
    spec: dict[str, Any] = {"syncMode": "Push"}
    if nodes is not None:
        summary["allocatableModelings"] = [{"grade": grade, "count": count} for grade, count in nodes.items()]
        spec["resourceModels"] = MODELS
    wire = {"metadata": {"name": name}, "spec": spec, "status": {"resourceSummary": summary}}
    return from_wire(wire, Cluster)


def replicas_of(cpu: str, held: Mapping[str, int] | None = None) -> ResourceBindingSpec:
    return binding_spec({}, 3, held, replicaRequirements={"resourceRequest": {"cpu": cpu}})


def component(name: str, replicas: int, **request: str) -> dict[str, Any]:
    asks = {"replicaRequirements": {"resourceRequest": request}} if request else {}
    return {"name": name, "replicas": replicas, **asks}


def a_set(*components: dict[str, Any], held: Mapping[str, int] | None = None) -> ResourceBindingSpec:
    alone = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}
    return binding_spec(alone, 0, held, components=list(components))


def parts_of(*components: dict[str, Any]) -> tuple[Component, ...]:
    return a_set(*components).components


def reservations_of(*clusters: Cluster) -> Reservations:
    reservations = Reservations()
    for each in clusters:
        reservations.report(each)
    return reservations


def rooms(reservations: Reservations, *names: str) -> list[int]:
    return [reservations.available(name, ONE_CPU) for name in names]


def test_a_promise_takes_room_until_it_is_withdrawn() -> None:
    reservations = reservations_of(member("m1", cpu="10"), member("m2", cpu="10"))
    assert reservations.reserve("ns/a", replicas_of("2"), targets(m1=3, m2=1, gone=4)) == ["m1", "m2"]
    assert reservations.reserve("ns/b", replicas_of("1"), targets(m1=1)) == ["m1"]
    assert rooms(reservations, "m1", "m2", "gone") == [3, 8, 0]
    assert reservations.release("ns/a") == ["m1", "m2"]
    assert rooms(reservations, "m1", "m2") == [9, 10]
    assert reservations.release("ns/a") == []
    assert reservations.release("ns/never") == []
    assert reservations.release("ns/b") == ["m1"]
    assert rooms(reservations, "m1") == [10]


def test_a_promise_stays_where_the_binding_went_just_there() -> None:
    reservations = reservations_of(member("m1", cpu="10"))
    reservations.reserve("ns/a", replicas_of("2"), targets(m1=3))
    assert reservations.release("ns/a", targets(m1=3)) == []
    assert rooms(reservations, "m1") == [4]
    assert reservations.release("ns/a", targets(m1=2)) == ["m1"]
    assert rooms(reservations, "m1") == [10]


def test_a_second_promise_to_the_same_binding_comes_on_top() -> None:
    reservations = reservations_of(member("m1", cpu="10"))
    reservations.reserve("ns/a", replicas_of("2"), targets(m1=3))
    reservations.reserve("ns/a", replicas_of("1"), targets(m1=1))
    assert rooms(reservations, "m1") == [3]
    assert reservations.displaced("m1", Request(replicas_of("1"))) == 7
    assert reservations.release("ns/a") == ["m1"]
    assert rooms(reservations, "m1") == [10]


@pytest.mark.parametrize(
    ("held", "gets", "changed", "left"),
    [({"m1": 2}, 3, ["m1"], 9), ({"m1": 3}, 3, [], 10), ({"m1": 4}, 3, [], 10), ({"m2": 4}, 3, ["m1"], 7)],
)
def test_only_what_a_binding_gets_beyond_what_it_has_is_reserved(
    held: Mapping[str, int], gets: int, changed: list[str], left: int
) -> None:
    reservations = reservations_of(member("m1", cpu="10"))
    assert reservations.reserve("ns/a", replicas_of("1", held), targets(m1=gets)) == changed
    assert rooms(reservations, "m1") == [left]


@pytest.mark.parametrize(("held", "changed", "left"), [({}, ["m1"], 3), ({"m1": 1}, [], 10), ({"m2": 1}, ["m1"], 3)])
def test_a_set_is_reserved_with_what_each_component_asks_for(
    held: Mapping[str, int], changed: list[str], left: int
) -> None:
    """Two of one CPU, one of five; what is asked for by none takes a pod alone."""
    spec = a_set(component("a", 2, cpu="1"), component("b", 1, cpu="5"), component("c", 4), held=held)
    goes = (TargetCluster("m1", components=tuple(TargetComponent(c.name, c.replicas) for c in spec.components)),)
    reservations = reservations_of(member("m1", cpu="10"))
    assert reservations.reserve("ns/a", spec, goes) == changed
    assert rooms(reservations, "m1") == [left]
    assert reservations.available("m1", None) == (93 if changed else 100)


def test_a_report_fulfils_what_was_reserved_and_the_same_report_does_not() -> None:
    reservations = reservations_of(member("m1", cpu="10"))
    reservations.reserve("ns/a", replicas_of("1"), targets(m1=3))
    assert not reservations.report(member("m1", cpu="10"))
    assert rooms(reservations, "m1") == [7]
    assert reservations.report(member("m1", cpu="8"))
    assert rooms(reservations, "m1") == [8]
    assert reservations.report(member("m1", {0: 1}, cpu="8"))
    assert reservations.release("ns/a") == []
    reservations.forget("m1")
    reservations.forget("m1")
    assert rooms(reservations, "m1") == [0]
    assert reservations.report(member("m1", {0: 1}, cpu="8"))


def test_new_models_alone_are_a_new_report() -> None:
    with_nodes = member("m1", {0: 2}, cpu="8")
    wire = {"metadata": {"name": "m1"}, "spec": {"syncMode": "Push"}, "status": {}}
    without_models = from_wire(wire, Cluster)
    reservations = reservations_of(with_nodes)
    without_models = type(without_models)(
        metadata=without_models.metadata, spec=without_models.spec, status=with_nodes.status
    )
    assert reservations.report(without_models)
    assert rooms(reservations, "m1") == [8]


def test_what_is_reserved_is_told_and_can_be_reserved_again() -> None:
    reservations = reservations_of(member("m1", cpu="10"), member("m2", cpu="10"), member("m3", cpu="nonsense"))
    reservations.reserve("ns/a", replicas_of("2"), targets(m1=3, m3=1))
    reservations.reserve("ns/b", replicas_of("1"), targets(m1=1))
    told = reservations.all()
    assert told == {"m1": (Reserved(3, {"cpu": "2"}, "ns/a"), Reserved(1, {"cpu": "1"}, "ns/b"))}
    restored = reservations_of(member("m1", cpu="10"), member("m3", cpu="nonsense"))
    for name in ("m1", "m3", "gone"):
        restored.restore(name, told["m1"])
    assert rooms(restored, "m1", "m3", "gone") == [3, 0, 0]
    assert restored.all() == told
    restored.release("ns/a")
    assert rooms(restored, "m1") == [3]


def quota(used: str) -> ReportedQuota:
    return ReportedQuota({}, amounts_of({"cpu": "9"}), amounts_of({"cpu": used}), "team")


def of_namespace(name: str, cpu: str = "1") -> ResourceBindingSpec:
    spec = replicas_of(cpu)
    return msgspec.structs.replace(spec, resource=msgspec.structs.replace(spec.resource, namespace=name))


def test_a_reservation_counts_for_the_quota_of_its_own_namespace_until_its_cluster_reports() -> None:
    found = {"shop": {"m1": (quota("1"),)}, "ops": {"m1": (quota("1"),)}}
    reservations = Reservations(lambda namespace: found.get(namespace, {}))
    reservations.report(member("m1", cpu="100"))

    def room(namespace: str, cluster: str = "m1") -> int | None:
        rooms = reservations.room_in_quotas(Request(of_namespace(namespace)))
        return None if rooms is None else rooms(member(cluster))

    reservations.reserve("shop/a", of_namespace("shop", "2"), targets(m1=2))
    assert [room("shop"), room("ops"), room("free"), room("shop", "m2")] == [4, 8, None, MAX_REPLICAS]
    found["shop"] = {"m1": (quota("3"),)}
    assert room("shop") == 4, "half of what was reserved is reported"
    reservations.reserve("shop/b", of_namespace("shop"), targets(m1=1))
    assert room("shop") == 3
    assert reservations.quotas("shop") == {"m1": (quota("6"),)}
    reservations.release("shop/a")
    reservations.release("shop/b")
    assert room("shop") == 6
    reservations.reserve("shop/a", of_namespace("shop"), targets(m1=1))
    assert room("shop") == 5, "counted from the last report"
    reservations.report(member("m1", cpu="99"))
    assert room("shop") == 6


def test_what_cannot_be_read_has_no_room_is_reserved_nothing_and_takes_nothing_s10() -> None:
    cpu = "nonsense"
    reservations = reservations_of(member("m1", cpu=cpu), member("m2", cpu="10"))
    assert reservations.reserve("ns/a", replicas_of("1"), targets(m1=3)) == []
    assert rooms(reservations, "m1") == [0]
    assert reservations.sets("m1", parts_of(component("a", 1))) == 0
    reservations.reserve("ns/b", replicas_of(cpu), targets(m2=3))
    assert rooms(reservations, "m2") == [10]
    assert reservations.sets("m2", parts_of(component("a", 1, cpu=cpu))) == 0
    assert reservations.displaced("m2", Request(replicas_of("1"))) == 3


def test_sets_fit_as_often_as_the_scarcest_part_does_beside_what_is_reserved() -> None:
    reservations = reservations_of(member("m1", cpu="10"))
    asked = parts_of(component("a", 2, cpu="1"), component("b", 1, cpu="500m"))
    assert (reservations.sets("m1", asked), reservations.sets("gone", asked)) == (4, 0)
    reservations.reserve("ns/a", replicas_of("2"), targets(m1=3))
    assert reservations.sets("m1", asked) == 1


@pytest.mark.parametrize(
    ("asked", "reserved", "expected"),
    [
        (replicas_of("1"), replicas_of("3"), 9),
        (replicas_of("2"), replicas_of("3"), 6),
        (replicas_of("4"), replicas_of("3"), 3),
        (replicas_of("0"), replicas_of("3"), 3),
        (binding_spec({}, 3), replicas_of("3"), 3),
        (replicas_of("1"), binding_spec({}, 3), 3),
        (a_set(component("a", 1, cpu="2"), component("b", 1, cpu="1")), replicas_of("3"), 9),
        (a_set(component("a", 1, cpu="1"), component("b", 1, memory="1")), replicas_of("3"), 9),
        (
            a_set(component("a", 1, cpu="1"), component("b", 1, memory="1")),
            binding_spec({}, 3, replicaRequirements={"resourceRequest": {"cpu": "3", "memory": "2"}}),
            15,
        ),
        (
            binding_spec({}, 3, replicaRequirements={"resourceRequest": {"cpu": "1", "memory": "1"}}),
            binding_spec({}, 3, replicaRequirements={"resourceRequest": {"cpu": "3", "memory": "2"}}),
            9,
        ),
        (a_set(component("a", 1, cpu="0"), component("b", 1, cpu="1")), replicas_of("3"), 9),
        (replicas_of("1n"), replicas_of("3n"), 9),
    ],
)
def test_a_reserved_replica_takes_the_place_of_as_many_as_would_fill_it(
    asked: ResourceBindingSpec, reserved: ResourceBindingSpec, expected: int
) -> None:
    """Three replicas are reserved; several components need room for all that each of them asks for."""
    reservations = reservations_of(member("m1", cpu="100"), member("m2", cpu="100"))
    reservations.reserve("ns/a", reserved, targets(m1=3))
    request = Request(asked, multiple_pod_templates=True)
    assert [reservations.displaced(name, request) for name in ("m1", "m2", "gone")] == [expected, 0, 0]


@pytest.mark.parametrize(
    ("cluster", "request_", "expected"),
    [
        (member(pods=1, cpu="10"), {"cpu": "20"}, 0),
        (member(pods=1, cpu="10"), None, 1),
        (member(pods=0, cpu="10"), {"cpu": "1"}, 0),
        (member(cpu="0"), {"cpu": "1"}, 0),
        (member(cpu="1n"), {"cpu": "1n"}, 1),
        (member(cpu="10"), {"memory": "1"}, 0),
        (member(nodes={0: 2, 1: 1}), {"cpu": "1"}, 6),
        (member(nodes={0: 2, 1: 1}), {"cpu": "2"}, 2),
        (member(nodes={0: 2, 1: 1}), {"cpu": "1", "memory": "3"}, 2),
        (member(nodes={0: 2, 1: 1}), {"example.com/gpu": "1"}, 0),
        (member(nodes={0: 2, 1: 1}), {"hugepages-2Mi": "1"}, 0),
        (member(nodes={0: 2, 1: 1}), {"attachable-volumes-aws": "1"}, 0),
        (member(nodes={0: 2, 1: 1}), {"cpu": "1", "bananas": "1"}, 6),
        (member(nodes={0: -2}, cpu="10"), {"cpu": "1"}, 10),
    ],
)
def test_a_cluster_has_room_for_what_its_pool_or_its_nodes_hold(
    cluster: Cluster, request_: Mapping[str, str] | None, expected: int
) -> None:
    capacity = Capacity.of(cluster)
    assert capacity is not None
    assert capacity.replicas(None if request_ is None else Demand.of(request_)) == expected


@pytest.mark.parametrize(
    ("cluster", "components", "expected"),
    [
        (member(pods=1, cpu="10"), (component("a", 2, cpu="1"),), 0),
        (member(pods=1, cpu="10"), (component("a", 1, cpu="1"),), 1),
        (member(pods=1, cpu="0"), (component("a", 1, cpu="1"),), 0),
        (member(pods=7), (component("a", 0),), 7),
        (member(pods=7), (component("a", 3),), 2),
        (member(cpu="10"), (component("a", 1, memory="1"),), 0),
        (member(cpu="10"), (component("a", 1, cpu="0"),), 100),
        (member(bananas="1m"), (component("a", 1, bananas="1m"),), 1),
        (member(memory="1Ki"), (component("a", 1, memory="512"),), 0),
        (member(memory="1Ki"), (component("a", 1, memory="256Mi"),), 0),
        (member(memory="1Gi"), (component("a", 1, memory="256Mi"),), 4),
        (member(nodes={1: 1}, cpu="100"), (component("a", 1, cpu="1"), component("b", 1, cpu="2")), 1),
        (member(nodes={1: 2}, cpu="100"), (component("a", 1, cpu="3"), component("b", 2, cpu="1")), 1),
        (member(nodes={1: 2}, cpu="0"), (component("a", 1, cpu="3"),), 0),
    ],
)
def test_whole_sets_find_room(cluster: Cluster, components: Any, expected: int) -> None:
    capacity = Capacity.of(cluster)
    assert capacity is not None
    assert capacity.sets(parts_of(*components)) == expected


def nodes_of(**counts: int) -> Nodes:
    capacity = Capacity.of(member(nodes={int(grade[1:]): count for grade, count in counts.items()}, cpu="1000"))
    assert capacity is not None
    assert capacity.nodes is not None
    return capacity.nodes


SMALL, MIDDLE, LARGE = ((("cpu", 1_000),), (("cpu", 2_000),), (("cpu", 3_000),))


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ([], [11, 4, 2]),
        ([(SMALL, 2)], [9, 4, 2]),
        ([(SMALL, 3)], [8, 4, 2]),
        ([(SMALL, 4)], [7, 3, 2]),
        ([(SMALL, 11)], [0, 0, 0]),
        ([(SMALL, 99)], [0, 0, 0]),
        ([(LARGE, 1)], [8, 2, 1]),
        ([(LARGE, 3)], [5, 0, 0]),
        ([(LARGE, 2), (SMALL, 3)], [2, 0, 0]),
        ([(LARGE, 1), (SMALL, 4)], [4, 2, 1]),
        ([(MIDDLE, 1), (MIDDLE, 1), (SMALL, 3)], [4, 2, 1]),
        ([(MIDDLE, 1), (LARGE, 1), (SMALL, 5)], [1, 0, 0]),
        ([(MIDDLE, 3), (SMALL, 3), (MIDDLE, 1)], [0, 0, 0]),
        ([(SMALL, 1), (SMALL, 1), (SMALL, 1), (LARGE, 1), (MIDDLE, 1)], [3, 1, 0]),
    ],
)
def test_replicas_go_to_the_first_node_with_room(taken: Any, expected: list[int]) -> None:
    """Three nodes with one CPU, and two with four. Whether it was asked before changes no answer."""
    fresh, asked = nodes_of(g0=3, g1=2), nodes_of(g0=3, g1=2)
    for sizes, replicas in taken:
        for each in (SMALL, MIDDLE, LARGE):
            asked.fit(each)
        fresh.take(sizes, replicas)
        asked.take(sizes, replicas)
    assert [fresh.fit(each) for each in (SMALL, MIDDLE, LARGE)] == expected
    assert [asked.fit(each) for each in (SMALL, MIDDLE, LARGE)] == expected


def test_answers_are_right_whatever_was_asked_for_in_between() -> None:
    nodes = nodes_of(g0=3, g1=2)
    for milli in range(1, MAX_ASKS + 9):
        nodes.fit((("cpu", milli),))
        nodes.take((("cpu", milli + 5_000),), 1)
    nodes.take(LARGE, 1)
    assert [nodes.fit(each) for each in (SMALL, MIDDLE, LARGE)] == [8, 2, 1]


def test_what_is_used_up_or_not_there_has_room_for_no_set_however_small() -> None:
    smallest = parts_of(component("a", 1, cpu="1m"))
    used_up = member(cpu="1")
    assert used_up.status.resource_summary is not None
    summary = msgspec.structs.replace(used_up.status.resource_summary, allocated={"cpu": "1"})
    used_up = msgspec.structs.replace(used_up, status=msgspec.structs.replace(used_up.status, resource_summary=summary))
    for each, expected in ((member(cpu="2m"), 2), (used_up, 0), (member(memory="1Gi"), 0)):
        capacity = Capacity.of(each)
        assert capacity is not None
        assert capacity.sets(smallest) == expected
