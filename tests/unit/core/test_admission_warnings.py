"""Warnings for what is stored and ignored, at the embedded server and through the webhook; and the list is complete."""

import ast
import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kubeapi import codec
from kubeapi.core import LEASES
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeserver.store import Store
from kubeserver.webhooks.calling import Address
from leeward.api.defaulting import DefaultingSettings
from leeward.api.names import HEARTBEAT_NAME, SETTINGS_ANNOTATION, SYSTEM_NAMESPACE
from leeward.api.schema import custom_resource_definitions
from leeward.core.admission_warnings import (
    GATED,
    MAX_WARNING_CHARACTERS,
    UNSUPPORTED,
    warnings_for,
    warnings_of_live_templates,
)
from leeward.core.settings_in_force import render_settings
from leeward.manager.admission import KarmadaAdmission
from leeward.manager.gates import switch_gates
from leeward.manager.settings import ManagerSettings
from leeward.manager.timing import Timing
from leeward.webhook.configurations import MUTATING, VALIDATING, Endpoint, configurations
from leeward.webhook.reviews import answer_review, judge, mutate
from tests.kubeserver.api_world import ApiWorld, api_world

SOURCE = Path(__file__).parents[3] / "src" / "leeward"
FIELDS: dict[str, Any] = json.loads((Path(__file__).parents[2] / "data" / "api-fields.json").read_text())
POLICY_KINDS = ("PropagationPolicy", "ClusterPropagationPolicy")
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap"}
SELECTORS = [{**CONFIG_MAP, "name": "a", "namespace": "default"}]
WORKLOADS = {
    "PropagationPolicy": "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies",
    "ClusterPropagationPolicy": "/apis/policy.karmada.io/v1alpha1/clusterpropagationpolicies",
    "OverridePolicy": "/apis/policy.karmada.io/v1alpha1/namespaces/default/overridepolicies",
    "ClusterOverridePolicy": "/apis/policy.karmada.io/v1alpha1/clusteroverridepolicies",
    "FederatedResourceQuota": "/apis/policy.karmada.io/v1alpha1/namespaces/default/federatedresourcequotas",
    "ResourceInterpreterCustomization": "/apis/config.karmada.io/v1alpha1/resourceinterpretercustomizations",
    "ResourceInterpreterWebhookConfiguration": (
        "/apis/config.karmada.io/v1alpha1/resourceinterpreterwebhookconfigurations"
    ),
    "Cluster": "/apis/cluster.karmada.io/v1alpha1/clusters",
}
"""Paths at which objects of the kind are created."""

_RULES = [{"overriders": {"labelsOverrider": [{"operator": "add", "value": {"a": "b"}}]}}]
_WEBHOOK = {
    "name": "a.example.com",
    "rules": [{"apiGroups": ["a"], "apiVersions": ["v1"], "kinds": ["A"], "operations": ["InterpretHealth"]}],
    "clientConfig": {"url": "https://example.com/a", "caBundle": "Q0E="},
    "interpreterContextVersions": ["v1alpha1"],
}
_LUA = "function GetReplicas(o) return 1 end"
BODIES: dict[str, Manifest] = {
    **{kind: {"spec": {"resourceSelectors": SELECTORS}} for kind in POLICY_KINDS},
    "OverridePolicy": {"spec": {"resourceSelectors": SELECTORS, "overrideRules": _RULES}},
    "ClusterOverridePolicy": {"spec": {"resourceSelectors": SELECTORS, "overrideRules": _RULES}},
    "FederatedResourceQuota": {"spec": {"overall": {"cpu": "1"}}},
    "ResourceInterpreterCustomization": {
        "spec": {
            "target": {"apiVersion": "a/v1", "kind": "A"},
            "customizations": {"replicaResource": {"luaScript": _LUA}},
        }
    },
    "ResourceInterpreterWebhookConfiguration": {"webhooks": [_WEBHOOK]},
    "Cluster": {"spec": {"syncMode": "Pull"}},
}
"""One object of each kind, that asks for nothing beyond it."""

