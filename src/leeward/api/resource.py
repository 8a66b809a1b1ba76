"""A `Resource` says where a kind lives in the REST API and which type its objects have.

The known ones are listed at the end: `CLUSTERS`, `WORKS`, ... For any other kind, `Resource.of_manifests` makes one
from discovery.
"""

import re
from dataclasses import dataclass
from typing import Generic, TypeVar

from leeward.api.cluster import Cluster
from leeward.api.core import ConfigMap, Event, Lease, Namespace, Node, Pod, Secret
from leeward.api.interpreter_config import ResourceInterpreterCustomization, ResourceInterpreterWebhookConfiguration
from leeward.api.meta import Manifest
from leeward.api.override import ClusterOverridePolicy, OverridePolicy
from leeward.api.policy import ClusterPropagationPolicy, PropagationPolicy
from leeward.api.quota import FederatedResourceQuota
from leeward.api.rebalancer import WorkloadRebalancer
from leeward.api.taint_policy import ClusterTaintPolicy
from leeward.api.work import ClusterResourceBinding, ResourceBinding, Work

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """REST coordinates of a kind, and the type that its objects are decoded as."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    object_type: type[T]

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> str:
        """`clusters.cluster.karmada.io`; only the plural for the core group. As Kubernetes writes it in messages."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of the collection, of one object, or of its subresource."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        tail = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{root}{scope}/{self.plural}{tail}"

    @staticmethod
    def of_manifests(api_version: str, plural: str, kind: str, namespaced: bool) -> "Resource[Manifest]":
        group, _, version = api_version.rpartition("/")
        return Resource(group, version, plural, kind, namespaced, dict)


_API_VERSION = re.compile(r"(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?/)?[a-z](?:[a-z0-9-]*[a-z0-9])?")


def is_api_version(text: str) -> bool:
    """Whether it is VERSION or GROUP/VERSION, as Kubernetes allows them to be called."""
    return _API_VERSION.fullmatch(text) is not None


def is_path_segment(name: str) -> bool:
    """Whether an object can be called so in a URL.

    Kubernetes: apimachinery's `IsValidPathSegmentName`; same, and nothing is called "".
    """
    return name not in ("", ".", "..") and "/" not in name and "%" not in name


CLUSTERS = Resource("cluster.karmada.io", "v1alpha1", "clusters", "Cluster", False, Cluster)
PROPAGATION_POLICIES = Resource(
    "policy.karmada.io", "v1alpha1", "propagationpolicies", "PropagationPolicy", True, PropagationPolicy
)
PRIORITY_CLASSES = Resource.of_manifests("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", False)
CLUSTER_PROPAGATION_POLICIES = Resource(
    "policy.karmada.io",
    "v1alpha1",
    "clusterpropagationpolicies",
    "ClusterPropagationPolicy",
    False,
    ClusterPropagationPolicy,
)
RESOURCE_BINDINGS = Resource(
    "work.karmada.io", "v1alpha2", "resourcebindings", "ResourceBinding", True, ResourceBinding
)
CLUSTER_RESOURCE_BINDINGS = Resource(
    "work.karmada.io",
    "v1alpha2",
    "clusterresourcebindings",
    "ClusterResourceBinding",
    False,
    ClusterResourceBinding,
)
WORKS = Resource("work.karmada.io", "v1alpha1", "works", "Work", True, Work)
OVERRIDE_POLICIES = Resource(
    "policy.karmada.io", "v1alpha1", "overridepolicies", "OverridePolicy", True, OverridePolicy
)
CLUSTER_OVERRIDE_POLICIES = Resource(
    "policy.karmada.io", "v1alpha1", "clusteroverridepolicies", "ClusterOverridePolicy", False, ClusterOverridePolicy
)
CLUSTER_TAINT_POLICIES = Resource(
    "policy.karmada.io", "v1alpha1", "clustertaintpolicies", "ClusterTaintPolicy", False, ClusterTaintPolicy
)
FEDERATED_RESOURCE_QUOTAS = Resource(
    "policy.karmada.io", "v1alpha1", "federatedresourcequotas", "FederatedResourceQuota", True, FederatedResourceQuota
)
WORKLOAD_REBALANCERS = Resource(
    "apps.karmada.io", "v1alpha1", "workloadrebalancers", "WorkloadRebalancer", False, WorkloadRebalancer
)
RESOURCE_INTERPRETER_CUSTOMIZATIONS = Resource(
    "config.karmada.io",
    "v1alpha1",
    "resourceinterpretercustomizations",
    "ResourceInterpreterCustomization",
    False,
    ResourceInterpreterCustomization,
)
RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS = Resource(
    "config.karmada.io",
    "v1alpha1",
    "resourceinterpreterwebhookconfigurations",
    "ResourceInterpreterWebhookConfiguration",
    False,
    ResourceInterpreterWebhookConfiguration,
)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", False, Namespace)
SECRETS = Resource("", "v1", "secrets", "Secret", True, Secret)
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", True, ConfigMap)
EVENTS = Resource("", "v1", "events", "Event", True, Event)
NODES = Resource("", "v1", "nodes", "Node", False, Node)
PODS = Resource("", "v1", "pods", "Pod", True, Pod)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease", True, Lease)
