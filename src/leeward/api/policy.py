"""`policy.karmada.io/v1alpha1`: which templates go where, and what failover may do with them."""

from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import force_setattr

from kubeapi.core import Toleration
from kubeapi.meta import Int32, LabelSelector, LabelSelectorRequirement, Object, TypedObject
from leeward.api.meta import schema_default
from leeward.api.purge_mode import (
    DEFAULT_PURGE_MODE,
    MODE_SCHEMA,
    TAINT_MODE_SCHEMA,
    StoredPurgeModeText,
    StoredTaintPurgeModeText,
    word_of_today,
)
from leeward.api.spread_field import SpreadFieldText

AffinityName = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": 32})]
"""Karmada 1.5 had no bounds: names that were stored then are read, and only new ones are held to the schema."""
_PurgeDefault = schema_default(DEFAULT_PURGE_MODE.value)


class ResourceSelector(Object, frozen=True):
    api_version: str
    kind: str
    namespace: str = ""
    name: str = ""
    label_selector: LabelSelector | None = None


class FieldSelector(Object, frozen=True):
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class ClusterAffinity(Object, frozen=True):
    """All parts that are set must match; an empty affinity matches every cluster."""

    cluster_names: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    label_selector: LabelSelector | None = None
    field_selector: FieldSelector | None = None


class NamedClusterAffinity(ClusterAffinity, frozen=True, kw_only=True):
    affinity_name: AffinityName


class ClusterAffinityTerm(NamedClusterAffinity, frozen=True, kw_only=True):
    overflow_affinities: tuple[NamedClusterAffinity, ...] | None = None


class SpreadConstraint(Object, frozen=True):
    spread_by_field: SpreadFieldText = ""
    spread_by_label: str = ""
    min_groups: int = 0
    max_groups: int = 0


class StaticClusterWeight(Object, frozen=True):
    target_cluster: ClusterAffinity
    weight: Annotated[int, Meta(ge=1, extra_json_schema={"format": "int64"})]


class ClusterPreferences(Object, frozen=True):
    static_weight_list: tuple[StaticClusterWeight, ...] = ()
    dynamic_weight: Literal["", "AvailableReplicas"] = ""


class ReplicaSchedulingStrategy(Object, frozen=True):
    replica_scheduling_type: Annotated[Literal["", "Duplicated", "Divided"], schema_default("Divided")] = ""
    replica_division_preference: Literal["", "Aggregated", "Weighted"] = ""
    weight_preference: ClusterPreferences | None = None

    @property
    def has_static_weights(self) -> bool:
        """Tells whether each cluster gets a fixed share, whatever constraints say."""
        if (self.replica_scheduling_type, self.replica_division_preference) != ("Divided", "Weighted"):
            return False
        preference = self.weight_preference
        return preference is None or bool(preference.static_weight_list and not preference.dynamic_weight)


class WorkloadAffinityTerm(Object, frozen=True):
    group_by_label_key: str


class WorkloadAffinity(Object, frozen=True):
    affinity: WorkloadAffinityTerm | None = None
    anti_affinity: WorkloadAffinityTerm | None = None


class Placement(Object, frozen=True):
    cluster_affinity: ClusterAffinity | None = None
    cluster_affinities: tuple[ClusterAffinityTerm, ...] = ()
    cluster_tolerations: tuple[Toleration, ...] = ()
    spread_constraints: tuple[SpreadConstraint, ...] = ()
    replica_scheduling: ReplicaSchedulingStrategy | None = None
    workload_affinity: WorkloadAffinity | None = None


class StatePreservationRule(Object, frozen=True):
    alias_label_name: str
    json_path: str


class StatePreservation(Object, frozen=True):
    rules: tuple[StatePreservationRule, ...]


class DecisionConditions(Object, frozen=True):
    toleration_seconds: Annotated[Int32 | None, schema_default(300)] = None


class ApplicationFailover(Object, frozen=True):
    decision_conditions: DecisionConditions
    purge_mode: Annotated[StoredPurgeModeText, MODE_SCHEMA, _PurgeDefault] = ""
    grace_period_seconds: Int32 | None = None
    state_preservation: StatePreservation | None = None

    def __post_init__(self) -> None:
        force_setattr(self, "purge_mode", word_of_today(self.purge_mode))


class ClusterFailover(Object, frozen=True):
    purge_mode: Annotated[StoredTaintPurgeModeText, TAINT_MODE_SCHEMA, _PurgeDefault] = ""
    state_preservation: StatePreservation | None = None

    def __post_init__(self) -> None:
        force_setattr(self, "purge_mode", word_of_today(self.purge_mode))


class FailoverBehavior(Object, frozen=True):
    application: ApplicationFailover | None = None
    cluster: ClusterFailover | None = None


class SuspendClusters(Object, frozen=True):
    cluster_names: tuple[str, ...] = ()


class Suspension(Object, frozen=True):
    dispatching: bool | None = None
    dispatching_on_clusters: SuspendClusters | None = None


class SchedulePriority(Object, frozen=True):
    priority_class_name: str
    priority_class_source: Literal["KubePriorityClass"]


class PropagationSpec(Object, frozen=True):
    resource_selectors: Annotated[tuple[ResourceSelector, ...], Meta(extra_json_schema={"minItems": 1})]
    """An empty list selects nothing: Karmada 1.3 stored such policies."""
    placement: Placement = Placement()
    association: bool | None = None
    propagate_deps: bool | None = None
    priority: Annotated[Int32 | None, schema_default(0)] = None
    preemption: Annotated[Literal["", "Always", "Never"], schema_default("Never")] = ""
    dependent_overrides: tuple[str, ...] = ()
    scheduler_name: Annotated[str, schema_default("default-scheduler")] = ""
    failover: FailoverBehavior | None = None
    conflict_resolution: Annotated[Literal["", "Abort", "Overwrite"], schema_default("Abort")] = ""
    activation_preference: Literal["", "Lazy"] = ""
    suspension: Suspension | None = None
    preserve_resources_on_deletion: bool | None = None
    schedule_priority: SchedulePriority | None = None


class PropagationPolicy(TypedObject, frozen=True, kw_only=True):
    """Says where templates of its own namespace go, and how they fail over."""

    spec: PropagationSpec


class ClusterPropagationPolicy(TypedObject, frozen=True, kw_only=True):
    """Says where templates of any namespace, and cluster-scoped ones, go, and how they fail over."""

    spec: PropagationSpec


AnyPropagationPolicy = PropagationPolicy | ClusterPropagationPolicy
