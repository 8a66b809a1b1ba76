"""The conditions that a Deployment template gets for all of its copies together."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from kubeapi.codec import from_wire, to_wire
from kubeapi.meta import Manifest, format_time
from leeward.api.cluster import Cluster
from leeward.api.names import FAILING_CONDITION, REFLECTED_CONDITION
from leeward.api.work import AggregatedStatusItem, GracefulEvictionTask, ResourceBindingSpec, Work
from leeward.core.execution.deployment_conditions import (
    CONDITION_TYPES,
    copies_of,
    is_deployment,
    is_told_by_all,
    is_worded_here,
    lacks_conditions,
    with_conditions,
)
from leeward.core.interpreter import aggregate_status, reflect_status
from tests.oracle import load, told

NOW = datetime(2026, 8, 1, 12, tzinfo=UTC)
LATE = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}


def spec_of(clusters: Mapping[str, int], replicas: int, *, divided: bool = True, **leaving: int) -> ResourceBindingSpec:
    tasks = [
        {"fromCluster": name, "replicas": count, "purgeMode": "Gracefully", "reason": "TaintUntolerated"}
        for name, count in leaving.items()
    ]
    strategy = {"replicaSchedulingType": "Divided" if divided else "Duplicated"}
    wire = {
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"},
        "replicas": replicas,
        "clusters": [{"name": name, "replicas": count} for name, count in clusters.items()],
        "gracefulEvictionTasks": [{**task, "producer": "TaintManager"} for task in tasks],
        "placement": {"replicaScheduling": strategy},
    }
    return from_wire(wire, ResourceBindingSpec)


def work(replicas: int, labels: Mapping[str, str] | None = None, **spec: Any) -> Work:
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"labels": dict(labels or {})},
        "spec": {"replicas": replicas, "strategy": {"type": "Recreate"}, **spec},
    }
    return from_wire({"spec": {"workload": {"manifests": [manifest]}}}, Work)


def item(cluster: str, available: int, *, of: int | None = None, generation: int = 1, **more: Any) -> Manifest:
    """Item that a member reports of so many available replicas `of` so many."""
    count = available if of is None else of
    status = {
        "replicas": count,
        "updatedReplicas": count,
        "availableReplicas": available,
        "generation": 1,
        "observedGeneration": 1,
        "resourceTemplateGeneration": generation,
        **more,
    }
    return {"clusterName": cluster, "status": status, "applied": True}


def told_of(
    spec: ResourceBindingSpec,
    works: Mapping[str, Work],
    items: Sequence[Manifest],
    before: Manifest | None = None,
    *,
    not_seen: Sequence[str] = (),
    now: datetime = NOW,
    **template_spec: Any,
) -> Manifest:
    """The template's status that follows `before`."""
    template = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"generation": 1},
        "spec": template_spec,
        "status": before or {},
    }
    reported = from_wire(list(items), list[AggregatedStatusItem])
    summed: Manifest = (aggregate_status(template, reported) or {}).get("status", before or {})
    copies = copies_of(spec, works, reported, not_seen)
    after = with_conditions(template, before or {}, summed, spec, copies, now)
    told = [c for c in after.get("conditions", ()) if c["type"] in CONDITION_TYPES]
    assert all(is_worded_here(each) for each in told), "else `leeward hand-back` would leave it behind"
    return after


def verdict(status: Manifest, kind: str) -> tuple[str, str]:
    found = next(c for c in status["conditions"] if c["type"] == kind)
    return found["status"], found["reason"]


TWO = {"m1": 2, "m2": 2}
WORKS = {"m1": work(2), "m2": work(2), "m3": work(2)}


def test_a_whole_application_is_available_and_complete() -> None:
    status = told_of(spec_of(TWO, 4), WORKS, [item("m1", 2), item("m2", 2)])
    assert verdict(status, "Available") == ("True", "MinimumReplicasAvailable")
    assert verdict(status, "Progressing") == ("True", "NewReplicaSetAvailable")
    assert status["availableReplicas"] == 4


