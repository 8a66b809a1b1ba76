"""Bare Pods."""

from collections.abc import Mapping, Sequence
from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import drop, list_at, mapping_at, mappings_at, pick, put, text_at, value_at
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter.dependencies import bare_pod_dependencies
from leeward.core.interpreter.fields import statuses
from leeward.core.interpreter.pod_template import replica_requirements
from leeward.core.interpreter.rules import Rules, Status

_WORST_FIRST = ("Failed", "Pending", "Running", "Succeeded")
_MEMBER_OWNED = ("nodeName", "serviceAccountName", "volumes")


def _is_healthy(manifest: ReadOnlyManifest) -> bool:
    phase = text_at(manifest, "status", "phase")
    conditions = list_at(manifest, "status", "conditions")
    ready = any(text_at(c, "type") == "Ready" and text_at(c, "status") == "True" for c in conditions)
    return phase == "Succeeded" or (phase == "Running" and ready)


def _aggregate(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status | None:
    """The worst phase of all, and what each container does; a cluster without report counts as Pending."""
    if not items:
        return None
    reported = statuses(items)
    phases = {text_at(status, "phase") for status in reported}
    if len(reported) < len(items):
        phases.add("Pending")
    phase = next((worst for worst in _WORST_FIRST if worst in phases), "")
    containers = {name: _containers(reported, name) for name in ("containerStatuses", "initContainerStatuses")}
    return pick({"phase": phase, **containers}, ("phase", *containers))


def _containers(reported: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    return [
        {key: container[key] for key in ("ready", "state") if key in container}
        for status in reported
        for container in mappings_at(status, name)
    ]


def _retain(desired: Manifest, observed: ReadOnlyManifest) -> None:
    """Keeps what the member's admission and scheduler have set."""
    for field in _MEMBER_OWNED:
        value = value_at(observed, "spec", field)
        if value is None:
            drop(desired, "spec", field)
        else:
            put(desired, value, "spec", field)
    for kind in ("containers", "initContainers"):
        _retain_mounts(mappings_at(desired, "spec", kind), mappings_at(observed, "spec", kind))


def _retain_mounts(desired: Sequence[Manifest], observed: Sequence[ReadOnlyManifest]) -> None:
    mounts = {text_at(container, "name"): container.get("volumeMounts") for container in observed}
    for container in desired:
        name = text_at(container, "name")
        if name not in mounts:
            continue
        container.pop("volumeMounts", None)
        if mounts[name] is not None:
            container["volumeMounts"] = mounts[name]


POD = Rules(
    replicas=lambda manifest: (1, replica_requirements(mapping_at(manifest, "spec"))),
    is_healthy=_is_healthy,
    aggregate=_aggregate,
    retain=_retain,
    dependencies=bare_pod_dependencies,
)
