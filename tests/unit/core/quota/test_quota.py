"""Quotas: what is used, whether it may grow, which Works there must be, and what is said of it."""

import dataclasses
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from kubeapi.codec import from_wire, to_wire
from kubeapi.meta import Manifest
from leeward.api.quota import FederatedResourceQuota, StaticClusterAssignment
from leeward.api.work import ComponentReplicaRequirements, ReplicaRequirements, ResourceBindingSpec, Work
from leeward.core.amounts import Doubts, render_amounts
from leeward.core.execution.ownership import stamp
from leeward.core.quota.enforcement import (
    LimitedNamespace,
    fewer_replicas_alone,
    judge_growth,
    leaves_more,
    refusal_of_growth,
)
from leeward.core.quota.quota_room import (
    ReportedQuota,
    quota_namespace,
    reported_quota,
    room_in_quotas,
    with_reserved,
)
from leeward.core.quota.quota_status import aggregated_status, limit_of, used_by_bindings, used_in_clusters
from leeward.core.quota.static_assignments import brought_to, is_of, needless, quota_of_work, quota_works
from leeward.core.quota.usage import amounts_of, usage_before, usage_in, usage_of

ANY_CLASS = {"scopeName": "PriorityClass", "operator": "Exists"}
IN_HIGH = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}


def quota(overall: Mapping[str, str], static: Mapping[str, Mapping[str, str]] | None = None) -> FederatedResourceQuota:
    assignments = [{"clusterName": name, "hard": hard} for name, hard in (static or {}).items()]
    spec = {"overall": overall, "staticAssignments": assignments}
    wire = {"metadata": {"name": "team", "namespace": "shop"}, "spec": spec}
    return from_wire(wire, FederatedResourceQuota)


def spec(request: Mapping[str, str], clusters: Mapping[str, int], **more: Any) -> ResourceBindingSpec:
    wire = {
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "replicaRequirements": {"resourceRequest": request},
        "clusters": [{"name": name, "replicas": count} for name, count in clusters.items()],
        **more,
    }
    return from_wire(wire, ResourceBindingSpec)


def work_of(manifest: Manifest, status: object = None, applied: str = "True") -> Work:
    identifier = {"ordinal": 0, "version": "v1", "kind": "ResourceQuota", "resource": "resourcequotas", "name": "team"}
    told = [{"identifier": identifier, "status": status}] if status is not None else []
    conditions = [{"type": "Applied", "status": applied, "reason": "", "message": ""}]
    return from_wire({**manifest, "status": {"manifestStatuses": told, "conditions": conditions}}, Work)


def works_of(static: Mapping[str, Mapping[str, str]]) -> dict[str, Manifest]:
    return dict(quota_works(quota({"cpu": "100"}, static), static))


def test_every_assigned_replica_is_counted_and_what_asks_for_nothing_is_not() -> None:
    used = usage_of(spec({"cpu": "250m", "memory": "1Gi", "pods": "0"}, {"a": 2, "b": 1}))
    assert {name: (amount.value, amount.binary) for name, amount in used.items()} == {
        "cpu": (Decimal("0.75"), False),
        "memory": (Decimal(3 * 1024**3), True),
    }


def test_what_is_absurd_is_read_as_far_as_it_goes() -> None:
    assert render_amounts(amounts_of({"cpu": "-3", "memory": "1Gi", "no name": "1"})) == {"cpu": "0", "memory": "1Gi"}


def test_a_quota_that_is_not_concerned_refuses_nothing() -> None:
    before, after = amounts_of({"cpu": "1"}), amounts_of({"cpu": "9"})
    assert refusal_of_growth(before, after, (), [quota({"memory": "1Gi"})]) == ""
    assert refusal_of_growth(before, after, (), []) == ""


def test_the_least_growth_beyond_a_quota_is_refused_and_what_passes_is_counted() -> None:
    before, after = amounts_of({"cpu": "1", "pods": "3", "memory": "1Gi"}), amounts_of({"cpu": "1500m", "pods": "3"})
    there = LimitedNamespace("shop", "team", amounts_of({"cpu": "2", "memory": "9Gi"}), amounts_of({"cpu": "1500m"}))
    verdict = judge_growth(before, after, [there])
    assert (verdict.refusals, render_amounts(verdict.used["team"])) == ((), {"cpu": "2", "memory": "0"})
    full = dataclasses.replace(there, used=amounts_of({"cpu": "1600m"}))
    (refusal,) = judge_growth(before, after, [full]).refusals
    assert refusal.endswith("requested sum 2100m, limit 2.")
    assert render_amounts(judge_growth(after, before, [full]).used["team"]) == {"cpu": "1100m", "memory": "1Gi"}
    used = dataclasses.replace(there, used=amounts_of({"memory": "2Gi"}))
    assert render_amounts(judge_growth(before, {}, [used]).used["team"]) == {"cpu": "0", "memory": "1Gi"}