@pytest.mark.parametrize("divided", [True, False])
def test_one_cluster_without_its_replicas_makes_the_whole_unavailable(*, divided: bool) -> None:
    spec = spec_of(TWO, 4 if divided else 2, divided=divided)
    status = told_of(spec, WORKS, [item("m1", 2), item("m2", 0, of=2)])
    assert verdict(status, "Available") == ("False", "MinimumReplicasUnavailable")
    assert verdict(status, "Progressing") == ("True", "ReplicaSetUpdated")
    assert next(c for c in status["conditions"] if c["type"] == "Available")["message"].endswith("in m2")


def test_replicas_of_one_cluster_do_not_make_up_for_those_of_another() -> None:
    status = told_of(spec_of(TWO, 4), {**WORKS, "m1": work(2)}, [item("m1", 9), item("m2", 0)])
    assert verdict(status, "Available")[0] == "False"


@pytest.mark.parametrize(
    ("strategy", "lacking", "expected"),
    [
        ({"type": "Recreate"}, 1, "False"),
        ({}, 2, "True"),
        ({}, 3, "False"),
        ({"rollingUpdate": {"maxUnavailable": "30%"}}, 3, "True"),
        ({"rollingUpdate": {"maxUnavailable": 4}}, 4, "True"),
        ({"rollingUpdate": {"maxUnavailable": 4}}, 5, "False"),
        ({"rollingUpdate": {"maxUnavailable": 0}}, 1, "False"),
        ({"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}, 1, "True"),
        ({"rollingUpdate": {"maxUnavailable": "x%"}}, 1, "False"),
        ({"rollingUpdate": {"maxUnavailable": -3}}, 1, "False"),
        ({"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}, 2, "False"),
        ({"rollingUpdate": {"maxUnavailable": "100%"}}, 10, "True"),
        ({"rollingUpdate": {"maxUnavailable": "1000%"}}, 1, "False"),
    ],
)
def test_as_many_may_lack_as_the_deployment_allows_in_its_cluster(
    strategy: Manifest, lacking: int, expected: str
) -> None:
    works = {"m1": work(10, strategy=strategy)}
    status = told_of(spec_of({"m1": 10}, 10), works, [item("m1", 10 - lacking, of=10)])
    assert verdict(status, "Available")[0] == expected


def test_the_replicas_of_the_work_count_which_overrides_may_have_changed() -> None:
    status = told_of(spec_of({"m1": 5}, 5), {"m1": work(1)}, [item("m1", 1)])
    assert verdict(status, "Available")[0] == "True"
    assert verdict(status, "Progressing")[1] == "NewReplicaSetAvailable"


def test_an_autoscaler_in_the_member_says_how_many_there_are() -> None:
    works = {"m1": work(5, {"resourcetemplate.karmada.io/retain-replicas": "true"})}
    status = told_of(spec_of({"m1": 5}, 5), works, [item("m1", 2)])
    assert verdict(status, "Available")[0] == "True"
    status = told_of(spec_of({"m1": 5}, 5), works, [item("m1", 1, of=2)])
    assert verdict(status, "Available")[0] == "False"


def test_pods_that_cannot_be_made_are_missing_though_an_autoscaler_says_how_many_there_are() -> None:
    """Pods count that are there; a quota, an admission or a missing account may let none be made."""
    works = {"m1": work(5, {"resourcetemplate.karmada.io/retain-replicas": "true"})}
    refused = told_of(spec_of({"m1": 5}, 5), works, [item("m1", 0, unavailableReplicas=3)])
    assert verdict(refused, "Available") == ("False", "MinimumReplicasUnavailable")
    assert verdict(refused, "Progressing") == ("True", "ReplicaSetUpdated")
    partly = told_of(spec_of({"m1": 5}, 5), works, [item("m1", 2, unavailableReplicas=1)])
    assert verdict(partly, "Available")[0] == "False"
    to_zero = told_of(spec_of({"m1": 5}, 5), works, [item("m1", 0)])
    assert verdict(to_zero, "Available")[0] == "True", "an autoscaler may want none"


def test_a_report_that_precedes_the_first_look_of_the_members_controller_has_no_number_of_an_autoscaler() -> None:
    works = {**WORKS, "m1": work(5, {"resourcetemplate.karmada.io/retain-replicas": "true"})}
    early: Manifest = {"clusterName": "m1", "applied": True, "status": {"generation": 1}}
    status = told_of(spec_of({"m1": 5, "m2": 2}, 7), works, [early, item("m2", 2)])
    assert verdict(status, "Available")[0] == "False"


def test_what_is_evicted_fills_in_for_what_replaces_it() -> None:
    spec = spec_of({"m2": 2}, 2, m1=2)
    status = told_of(spec, WORKS, [item("m1", 2), item("m2", 0, of=2)])
    assert verdict(status, "Available")[0] == "True"
    status = told_of(spec, WORKS, [item("m1", 1), item("m2", 0, of=2)])
    assert verdict(status, "Available")[0] == "False"


def test_a_part_that_is_evicted_fills_in_too() -> None:
    spec = spec_of({"m1": 1, "m2": 2}, 3, m1=2)
    works = {"m1": work(3), "m2": work(2)}
    assert verdict(told_of(spec, works, [item("m1", 3), item("m2", 0, of=2)]), "Available")[0] == "True"
    assert verdict(told_of(spec, works, [item("m1", 2, of=3), item("m2", 0, of=2)]), "Available")[0] == "False"


def test_a_cluster_that_is_not_seen_is_neither_available_nor_gone() -> None:
    items = [item("m1", 2), item("m2", 1, of=2)]
    status = told_of(spec_of(TWO, 4), WORKS, items, not_seen=["m1"])
    assert verdict(status, "Available")[0] == "False", "m2 alone lacks one"
    status = told_of(spec_of(TWO, 4), WORKS, [item("m1", 2), item("m2", 2)], not_seen=["m1"])
    assert verdict(status, "Available") == ("Unknown", "ClusterNotSeen")
    assert verdict(status, "Progressing") == ("True", "ReplicaSetUpdated")


def test_an_outage_alone_is_told_and_what_stays_as_it_is_has_nothing_to_be_written() -> None:
    items = [item("m1", 2), item("m2", 2)]
    before = told_of(spec_of(TWO, 4), WORKS, items)
    later = NOW + timedelta(minutes=5)
    during = told_of(spec_of(TWO, 4), WORKS, items, before, not_seen=["m1"], now=later)
    assert verdict(during, "Available") == ("Unknown", "ClusterNotSeen")
    much_later = later + timedelta(minutes=5)
    assert told_of(spec_of(TWO, 4), WORKS, items, during, not_seen=["m1"], now=much_later) == during


def test_what_is_written_during_an_outage_says_it_and_what_is_seen_again_takes_it_back() -> None:
    items = [item("m1", 2), item("m2", 2)]
    before = told_of(spec_of(TWO, 4), WORKS, items)
    later = NOW + timedelta(minutes=5)
    during = told_of(spec_of(TWO, 4), WORKS, [items[0], item("m2", 2, of=3)], before, not_seen=["m1"], now=later)
    assert verdict(during, "Available") == ("Unknown", "ClusterNotSeen")
    after = told_of(spec_of(TWO, 4), WORKS, [items[0], item("m2", 2, of=3)], during, now=later)
    assert verdict(after, "Available")[0] == "True"


def test_an_outage_with_a_replacement_that_does_not_come_up_is_unknown() -> None:
    spec = spec_of({"m2": 2}, 2, m1=2)
    status = told_of(spec, WORKS, [item("m1", 2), item("m2", 0, of=2)], not_seen=["m1"])
    assert verdict(status, "Available") == ("Unknown", "ClusterNotSeen")


def test_a_copy_that_has_not_reported_yet_leaves_the_condition_as_it_is() -> None:
    silent: Manifest = {"clusterName": "m2", "applied": True}
    fresh = told_of(spec_of(TWO, 4), WORKS, [item("m1", 2), silent])
    assert verdict(fresh, "Available") == ("Unknown", "NotReported")
    before = told_of(spec_of(TWO, 4), WORKS, [item("m1", 2), item("m2", 2)])
    after = told_of(spec_of(TWO, 4), WORKS, [item("m1", 2), silent], before)
    assert verdict(after, "Available") == ("True", "MinimumReplicasAvailable")
    assert after["availableReplicas"] == 2


def test_a_copy_without_a_work_is_known_not_to_be_there() -> None:
    spec = spec_of({"m4": 2}, 2)
    assert verdict(told_of(spec, WORKS, [], not_seen=["m4"]), "Available")[0] == "False"


def test_what_has_no_cluster_is_not_available() -> None:
    status = told_of(spec_of({"m1": 2}, 4), WORKS, [item("m1", 2)])
    assert verdict(status, "Available") == ("False", "MinimumReplicasUnavailable")
    assert verdict(status, "Progressing")[1] == "ReplicaSetUpdated"
    assert verdict(told_of(spec_of({}, 2, divided=False), {}, []), "Available")[0] == "False"
    assert verdict(told_of(spec_of({}, 0), {}, []), "Available")[0] == "True"


def test_a_rollout_is_complete_once_until_the_next_generation() -> None:
    spec, items = spec_of(TWO, 4), [item("m1", 2), item("m2", 2)]
    before = told_of(spec, WORKS, items)
    restarted = told_of(spec, WORKS, [items[0], item("m2", 1, of=2)], before)
    assert verdict(restarted, "Progressing") == ("True", "NewReplicaSetAvailable")
    old = [item("m1", 2, generation=0), item("m2", 1, of=2)]
    assert verdict(told_of(spec, WORKS, old, {**before, "observedGeneration": 0}), "Progressing")[1] == (
        "ReplicaSetUpdated"
    )
    of_old = {**before, "observedGeneration": 0}
    assert verdict(told_of(spec, WORKS, [items[0], item("m2", 1, of=2)], of_old), "Progressing")[1] == (
        "ReplicaSetUpdated"
    ), "it was complete for another generation"


def test_a_rollout_that_a_member_gives_up_is_late() -> None:
    member = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"generation": 1},
        "status": {"replicas": 2, "conditions": [{**LATE, "message": "ReplicaSet x has timed out"}]},
    }
    reflected = reflect_status(member)
    assert reflected is not None
    assert reflected["conditions"] == [LATE]
    items = [item("m1", 2), item("m2", 0, of=2, conditions=reflected["conditions"])]
    status = told_of(spec_of(TWO, 4), WORKS, items)
    assert verdict(status, "Progressing") == ("False", "ProgressDeadlineExceeded")
    unseen = told_of(spec_of(TWO, 4), WORKS, items, not_seen=["m2"])
    assert verdict(unseen, "Progressing") == ("True", "ReplicaSetUpdated")


def test_a_paused_template_says_so() -> None:
    status = told_of(spec_of(TWO, 4), WORKS, [item("m1", 2), item("m2", 2)], paused=True)
    assert verdict(status, "Progressing") == ("Unknown", "DeploymentPaused")


def test_instants_move_with_what_they_are_of() -> None:
    spec, later = spec_of(TWO, 4), NOW + timedelta(minutes=1)
    before = told_of(spec, WORKS, [item("m1", 2), item("m2", 1, of=2)])
    after = told_of(spec, WORKS, [item("m1", 1, of=2), item("m2", 1, of=2)], before, now=later)
    stamps = [(c["lastTransitionTime"], c["lastUpdateTime"]) for c in after["conditions"]]
    noon, minute_past = "2026-08-01T12:00:00Z", "2026-08-01T12:01:00Z"
    assert stamps == [(noon, minute_past), (noon, noon)], "another message, and the same"
    well = told_of(spec, WORKS, [item("m1", 2), item("m2", 2)], after, now=later)
    assert [c["lastTransitionTime"] for c in well["conditions"]] == [minute_past, noon]


def test_what_others_say_of_the_template_stays_and_what_karmada_left_is_not_written() -> None:
    spec, items = spec_of(TWO, 4), [item("m1", 2), item("m2", 2)]
    left = {name: value for name, value in told_of(spec, WORKS, items).items() if name != "conditions"}
    assert told_of(spec, WORKS, items, left) == left, "nothing has happened to it yet"
    others = {**left, "conditions": [{"type": "example.com/Mine", "status": "True"}]}
    after = told_of(spec, WORKS, [items[0], item("m2", 1, of=2)], others)
    assert [c["type"] for c in after["conditions"]] == ["example.com/Mine", "Available", "Progressing"]


def test_the_numbers_of_recorded_templates_stay_karmadas() -> None:
    """The check of what is added to Karmada's recorded answers: two conditions, and nothing else."""
    cases = [case for case in load("interpreter", "AggregateStatus") if case.kind == "Deployment"]
    seen = 0
    for case in cases:
        template = case.given["object"]
        items = from_wire(case.given["items"] or [], list[AggregatedStatusItem])
        summed = (aggregate_status(template, items) or {}).get("status", {})
        spec = spec_of({each.cluster_name: 1 for each in items}, len(items))
        works = {each.cluster_name: work(1) for each in items}
        after = with_conditions(template, {}, summed, spec, copies_of(spec, works, items, ()), NOW)
        bare = {name: value for name, value in after.items() if name != "conditions"}
        expected: Manifest = told((case.expected["object"].get("status")) or {}) or {}
        assert told(bare) == {name: value for name, value in expected.items() if name != "conditions"}, case.id
        seen += {"Available", "Progressing"} <= {c["type"] for c in after.get("conditions", ())}
    assert seen >= 18


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, True),
        ({"apiVersion": "apps/v1", "kind": "StatefulSet"}, False),
        ({"apiVersion": "apps.example.com/v1", "kind": "Deployment"}, False),
        ({"kind": "Deployment"}, False),
    ],
)
def test_deployments_of_kubernetes_alone_get_conditions(template: Manifest, expected: bool) -> None:
    assert is_deployment(template) is expected


