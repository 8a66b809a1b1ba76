"""Refusals of an object that a rule can make nothing of: the field, and what is wrong with it."""

from collections.abc import Callable
from typing import Any

import pytest

from kubeapi.meta import LabelSelector, Manifest
from leeward.api.interpreter_config import DependentObjectReference
from leeward.api.names import LAZY_DIGEST_ANNOTATION
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter import (
    aggregate_status,
    components_of,
    dependencies_of,
    has_dependencies,
    health_of,
    prune,
    replicas_of,
    revise_replicas,
)
from leeward.core.interpreter.dependencies import in_order
from leeward.core.interpreter.resource_health import ResourceHealth
from leeward.core.interpreter.rules import InterpretationError
from leeward.core.interpreter.thirdparty.aggregation import count, number, total_of
from leeward.core.interpreter.thirdparty.merged_conditions import merge_conditions
from leeward.core.interpreter.thirdparty.pod_templates import component_requirements, pod_template
from leeward.core.interpreter.thirdparty.references import namespace_of, reference, values_dependencies

CLONE_SET, DAEMON_SET = ("apps.kruise.io/v1alpha1", "CloneSet"), ("apps.kruise.io/v1alpha1", "DaemonSet")
BROADCAST_JOB, CRON_JOB = ("apps.kruise.io/v1alpha1", "BroadcastJob"), ("apps.kruise.io/v1alpha1", "AdvancedCronJob")
FLINK, SPARK = ("flink.apache.org/v1beta1", "FlinkDeployment"), ("sparkoperator.k8s.io/v1beta2", "SparkApplication")
RAY, VOLCANO = ("ray.io/v1", "RayCluster"), ("batch.volcano.sh/v1alpha1", "Job")
POD: Manifest = {"spec": {"containers": [{"name": "c"}]}}


def of(kind: tuple[str, str], **parts: Any) -> Manifest:
    return {"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": "a", "namespace": "n"}, **parts}


def refusal(ask: Callable[..., Any], *given: Any) -> str:
    with pytest.raises(InterpretationError) as refused:
        ask(*given)
    return str(refused.value)


@pytest.mark.parametrize(
    ("ask", "template", "said"),
    [
        (replicas_of, of(CLONE_SET, spec={}), "spec.template is missing: it must be a pod template"),
        (replicas_of, of(CLONE_SET, spec={"replicas": "many", "template": POD}), "'many' is no number"),
        (replicas_of, of(CLONE_SET, spec={"replicas": 2**31, "template": POD}), "2147483648 is no number of 32 bits"),
        (replicas_of, of(BROADCAST_JOB), "spec is missing"),
        (dependencies_of, of(CLONE_SET, spec={"template": {"metadata": {}}}), "a pod template has no spec"),
        (
            dependencies_of,
            of(CRON_JOB, spec={"template": {}}),
            "spec.template must have one of jobTemplate and broadcastJobTemplate",
        ),
        (dependencies_of, of(CRON_JOB), "spec is missing"),
        (components_of, of(VOLCANO, spec={"tasks": [{"name": 7}]}), "spec.tasks[0].name must be a text"),
        (
            components_of,
            of(VOLCANO, spec={"tasks": [{"minAvailable": 1.5, "template": POD}]}),
            "minAvailable: 1.5 is no whole number",
        ),
        (
            components_of,
            of(RAY, spec={"workerGroupSpecs": [{}, {"groupName": 7}]}),
            "workerGroupSpecs[1].groupName must be a text",
        ),
        (
            replicas_of,
            of(FLINK, spec={"jobManager": {"resource": {"memory": 5}}}),
            "spec.jobManager.resource.memory: 5 is no text",
        ),
        (
            replicas_of,
            of(FLINK, spec={"taskManager": {"resource": {"cpu": "much"}}}),
            "spec.taskManager.resource.cpu: ",
        ),
        (
            components_of,
            of(SPARK, spec={"driver": {"memory": "1x"}}),
            "spec.driver.memory: '1x' is no amount of memory, such as 512m or 1g",
        ),
        (
            components_of,
            of(SPARK, spec={"driver": {"memoryOverhead": 5}}),
            "spec.driver.memoryOverhead: 5 is no amount of memory, such as 512m or 1g",
        ),
    ],
)
def test_what_makes_no_sense_is_said_with_its_field(ask: Callable[..., Any], template: Manifest, said: str) -> None:
    assert refusal(ask, template).startswith(said)


