"""Defaults of the core kinds without pods and configuration: namespaces, services, volumes, nodes."""

from typing import Any

from kubeapi.meta import Manifest
from kubeserver.kinds.pods import default_pod_spec
from kubeserver.kinds.service_types import is_reached_from_outside
from kubeserver.kinds.volume_defaults import default_sources
from kubeserver.values import entries, grown, section, texts

NAMESPACE_LABEL = "kubernetes.io/metadata.name"
AFFINITY_SECONDS = 10_800


def default_namespace(manifest: Manifest) -> None:
    metadata = manifest["metadata"]
    if metadata.get("name") and not metadata.get("generateName"):
        metadata["labels"] = {**section(metadata, "labels"), NAMESPACE_LABEL: metadata["name"]}


def complete_namespace(manifest: Manifest) -> None:
    spec = grown(manifest, "spec")
    metadata = manifest["metadata"]
    if "deletionTimestamp" not in metadata:
        finalizers = texts(spec, "finalizers")
        spec["finalizers"] = [*finalizers, *(() if "kubernetes" in finalizers else ("kubernetes",))]
    if metadata.get("name"):
        metadata["labels"] = {**section(metadata, "labels"), NAMESPACE_LABEL: metadata["name"]}
    manifest.setdefault("status", {}).setdefault("phase", "Active")


def default_service(manifest: Manifest) -> None:
    spec = grown(manifest, "spec")
    if spec.setdefault("sessionAffinity", "None") == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        config = grown(grown(spec, "sessionAffinityConfig"), "clientIP")
        config.setdefault("timeoutSeconds", AFFINITY_SECONDS)
    kind = spec.setdefault("type", "ClusterIP")
    for port in entries(spec, "ports"):
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    _default_traffic(spec, kind)
    manifest.setdefault("status", {}).setdefault("loadBalancer", {})


def complete_service(manifest: Manifest) -> None:
    spec = grown(manifest, "spec")
    if spec.get("type") != "ExternalName":
        families = spec.setdefault("ipFamilies", ["IPv4"])
        if spec.get("clusterIP") == "None" and not spec.get("selector"):
            _complete_foreign_families(spec, families)
        spec.setdefault("ipFamilyPolicy", "SingleStack")


def _complete_foreign_families(spec: dict[str, Any], families: list[str]) -> None:
    """Completes the families of a Service whose addresses others write: it may have both, whatever this cluster has."""
    if spec.setdefault("ipFamilyPolicy", "RequireDualStack") != "SingleStack" and len(families) == 1:
        families.append("IPv6" if families == ["IPv4"] else "IPv4")


def _default_traffic(spec: dict[str, Any], kind: str) -> None:
    """An ExternalName has no addresses, and only services that are reached from outside have an outer policy."""
    if kind == "ExternalName":
        for field in ("internalTrafficPolicy", "ipFamilies", "ipFamilyPolicy"):
            spec.pop(field, None)
        return
    spec.setdefault("internalTrafficPolicy", "Cluster")
    if is_reached_from_outside(spec):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def default_node(manifest: Manifest) -> None:
    manifest.setdefault("spec", {})
    status = grown(manifest, "status")
    if status.get("capacity"):
        status.setdefault("allocatable", dict(status["capacity"]))


def default_claim(manifest: Manifest) -> None:
    manifest.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
    manifest.setdefault("status", {}).setdefault("phase", "Pending")


def default_volume(manifest: Manifest) -> None:
    spec = grown(manifest, "spec")
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    default_sources(spec)
    status = grown(manifest, "status")
    if "phase" not in status:
        status["phase"] = "Pending"
        if born := manifest["metadata"].get("creationTimestamp"):
            status["lastPhaseTransitionTime"] = born


def default_pod_template_object(manifest: Manifest) -> None:
    default_pod_spec(manifest.setdefault("template", {}).setdefault("spec", {}))
