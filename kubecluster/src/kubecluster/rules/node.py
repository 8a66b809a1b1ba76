"""The nodes of a simulated cluster: their names and addresses, and the reports of their kubelets."""

import ipaddress
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest, format_time
from kubeapi.unstructured import list_at, mapping_at, text_at

KUBELET_VERSION = "v1.36.0-leeward"
_POD_NETWORK = ipaddress.ip_network("10.128.0.0/9")
_POD_PREFIX = 22
_HOST_NETWORK = ipaddress.ip_network("172.18.0.0/16")
_PREFIX = "node-"
MAX_NODES = 2 ** (_POD_PREFIX - _POD_NETWORK.prefixlen)
_PRESSURES = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


def node_name(index: int) -> str:
    """Nodes are counted from 0, and named from 1."""
    return f"{_PREFIX}{index + 1}"


def is_simulated(node: ReadOnlyManifest) -> bool:
    return text_at(node, "status", "nodeInfo", "kubeletVersion") == KUBELET_VERSION


def render_node(index: int, capacity: Mapping[str, str], now: datetime) -> Manifest:
    name = node_name(index)
    pod_cidr = str(ipaddress.ip_network((int(_POD_NETWORK[0]) + (index << (32 - _POD_PREFIX)), _POD_PREFIX)))
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"podCIDR": pod_cidr, "podCIDRs": [pod_cidr]},
        "status": _status(name, index, capacity, format_time(now)),
    }


def restored_status(observed: ReadOnlyManifest, rendered: ReadOnlyManifest) -> Mapping[str, Any]:
    """The status with the kubelet's own fields put back; fields of others stay."""
    before, status = mapping_at(observed, "status"), mapping_at(rendered, "status")
    amounts = {name: {**mapping_at(before, name), **status[name]} for name in ("capacity", "allocatable")}
    return {**before, **status, **amounts, "conditions": _restored(list_at(before, "conditions"), status["conditions"])}


def host_address(node: ReadOnlyManifest) -> str:
    addresses = list_at(node, "status", "addresses")
    return next((a["address"] for a in addresses if a["type"] == "InternalIP"), "")


def _status(name: str, index: int, capacity: Mapping[str, str], stamp: str) -> Manifest:
    return {
        "capacity": dict(capacity),
        "allocatable": dict(capacity),
        "addresses": [
            {"type": "InternalIP", "address": str(_HOST_NETWORK[index + 2])},
            {"type": "Hostname", "address": name},
        ],
        "conditions": [
            *(_condition(kind, "False", reason, message, stamp) for kind, reason, message in _PRESSURES),
            _condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", stamp),
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": "",
            "containerRuntimeVersion": "leeward://simulated",
            "kernelVersion": "",
            "kubeProxyVersion": "",
            "kubeletVersion": KUBELET_VERSION,
            "machineID": "",
            "operatingSystem": "linux",
            "osImage": "Leeward (simulated)",
            "systemUUID": "",
        },
    }


def _condition(condition_type: str, status: str, reason: str, message: str, stamp: str) -> Manifest:
    return {
        "type": condition_type,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": stamp,
        "lastTransitionTime": stamp,
    }


def _restored(known: Sequence[Mapping[str, Any]], rendered: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """A condition that says the same as before keeps its times."""
    said = ("status", "reason", "message")
    old = {condition["type"]: condition for condition in known}
    new = {condition["type"]: condition for condition in rendered}
    same = {kind for kind in old.keys() & new.keys() if all(old[kind].get(name) == new[kind][name] for name in said)}
    return [old[kind] if kind in same or kind not in new else new[kind] for kind in {**old, **new}]