def test_a_number_of_replicas_is_written_into_a_spec() -> None:
    assert refusal(revise_replicas, of(CLONE_SET), 3) == "spec is missing"
    assert refusal(revise_replicas, of(BROADCAST_JOB), 3) == "spec is missing"
    assert revise_replicas(of(BROADCAST_JOB, spec={}), 3)["spec"] == {"parallelism": 3}


@pytest.mark.parametrize("kind", [CLONE_SET, DAEMON_SET, BROADCAST_JOB])
def test_what_has_no_status_is_neither_healthy_nor_ill(kind: tuple[str, str]) -> None:
    assert health_of(of(kind, spec={})) is ResourceHealth.UNKNOWN


@pytest.mark.parametrize(
    ("status", "health"),
    [
        ({"failed": 0, "desired": 3, "succeeded": 3, "active": 0}, ResourceHealth.HEALTHY),
        ({"failed": 0, "desired": 3, "succeeded": 2, "active": 0}, ResourceHealth.HEALTHY),
        ({"failed": 0, "desired": 3, "succeeded": 0, "active": 0}, ResourceHealth.UNHEALTHY),
        ({"failed": 0, "desired": 3, "active": 0}, ResourceHealth.HEALTHY),
        ({"failed": 0, "succeeded": 2, "active": 0}, ResourceHealth.HEALTHY),
        ({"failed": 0, "desired": 0, "active": 1}, ResourceHealth.UNHEALTHY),
        ({"failed": 0}, ResourceHealth.HEALTHY),
        ({"failed": 0, "desired": 3, "succeeded": 2, "active": 1}, ResourceHealth.HEALTHY),
        ({"failed": 1, "desired": 3, "succeeded": 3}, ResourceHealth.UNHEALTHY),
        ({"desired": 3, "succeeded": 3}, ResourceHealth.UNHEALTHY),
        ({"failed": "some"}, ResourceHealth.UNKNOWN),
    ],
)
def test_a_broadcast_job_is_well_unless_a_pod_failed_or_none_runs_nor_has_run(
    status: Manifest, health: ResourceHealth
) -> None:
    """The script of Karmada for BroadcastJob compares counts with 0, and takes one that is not told for another."""
    assert health_of(of(BROADCAST_JOB, spec={}, status=status)) is health


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ({"spec": {"nodeSelector": {"a": 1}}}, "template.spec.nodeSelector.a must be a text, not 1"),
        ({"spec": "text"}, "template.spec must be a mapping"),
        ({"spec": {"containers": "text"}}, "template.spec.containers must be a list"),
        (
            {"spec": {"containers": [{}, {"resources": {"requests": {"cpu": "much"}}}]}},
            "template.spec.containers[1].resources.requests.cpu: ",
        ),
    ],
)
def test_a_pod_template_that_is_not_of_the_type_is_refused(template: Manifest, said: str) -> None:
    assert refusal(pod_template, {"template": template}, "template").startswith(said)


def test_a_component_goes_where_its_pods_may() -> None:
    spec = {"nodeSelector": {"disk": "ssd"}, "containers": [{"resources": {"requests": {"cpu": "1"}}}]}
    needs = component_requirements({"spec": spec})
    assert needs is not None
    assert needs.resource_request == {"cpu": "1"}
    assert needs.node_claim is not None
    assert needs.node_claim.node_selector == {"disk": "ssd"}


