"""The CustomResourceDefinitions of Karmada's kinds, and of ours: names, scope, columns, and schemas rendered from the
wire structs.

Differences to Karmada's own: bindings are served as v1alpha2 only (v1alpha1 is an older form that Karmada keeps
unstored), and Cluster is an ordinary custom resource here, where Karmada runs an aggregated API server for it; its
`proxy` subresource is answered by whoever serves the API.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api import resource
from leeward.api.names import EVICTION_HELD_CONDITION, LEAVES_AT, LEAVING_CONDITION, LOSS_COVERED_CONDITION
from leeward.api.openapi import structural_schema


class Column(NamedTuple):
    """A printer column; `-o wide` shows those with priority 1, too."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0


_AGE = Column("AGE", ".metadata.creationTimestamp", "date")


@dataclass(frozen=True, slots=True)
class CustomKind:
    resource: Resource[Any]
    short_name: str = ""
    columns: tuple[Column, ...] = ()
    in_category: bool = True
    """Tells whether `kubectl get karmada-io` lists it."""
    status_apart: bool = True
    """Tells whether its status is a subresource, which who writes the rest does not write."""


def _status_of(condition_type: str) -> str:
    return f'.status.conditions[?(@.type=="{condition_type}")].status'


def _reason_of(condition_type: str) -> str:
    return f'.status.conditions[?(@.type=="{condition_type}")].reason'


_POLICY_COLUMNS = (
    Column("CONFLICT-RESOLUTION", ".spec.conflictResolution"),
    Column("PRIORITY", ".spec.priority"),
    _AGE,
)
_BINDING_COLUMNS = (
    Column("SCHEDULED", _status_of("Scheduled")),
    Column("FULLYAPPLIED", _status_of("FullyApplied")),
    _AGE,
    Column("HELD", _reason_of(EVICTION_HELD_CONDITION), priority=1),
    Column("LEAVING", ".spec.gracefulEvictionTasks[*].fromCluster", priority=1),
    Column("LEAVES-AT", f".status.aggregatedStatus[*].status['{LEAVES_AT}']", priority=1),
)
"""The last three are ours: what an outage makes of a binding."""
_OUTAGE_COLUMNS = (
    Column("CLUSTER", ".spec.cluster"),
    Column("SINCE", ".spec.since", "date"),
    Column("FOR", ".status.lasted"),
    Column("MOVED", ".status.moved", "integer"),
    Column("HELD", ".status.held", "integer"),
    Column("WORST", ".status.recovery.worst"),
    Column("PHASE", ".status.phase", priority=1),
    Column("APPLICATIONS", ".status.applications", "integer", priority=1),
    Column("MOVING", ".status.moving", "integer", priority=1),
    Column("DUE", ".status.due", "integer", priority=1),
    Column("KEPT", ".status.kept", "integer", priority=1),
)
"""The kind is ours. SINCE is how long ago it began, FOR how long the cluster was away."""

CUSTOM_KINDS: tuple[CustomKind, ...] = (
    CustomKind(
        resource.CLUSTERS,
        columns=(
            Column("VERSION", ".status.kubernetesVersion"),
            Column("MODE", ".spec.syncMode"),
            Column("READY", _status_of("Ready")),
            _AGE,
            Column("ZONES", ".spec.zones", priority=1),
            Column("REGION", ".spec.region", priority=1),
            Column("PROVIDER", ".spec.provider", priority=1),
            Column("API-ENDPOINT", ".spec.apiEndpoint", priority=1),
            Column("PROXY-URL", ".spec.proxyURL", priority=1),
            Column("SINCE", '.status.conditions[?(@.type=="Ready")].lastTransitionTime', "date", priority=1),
            Column("LOSS-COVERED", _status_of(LOSS_COVERED_CONDITION), priority=1),
        ),
    ),
    CustomKind(resource.PROPAGATION_POLICIES, "pp", _POLICY_COLUMNS),
    CustomKind(resource.CLUSTER_PROPAGATION_POLICIES, "cpp", _POLICY_COLUMNS),
    CustomKind(resource.OVERRIDE_POLICIES, "op"),
    CustomKind(resource.CLUSTER_OVERRIDE_POLICIES, "cop"),
    CustomKind(resource.CLUSTER_TAINT_POLICIES, in_category=False),
    CustomKind(
        resource.FEDERATED_RESOURCE_QUOTAS,
        columns=(Column("OVERALL", ".status.overall"), Column("OVERALL_USED", ".status.overallUsed")),
    ),
    CustomKind(resource.RESOURCE_BINDINGS, "rb", _BINDING_COLUMNS),
    CustomKind(resource.CLUSTER_RESOURCE_BINDINGS, "crb", _BINDING_COLUMNS),
    CustomKind(
        resource.WORKS,
        "wk",
        (
            Column("WORKLOAD-KIND", ".spec.workload.manifests[*].kind"),
            Column("APPLIED", _status_of("Applied")),
            _AGE,
            Column("LEAVING", _reason_of(LEAVING_CONDITION)),
        ),
    ),
    CustomKind(resource.WORKLOAD_REBALANCERS, in_category=False),
    CustomKind(
        resource.RESOURCE_INTERPRETER_CUSTOMIZATIONS,
        "ric",
        (Column("TARGET-API-VERSION", ".spec.target.apiVersion"), Column("TARGET-KIND", ".spec.target.kind"), _AGE),
    ),
    CustomKind(resource.RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS),
    CustomKind(resource.OUTAGES, "outg", _OUTAGE_COLUMNS, in_category=False, status_apart=False),
)


def custom_resource_definitions() -> list[Manifest]:
    """`apiextensions.k8s.io/v1` manifests of all kinds. A fresh list; the schemas inside are shared."""
    return [_render_definition(kind) for kind in CUSTOM_KINDS]


def schema_of(api_version: str, kind: str) -> Manifest | None:
    """The schema of one of these kinds; None for a kind, or a version of it, that there is not."""
    found = (each.resource for each in CUSTOM_KINDS)
    known = next((each for each in found if (each.api_version, each.kind) == (api_version, kind)), None)
    return None if known is None else structural_schema(known.object_type)


def _render_definition(kind: CustomKind) -> Manifest:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.resource.group_resource},
        "spec": {
            "group": kind.resource.group,
            "names": _render_names(kind),
            "scope": "Namespaced" if kind.resource.namespaced else "Cluster",
            "versions": [_render_version(kind)],
        },
    }


def _render_names(kind: CustomKind) -> Manifest:
    names: Manifest = {
        "plural": kind.resource.plural,
        "singular": kind.resource.kind.lower(),
        "kind": kind.resource.kind,
        "listKind": f"{kind.resource.kind}List",
    }
    if kind.short_name:
        names["shortNames"] = [kind.short_name]
    if kind.in_category:
        names["categories"] = ["karmada-io"]
    return names


def _render_version(kind: CustomKind) -> Manifest:
    schema = structural_schema(kind.resource.object_type)
    version: Manifest = {
        "name": kind.resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    if kind.status_apart and "status" in schema["properties"]:
        version["subresources"] = {"status": {}}
    if kind.columns:
        version["additionalPrinterColumns"] = [_render_column(column) for column in kind.columns]
    return version


def _render_column(column: Column) -> Manifest:
    rendered: Manifest = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return rendered | ({"priority": column.priority} if column.priority else {})
