"""Kinds that something is known about: Kubernetes' own, and those of other projects.

Secret, ServiceAccount   tokens are made by each cluster for itself
Service, Ingress         ways to the application, and addresses that load balancers give it
volumes and claims       belong to their cluster
PodDisruptionBudget, HorizontalPodAutoscaler   watch over replicas
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kubeapi.codec import encode
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.node_ports import HEALTH_PORT, retain_node_ports
from kubeapi.unstructured import drop, int_at, list_at, mapping_at, pick, put, take, text_at
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter.dependencies import ingress_dependencies
from leeward.core.interpreter.fields import statuses, total
from leeward.core.interpreter.jobs import CRON_JOB, JOB
from leeward.core.interpreter.pods import POD
from leeward.core.interpreter.rules import Rules, Status
from leeward.core.interpreter.thirdparty import (
    argo,
    flink,
    flux,
    kruise,
    kubeflow,
    kyverno,
    ray,
    spark,
    traffic_kinds,
    volcano,
)
from leeward.core.interpreter.workloads import DAEMON_SET, DEPLOYMENT, REPLICA_SET, STATEFUL_SET

_PROJECTS = (argo, flink, flux, kruise, kubeflow, kyverno, ray, spark, traffic_kinds, volcano)
_TOKEN_TYPE = "kubernetes.io/service-account-token"
_UID_ANNOTATION = "kubernetes.io/service-account.uid"


def _is_token(manifest: ReadOnlyManifest) -> bool:
    return text_at(manifest, "type") == _TOKEN_TYPE


def _retain_secret(desired: Manifest, observed: ReadOnlyManifest) -> None:
    if _is_token(desired):
        take(desired, observed, "data")


def _prune_secret(manifest: Manifest) -> None:
    if _is_token(manifest):
        drop(manifest, "data")
        drop(manifest, "metadata", "annotations", _UID_ANNOTATION)


def _retain_service_account(desired: Manifest, observed: ReadOnlyManifest) -> None:
    """The member adds its own tokens to what is desired."""
    for field in ("secrets", "imagePullSecrets"):
        wanted, present = list_at(desired, field), list_at(observed, field)
        names = {text_at(secret, "name") for secret in wanted}
        added = [secret for secret in present if text_at(secret, "name") not in names]
        if wanted or added:
            put(desired, [*wanted, *added], field)


def _prune_service_account(manifest: Manifest) -> None:
    prefix = f"{text_at(manifest, 'metadata', 'name')}-token-"
    secrets = list_at(manifest, "secrets")
    kept: list[Any] = [secret for secret in secrets if not text_at(secret, "name").startswith(prefix)]
    if len(kept) < len(secrets):
        put(manifest, kept, "secrets")


SECRET = Rules(retain=_retain_secret, prune=_prune_secret)
SERVICE_ACCOUNT = Rules(retain=_retain_service_account, prune=_prune_service_account)


def _is_load_balancer(manifest: ReadOnlyManifest) -> bool:
    return text_at(manifest, "spec", "type") == "LoadBalancer"


def _addresses(status: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    entries = list_at(status, "loadBalancer", "ingress")
    return [entry for entry in entries if text_at(entry, "ip") or text_at(entry, "hostname")]


def _aggregate(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    """All addresses, each once, in a stable order."""
    entries = [entry for status in statuses(items) for entry in list_at(status, "loadBalancer", "ingress")]
    distinct = {encode(entry): entry for entry in entries}
    ingress = sorted(distinct.values(), key=lambda entry: (text_at(entry, "ip"), text_at(entry, "hostname")))
    return {"loadBalancer": {"ingress": ingress} if ingress else {}}


def _retain_service(desired: Manifest, observed: ReadOnlyManifest) -> None:
    """Addresses and ports that the member has allocated. Karmada: without node ports."""
    for field in ("clusterIP", "clusterIPs", HEALTH_PORT):
        take(desired, observed, "spec", field)
    retain_node_ports(desired, observed)


def _prune_service(manifest: Manifest) -> None:
    """A headless Service stays one; any other address belongs to the control plane."""
    if text_at(manifest, "spec", "clusterIP") != "None":
        drop(manifest, "spec", "clusterIP")
        drop(manifest, "spec", "clusterIPs")


SERVICE = Rules(
    reflect=lambda manifest: dict(mapping_at(manifest, "status")) if _is_load_balancer(manifest) else None,
    is_healthy=lambda manifest: not _is_load_balancer(manifest) or bool(_addresses(mapping_at(manifest, "status"))),
    aggregate=lambda template, items: _aggregate(template, items) if _is_load_balancer(template) else None,
    retain=_retain_service,
    prune=_prune_service,
)
INGRESS = Rules(
    is_healthy=lambda manifest: bool(_addresses(mapping_at(manifest, "status"))),
    aggregate=_aggregate,
    dependencies=ingress_dependencies,
)


_VOLUME_WORST_FIRST = ("Failed", "Pending", "Available", "Bound", "Released")
_SELECTED_NODE = "volume.kubernetes.io/selected-node"


def _aggregate_volume(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status | None:
    """The worst phase; a cluster without report counts as Pending."""
    reported = statuses(items)
    phases = {text_at(status, "phase") for status in reported}
    if len(reported) < len(items):
        phases.add("Pending")
    phase = next((worst for worst in _VOLUME_WORST_FIRST if worst in phases), "")
    return {"phase": phase} if phase else {}


def _aggregate_claim(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    """Bound when all are; Lost when one is."""
    phases = [phase for status in statuses(items) if (phase := text_at(status, "phase")) != "Bound"]
    if "Lost" in phases:
        return {"phase": "Lost"}
    phase = phases[-1] if phases else "Bound"
    return {"phase": phase} if phase else {}


def _prune_claim(manifest: Manifest) -> None:
    """The node is one of the control plane's own cluster."""
    drop(manifest, "metadata", "annotations", _SELECTED_NODE)


