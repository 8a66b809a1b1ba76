"""Answers are kept for those who ask the same of the same clusters, and for nobody else."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from msgspec import structs

from leeward.api.cluster import Cluster
from leeward.api.work import ResourceBindingStatus, TargetCluster
from leeward.core.scheduling import Placed, Trace, Unplaceable, schedule
from leeward.core.scheduling.cluster_arrays import ClusterView
from leeward.core.scheduling.model import Estimator, Filter, Profile, Request, Score
from leeward.core.scheduling.steps import DEFAULT_PROFILE
from leeward.planning import Fleet
from tests.builders import at
from tests.placements import binding_spec, cluster, placed

WEIGHTED = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
DYNAMIC = {"replicaScheduling": {**WEIGHTED, "weightPreference": {"dynamicWeight": "AvailableReplicas"}}}
EVEN = {"replicaScheduling": WEIGHTED}
BEST_ALONE = {**DYNAMIC, "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}
STATUS = ResourceBindingStatus()
GATE = replace(DEFAULT_PROFILE, multiple_pod_templates=True)


class Question(NamedTuple):
    """Question to a fleet; `without` is a cluster that the copy would have to leave again."""

    placement: Mapping[str, Any]
    replicas: int = 5
    held: Mapping[str, int] | None = None
    status: ResourceBindingStatus = STATUS
    options: Mapping[str, Any] = {}
    without: str = ""
    more: Mapping[str, Any] = {}

    def ask(self, fleet: Fleet) -> Placed | Unplaceable:
        spec = binding_spec(self.placement, self.replicas, self.held, **self.more)
        return schedule(spec, self.status, self.view(fleet), **self.options)

    def view(self, fleet: Fleet) -> ClusterView:
        if not self.without:
            return fleet.view()
        leaves = at(0)
        return fleet.staying(
            self.without, lambda each: leaves if each.name == self.without else None, leaves, spared=()
        )


def uid(text: str) -> dict[str, Any]:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "a", "uid": text}
    return {"resource": resource}


def asks_for(cpu: str) -> dict[str, Any]:
    return {"replicaRequirements": {"resourceRequest": {"cpu": cpu}}}


def components(*replicas: int) -> dict[str, Any]:
    return {"components": [{"name": f"part{n}", "replicas": count} for n, count in enumerate(replicas)]}


def member(name: str, pods: int, cpu: str) -> Cluster:
    made = cluster(name)
    assert made.status.resource_summary is not None
    summary = structs.replace(made.status.resource_summary, allocatable={"pods": pods, "cpu": cpu})
    return structs.replace(made, status=structs.replace(made.status, resource_summary=summary))


def clusters() -> list[Cluster]:
    return [member("m1", 20, "3"), member("m2", 6, "30")]


ASKED_ANEW = ResourceBindingStatus(last_scheduled_time=at(0))
SCHEDULED = ResourceBindingStatus(last_scheduled_time=at(60))
TRIGGERED = {"rescheduleTriggeredAt": "2026-01-01T00:00:30Z"}
PAIRS = {
    "placement": (Question(DYNAMIC), Question(EVEN)),
    "replicas": (Question(DYNAMIC), Question(DYNAMIC, 6)),
    "what a replica asks for": (Question(DYNAMIC, more=asks_for("1")), Question(DYNAMIC, more=asks_for("3"))),
    "requirements at all": (Question(DYNAMIC), Question(DYNAMIC, more=asks_for("3"))),
    "what is held": (Question(DYNAMIC), Question(DYNAMIC, held={"m2": 4})),
    "what is left": (
        Question(DYNAMIC),
        Question(DYNAMIC, more={"gracefulEvictionTasks": [{"fromCluster": "m2", "reason": "a", "producer": "b"}]}),
    ),
    "the direction of names": (Question(EVEN, more=uid("u")), Question(EVEN, more=uid("v"))),
    "a reschedule": (
        Question(DYNAMIC, held={"m2": 4}, status=SCHEDULED, more=TRIGGERED),
        Question(DYNAMIC, held={"m2": 4}, status=ASKED_ANEW, more=TRIGGERED),
    ),
    "a failover": (
        Question(EVEN, held={"m1": 1, "m2": 4}),
        Question(EVEN, held={"m1": 1, "m2": 4}, options={"keep_assigned": True}),
    ),
    "empty workloads": (
        Question(DYNAMIC, 0, more=asks_for("1")),
        Question(DYNAMIC, 0, more=asks_for("1"), options={"propagate_empty_workloads": True}),
    ),
    "components": (
        Question(BEST_ALONE, 0, more=components(5, 3)),
        Question(BEST_ALONE, 0, more=components(5, 30)),
    ),
    "a set": (Question(BEST_ALONE, 0), Question(BEST_ALONE, 0, more=components(5, 30))),
    "where it may stay": (Question(EVEN), Question(EVEN, without="m2")),
    "where else it may stay": (Question(EVEN, without="m1"), Question(EVEN, without="m2")),
}


def told(result: Placed | Unplaceable) -> object:
    if isinstance(result, Placed):
        return result
    return result.kind, result.message, dict(result.rejected)


@pytest.mark.parametrize("what", PAIRS)
def test_what_differs_is_answered_anew_and_what_is_asked_again_is_not(what: str) -> None:
    fleet = Fleet(clusters(), GATE)
    first, second = PAIRS[what]
    answers = [each.ask(fleet) for each in (first, second)]
    assert told(answers[0]) != told(answers[1])
    assert [told(each) for each in answers] == [told(each.ask(Fleet(clusters(), GATE))) for each in (first, second)]
    assert [each.ask(fleet) is answer for each, answer in zip((first, second), answers, strict=True)] == [True, True]


def test_room_that_is_gone_changes_the_answers_that_depend_on_it_alone() -> None:
    fleet = Fleet(clusters())
    by_room, everywhere = Question(DYNAMIC), Question(EVEN)
    before = placed(by_room.ask(fleet)), everywhere.ask(fleet)
    fleet.put(member("m1", 1, "3"))
    assert (before[0], placed(by_room.ask(fleet))) == ({"m1": 4, "m2": 1}, {"m1": 1, "m2": 4})
    assert everywhere.ask(fleet) is before[1]
    fleet.reserve("default/b", binding_spec(DYNAMIC, 4), (TargetCluster("m2", 2),))
    assert placed(by_room.ask(fleet)) == {"m1": 1, "m2": 4}
    fleet.put(cluster("m1", taints=[{"key": "k", "effect": "NoSchedule"}]))
    assert placed(everywhere.ask(fleet)) == {"m2": 5}


def only(request: Request, each: Cluster, name: str) -> int:
    return 50 if each.name == name and request.spec.replicas else 0


def by_a_score(wish: list[str]) -> Profile:
    score = Score("Wish", lambda request, each: only(request, each, wish[0]))
    return replace(DEFAULT_PROFILE, scores=(*DEFAULT_PROFILE.scores, score))


def by_a_filter(wish: list[str]) -> Profile:
    def reject(request: Request, each: Cluster) -> str | None:
        return None if only(request, each, wish[0]) else "not wished for"

    own = Filter("Wish", reject, concerns=lambda request: request.spec.replicas < 9)
    return replace(DEFAULT_PROFILE, filters=(*DEFAULT_PROFILE.filters, own))


def by_an_estimator(wish: list[str]) -> Profile:
    def estimate(request: Request) -> Callable[[Cluster], int] | None:
        return None if request.spec.replicas >= 9 else lambda each: 5 if only(request, each, wish[0]) else 0

    return replace(DEFAULT_PROFILE, estimators=(Estimator("Wish", estimate),))


@pytest.mark.parametrize("plugged", [by_a_score, by_a_filter, by_an_estimator])
def test_what_a_foreign_plugin_says_is_asked_each_time(plugged: Callable[[list[str]], Profile]) -> None:
    wish = ["m1"]
    fleet = Fleet(clusters(), plugged(wish))
    asked = Question(BEST_ALONE)
    assert placed(asked.ask(fleet)) == {"m1": 5}
    wish[0] = "m2"
    assert placed(asked.ask(fleet)) == {"m2": 5}


@pytest.mark.parametrize("plugged", [by_a_filter, by_an_estimator])
def test_a_foreign_plugin_that_has_nothing_to_say_of_a_request_is_no_reason_to_ask_again(
    plugged: Callable[[list[str]], Profile],
) -> None:
    fleet, asked = Fleet(clusters(), plugged(["m1"])), Question(DYNAMIC, 9)
    answer = asked.ask(fleet)
    assert placed(answer) == {"m1": 7, "m2": 2}
    assert asked.ask(fleet) is answer


def test_who_wants_to_know_why_is_told_each_time() -> None:
    fleet = Fleet(clusters())
    Question(DYNAMIC).ask(fleet)
    for _ in range(2):
        why = Trace()
        Question(DYNAMIC, options={"trace": why}).ask(fleet)
        assert why.terms[0].selected == ("m1", "m2")