def test_components_are_counted_by_their_sets_where_the_gate_asks_for_it() -> None:
    parts = [{"name": "main", "replicas": 2, "replicaRequirements": {"resourceRequest": {"cpu": "1"}}}]
    bound = spec({"cpu": "500m"}, {"a": 1, "b": 3}, components=parts)
    assert render_amounts(usage_of(bound)) == {"cpu": "2"}
    assert render_amounts(usage_of(bound, multiple_pod_templates=True)) == {"cpu": "4"}
    assert render_amounts(usage_in(bound, bound.clusters[:1])) == {"cpu": "500m"}
    assert render_amounts(usage_in(bound, bound.clusters[:1], multiple_pod_templates=True)) == {"cpu": "2"}
    assert usage_of(spec({"cpu": "1"}, {})) == usage_of(spec({"cpu": "1"}, {"a": 0})) == {}


@pytest.mark.parametrize(
    ("had", "leaving", "gets", "leaves", "used"),
    [
        ({}, {"m1": 1, "m2": 2}, {"m1": 1, "m2": 2}, {}, 3),
        ({}, {"m1": 1, "m2": 2}, {"m1": 1}, {"m2": 2}, 1),
        ({"m3": 2}, {"m1": 2}, {"m1": 2}, {"m3": 2}, 4),
        ({"m1": 1}, {"m1": 2}, {"m1": 2}, {}, 2),
        ({"m1": 1, "m2": 1}, {"m1": 2}, {"m1": 1, "m2": 3}, {}, 2),
        ({}, {"m1": 1}, {"m1": 5}, {}, 1),
        ({"m2": 1}, {"m1": 1}, {"m2": 1}, {}, 1),
    ],
    ids=["all", "one", "in return", "a part", "moved", "no more than runs", "finished"],
)
def test_what_is_taken_back_was_used_before(
    had: Mapping[str, int], leaving: Mapping[str, int], gets: Mapping[str, int], leaves: Mapping[str, int], used: int
) -> None:
    def tasks(of: Mapping[str, int]) -> Manifest:
        named = {"reason": "TaintUntolerated", "producer": "TaintManager"}
        return {"gracefulEvictionTasks": [{"fromCluster": name, "replicas": of[name], **named} for name in of]}

    old, new = spec({"cpu": "1"}, had, **tasks(leaving)), spec({"cpu": "1"}, gets, **tasks(leaves))
    assert render_amounts(usage_before(old, new)) == {"cpu": str(used)}


def test_a_copy_that_is_taken_back_counts_as_a_set_of_components_and_one_of_unknown_size_not_at_all() -> None:
    parts = [{"name": "main", "replicas": 3, "replicaRequirements": {"resourceRequest": {"cpu": "2"}}}]
    leaving = {"fromCluster": "m1", "reason": "TaintUntolerated", "producer": "TaintManager"}
    more = {"components": parts}
    old = spec({"cpu": "1"}, {}, gracefulEvictionTasks=[{**leaving, "replicas": 1}], **more)
    new = spec({"cpu": "1"}, {"m1": 1}, **more)
    assert render_amounts(usage_before(old, new)) == {"cpu": "1"}
    assert render_amounts(usage_before(old, new, multiple_pod_templates=True)) == {"cpu": "6"}
    unknown = spec({"cpu": "1"}, {}, gracefulEvictionTasks=[leaving])
    assert render_amounts(usage_before(unknown, new)) == {}


def test_the_first_of_several_quotas_that_is_exceeded_is_told_with_what_others_use() -> None:
    wide, narrow = quota({"cpu": "100"}), quota({"cpu": "9"})
    before, after = amounts_of({"cpu": "1"}), amounts_of({"cpu": "2500m"})
    said = refusal_of_growth(before, after, [amounts_of({"cpu": "7"})], [wide, narrow])
    assert said == "FederatedResourceQuota(shop/team) exceeded for resource cpu: requested sum 9500m, limit 9."
    assert refusal_of_growth(before, after, [amounts_of({"cpu": "6500m"})], [wide, narrow]) == ""


def test_only_the_resource_that_grows_is_judged() -> None:
    """Memory is over its limit already, and becomes less."""
    before, after = amounts_of({"cpu": "1", "memory": "9Gi"}), amounts_of({"cpu": "2", "memory": "8Gi"})
    assert refusal_of_growth(before, after, (), [quota({"cpu": "2", "memory": "1Gi"})]) == ""