def message(status: Manifest, kind: str) -> str:
    return next(c for c in status["conditions"] if c["type"] == kind)["message"]


SILENT: list[Manifest] = [{"clusterName": name, "applied": True} for name in ("m2", "m3")]
GIVEN_UP = [item(name, 0, of=2, conditions=[LATE]) for name in ("m1", "m2")]


@pytest.mark.parametrize(
    ("spec", "items", "not_seen", "kind", "told"),
    [
        (spec_of(TWO, 4), [item("m1", 0, of=2), item("m2", 0, of=2)], (), "Available",
         "too few replicas are available in m1, m2"),
        (spec_of(TWO, 7), [item("m1", 2), item("m2", 0, of=2)], (), "Available",
         "too few replicas are available in m2; 3 replicas have no cluster"),
        (spec_of({"m1": 2}, 4), [item("m1", 2)], (), "Available", "2 replicas have no cluster"),
        (spec_of(TWO, 4), [item("m1", 2), item("m2", 2)], ("m1", "m2"), "Available",
         "nothing is known of the replicas in m1, m2"),
        (spec_of({**TWO, "m3": 2}, 6), [item("m1", 2), *SILENT], (), "Available",
         "no report has come yet from m2, m3"),
        (spec_of(TWO, 4), GIVEN_UP, (), "Progressing", "the rollout makes no progress any more in m1, m2"),
    ],
    ids=["too few", "too few, and no place", "no place", "not seen", "no report", "given up"],
)  # fmt: skip
def test_what_is_missing_is_told_with_its_clusters(
    spec: ResourceBindingSpec, items: Sequence[Manifest], not_seen: Sequence[str], kind: str, told: str
) -> None:
    status = told_of(spec, WORKS, items, not_seen=not_seen)
    assert message(status, kind) == told


