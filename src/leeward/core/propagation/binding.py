"""The binding that a template and its policy result in: the part that the detector owns.

`spec.clusters` and `spec.gracefulEvictionTasks` are the scheduler's, `spec.requiredBy` the dependencies distributor's.

Karmada: pkg/detector/detector.go (`BuildResourceBinding`, `BuildClusterResourceBinding`); same, and the
options that a policy gives by annotations of ours come along.
"""

from typing import Any

import msgspec

from kubeapi.codec import to_wire
from kubeapi.meta import Manifest, ReadOnlyManifest, annotations_of
from kubeapi.unstructured import text_at
from leeward.api.gates import GATE_ANNOTATIONS
from leeward.api.moves_with import MOVES_WITH_ANNOTATION
from leeward.api.names import (
    BINDING_CONTROLLER_FINALIZER,
    CLUSTER_POLICY_ID_LABEL,
    CLUSTER_POLICY_NAME_ANNOTATION,
    CLUSTER_RESOURCE_BINDING_CONTROLLER_FINALIZER,
    POLICY_ID_LABEL,
    POLICY_NAME_ANNOTATION,
    POLICY_NAMESPACE_ANNOTATION,
    binding_name,
)
from leeward.api.ordinals import BY_CLUSTER, ORDINALS_ANNOTATION, numbers_by_cluster
from leeward.api.policy import AnyPropagationPolicy, PropagationPolicy
from leeward.api.work import (
    BindingResource,
    BindingSchedulePriority,
    BindingSuspension,
    ReplicaRequirements,
    ResourceBindingSpec,
    WorkloadAffinityGroups,
)
from leeward.core.interpreter import ReplicaInterpretation, replica_interpretation
from leeward.core.propagation.claiming import OPTION_ANNOTATIONS

API_VERSION = "work.karmada.io/v1alpha2"
OF_TEMPLATES = (*GATE_ANNOTATIONS, MOVES_WITH_ANNOTATION)
"""Options that a template may have for itself: they count before those of its policy."""


def build_binding(
    template: ReadOnlyManifest,
    policy: AnyPropagationPolicy,
    priority: int | None = None,
    workload_affinity: bool = False,
    interpretation: ReplicaInterpretation | None = None,
    quota_estimate: bool = False,
) -> Manifest:
    """A ResourceBinding, or a ClusterResourceBinding for a template without namespace.

    `priority` is the value of the PriorityClass that the policy names; `workload_affinity` the gate of that name, and
    `quota_estimate` the gate ResourceQuotaEstimate.
    `interpretation` is that of the template, where it differs from its kind's.
    Raises: ValueError or DecodeError when the template's fields cannot be read.
    """
    metadata: ReadOnlyManifest = template["metadata"]
    namespaced = bool(metadata.get("namespace"))
    asked = interpretation or replica_interpretation(template)
    if quota_estimate:
        asked = asked._replace(requirements=_with_quota_scope(template, asked.requirements))
    return {
        "apiVersion": API_VERSION,
        "kind": "ResourceBinding" if namespaced else "ClusterResourceBinding",
        "metadata": _metadata(template, policy),
        "spec": to_wire(_spec(template, policy, priority, workload_affinity, asked)),
    }


def named_priority_class(template: ReadOnlyManifest, policy: AnyPropagationPolicy) -> str | None:
    """The PriorityClass by which bindings of the template queue; a cluster-scoped template has none, as in Karmada."""
    asked = policy.spec.schedule_priority
    return None if asked is None or not template["metadata"].get("namespace") else asked.priority_class_name


def claim(policy: AnyPropagationPolicy) -> tuple[dict[str, str], dict[str, str]]:
    """The labels and the annotations by which templates and bindings say which policy they belong to."""
    if isinstance(policy, PropagationPolicy):
        labels = {POLICY_ID_LABEL: policy.metadata.labels.get(POLICY_ID_LABEL, "")}
        return labels, {POLICY_NAMESPACE_ANNOTATION: policy.namespace, POLICY_NAME_ANNOTATION: policy.name}
    labels = {CLUSTER_POLICY_ID_LABEL: policy.metadata.labels.get(CLUSTER_POLICY_ID_LABEL, "")}
    return labels, {CLUSTER_POLICY_NAME_ANNOTATION: policy.name}