ASKED: dict[str, Any] = {
    "spec.association": True,
    "spec.preemption": "Always",
    "spec.dependentOverrides": ["a"],
    "spec.proxyHeader": {"a": "b"},
    "spec.placement.workloadAffinity": {"affinity": {"groupByLabelKey": "app"}},
}
"""Value of each field that asks for something."""

LINES = [
    *((kind, line.field) for line in UNSUPPORTED for _, kind in line.kinds),
    *((kind, field) for field, _, _ in GATED for kind in ("PropagationPolicy", "ClusterPropagationPolicy")),
]


def example(kind: str, field: str = "") -> Manifest:
    group_version = WORKLOADS[kind].removeprefix("/apis/").split("/")[:2]
    body = codec.copy_manifest(BODIES[kind])
    if field:
        *way, last = field.split(".")
        place = body
        for part in way:
            place = place.setdefault(part, {})
        place[last] = ASKED[field]
    return {"apiVersion": "/".join(group_version), "kind": kind, "metadata": {"name": "a"}, **body}


class RealWebhook:
    """Answers of `leeward webhook`, without a socket."""

    async def post(self, address: Address, body: bytes, timeout_seconds: float) -> bytes:
        del timeout_seconds

        async def answer(request: Mapping[str, Any]) -> Manifest:
            if not address.url.endswith("/mutate"):
                return judge(request)
            return mutate(request, DefaultingSettings(now=VirtualClock().now(), new_uid=lambda: "an-id"))

        return codec.encode(await answer_review(body, answer))

    async def close(self) -> None: ...


@asynccontextmanager
async def embedded() -> AsyncGenerator[ApiWorld]:
    def admission(store: Store) -> tuple[KarmadaAdmission]:
        return (KarmadaAdmission(VirtualClock(), Randomness(1), Timing.karmada(), store),)

    async with api_world(crds=custom_resource_definitions(), admission_over=admission) as world:
        yield world


@asynccontextmanager
async def behind_the_webhook() -> AsyncGenerator[ApiWorld]:
    async with api_world(crds=custom_resource_definitions(), webhook_client=RealWebhook()) as world:
        for resource, configuration in configurations(Endpoint("https://webhook.example"), b""):
            assert resource in (MUTATING, VALIDATING)
            assert (await world.create(resource.path(), configuration)).code == 201
        yield world


@pytest.mark.parametrize("server", [embedded, behind_the_webhook])
@pytest.mark.parametrize(("kind", "field"), LINES)
def test_what_is_ignored_warns_when_it_is_created_and_when_it_is_updated(server: Any, kind: str, field: str) -> None:
    async def story() -> None:
        async with server() as world:
            created = await world.create(WORKLOADS[kind], example(kind, field))
            assert created.code == 201, created.body
            changed = created.body | {"metadata": created.body["metadata"] | {"labels": {"changed": "yes"}}}
            changed["metadata"]["labels"] |= created.body["metadata"].get("labels", {})
            updated = await world.update(f"{WORKLOADS[kind]}/a", changed)
            assert updated.code == 200, updated.body
            for answer in (created, updated):
                (warning,) = warnings_for(answer.body)
                assert answer.headers["warning"] == f'299 - "{warning}"'
                assert warning.startswith(field)
                assert len(warning) <= MAX_WARNING_CHARACTERS

    run_virtual(story())


def test_a_gate_that_is_on_in_the_control_plane_is_not_warned_of() -> None:
    """The process that watches the clusters tells in its heartbeat which gates are on."""
    gated = next((kind, field) for kind, field in LINES if field == "spec.preemption")

    async def story() -> None:
        async with embedded() as world:
            settings = ManagerSettings(gates=switch_gates([("PropagationPolicyPreemption", True)])).in_force()
            about: Manifest = {
                "name": HEARTBEAT_NAME,
                "namespace": SYSTEM_NAMESPACE,
                "annotations": {SETTINGS_ANNOTATION: render_settings(settings)},
            }
            await world.create("/api/v1/namespaces", {"metadata": {"name": SYSTEM_NAMESPACE}})
            lease = await world.create(LEASES.path(SYSTEM_NAMESPACE), {"metadata": about, "spec": {}})
            assert lease.code == 201, lease.body
            created = await world.create(WORKLOADS[gated[0]], example(*gated))
            assert (created.code, "warning" in created.headers) == (201, False)

    run_virtual(story())


