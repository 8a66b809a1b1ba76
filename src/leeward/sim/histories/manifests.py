"""What users write: templates and policies, from the few words of a history."""

from typing import Any

from leeward.api.meta import Manifest
from leeward.api.names import binding_name
from leeward.api.resource import Resource
from leeward.sim.histories.model import Plan

DEPLOYMENTS = Resource.of_manifests("apps/v1", "deployments", "Deployment", True)
CONFIG_MAPS = Resource.of_manifests("v1", "configmaps", "ConfigMap", True)
POLICIES = Resource.of_manifests("policy.karmada.io/v1alpha1", "propagationpolicies", "PropagationPolicy", True)
REBALANCERS = Resource.of_manifests("apps.karmada.io/v1alpha1", "workloadrebalancers", "WorkloadRebalancer", False)
NAMESPACE = "default"


def kind_of(config: bool) -> Resource[Manifest]:
    return CONFIG_MAPS if config else DEPLOYMENTS


def binding_of(app: str, config: bool) -> str:
    return binding_name(kind_of(config).kind, app)


def deployment(app: str, replicas: int, version: int = 1, cpu: int = 1) -> Manifest:
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


def new_version(app: str, config: bool, version: int) -> Manifest:
    """The patch that releases it."""
    if config:
        return {"data": {"version": str(version)}}
    return {"spec": {"template": deployment(app, 1, version)["spec"]["template"]}}


def policy(app: str, config: bool, plan: Plan) -> Manifest:
    kind = kind_of(config)
    spec: Manifest = {
        "resourceSelectors": [{"apiVersion": kind.api_version, "kind": kind.kind, "name": app}],
        "placement": placement(plan),
    }
    if plan.directly:
        spec["failover"] = {"cluster": {"purgeMode": "Directly"}}
    return {"metadata": {"name": app}, "spec": spec}


def placement(plan: Plan) -> Manifest:
    found: Manifest = {
        "clusterAffinity": {"clusterNames": list(plan.clusters)},
        "replicaScheduling": _division(plan),
    }
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
    return {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": preference,
    }
