"""Concern: a change of a cluster that does not concern a binding which rests changes nothing that is decided for it.

Bindings of every kind are placed, live through what has become of some clusters, and are written until they rest. Then
each cluster becomes all that a cluster may be, and each change that is said not to concern the binding is decided, too.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kubeapi.codec import from_wire
from kubeapi.meta import Manifest, ObjectMeta
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import (
    CLUSTER_OUTAGE_CONDITION,
    EVICTION_HELD_CONDITION,
    FAILBACK_ANNOTATION,
    MEMORY_ANNOTATION,
)
from leeward.api.policy import ClusterAffinity, FailoverBehavior, Placement
from leeward.api.work import (
    AggregatedStatusItem,
    Binding,
    BindingSuspension,
    ResourceBinding,
    ResourceBindingStatus,
    Work,
    WorkloadAffinityGroups,
)
from leeward.core.cluster_health.watched_time import UNKEPT, Attention
from leeward.core.placement import Decision, PlacementSettings, Snapshot, decide
from leeward.core.placement.concern import (
    ClusterConcern,
    concern_of,
    is_at_rest,
    is_decided_alike,
    is_propagated,
    may_mean,
)
from leeward.planning.fleet import placement_fleet
from leeward.planning.workload_groups import WorkloadGroups
from tests.builders import DEFAULT_TOLERATIONS, at, work
from tests.cluster_states import BEGINNINGS, STATES
from tests.concerns import difference, why_concerned, written
from tests.outages import well
from tests.placements import binding_spec, cluster, placements, task

DIVIDED = {"replicaScheduling": {"replicaSchedulingType": "Divided"}}
CLUSTERS = ("m1", "m2", "m3", "m4", "m5")
LATER = at(10_000)
"""Every toleration has ended."""
REST = 8
"""Number of decisions in a row, at one instant, after which there is nothing left to decide."""


Change = Callable[[ResourceBinding], ResourceBinding]
BESIDE = ResourceBinding(
    metadata=ObjectMeta(name="beside-deployment", namespace="default"),
    spec=binding_spec(DIVIDED, assigned={"m2": 1}, workloadAffinityGroups={"affinityGroup": "near"}),
)
"""Binding whose place decides where others of its group go."""


def with_spec(**fields: Any) -> Change:
    return lambda found: replace(found, spec=replace(found.spec, **fields))


def of_kind(api_version: str, kind: str, replicas: int) -> Change:
    def change(found: ResourceBinding) -> ResourceBinding:
        resource = replace(found.spec.resource, api_version=api_version, kind=kind)
        return replace(found, spec=replace(found.spec, resource=resource, replicas=replicas))

    return change


def fails_back(found: ResourceBinding) -> ResourceBinding:
    return replace(found, metadata=replace(found.metadata, annotations={FAILBACK_ANNOTATION: "Automatic"}))


KINDS: dict[str, Change] = {
    "as it is": lambda found: found,
    "no workload": of_kind("v1", "ConfigMap", 0),
    "a Namespace": of_kind("v1", "Namespace", 0),
    "suspended": with_spec(suspension=BindingSuspension(scheduling=True)),
    "of another scheduler": with_spec(scheduler_name="another"),
    "fails over by itself": with_spec(
        failover=from_wire({"application": {"decisionConditions": {"tolerationSeconds": 60}}}, FailoverBehavior)
    ),
    "directly": with_spec(failover=from_wire({"cluster": {"purgeMode": "Directly"}}, FailoverBehavior)),
    "fails back": fails_back,
    "in a group": with_spec(workload_affinity_groups=WorkloadAffinityGroups("near")),
    "without replicas": with_spec(replicas=0),
}
"""Kinds of bindings, beside where they are placed."""
ALWAYS_CONCERNED = {"no workload", "a Namespace", "in a group"}
"""Kinds that each cluster concerns by what their placement may mean, in most of those that are drawn."""
terms = st.lists(
    st.sampled_from(
        [
            {"clusterNames": ["m1", "m2"]},
            {"clusterNames": ["m3"], "overflowAffinities": [{"affinityName": "far", "clusterNames": ["m4", "m5"]}]},
            {"labelSelector": {"matchLabels": {"tier": "gold"}}},
            {"fieldSelector": {"matchExpressions": [{"key": "region", "operator": "In", "values": ["r1", "r9"]}]}},
        ]
    ),
    min_size=1,
    max_size=3,
).map(lambda found: [{**term, "affinityName": f"t{number}"} for number, term in enumerate(found)])
SETTINGS = (
    PlacementSettings(),
    PlacementSettings(),
    PlacementSettings(graceful=False),
    PlacementSettings(keep_without_place=False, withdraw=False, exact_health=True),
    PlacementSettings(place=False),
    PlacementSettings(evict=False, watch=False, finish=False),
)


@dataclass(frozen=True)
class Ground:
    """Facts that a decision is made on beside the binding and the clusters."""

    works: Mapping[str, Work]
    brake: bool
    attention: Attention
    settings: PlacementSettings

    def decide(self, binding: Binding, clusters: Mapping[str, Cluster]) -> Decision:
        fleet = placement_fleet(clusters.values(), groups=WorkloadGroups([BESIDE, binding]))
        works, brake, attention = self.works, self.brake, self.attention
        return decide(Snapshot(binding, fleet, works, brake, attention=attention, settings=self.settings, now=LATER))

    def bring_to_rest(self, binding: Binding, clusters: Mapping[str, Cluster]) -> Binding | None:
        """The binding as it is when there is nothing left to write; None where it does not come to rest now."""
        for _ in range(REST):
            before, binding = binding, written(binding, self.decide(binding, clusters), LATER)
            if binding == before:
                return binding
        return None


FINE = Ground({}, brake=False, attention=UNKEPT, settings=PlacementSettings())


@st.composite
def grounds(draw: st.DrawFn) -> Ground:
    counts = {name: draw(st.sampled_from([None, 0, 30, "none"])) for name in CLUSTERS}
    return Ground(
        {name: work(name, count) for name, count in counts.items() if not isinstance(count, str)},
        draw(st.sampled_from([False, False, True])),
        draw(st.sampled_from([UNKEPT, Attention(heartbeat="us"), Attention(heartbeat="us", is_now=False)])),
        draw(st.sampled_from(SETTINGS)),
    )


@st.composite
def unplaced(draw: st.DrawFn) -> ResourceBinding:
    wire = draw(placements)
    if draw(st.booleans()):
        wire = {**wire, "clusterAffinity": None, "clusterAffinities": draw(terms)}
    spec = binding_spec(wire, draw(st.integers(1, 12)))
    assert spec.placement is not None
    placement = replace(spec.placement, cluster_tolerations=DEFAULT_TOLERATIONS)
    metadata = ObjectMeta(name="a-deployment", namespace="default", generation=1)
    return ResourceBinding(metadata=metadata, spec=replace(spec, placement=placement))


members = st.lists(
    st.builds(cluster, st.sampled_from(CLUSTERS), pods=st.integers(5, 40), region=st.sampled_from(["", "r1", "r2"])),
    min_size=2,
    unique_by=lambda each: each.name,
)


@dataclass
class Compared:
    """`reached`: how often a binding of this kind was (not) concerned by a cluster that became this. `missed`: the
    decisions that differ, though the binding was said not to be concerned. `needed`: how often the one ground on which
    it was concerned was one indeed, because the decision differs."""

    reached: Counter[tuple[str, str, bool]]
    needed: Counter[str]
    missed: list[str]


def compare(examples: int) -> Compared:
    """Compares, for bindings at rest, what each cluster may become, and what is decided then."""
    compared = Compared(Counter(), Counter(), [])

    @settings(max_examples=examples)
    @given(unplaced(), st.sampled_from(sorted(KINDS)), members, grounds(), st.data())
    def check(found: ResourceBinding, kind: str, fleet: list[Cluster], ground: Ground, data: st.DataObject) -> None:
        begun = FINE.bring_to_rest(KINDS[kind](found), {each.name: well(each) for each in fleet})
        become = {each.name: STATES[data.draw(st.sampled_from(BEGINNINGS))](each) for each in fleet}
        clusters = {name: each for name, each in become.items() if each is not None}
        rests = None if begun is None else ground.bring_to_rest(begun, clusters)
        if rests is None:
            return
        before = ground.decide(rests, clusters)
        for each, (state, change) in product(fleet, STATES.items()):
            new = change(each)
            states = [known for known in (clusters.get(each.name), new) if known is not None]
            grounds = why_concerned(rests, before, *states)
            compared.reached[kind, state, bool(grounds)] += 1
            if len(grounds) > 1:
                continue
            others = {name: other for name, other in clusters.items() if name != each.name}
            what = difference(before, ground.decide(rests, others if new is None else {**others, each.name: new}))
            if what and grounds:
                compared.needed[grounds[0]] += 1
            elif what:
                compared.missed.append(f"{kind}, {each.name} {state}: {what}")

    check()
    return compared


@pytest.mark.long
def test_what_does_not_concern_a_binding_that_rests_changes_nothing() -> None:
    compared = compare(300)
    assert compared.missed == []
    by_state, by_kind = Counter[tuple[str, bool]](), Counter[tuple[str, bool]]()
    for (kind, state, is_concerned), count in compared.reached.items():
        by_state[state, is_concerned] += count
        by_kind[kind, is_concerned] += count
    assert all(by_state[state, is_concerned] >= 100 for state in STATES for is_concerned in (False, True))
    assert all(by_kind[kind, True] >= 100 for kind in KINDS)
    assert all(by_kind[kind, False] >= 30 for kind in KINDS.keys() - ALWAYS_CONCERNED)
    assert all(compared.needed[ground] >= 10 for ground in ("is there", "may go there", "is under way"))


def binding(placement: dict[str, Any], annotations: Any = None, *conditions: str, **spec: Any) -> ResourceBinding:
    metadata = ObjectMeta(name="a", namespace="default", annotations=annotations or {})
    status = ResourceBindingStatus(
        conditions=tuple(Condition(each.partition("=")[0], each.partition("=")[2], "Test") for each in conditions)
    )
    return ResourceBinding(metadata=metadata, spec=binding_spec(placement, assigned={"m1": 3}, **spec), status=status)


def test_what_is_divided_and_rests_is_concerned_by_the_clusters_where_it_is_alone() -> None:
    assert concern_of(binding(DIVIDED)) == ClusterConcern(frozenset({"m1"}))


@pytest.mark.parametrize(
    "found",
    [
        binding(DIVIDED, gracefulEvictionTasks=[task("m2")]),
        binding(DIVIDED, {MEMORY_ANNOTATION: "{}"}),
        binding(DIVIDED, None, f"{CLUSTER_OUTAGE_CONDITION}=True"),
        binding(DIVIDED, None, f"{EVICTION_HELD_CONDITION}=True"),
        binding(DIVIDED, None, "Scheduled=False"),
    ],
    ids=["leaves", "awaits", "is lost in part", "is held", "has no place"],
)
def test_what_moves_or_waits_is_concerned_by_every_cluster(found: ResourceBinding) -> None:
    assert concern_of(found).anywhere


def rested(*conditions: str, observed: int = 2, **changes: object) -> ResourceBinding:
    """Binding of generation 2; its Works are told as of that, or, of `observed`, its place."""
    found = binding(DIVIDED, None, *conditions)
    told = tuple(replace(each, observed_generation=2) for each in found.status.conditions)
    metadata = replace(found.metadata, generation=2, **changes)
    return replace(
        found, metadata=metadata, status=replace(found.status, conditions=told, scheduler_observed_generation=observed)
    )


SPREAD = rested("FullyApplied=True")
NOWHERE = replace(SPREAD, spec=replace(SPREAD.spec, clusters=()))
FEWER = replace(SPREAD, spec=replace(SPREAD.spec, replicas=SPREAD.spec.replicas + 1))
"""A failback was taken back in it while a quota refused more: it said that all were placed (seed 670170)."""
BEFORE = replace(
    SPREAD,
    status=replace(
        SPREAD.status, conditions=tuple(replace(each, observed_generation=1) for each in SPREAD.status.conditions)
    ),
)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (SPREAD, (True, True)),
        (rested("FullyApplied=False"), (True, False)),
        (rested(), (True, False)),
        (BEFORE, (True, False)),
        (rested("FullyApplied=True", deletion_timestamp=at(0)), (True, False)),
        (rested("FullyApplied=True", observed=1), (False, False)),
        (NOWHERE, (False, False)),
        (FEWER, (False, False)),
        (rested("FullyApplied=True", f"{EVICTION_HELD_CONDITION}=True"), (False, False)),
    ],
    ids=[
        "all is told", "not all is applied", "nothing is told of its Works", "its Works are told as of before",
        "it is deleted", "it was placed before", "it has no place", "it asks for more replicas", "it is held",
    ],
)  # fmt: skip
def test_what_rests_is_placed_as_it_asks_and_what_is_spread_is_applied_besides(
    found: ResourceBinding, expected: tuple[bool, bool]
) -> None:
    assert (is_at_rest(found), is_propagated(found)) == expected


def test_what_waits_says_so() -> None:
    assert concern_of(binding(DIVIDED, None, "Scheduled=False")).waits
    assert not concern_of(binding(DIVIDED, None, "Scheduled=True")).waits


def test_what_is_in_all_clusters_that_match_is_concerned_by_those() -> None:
    found = concern_of(binding({"clusterAffinity": {"clusterNames": ["m1", "m2"]}}))
    assert found.affinities is not None
    assert found.affinities == (ClusterAffinity(cluster_names=("m1", "m2")),)
    assert may_mean(found.affinities, [cluster("m2")])
    assert not may_mean(found.affinities, [cluster("m3")])


def test_all_terms_and_what_overflows_them_are_meant_and_without_any_all_clusters() -> None:
    near = {
        "affinityName": "near",
        "clusterNames": ["m1"],
        "overflowAffinities": [{"affinityName": "far", "clusterNames": ["m3"]}],
    }
    terms = from_wire({"clusterAffinities": [near, {"affinityName": "last", "clusterNames": ["m4"]}]}, Placement)
    made = binding({})
    found = concern_of(replace(made, spec=replace(made.spec, placement=terms))).affinities
    assert found is not None
    assert [may_mean(found, [cluster(name)]) for name in ("m1", "m2", "m3", "m4")] == [True, False, True, True]
    everything = concern_of(made).affinities
    assert everything is not None
    assert may_mean(everything, [cluster("m9")])


FAILING_OVER: Manifest = {"failover": {"application": {"decisionConditions": {"tolerationSeconds": 60}}}}
REPORT = AggregatedStatusItem("m1", health="Unhealthy")


def reported(found: ResourceBinding, *conditions: str) -> ResourceBinding:
    """The binding in a later version, with another report of a copy, and these conditions beside its own."""
    more = tuple(Condition(each.partition("=")[0], each.partition("=")[2], "Test") for each in conditions)
    status = replace(found.status, aggregated_status=(REPORT,), conditions=(*found.status.conditions, *more))
    return replace(found, metadata=replace(found.metadata, resource_version="9"), status=status)


AT_REST = binding(DIVIDED, None, "Scheduled=True")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (AT_REST, AT_REST, True),
        (AT_REST, replace(AT_REST, metadata=replace(AT_REST.metadata, resource_version="9")), True),
        (AT_REST, reported(AT_REST), True),
        (reported(AT_REST), AT_REST, True),
        (AT_REST, reported(AT_REST, "FullyApplied=True"), True),
        (AT_REST, reported(AT_REST, f"{EVICTION_HELD_CONDITION}=True"), False),
        (AT_REST, reported(AT_REST, "Suspended=True"), False),
        (AT_REST, replace(AT_REST, status=replace(AT_REST.status, last_scheduled_time=at(1))), False),
        (AT_REST, replace(AT_REST, metadata=replace(AT_REST.metadata, labels={"a": "b"})), False),
        (AT_REST, replace(AT_REST, spec=replace(AT_REST.spec, replicas=9)), False),
        (moving := binding(DIVIDED, gracefulEvictionTasks=[task("m2")]), reported(moving), False),
        (moving, replace(moving, metadata=replace(moving.metadata, resource_version="9")), True),
        (watched := binding(DIVIDED, **FAILING_OVER), reported(watched), False),
    ],
    ids=[
        "the same",
        "another version",
        "another report",
        "a report that is no more",
        "it is applied everywhere",
        "it is held",
        "another condition",
        "it was scheduled",
        "a label",
        "its spec",
        "a report while it moves",
        "another version while it moves",
        "a report on which it may fail over",
    ],
)
def test_reports_change_nothing_that_is_decided_of_what_rests(
    before: ResourceBinding, after: ResourceBinding, *, expected: bool
) -> None:
    assert is_decided_alike(before, after) is expected
