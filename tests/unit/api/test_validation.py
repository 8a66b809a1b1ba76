"""Problems name the field and the way out, and no shape of object makes validation fail."""

from typing import Any

import pytest

from kubeapi.meta import Manifest, parse_time
from leeward.api.defaulting import DefaultingSettings, apply_defaults
from leeward.api.names import POLICY_ID_LABEL
from leeward.api.schema import CUSTOM_KINDS
from leeward.api.validation import validate, validate_deletion, validate_types

SETTINGS = DefaultingSettings(parse_time("2000-01-01T00:00:00Z"), lambda: "an-id")


def policy(spec: Manifest) -> Manifest:
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "p", "namespace": "shop"},
        "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx"}]} | spec,
    }


def problems_of(manifest: Manifest, old: Manifest | None = None) -> list[str]:
    return [str(problem) for problem in validate(apply_defaults(manifest, SETTINGS, old), old)]


def cluster(**spec: Any) -> Manifest:
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "member1"},
        "spec": {"syncMode": "Push"} | spec,
    }


def webhooks(**client_config: Any) -> Manifest:
    webhook = {"name": "w", "clientConfig": client_config, "interpreterContextVersions": ["v1alpha1"]}
    return {
        "apiVersion": "config.karmada.io/v1alpha1",
        "kind": "ResourceInterpreterWebhookConfiguration",
        "metadata": {"name": "c"},
        "webhooks": [webhook],
    }


def test_a_good_policy_has_no_problems() -> None:
    assert problems_of(policy({"placement": {"clusterAffinity": {"clusterNames": ["member1"]}}})) == []


def test_two_forms_of_affinity_exclude_each_other() -> None:
    placement: Manifest = {"clusterAffinity": {}, "clusterAffinities": [{"affinityName": "a"}]}
    (problem,) = problems_of(policy({"placement": placement}))
    assert problem.startswith("spec.placement: Invalid value: ")
    assert problem.endswith("clusterAffinity and clusterAffinities must not both be set; keep one of them")


def test_what_an_enumeration_does_not_have_is_told_with_what_it_has() -> None:
    placement: Manifest = {"replicaScheduling": {"replicaSchedulingType": "Duplicate"}}
    (problem,) = validate_types(policy({"placement": placement}))
    assert str(problem) == (
        "spec.placement.replicaScheduling.replicaSchedulingType: "
        'Unsupported value: "Duplicate": supported values: "Divided", "Duplicated"'
    )


def test_the_problem_of_a_list_member_has_its_index() -> None:
    constraints = [{"spreadByField": "cluster"}, {"spreadByLabel": "tier", "minGroups": 3, "maxGroups": 2}]
    (problem,) = problems_of(policy({"placement": {"spreadConstraints": constraints}}))
    assert problem.startswith("spec.placement.spreadConstraints[1]: ")
    assert "use 0 for no upper limit" in problem


def test_an_unknown_field_to_spread_by_is_named_with_those_that_there_are() -> None:
    constraints = [{"spreadByField": "moon"}, {"spreadByField": "cluster"}]
    (problem,) = problems_of(policy({"placement": {"spreadConstraints": constraints}}))
    assert problem == (
        'spec.placement.spreadConstraints[0].spreadByField: Unsupported value: "moon": '
        'supported values: "cluster", "region", "zone", "provider"'
    )


def test_the_scheduler_of_a_policy_stays() -> None:
    old = apply_defaults(policy({"schedulerName": "default-scheduler"}), SETTINGS)
    (problem,) = problems_of(old | {"spec": old["spec"] | {"schedulerName": "other"}}, old)
    assert problem == (
        'spec.schedulerName: Invalid value: "other": '
        "must not change; delete the policy and create it anew with another scheduler"
    )


def test_all_that_is_wrong_with_a_policy_is_named_at_once() -> None:
    old = apply_defaults(policy({"schedulerName": "default-scheduler"}), SETTINGS)
    constraints = [{"spreadByField": "moon"}, {"spreadByField": "cluster"}]
    spec = old["spec"] | {"schedulerName": "other", "placement": {"spreadConstraints": constraints}}
    labels = {**old["metadata"].get("labels", {}), POLICY_ID_LABEL: "another"}
    found = problems_of(old | {"spec": spec, "metadata": old["metadata"] | {"labels": labels}}, old)
    assert [problem.partition(": ")[0] for problem in found] == [
        "spec.schedulerName",
        "spec.placement.spreadConstraints[0].spreadByField",
        f"metadata.labels[{POLICY_ID_LABEL}]",
    ]


def test_a_label_is_set_by_one_rule_of_state_preservation() -> None:
    rules = [{"aliasLabelName": "job", "jsonPath": "{.a}"}, {"aliasLabelName": "job", "jsonPath": "{.b}"}]
    (problem,) = problems_of(policy({"failover": {"cluster": {"statePreservation": {"rules": rules}}}}))
    assert problem.startswith("spec.failover.cluster.statePreservation.rules: ")


