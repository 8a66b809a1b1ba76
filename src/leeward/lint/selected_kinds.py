"""Kinds that a policy selects, and what they have in common, by what is known of kinds."""

from collections.abc import Mapping
from difflib import get_close_matches

from leeward.api.policy import AnyPropagationPolicy, ResourceSelector
from leeward.core.eviction.shared_resources import SHARED_KINDS
from leeward.core.interpreter.kinds import KINDS

_KINDS = {
    "v1": (
        "Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume "
        "PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service "
        "ServiceAccount"
    ),
    "apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "batch/v1": "CronJob Job",
    "autoscaling/v1": "HorizontalPodAutoscaler",
    "autoscaling/v2": "HorizontalPodAutoscaler",
    "networking.k8s.io/v1": "IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR",
    "policy/v1": "PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "storage.k8s.io/v1": "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass",
    "scheduling.k8s.io/v1": "PriorityClass",
    "admissionregistration.k8s.io/v1": (
        "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration "
        "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration"
    ),
    "apiextensions.k8s.io/v1": "CustomResourceDefinition",
    "coordination.k8s.io/v1": "Lease",
    "discovery.k8s.io/v1": "EndpointSlice",
    "node.k8s.io/v1": "RuntimeClass",
    "resource.k8s.io/v1": "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
}
KUBERNETES_KINDS: Mapping[str, frozenset[str]] = {
    version: frozenset(kinds.split()) for version, kinds in _KINDS.items()
}
_ALL = sorted(frozenset[str]().union(*KUBERNETES_KINDS.values()))


def kind_fault(api_version: str, kind: str) -> str:
    """Words on a kind that its API version does not have, with what was probably meant; empty where it may have it."""
    kinds = KUBERNETES_KINDS.get(api_version)
    if kinds is None or kind in kinds:
        return ""
    fault = f"{api_version} has no kind {kind}"
    versions = [version for version, others in KUBERNETES_KINDS.items() if kind in others]
    if versions:
        return f"{fault}: it is one of {' and '.join(versions)}"
    near = get_close_matches(kind, sorted(kinds), n=1) or get_close_matches(kind, _ALL, n=1)
    return f"{fault}: is {near[0]} meant?" if near else fault


def selects_only_shared_kinds(policy: AnyPropagationPolicy) -> bool:
    """Tells whether no taint evicts anything of what it selects."""
    return all(_is_shared(selector) for selector in policy.spec.resource_selectors)


def selects_replicas(policy: AnyPropagationPolicy) -> bool:
    """Tells whether it selects a kind that is known to have replicas."""
    kinds = [(selector.api_version, selector.kind) for selector in policy.spec.resource_selectors]
    return any(kind in KINDS and KINDS[kind].replicas is not None for kind in kinds)


def _is_shared(selector: ResourceSelector) -> bool:
    return (selector.api_version.rpartition("/")[0], selector.kind) in SHARED_KINDS
