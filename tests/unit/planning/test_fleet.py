"""A fleet's arrays are kept up to date, and no more of them is made anew than has changed."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
import numpy as np
import pytest

from leeward.api.cluster import Cluster
from leeward.api.work import ResourceBindingStatus
from leeward.core.scheduling import Placed, schedule
from leeward.core.scheduling.model import Filter, Profile, Request
from leeward.core.scheduling.pipeline import affinity_names_to_try
from leeward.core.scheduling.steps import DEFAULT_PROFILE
from leeward.planning import fleet as fleets
from leeward.planning.estimates import Estimates
from leeward.planning.fleet import Fleet
from tests import builders
from tests.builders import NOW, at, targets
from tests.placements import binding_spec, cluster, placed

DYNAMIC = {
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }
}
SPEC = binding_spec(DYNAMIC, 4)
REQUEST = Request(SPEC, "")


def asked(cpu: str) -> Request:
    return Request(binding_spec(DYNAMIC, 4, replicaRequirements={"resourceRequest": {"cpu": cpu}}), "")


def offering(name: str, cpu: str) -> Cluster:
    found = cluster(name)
    wire = {"pods": "110", "cpu": cpu}
    summary = msgspec.convert({"allocatable": wire}, type(found.status.resource_summary), strict=False)
    return msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, resource_summary=summary))


def room(fleet: Fleet, request: Request) -> list[int]:
    return fleet.available(request, np.arange(len(fleet))).tolist()


class Counted:
    """Filters that note which clusters they are asked about."""

    def __init__(self, *, shared: bool = True) -> None:
        self.asked: list[str] = []

        def reject(request: Request, cluster: Cluster) -> str | None:
            self.asked.append(cluster.name)
            return "no" if cluster.spec.region == "refused" else None

        self.profile = Profile(
            filters=(Filter("Counted", reject, shared=shared),), scores=DEFAULT_PROFILE.scores, estimators=()
        )


def test_a_fleet_is_a_mapping_of_its_clusters() -> None:
    fleet = Fleet([cluster("m2"), cluster("m1")])
    assert (len(fleet), set(fleet), fleet["m1"].name, "m3" in fleet) == (2, {"m1", "m2"}, "m1", False)
    view = fleet.view()
    assert (len(view), [c.name for c in view], view[0].name, view[1:][0].name) == (2, ["m1", "m2"], "m1", "m2")
    fleet.remove("m1")
    fleet.remove("never")
    assert [c.name for c in fleet.view()] == ["m2"]


def test_only_clusters_that_have_changed_in_what_filters_see_are_asked_about_again() -> None:
    counted = Counted()
    fleet = Fleet([cluster("m1"), cluster("m2")], counted.profile)
    fleet.refresh()
    kept = fleet.feasibility(REQUEST)
    assert counted.asked == ["m1", "m2"]
    assert fleet.feasibility(REQUEST) is kept
    fleet.put(cluster("m1", pods=3))
    assert fleet.feasibility(REQUEST).feasible.tolist() == [True, True]
    assert counted.asked == ["m1", "m2"]
    for changed, told in (
        (cluster("m2", region="refused"), [True, False]),
        (cluster("m2", taints=[{"key": "k", "effect": "NoSchedule"}]), [True, True]),
        (cluster("m2", deleted=True), [True, False]),
    ):
        counted.asked.clear()
        fleet.put(changed)
        assert fleet.feasibility(REQUEST).feasible.tolist() == told
        assert counted.asked == ["m2"]
        fleet.feasibility(REQUEST)
        assert counted.asked == ["m2"]


@pytest.mark.parametrize("what", ["labels", "enablements"])
def test_labels_and_what_a_cluster_offers_are_seen_by_filters(what: str) -> None:
    counted = Counted()
    fleet = Fleet([cluster("m1")], counted.profile)
    fleet.refresh()
    fleet.feasibility(REQUEST)
    found = cluster("m1")
    replace = msgspec.structs.replace
    if what == "labels":
        found = replace(found, metadata=replace(found.metadata, labels={"a": "b"}))
    else:
        found = replace(found, status=replace(found.status, api_enablements=()))
    fleet.put(found)
    fleet.feasibility(REQUEST)
    assert counted.asked == ["m1", "m1"]


def test_bindings_with_the_same_placement_share_a_survey_and_others_do_not() -> None:
    fleet = Fleet([cluster("m1")])
    fleet.refresh()
    shared = fleet.feasibility(REQUEST)
    assert fleet.feasibility(Request(binding_spec(DYNAMIC, 9, {"m1": 3}), "")) is shared
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "a"}
    other: dict[str, Any] = {"resource": {**resource, "kind": "StatefulSet"}}
    batch: dict[str, Any] = {"resource": {**resource, "apiVersion": "batch/v1"}}
    different = (
        Request(binding_spec({}, 4), ""),
        Request(SPEC, "term"),
        Request(binding_spec(DYNAMIC, 4, **other), ""),
        Request(binding_spec(DYNAMIC, 4, **batch), ""),
        Request(binding_spec(DYNAMIC, 0), ""),
    )
    others = [fleet.feasibility(request) for request in different]
    assert len({id(kept) for kept in (shared, *others)}) == 6


def test_room_is_found_anew_where_something_was_reported_or_reserved() -> None:
    fleet = Fleet([offering("m1", "2"), offering("m2", "4")])
    fleet.refresh()
    one, half = asked("1"), asked("500m")
    assert room(fleet, one) == [2, 4]
    assert room(fleet, half) == [4, 8]
    assert room(fleet, REQUEST) == [110, 110]
    fleet.reserve("default/other", one.spec, targets(m2=3))
    assert room(fleet, one) == [2, 1]
    assert room(fleet, half) == [4, 2]
    fleet.put(offering("m1", "5"))
    assert room(fleet, one) == [5, 1]
    fleet.release("default/other")
    assert room(fleet, one) == [5, 4]
    assert room(fleet, asked("nonsense")) == [0, 0]
    fleet.put(offering("m1", "9"))
    assert room(fleet, asked("nonsense")) == [0, 0]


def test_room_for_sets_is_counted_in_whole_sets_cluster_by_cluster() -> None:
    alone = {**DYNAMIC, "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}
    parts = [
        {"name": name, "replicas": count, "replicaRequirements": {"resourceRequest": {"cpu": "1"}}}
        for name, count in (("server", 1), ("worker", 2))
    ]
    request = Request(binding_spec(alone, 0, components=parts), multiple_pod_templates=True)
    fleet = Fleet([offering("m1", "2"), offering("m2", "7"), offering("m3", "3")])
    fleet.refresh()
    assert room(fleet, request) == [0, 2, 1]
    assert fleet.available(request, np.array([1])).tolist() == [2]


def test_what_was_reserved_is_kept_while_clusters_join_and_leave() -> None:
    fleet = Fleet([offering("m1", "2")])
    fleet.reserve("default/early", asked("1").spec, targets(m1=1))
    fleet.refresh()
    assert room(fleet, asked("1")) == [1]
    fleet.put(offering("m0", "3"))
    fleet.reserve("default/other", asked("1").spec, targets(m0=1))
    fleet.refresh()
    assert (fleet.names, room(fleet, asked("1"))) == (["m0", "m1"], [2, 1])
    fleet.remove("m0")
    fleet.refresh()
    fleet.put(offering("m0", "3"))
    fleet.refresh()
    assert room(fleet, asked("1")) == [3, 1], "what was reserved in a cluster that left is forgotten"


def test_an_answer_is_given_again_until_what_it_rests_on_has_changed() -> None:
    fleet = Fleet([offering("m1", "2")])
    fleet.refresh()
    found: list[Placed] = []

    def find() -> Placed:
        found.append(Placed(targets(m1=len(found))))
        return found[-1]

    def answers() -> tuple[int, int]:
        fleet.answer("by room", True, find)
        at_room = len(found)
        fleet.answer("by facts", False, find)
        return at_room, len(found)

    assert answers() == (1, 2)
    assert answers() == (2, 2)
    assert fleet.answer("by room", True, find) is found[0]
    fleet.put(offering("m1", "3"))
    assert answers() == (3, 3)
    fleet.put(msgspec.structs.replace(offering("m1", "3"), spec=cluster("m1", region="r").spec))
    assert answers() == (4, 5)
    fleet.put(cluster("m2"))
    fleet.refresh()
    assert answers() == (6, 7)


def test_answers_and_arrays_are_bounded_d9(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleets, "MAX_ANSWERS", 3)
    monkeypatch.setattr(fleets, "MAX_CELLS", 60)
    fleet = Fleet([cluster("m1"), cluster("m2")])
    fleet.refresh()
    for number in range(4):
        fleet.answer(number, True, lambda: Placed(()))
    assert list(fleet._answers) == [3]  # pyright: ignore[reportPrivateUsage]
    others = [fleet.feasibility(Request(SPEC, f"term-{number}")) for number in range(11)]
    for number in range(11):
        room(fleet, asked(f"{number + 1}m"))
    assert fleet.feasibility(Request(SPEC, "term-10")) is others[10]
    assert fleet.feasibility(Request(SPEC, "term-1")) is others[1], "ten of a kind are kept, the newest"
    assert fleet.feasibility(Request(SPEC, "term-0")) is not others[0]
    kept = fleet._availability  # pyright: ignore[reportPrivateUsage]
    assert len(kept) == 10
    few = Fleet([cluster(f"m{number}") for number in range(60)])
    few.refresh()
    first = [few.feasibility(Request(SPEC, f"term-{number}")) for number in range(9)]
    assert few.feasibility(Request(SPEC, "term-1")) is first[1], "eight in any case"
    assert few.feasibility(Request(SPEC, "term-0")) is not first[0]


class Leaving:
    """Instants until which a copy may stay in clusters; notes who was asked about."""

    def __init__(self, **until: datetime) -> None:
        self.until = until
        self.asked: list[str] = []

    def __call__(self, cluster: Cluster) -> datetime | None:
        self.asked.append(cluster.name)
        return self.until.get(cluster.name)


def staying(fleet: Fleet, leaving: Leaving, now: datetime, spared: Sequence[str] = (), but: Sequence[str] = ()) -> Any:
    view = fleet.staying("key", leaving, now, spared, but)
    assert len(view) == len(list(view))
    return "".join(found.name[-1] for found in view)


def test_a_copy_is_not_placed_where_it_would_have_to_leave_at_once() -> None:
    fleet = Fleet([cluster("m1"), cluster("m2"), cluster("m3")])
    leaving = Leaving(m2=at(100), m3=at(200))
    assert staying(fleet, leaving, NOW) == "123"
    assert fleet.staying("key", leaving, NOW, ()).allowed is None
    assert staying(fleet, leaving, at(100)) == "13"
    assert staying(fleet, leaving, at(100) - timedelta(seconds=1)) == "123"
    assert staying(fleet, leaving, at(300)) == "1"
    assert staying(fleet, leaving, at(300), spared=["m2", "gone"]) == "12"
    assert staying(fleet, leaving, at(300), spared=["m2"], but=["m2", "gone"]) == "1"
    assert staying(fleet, leaving, NOW, but=["m1"]) == "23"
    assert leaving.asked == ["m1", "m2", "m3"]
    del leaving.until["m3"]
    fleet.put(cluster("m3", region="r"))
    assert staying(fleet, leaving, at(300)) == "13"
    assert staying(fleet, leaving, at(300)) == "13"
    assert leaving.asked == ["m1", "m2", "m3", "m3"]
    assert fleet.staying("another key", Leaving(), at(300), ()).allowed is None


def test_a_fleet_of_nobody_has_arrays_of_nothing() -> None:
    fleet = Fleet()
    assert len(fleet.view()) == 0
    assert room(fleet, REQUEST) == []
    assert fleet.staying("key", Leaving(), NOW, ()).allowed is None


def terms(*names: str) -> Any:
    return [
        {"affinityName": name, "clusterNames": [cluster_of]} for name, cluster_of in zip(names, NAMES, strict=False)
    ]


NAMES = ("m1", "m2", "m3")


@pytest.mark.parametrize(
    ("observed", "around", "tried"),
    [
        ("", False, ("a", "b", "c")),
        ("gone", True, ("a", "b", "c")),
        ("a", True, ("a", "b", "c")),
        ("b", False, ("b", "c")),
        ("b", True, ("b", "c", "a")),
        ("c", True, ("c", "a", "b")),
    ],
)
def test_terms_are_tried_from_the_one_that_holds(observed: str, around: bool, tried: tuple[str, ...]) -> None:
    spec = binding_spec({"clusterAffinities": terms("a", "b", "c")})
    status = ResourceBindingStatus(scheduler_observing_affinity_name=observed)
    assert affinity_names_to_try(spec, status, around=around) == tried


def test_without_terms_the_one_that_was_observed_is_tried_and_a_reschedule_begins_anew() -> None:
    observed = ResourceBindingStatus(scheduler_observing_affinity_name="b", last_scheduled_time=at(0))
    assert affinity_names_to_try(binding_spec({}), observed) == ("b",)
    assert affinity_names_to_try(msgspec.structs.replace(binding_spec({}), placement=None), observed) == ("b",)
    asked_for = "2026-01-01T00:00:01Z"
    again = binding_spec({"clusterAffinities": terms("a", "b")}, rescheduleTriggeredAt=asked_for)
    assert affinity_names_to_try(again, observed) == ("a", "b")
    later = msgspec.structs.replace(observed, last_scheduled_time=at(2))
    assert affinity_names_to_try(again, later) == ("b",)


def test_the_first_term_that_gives_a_result_wins_and_else_the_first_failure_is_told() -> None:
    spec = binding_spec({"clusterAffinities": terms("a", "b")})
    clusters: Any = [cluster("m2"), cluster("m3")]
    result = schedule(spec, ResourceBindingStatus(), Fleet(clusters).view())
    assert isinstance(result, Placed)
    assert (placed(result), result.affinity_name) == ({"m2": 3}, "b")
    nowhere: Any = [cluster("m1", deleted=True), cluster("m9")]
    refused = schedule(spec, ResourceBindingStatus(), Fleet(nowhere).view())
    assert not isinstance(refused, Placed)
    assert refused.kind == "FitError"
    assert refused.message.startswith("0/2 clusters are available")


def test_the_groups_of_one_constraint_are_told_as_indices() -> None:
    by_region = binding_spec({"spreadConstraints": [{"spreadByField": "region", "minGroups": 1, "maxGroups": 2}]})
    fleet = Fleet([cluster("m1", region="r2"), cluster("m2"), cluster("m3", region="r1"), cluster("m4", region="r2")])
    fleet.refresh()
    found = fleet.feasibility(Request(by_region, ""))
    assert found.group_codes is not None
    codes, names = found.group_codes
    assert (codes.tolist(), names, len(found.groupings)) == ([1, -1, 0, 1], ["r1", "r2"], 1)
    fleet.put(cluster("m2", region="r1"))
    again = fleet.feasibility(Request(by_region, "")).group_codes
    assert again is not None
    assert again[0].tolist() == [1, 0, 0, 1]
    assert fleet.feasibility(REQUEST).group_codes is None


def test_a_fleet_knows_which_of_its_clusters_have_an_outage() -> None:
    fleet = Fleet([builders.cluster("member1"), builders.cluster("member2", ready="False")])
    assert fleet.in_outage == {"member2"}
    fleet.put(builders.cluster("member1", ready="Unknown"))
    assert fleet.in_outage == {"member1", "member2"}
    fleet.put(builders.cluster("member2"))
    fleet.remove("member1")
    assert fleet.in_outage == set()
    fleet.remove("member2")
    assert list(fleet) == [], "one that has none leaves as well"


def test_a_fleet_has_estimates_of_its_own_where_it_is_given_none() -> None:
    given = Estimates()
    assert Fleet([], estimates=given).estimates is given
    assert isinstance(Fleet([]).estimates, Estimates)
