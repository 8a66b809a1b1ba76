"""Answers of what-if and resilience over a large fleet, beside a loop over single decisions on the same one.

As in the verbs, the picture is not looked through by the collector of garbage. Memory is what a question needs at its
peak beyond the picture, counted in a run of its own, since counting takes time.
"""

import gc
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice

import msgspec

from kubeapi.codec import encode
from kubeapi.core import Toleration
from kubeapi.meta import ObjectMeta
from leeward.answers.decisions import fleet_of, snapshot_of
from leeward.answers.fleet_state import API_VERSION, KIND, FleetState, RecordedFleet
from leeward.answers.imagined import ImaginedChange
from leeward.answers.resilience import losses_by, survey
from leeward.answers.what_if import what_if
from leeward.api.cluster import (
    APIEnablement,
    APIResource,
    Cluster,
    ClusterSpec,
    ClusterStatus,
    ResourceSummary,
)
from leeward.api.meta import Condition
from leeward.api.names import (
    APPLIED_PLACEMENT_ANNOTATION,
    BINDING_NAME_ANNOTATION,
    BINDING_NAMESPACE_ANNOTATION,
    execution_space,
)
from leeward.api.policy import ClusterAffinity, ClusterPreferences, Placement, ReplicaSchedulingStrategy
from leeward.api.work import (
    BindingResource,
    ReplicaRequirements,
    ResourceBinding,
    ResourceBindingSpec,
    ResourceBindingStatus,
    TargetCluster,
    Work,
    WorkloadTemplate,
    WorkSpec,
    WorkStatus,
)
from leeward.core.placement import decide

NOW = datetime(2026, 1, 1, tzinfo=UTC)
COPIES = 3
TOLERATED = (60, 300, 600)


def fleet_state(bindings: int, clusters: int) -> FleetState:
    """Every binding has six replicas in three clusters, by room; every third one may go to a tenth of the fleet."""
    members = tuple(_cluster(index) for index in range(clusters))
    made = tuple(_binding(index, clusters) for index in range(bindings))
    works = tuple(_work(binding, target.name) for binding in made for target in binding.spec.clusters)
    return FleetState(
        RecordedFleet(
            api_version=API_VERSION,
            kind=KIND,
            control_plane="bench",
            as_of=NOW,
            clusters=members,
            bindings=made,
            works=works,
        )
    )


def _work(binding: ResourceBinding, cluster: str) -> Work:
    annotations = {BINDING_NAMESPACE_ANNOTATION: binding.namespace, BINDING_NAME_ANNOTATION: binding.name}
    metadata = ObjectMeta(name=binding.name, namespace=execution_space(cluster), generation=1, annotations=annotations)
    applied = Condition("Applied", "True", "AppliedSuccessful", last_transition_time=NOW, observed_generation=1)
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": binding.spec.resource.name}}
    spec = WorkSpec(workload=WorkloadTemplate(manifests=(manifest,)))
    return Work(metadata=metadata, spec=spec, status=WorkStatus(conditions=(applied,)))


def _cluster(index: int) -> Cluster:
    summary = ResourceSummary(
        allocatable={"cpu": "4k", "memory": "16Ti", "pods": "50k"},
        allocated={"cpu": "1k", "memory": "4Ti", "pods": "2k"},
    )
    status = ClusterStatus(
        kubernetes_version="v1.31.0",
        api_enablements=(
            APIEnablement(group_version="apps/v1", resources=(APIResource("deployments", "Deployment"),)),
        ),
        conditions=(Condition("Ready", "True", "ClusterReady", last_transition_time=NOW),),
        resource_summary=summary,
    )
    spec = ClusterSpec(sync_mode="Push", region=f"region-{index % 5}")
    return Cluster(metadata=ObjectMeta(name=f"member{index:03}"), spec=spec, status=status)


def _binding(index: int, clusters: int) -> ResourceBinding:
    first = index * 7 % clusters
    names = [f"member{(first + step) % clusters:03}" for step in range(COPIES)]
    near = tuple(f"member{(first + step) % clusters:03}" for step in range(max(COPIES + 1, clusters // 10)))
    tolerations = tuple(
        Toleration(key=f"cluster.karmada.io/{key}", operator="Exists", effect="NoExecute", toleration_seconds=seconds)
        for key in ("not-ready", "unreachable")
        for seconds in (TOLERATED[index % len(TOLERATED)],)
    )
    placement = Placement(
        cluster_affinity=ClusterAffinity(cluster_names=near) if index % 3 == 0 else None,
        cluster_tolerations=tolerations,
        replica_scheduling=ReplicaSchedulingStrategy(
            replica_scheduling_type="Divided",
            replica_division_preference="Weighted",
            weight_preference=ClusterPreferences(dynamic_weight="AvailableReplicas"),
        ),
    )
    return ResourceBinding(
        metadata=ObjectMeta(
            name=f"app{index:05}-deployment",
            namespace="default",
            generation=1,
            annotations={APPLIED_PLACEMENT_ANNOTATION: encode(placement).decode()},
        ),
        spec=ResourceBindingSpec(
            resource=BindingResource("apps/v1", "Deployment", f"app{index:05}", "default", uid=f"uid-{index}"),
            replicas=2 * COPIES,
            replica_requirements=ReplicaRequirements(resource_request={"cpu": f"{250 * (1 + index % 4)}m"}),
            placement=placement,
            clusters=tuple(TargetCluster(name, 2) for name in sorted(names)),
        ),
        status=ResourceBindingStatus(scheduler_observed_generation=1, last_scheduled_time=NOW),
    )


def run(bindings: int = 10_000, clusters: int = 100) -> None:
    state = fleet_state(bindings, clusters)
    msgspec.to_builtins(state.settings)
    gc.collect()
    gc.freeze()
    one = ImaginedChange(fails=frozenset({"member001"}))
    region = ImaginedChange(fails=frozenset(f"member{i:03}" for i in range(0, clusters, 5)))
    print(f"{bindings} bindings, {clusters} clusters, CPU seconds; MB beyond the picture")
    _measure("a decision for each binding", lambda: _decide_each(state))
    _measure("what-if, one cluster", lambda: len(what_if(state, one).applications))
    _measure(f"what-if, a region of {clusters // 5}", lambda: len(what_if(state, region).applications))
    _measure(f"resilience, {clusters} single losses", lambda: _losses(state), lambda: _losses(state, 5))
    gc.unfreeze()


def _decide_each(state: FleetState) -> int:
    fleet = fleet_of(state)
    for key in state.bindings:
        decide(snapshot_of(state, key, fleet))
    return len(state.bindings)


def _losses(state: FleetState, most: int | None = None) -> int:
    losses = dict(islice(losses_by(state, "cluster").items(), most))
    return sum(loss.applications for loss in survey(state, losses).losses)


def _measure(what: str, ask: Callable[[], int], part: Callable[[], int] | None = None) -> None:
    """Memory of a `part`, where all of it would take minutes to count."""
    started = time.process_time()
    concerned = ask()
    seconds = time.process_time() - started
    tracemalloc.start()
    (part or ask)()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"  {what:34} {seconds:8.2f} {peak / 1e6:8.1f}   {concerned} applications", flush=True)
