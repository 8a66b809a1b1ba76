"""Manifests that users write: templates and policies, from the few words of a history."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest, labels_of
from kubeapi.resource import Resource
from leeward.api.moves_with import MOVES_WITH_ANNOTATION
from leeward.api.names import (
    FAILBACK_AFTER_ANNOTATION,
    FAILBACK_ANNOTATION,
    RETAIN_REPLICAS_LABEL,
    SKIP_NAMESPACE_LABEL,
)
from leeward.api.rollout import ROLLOUT_ANNOTATION
from simulator.histories.model import Operated, Plan, Shared, Staging, Task

DEPLOYMENTS = Resource.of_manifests("apps/v1", "deployments", "Deployment", True)
BATCHES = Resource.of_manifests("sim.example.com/v1", "batches", "Batch", True)
DATABASES = Resource.of_manifests("sim.example.com/v1", "databases", "Database", True)
"""The kind that no rule judges, and whose operators may keep data."""
TASKS = {
    "Job": Resource.of_manifests("batch/v1", "jobs", "Job", True),
    "CronJob": Resource.of_manifests("batch/v1", "cronjobs", "CronJob", True),
}
CONFIG_MAPS = Resource.of_manifests("v1", "configmaps", "ConfigMap", True)
POLICIES = Resource.of_manifests("policy.karmada.io/v1alpha1", "propagationpolicies", "PropagationPolicy", True)
REBALANCERS = Resource.of_manifests("apps.karmada.io/v1alpha1", "workloadrebalancers", "WorkloadRebalancer", False)
CLUSTER_POLICIES = Resource.of_manifests(
    "policy.karmada.io/v1alpha1", "clusterpropagationpolicies", "ClusterPropagationPolicy", False
)
QUOTAS = Resource.of_manifests("policy.karmada.io/v1alpha1", "federatedresourcequotas", "FederatedResourceQuota", True)
SHARED: dict[Shared, Resource[Manifest]] = {
    "Namespace": Resource.of_manifests("v1", "namespaces", "Namespace", False),
    "CustomResourceDefinition": Resource.of_manifests(
        "apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", False
    ),
    "Service": Resource.of_manifests("v1", "services", "Service", True),
    "PersistentVolumeClaim": Resource.of_manifests("v1", "persistentvolumeclaims", "PersistentVolumeClaim", True),
}
NAMESPACE = "default"
BROKEN = ":broken"
"""The tag that no member can pull."""
OWN = "someone-elses"
"""The name of what neighbours keep in what is shared."""
FAILBACK_AFTER = "15s"
QUOTA = "everybody"
PODS_OF_A_CLUSTER = 100
MARKS = (FAILBACK_ANNOTATION, FAILBACK_AFTER_ANNOTATION, ROLLOUT_ANNOTATION, MOVES_WITH_ANNOTATION)
"""Annotations of policies that a plan may have."""


def kind_of(config: bool) -> Resource[Manifest]:
    return CONFIG_MAPS if config else DEPLOYMENTS


def deployment(app: str, replicas: int, version: int = 1, cpu: int = 1) -> Manifest:
    """A Batch looks the same."""
    labels = {"app": app}
    container = {
        "name": "main",
        "image": f"nginx:{version}",
        "resources": {"requests": {"cpu": str(cpu), "memory": "1Gi"}},
    }
    return {
        "metadata": {"name": app, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def config_map(app: str, version: int = 1) -> Manifest:
    return {"metadata": {"name": app, "labels": {"app": app}}, "data": {"version": str(version)}}


def template(app: str, config: bool, replicas: int, version: int = 1, cpu: int = 1) -> Manifest:
    return config_map(app, version) if config else deployment(app, replicas, version, cpu)


def task(app: str, job: Task, seconds: int) -> Manifest:
    """One Pod that runs for so long; a CronJob starts one each minute, unless the last one still runs."""
    asks = {"requests": {"cpu": "1", "memory": "1Gi"}}
    container = {"name": "main", "image": "busybox:1", "command": ["sleep", str(seconds)], "resources": asks}
    pod = {"metadata": {"labels": {"app": app}}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    spec: Manifest = {"template": pod}
    if job == "CronJob":
        spec = {"schedule": "* * * * *", "concurrencyPolicy": "Forbid", "jobTemplate": {"spec": spec}}
    return {"metadata": {"name": app, "labels": {"app": app}}, "spec": spec}


def database(app: str, operated: Operated) -> Manifest:
    """A Database, with a size where its operator is to make a claim for it."""
    spec: Manifest = {"instances": 1}
    if operated == "claiming":
        spec["size"] = "1Gi"
    return {"metadata": {"name": app, "labels": {"app": app}}, "spec": spec}


def is_told_ready(database: ReadOnlyManifest) -> bool:
    """Tells whether the operator of a Database has said that it is ready."""
    status: ReadOnlyManifest = database.get("status") or {}
    return bool(status.get("conditions"))


def asked_replicas(manifest: ReadOnlyManifest) -> int:
    """Replicas that a manifest asks for; those of a Job are its parallelism."""
    spec = manifest.get("spec", {})
    return spec.get("replicas", spec.get("parallelism", 0))


def autoscaled(manifest: Manifest) -> Manifest:
    """The template whose copies keep the replicas that somebody in a member gives them."""
    labels = {**manifest["metadata"].get("labels", {}), RETAIN_REPLICAS_LABEL: "true"}
    return {**manifest, "metadata": {**manifest["metadata"], "labels": labels}}


def is_autoscaled(manifest: ReadOnlyManifest) -> bool:
    return labels_of(manifest).get(RETAIN_REPLICAS_LABEL) == "true"


def with_volumes(manifest: Manifest, volumes: Sequence[Manifest]) -> Manifest:
    """A Deployment whose pods have these."""
    if not volumes:
        return manifest
    template = manifest["spec"]["template"]
    pod = {**template["spec"], "volumes": list(volumes)}
    return {**manifest, "spec": {**manifest["spec"], "template": {**template, "spec": pod}}}


def new_version(app: str, config: bool, version: int, bad: bool = False) -> Manifest:
    """The patch that releases it."""
    if config:
        return {"data": {"version": str(version)}}
    template = deployment(app, 1, version)["spec"]["template"]
    if bad:
        template["spec"]["containers"][0]["image"] = f"nginx-{version}{BROKEN}"
    return {"spec": {"template": template}}


def staging_text(staging: Staging) -> str:
    """The annotation of a policy with these stages, as JSON, which is YAML."""
    rules: list[Manifest] = [
        {
            **({"clusters": list(clusters)} if clusters else {}),
            "healthyFor": f"{staging.healthy_seconds}s",
            "maxUnavailable": staging.unavailable,
            "pause": staging.approval and not number,
        }
        for number, clusters in enumerate(staging.stages)
    ]
    on_failure = "Rollback" if staging.rollback else "Stop"
    deadline = f"{staging.deadline_seconds}s"
    return json.dumps({"stages": rules, "progressDeadline": deadline, "onFailure": on_failure})


def policy(app: str, kind: Resource[Manifest], plan: Plan) -> Manifest:
    spec: Manifest = {
        "resourceSelectors": [{"apiVersion": kind.api_version, "kind": kind.kind, "name": app}],
        "placement": placement(plan),
    }
    failover: Manifest = {}
    if plan.directly:
        failover["cluster"] = {"purgeMode": "Directly"}
    if plan.application_seconds:
        failover["application"] = {"decisionConditions": {"tolerationSeconds": plan.application_seconds}}
    if plan.follows or plan.application_seconds:
        spec["propagateDeps"] = True
    if failover:
        spec["failover"] = failover
    if plan.lazy:
        spec["activationPreference"] = "Lazy"
    if plan.preserve:
        spec["preserveResourcesOnDeletion"] = True
    metadata: Manifest = {"name": app}
    marks = dict[str, str]()
    if plan.failback:
        marks = {FAILBACK_ANNOTATION: "Automatic", FAILBACK_AFTER_ANNOTATION: FAILBACK_AFTER}
    if plan.staging is not None:
        marks[ROLLOUT_ANNOTATION] = staging_text(plan.staging)
    if plan.group:
        marks[MOVES_WITH_ANNOTATION] = plan.group
    if marks:
        metadata["annotations"] = marks
    return {"metadata": metadata, "spec": spec}


def above(app: str, kind: Resource[Manifest], plan: Plan, name: str, priority: int, preempts: bool) -> Manifest:
    """Another policy for the same application."""
    wanted = policy(app, kind, plan)
    spec = {**wanted["spec"], "priority": priority, "preemption": "Always" if preempts else "Never"}
    return {"metadata": {**wanted["metadata"], "name": name}, "spec": spec}


def quota(cpu: int, assigned: Sequence[str]) -> Manifest:
    """Clusters that are assigned something have room for more Pods than there are."""
    assignments = [{"clusterName": name, "hard": {"pods": str(PODS_OF_A_CLUSTER)}} for name in assigned]
    overall = {"cpu": str(cpu), "pods": str(PODS_OF_A_CLUSTER * max(1, len(assigned)))}
    return {"metadata": {"name": QUOTA}, "spec": {"overall": overall, "staticAssignments": assignments}}


def another_plan(wanted: Manifest) -> Manifest:
    """The patch that brings a policy to another plan, whatever it was before."""
    none: Manifest = dict.fromkeys(MARKS)
    marks = {**none, **wanted["metadata"].get("annotations", {})}
    placement = {"clusterAffinity": None, "clusterAffinities": None, **wanted["spec"]["placement"]}
    optional: Manifest = dict.fromkeys(("failover", "propagateDeps", "activationPreference"))
    spec = {**optional, **wanted["spec"], "placement": placement}
    return {"metadata": {"annotations": marks}, "spec": spec}


def shared(app: str, what: Shared) -> tuple[Resource[Manifest], Manifest, str]:
    """Kind, template and namespace of what is shared."""
    kind = SHARED[what]
    match what:
        case "Namespace":
            wanted: Manifest = {"metadata": {"name": app, "labels": {SKIP_NAMESPACE_LABEL: "true"}}}
        case "CustomResourceDefinition":
            wanted = _definition(app)
        case "Service":
            wanted = {"metadata": {"name": app}, "spec": {"selector": {"app": app}, "ports": [{"port": 80}]}}
        case "PersistentVolumeClaim":
            claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            wanted = {"metadata": {"name": app}, "spec": claim}
    return kind, wanted, NAMESPACE if kind.namespaced else ""


def policies_of(what: Shared) -> Resource[Manifest]:
    return POLICIES if SHARED[what].namespaced else CLUSTER_POLICIES


def shared_policy(
    app: str, what: Shared, clusters: tuple[str, ...], groups: tuple[int, int]
) -> tuple[Resource[Manifest], Manifest]:
    """Duplicated, as what has no replicas is."""
    kind, template, _ = shared(app, what)
    selector = {"apiVersion": kind.api_version, "kind": kind.kind, "name": template["metadata"]["name"]}
    plan = Plan(division="Duplicated", clusters=clusters, groups=groups)
    spec = {"resourceSelectors": [selector], "placement": placement(plan)}
    return policies_of(what), {"metadata": {"name": app}, "spec": spec}


def own(app: str, what: Shared) -> tuple[Resource[Manifest], Manifest, str] | None:
    """Object that neighbours put into what is shared; None where nothing can be put into it."""
    match what:
        case "Namespace":
            return CONFIG_MAPS, {"metadata": {"name": OWN}, "data": {"precious": "true"}}, app
        case "CustomResourceDefinition":
            widgets = Resource.of_manifests(f"{app}.example.com/v1", "widgets", "Widget", True)
            return widgets, {"metadata": {"name": OWN}, "spec": {"precious": True}}, NAMESPACE
        case _:
            return None


def _definition(app: str) -> Manifest:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "metadata": {"name": f"widgets.{app}.example.com"},
        "spec": {
            "group": f"{app}.example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def terms(plan: Plan) -> list[tuple[str, ...]]:
    """The clusters of each affinity term, in the order in which they are tried."""
    own = [plan.clusters[number :: plan.terms] for number in range(plan.terms)]
    if not plan.overlap:
        return own
    return [own[0], *((*names, before[0]) for before, names in pairwise(own))]


def placement(plan: Plan) -> Manifest:
    found: Manifest = {"replicaScheduling": _division(plan)}
    if plan.terms > 1:
        found["clusterAffinities"] = [
            {"affinityName": f"term{number}", "clusterNames": list(names)} for number, names in enumerate(terms(plan))
        ]
    else:
        found["clusterAffinity"] = {"clusterNames": list(plan.clusters)}
    least, most = plan.groups
    if most:
        found["spreadConstraints"] = [{"spreadByField": "cluster", "minGroups": least, "maxGroups": most}]
    if plan.toleration_seconds:
        found["clusterTolerations"] = [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": plan.toleration_seconds}
            for key in ("cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable")
        ]
    return found


def _division(plan: Plan) -> dict[str, Any]:
    match plan.division:
        case "Duplicated":
            return {"replicaSchedulingType": "Duplicated"}
        case "Static":
            rules = [
                {"targetCluster": {"clusterNames": [name]}, "weight": weight}
                for name, weight in zip(plan.clusters, plan.weights, strict=True)
            ]
            return _weighted({"staticWeightList": rules})
        case "Dynamic":
            return _weighted({"dynamicWeight": "AvailableReplicas"})
        case "Aggregated":
            return {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}


def _weighted(preference: dict[str, Any]) -> dict[str, Any]:
    return {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted", "weightPreference": preference}
