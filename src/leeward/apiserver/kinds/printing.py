"""The columns that kubectl shows for built-in kinds, where they are more than a field."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from leeward.api.meta import ReadOnlyManifest, parse_time
from leeward.apiserver.kinds.autoscaler_targets import targets
from leeward.apiserver.kinds.columns import (
    AGE,
    NONE,
    UNKNOWN,
    age,
    at,
    containers,
    count,
    described,
    duration,
    field,
    label_selector,
    labels,
    since,
    text,
)
from leeward.apiserver.kinds.kind import Column
from leeward.apiserver.values import entries, section


def _pod_ready(pod: ReadOnlyManifest) -> str:
    statuses = cast(Sequence[Mapping[str, Any]], at(pod, "status.containerStatuses", ()))
    total = len(at(pod, "spec.containers", ()))
    return f"{sum(1 for status in statuses if status.get('ready'))}/{total}"


def _pod_status(pod: ReadOnlyManifest) -> str:
    """The phase, or the reason of the first container that says one."""
    if at(pod, "metadata.deletionTimestamp"):
        return "Unknown" if at(pod, "status.reason") == "NodeLost" else "Terminating"
    for status in reversed(cast(Sequence[Mapping[str, Any]], at(pod, "status.containerStatuses", ()))):
        reason = at(status, "state.waiting.reason") or at(status, "state.terminated.reason")
        if reason:
            return reason
    return at(pod, "status.reason") or at(pod, "status.phase", "")


def _pod_restarts(pod: ReadOnlyManifest, now: datetime) -> str:
    statuses = cast(Sequence[Mapping[str, Any]], at(pod, "status.containerStatuses", ()))
    restarts = sum(status.get("restartCount", 0) for status in statuses)
    last = max((at(status, "lastState.terminated.finishedAt") or "" for status in statuses), default="")
    return f"{restarts} ({age(last, now)} ago)" if restarts and last else str(restarts)


def _condition_status(manifest: ReadOnlyManifest, condition: str) -> str:
    conditions = cast(Sequence[Mapping[str, Any]], at(manifest, "status.conditions", ()))
    return next((c.get("status", "") for c in conditions if c.get("type") == condition), "")


def _node_status(node: ReadOnlyManifest) -> str:
    ready = {"True": "Ready", "False": "NotReady"}.get(_condition_status(node, "Ready"), "Unknown")
    return f"{ready},SchedulingDisabled" if at(node, "spec.unschedulable") else ready


def _node_roles(node: ReadOnlyManifest) -> str:
    prefix = "node-role.kubernetes.io/"
    names = at(node, "metadata.labels", {})
    return ",".join(sorted(key.removeprefix(prefix) for key in names if key.startswith(prefix))) or NONE


def _node_address(kind: str) -> Any:
    def read(node: ReadOnlyManifest) -> str:
        addresses = cast(Sequence[Mapping[str, str]], at(node, "status.addresses", ()))
        return next((a["address"] for a in addresses if a.get("type") == kind), NONE)

    return text(read)


def _ready_of(ready: str, total: str) -> Any:
    return text(lambda m: f"{at(m, ready, 0)}/{at(m, total, 0)}")


def _service_ports(service: ReadOnlyManifest) -> str:
    ports = cast(Sequence[Mapping[str, Any]], at(service, "spec.ports", ()))
    return ",".join(_service_port(port) for port in ports) or NONE


def _service_port(port: Mapping[str, Any]) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node_port}/{port.get('protocol', 'TCP')}"


def _external_ip(service: ReadOnlyManifest) -> str:
    kind, addresses = at(service, "spec.type"), list(at(service, "spec.externalIPs", ()))
    if kind == "ExternalName":
        return at(service, "spec.externalName", NONE)
    if kind == "LoadBalancer":
        ingress = cast(Sequence[Mapping[str, str]], at(service, "status.loadBalancer.ingress", ()))
        addresses = [entry.get("ip") or entry.get("hostname", "") for entry in ingress] + addresses
        return ",".join(addresses) or "<pending>"
    return ",".join(addresses) or NONE


def _job_status(job: ReadOnlyManifest) -> str:
    for condition, shown in (("Complete", "Complete"), ("Failed", "Failed"), ("Suspended", "Suspended")):
        if _condition_status(job, condition) == "True":
            return shown
    return "Terminating" if at(job, "metadata.deletionTimestamp") else "Running"


def _job_completions(job: ReadOnlyManifest) -> str:
    done, wanted = at(job, "status.succeeded", 0), at(job, "spec.completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallel = at(job, "spec.parallelism", 1)
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _job_duration(job: ReadOnlyManifest, now: datetime) -> str:
    started, ended = at(job, "status.startTime"), at(job, "status.completionTime")
    if not started:
        return ""
    end = parse_time(ended) if ended else now
    return duration(int((end - parse_time(started)).total_seconds()))


def _event_about(event: ReadOnlyManifest) -> str:
    about = section(event, "involvedObject") or section(event, "regarding")
    return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"


def _event_seen(event: ReadOnlyManifest, now: datetime) -> str:
    seen = (
        at(event, "series.lastObservedTime")
        or at(event, "lastTimestamp")
        or at(event, "deprecatedLastTimestamp")
        or at(event, "eventTime")
        or at(event, "firstTimestamp")
    )
    return age(seen, now) if seen else UNKNOWN


def _addresses(endpoints: ReadOnlyManifest) -> str:
    shown = [
        f"{address.get('ip')}:{port.get('port')}"
        for subset in entries(endpoints, "subsets")
        for address in entries(subset, "addresses")
        for port in entries(subset, "ports") or [dict[str, Any]()]
    ]
    return _first_three(shown)


def _slice_addresses(endpoint_slice: ReadOnlyManifest) -> str:
    return _first_three(
        [a for endpoint in at(endpoint_slice, "endpoints", ()) for a in endpoint.get("addresses") or ()]
    )


def _first_three(shown: Sequence[str]) -> str:
    more = f" + {len(shown) - 3} more..." if len(shown) > 3 else ""
    return ",".join(shown[:3]) + more if shown else NONE


def _ingress_hosts(ingress: ReadOnlyManifest) -> str:
    return ",".join(rule["host"] for rule in at(ingress, "spec.rules", ()) if rule.get("host")) or "*"


def _ingress_addresses(ingress: ReadOnlyManifest) -> str:
    points = entries(section(section(ingress, "status"), "loadBalancer"), "ingress")
    return ",".join(sorted({p.get("ip") or p.get("hostname", "") for p in points}))


def _subjects(binding: ReadOnlyManifest, kind: str) -> str:
    """Service accounts with their namespace."""
    found = [subject for subject in entries(binding, "subjects") if subject.get("kind") == kind]
    return ", ".join("/".join(filter(None, (s.get("namespace"), s.get("name")))) for s in found)


_TEMPLATE = (
    Column("Containers", containers("spec.template.spec.containers", "name"), priority=1,
           description="Names of each container in the template."),
    Column("Images", containers("spec.template.spec.containers", "image"), priority=1,
           description="Images referenced by each container in the template."),
)  # fmt: skip
_SELECTOR = Column("Selector", text(lambda m: label_selector(at(m, "spec.selector"))), priority=1)

PODS = described(
    "PODS",
    Column("Ready", text(_pod_ready), description="The aggregate readiness state of this pod for accepting traffic."),
    Column("Status", text(_pod_status), description="The aggregate status of the containers in this pod."),
    Column("Restarts", _pod_restarts, description="The number of times the containers in this pod were restarted."),
    AGE,
    Column("IP", field("status.podIP"), priority=1),
    Column("Node", field("spec.nodeName"), priority=1),
    Column("Nominated Node", field("status.nominatedNodeName"), priority=1),
    Column("Readiness Gates", field("spec.readinessGates"), priority=1),
)
DEPLOYMENTS = described(
    "DEPLOYMENTS",
    Column("Ready", _ready_of("status.readyReplicas", "spec.replicas"),
           description="Number of the pod with ready state"),
    Column("Up-to-date", field("status.updatedReplicas", 0)),
    Column("Available", field("status.availableReplicas", 0)),
    AGE,
    *_TEMPLATE,
    _SELECTOR,
)  # fmt: skip
REPLICA_SETS = described(
    "REPLICA_SETS",
    Column("Desired", field("spec.replicas", 0), "integer"),
    Column("Current", field("status.replicas", 0), "integer"),
    Column("Ready", field("status.readyReplicas", 0), "integer"),
    AGE,
    *_TEMPLATE,
    _SELECTOR,
)
STATEFUL_SETS = described(
    "STATEFUL_SETS", Column("Ready", _ready_of("status.readyReplicas", "spec.replicas")), AGE, *_TEMPLATE
)
DAEMON_SETS = described(
    "DAEMON_SETS",
    Column("Desired", field("status.desiredNumberScheduled", 0), "integer"),
    Column("Current", field("status.currentNumberScheduled", 0), "integer"),
    Column("Ready", field("status.numberReady", 0), "integer"),
    Column("Up-to-date", field("status.updatedNumberScheduled", 0), "integer"),
    Column("Available", field("status.numberAvailable", 0), "integer"),
    Column("Node Selector", text(lambda m: labels(at(m, "spec.template.spec.nodeSelector")))),
    AGE,
    *_TEMPLATE,
    _SELECTOR,
)
JOBS = described(
    "JOBS",
    Column("Status", text(_job_status)),
    Column("Completions", text(_job_completions)),
    Column("Duration", _job_duration),
    AGE,
    *_TEMPLATE,
    _SELECTOR,
)
CRON_JOBS = described(
    "CRON_JOBS",
    Column("Schedule", field("spec.schedule")),
    Column("Timezone", field("spec.timeZone")),
    Column("Suspend", text(lambda m: str(at(m, "spec.suspend", False)))),
    Column("Active", count("status.active"), "integer"),
    Column("Last Schedule", since("status.lastScheduleTime", NONE)),
    AGE,
)
SERVICES = described(
    "SERVICES",
    Column("Type", field("spec.type")),
    Column("Cluster-IP", field("spec.clusterIP")),
    Column("External-IP", text(_external_ip)),
    Column("Port(s)", text(_service_ports)),
    AGE,
    Column("Selector", text(lambda m: labels(at(m, "spec.selector"))), priority=1),
)
NAMESPACES = described(
    "NAMESPACES", Column("Status", field("status.phase"), description="The status of the namespace"), AGE
)
CONFIG_MAPS = described(
    "CONFIG_MAPS", Column("Data", text(lambda m: len(at(m, "data", ())) + len(at(m, "binaryData", ())))), AGE
)
SECRETS = described("SECRETS", Column("Type", field("type")), Column("Data", count("data")), AGE)
NODES = described(
    "NODES",
    Column("Status", text(_node_status)),
    Column("Roles", text(_node_roles)),
    AGE,
    Column("Version", field("status.nodeInfo.kubeletVersion", "")),
    Column("Internal-IP", _node_address("InternalIP"), priority=1),
    Column("External-IP", _node_address("ExternalIP"), priority=1),
    Column("OS-Image", field("status.nodeInfo.osImage", UNKNOWN), priority=1),
    Column("Kernel-Version", field("status.nodeInfo.kernelVersion", UNKNOWN), priority=1),
    Column("Container-Runtime", field("status.nodeInfo.containerRuntimeVersion", UNKNOWN), priority=1),
)
EVENTS = described(
    "EVENTS",
    Column("Last Seen", _event_seen),
    Column("Type", field("type", "")),
    Column("Reason", field("reason", "")),
    Column("Object", text(_event_about)),
    Column("Subobject", field("involvedObject.fieldPath", ""), priority=1),
    Column("Source", field("source.component", ""), priority=1),
    Column("Message", text(lambda m: str(at(m, "message") or at(m, "note", "")).strip())),
    Column("First Seen", since("firstTimestamp"), priority=1),
    Column("Count", text(lambda m: str(at(m, "count") or at(m, "deprecatedCount") or 1)), priority=1),
    Column("Name", field("metadata.name"), priority=1),
)
ENDPOINTS = described("ENDPOINTS", Column("Endpoints", text(_addresses)), AGE)
ENDPOINT_SLICES = described(
    "ENDPOINT_SLICES",
    Column("AddressType", field("addressType")),
    Column("Ports", text(lambda m: ",".join(str(p.get("port", "*")) for p in at(m, "ports", ())) or "<unset>")),
    Column("Endpoints", text(_slice_addresses)),
    AGE,
)
LEASES = described("LEASES", Column("Holder", field("spec.holderIdentity", "")), AGE)
SERVICE_ACCOUNTS = described("SERVICE_ACCOUNTS", Column("Secrets", count("secrets")), AGE)
VOLUMES = described(
    "VOLUMES",
    Column("Capacity", field("spec.capacity.storage", "")),
    Column("Access Modes", text(lambda m: ",".join(at(m, "spec.accessModes", ())))),
    Column("Reclaim Policy", field("spec.persistentVolumeReclaimPolicy", "")),
    Column("Status", field("status.phase", "")),
    Column(
        "Claim", text(lambda m: "/".join(at(m, f"spec.claimRef.{k}", "") for k in ("namespace", "name")).strip("/"))
    ),
    Column("StorageClass", field("spec.storageClassName", "")),
    Column("VolumeAttributesClass", field("spec.volumeAttributesClassName", "<unset>")),
    Column("Reason", field("status.reason", "")),
    AGE,
    Column("VolumeMode", field("spec.volumeMode", "<unset>"), priority=1),
)
CLAIMS = described(
    "CLAIMS",
    Column("Status", field("status.phase", "")),
    Column("Volume", field("spec.volumeName", "")),
    Column("Capacity", field("status.capacity.storage", "")),
    Column("Access Modes", text(lambda m: ",".join(at(m, "status.accessModes", ())))),
    Column("StorageClass", field("spec.storageClassName", "")),
    Column("VolumeAttributesClass", field("spec.volumeAttributesClassName", "<unset>")),
    AGE,
    Column("VolumeMode", field("spec.volumeMode", "<unset>"), priority=1),
)
_TARGETS_DESCRIPTION = "The present value and the target of each metric."
AUTOSCALERS = described(
    "AUTOSCALERS",
    Column("Reference", text(lambda m: "/".join(at(m, f"spec.scaleTargetRef.{k}", "") for k in ("kind", "name")))),
    Column("Targets", text(targets), description=_TARGETS_DESCRIPTION),
    Column("MinPods", text(lambda m: str(at(m, "spec.minReplicas", "<unset>")))),
    Column("MaxPods", field("spec.maxReplicas", 0)),
    Column("Replicas", field("status.currentReplicas", 0)),
    AGE,
)
INGRESSES = described(
    "INGRESSES",
    Column("Class", field("spec.ingressClassName")),
    Column("Hosts", text(_ingress_hosts)),
    Column("Address", text(_ingress_addresses)),
    Column("Ports", text(lambda m: "80, 443" if at(m, "spec.tls") else "80")),
    AGE,
)
BUDGETS = described(
    "BUDGETS",
    Column("Min Available", text(lambda m: str(at(m, "spec.minAvailable", "N/A")))),
    Column("Max Unavailable", text(lambda m: str(at(m, "spec.maxUnavailable", "N/A")))),
    Column("Allowed Disruptions", field("status.disruptionsAllowed", 0), "integer"),
    AGE,
)
BINDINGS = described(
    "BINDINGS",
    Column("Role", text(lambda m: f"{at(m, 'roleRef.kind', '')}/{at(m, 'roleRef.name', '')}")),
    AGE,
    Column("Users", text(lambda m: _subjects(m, "User")), priority=1),
    Column("Groups", text(lambda m: _subjects(m, "Group")), priority=1),
    Column("ServiceAccounts", text(lambda m: _subjects(m, "ServiceAccount")), priority=1),
)
STORAGE_CLASSES = described(
    "STORAGE_CLASSES",
    Column("Provisioner", field("provisioner", "")),
    Column("ReclaimPolicy", field("reclaimPolicy", "")),
    Column("VolumeBindingMode", field("volumeBindingMode", "")),
    Column("AllowVolumeExpansion", text(lambda m: str(at(m, "allowVolumeExpansion", False)).lower())),
    AGE,
)
PRIORITY_CLASSES = described(
    "PRIORITY_CLASSES",
    Column("Value", field("value", 0)),
    Column("Global-Default", text(lambda m: str(at(m, "globalDefault", False)).lower())),
    AGE,
)
POLICIES = described("POLICIES", Column("Pod-Selector", text(lambda m: label_selector(at(m, "spec.podSelector")))), AGE)