@pytest.mark.parametrize("kind", [*POLICY_KINDS, "Cluster"])
@pytest.mark.parametrize("server", [embedded, behind_the_webhook])
def test_what_asks_for_nothing_that_is_ignored_is_not_warned_of(server: Any, kind: str) -> None:
    async def story() -> None:
        async with server() as world:
            answer = await world.create(WORKLOADS[kind], example(kind))
            assert (answer.code, answer.headers.get("warning")) == (201, None)

    run_virtual(story())


def test_values_that_ask_for_nothing_are_not_warned_of() -> None:
    calm: Manifest = {
        "propagateDeps": True,
        "preemption": "Never",
        "activationPreference": "",
        "dependentOverrides": [],
    }
    policy = example("PropagationPolicy")
    policy["spec"] |= calm
    assert warnings_for(policy) == []


def test_what_is_being_deleted_and_what_has_another_shape_is_not_warned_of() -> None:
    deleted = example("Cluster", "spec.proxyHeader")
    deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert warnings_for(deleted) == []
    odd: Manifest = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": [],
        "spec": "no",
    }
    assert warnings_for(odd) == []
    assert warnings_for({"apiVersion": "example.com/v1", "kind": "FederatedResourceQuota", "spec": {}}) == []


@pytest.mark.parametrize("kind", POLICY_KINDS)
def test_preserving_on_deletion_is_not_promised_for_workloads_in_a_failover(kind: str) -> None:
    policy = example(kind)
    policy["spec"]["preserveResourcesOnDeletion"] = True
    assert warnings_for(policy) == []
    deployments = {"apiVersion": "apps/v1", "kind": "Deployment"}
    policy["spec"]["resourceSelectors"] = [*SELECTORS, deployments, {**deployments, "name": "b"}]
    (warning,) = warnings_for(policy)
    assert warning == (
        "spec.preserveResourcesOnDeletion is not honoured in a failover for what has replicas (Deployment): "
        "the same copy would run twice"
    )
    policy["spec"]["preserveResourcesOnDeletion"] = False
    assert warnings_for(policy) == []


@pytest.mark.parametrize("kind", POLICY_KINDS)
def test_who_places_a_set_and_its_service_by_one_policy_hears_that_they_part(kind: str) -> None:
    def warned(
        selected: tuple[str, ...], annotations: Manifest | None = None, group: str = "policy.karmada.io", **spec: Any
    ) -> list[str]:
        policy = example(kind)
        policy["apiVersion"] = f"{group}/v1alpha1"
        policy["metadata"]["annotations"] = annotations or {}
        policy["spec"]["resourceSelectors"] = [{"apiVersion": "v1", "kind": each} for each in selected]
        policy["spec"] |= spec
        return warnings_for(policy)

    one_of_two = {"clusterAffinities": [{"affinityName": "a"}, {"affinityName": "b"}]}
    one_at_once = {"spreadConstraints": [{"spreadByField": "cluster", "maxGroups": 1}]}
    both = ("StatefulSet", "Service", "Ingress")
    for placement in (one_of_two, one_at_once):
        (warning,) = warned(both, placement=placement)
        assert warning == (
            "StatefulSets with claims stay with their volumes when their cluster fails, and what leads to them "
            "(Service, Ingress) moves: select that by another policy, for all clusters, or annotate "
            "leeward.dev/volumes-follow=true"
        )
        assert len(warning) <= MAX_WARNING_CHARACTERS
    assert warned(both, placement=one_of_two, group="example.com") == []
    assert warned(both, placement={}) == [], "it is everywhere"
    assert warned(both, placement={"clusterAffinities": one_of_two["clusterAffinities"][:1]}) == []
    assert warned(("StatefulSet", "ConfigMap"), placement=one_of_two) == []
    assert warned(("Deployment", "Service"), placement=one_of_two) == []
    assert warned(both, {"leeward.dev/volumes-follow": "true"}, placement=one_of_two) == []
    assert warned(both, placement=one_of_two, failover={"cluster": {"purgeMode": "Directly"}}) == []


