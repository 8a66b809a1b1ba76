"""The rules of a Pod's spec, which are those of a pod template: what a kubelet could not run is refused at once.

Kubernetes: pkg/apis/core/validation; the same findings in the same order, cut down to what people write: volumes of
single vendors, Windows and devices are taken as they come.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubeapi.diff import is_one_of
from kubeapi.status import Problem
from kubeserver.kinds.metadata import too_long
from kubeserver.kinds.pod_rules.containers import container_problems
from kubeserver.kinds.pod_rules.placing import (
    affinity_problems,
    node_selector_problems,
    spread_problems,
    toleration_problems,
)
from kubeserver.kinds.pod_rules.resources import pod_resource_problems
from kubeserver.kinds.pod_rules.security import pod_security_problems
from kubeserver.kinds.pod_rules.texts import MAX_INT32, address, duplicate, named, one_of, within
from kubeserver.kinds.pod_rules.volumes import volume_problems
from kubeserver.names import dns_label, dns_subdomain, qualified_name
from kubeserver.values import entries, section

RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_SYSTEMS = ("linux", "windows")
_PREEMPTION = ("PreemptLowerPriority", "Never")
_NAMES = {
    "serviceAccountName": dns_subdomain,
    "nodeName": dns_subdomain,
    "hostname": dns_label,
    "subdomain": dns_label,
    "priorityClassName": dns_subdomain,
    "runtimeClassName": dns_subdomain,
}
_MAX_NAMESERVERS, _MAX_HOST_NAME_BYTES = 3, 64


def validate_pod_spec(spec: Mapping[str, Any], path: str) -> list[Problem]:
    return list(_problems(spec, path))


def validate_whole_pod(spec: Mapping[str, Any], path: str) -> list[Problem]:
    """Problems of a Pod itself, of which more is asked than of a template."""
    problems = validate_pod_spec(spec, path)
    said = "must not have leading or trailing whitespace"
    for key in ("containers", "initContainers"):
        for index, container in enumerate(entries(spec, key)):
            image = container.get("image", "")
            if image != image.strip():
                problems.append(Problem.invalid(f"{path}.{key}[{index}].image", image, said))
    return problems


def _problems(spec: Mapping[str, Any], path: str) -> Iterator[Problem]:
    yield from volume_problems(spec, path)
    yield from container_problems(spec, path)
    yield from _host_network_problems(spec, path)
    yield from _host_name_problems(spec, path)
    yield from pod_resource_problems(section(spec, "resources"), f"{path}.resources")
    yield from one_of(spec.get("restartPolicy"), RESTART_POLICIES, f"{path}.restartPolicy")
    yield from one_of(spec.get("dnsPolicy"), _DNS_POLICIES, f"{path}.dnsPolicy")
    yield from node_selector_problems(spec, f"{path}.nodeSelector")
    yield from pod_security_problems(spec, f"{path}.securityContext")
    yield from affinity_problems(section(spec, "affinity"), f"{path}.affinity")
    yield from _resolver_problems(spec, f"{path}.dnsConfig")
    for index, gate in enumerate(entries(spec, "readinessGates")):
        yield from named(qualified_name, gate.get("conditionType", ""), f"{path}.readinessGates[{index}].conditionType")
    yield from _gate_problems(spec, f"{path}.schedulingGates")
    yield from spread_problems(spec, f"{path}.topologySpreadConstraints")
    yield from _name_problems(spec, path, ("serviceAccountName", "nodeName"))
    if spec.get("activeDeadlineSeconds") is not None:
        yield from within(spec["activeDeadlineSeconds"], 1, MAX_INT32, f"{path}.activeDeadlineSeconds")
    yield from _name_problems(spec, path, ("hostname", "subdomain"))
    yield from toleration_problems(spec, f"{path}.tolerations")
    yield from _alias_problems(spec, f"{path}.hostAliases")
    yield from _name_problems(spec, path, ("priorityClassName", "runtimeClassName"))
    if spec.get("os") is not None:
        yield from _system_problems(spec["os"].get("name", ""), f"{path}.os.name")
    if spec.get("preemptionPolicy") is not None:
        yield from one_of(spec["preemptionPolicy"], _PREEMPTION, f"{path}.preemptionPolicy")


def _system_problems(name: str, path: str) -> Iterator[Problem]:
    if not name:
        yield Problem.required(path)
    else:
        yield from one_of(name, _SYSTEMS, path)


def _name_problems(spec: Mapping[str, Any], path: str, fields: Sequence[str]) -> Iterator[Problem]:
    for field in fields:
        if spec.get(field):
            yield from named(_NAMES[field], spec[field], f"{path}.{field}")


def _host_network_problems(spec: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if not spec.get("hostNetwork"):
        return
    for index, container in enumerate(entries(spec, "containers")):
        for at, port in enumerate(entries(container, "ports")):
            if not is_one_of(port.get("hostPort", 0), (0, port.get("containerPort"))):
                where = f"{path}.containers[{index}].ports[{at}].hostPort"
                yield Problem.invalid(where, port["hostPort"], "must match `containerPort` when `hostNetwork` is true")


def _host_name_problems(spec: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Problems of users and a host name of its own, which a Pod in the node's namespaces cannot have."""
    if spec.get("hostUsers") is False:
        fields = {"hostNetwork": "hostNetwork", "hostPID": "HostPID", "hostIPC": "HostIPC"}
        shared = (shown for field, shown in fields.items() if spec.get(field))
        yield from (Problem.forbidden(f"{path}.{shown}", "when `hostUsers` is false") for shown in shared)
    name, where = spec.get("hostnameOverride"), f"{path}.hostnameOverride"
    if name is None:
        return
    yield from named(dns_subdomain, name, where)
    if len(name) > _MAX_HOST_NAME_BYTES:
        yield too_long(where, _MAX_HOST_NAME_BYTES)
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(field):
            yield Problem.forbidden(where, f"may not be specified when {field} is true")


def _resolver_problems(spec: Mapping[str, Any], path: str) -> Iterator[Problem]:
    config = spec.get("dnsConfig")
    servers: Sequence[str] = section(spec, "dnsConfig").get("nameservers") or ()
    if spec.get("dnsPolicy") == "None" and not servers:
        if config is None:
            yield Problem.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
        else:
            said = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield Problem.required(f"{path}.nameservers", said)
        return
    if len(servers) > _MAX_NAMESERVERS:
        said = f"must not have more than {_MAX_NAMESERVERS} nameservers"
        yield Problem.invalid(f"{path}.nameservers", list(servers), said)
    for index, server in enumerate(servers):
        yield from address(server, f"{path}.nameservers[{index}]")
    for index, option in enumerate(entries(section(spec, "dnsConfig"), "options")):
        if not option.get("name"):
            yield Problem.required(f"{path}.options[{index}]", "must not be empty")


def _gate_problems(spec: Mapping[str, Any], path: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, gate in enumerate(entries(spec, "schedulingGates")):
        name = gate.get("name", "")
        yield from named(qualified_name, name, f"{path}[{index}]")
        if name in seen:
            yield duplicate(f"{path}[{index}]", name)
        seen.add(name)


def _alias_problems(spec: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for index, alias in enumerate(entries(spec, "hostAliases")):
        yield from address(alias.get("ip", ""), f"{path}[{index}].ip")
        for at, name in enumerate(alias.get("hostnames") or ()):
            yield from named(dns_subdomain, name, f"{path}[{index}].hostnames[{at}]")