def test_a_condition_that_stays_keeps_its_words() -> None:
    short = told_of(spec_of(TWO, 4), WORKS, [item("m1", 2), item("m2", 1, of=2)])
    silent: Manifest = {"clusterName": "m2", "applied": True}
    after = told_of(spec_of(TWO, 4), WORKS, [item("m1", 2), silent], short)
    assert message(after, "Available") == message(short, "Available") == "too few replicas are available in m2"


def test_a_work_without_a_manifest_has_the_replicas_of_its_target() -> None:
    empty = from_wire({"spec": {"workload": {}}}, Work)
    status = told_of(spec_of({"m1": 2}, 2), {"m1": empty}, [item("m1", 2)])
    assert verdict(status, "Available")[0] == "True"
    assert verdict(status, "Progressing")[1] == "NewReplicaSetAvailable"


def test_a_work_that_names_no_replicas_has_those_of_its_target() -> None:
    works = {"m1": from_wire({"spec": {"workload": {"manifests": [{"spec": {"paused": False}}]}}}, Work)}
    status = told_of(spec_of({"m1": 2}, 2), works, [item("m1", 2)])
    assert verdict(status, "Progressing")[1] == "NewReplicaSetAvailable"


def test_a_copy_that_leaves_whole_fills_in_with_all_its_replicas_whatever_its_task_says() -> None:
    spec = spec_of({"m2": 3}, 3, m1=1)
    works = {"m1": work(3), "m2": work(3)}
    assert verdict(told_of(spec, works, [item("m1", 3), item("m2", 0, of=3)]), "Available")[0] == "True"


