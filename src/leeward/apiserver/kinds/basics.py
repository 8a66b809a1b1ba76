"""Defaults and rules of the core kinds without pods and configuration: namespaces, services, volumes, nodes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leeward.api.meta import Manifest
from leeward.api.status import Problem
from leeward.apiserver.kinds.label_selectors import label_problems
from leeward.apiserver.kinds.names import dns_label
from leeward.apiserver.kinds.pod_rules.containers import PROTOCOLS
from leeward.apiserver.kinds.pod_rules.texts import address, duplicate, port_number
from leeward.apiserver.kinds.pod_rules.texts import port as port_or_name
from leeward.apiserver.kinds.pods import default_pod_spec
from leeward.apiserver.values import entries, grown, section

NAMESPACE_LABEL = "kubernetes.io/metadata.name"
SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
AFFINITIES = ("ClientIP", "None")


def default_namespace(manifest: Manifest) -> None:
    metadata = manifest["metadata"]
    if metadata.get("name") and not metadata.get("generateName"):
        metadata["labels"] = {**section(metadata, "labels"), NAMESPACE_LABEL: metadata["name"]}


def complete_namespace(manifest: Manifest) -> None:
    spec = grown(manifest, "spec")
    metadata = manifest["metadata"]
    if "deletionTimestamp" not in metadata:
        spec.setdefault("finalizers", ["kubernetes"])
    if metadata.get("name"):
        metadata["labels"] = {**section(metadata, "labels"), NAMESPACE_LABEL: metadata["name"]}
    manifest.setdefault("status", {}).setdefault("phase", "Active")


def default_service(manifest: Manifest) -> None:
    spec = grown(manifest, "spec")
    spec.setdefault("sessionAffinity", "None")
    kind = spec.setdefault("type", "ClusterIP")
    for port in entries(spec, "ports"):
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port", 0))
    _default_traffic(spec, kind)
    manifest.setdefault("status", {}).setdefault("loadBalancer", {})


def complete_service(manifest: Manifest) -> None:
    spec = grown(manifest, "spec")
    if spec.get("type") != "ExternalName":
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")


def _default_traffic(spec: dict[str, Any], kind: str) -> None:
    """An ExternalName has no addresses, and only services that are reached from outside have an outer policy."""
    if kind == "ExternalName":
        for field in ("internalTrafficPolicy", "ipFamilies", "ipFamilyPolicy", "externalTrafficPolicy"):
            spec.pop(field, None)
        return
    spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    else:
        spec.pop("externalTrafficPolicy", None)
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def default_node(manifest: Manifest) -> None:
    manifest.setdefault("spec", {})
    manifest.setdefault("status", {})


def default_claim(manifest: Manifest) -> None:
    manifest.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
    manifest.setdefault("status", {}).setdefault("phase", "Pending")


def default_volume(manifest: Manifest) -> None:
    spec = grown(manifest, "spec")
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    manifest.setdefault("status", {}).setdefault("phase", "Pending")


def default_pod_template_object(manifest: Manifest) -> None:
    default_pod_spec(manifest.setdefault("template", {}).setdefault("spec", {}))


def validate_service(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    ports = entries(spec, "ports")
    problems = [*_ports_problems(ports), *_address_problems(spec)]
    if spec["type"] == "ClusterIP":
        said = "may not be used when `type` is 'ClusterIP'"
        used = (index for index, port in enumerate(ports) if port.get("nodePort"))
        problems += [Problem.forbidden(f"spec.ports[{index}].nodePort", said) for index in used]
    if not ports and spec["type"] != "ExternalName" and spec.get("clusterIP") != "None":
        problems.append(Problem.required("spec.ports"))
    if spec["type"] not in SERVICE_TYPES:
        problems.append(Problem.not_supported("spec.type", spec["type"], SERVICE_TYPES))
    if spec["type"] == "ExternalName" and not spec.get("externalName"):
        problems.append(Problem.required("spec.externalName"))
    if spec["sessionAffinity"] not in AFFINITIES:
        problems.append(Problem.not_supported("spec.sessionAffinity", spec["sessionAffinity"], AFFINITIES))
    before = old["spec"].get("clusterIP") if old is not None and old["spec"]["type"] != "ExternalName" else None
    if before and spec["type"] != "ExternalName" and spec.get("clusterIP") != before:
        problems.append(Problem.invalid("spec.clusterIPs[0]", [spec.get("clusterIP")], "may not change once set"))
    return problems


def _address_problems(spec: Mapping[str, Any]) -> Iterator[Problem]:
    yield from label_problems(section(spec, "selector"), "spec.selector")
    for index, text in enumerate(spec.get("externalIPs") or ()):
        yield from address(text, f"spec.externalIPs[{index}]")


def _ports_problems(ports: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"spec.ports[{index}]", str(port.get("name") or "")
        if len(ports) > 1 and not name:
            yield Problem.required(f"{path}.name")
        if name:
            yield from (Problem.invalid(f"{path}.name", name, said) for said in dns_label(name))
            if name in seen:
                yield duplicate(f"{path}.name", name)
        seen.add(name)
        yield from port_number(port.get("port", 0), f"{path}.port")
        if port["protocol"] not in PROTOCOLS:
            yield Problem.not_supported(f"{path}.protocol", port["protocol"], PROTOCOLS)
        yield from port_or_name(port["targetPort"], f"{path}.targetPort")


def validate_service_status(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    ingress = section(section(manifest, "status"), "loadBalancer").get("ingress")
    if ingress and section(manifest, "spec").get("type") != "LoadBalancer":
        said = "may only be used when `spec.type` is 'LoadBalancer'"
        return [Problem.forbidden("status.loadBalancer.ingress", said)]
    return []