def test_names_of_other_objects_are_texts() -> None:
    assert namespace_of({"metadata": {}}) == ""
    assert refusal(namespace_of, {"metadata": {"namespace": 7}}) == "metadata.namespace: 7 is no text"
    assert reference("Secret", "n", "key", "spec.key") == DependentObjectReference(
        api_version="v1", kind="Secret", namespace="n", name="key"
    )
    for name in ("", None, 7):
        said = f"spec.key must be the name of a Secret, not {name!r}"
        assert refusal(reference, "Secret", "n", name, "spec.key") == said
    values = {"metadata": {"namespace": "n"}, "from": [{"kind": "ConfigMap", "name": "a"}, {"kind": "Other"}]}
    assert [(each.kind, each.namespace, each.name) for each in values_dependencies(values, "from")] == [
        ("ConfigMap", "n", "a")
    ]
    bare = {"spec": {"from": [{"kind": "Secret"}]}}
    assert refusal(values_dependencies, bare, "spec", "from") == (
        "spec.from.name must be the name of a Secret, not None"
    )


@pytest.mark.parametrize(
    ("value", "found"), [(3, 3), (1.5, 1.5), ("7", 7), ("1.5", 1.5), ("1e3", 1000), (-2, -2), (True, None), ("", None)]
)
def test_a_number_may_be_a_text(value: Any, found: float | None) -> None:
    if found is None:
        assert refusal(number, value) == f"{value!r} is no number"
    else:
        assert number(value) == found
        assert total_of([value, 1]) == found + 1


@pytest.mark.parametrize("value", [None, "nan", "text", [], {}])
def test_what_is_no_number_is_not_zero(value: Any) -> None:
    assert refusal(number, value) == f"{value!r} is no number"
    assert refusal(count, value) == f"{value!r} is no number"


def test_a_count_has_32_bits_and_no_fraction() -> None:
    assert (count(2**31 - 1), count(-(2**31)), count(2.9)) == (2**31 - 1, -(2**31), 2)
    assert refusal(count, 2**31) == "2147483648 is no number of 32 bits"
    assert refusal(count, -(2**31) - 1) == "-2147483649 is no number of 32 bits"


def test_conditions_of_several_clusters_are_one_with_all_messages() -> None:
    def item(name: str, **condition: Any) -> AggregatedStatusItem:
        return AggregatedStatusItem(cluster_name=name, status={"conditions": [{"type": "Ready", **condition}]})

    well = {"status": "True", "reason": "R", "message": "ok"}
    items = [item("a", **well, x=1), item("b", **well), item("c", **{**well, "status": "False"})]
    assert merge_conditions(items) == [
        {"type": "Ready", **well, "message": "a=ok, b=ok", "x": 1},
        {"type": "Ready", **well, "status": "False", "message": "c=ok"},
    ]
    assert refusal(merge_conditions, [item("a", status="True")]) == "a condition of a has no message"


def test_a_status_of_a_template_without_metadata_is_none() -> None:
    bare: Manifest = {"apiVersion": CLONE_SET[0], "kind": CLONE_SET[1], "spec": {}}
    assert refusal(aggregate_status, bare, []) == "metadata is missing"


def test_of_a_kind_that_nothing_is_known_of_nothing_is_asked() -> None:
    unknown = of(("example.com/v1", "Farm"))
    assert not has_dependencies(unknown)
    assert has_dependencies(of(("apps/v1", "Deployment")))
    assert components_of(unknown) is None
    assert components_of(of(VOLCANO, spec={})) == ()


def test_selectors_of_dependencies_are_in_order() -> None:
    def selecting(value: str) -> DependentObjectReference:
        from_label = {"app": value}
        return DependentObjectReference(
            api_version="v1", kind="Secret", namespace="n", label_selector=LabelSelector(match_labels=from_label)
        )

    assert in_order([selecting("b"), selecting("a"), selecting("b")]) == [selecting("a"), selecting("b")]


def test_the_digest_of_a_lazy_policy_stays_in_the_control_plane() -> None:
    marked = of(("v1", "ConfigMap"), data={})
    marked["metadata"]["annotations"] = {LAZY_DIGEST_ANNOTATION: "x", "mine": "y"}
    assert prune(marked)["metadata"]["annotations"] == {"mine": "y"}
    assert marked["metadata"]["annotations"] == {LAZY_DIGEST_ANNOTATION: "x", "mine": "y"}