def test_what_may_be_unavailable_is_a_part_of_what_stays() -> None:
    """Three of four replicas leave, and one stays: a quarter of it is none, and its surge lets none be missing."""
    spec = spec_of({"m1": 1, "m2": 3}, 4, m1=3)
    works = {"m1": work(4, strategy={}), "m2": work(3, strategy={})}
    status = told_of(spec, works, [item("m1", 0, of=4), item("m2", 3)])
    assert verdict(status, "Available")[0] == "False"


def test_a_copy_that_has_what_stays_has_nothing_to_give() -> None:
    spec = spec_of({"m1": 2, "m2": 1}, 3, m1=2)
    works = {"m1": work(4), "m2": work(1)}
    status = told_of(spec, works, [item("m1", 2, of=4), item("m2", 0, of=1)])
    assert verdict(status, "Available")[0] == "False"


def test_a_share_whose_task_names_no_number_gives_none() -> None:
    spec = spec_of({"m1": 2, "m2": 1}, 3)
    wire = {"fromCluster": "m1", "purgeMode": "Gracefully", "reason": "TaintUntolerated", "producer": "TaintManager"}
    spec = replace(spec, graceful_eviction_tasks=(from_wire(wire, GracefulEvictionTask),))
    works = {"m1": work(2), "m2": work(1)}
    assert verdict(told_of(spec, works, [item("m1", 2), item("m2", 0, of=1)]), "Available")[0] == "False"


