"""Addresses that lead to something: a LoadBalancer Service or an Ingress lists only clusters that serve.

    serves        a workload behind it is assigned to the cluster, and at least one replica there is ready
    leaving       a workload behind it serves in the cluster, and is assigned elsewhere

    some cluster serves and has an address        the addresses of these clusters
    else, some cluster serves until it has left   the addresses of these clusters
    else                                          the addresses that are listed, or all: the last one never goes

An address that is listed stays where it is not known whether the cluster serves, and while the brake is engaged. Where
no workload is known behind a Service, all are listed.
Whatever reads the control plane (external-dns, a GSLB, a script) so follows a failover. Differs from Karmada, which
lists the addresses of all clusters, also of dead ones. The binding's own status has all of them, as there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from kubeapi.codec import encode
from kubeapi.meta import Manifest, ReadOnlyManifest
from leeward.api.cluster import Cluster
from leeward.api.names import ALL_ADDRESSES_ANNOTATION
from leeward.api.work import AggregatedStatusItem, Binding, Work
from leeward.core.copies.availability import availability
from leeward.core.interpreter.dependencies import ingress_dependencies
from leeward.core.interpreter.fields import list_at, mapping_at, text_at

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
    return kind in (("v1", "Service"), ("networking.k8s.io/v1", "Ingress")) and not all_listed


def services_behind(ingress: ReadOnlyManifest) -> list[str]:
    """Names of the Services to which an Ingress leads."""
    return [each.name for each in ingress_dependencies(ingress) if each.kind == "Service"]


def selector_of_service(service: ReadOnlyManifest) -> Mapping[str, str]:
    """Labels of its Pods; none where its endpoints are somebody else's."""
    return {str(key): str(value) for key, value in mapping_at(service, "spec", "selector").items()}


def selects(selector: Mapping[str, str], workload: ReadOnlyManifest) -> bool:
    """Tells whether a Service with this selector leads to the Pods that the workload makes."""
    path = ("metadata", "labels") if workload.get("kind") == "Pod" else ("spec", "template", "metadata", "labels")
    labels = mapping_at(workload, *path)
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
        f"{text_at(entry, 'ip') or text_at(entry, 'hostname')} ({item.cluster_name})"
        for item in items
        for entry in _addresses(item.status)
        if _encoded([entry]) <= gone
    ]


def _addresses(status: object) -> Sequence[Any]:
    return list_at(status, "loadBalancer", "ingress")


def _encoded(entries: Iterable[Any]) -> set[bytes]:
    return {encode(entry) for entry in entries}


def _without_addresses(item: AggregatedStatusItem) -> AggregatedStatusItem:
    if not _addresses(item.status):
        return item
    status: Manifest = {**cast(Manifest, item.status), "loadBalancer": {}}
    return msgspec.structs.replace(item, status=status)
