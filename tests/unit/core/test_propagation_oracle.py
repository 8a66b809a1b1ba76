"""Policies and bindings, against Karmada's recorded answers."""

from collections.abc import Callable
from typing import Any

from kubeapi.codec import DecodeError, from_wire
from kubeapi.meta import Manifest
from leeward.api.names import CLUSTER_POLICY_ID_LABEL, POLICY_ID_LABEL
from leeward.api.policy import AnyPropagationPolicy, ClusterPropagationPolicy, PropagationPolicy
from leeward.api.resource import PRIORITY_CLASSES
from leeward.core.propagation.binding import build_binding, claim, named_priority_class
from leeward.core.propagation.digest import template_digest
from leeward.core.propagation.matching import find_policy, selector_priority
from tests.oracle import Case, Difference, all_at, at, load, replay


def policies_of(case: Case) -> list[PropagationPolicy]:
    return from_wire(all_at(case.given, "propagationPolicies"), list[PropagationPolicy])


def cluster_policies_of(case: Case) -> list[ClusterPropagationPolicy]:
    return from_wire(all_at(case.given, "clusterPropagationPolicies"), list[ClusterPropagationPolicy])


def key_of(policy: AnyPropagationPolicy) -> str:
    parts = (type(policy).__name__, policy.namespace, policy.name)
    return "/".join(part for part in parts if part)


def test_the_policy_wins_that_wins_in_karmada() -> None:
    def answer(case: Case) -> object:
        winner = find_policy(case.given["object"], policies_of(case), cluster_policies_of(case))
        return winner and f"{type(winner).__name__}/{winner.name}"

    replay(load("policy_match"), answer, lambda case: case.expected["winner"] or None, at_least=500)


def test_selectors_are_as_precise_as_in_karmada() -> None:
    def answer(case: Case) -> object:
        policies = (*policies_of(case), *cluster_policies_of(case))
        return {key_of(p): selector_priority(case.given["object"], p.spec, "") for p in policies}

    replay(load("policy_match"), answer, lambda case: case.expected["implicitPriorities"] or {}, at_least=500)


def policy_of(case: Case) -> AnyPropagationPolicy:
    """The claiming policy, as it stands in the store."""
    cluster_wide = case.given["claim"] == "clusterpropagationpolicy"
    metadata = {
        "name": case.given["policyName"],
        "namespace": "" if cluster_wide else case.given["policyNamespace"],
        "labels": {CLUSTER_POLICY_ID_LABEL if cluster_wide else POLICY_ID_LABEL: case.given["policyID"]},
    }
    wire = {"metadata": metadata, "spec": case.given["policySpec"]}
    return from_wire(wire, ClusterPropagationPolicy if cluster_wide else PropagationPolicy)


def test_bindings_are_built_as_karmada_does() -> None:
    def differs(case: Case) -> Difference | None:
        rules = all_at(
            case.given, "policySpec", "placement", "replicaScheduling", "weightPreference", "staticWeightList"
        )
        if any(rule.get("weight", 0) < 1 for rule in rules):
            return Difference("a static weight below 1 is refused by the CRD", refused_at("weight"))
        source = at(case.given, "policySpec", "schedulePriority", "priorityClassSource")
        if source not in (None, "KubePriorityClass"):
            why = "sources of priorities that Karmada does not support either are refused by the CRD"
            return Difference(why, refused_at("priorityClassSource"))
        return None

    def answer(case: Case) -> object:
        try:
            policy = policy_of(case)
        except DecodeError as error:
            return str(error)
        classes, priority_class = case.given["priorityClasses"], named_priority_class(case.given["template"], policy)
        if priority_class is not None and priority_class not in classes:
            return not_found(PRIORITY_CLASSES.group_resource, priority_class)
        binding = build_binding(
            case.given["template"],
            policy,
            priority=classes.get(priority_class),
            workload_affinity="WorkloadAffinity=true" in case.given["featureGates"],
            quota_estimate="ResourceQuotaEstimate=true" in case.given["featureGates"],
        )
        return binding["kind"], binding["metadata"], binding["spec"]

    def expected(case: Case) -> object:
        if "error" in case.expected:
            return case.expected["error"]
        binding: dict[str, Any] = case.expected["binding"]
        return case.expected["kind"], binding["metadata"], binding["spec"]

    replay(load("build_binding"), answer, expected, differs=differs, at_least=160)


def refused_at(field: str) -> Callable[[Case, Any], None]:
    """Nothing is built: the API server refuses the policy, and names the field."""

    def is_refused(_: Case, got: Any) -> None:
        assert isinstance(got, str)
        assert f".{field}`" in got

    return is_refused


def not_found(resource: str, name: str) -> str:
    """Error as an API server says it."""
    return f'{resource} "{name}" not found'


def test_a_claim_names_the_policy_and_its_permanent_id() -> None:
    wire = {
        "metadata": {"name": "a", "namespace": "b", "labels": {POLICY_ID_LABEL: "id"}},
        "spec": {"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}]},
    }
    labels, annotations = claim(from_wire(wire, PropagationPolicy))
    assert labels == {"propagationpolicy.karmada.io/permanent-id": "id"}
    assert annotations == {
        "propagationpolicy.karmada.io/namespace": "b",
        "propagationpolicy.karmada.io/name": "a",
    }


def test_a_binding_does_not_follow_from_what_the_digest_of_a_template_leaves_out() -> None:
    """A change of such things alone is not looked at: the long way comes to the same binding."""
    reached = 0
    for case in load("build_binding"):
        template: Manifest = case.given["template"]
        beside: Manifest = {"resourceVersion": "999", "generation": 7, "managedFields": []}
        other: Manifest = {
            **template,
            "metadata": {**template["metadata"], **beside},
            "status": {"replicas": 5, "phase": "Odd"},
        }
        assert template_digest(other) == template_digest(template)
        try:
            policy = policy_of(case)
        except DecodeError:
            continue
        built, again = build_binding(template, policy), build_binding(other, policy)
        again["spec"]["resource"].pop("resourceVersion", None)
        built["spec"]["resource"].pop("resourceVersion", None)
        assert again == built
        reached += 1
    assert reached > 100