def test_a_rollout_is_not_complete_while_replicas_have_no_cluster() -> None:
    status = told_of(spec_of({}, 2, divided=False), {}, [])
    assert verdict(status, "Progressing")[1] == "ReplicaSetUpdated"
    everywhere = told_of(spec_of(TWO, 2, divided=False), WORKS, [item("m1", 2), item("m2", 2)])
    assert verdict(everywhere, "Progressing")[1] == "NewReplicaSetAvailable"


@pytest.mark.parametrize(
    ("kind", "reason", "message"),
    [
        ("Available", "OfAnother", "Deployment has minimum availability."),
        ("Progressing", "NewReplicaSetAvailable", "in words of another"),
        ("Ready", "", ""),
    ],
)
def test_what_others_say_of_a_template_is_not_worded_here(kind: str, reason: str, message: str) -> None:
    assert not is_worded_here({"type": kind, "reason": reason, "message": message})


def ready(since: datetime, status: str = "True", *others: Manifest) -> Cluster:
    condition = {"type": "Ready", "status": status, "reason": "A", "lastTransitionTime": format_time(since)}
    return from_wire({"spec": {"syncMode": "Push"}, "status": {"conditions": [condition, *others]}}, Cluster)


def reported_at(work: Work, at: datetime) -> Work:
    """`work` as it was applied and reflected of its present generation."""
    names = ("Applied", REFLECTED_CONDITION)
    instant = format_time(at)
    said = {"status": "True", "reason": "A", "observedGeneration": 1, "lastTransitionTime": instant}
    told = [{"type": name, **said} for name in names]
    wire = {"metadata": {"generation": 1}, "spec": to_wire(work.spec), "status": {"conditions": told}}
    return from_wire(wire, Work)