PERSISTENT_VOLUME = Rules(
    aggregate=_aggregate_volume, retain=lambda desired, observed: take(desired, observed, "spec", "claimRef")
)
PERSISTENT_VOLUME_CLAIM = Rules(
    is_healthy=lambda manifest: text_at(manifest, "status", "phase") == "Bound",
    aggregate=_aggregate_claim,
    retain=lambda desired, observed: take(desired, observed, "spec", "volumeName"),
    prune=_prune_claim,
)


_BUDGET = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_AUTOSCALER = ("currentReplicas", "desiredReplicas")


def _is_budget_kept(manifest: ReadOnlyManifest) -> bool:
    return int_at(manifest, "status", "currentHealthy") >= int_at(manifest, "status", "desiredHealthy")


def _aggregate_budget(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    """The sums; a disrupted pod is named with its cluster."""
    disrupted = {
        f"{item.cluster_name}/{pod}": since
        for item in items
        for pod, since in mapping_at({"status": item.status}, "status", "disruptedPods").items()
    }
    return {**total(items, _BUDGET, required=_BUDGET), **({"disruptedPods": disrupted} if disrupted else {})}


POD_DISRUPTION_BUDGET = Rules(
    reflect=lambda manifest: pick(mapping_at(manifest, "status"), ("disruptedPods", *_BUDGET)),
    is_healthy=_is_budget_kept,
    aggregate=_aggregate_budget,
)
HORIZONTAL_POD_AUTOSCALER = Rules(
    reflect=lambda manifest: pick(mapping_at(manifest, "status"), _AUTOSCALER),
    aggregate=lambda _, items: total(items, _AUTOSCALER, required=("desiredReplicas",)),
)


KINDS: Mapping[tuple[str, str], Rules] = {
    ("apps/v1", "Deployment"): DEPLOYMENT,
    ("apps/v1", "ReplicaSet"): REPLICA_SET,
    ("apps/v1", "StatefulSet"): STATEFUL_SET,
    ("apps/v1", "DaemonSet"): DAEMON_SET,
    ("batch/v1", "Job"): JOB,
    ("batch/v1", "CronJob"): CRON_JOB,
    ("v1", "Pod"): POD,
    ("v1", "Service"): SERVICE,
    ("networking.k8s.io/v1", "Ingress"): INGRESS,
    ("v1", "PersistentVolume"): PERSISTENT_VOLUME,
    ("v1", "PersistentVolumeClaim"): PERSISTENT_VOLUME_CLAIM,
    ("v1", "Secret"): SECRET,
    ("v1", "ServiceAccount"): SERVICE_ACCOUNT,
    ("policy/v1", "PodDisruptionBudget"): POD_DISRUPTION_BUDGET,
    ("autoscaling/v2", "HorizontalPodAutoscaler"): HORIZONTAL_POD_AUTOSCALER,
    **{kind: rules for project in _PROJECTS for kind, rules in project.KINDS.items()},
}

_UNKNOWN = Rules()


def rules_of(manifest: ReadOnlyManifest) -> Rules:
    return KINDS.get((manifest.get("apiVersion", ""), manifest.get("kind", "")), _UNKNOWN)
