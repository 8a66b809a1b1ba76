"""Addresses that lead to something: a LoadBalancer Service, an Ingress or a Gateway lists only clusters that serve.

    serves        a workload behind it is assigned to the cluster, and at least one replica there is ready
    leaving       a workload behind it serves in the cluster, and is assigned elsewhere

    some cluster serves and has an address        the addresses of these clusters
    else, some cluster serves until it has left   the addresses of these clusters
    else                                          the addresses that are listed, or all: the last one never goes

An address that is listed stays where it is not known whether the cluster serves, and while the brake is engaged. Where
no workload is known behind a Service, all are listed. A Gateway leads to the Services of its routes, except those of
weight 0. It lists all where routes of other namespaces may be attached to it, also by a ListenerSet, and where one of
its routes leads elsewhere than to a Service beside it. The binding's own status has all addresses, as in Karmada.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from kubeapi.codec import encode
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import list_at, mapping_at, mappings_at, text_at
from leeward.api.cluster import Cluster
from leeward.api.names import ALL_ADDRESSES_ANNOTATION
from leeward.api.work import AggregatedStatusItem, Binding, Work
from leeward.core.copies.availability import availability
from leeward.core.interpreter.dependencies import ingress_dependencies

GATEWAY_GROUP = "gateway.networking.k8s.io"
_NAMES = ("ip", "hostname", "value")
NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ServingClusters:
    """Clusters in which workloads serve: `stays` for good, `leaves` for now; in `unknown` ones nobody can say."""

    stays: frozenset[str] = NOBODY
    leaves: frozenset[str] = NOBODY
    unknown: frozenset[str] = NOBODY

    def __or__(self, other: "ServingClusters") -> "ServingClusters":
        stays = self.stays | other.stays
        return ServingClusters(stays, (self.leaves | other.leaves) - stays, self.unknown | other.unknown)


def leads_traffic(binding: Binding) -> bool:
    """Tells whether the template may have addresses that follow its workloads."""
    wanted = binding.spec.resource
    kind = (wanted.api_version, wanted.kind)
    all_listed = binding.metadata.annotations.get(ALL_ADDRESSES_ANNOTATION) == "true"
    is_leading = kind in (("v1", "Service"), ("networking.k8s.io/v1", "Ingress")) or is_gateway_kind(*kind, "Gateway")
    return is_leading and not all_listed


def is_gateway_kind(api_version: str, kind: str, ending: str) -> bool:
    """Tells whether it is a kind of Gateway API whose name ends so: `Gateway`, or `Route`."""
    return api_version.partition("/")[0] == GATEWAY_GROUP and kind.endswith(ending)


def services_behind(ingress: ReadOnlyManifest) -> list[str]:
    """Names of the Services to which an Ingress leads."""
    return [each.name for each in ingress_dependencies(ingress) if each.kind == "Service"]


def services_behind_gateway(gateway: ReadOnlyManifest, routes: Iterable[ReadOnlyManifest]) -> list[str]:
    """Names of the Services to which the routes of a Gateway lead; none where that cannot be told."""
    listeners = mappings_at(gateway, "spec", "listeners")
    spaces = {text_at(each, "allowedRoutes", "namespaces", "from") for each in listeners}
    sets = text_at(gateway, "spec", "allowedListeners", "namespaces", "from")
    if not spaces <= {"", "Same"} or sets not in ("", "None"):
        return []
    found = [(each, _references(each)) for each in routes]
    if any(text_at(ref, "kind").endswith("ListenerSet") for _, references in found for ref in references):
        return []
    attached = [each for each, references in found if any(_is_own(ref, gateway, "Gateway") for ref in references)]
    backends = [backend for route in attached for backend in _backends(route)]
    if not all(_is_own(backend, gateway, "Service", text_at(backend, "name")) for backend in backends):
        return []
    return sorted({text_at(each, "name") for each in backends})


def _references(route: ReadOnlyManifest) -> list[Manifest]:
    """References to the parents of a route, which are Gateways where nothing else is said."""
    return [{"kind": "Gateway", "group": GATEWAY_GROUP, **each} for each in mappings_at(route, "spec", "parentRefs")]


def _backends(route: ReadOnlyManifest) -> list[Manifest]:
    """References to the backends of a route that get traffic."""
    rules = mappings_at(route, "spec", "rules")
    found = [{"kind": "Service", **each} for rule in rules for each in mappings_at(rule, "backendRefs")]
    return [each for each in found if each.get("weight") != 0]


def _is_own(reference: ReadOnlyManifest, gateway: ReadOnlyManifest, kind: str, name: str = "") -> bool:
    """Tells whether a reference names this Gateway, or the object of that name and kind beside it."""
    own = text_at(gateway, "metadata", "namespace")
    group = GATEWAY_GROUP if kind == "Gateway" else ""
    wanted = (kind, group, name or text_at(gateway, "metadata", "name"))
    named = (text_at(reference, "kind"), text_at(reference, "group"), text_at(reference, "name"))
    return named == wanted and text_at(reference, "namespace") in ("", own)


def selector_of_service(service: ReadOnlyManifest) -> Mapping[str, str]:
    """Labels of its Pods; none where its endpoints are somebody else's."""
    return {str(key): str(value) for key, value in mapping_at(service, "spec", "selector").items()}


