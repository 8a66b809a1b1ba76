"""Service and Ingress: the ways to the application, and the addresses that load balancers give it."""

from collections.abc import Mapping, Sequence
from typing import Any

from kubeapi.codec import encode
from kubeapi.meta import Manifest, ReadOnlyManifest
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter.dependencies import ingress_dependencies
from leeward.core.interpreter.fields import drop, list_at, mapping_at, statuses, take, text_at
from leeward.core.interpreter.node_ports import HEALTH_PORT, retain_node_ports
from leeward.core.interpreter.rules import Rules, Status


def _is_load_balancer(manifest: ReadOnlyManifest) -> bool:
    return text_at(manifest, "spec", "type") == "LoadBalancer"


def _reflect_service(manifest: ReadOnlyManifest) -> Status | None:
    return dict(mapping_at(manifest, "status")) if _is_load_balancer(manifest) else None


def _is_service_healthy(manifest: ReadOnlyManifest) -> bool:
    return not _is_load_balancer(manifest) or bool(_addresses(mapping_at(manifest, "status")))


def _is_ingress_healthy(manifest: ReadOnlyManifest) -> bool:
    return bool(_addresses(mapping_at(manifest, "status")))


def _addresses(status: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    entries = list_at(status, "loadBalancer", "ingress")
    return [entry for entry in entries if text_at(entry, "ip") or text_at(entry, "hostname")]


def _aggregate(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    """All addresses, each once, in a stable order."""
    entries = [entry for status in statuses(items) for entry in list_at(status, "loadBalancer", "ingress")]
    distinct = {encode(entry): entry for entry in entries}
    ingress = sorted(distinct.values(), key=lambda entry: (text_at(entry, "ip"), text_at(entry, "hostname")))
    return {"loadBalancer": {"ingress": ingress} if ingress else {}}


def _aggregate_service(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status | None:
    return _aggregate(template, items) if _is_load_balancer(template) else None


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
    reflect=_reflect_service,
    is_healthy=_is_service_healthy,
    aggregate=_aggregate_service,
    retain=_retain_service,
    prune=_prune_service,
)
INGRESS = Rules(is_healthy=_is_ingress_healthy, aggregate=_aggregate, dependencies=ingress_dependencies)
