"""The resources that Leeward knows: `CLUSTERS`, `WORKS`, ... and the types of their objects."""

from kubeapi.resource import Resource
from leeward.api.cluster import Cluster
from leeward.api.interpreter_config import ResourceInterpreterCustomization, ResourceInterpreterWebhookConfiguration
from leeward.api.outage import ClusterOutage
from leeward.api.override import ClusterOverridePolicy, OverridePolicy
from leeward.api.policy import ClusterPropagationPolicy, PropagationPolicy
from leeward.api.quota import FederatedResourceQuota
from leeward.api.rebalancer import WorkloadRebalancer
from leeward.api.taint_policy import ClusterTaintPolicy
from leeward.api.work import ClusterResourceBinding, ResourceBinding, Work

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
    "work.karmada.io", "v1alpha2", "clusterresourcebindings", "ClusterResourceBinding", False, ClusterResourceBinding
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
OUTAGES = Resource("leeward.dev", "v1alpha1", "outages", "Outage", False, ClusterOutage)
