"""Admission reviews: what a kube-apiserver asks, and what it is told."""

import asyncio
import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from kubeapi import jsonpatch
from kubeapi.meta import Manifest
from leeward.api.defaulting import DefaultingSettings
from leeward.core.admission_warnings import MAX_WARNING_CHARACTERS
from leeward.core.propagation.reach import Reach
from leeward.webhook.reviews import BadReview, answer_review, judge, mutate

SETTINGS = DefaultingSettings(now=datetime(2026, 1, 1, tzinfo=UTC), new_uid=lambda: "an-id")
POLICY: dict[str, Any] = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "nginx", "namespace": "default"},
    "spec": {
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx", "namespace": "default"}],
        "placement": {},
    },
}


def request(operation: str, **objects: Any) -> dict[str, Any]:
    return {"uid": "7", "operation": operation, **objects}


async def judged(asked: Mapping[str, Any]) -> Manifest:
    return judge(asked)


def body(**fields: Any) -> bytes:
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", **fields}).encode()


def test_a_policy_is_given_its_defaults_by_a_patch() -> None:
    response = mutate(request("CREATE", object=POLICY), SETTINGS)
    assert response["allowed"]
    patched = jsonpatch.apply(POLICY, json.loads(base64.b64decode(response["patch"])))
    keys = [toleration["key"] for toleration in patched["spec"]["placement"]["clusterTolerations"]]
    assert keys == ["cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable"]
    assert patched["metadata"]["labels"] == {"propagationpolicy.karmada.io/permanent-id": "an-id"}


@pytest.mark.parametrize(("old", "today"), [("Graciously", "Gracefully"), ("Immediately", "Directly")])
def test_an_old_purge_mode_is_stored_as_the_word_of_today_with_a_warning(old: str, today: str) -> None:
    failover = {"application": {"decisionConditions": {"tolerationSeconds": 60}, "purgeMode": old}}
    policy = {**POLICY, "spec": {**POLICY["spec"], "failover": failover, "propagateDeps": True}}
    response = mutate(request("CREATE", object=policy), SETTINGS)
    patched = jsonpatch.apply(policy, json.loads(base64.b64decode(response["patch"])))
    assert patched["spec"]["failover"]["application"]["purgeMode"] == today
    assert [f"read as {today}" in warning for warning in response["warnings"]] == [True]
    assert judge(request("CREATE", object=patched)) == {"allowed": True}


def test_a_binding_has_its_old_words_replaced_and_nothing_else_changed() -> None:
    task = {"fromCluster": "a", "reason": "R", "producer": "P", "purgeMode": "Immediately"}
    label = {"resourcebinding.karmada.io/permanent-id": "an-id"}
    binding: dict[str, Any] = {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {"name": "nginx-deployment", "namespace": "default", "labels": label},
        "spec": {"gracefulEvictionTasks": [{**task, "purgeMode": "Never"}, task]},
    }
    response = mutate(request("UPDATE", object=binding, oldObject=binding), SETTINGS)
    patched = jsonpatch.apply(binding, json.loads(base64.b64decode(response["patch"])))
    assert [each.pop("purgeMode") for each in patched["spec"]["gracefulEvictionTasks"]] == ["Never", "Directly"]
    assert (patched["metadata"], patched["spec"].keys()) == (binding["metadata"], {"gracefulEvictionTasks"})
    assert response["warnings"] == [
        "spec.gracefulEvictionTasks[1].purgeMode: Immediately is read as Directly; write Directly, since Karmada 1.19 "
        "refuses Immediately"
    ]


def test_a_problem_that_was_stored_before_refuses_no_update_and_a_new_one_does() -> None:
    """An older Karmada took a constraint by zone alone; its finalizer has to come off all the same."""
    labels = {"propagationpolicy.karmada.io/permanent-id": "an-id"}
    spec = {**POLICY["spec"], "placement": {"spreadConstraints": [{"spreadByField": "zone", "minGroups": 1}]}}
    stored = {**POLICY, "metadata": {**POLICY["metadata"], "labels": labels, "finalizers": ["a/b"]}, "spec": spec}
    released = {**stored, "metadata": {**stored["metadata"], "finalizers": []}}
    assert judge(request("UPDATE", object=released, oldObject=stored))["allowed"]
    assert not judge(request("CREATE", object=stored))["allowed"]
    wrong = {"spreadConstraints": [{"spreadByField": "region", "minGroups": 1}]}
    changed = {**released, "spec": {**spec, "placement": wrong}}
    assert not judge(request("UPDATE", object=changed, oldObject=stored))["allowed"]


def test_what_has_its_defaults_is_not_patched() -> None:
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "nginx"}}
    assert mutate(request("CREATE", object=deployment), SETTINGS) == {"allowed": True}


def test_who_propagates_webhooks_hears_that_they_are_asked_here_as_well_and_the_way_out() -> None:
    selectors = [
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "name": "guard"}
        for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    ]
    labels = {"clusterpropagationpolicy.karmada.io/permanent-id": "an-id"}
    everywhere = {**POLICY, "kind": "ClusterPropagationPolicy", "metadata": {"name": "guard", "labels": labels}}
    everywhere["spec"] = {**POLICY["spec"], "resourceSelectors": selectors}
    warnings: list[str] = judge(request("CREATE", object=everywhere))["warnings"]
    assert [warning.partition(":")[0] for warning in warnings] == [selectors[0]["kind"], selectors[1]["kind"]]
    assert all("matchConditions" in warning and len(warning) <= MAX_WARNING_CHARACTERS for warning in warnings)
    everywhere["spec"] = POLICY["spec"]
    assert judge(request("CREATE", object=everywhere)) == {"allowed": True}