NOT_READ_ON_PURPOSE = {
    "spec.schedulePriority.priorityClassSource": "it has one value, KubePriorityClass, which the schema asks for",
}
READ_BY_PARTS = {
    "spec.placement.workloadAffinity.affinity.groupByLabelKey": "core/propagation/binding.py makes the groups of it",
    "spec.placement.workloadAffinity.antiAffinity.groupByLabelKey": "likewise",
}
NO_READERS = ("api/", "apiserver/", "sim/", "core/propagation/binding.py", "core/admission_warnings.py")
"""Files in which a name of a field is defined, checked, or copied, and decides nothing."""


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])[A-Z]+", lambda found: "_" + found[0], name).lower()


@cache
def names_read() -> set[str]:
    """The attributes that the code reads, and its texts: an upper bound, for fields of one name are not told apart."""
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).as_posix().startswith(NO_READERS):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


@pytest.mark.parametrize("kind", [*POLICY_KINDS, "ClusterTaintPolicy", "WorkloadRebalancer"])
def test_every_field_that_no_code_reads_is_in_the_table(kind: str) -> None:
    fields = next(entry["fields"] for name, entry in FIELDS.items() if name.endswith(f"/{kind}"))
    leaves = {field: field.replace("[]", "").rpartition(".")[2] for field in fields if field.startswith("spec.")}
    read = names_read()
    unread = {field for field, leaf in leaves.items() if not {leaf, snake_case(leaf)} & read}
    listed = {line.field for line in UNSUPPORTED for _, each in line.kinds if each == kind}
    assert unread - set(NOT_READ_ON_PURPOSE) - set(READ_BY_PARTS) == listed


def test_the_exceptions_are_fields_that_there_are() -> None:
    fields = FIELDS["policy.karmada.io/v1alpha1/PropagationPolicy"]["fields"]
    assert {*NOT_READ_ON_PURPOSE, *READ_BY_PARTS} <= set(fields)


def test_the_readme_lists_what_is_ignored_and_the_kinds_that_are_not_served() -> None:
    readme = (SOURCE.parents[1] / "README.md").read_text()
    section = readme.partition("## What of Karmada's API is not there")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([A-Za-z]+)", section))
    ignored = {line.field.rpartition(".")[2] for line in UNSUPPORTED}
    assert ignored <= named
    served = {definition["spec"]["names"]["kind"] for definition in custom_resource_definitions()}
    refused = set(re.findall(r"`([A-Z][A-Za-z]+)`", section.partition("These are served")[0]))
    assert refused
    assert not refused & served


@pytest.mark.parametrize(
    "manifest",
    [
        {},
        {"apiVersion": None, "kind": None},
        {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy"},
        {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "spec": None},
        {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "spec": "text"},
        {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "spec": {"placement": ["list"]}},
        {"apiVersion": "example.com/v1", "kind": "FederatedResourceQuota"},
        {"kind": "FederatedResourceQuota"},
        {"apiVersion": "policy.karmada.io/v1alpha1"},
    ],
)
def test_of_what_has_another_shape_or_is_another_kind_nothing_is_said(manifest: Manifest) -> None:
    assert warnings_for(manifest) == []


def test_of_an_object_that_goes_nothing_is_said() -> None:
    found: Manifest = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "FederatedResourceQuota",
        "metadata": {"name": "a"},
        "spec": {"overall": {"cpu": "1"}},
    }
    told = ["spec.overall refuses nothing without --feature-gates=FederatedQuotaEnforcement=true, off by default"]
    assert warnings_for(found) == told
    assert warnings_for(found, ["FederatedQuotaEnforcement"]) == []
    found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert warnings_for(found) == []


WEB = {"apiVersion": "apps/v1", "kind": "Deployment"}