@pytest.mark.parametrize(
    ("overall", "used", "expected"),
    [
        ({"cpu": "4"}, {"cpu": "4"}, False),
        ({"cpu": "5"}, {"cpu": "4"}, True),
        ({"memory": "1Gi"}, {"cpu": "4"}, True),
        ({"cpu": "4"}, {"cpu": "3"}, True),
        ({"cpu": "4"}, {}, True),
        ({"cpu": "3"}, {"cpu": "5"}, False),
    ],
)
def test_a_quota_leaves_more_when_it_is_raised_or_less_is_used(
    overall: dict[str, str], used: dict[str, str], expected: bool
) -> None:
    def with_used(found: FederatedResourceQuota, used: dict[str, str]) -> FederatedResourceQuota:
        return msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, overall_used=used))

    old = with_used(quota({"cpu": "4"}), {"cpu": "4"})
    assert leaves_more(old, with_used(quota(overall), used)) is expected


def test_a_quota_leaves_more_when_a_limit_goes_or_a_cluster_reports_anew() -> None:
    old = quota({"cpu": "4", "memory": "1Gi"})
    assert leaves_more(old, quota({"memory": "1Gi"})) is True
    report = [{"clusterName": "a", "hard": {"cpu": "4"}, "used": {"cpu": "4"}}]
    reported = from_wire({**to_wire(old), "status": {"aggregatedStatus": report}}, FederatedResourceQuota)
    assert leaves_more(old, reported) is True
    assert leaves_more(reported, reported) is False


def test_a_work_carries_the_limit_of_its_cluster_and_names_its_quota() -> None:
    manifests = quota_works(quota({"cpu": "9"}, {"a": {"cpu": "4"}, "gone": {"cpu": "1"}}), ["a", "b"])
    assert list(manifests) == ["a"]
    work = work_of(manifests["a"])
    assert (work.namespace, work.metadata.finalizers) == ("karmada-es-a", ("karmada.io/execution-controller",))
    assert quota_of_work(work) == ("shop", "team")
    assert work.metadata.annotations == {"leeward.dev/rendered": "true"}
    assert (manifests["a"]["apiVersion"], manifests["a"]["kind"]) == ("work.karmada.io/v1alpha1", "Work")
    assert work.metadata.labels == {
        "federatedresourcequota.karmada.io/namespace": "shop",
        "federatedresourcequota.karmada.io/name": "team",
        "karmada.io/managed": "true",
    }
    limit: Manifest = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "team", "namespace": "shop"}}
    limit["spec"] = {"hard": {"cpu": "4"}}
    assert list(work.spec.workload.manifests) == [stamp(limit, "karmada-es-a", work.name)]


def test_the_first_assignment_of_a_cluster_counts() -> None:
    twice = quota({"cpu": "9"}, {"a": {"cpu": "4"}, "b": {"cpu": "1"}})
    assignments = (*twice.spec.static_assignments, StaticClusterAssignment("a", {"cpu": "7"}))
    twice = msgspec.structs.replace(twice, spec=msgspec.structs.replace(twice.spec, static_assignments=assignments))
    [manifest] = quota_works(twice, ["a"])["a"]["spec"]["workload"]["manifests"]
    assert manifest["spec"] == {"hard": {"cpu": "4"}}


@pytest.mark.parametrize("missing", ["namespace", "name"])
def test_a_work_without_both_labels_is_of_no_quota(missing: str) -> None:
    manifest = works_of({"a": {"cpu": "1"}})["a"]
    label = f"federatedresourcequota.karmada.io/{missing}"
    for labels in (
        {name: value for name, value in manifest["metadata"]["labels"].items() if name != label},
        {**manifest["metadata"]["labels"], label: ""},
    ):
        assert quota_of_work(work_of({**manifest, "metadata": {**manifest["metadata"], "labels": labels}})) is None


def test_works_without_an_assignment_are_needless_and_all_of_a_quota_that_is_gone() -> None:
    works = [work_of(manifest) for manifest in works_of({"a": {"cpu": "1"}, "b": {"cpu": "1"}}).values()]
    assert [work.namespace for work in needless(works, quota({"cpu": "9"}, {"b": {"cpu": "1"}}))] == ["karmada-es-a"]
    assert list(needless(works, None)) == works
    assert all(is_of(work, quota({})) for work in works)


