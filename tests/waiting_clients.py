"""Clients that wait for an object, as far as they go by what it says: when each of them takes it for done; and the
templates for which docs/waiting.md says which of them end.

kubectl   `rollout status` and `wait`: kubectl's pkg/polymorphichelpers/rollout_status.go
Helm 3    pkg/kube/ready.go (ReadyChecker, with --wait-for-jobs)
Helm 4    kstatus: cli-utils pkg/kstatus/status/core.go and generic.go
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kubeapi.meta import Manifest
from tests.world.stories import by_weight, deployment

Rule = Callable[[Manifest], bool]


def _spec(obj: Manifest) -> Mapping[str, Any]:
    return obj.get("spec", {})


def _status(obj: Manifest) -> Mapping[str, Any]:
    return obj.get("status", {})


def _has(obj: Manifest, condition: str) -> bool:
    found = _status(obj).get("conditions") or ()
    return any(each["type"] == condition and each["status"] == "True" for each in found)


def _is_observed(obj: Manifest) -> bool:
    return _status(obj).get("observedGeneration", 0) >= obj["metadata"].get("generation", 0)


def _replicas(obj: Manifest) -> int:
    return _spec(obj).get("replicas", 1)


def _count(obj: Manifest, name: str) -> int:
    return _status(obj).get(name, 0)


def _is_bound(obj: Manifest) -> bool:
    return _status(obj).get("phase") == "Bound"


def _has_balancer(obj: Manifest) -> bool:
    return bool(_spec(obj).get("clusterIP")) and bool(_status(obj).get("loadBalancer", {}).get("ingress"))


def _rollout_of_deployment(obj: Manifest) -> bool:
    updated = _count(obj, "updatedReplicas")
    at_rest = updated >= _replicas(obj) and _count(obj, "replicas") <= updated <= _count(obj, "availableReplicas")
    return _is_observed(obj) and at_rest and _has(obj, "Available")


def _rollout_of_stateful_set(obj: Manifest) -> bool:
    enough = min(_count(obj, "readyReplicas"), _count(obj, "updatedReplicas")) >= _replicas(obj)
    return _is_observed(obj) and enough


def _rollout_of_daemon_set(obj: Manifest) -> bool:
    desired = _count(obj, "desiredNumberScheduled")
    return _is_observed(obj) and min(_count(obj, "updatedNumberScheduled"), _count(obj, "numberAvailable")) >= desired


def _helm_3_deployment(_obj: Manifest) -> bool:
    """Looks for the ReplicaSet beside the Deployment; a control plane of many clusters has none."""
    return False


def _helm_3_stateful_set(obj: Manifest) -> bool:
    exact = _count(obj, "readyReplicas") == _replicas(obj) <= _count(obj, "updatedReplicas")
    same = _status(obj).get("updateRevision") == _status(obj).get("currentRevision")
    return _is_observed(obj) and exact and same


def _helm_3_job(obj: Manifest) -> bool:
    return _count(obj, "succeeded") >= _spec(obj).get("completions", 1)


def _kstatus_deployment(obj: Manifest) -> bool:
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    exact = all(_count(obj, name) == _replicas(obj) for name in counts)
    done = [c for c in _status(obj).get("conditions", ()) if c["reason"] == "NewReplicaSetAvailable"]
    return _is_observed(obj) and exact and bool(done) and _has(obj, "Available")


def _kstatus_stateful_set(obj: Manifest) -> bool:
    exact = _count(obj, "replicas") == _replicas(obj) <= _count(obj, "readyReplicas")
    return _is_observed(obj) and exact and _count(obj, "updatedReplicas") >= _replicas(obj)


def _kstatus_job(obj: Manifest) -> bool:
    return _has(obj, "Complete") or bool(_status(obj).get("startTime"))


def _kstatus_daemon_set(obj: Manifest) -> bool:
    known = "observedGeneration" in _status(obj) and "desiredNumberScheduled" in _status(obj)
    return known and _rollout_of_daemon_set(obj)


def _is_ready(obj: Manifest) -> bool:
    return _has(obj, "Ready")


def _is_complete(obj: Manifest) -> bool:
    return _has(obj, "Complete")


CLIENTS: Mapping[str, Mapping[str, Rule]] = {
    "kubectl": {
        "Deployment": _rollout_of_deployment,
        "StatefulSet": _rollout_of_stateful_set,
        "DaemonSet": _rollout_of_daemon_set,
        "Job": _is_complete,
        "Service": _has_balancer,
        "PersistentVolumeClaim": _is_bound,
        "Pod": _is_ready,
    },
    "Helm 3": {
        "Deployment": _helm_3_deployment,
        "StatefulSet": _helm_3_stateful_set,
        "DaemonSet": _rollout_of_daemon_set,
        "Job": _helm_3_job,
        "Service": _has_balancer,
        "PersistentVolumeClaim": _is_bound,
        "Pod": _is_ready,
    },
    "Helm 4": {
        "Deployment": _kstatus_deployment,
        "StatefulSet": _kstatus_stateful_set,
        "DaemonSet": _kstatus_daemon_set,
        "Job": _kstatus_job,
        "Service": _has_balancer,
        "PersistentVolumeClaim": _is_bound,
        "Pod": _is_ready,
    },
}
"""Clients by name, with what they go by of each kind, where that is more than that it is there."""


def ends(client: str, obj: Manifest) -> bool:
    """Tells whether the client takes the object for done."""
    return CLIENTS[client][obj["kind"]](obj)


PAGE = Path(__file__).parents[1] / "docs/waiting.md"
BOTH = {"clusterAffinity": {"clusterNames": ["member1", "member2"]}}
ONE: Manifest = {"clusterAffinity": {"clusterNames": ["member1"]}}
DIVIDED = by_weight({"member1": 1, "member2": 1})
CONTAINERS = [{"name": "app", "image": "nginx"}]
JOB = {"template": {"spec": {"restartPolicy": "Never", "containers": CONTAINERS}}}


def _kind(api_version: str, kind: str, name: str, **spec: Any) -> Manifest:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _stateful_set(name: str) -> Manifest:
    return {**deployment(name, 2, serviceName=name), "kind": "StatefulSet"}


def _daemon_set(name: str) -> Manifest:
    spec = {key: value for key, value in deployment(name, 1)["spec"].items() if key != "replicas"}
    return {**_kind("apps/v1", "DaemonSet", name), "spec": spec}


def _job(name: str) -> Manifest:
    return _kind("batch/v1", "Job", name, completions=2, parallelism=2, **JOB)


def _volume_claim(name: str) -> Manifest:
    resources = {"requests": {"storage": "1Gi"}}
    return _kind("v1", "PersistentVolumeClaim", name, accessModes=["ReadWriteOnce"], resources=resources)


TEMPLATES: dict[str, tuple[Manifest, Manifest]] = {
    "Deployment, divided": (deployment("a", 4), DIVIDED),
    "Deployment, in one cluster": (deployment("b", 2), ONE),
    "Deployment, duplicated": (deployment("c", 2), BOTH),
    "StatefulSet, divided": (_stateful_set("d"), DIVIDED),
    "StatefulSet, duplicated": (_stateful_set("e"), BOTH),
    "DaemonSet": (_daemon_set("f"), BOTH),
    "Job, divided": (_job("g"), DIVIDED),
    "Job, duplicated": (_job("h"), BOTH),
    "Service of type LoadBalancer": (_kind("v1", "Service", "i", type="LoadBalancer", ports=[{"port": 80}]), BOTH),
    "PersistentVolumeClaim": (_volume_claim("j"), BOTH),
    "Pod": (_kind("v1", "Pod", "k", containers=CONTAINERS), BOTH),
}
"""Templates with their placement, by what the documentation calls them."""


def documented() -> dict[str, dict[str, bool]]:
    """Rows of the table: which client ends, by template."""
    rows = [line.strip("| \n").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    head, *body = [[cell.strip() for cell in row] for row in rows]
    words = {"ends": True, "waits": False}
    return {row[0]: {client: words[cell] for client, cell in zip(head[1:], row[1:], strict=True)} for row in body}


def policy_for(template: Manifest, placement: Manifest) -> Manifest:
    """PropagationPolicy that selects this template alone, by its name."""
    name = template["metadata"]["name"]
    selector = {"apiVersion": template["apiVersion"], "kind": template["kind"], "name": name}
    spec = {"resourceSelectors": [selector], "placement": placement}
    return {**_kind("policy.karmada.io/v1alpha1", "PropagationPolicy", name), "spec": spec}
