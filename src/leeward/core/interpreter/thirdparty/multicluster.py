"""Multi-cluster Services of the Kubernetes API (ServiceExport, ServiceImport), for members that have a data plane.

An export is healthy by its condition Ready, else by Valid. An import serves nothing by itself: it is healthy unless its
condition Ready says otherwise. A conflict is told in the status, and is no fault of one cluster. Karmada has these
kinds for a data plane of its own, takes each for healthy, and adds up no status.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kubeapi.meta import Manifest, ReadOnlyManifest
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter.dependencies import service_import_dependencies
from leeward.core.interpreter.fields import list_at, mappings_at, take, text_at
from leeward.core.interpreter.rules import InterpretationError, Rules, Status
from leeward.core.interpreter.thirdparty.merged_conditions import one_of_each_type, reports


def _is_export_healthy(manifest: ReadOnlyManifest) -> bool:
    return _is_well(_condition(manifest, "Ready") or _condition(manifest, "Valid"))


def _is_import_healthy(manifest: ReadOnlyManifest) -> bool:
    ready = _condition(manifest, "Ready")
    return not ready or _is_well(ready)


def _condition(manifest: ReadOnlyManifest, type_: str) -> str:
    """Status of a condition; empty where there is none."""
    conditions = mappings_at(manifest, "status", "conditions")
    return next((text_at(each, "status") for each in conditions if text_at(each, "type") == type_), "")


def _is_well(status: str) -> bool:
    if status not in ("True", "False"):
        raise InterpretationError("nobody has told yet whether it is ready")
    return status == "True"


def _aggregate_export(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    conditions = one_of_each_type(reports(items))
    return {"conditions": conditions} if conditions else {}


def _aggregate_import(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    """Exporting clusters that any member knows."""
    told = reports(items, "clusters")
    exporting: Mapping[str, Manifest] = {text_at(each.report, "cluster"): dict(each.report) for each in told}
    slices = {text_at(each.report, "endpointSliceObjects") for each in reports(items)} - {""}
    parts = {
        **_aggregate_export(template, items),
        "clusters": [exporting[name] for name in sorted(exporting)],
        "endpointSliceObjects": "Present" if "Present" in slices else next(iter(slices), ""),
    }
    return {name: value for name, value in parts.items() if value}


def _retain_import(desired: Manifest, observed: ReadOnlyManifest) -> None:
    """Retains the address that the member's data plane gives, where the template names none."""
    if not list_at(desired, "spec", "ips"):
        take(desired, observed, "spec", "ips")


SERVICE_EXPORT = Rules(is_healthy=_is_export_healthy, aggregate=_aggregate_export)
SERVICE_IMPORT = Rules(is_healthy=_is_import_healthy, aggregate=_aggregate_import, retain=_retain_import)
KARMADAS_IMPORT = replace(SERVICE_IMPORT, dependencies=service_import_dependencies)
"""Import of the version that Karmada has, too: the Service that stands for it comes along."""