def test_of_a_work_only_contents_and_labels_are_ours() -> None:
    before, after = works_of({"a": {"cpu": "1"}})["a"], works_of({"a": {"cpu": "2"}})["a"]
    marked = {**before, "metadata": {**before["metadata"], "annotations": {"of": "others"}}}
    work = work_of({**marked, "spec": {**before["spec"], "suspendDispatching": True}})
    assert brought_to(work, before) is None
    changed = brought_to(work, after)
    assert changed is not None
    assert changed["spec"] == {**to_wire(work)["spec"], "workload": after["spec"]["workload"]}
    assert changed["metadata"]["annotations"] == {"of": "others", "leeward.dev/rendered": "true"}
    relabelled = brought_to(work_of({**marked, "metadata": {**marked["metadata"], "labels": {}}}), before)
    assert relabelled is not None
    assert relabelled["metadata"]["annotations"] == {"of": "others"}, "what Karmada has rendered is still so"
    assert "status" not in changed, "it is written by whoever carries the Work out"


def test_what_clusters_report_is_added_up_and_what_is_absurd_is_cut_and_told() -> None:
    manifests = works_of({name: {"cpu": "4"} for name in "abcd"})
    works = [
        work_of(manifests["d"], {"hard": {"cpu": "4"}, "used": {"cpu": "1500m", "memory": "1Gi"}}),
        work_of(manifests["b"], {"hard": {"cpu": "4"}, "used": {"cpu": "-3", "memory": ["?"]}}),
        work_of(manifests["a"], {"hard": {"cpu": "4"}, "used": {"cpu": "9"}}, applied="False"),
        work_of(manifests["c"]),
    ]
    doubts = Doubts()
    reports = aggregated_status(works, doubts)
    assert to_wire(reports) == [
        {"clusterName": "b", "hard": {"cpu": "4"}, "used": {"cpu": "0"}},
        {"clusterName": "d", "hard": {"cpu": "4"}, "used": {"cpu": "1500m", "memory": "1Gi"}},
    ]
    assert used_in_clusters(reports) == {"cpu": "1500m", "memory": "1Gi"}
    assert str(doubts) == "cluster b: status.used: cpu is -3"
    doubts = Doubts()
    aggregated_status([work_of(manifests["b"], {"hard": {"cpu": "-4"}, "used": {}})], doubts)
    assert str(doubts) == "cluster b: status.hard: cpu is -4"


def test_two_works_of_one_cluster_are_told_in_their_order() -> None:
    manifest = works_of({"a": {"cpu": "4"}})["a"]
    works = [work_of(manifest, {"hard": {"cpu": cpu}, "used": {}}) for cpu in ("4", "3")]
    assert [report.hard for report in aggregated_status(works, Doubts())] == [{"cpu": "4"}, {"cpu": "3"}]


def test_the_limit_is_told_as_kubernetes_prints_it() -> None:
    assert limit_of(quota({"cpu": "1500m", "memory": "1024Mi"})) == {"cpu": "1500m", "memory": "1Gi"}


def test_of_bindings_only_what_the_quota_limits_is_told() -> None:
    usages = [amounts_of({"cpu": "1", "memory": "1Gi"}), amounts_of({"cpu": "500m"})]
    assert used_by_bindings(quota({"cpu": "9", "pods": "3"}), usages) == {"cpu": "1500m"}


def with_quota(spec: Mapping[str, Any], status: object, kind: str = "ResourceQuota") -> Work:
    manifest = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "q", "namespace": "shop"}, "spec": spec}
    metadata = {"name": "q", "namespace": "karmada-es-a"}
    return work_of({"metadata": metadata, "spec": {"workload": {"manifests": [manifest]}}}, status)


def room(request: Mapping[str, str], *works: Work, priority_class: str = "") -> int | None:
    asked = ReplicaRequirements(resource_request=request, namespace="shop", priority_class_name=priority_class)
    return room_in_quotas([(asked, 1)], [found for work in works if (found := reported_quota(work)) is not None])


def test_a_quota_leaves_room_for_what_is_not_used_of_what_a_replica_asks_for() -> None:
    status = {"hard": {"requests.cpu": "4", "memory": "8Gi", "limits.cpu": "1"}, "used": {"memory": "1Gi"}}
    assert room({"cpu": "1", "memory": "2Gi"}, with_quota({}, status)) == 3
    status["used"] |= {"requests.cpu": "2500m", "limits.cpu": "1"}
    assert room({"cpu": "1", "memory": "2Gi"}, with_quota({}, status)) == 1
    assert room({"cpu": "2"}, with_quota({}, status)) == 0
    status["used"]["requests.cpu"] = "9"
    assert room({"cpu": "1"}, with_quota({}, status)) == 0


