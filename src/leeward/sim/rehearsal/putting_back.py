"""Putting back what the picture says, written over a copy whose members have everything: assignments, evictions under
way, taints, conditions, the brake, and the gaps of who watches.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from kubeapi.core import CONFIG_MAPS, LEASES, ConfigMap
from kubeapi.meta import Manifest, ObjectMeta, format_micro_time
from kubeclient import Client, NotFound
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import (
    BRAKE_NAME,
    CLUSTER_NAMESPACE,
    HEARTBEAT_NAME,
    SYSTEM_NAMESPACE,
    TEMPLATE_CONTENTS_ANNOTATION,
    TEMPLATE_DIGEST_ANNOTATION,
    UNWATCHED_ANNOTATION,
)
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, CLUSTERS, RESOURCE_BINDINGS
from leeward.api.work import AggregatedStatusItem, Binding
from leeward.core.cluster_health.brake import BrakeDecision, render_brake
from leeward.core.cluster_health.condition_taints import outage_since
from leeward.core.cluster_health.watched_time import render_gaps
from leeward.sim.rehearsal.rebuilt_templates import RebuiltTemplates

_LEASE_SECONDS = 40


@dataclass(frozen=True, slots=True)
class Remembered:
    """State that is put back: of bindings those of which a template was made."""

    state: FleetState
    templates: RebuiltTemplates


async def put_back(client: Client, remembered: Remembered, now: datetime) -> None:
    """Puts the state back while no controller runs, and those clusters are stopped that were down.
    Raises: WorldError."""
    state = remembered.state
    for name in state.clusters:
        await _put_cluster(client, state, name)
    for key in remembered.templates.manifests:
        await _put_binding(client, state, key)
    await _put_heartbeat(client, state, now)
    brake = state.recorded.brake
    if brake.engaged or brake.overruled:
        reason = "Overruled" if brake.overruled else "FleetLooksDead"
        data = render_brake(BrakeDecision(brake, reason=reason, message="as it was when the picture was taken"))
        metadata = ObjectMeta(name=BRAKE_NAME, namespace=SYSTEM_NAMESPACE)
        await client.create(CONFIG_MAPS, ConfigMap(metadata=metadata, data=data), SYSTEM_NAMESPACE)


async def _put_cluster(client: Client, state: FleetState, name: str) -> None:
    cluster, present = state.clusters[name], await client.get(CLUSTERS, name)
    metadata = msgspec.structs.replace(present.metadata, annotations=cluster.metadata.annotations)
    spec = msgspec.structs.replace(present.spec, taints=cluster.spec.taints)
    put = await client.update(CLUSTERS, msgspec.structs.replace(present, metadata=metadata, spec=spec), name)
    status = msgspec.structs.replace(put.status, conditions=_conditions(cluster, put))
    await client.update(CLUSTERS, msgspec.structs.replace(put, status=status), name, subresource="status")
    since = outage_since(cluster)
    if cluster.spec.sync_mode == "Pull" and not cluster.is_ready and since is not None:
        try:
            await client.patch(LEASES, name, {"spec": {"renewTime": format_micro_time(since)}}, CLUSTER_NAMESPACE)
        except NotFound:
            return


def _conditions(cluster: Cluster, present: Cluster) -> tuple[Condition, ...]:
    """Conditions of the picture. A cluster that became Ready while the copy was built has been so since it was built:
    what was reported of the copies is as fresh as what was reported of those that they stand for."""
    ours, theirs = present.ready, cluster.ready
    if ours is None or theirs is None or not (present.is_ready and cluster.is_ready):
        return cluster.status.conditions
    instants = [each.last_transition_time for each in (ours, theirs) if each.last_transition_time is not None]
    ready = msgspec.structs.replace(theirs, last_transition_time=min(instants, default=None))
    return tuple(ready if condition.type == ready.type else condition for condition in cluster.status.conditions)


async def _put_binding(client: Client, state: FleetState, key: BindingName) -> None:
    binding = state.bindings[key]
    resource: Any = RESOURCE_BINDINGS if key.namespace else CLUSTER_RESOURCE_BINDINGS
    present: Binding = await client.get(resource, key.name, key.namespace)
    spec = msgspec.structs.replace(
        present.spec,
        clusters=binding.spec.clusters,
        graceful_eviction_tasks=binding.spec.graceful_eviction_tasks,
        required_by=binding.spec.required_by,
    )
    ours = (TEMPLATE_DIGEST_ANNOTATION, TEMPLATE_CONTENTS_ANNOTATION)
    digests = {k: v for k, v in present.metadata.annotations.items() if k in ours}
    annotations = {**binding.metadata.annotations, **digests}
    metadata = msgspec.structs.replace(present.metadata, annotations=annotations)
    put: Binding = await client.update(
        resource, msgspec.structs.replace(present, metadata=metadata, spec=spec), key.name, key.namespace
    )
    was_observed = binding.status.scheduler_observed_generation == binding.metadata.generation
    status = msgspec.structs.replace(
        binding.status,
        scheduler_observed_generation=put.metadata.generation if was_observed else put.metadata.generation - 1,
        aggregated_status=_items(state, binding, put),
    )
    await client.update(
        resource, msgspec.structs.replace(put, status=status), key.name, key.namespace, subresource="status"
    )


def _items(state: FleetState, binding: Binding, present: Binding) -> tuple[AggregatedStatusItem, ...]:
    """Reports of clusters in the copy; of those that are not seen, what is in the picture."""
    fresh = {item.cluster_name: item for item in present.status.aggregated_status}
    return tuple(
        fresh.get(item.cluster_name, item)
        if item.cluster_name in state.clusters and state.clusters[item.cluster_name].is_ready
        else item
        for item in binding.status.aggregated_status
    )


async def _put_heartbeat(client: Client, state: FleetState, now: datetime) -> None:
    """Writes the heartbeat of the process that watches: all was watched until now, but for the gaps that it knows."""
    attention = state.recorded.attention
    gaps = render_gaps(attention.time.gaps)
    lease: Manifest = {
        "metadata": {
            "name": HEARTBEAT_NAME,
            "namespace": SYSTEM_NAMESPACE,
            "annotations": {UNWATCHED_ANNOTATION: gaps} if gaps else {},
        },
        "spec": {
            "holderIdentity": attention.heartbeat or "unknown",
            "leaseDurationSeconds": _LEASE_SECONDS,
            "acquireTime": format_micro_time(now),
            "renewTime": format_micro_time(now),
        },
    }
    await client.create(LEASES, lease, SYSTEM_NAMESPACE)
