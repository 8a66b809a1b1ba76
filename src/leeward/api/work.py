"""`work.karmada.io`: bindings (a template and where it goes) and Works (what one member cluster must contain)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta
from msgspec.structs import force_setattr

from kubeapi.core import NodeSelector, Toleration
from kubeapi.meta import Dated, Int32, Int64, Manifest, Object, ReadOnlyManifest, TypedObject
from kubeapi.quantity import Quantity
from leeward.api.meta import ON_WIRE, Condition, find_condition, schema_default
from leeward.api.names import (
    AWAITED_GATE_ANNOTATION,
    LEAVING_CONDITION,
    REMOVAL_HELD_ANNOTATION,
    REMOVAL_ORDERED_ANNOTATION,
)
from leeward.api.policy import FailoverBehavior, Placement, SuspendClusters
from leeward.api.purge_mode import MODE_SCHEMA, RULES_BY_WORD, PurgeRules, StoredPurgeModeText, word_of_today

Health = Literal["", "Healthy", "Unhealthy", "Unknown"]
RawObject = Annotated[Any, Meta(extra_json_schema={"type": "object"})]


class NodeClaim(Object, frozen=True):
    hard_node_affinity: NodeSelector | None = None
    node_selector: Mapping[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class ComponentReplicaRequirements(Object, frozen=True):
    node_claim: NodeClaim | None = None
    resource_request: Mapping[str, Quantity] = {}
    priority_class_name: str = ""


class ReplicaRequirements(ComponentReplicaRequirements, frozen=True, kw_only=True):
    """Requirements of one replica."""

    namespace: str = ""


class Component(Object, frozen=True):
    name: Annotated[str, Meta(max_length=32)]
    replicas: Int32
    replica_requirements: ComponentReplicaRequirements | None = None


class BindingResource(Object, frozen=True):
    """The resource template that a binding is for."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class TargetComponent(Object, frozen=True):
    name: str
    replicas: Int32


class TargetCluster(Object, frozen=True):
    name: str
    replicas: Int32 = 0
    components: tuple[TargetComponent, ...] = ()