@pytest.mark.parametrize(
    ("selectors", "named"),
    [
        ([WEB], "Deployment"),
        ([WEB, WEB, {"apiVersion": "batch/v1", "kind": "Job"}], "Deployment, Job"),
        ([CONFIG_MAP, WEB], "Deployment"),
        ([CONFIG_MAP], ""),
        ([{"apiVersion": "example.com/v1", "kind": "Deployment"}], ""),
        ([{"kind": "Deployment"}, {"apiVersion": "apps/v1"}, "text", None], ""),
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, ""),
        (None, ""),
    ],
)
def test_that_what_has_replicas_is_not_preserved_names_its_kinds(selectors: Any, named: str) -> None:
    spec = {"resourceSelectors": selectors, "preserveResourcesOnDeletion": True}
    found: Manifest = {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy", "spec": spec}
    told = (
        f"spec.preserveResourcesOnDeletion is not honoured in a failover for what has replicas ({named}): "
        "the same copy would run twice"
    )
    assert warnings_for(found) == ([told] if named else [])
    for other in (False, None, "true"):
        found["spec"] = {**spec, "preserveResourcesOnDeletion": other}
        assert warnings_for(found) == []
    found["spec"], found["kind"] = spec, "OverridePolicy"
    assert told not in warnings_for(found)


def test_a_cluster_that_a_quota_assigns_something_twice_is_told() -> None:
    quota = example("FederatedResourceQuota")
    assignments = [{"clusterName": name, "hard": {"cpu": "1"}} for name in ("member1", "member2", "member1")]
    quota["spec"] = {"overall": {}, "staticAssignments": assignments}
    assert warnings_for(quota) == [
        "spec.staticAssignments[2] has no effect: member1 is assigned something before it",
    ]


WHAT_BECOMES_OF_IT = (
    "/spec/replicas is overridden after replicas were divided: the cluster gets another number than it was assigned, "
    "and with fewer a failover to it may not end; use weights of the placement"
)
REPLICAS = {"overriders": {"plaintext": [{"path": "/spec/replicas", "operator": "replace", "value": 5}]}}
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment"}


@pytest.mark.parametrize("kind", ["OverridePolicy", "ClusterOverridePolicy"])
@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"resourceSelectors": [DEPLOYMENT], "overrideRules": [_RULES[0], REPLICAS]}, ["spec.overrideRules[1]"]),
        ({"overrideRules": [REPLICAS, REPLICAS]}, ["spec.overrideRules[0]", "spec.overrideRules[1]"]),
        ({"resourceSelectors": [CONFIG_MAP, DEPLOYMENT], **REPLICAS}, ["spec"]),
        ({"resourceSelectors": [CONFIG_MAP], "overrideRules": [REPLICAS]}, []),
        ({"resourceSelectors": [DEPLOYMENT], "overrideRules": _RULES}, []),
        ({"overrideRules": ["no rule", {"overriders": {"plaintext": "none"}}]}, []),
    ],
)
def test_an_override_of_replicas_says_what_becomes_of_them(kind: str, spec: Manifest, fields: list[str]) -> None:
    told = warnings_for({"apiVersion": "policy.karmada.io/v1alpha1", "kind": kind, "spec": spec})
    assert [warning.partition(".overriders.plaintext: /spec/replicas is overridden")[0] for warning in told] == fields
    assert all(len(warning) <= MAX_WARNING_CHARACTERS for warning in told)
    assert all(warning.endswith(WHAT_BECOMES_OF_IT) for warning in told)


@pytest.mark.parametrize("kind", POLICY_KINDS)
def test_webhooks_that_a_kube_apiserver_would_ask_itself_are_told_once_each(kind: str) -> None:
    webhooks = [
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": each}
        for each in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
    ]
    policy = example(kind)
    assert warnings_of_live_templates(policy) == []
    policy["spec"]["resourceSelectors"] = [webhooks[0], *SELECTORS, *webhooks, "no selector", {}]
    assert warnings_of_live_templates(policy) == [
        f"{each}: this kube-apiserver asks the webhooks too, and refuses writes when it cannot: give the template "
        'matchConditions with the expression "false", and remove them in members by a ClusterOverridePolicy'
        for each in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
    ]
    assert warnings_of_live_templates(policy | {"apiVersion": "example.com/v1"}) == []
    assert warnings_of_live_templates(policy | {"kind": "OverridePolicy"}) == []
    policy["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert warnings_of_live_templates(policy) == []
    assert warnings_of_live_templates({}) == []
