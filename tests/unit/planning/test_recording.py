"""Snapshots as JSON: what was decided on one is decided again on what is read back."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubeapi.codec import DecodeError
from kubeapi.meta import ObjectMeta
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.work import (
    BindingResource,
    ClusterResourceBinding,
    Component,
    GracefulEvictionTask,
    ReplicaRequirements,
    ResourceBinding,
    ResourceBindingSpec,
    TargetCluster,
    WorkloadAffinityGroups,
)
from leeward.core.cluster_health.watched_time import Attention, Gap, WatchedTime
from leeward.core.placement import Decision, EvictionBudget, PlacementSettings, Snapshot, decide
from leeward.core.placement.check import check
from leeward.core.placement.snapshot import UNLIMITED
from leeward.core.quota.quota_room import ReportedQuota
from leeward.core.quota.usage import amounts_of
from leeward.core.scheduling import Placed, Unplaceable
from leeward.core.scheduling.estimates import Question
from leeward.planning import Fleet
from leeward.planning.estimates import Estimates
from leeward.planning.fleet import placement_fleet
from leeward.planning.recording import RecordedOutcome, decode_recorded, encode_snapshot
from leeward.planning.workload_groups import WorkloadGroups
from tests.builders import NOW, at, binding, cluster, divided, works
from tests.outages import Outage, clusters, outages, well
from tests.placements import binding_spec, specs
from tests.placements import cluster as with_room

_RESOURCE = BindingResource(api_version="v1", kind="Namespace", name="a")
ASKED = ReplicaRequirements(resource_request={"cpu": "1"})
GROUPS = (
    None,
    WorkloadAffinityGroups(affinity_group="near"),
    WorkloadAffinityGroups(anti_affinity_group="apart"),
)
BY_ROOM = {
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }
}
AWAY = Attention(WatchedTime((Gap(at(20), at(50)),)), "me", True, at(60))
FLOORS = {"moves": 30, "is held": 5, "finds no place": 5}
"""Numbers that the drawn worlds have to reach, so that the property says something."""
CROWDED = 20
"""Worlds in which what others hold changes the decision, by the way they are drawn."""


@st.composite
def crowded_fleets(draw: st.DrawFn, spec: ResourceBindingSpec, known: Sequence[Cluster]) -> Fleet:
    """Fleets with what is reserved for others, what estimators answered, and where the others of a group are."""
    estimates, groups = Estimates(), WorkloadGroups()
    there = st.sampled_from([each.name for each in known])
    answers: st.SearchStrategy[dict[str, int]] = st.dictionaries(there, st.integers(0, 9), max_size=3)
    estimates.put(Question(spec.replica_requirements), draw(answers))
    if draw(st.booleans()):
        beside = msgspec.structs.replace(spec, clusters=(TargetCluster(draw(there), 1),))
        groups.put(ResourceBinding(metadata=ObjectMeta(name="beside", namespace="default"), spec=beside))
    fleet = placement_fleet(known, estimates=estimates, groups=groups)
    for number, name in enumerate(draw(st.lists(there, max_size=4))):
        other = msgspec.structs.replace(spec, clusters=())
        fleet.reserve(f"other-{number}", other, (TargetCluster(name, draw(st.integers(1, 12))),))
    return fleet


@st.composite
def scheduled(draw: st.DrawFn) -> Snapshot:
    """A binding that is placed, scaled or moved for a user, beside others."""
    spec: ResourceBindingSpec = draw(specs)
    known = [well(each) for each in draw(clusters)]
    group = draw(st.sampled_from(GROUPS))
    spec = msgspec.structs.replace(spec, replica_requirements=ASKED, workload_affinity_groups=group)
    binding = ResourceBinding(metadata=ObjectMeta(name="a-deployment", namespace="default", generation=1), spec=spec)
    return Snapshot(binding, draw(crowded_fleets(spec, known)), now=NOW)


@st.composite
def in_an_outage(draw: st.DrawFn) -> Snapshot:
    outage: Outage = draw(outages())
    fleet = draw(crowded_fleets(outage.binding.spec, list(outage.fleet.values())))
    later = st.sampled_from([at(10), at(299.5), at(300), at(400), at(10_000)])
    return Snapshot(
        outage.binding,
        draw(st.sampled_from([fleet, Fleet(outage.fleet.values())])),
        works(outage.before),
        brake=draw(st.sampled_from([False, False, False, True])),
        budget=draw(st.sampled_from([UNLIMITED, UNLIMITED, EvictionBudget(at(9_000)), EvictionBudget(at(20_000))])),
        attention=draw(
            st.sampled_from([Attention(), Attention(WatchedTime((Gap(at(20), at(50)),)), "me", True, at(60))])
        ),
        settings=draw(st.sampled_from([PlacementSettings(), PlacementSettings(keep_without_place=False)])),
        now=draw(later),
    )


@st.composite
def crowded_out(draw: st.DrawFn) -> Snapshot:
    """A binding that would be on both clusters, if all room of one were not reserved for others."""
    room = {"member1": draw(st.integers(10, 20)), "member2": draw(st.integers(10, 20))}
    spec = binding_spec(BY_ROOM, 4)
    taken = draw(st.sampled_from(list(room)))
    fleet = placement_fleet([with_room(name, pods=pods) for name, pods in room.items()])
    fleet.reserve("other", spec, (TargetCluster(taken, room[taken]),))
    binding = ResourceBinding(metadata=ObjectMeta(name="a-deployment", namespace="default", generation=1), spec=spec)
    return Snapshot(binding, fleet, now=NOW)


def decided_again(snapshot: Snapshot) -> Decision:
    """The decision, which is the same on what was written and read."""
    read = decode_recorded(encode_snapshot(snapshot))[0]
    decision = decide(snapshot)
    assert decide(read) == decision
    assert encode_snapshot(replace(read, clusters=Fleet(read.clusters.values()))) == encode_snapshot(
        replace(snapshot, clusters=Fleet(snapshot.clusters.values()))
    )
    return decision


def test_a_snapshot_that_was_written_and_read_gives_the_same_decision() -> None:
    reached: Counter[str] = Counter()

    @given(scheduled() | in_an_outage())
    @settings(max_examples=150)
    def replay(snapshot: Snapshot) -> None:
        decision = decided_again(snapshot)
        reached["moves"] += isinstance(decision.result, Placed)
        reached["is held"] += decision.held is not None
        reached["finds no place"] += decision.result is not None and not isinstance(decision.result, Placed)

    replay()
    assert {name: reached[name] for name in FLOORS if reached[name] < FLOORS[name]} == {}


@given(crowded_out())
@settings(max_examples=CROWDED)
def test_what_others_hold_is_written_and_read_too(snapshot: Snapshot) -> None:
    assert decided_again(snapshot) != decide(replace(snapshot, clusters=Fleet(snapshot.clusters.values())))


@given(scheduled() | in_an_outage())
@settings(max_examples=100)
def test_what_is_decided_is_not_refused(snapshot: Snapshot) -> None:
    assert check(snapshot, decide(snapshot)) == ()


def test_a_cluster_resource_binding_stays_one() -> None:
    binding = ClusterResourceBinding(metadata=ObjectMeta(name="a"), spec=ResourceBindingSpec(resource=_RESOURCE))
    read = decode_recorded(encode_snapshot(Snapshot(binding, Fleet(), now=NOW)))[0]
    assert isinstance(read.binding, ClusterResourceBinding)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{}", "missing required field `apiVersion`"),
        (b"no JSON", "JSON is malformed"),
        (b'{"apiVersion":"v1","kind":"Pod","now":"2026-01-01T00:00:00Z","binding":{},"clusters":[]}', "it is a v1 Pod"),
    ],
)
def test_what_is_no_snapshot_is_refused_with_the_reason(data: bytes, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        decode_recorded(data)


def test_all_that_a_snapshot_says_is_read_again() -> None:
    """Snapshot with one of each thing, none of which is what it is by default."""
    near = WorkloadAffinityGroups(affinity_group="near")
    spec = msgspec.structs.replace(
        outage_spec(), replica_requirements=ASKED, components=(Component("main", 2),), workload_affinity_groups=near
    )
    metadata = ObjectMeta(name="a-deployment", namespace="default", generation=1)
    bound = ResourceBinding(kind="ResourceBinding", metadata=metadata, spec=spec)
    estimates, groups = Estimates(), WorkloadGroups()
    estimates.put(Question(ASKED), {"b": 3})
    estimates.put(Question(None, spec.components), {"a": 4})
    beside = msgspec.structs.replace(spec, clusters=(TargetCluster("b", 1),))
    groups.put(ResourceBinding(metadata=ObjectMeta(name="beside", namespace="default"), spec=beside))
    known = (with_room("a"), with_room("b"))
    quotas = {"b": (ReportedQuota({"scopes": []}, amounts_of({"cpu": "9"}), amounts_of({"cpu": "1500m"}), "team"),)}
    fleet = placement_fleet(
        known, estimates=estimates, groups=groups, multiple_pod_templates=True, read_quotas=lambda _: quotas
    )
    fleet.reserve("other", msgspec.structs.replace(spec, clusters=()), (TargetCluster("b", 5),))
    snapshot = Snapshot(
        bound,
        fleet,
        works({"a": 1}),
        brake=True,
        budget=EvictionBudget(at(9), {"a": 2}),
        attention=AWAY,
        settings=PlacementSettings(keep_without_place=False, graceful_seconds=7.0),
        quota_refusal="the quota is full",
        now=at(5),
    )
    outcome = RecordedOutcome("1.2", {"a": 2}, ("b",), "NoPlace", "no room")
    read, decided = decode_recorded(encode_snapshot(snapshot, outcome))
    assert decided == outcome
    assert read.quota_refusal == "the quota is full"
    assert replace(read, clusters={}) == replace(snapshot, clusters={})
    assert dict(read.clusters) == {each.name: each for each in known}
    found = read.clusters
    assert isinstance(found, Fleet)
    assert found.reservations.all() == fleet.reservations.all() != {}
    namespace = spec.resource.namespace
    assert found.reservations.quotas(namespace) == fleet.reservations.quotas(namespace) != quotas
    assert found.estimates.about(spec) == estimates.about(spec)
    assert len(estimates.about(spec)) == 2
    assert found.groups is not None
    assert found.groups.members_beside(bound) == groups.members_beside(bound) != ()
    assert found.profile.multiple_pod_templates is True
    assert encode_snapshot(read) == encode_snapshot(snapshot)


def test_of_what_was_decided_targets_tasks_and_reasons_are_kept() -> None:
    tasks = tuple(GracefulEvictionTask(name, "TaintUntolerated", "TaintManager") for name in ("c", "b"))
    clusters = (TargetCluster("a", 2), TargetCluster("d", 1))
    held = Condition("leeward.dev/EvictionHeld", "True", "NothingToGain")
    nowhere = Unplaceable("UnschedulableError", "no room", {})
    decided = Decision(clusters, tasks, nowhere, held=held)
    assert RecordedOutcome.of(decided, "1.2") == RecordedOutcome(
        "1.2", {"a": 2, "d": 1}, ("b", "c"), "NothingToGain", "no room"
    )
    assert RecordedOutcome.of(Decision((), (), Placed(())), "1.2") == RecordedOutcome("1.2", {}, (), "", "")


def outage_spec() -> ResourceBindingSpec:
    """Two replicas in a."""
    return binding(divided({"a": 1, "b": 1}), 2, (TargetCluster("a", 2),)).spec


def test_what_is_not_there_is_not_written_and_not_read() -> None:
    bound = binding(divided({"a": 1}), 2, (TargetCluster("a", 2),))
    fleet = placement_fleet((cluster("a"),))
    data = encode_snapshot(Snapshot(bound, fleet, now=at(5)))
    assert data.startswith(b'{\n "apiVersion": "leeward.dev/v1alpha1",\n "kind": "PlacementSnapshot",')
    assert b'"kind": "ResourceBinding"' in data
    read = decode_recorded(data)[0]
    assert isinstance(read.binding, ResourceBinding)
    assert replace(read, clusters={}) == Snapshot(
        msgspec.structs.replace(bound, kind="ResourceBinding"), placement_fleet(), now=at(5)
    )
    assert isinstance(read.clusters, Fleet)
    assert (read.clusters.groups, read.clusters.profile.multiple_pod_templates) == (None, False)
    wide = ClusterResourceBinding(metadata=ObjectMeta(name="a"), spec=ResourceBindingSpec(resource=_RESOURCE))
    assert b'"kind": "ClusterResourceBinding"' in encode_snapshot(Snapshot(wide, placement_fleet(), now=NOW))


@pytest.mark.parametrize(
    ("document", "named"),
    [
        (b'{"apiVersion":"leeward.dev/v1alpha1","kind":"Pod"', "leeward.dev/v1alpha1 Pod"),
        (b'{"apiVersion":"v1","kind":"PlacementSnapshot"', "v1 PlacementSnapshot"),
    ],
)
def test_another_kind_or_version_is_named(document: bytes, named: str) -> None:
    data = document + b',"now":"2026-01-01T00:00:00Z","binding":{},"clusters":[]}'
    with pytest.raises(DecodeError, match=f"^it is a {named}, not a leeward.dev/v1alpha1 PlacementSnapshot$"):
        decode_recorded(data)