class GracefulEvictionTask(Dated, frozen=True):
    """A cluster that is being left, and how."""

    from_cluster: str
    reason: Annotated[str, Meta(min_length=1, max_length=32, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")]
    producer: str
    purge_mode: Annotated[StoredPurgeModeText, MODE_SCHEMA] = ""
    replicas: Int32 | None = None
    message: Annotated[str, Meta(max_length=1024)] = ""
    grace_period_seconds: Int32 | None = None
    suppress_deletion: bool | None = None
    creation_timestamp: datetime | None = None
    preserved_label_state: Mapping[str, str] = {}
    clusters_before_failover: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        force_setattr(self, "purge_mode", word_of_today(self.purge_mode))

    @property
    def purge_rules(self) -> PurgeRules:
        return RULES_BY_WORD[self.purge_mode]


class BindingSnapshot(Object, frozen=True):
    """A binding that needs this one as its dependency, and where it is."""

    name: str
    namespace: str = ""
    clusters: tuple[TargetCluster, ...] = ()


class BindingSuspension(Object, frozen=True):
    dispatching: bool | None = None
    dispatching_on_clusters: SuspendClusters | None = None
    scheduling: bool | None = None


class BindingSchedulePriority(Object, frozen=True):
    priority: Annotated[Int32, schema_default(0)] = 0


class WorkloadAffinityGroups(Object, frozen=True):
    affinity_group: str = ""
    anti_affinity_group: str = ""


class ResourceBindingSpec(Dated, frozen=True):
    resource: BindingResource
    clusters: tuple[TargetCluster, ...] = ()
    replicas: Int32 = 0
    replica_requirements: ReplicaRequirements | None = None
    components: tuple[Component, ...] = ()
    placement: Placement | None = None
    graceful_eviction_tasks: tuple[GracefulEvictionTask, ...] = ()
    required_by: tuple[BindingSnapshot, ...] = ()
    propagate_deps: bool | None = None
    scheduler_name: str = ""
    failover: FailoverBehavior | None = None
    conflict_resolution: Annotated[Literal["", "Abort", "Overwrite"], schema_default("Abort")] = ""
    reschedule_triggered_at: datetime | None = None
    suspension: BindingSuspension | None = None
    preserve_resources_on_deletion: bool | None = None
    schedule_priority: BindingSchedulePriority | None = None
    workload_affinity_groups: WorkloadAffinityGroups | None = None

    @property
    def is_workload(self) -> bool:
        """Tells whether the template has replicas to place. Karmada: `ResourceBindingSpec.IsWorkload`."""
        return self.replicas > 0 or self.replica_requirements is not None or bool(self.components)

    @property
    def is_divided(self) -> bool:
        """Tells whether replicas are shared out, instead of all of them on each cluster."""
        strategy = self.placement.replica_scheduling if self.placement else None
        shares_out = strategy is not None and strategy.replica_scheduling_type != "Duplicated"
        return self.replicas > 0 and shares_out

    @property
    def assigned(self) -> dict[str, int]:
        """Replicas of the targets by cluster."""
        return {target.name: target.replicas for target in self.clusters}

    @property
    def asks_for_none(self) -> bool:
        """Tells whether its template has replicas, and asks for none: no copy is missed anywhere, shared out or not."""
        return self.replicas == 0 and self.replica_requirements is not None

    @property
    def tolerations(self) -> tuple[Toleration, ...]:
        """Tolerations of clusters by its placement; none without one."""
        return self.placement.cluster_tolerations if self.placement else ()


class AggregatedStatusItem(Object, frozen=True):
    """Report of one cluster on the template.

    `status` is as the member gave it; while the cluster is not seen there is a mark of ours in it (`NOT_SEEN_SINCE`).
    """

    cluster_name: str
    status: RawObject = None
    applied: bool | None = None
    applied_message: str = ""
    health: Health = ""


class ResourceBindingStatus(Dated, frozen=True):
    scheduler_observed_generation: Int64 = 0
    scheduler_observing_affinity_name: str = ""
    last_scheduled_time: datetime | None = None
    conditions: tuple[Condition, ...] = ()
    aggregated_status: tuple[AggregatedStatusItem, ...] = ()


class ResourceBinding(TypedObject, frozen=True, kw_only=True):
    """A template of a namespace, and the clusters that it was placed in."""

    spec: ResourceBindingSpec
    status: ResourceBindingStatus = ResourceBindingStatus()


class ClusterResourceBinding(TypedObject, frozen=True, kw_only=True):
    """A cluster-scoped template, and the clusters that it was placed in."""

    spec: ResourceBindingSpec
    status: ResourceBindingStatus = ResourceBindingStatus()


Binding = ResourceBinding | ClusterResourceBinding

RUNS_PODS = ("DaemonSet", "CronJob")
"""Kinds that are applications although they have no replicas to place."""


def is_custom(api_version: str) -> bool:
    """Tells whether somebody defined the kind, by its API group: Kubernetes itself does not have it."""
    group = api_version.rpartition("/")[0]
    return "." in group and not group.endswith(".k8s.io")


def is_application(binding: Binding) -> bool:
    """Tells whether its template runs something, or may: nobody knows what a custom resource has its operator run."""
    resource = binding.spec.resource
    return binding.spec.is_workload or resource.kind in RUNS_PODS or is_custom(resource.api_version)


class WorkloadTemplate(Object, frozen=True):
    manifests: tuple[Manifest, ...] = ()


def is_of_an_object(manifest: ReadOnlyManifest) -> bool:
    """Tells whether a manifest says which object it is of."""
    metadata: Any = manifest.get("metadata")
    name = cast(Manifest, metadata).get("name") if isinstance(metadata, dict) else None
    told: tuple[Any, ...] = (manifest.get("apiVersion"), manifest.get("kind"), name)
    return all(isinstance(each, str) and each for each in told)


class WorkSpec(Object, frozen=True):
    workload: WorkloadTemplate = WorkloadTemplate()
    suspend_dispatching: bool | None = None
    preserve_resources_on_deletion: bool | None = None


class ResourceIdentifier(Object, frozen=True):
    ordinal: int
    version: str
    kind: str
    resource: str
    name: str
    group: str = ""
    namespace: str = ""


class ManifestStatus(Object, frozen=True):
    identifier: ResourceIdentifier
    status: RawObject = None
    health: Health = ""


class WorkStatus(Object, frozen=True):
    conditions: tuple[Condition, ...] = ()
    manifest_statuses: tuple[ManifestStatus, ...] = ()


CLUSTER_NOT_READY, REPLACEMENT_LOST, BRAKE_ENGAGED = "ClusterNotReady", "ReplacementLost", "BrakeEngaged"
HELD_SINCE_AWAY = (CLUSTER_NOT_READY, REPLACEMENT_LOST, BRAKE_ENGAGED)
"""Reasons for which a copy waits to leave that was not wanted while its cluster was away."""


class Work(TypedObject, frozen=True):
    """Objects that one member cluster is to have, in the namespace of that cluster."""

    spec: Annotated[WorkSpec, ON_WIRE] = WorkSpec()
    status: WorkStatus = WorkStatus()

    def with_workload(self, workload: WorkloadTemplate) -> "Work":
        return msgspec.structs.replace(self, spec=msgspec.structs.replace(self.spec, workload=workload))

    @property
    def objects(self) -> tuple[Manifest, ...]:
        """Manifests that say which object is to be in the cluster. Admission refuses others, where it was asked."""
        return tuple(each for each in self.spec.workload.manifests if is_of_an_object(each))

    def without_manifests(self) -> "Work":
        """The Work without what the member is to have; its generation says whether that is the same."""
        return self.with_workload(WorkloadTemplate())

    @property
    def is_removal_held(self) -> bool:
        """Tells whether its deletion was asked for, and is not to be carried out for now. Earlier versions wrote
        `away`."""
        return self.metadata.annotations.get(REMOVAL_HELD_ANNOTATION) in ("true", "away")

    @property
    def is_leaving(self) -> bool:
        """Tells whether its copy is not wanted there, and waits to go."""
        return find_condition(self.status.conditions, LEAVING_CONDITION) is not None

    @property
    def is_held_since_away(self) -> bool:
        """Tells whether its copy is not wanted, and waits since its cluster was away. Earlier versions had a word for
        it."""
        if self.metadata.annotations.get(REMOVAL_HELD_ANNOTATION) == "away":
            return True
        leaving = find_condition(self.status.conditions, LEAVING_CONDITION)
        return leaving is not None and leaving.reason in HELD_SINCE_AWAY

    @property
    def is_ended_by_a_person(self) -> bool:
        """Tells whether the copy is to go now, whatever serves elsewhere."""
        return self.metadata.annotations.get(REMOVAL_HELD_ANNOTATION) == "false"

    @property
    def is_removal_ordered(self) -> bool:
        """Tells whether the controllers, or a person, have said that its objects go with it."""
        return REMOVAL_ORDERED_ANNOTATION in self.metadata.annotations or self.is_ended_by_a_person

    @property
    def applied(self) -> Condition | None:
        return find_condition(self.status.conditions, "Applied")

    @property
    def was_applied(self) -> bool:
        """Tells whether all that it makes was there when that was last told, whatever generation of it."""
        return self.applied is not None and self.applied.status == "True"


def awaits_gate(work: Work | None) -> bool:
    """Tells whether nobody relies on the copy yet: a gate does not hold before which the old one stays."""
    return work is not None and AWAITED_GATE_ANNOTATION in work.metadata.annotations
