"""Resources of the objects that a switch reads and writes, all of them as manifests."""

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.resource import CLUSTERS

API_SERVICES: Resource[Manifest] = Resource.of_manifests(
    "apiregistration.k8s.io/v1", "apiservices", "APIService", False
)
CLUSTER_MANIFESTS: Resource[Manifest] = Resource.of_manifests(
    CLUSTERS.api_version, CLUSTERS.plural, CLUSTERS.kind, CLUSTERS.namespaced
)
CONFIG_MAP_MANIFESTS: Resource[Manifest] = Resource.of_manifests("v1", "configmaps", "ConfigMap", True)
CLUSTERS_SERVICE = f"{CLUSTERS.version}.{CLUSTERS.group}"
"""The name of the APIService that says who serves the Clusters."""