def test_a_gate_that_is_on_is_not_warned_of() -> None:
    labels = {"propagationpolicy.karmada.io/permanent-id": "an-id"}
    spec = {**POLICY["spec"], "preemption": "Always", "priority": 2}
    policy = {**POLICY, "metadata": {**POLICY["metadata"], "labels": labels}, "spec": spec}
    (warning,) = judge(request("CREATE", object=policy))["warnings"]
    assert "--feature-gates=PropagationPolicyPreemption=true, which is off by default" in warning
    assert judge(request("CREATE", object=policy), gates=["PropagationPolicyPreemption"]) == {"allowed": True}


def test_a_wrong_policy_is_refused_with_the_field_that_is_wrong() -> None:
    wrong = {
        **POLICY,
        "spec": {**POLICY["spec"], "placement": {"spreadConstraints": [{"minGroups": 3, "maxGroups": 1}]}},
    }
    response = judge(request("CREATE", object=wrong))
    assert not response["allowed"]
    assert response["status"]["code"] == 422
    assert "spec.placement.spreadConstraints[0]" in response["status"]["message"]


def test_a_good_policy_is_allowed() -> None:
    labels = {"propagationpolicy.karmada.io/permanent-id": "an-id"}
    good = {**POLICY, "metadata": {**POLICY["metadata"], "labels": labels}}
    assert judge(request("UPDATE", object=good, oldObject=good)) == {"allowed": True}


def test_a_protected_object_is_not_deleted() -> None:
    labels = {"resourcetemplate.karmada.io/deletion-protected": "Always"}
    protected = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "it", "labels": labels}}
    response = judge(request("DELETE", oldObject=protected, object=None))
    assert (response["allowed"], response["status"]["code"]) == (False, 403)


def test_the_answer_carries_the_uid_of_the_question() -> None:
    answered = asyncio.run(answer_review(body(request=request("CREATE", object={})), judged))
    assert answered["response"] == {"uid": "7", "allowed": True}
    assert (answered["apiVersion"], answered["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        (b"[]", "no JSON object"),
        (b"{", "no JSON object"),
        (b'{"kind": "Pod"}', "AdmissionReview of admission.k8s.io/v1"),
        (body(), "request.uid"),
        (body(request={"operation": "CREATE"}), "request.uid"),
    ],
)
def test_what_is_no_review_is_refused_with_the_reason(sent: bytes, says: str) -> None:
    with pytest.raises(BadReview, match=says):
        asyncio.run(answer_review(sent, judged))


@pytest.mark.parametrize("plural", ["clusters", "leases"])
@pytest.mark.parametrize(("name", "allowed"), [("member1", True), ("member2", False)])
def test_an_agent_creates_its_own_cluster_and_lease_and_no_others(plural: str, name: str, *, allowed: bool) -> None:
    agent = {"username": "system:karmada:agent:member1", "groups": ["system:karmada:agents"]}
    written = {"metadata": {"name": name}, "spec": {"syncMode": "Pull"}}
    namespace = "karmada-cluster" if plural == "leases" else ""
    asked = request("CREATE", object=written, resource={"resource": plural}, userInfo=agent, namespace=namespace)
    assert judge(asked)["allowed"] == allowed
    assert judge({**asked, "userInfo": {**agent, "username": name}})["allowed"] is False, "no name of an agent"
    assert judge({**asked, "namespace": "default"})["allowed"] == (allowed and plural == "clusters")


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"syncMode": "Push", "apiEndpoint": "https://evil.example"}, "spec.syncMode"),
        ({"syncMode": "Pull", "secretRef": {"namespace": "karmada-cluster", "name": "member2"}}, "spec.secretRef"),
        ({"syncMode": "Pull", "impersonatorSecretRef": "member2"}, "spec.impersonatorSecretRef"),
    ],
)
def test_an_agents_cluster_is_no_way_to_the_credential_of_another(spec: Manifest, field: str) -> None:
    agent = {"username": "system:karmada:agent:member1", "groups": ["system:karmada:agents"]}
    written = {"metadata": {"name": "member1"}, "spec": spec}
    answer = judge(request("CREATE", object=written, resource={"resource": "clusters"}, userInfo=agent))
    assert (answer["allowed"], answer["status"]["code"]) == (False, 403)
    assert field in answer["status"]["message"]


def test_a_binding_of_a_foreign_template_is_refused() -> None:
    resource = {"apiVersion": "v1", "kind": "Secret", "namespace": "karmada-cluster", "name": "member1"}
    binding: Manifest = {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {"name": "evil", "namespace": "tenant"},
        "spec": {"resource": resource},
    }
    answer = judge(request("CREATE", object=binding))
    assert (answer["allowed"], answer["status"]["code"]) == (False, 422)
    assert "spec.resource.namespace" in answer["status"]["message"]
    assert judge(request("UPDATE", object=binding, oldObject=binding))["allowed"], "what was there can be let go"
    private = Reach(skipped_namespaces=("private",))
    own = {**binding, "metadata": {"name": "evil", "namespace": "private"}}
    own["spec"] = {"resource": {**resource, "namespace": "private"}}
    assert judge(request("CREATE", object=own))["allowed"]
    assert not judge(request("CREATE", object=own), private)["allowed"]