def test_a_policy_of_another_namespace_is_pointed_to_the_cluster_scoped_kind() -> None:
    selector = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "other"}
    (problem,) = problems_of(policy({"resourceSelectors": [selector]}))
    assert "must be 'shop', the namespace of the policy; use the cluster-scoped kind" in problem


@pytest.mark.parametrize(
    ("endpoint", "advice"),
    [
        ("member1:6443", "as in https://host:6443"),
        ("https://[::1", "as in https://host:6443"),
        ("https://host:port", "as in https://host:6443"),
        ("https://user@host", "must have no user"),
    ],
)
def test_a_bad_endpoint_is_refused_with_a_good_example(endpoint: str, advice: str) -> None:
    (problem,) = problems_of(cluster(apiEndpoint=endpoint))
    assert problem.startswith("spec.apiEndpoint: ")
    assert advice in problem


def test_resource_models_must_follow_each_other_in_amount_not_in_text() -> None:
    def models(limit: str) -> list[Manifest]:
        return [
            {"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": "1"}]},
            {"grade": 1, "ranges": [{"name": "cpu", "min": limit, "max": "9"}]},
        ]

    assert problems_of(cluster(resourceModels=models("1000m"))) == []
    (problem,) = problems_of(cluster(resourceModels=models("2")))
    assert "spec.resourceModels[1].ranges[0].min must be spec.resourceModels[0].ranges[0].max" in problem


def test_a_quantity_that_is_none_is_a_problem_and_no_failure() -> None:
    models = [{"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": "1"}]}]
    given = cluster(resourceModels=models)
    given["spec"]["resourceModels"][0]["ranges"][0]["min"] = "much"
    assert validate(given)


def test_an_interpreter_webhook_has_one_address() -> None:
    service = {"namespace": "n", "name": "s"}
    assert problems_of(webhooks(service=service)) == []
    for config in ({}, {"url": "https://host", "service": service}):
        (problem,) = problems_of(webhooks(**config))
        assert problem == "webhooks[0].clientConfig: Required value: set exactly one of url and service"


def test_a_protected_object_may_not_be_deleted() -> None:
    labels = {"resourcetemplate.karmada.io/deletion-protected": "Always"}
    (problem,) = validate_deletion({"metadata": {"labels": labels}})
    assert "This resource is protected, please make sure to remove the label: resourcetemplate" in str(problem)
    assert validate_deletion({"metadata": {}}) == []


def test_other_kinds_have_no_problems() -> None:
    assert validate({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "Bad_Name"}}) == []


JUNK: tuple[Any, ...] = (None, 1, "text", [], {}, [None], ["x"], [[]], [{}], {"x": 1})


@pytest.mark.parametrize("kind", CUSTOM_KINDS, ids=lambda kind: kind.resource.kind)
def test_no_shape_of_object_makes_defaulting_or_validation_fail(kind: Any) -> None:
    for manifest in shapes(kind.resource.api_version, kind.resource.kind):
        validate(apply_defaults(manifest, SETTINGS), manifest)


FIELDS = (
    *("placement", "resourceSelectors", "failover", "suspension", "schedulerName", "overrideRules", "overriders"),
    *("taints", "resourceModels", "secretRef", "zone", "apiEndpoint", "overall", "staticAssignments", "components"),
)
MEMBERS = (
    *("clusterAffinity", "clusterAffinities", "clusterTolerations", "spreadConstraints", "replicaScheduling"),
    *("workloadAffinity", "application", "cluster", "fieldOverrider", "labelsOverrider", "imageOverrider"),
    *("ranges", "grade", "key", "value", "hard", "fieldSelector", "matchExpressions", "webhooks", "clientConfig"),
)


def shapes(api_version: str, kind: str) -> list[Manifest]:
    specs: list[Any] = list(JUNK)
    for junk in JUNK:
        members = dict.fromkeys(MEMBERS, junk)
        specs += [dict.fromkeys(FIELDS, junk), dict.fromkeys(FIELDS, members), {field: [members] for field in FIELDS}]
    base = {"apiVersion": api_version, "kind": kind}
    return [base | {"metadata": junk, "spec": spec, "webhooks": junk} for spec in specs for junk in JUNK]


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("leeward.dev/failback", "Sometimes"),
        ("leeward.dev/failback-after", "ten minutes"),
        ("leeward.dev/failback-pace", "0%"),
    ],
)
def test_a_policy_whose_failback_cannot_be_read_is_refused(annotation: str, value: str) -> None:
    asked = policy({})
    asked["metadata"]["annotations"] = {annotation: value}
    (problem,) = problems_of(asked)
    assert problem.startswith(f'metadata.annotations[{annotation}]: Invalid value: "{value}": must be ')