BEFORE, SINCE = NOW - timedelta(hours=2), NOW - timedelta(hours=1)
KNOWN = {name: reported_at(each, NOW) for name, each in WORKS.items()}
SEEN = {"m1": ready(SINCE), "m2": ready(SINCE)}
FAILING: Manifest = {"type": FAILING_CONDITION, "status": "True", "reason": "ClusterNotReachable"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"not_seen": ["m2"]}, False),
        ({"clusters": {**SEEN, "m2": ready(SINCE, "Unknown")}}, False),
        ({"clusters": {**SEEN, "m2": ready(SINCE, "True", FAILING)}}, False),
        ({"clusters": {"m1": ready(SINCE)}}, False),
        ({"works": {**KNOWN, "m2": reported_at(work(2), BEFORE)}}, False),
        ({"works": {"m1": KNOWN["m1"]}}, False),
        ({"items": [item("m1", 2)]}, False),
        ({"spec": spec_of(TWO, 4, m3=2)}, False),
        ({"spec": spec_of({}, 4)}, False),
    ],
)
def test_first_conditions_are_told_alone_only_by_what_is_known_of_all_copies(
    changes: Mapping[str, Any], expected: bool
) -> None:
    given: dict[str, Any] = {"works": KNOWN, "clusters": SEEN, "not_seen": (), "spec": spec_of(TWO, 4)}
    given = {"items": [item("m1", 2), item("m2", 2)], **given, **changes}
    items = from_wire(list(given["items"]), list[AggregatedStatusItem])
    copies = copies_of(given["spec"], given["works"], items, given["not_seen"])
    assert is_told_by_all(given["spec"], given["works"], given["clusters"], copies, NOW) is expected


@pytest.mark.parametrize(
    ("away", "applied", "believed"),
    [(59, None, False), (60, None, True), (3_600, None, True), (59, 59, False), (59, 58, True)],
)
def test_a_report_of_karmadas_agent_counts_once_it_is_of_after_the_return_of_its_cluster(
    away: int, applied: int | None, *, believed: bool
) -> None:
    """Seconds since the cluster of one of two copies has returned, and since its Work was applied (None: unsaid)."""
    identifier = {"ordinal": 0, "version": "v1", "kind": "Deployment", "resource": "deployments", "name": "web"}
    said = {"type": "Applied", "status": "True", "reason": "AppliedSuccessful"}
    if applied is not None:
        said["lastTransitionTime"] = format_time(NOW - timedelta(seconds=applied))
    report = {"conditions": [said], "manifestStatuses": [{"identifier": identifier, "status": {"readyReplicas": 2}}]}
    told = from_wire({"metadata": {"generation": 1}, "spec": to_wire(WORKS["m2"].spec), "status": report}, Work)
    clusters = {**SEEN, "m2": ready(NOW - timedelta(seconds=away))}
    items = from_wire([item("m1", 2), item("m2", 2)], list[AggregatedStatusItem])
    spec, works = spec_of(TWO, 4), {**KNOWN, "m2": told}
    copies = copies_of(spec, works, items, ())
    assert is_told_by_all(spec, works, clusters, copies, NOW) is believed


def test_first_conditions_are_told_alone_where_it_is_asked_for_and_once() -> None:
    spec, reports = spec_of(TWO, 4), [item("m1", 2), item("m2", 2)]
    summed = {key: value for key, value in told_of(spec, WORKS, reports).items() if key != "conditions"}
    template: Manifest = {"metadata": {"generation": 1}, "spec": {}, "status": summed}
    copies = copies_of(spec, WORKS, from_wire(list(reports), list[AggregatedStatusItem]), ())
    assert lacks_conditions(template)
    assert not lacks_conditions({**template, "metadata": {"deletionTimestamp": "2026-08-01T12:00:00Z"}})
    assert with_conditions(template, summed, summed, spec, copies, NOW) == summed
    first = with_conditions(template, summed, summed, spec, copies, NOW, tells_first=True)
    assert verdict(first, "Available") == ("True", "MinimumReplicasAvailable")
    assert not lacks_conditions({**template, "status": first})
    later = NOW + timedelta(hours=1)
    assert with_conditions(template, first, first, spec, copies, later, tells_first=True) == first
