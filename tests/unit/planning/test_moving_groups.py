"""Groups that move together: who is a member, and what a group costs those that have none."""

import pytest

from kubeapi.meta import ObjectMeta
from leeward.api.moves_with import MOVES_WITH_ANNOTATION, name_fault
from leeward.api.policy import ClusterAffinityTerm, Placement, ReplicaSchedulingStrategy, SpreadConstraint
from leeward.api.work import (
    BindingResource,
    ResourceBinding,
    ResourceBindingSpec,
    TargetCluster,
    Work,
    WorkloadAffinityGroups,
)
from leeward.core.moving_together import MOST_MEMBERS, keeps_in_one_cluster
from leeward.core.placement import Snapshot
from leeward.planning.batch import owner_of
from leeward.planning.fleet import Fleet, placement_fleet
from leeward.planning.group_decisions import decide_for_group, decide_together
from leeward.planning.moving_groups import MovingGroups
from leeward.planning.recording import decode_recorded, encode_snapshot
from tests.builders import NOW
from tests.placements import cluster as with_room

ONE = SpreadConstraint(spread_by_field="cluster", min_groups=1, max_groups=1)
TWO = SpreadConstraint(spread_by_field="cluster", min_groups=1, max_groups=2)
STATIC = ReplicaSchedulingStrategy("Divided", "Weighted")


def term(name: str, *clusters: str) -> ClusterAffinityTerm:
    return ClusterAffinityTerm(affinity_name=name, cluster_names=clusters)


def bound(name: str, group: str | None = "shop", namespace: str = "default", **spec: object) -> ResourceBinding:
    annotations = {} if group is None else {MOVES_WITH_ANNOTATION: group}
    resource = BindingResource("apps/v1", "Deployment", name, namespace)
    wanted = {"resource": resource, "placement": Placement(spread_constraints=(ONE,)), **spec}
    metadata = ObjectMeta(name=name, namespace=namespace, annotations=annotations)
    return ResourceBinding(metadata=metadata, spec=ResourceBindingSpec(**wanted))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("placement", "is_one"),
    [
        (None, False),
        (Placement(), False),
        (Placement(spread_constraints=(ONE,)), True),
        (Placement(spread_constraints=(TWO,)), False),
        (Placement(spread_constraints=(ONE,), replica_scheduling=STATIC), False),
        (Placement(cluster_affinities=(term("a", "a"), term("b", "b"))), True),
        (Placement(cluster_affinities=(term("a", "a"), term("b", "b", "c"))), False),
    ],
)
def test_a_member_has_a_placement_of_one_cluster(placement: Placement | None, is_one: bool) -> None:
    assert keeps_in_one_cluster(placement) is is_one


def test_members_are_those_of_one_name_in_one_namespace() -> None:
    spread = bound("spread", placement=Placement(spread_constraints=(TWO,)))
    others = [
        bound("web"),
        bound("db"),
        bound("alone", None),
        bound("blog", "blog"),
        bound("far", namespace="far"),
        spread,
    ]
    groups = MovingGroups(others)
    assert groups.beside(bound("web")) == ["db"]
    assert [groups.beside(each) for each in others[2:]] == [[], [], [], []]
    assert (groups.group_of(others[0]), groups.size_of(others[0])) == ("shop", 2)
    groups.put(bound("db", "blog"))
    assert (groups.beside(others[0]), groups.beside(others[3])) == ([], ["db"])
    groups.remove(bound("db"))
    assert groups.beside(others[3]) == []


def test_a_group_that_is_too_large_has_no_effect() -> None:
    groups = MovingGroups(bound(f"app-{number}") for number in range(MOST_MEMBERS))
    assert len(groups.beside(bound("app-0"))) == MOST_MEMBERS - 1
    groups.put(bound("one-more"))
    assert groups.beside(bound("app-0")) == []
    assert groups.size_of(bound("app-0")) == MOST_MEMBERS + 1


def test_karmadas_affinity_groups_count_where_their_gate_is_on() -> None:
    near = WorkloadAffinityGroups(affinity_group="app=shop")
    bindings = [bound(name, None, workload_affinity_groups=near) for name in ("web", "db")]
    assert MovingGroups(bindings).beside(bindings[0]) == []
    assert MovingGroups(bindings, affinity=True).beside(bindings[0]) == ["db"]


@pytest.mark.parametrize(("name", "is_right"), [("shop", True), ("", False), ("x" * 63, True), ("x" * 64, False)])
def test_a_name_has_1_to_63_characters(name: str, is_right: bool) -> None:
    assert (name_fault({MOVES_WITH_ANNOTATION: name}) is None) is is_right


def moving(name: str, *, on: str, replicas: int = 3) -> ResourceBinding:
    """A member of the group that moves by room, and is in this cluster."""
    strategy = ReplicaSchedulingStrategy("Divided", "Aggregated")
    placement = Placement(spread_constraints=(ONE,), replica_scheduling=strategy)
    clusters = (TargetCluster(on, replicas),) if on else ()
    return bound(name, placement=placement, replicas=replicas, clusters=clusters)


def in_fleet(fleet: Fleet, *members: ResourceBinding) -> Fleet:
    """The fleet, which knows these members, and that all room that one of them needs is promised to others."""
    known = {each.name: each for each in members}
    for each in members:
        fleet.together.put(each)

    def look(_: str, name: str) -> tuple[ResourceBinding, dict[str, Work]]:
        return known[name], {}

    fleet.together.look = look
    return fleet


def test_a_decision_for_a_group_changes_nothing_and_is_decided_again_from_its_record() -> None:
    """The other member was promised room in b before: the group goes there with that room, or not at all."""
    web, db = moving("web", on=""), moving("db", on="")
    fleet = in_fleet(placement_fleet([with_room("a", pods=4), with_room("b", pods=7)]), web, db)
    fleet.reserve(owner_of(db), db.spec, (TargetCluster("b", 3),))
    fleet.reserve("else", moving("else", on="").spec, (TargetCluster("b", 1),))
    snapshot = Snapshot(web, fleet, now=NOW)
    before = fleet.reservations.all()
    own, along = decide_for_group(snapshot)
    assert own.clusters == (TargetCluster("b", 3),)
    assert [(each.name, decision.clusters) for each, decision in along] == [("db", (TargetCluster("b", 3),))]
    assert fleet.reservations.all() == before
    assert fleet.reservations.targets[owner_of(db)] == (TargetCluster("b", 3),)
    read = decode_recorded(encode_snapshot(snapshot))[0]
    assert decide_together(read) == own
    assert encode_snapshot(read) == encode_snapshot(snapshot)