def test_the_narrowest_quota_counts_and_what_says_nothing_does_not() -> None:
    wide, narrow = ({"hard": {"cpu": hard}, "used": {"cpu": "0"}} for hard in ("9", "5"))
    assert room({"cpu": "1"}, with_quota({}, wide), with_quota({}, narrow)) == 5
    assert room({"cpu": "1"}, with_quota({}, None), with_quota({}, {"hard": "?"})) is None
    assert room({"memory": "1Gi"}, with_quota({}, wide)) is None
    assert room({}, with_quota({}, wide)) is None
    assert room({"cpu": "0"}, with_quota({}, wide)) is None
    assert reported_quota(with_quota({}, {"used": {"cpu": "1"}})) is None


def test_a_set_of_components_fits_as_a_whole_and_counts_where_its_class_is_concerned() -> None:
    """Five cores are free: a set takes one and two of one each, of which the high quota concerns the two alone."""
    work = with_quota({}, {"hard": {"cpu": "5"}, "used": {"cpu": "0"}})
    scoped = with_quota({"scopes": ["PriorityClass"]}, {"hard": {"cpu": "5"}, "used": {"cpu": "0"}})
    each = ComponentReplicaRequirements(resource_request={"cpu": "1"})
    parts = [(each, 1), (msgspec.structs.replace(each, priority_class_name="high"), 2), (None, 4)]
    assert [room_in_quotas(parts, [quota_of(one)]) for one in (work, scoped)] == [1, 2]


def quota_of(work: Work) -> ReportedQuota:
    found = reported_quota(work)
    assert found is not None
    return found


def test_what_is_reserved_counts_as_used_until_the_quota_reports_it() -> None:
    def used(cpu: str) -> ReportedQuota:
        return quota_of(with_quota({}, {"hard": {"requests.cpu": "9"}, "used": {"requests.cpu": cpu}}))

    reserved = [(ReplicaRequirements(resource_request={"cpu": "1", "memory": "1Gi"}), 3)]
    left = [with_reserved(used(cpu), [used("2")], reserved).used["requests.cpu"].value for cpu in ("2", "4", "5", "7")]
    assert left == [5, 5, 5, 7]
    assert with_reserved(used("2"), [], reserved).used["requests.cpu"].value == 5, "the quota is new"
    assert with_reserved(used("2"), [used("1")], []) == used("2")


@pytest.mark.parametrize(
    ("spec", "priority_class", "concerned"),
    [
        ({"scopes": ["PriorityClass"]}, "high", True),
        ({"scopes": ["PriorityClass"]}, "", False),
        ({"scopes": ["BestEffort"]}, "high", False),
        ({"scopeSelector": {"matchExpressions": [{"scopeName": "NotTerminating", "operator": "Exists"}]}}, "", False),
        ({"scopeSelector": {"matchExpressions": [IN_HIGH]}}, "high", True),
        ({"scopeSelector": {"matchExpressions": [IN_HIGH]}}, "low", False),
        ({"scopeSelector": {"matchExpressions": [IN_HIGH]}}, "", False),
        ({"scopeSelector": {"matchExpressions": [ANY_CLASS]}}, "high", True),
        ({"scopeSelector": {"matchExpressions": [ANY_CLASS]}}, "", False),
    ],
)
def test_a_quota_with_a_scope_counts_for_its_priority_class(
    spec: Mapping[str, Any], priority_class: str, concerned: bool
) -> None:
    work = with_quota(spec, {"hard": {"cpu": "4"}, "used": {"cpu": "1"}})
    assert room({"cpu": "1"}, work, priority_class=priority_class) == (3 if concerned else None)


def test_only_works_with_a_resource_quota_have_one() -> None:
    assert quota_namespace(with_quota({}, None)) == "shop"
    assert quota_namespace(with_quota({}, None, kind="ConfigMap")) == ""
    assert quota_namespace(from_wire({"metadata": {"name": "empty"}}, Work)) == ""


@pytest.mark.parametrize(
    ("patch", "part"),
    [
        ({"spec": {"replicas": 2, "replicaRequirements": {}}}, {"spec": {"replicas": 2}}),
        ({"spec": {"replicas": None}}, {"spec": {"replicas": 0}}),
        ({"spec": {"replicas": 4}}, None),
        ({"spec": {"replicaRequirements": {}}}, None),
        ({"metadata": {}}, None),
    ],
)
def test_of_what_is_refused_fewer_replicas_are_written_alone(patch: Manifest, part: Manifest | None) -> None:
    assert fewer_replicas_alone(patch, 4) == part