def selects(selector: Mapping[str, str], workload: ReadOnlyManifest) -> bool:
    """Tells whether a Service with this selector leads to the Pods that the workload makes."""
    return _matches(selector, mapping_at(workload, *_path_of_labels(workload)))


def may_be_behind(manifest: ReadOnlyManifest, workloads: Iterable[ReadOnlyManifest]) -> bool:
    """Tells whether the Pods of these workloads may need the object: any but a Service that selects others."""
    selector = selector_of_service(manifest)
    if manifest["kind"] != "Service" or not selector:
        return True
    found = (mapping_at(each, *_path_of_labels(each)) for each in workloads)
    return any(not labels or _matches(selector, labels) for labels in found)


def _path_of_labels(workload: ReadOnlyManifest) -> tuple[str, ...]:
    return ("metadata", "labels") if workload.get("kind") == "Pod" else ("spec", "template", "metadata", "labels")


def _matches(selector: Mapping[str, str], labels: Mapping[str, Any]) -> bool:
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def serving(binding: Binding, works: Mapping[str, Work], clusters: Mapping[str, Cluster]) -> ServingClusters:
    """Clusters in which a replica of the workload is ready, by its Works. `works` and `clusters` by cluster."""
    assigned = {target.name for target in binding.spec.clusters}
    known = {name: availability(work, clusters.get(name), 1) for name, work in works.items()}
    there = {name for name, each in known.items() if each.at_least > 0}
    seen = {name for name in works if name in clusters and clusters[name].is_ready}
    unknown = {name for name in seen if known[name].since is None}
    return ServingClusters(frozenset(there & assigned), frozenset(there - assigned), frozenset(unknown - there))


def with_addresses_that_serve(
    items: Sequence[AggregatedStatusItem], status: ReadOnlyManifest, behind: ServingClusters | None, *, is_braked: bool
) -> tuple[AggregatedStatusItem, ...]:
    """The items, without the addresses of clusters to which nothing is to be led. `status` is the template's present
    one, `behind` None where no workload is known."""
    if behind is None:
        return tuple(items)
    having = {item.cluster_name for item in items if _addresses(item.status)}
    present = _encoded(_addresses(status))
    stay = {item.cluster_name for item in items if present & _encoded(_addresses(item.status))}
    listed = having & behind.stays or having & behind.leaves or stay or having
    listed |= stay if is_braked else stay & behind.unknown
    return tuple(item if item.cluster_name in listed else _without_addresses(item) for item in items)


def left_out(before: ReadOnlyManifest, items: Iterable[AggregatedStatusItem], after: ReadOnlyManifest) -> list[str]:
    """Addresses that a status has lost though their clusters still report them, each with its cluster."""
    gone = _encoded(_addresses(before)) - _encoded(_addresses(after))
    return [
        f"{next(filter(None, (text_at(entry, each) for each in _NAMES)), '')} ({item.cluster_name})"
        for item in items
        for entry in _addresses(item.status)
        if _encoded([entry]) <= gone
    ]


def _addresses(status: object) -> Sequence[Any]:
    return list_at(status, "loadBalancer", "ingress") or list_at(status, "addresses")


def _encoded(entries: Iterable[Any]) -> set[bytes]:
    return {encode(entry) for entry in entries}


def _without_addresses(item: AggregatedStatusItem) -> AggregatedStatusItem:
    if not _addresses(item.status):
        return item
    given = cast(Manifest, item.status)
    status: Manifest = {**given, **({"addresses": []} if "addresses" in given else {"loadBalancer": {}})}
    return msgspec.structs.replace(item, status=status)