def _metadata(template: ReadOnlyManifest, policy: AnyPropagationPolicy) -> Manifest:
    metadata: ReadOnlyManifest = template["metadata"]
    namespace: str = metadata.get("namespace", "")
    labels, annotations = claim(policy)
    options = {key: value for key, value in policy.metadata.annotations.items() if key in OPTION_ANNOTATIONS}
    options |= {key: value for key, value in annotations_of(template).items() if key in OF_TEMPLATES}
    options |= {ORDINALS_ANNOTATION: BY_CLUSTER} if numbers_by_cluster(template) else {}
    finalizer = BINDING_CONTROLLER_FINALIZER if namespace else CLUSTER_RESOURCE_BINDING_CONTROLLER_FINALIZER
    return {
        "name": binding_name(template["kind"], metadata["name"]),
        **({"namespace": namespace} if namespace else {}),
        "labels": labels,
        "annotations": annotations | options,
        "finalizers": [finalizer],
        "ownerReferences": [owner_of(template)],
    }


def owner_of(template: ReadOnlyManifest) -> Manifest:
    """The binding goes with its template."""
    return {
        "apiVersion": template["apiVersion"],
        "kind": template["kind"],
        "name": template["metadata"]["name"],
        "uid": template["metadata"].get("uid", ""),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _spec(
    template: ReadOnlyManifest,
    policy: AnyPropagationPolicy,
    priority: int | None,
    workload_affinity: bool,
    asked: ReplicaInterpretation,
) -> ResourceBindingSpec:
    return ResourceBindingSpec(
        resource=resource_of(template),
        replicas=asked.replicas,
        replica_requirements=asked.requirements,
        components=asked.components,
        placement=policy.spec.placement,
        propagate_deps=policy.spec.propagate_deps,
        scheduler_name=policy.spec.scheduler_name,
        failover=policy.spec.failover,
        conflict_resolution=policy.spec.conflict_resolution,
        suspension=_suspension(policy),
        preserve_resources_on_deletion=policy.spec.preserve_resources_on_deletion,
        schedule_priority=_schedule_priority(template, priority),
        workload_affinity_groups=_affinity_groups(template, policy) if workload_affinity else None,
    )


def _schedule_priority(template: ReadOnlyManifest, priority: int | None) -> BindingSchedulePriority | None:
    """Cluster-scoped templates have none."""
    if priority is None or not template["metadata"].get("namespace"):
        return None
    return BindingSchedulePriority(priority=priority)


def _with_quota_scope(
    template: ReadOnlyManifest, requirements: ReplicaRequirements | None
) -> ReplicaRequirements | None:
    """The requirements with the fields by which ResourceQuotas of a cluster concern the pods."""
    if requirements is None:
        return None
    pod_spec = ("spec",) if template["kind"] == "Pod" else ("spec", "template", "spec")
    priority_class = text_at(template, *pod_spec, "priorityClassName") or requirements.priority_class_name
    namespace: str = template["metadata"].get("namespace", "")
    return msgspec.structs.replace(requirements, namespace=namespace, priority_class_name=priority_class)


def resource_of(template: ReadOnlyManifest) -> BindingResource:
    metadata: ReadOnlyManifest = template["metadata"]
    return BindingResource(
        api_version=template["apiVersion"],
        kind=template["kind"],
        name=metadata["name"],
        namespace=metadata.get("namespace", ""),
        uid=metadata.get("uid", ""),
        resource_version=metadata.get("resourceVersion", ""),
    )


def _suspension(policy: AnyPropagationPolicy) -> BindingSuspension | None:
    suspension = policy.spec.suspension
    if suspension is None:
        return None
    return BindingSuspension(
        dispatching=suspension.dispatching, dispatching_on_clusters=suspension.dispatching_on_clusters
    )


def _affinity_groups(template: ReadOnlyManifest, policy: AnyPropagationPolicy) -> WorkloadAffinityGroups | None:
    """A namespaced template belongs to the group that its label names."""
    affinity = policy.spec.placement.workload_affinity
    if affinity is None or not template["metadata"].get("namespace"):
        return None
    labels: ReadOnlyManifest = template["metadata"].get("labels") or {}
    groups = WorkloadAffinityGroups(
        affinity_group=_group(affinity.affinity and affinity.affinity.group_by_label_key, labels),
        anti_affinity_group=_group(affinity.anti_affinity and affinity.anti_affinity.group_by_label_key, labels),
    )
    return groups if groups != WorkloadAffinityGroups() else None


def _group(key: str | None, labels: ReadOnlyManifest) -> str:
    value: Any = labels.get(key) if key else None
    return f"{key}={value}" if value is not None else ""
