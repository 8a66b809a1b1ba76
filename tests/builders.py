"""Short ways to make the objects that stories in tests are about."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from kubeapi.codec import encode
from kubeapi.core import Taint, Toleration
from kubeapi.meta import ObjectMeta
from leeward.api.cluster import APIEnablement, APIResource, Cluster, ClusterSpec, ClusterStatus
from leeward.api.meta import Condition
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION, REFLECTED_CONDITION, execution_space
from leeward.api.policy import (
    ClusterAffinity,
    ClusterPreferences,
    Placement,
    ReplicaSchedulingStrategy,
    SpreadConstraint,
    StaticClusterWeight,
)
from leeward.api.work import (
    Binding,
    BindingResource,
    GracefulEvictionTask,
    ManifestStatus,
    ResourceBinding,
    ResourceBindingSpec,
    ResourceBindingStatus,
    ResourceIdentifier,
    TargetCluster,
    Work,
    WorkStatus,
)
from leeward.core.copies.disruption import CopyTable, copies_of
from leeward.planning import Fleet

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DEPLOYMENTS = APIEnablement(group_version="apps/v1", resources=(APIResource(name="deployments", kind="Deployment"),))
DEFAULT_TOLERATIONS = tuple(
    Toleration(key=key, operator="Exists", effect="NoExecute", toleration_seconds=300)
    for key in ("cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable")
)


def at(seconds: float) -> datetime:
    """`seconds` after the start of the story."""
    return NOW + timedelta(seconds=seconds)


def cluster(name: str, ready: str | None = "True", taints: tuple[Taint, ...] = (), **spec: Any) -> Cluster:
    """A Push cluster that offers Deployments."""
    conditions = () if ready is None else (Condition("Ready", ready, "Test", last_transition_time=NOW),)
    return Cluster(
        metadata=ObjectMeta(name=name),
        spec=msgspec.structs.replace(ClusterSpec(sync_mode="Push", taints=taints), **spec),
        status=ClusterStatus(api_enablements=(DEPLOYMENTS,), conditions=conditions),
    )


def fleet(*clusters: Cluster) -> Fleet:
    return Fleet(clusters)


def dead(name: str, since: float = 0, **spec: Any) -> Cluster:
    """A cluster that is not ready and has both taints, both since `since`."""
    taints = tuple(
        Taint(key="cluster.karmada.io/not-ready", effect=effect, time_added=at(since))
        for effect in ("NoSchedule", "NoExecute")
    )
    return cluster(name, ready="False", taints=taints, **spec)


def duplicated(*names: str, groups: int = 0) -> Placement:
    constraints = (SpreadConstraint(spread_by_field="cluster", min_groups=groups, max_groups=groups),)
    return Placement(
        cluster_affinity=ClusterAffinity(cluster_names=names),
        cluster_tolerations=DEFAULT_TOLERATIONS,
        spread_constraints=constraints if groups else (),
        replica_scheduling=ReplicaSchedulingStrategy(replica_scheduling_type="Duplicated"),
    )


def divided(weights: Mapping[str, int]) -> Placement:
    """Divides by static weight."""
    rules = tuple(StaticClusterWeight(ClusterAffinity(cluster_names=(n,)), w) for n, w in weights.items())
    return Placement(
        cluster_affinity=ClusterAffinity(cluster_names=tuple(weights)),
        cluster_tolerations=DEFAULT_TOLERATIONS,
        replica_scheduling=ReplicaSchedulingStrategy(
            replica_scheduling_type="Divided",
            replica_division_preference="Weighted",
            weight_preference=ClusterPreferences(static_weight_list=rules),
        ),
    )


def targets(**replicas: int) -> tuple[TargetCluster, ...]:
    return tuple(TargetCluster(name, count) for name, count in replicas.items())


def binding(
    placement: Placement,
    replicas: int,
    clusters: tuple[TargetCluster, ...] = (),
    tasks: tuple[GracefulEvictionTask, ...] = (),
    **spec: Any,
) -> ResourceBinding:
    """A binding of a Deployment whose placement was applied."""
    return ResourceBinding(
        metadata=ObjectMeta(
            name="nginx-deployment",
            namespace="default",
            generation=1,
            annotations={APPLIED_PLACEMENT_ANNOTATION: encode(placement).decode()},
        ),
        spec=ResourceBindingSpec(
            resource=BindingResource("apps/v1", "Deployment", "nginx", "default", uid="uid-1"),
            replicas=replicas,
            placement=placement,
            clusters=clusters,
            graceful_eviction_tasks=tasks,
            **spec,
        ),
    )


def aggregated(binding: ResourceBinding, generation: int = 1) -> ResourceBinding:
    """`binding` with a status that was aggregated for this generation of it."""
    applied = Condition("FullyApplied", "True", "FullyAppliedSuccess", observed_generation=generation)
    return msgspec.structs.replace(binding, status=ResourceBindingStatus(conditions=(applied,)))


def work(cluster: str, ready: int | None, reflected: float = 0, applied: int = 1, carried: int = 1) -> Work:
    """The Work of a copy with `ready` replicas ready (None: Unhealthy), as reported at `reflected`.

    `applied` and `carried` are the generations that were applied and reported on; the present one is 1.
    """
    conditions = (
        Condition("Applied", "True", "AppliedSuccessful", observed_generation=applied),
        Condition(
            REFLECTED_CONDITION,
            "True",
            "Reflected",
            last_transition_time=at(reflected),
            observed_generation=carried,
        ),
    )
    identifier = ResourceIdentifier(ordinal=0, version="v1", kind="Deployment", resource="", name="nginx")
    report = ManifestStatus(
        identifier, status={"readyReplicas": ready or 0}, health="Unhealthy" if ready is None else "Healthy"
    )
    return Work(
        metadata=ObjectMeta(name="nginx", namespace=execution_space(cluster), generation=1),
        status=WorkStatus(conditions=conditions, manifest_statuses=(report,)),
    )


def works(ready: Mapping[str, int | None], **fields: Any) -> dict[str, Work]:
    """Works by cluster; the fields are those of `work`."""
    return {cluster: work(cluster, count, **fields) for cluster, count in ready.items()}


def wanting(replicas: int, copy: Work) -> Work:
    """Work of the same copy, which its own cluster wants so large."""
    (report,) = copy.status.manifest_statuses
    told = msgspec.structs.replace(report, status={**(report.status or {}), "replicas": replicas})
    return msgspec.structs.replace(copy, status=msgspec.structs.replace(copy.status, manifest_statuses=(told,)))


def table(bound: Binding, clusters: Mapping[str, Cluster], copies: Mapping[str, Work], now: datetime) -> CopyTable:
    """The table of a binding as its decision reads it."""
    return copies_of(bound.spec, copies, clusters, now, needs=None)
