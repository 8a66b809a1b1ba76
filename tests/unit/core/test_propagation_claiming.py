"""The marks of a claim, what of a binding is the detector's, and which policy keeps a template."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from kubeapi.codec import from_wire
from kubeapi.meta import Manifest
from leeward.api.names import CLUSTER_POLICY_ID_LABEL, POLICY_ID_LABEL
from leeward.api.policy import ClusterPropagationPolicy, PropagationPolicy
from leeward.core.propagation.binding import build_binding
from leeward.core.propagation.claiming import belongs_to, binding_patch, claim_patch, claimed_by
from leeward.core.propagation.digest import contents_digest, digest_annotations, template_digest
from leeward.core.propagation.matching import find_policy, keep_or_find_policy

NAME, NAMESPACE = "propagationpolicy.karmada.io/name", "propagationpolicy.karmada.io/namespace"
CLUSTER_NAME = "clusterpropagationpolicy.karmada.io/name"
MARKS = ({POLICY_ID_LABEL: "id-1"}, {NAMESPACE: "default", NAME: "web"})
TEMPLATE: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "web",
        "namespace": "default",
        "uid": "u-1",
        "resourceVersion": "5",
        "labels": {"app": "web"},
        "annotations": {"team": "shop"},
    },
    "spec": {"replicas": 2},
}


def marked(**metadata: Any) -> Manifest:
    return {**TEMPLATE, "metadata": {**TEMPLATE["metadata"], **metadata}}


def after(present: Any, patch: Any) -> Any:
    """`present` under a JSON merge patch."""
    if not isinstance(patch, dict):
        return patch
    merged: dict[str, Any] = dict(cast(Manifest, present)) if isinstance(present, dict) else {}
    for key, value in cast(Manifest, patch).items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = after(merged.get(key), value)
    return merged


def wire(name: str, namespace: str, marks: Mapping[str, Any], spec: Mapping[str, Any]) -> Manifest:
    selector = {"apiVersion": "apps/v1", "kind": "Deployment"}
    label = POLICY_ID_LABEL if namespace else CLUSTER_POLICY_ID_LABEL
    metadata = {"name": name, "namespace": namespace, "labels": {label: f"id-{name}"}, **marks}
    return {"metadata": metadata, "spec": {"resourceSelectors": [selector], "placement": {}, **spec}}


def policy(
    name: str, namespace: str = "default", marks: Mapping[str, Any] | None = None, **spec: Any
) -> PropagationPolicy:
    return from_wire(wire(name, namespace, marks or {}, spec), PropagationPolicy)


def cluster_policy(name: str, marks: Mapping[str, Any] | None = None, **spec: Any) -> ClusterPropagationPolicy:
    return from_wire(wire(name, "", marks or {}, spec), ClusterPropagationPolicy)


def test_a_template_says_by_whom_it_is_claimed() -> None:
    assert claimed_by(TEMPLATE) == ""
    assert claimed_by(marked(labels={POLICY_ID_LABEL: "", CLUSTER_POLICY_ID_LABEL: "id-2"})) == "id-2"
    assert claimed_by(marked(labels={POLICY_ID_LABEL: "id-1"})) == "id-1"


def test_s9_a_claim_leaves_the_users_marks_and_takes_an_earlier_claim_away() -> None:
    earlier = marked(
        labels={"app": "web", CLUSTER_POLICY_ID_LABEL: "id-0"}, annotations={"team": "shop", CLUSTER_NAME: "all"}
    )
    claimed = after(earlier, claim_patch(earlier, *MARKS))
    assert claimed["metadata"]["labels"] == {"app": "web", POLICY_ID_LABEL: "id-1"}
    assert claimed["metadata"]["annotations"] == {"team": "shop", NAMESPACE: "default", NAME: "web"}
    assert {key: claimed["metadata"][key] for key in ("name", "uid")} == {"name": "web", "uid": "u-1"}
    assert claim_patch(claimed, *MARKS) == {}, "claimed twice, nothing is written"


def test_a_claim_that_is_given_up_leaves_the_template_as_it_was() -> None:
    claimed = after(TEMPLATE, claim_patch(TEMPLATE, *MARKS))
    assert after(claimed, claim_patch(claimed, {}, {})) == TEMPLATE


PRESENT: dict[str, Any] = {
    "apiVersion": "work.karmada.io/v1alpha2",
    "kind": "ResourceBinding",
    "metadata": {
        "name": "web-deployment",
        "resourceVersion": "7",
        "labels": {"users": "own", CLUSTER_POLICY_ID_LABEL: "id-0"},
        "annotations": {"users": "own", "leeward.dev/failback": "Automatic"},
        "finalizers": ["karmada.io/binding-controller"],
    },
    "spec": {
        "resource": {"kind": "Deployment"},
        "replicas": 2,
        "failover": {"cluster": {}},
        "clusters": [{"name": "m1", "replicas": 2}],
        "gracefulEvictionTasks": [{"fromCluster": "m2"}],
        "requiredBy": [{"name": "other"}],
        "suspension": {"scheduling": True, "dispatching": True},
    },
}
DESIRED: dict[str, Any] = {
    "metadata": {"labels": {POLICY_ID_LABEL: "id-1"}, "annotations": {NAME: "web"}},
    "spec": {"resource": {"kind": "Deployment"}, "replicas": 3, "placement": {"a": "b"}},
}


def test_s9_a_binding_keeps_what_the_scheduler_and_others_have_written() -> None:
    patched = after(PRESENT, binding_patch(PRESENT, DESIRED))
    assert patched["spec"] == {
        "resource": {"kind": "Deployment"},
        "replicas": 3,
        "placement": {"a": "b"},
        "clusters": [{"name": "m1", "replicas": 2}],
        "gracefulEvictionTasks": [{"fromCluster": "m2"}],
        "requiredBy": [{"name": "other"}],
        "suspension": {"scheduling": True},
    }
    assert patched["metadata"]["labels"] == {"users": "own", POLICY_ID_LABEL: "id-1"}
    assert patched["metadata"]["annotations"] == {"users": "own", NAME: "web"}
    assert patched["metadata"]["finalizers"] == ["karmada.io/binding-controller"]
    assert binding_patch(patched, DESIRED) == {}


@pytest.mark.parametrize(
    ("present", "desired", "expected"),
    [
        (None, None, None),
        (None, {"dispatching": True}, {"dispatching": True}),
        ({"dispatching": True}, None, None),
        ({"scheduling": False}, {"dispatching": True}, {"dispatching": True, "scheduling": False}),
    ],
)
def test_dispatching_follows_the_policy_and_scheduling_does_not(present: Any, desired: Any, expected: Any) -> None:
    binding = {"metadata": {}, "spec": {} if present is None else {"suspension": present}}
    wanted = {"metadata": {}, "spec": {} if desired is None else {"suspension": desired}}
    assert after(binding, binding_patch(binding, wanted))["spec"].get("suspension") == expected


@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        (None, True),
        ([], True),
        ([{"uid": "u-1", "controller": True}], True),
        ([{"uid": "u-0", "controller": True}], False),
        ([{"uid": "u-0"}], True),
        ([{"uid": "u-0", "controller": False}, {"uid": "u-1", "controller": True}], True),
    ],
)
def test_a_binding_of_an_earlier_template_of_that_name_is_not_taken_for_this_one(owners: Any, expected: bool) -> None:
    assert belongs_to({"metadata": {"ownerReferences": owners} if owners is not None else {}}, TEMPLATE) is expected


def test_a_change_of_status_is_no_change_of_the_template_and_every_other_one_is() -> None:
    digest = template_digest(TEMPLATE)
    assert len(digest) == 16
    assert int(digest, 16)
    bookkeeping = marked(resourceVersion="6", generation=9, managedFields=[{"manager": "kubectl"}])
    assert template_digest({**bookkeeping, "status": {"readyReplicas": 2}}) == digest
    for changed in ({**TEMPLATE, "spec": {"replicas": 3}}, marked(labels={"app": "shop"}), marked(uid="u-2")):
        assert template_digest(changed) != digest


def test_metadata_are_no_contents() -> None:
    digest = contents_digest(TEMPLATE)
    assert contents_digest({**marked(labels={"app": "shop"}, uid="u-2"), "status": {"readyReplicas": 2}}) == digest
    assert contents_digest({**TEMPLATE, "spec": {"replicas": 3}}) != digest


def test_a_claimed_template_stays_with_its_policy_when_a_better_one_comes() -> None:
    late, first = policy("late", priority=9), policy("first")
    everywhere = cluster_policy("all")
    assert find_policy(TEMPLATE, [late, first], [everywhere]) is late
    assert keep_or_find_policy(TEMPLATE, "", [late, first], [everywhere]) is late
    assert keep_or_find_policy(TEMPLATE, "id-first", [late, first], [everywhere]) is first
    assert keep_or_find_policy(TEMPLATE, "id-all", [late, first], [everywhere]) is everywhere
    assert keep_or_find_policy(TEMPLATE, "id-gone", [late, first], [everywhere]) is late
    assert keep_or_find_policy(TEMPLATE, "id-gone", [], [everywhere]) is everywhere


def test_a_policy_that_no_longer_selects_the_template_keeps_it_no_longer() -> None:
    others = policy("first", resourceSelectors=[{"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"}])
    elsewhere = policy("elsewhere", "other-namespace")
    late = policy("late")
    assert keep_or_find_policy(TEMPLATE, "id-first", [others, late], []) is late
    assert keep_or_find_policy(TEMPLATE, "id-elsewhere", [elsewhere, late], []) is late


def test_a_policy_that_is_being_deleted_neither_keeps_nor_takes() -> None:
    leaving = policy("first", marks={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert keep_or_find_policy(TEMPLATE, "id-first", [leaving], []) is None
    assert find_policy(TEMPLATE, [leaving], []) is None


def test_a_cluster_wide_template_is_claimed_by_cluster_wide_policies_only() -> None:
    role: Manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    local, everywhere = policy("local"), cluster_policy("all")
    assert find_policy(role, [local], [everywhere]) is everywhere
    assert find_policy(role, [local], []) is None
    assert keep_or_find_policy(role, "id-local", [local], []) is None
    assert keep_or_find_policy(role, "id-all", [local], [everywhere]) is everywhere
    elsewhere = cluster_policy(
        "all", resourceSelectors=[{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "a"}]
    )
    assert find_policy(role, [], [elsewhere]) is None


def test_of_two_policies_alike_the_name_decides() -> None:
    one, two = policy("one"), policy("two")
    assert find_policy(TEMPLATE, [two, one], []) is one


def test_a_binding_has_the_options_of_its_policy_and_belongs_to_its_template() -> None:
    options = {"leeward.dev/failback": "Automatic", "team": "platform"}
    suspension = {"dispatchingOnClusters": {"clusterNames": ["m1"]}}
    rule = policy("web", marks={"annotations": options}, suspension=suspension)
    binding = build_binding(TEMPLATE, rule)
    assert (binding["apiVersion"], binding["kind"]) == ("work.karmada.io/v1alpha2", "ResourceBinding")
    assert binding["metadata"]["annotations"]["leeward.dev/failback"] == "Automatic"
    assert "team" not in binding["metadata"]["annotations"]
    assert [owner["uid"] for owner in binding["metadata"]["ownerReferences"]] == ["u-1"]
    assert binding["spec"]["resource"] == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
        "namespace": "default",
        "uid": "u-1",
        "resourceVersion": "5",
    }
    assert binding["spec"]["suspension"] == {"dispatchingOnClusters": {"clusterNames": ["m1"]}}
    assert "schedulePriority" not in binding["spec"]


@pytest.mark.parametrize("namespace", ["default", ""])
def test_a_policy_that_has_no_id_yet_leaves_an_empty_mark_and_no_null(namespace: str) -> None:
    rule = policy("web", marks={"labels": {}}) if namespace else cluster_policy("web", marks={"labels": {}})
    template = marked(namespace=namespace)
    metadata = build_binding(template, rule)["metadata"]
    assert metadata["labels"] == {POLICY_ID_LABEL if namespace else CLUSTER_POLICY_ID_LABEL: ""}
    assert ("namespace" in metadata) == bool(namespace)


def test_groups_of_affinity_are_behind_their_gate_and_are_those_that_labels_name() -> None:
    rule = policy("web", placement={"workloadAffinity": {"affinity": {"groupByLabelKey": "app"}}})
    gated = build_binding(TEMPLATE, rule, workload_affinity=True)
    assert gated["spec"]["workloadAffinityGroups"] == {"affinityGroup": "app=web"}
    assert "workloadAffinityGroups" not in build_binding(TEMPLATE, rule)["spec"]
    assert "workloadAffinityGroups" not in build_binding(marked(labels={}), rule, workload_affinity=True)["spec"]


def test_the_digest_of_the_contents_is_noted_with_another_digest_and_not_alone() -> None:
    digests = {"leeward.dev/template-digest": template_digest(TEMPLATE)}
    contents = {"leeward.dev/template-contents": contents_digest(TEMPLATE)}
    assert digest_annotations(TEMPLATE, None) == digests | contents
    assert digest_annotations(TEMPLATE, "other") == digests | contents
    assert digest_annotations(TEMPLATE, template_digest(TEMPLATE)) == digests
