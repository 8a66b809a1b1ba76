"""The cluster itself: its namespaces and nodes, what happens in it, and who may do what."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from kubeapi.meta import ReadOnlyManifest
from kubeserver.kinds.columns import AGE, NONE, UNKNOWN, age, at, condition_status, count, described, field, text
from kubeserver.kinds.kind import Column
from kubeserver.kinds.views import NewEvent
from kubeserver.values import entries, section


def _node_status(node: ReadOnlyManifest) -> str:
    ready = {"True": "Ready", "False": "NotReady"}.get(condition_status(node, "Ready"), "Unknown")
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


def _event_about(event: ReadOnlyManifest) -> str:
    about = section(event, "involvedObject")
    return "/".join(filter(None, (str(about.get("kind", "")).lower(), about.get("name"))))


def _event_source(event: ReadOnlyManifest) -> str:
    component = at(event, "source.component") or at(event, "reportingComponent")
    return ", ".join(filter(None, (component, at(event, "source.host") or at(event, "reportingInstance"))))


def _event_first_seen(event: ReadOnlyManifest, now: datetime) -> str:
    first = at(event, "firstTimestamp") or at(event, "eventTime")
    return age(first, now) if first else UNKNOWN


def _event_last_seen(event: ReadOnlyManifest, now: datetime) -> str:
    last = at(event, "series.lastObservedTime") if "series" in event else at(event, "lastTimestamp")
    return age(last, now) if last else _event_first_seen(event, now)


def _event_count(event: ReadOnlyManifest) -> int:
    return at(event, "series.count", 0) if "series" in event else at(event, "count") or 1


def _subjects(binding: ReadOnlyManifest, kind: str) -> str:
    """Service accounts with their namespace."""
    found = [subject for subject in entries(binding, "subjects") if subject.get("kind") == kind]
    return ", ".join("/".join(filter(None, (s.get("namespace"), s.get("name")))) for s in found)


NAMESPACES = described(
    "NAMESPACES", Column("Status", field("status.phase"), description="The status of the namespace"), AGE
)
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
    Column("Last Seen", _event_last_seen),
    Column("Type", field("type", "")),
    Column("Reason", field("reason", "")),
    Column("Object", text(_event_about)),
    Column("Subobject", field("involvedObject.fieldPath", ""), priority=1),
    Column("Source", text(_event_source), priority=1),
    Column("Message", text(lambda m: str(at(m, "message", "")).strip())),
    Column("First Seen", _event_first_seen, priority=1),
    Column("Count", text(_event_count), priority=1),
    Column("Name", field("metadata.name"), priority=1),
)


def _of_new_event(column: Column) -> Column:
    """Shows a new Event as it shows those of the core group."""

    def cell(event: ReadOnlyManifest, now: datetime) -> Any:
        stored = dict(event)
        NewEvent().store(stored)
        return column.cell(stored, now)

    return replace(column, cell=cell)


NEW_EVENTS = tuple(_of_new_event(column) for column in EVENTS)
LEASES = described("LEASES", Column("Holder", field("spec.holderIdentity", "")), AGE)
SERVICE_ACCOUNTS = described("SERVICE_ACCOUNTS", Column("Secrets", count("secrets")), AGE)
BINDINGS = described(
    "BINDINGS",
    Column("Role", text(lambda m: f"{at(m, 'roleRef.kind', '')}/{at(m, 'roleRef.name', '')}")),
    AGE,
    Column("Users", text(lambda m: _subjects(m, "User")), priority=1),
    Column("Groups", text(lambda m: _subjects(m, "Group")), priority=1),
    Column("ServiceAccounts", text(lambda m: _subjects(m, "ServiceAccount")), priority=1),
)
PRIORITY_CLASSES = described(
    "PRIORITY_CLASSES",
    Column("Value", field("value", 0), "integer"),
    Column("Global-Default", field("globalDefault", False), "boolean"),
    AGE,
    Column("PreemptionPolicy", field("preemptionPolicy", "")),
)
