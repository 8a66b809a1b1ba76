"""A World that is as a picture says: the same clusters, policies, bindings and copies, and the settings in force.

    building   all clusters answer; what is assigned is made in the members by the controllers that carry out, and by
               no other; it becomes healthy there
    putting    what the picture says is written over that: assignments, evictions under way, taints, conditions, the
    back       brake, the gaps of who watches; clusters that were down stop
    settling   all controllers begin, as behind a restart of the control plane, and look once at everything

Instants before the picture's are the building's: the clock shows `as_of` when the controllers begin.
"""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Self

from kubeapi.loop import VirtualClock
from kubeapi.meta import Manifest, labels_of
from kubeapi.quantity import parse_quantity
from kubeapi.resource import Resource
from kubeclient import WorldError
from kubecluster.kinds import CORE_NAMESPACES, PODS
from leeward.answers.expected_reports import divisors_of
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.answers.room_arithmetic import ESTIMATED
from leeward.answers.service import grown_copies
from leeward.api.cluster import Cluster
from leeward.api.names import RETAIN_REPLICAS_LABEL
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS
from leeward.api.work import AggregatedStatusItem, Binding
from leeward.core.cluster_health.ready_condition import is_uncollected
from leeward.core.copies.availability import availability
from leeward.core.settings_in_force import SettingsInForce
from leeward.manager.choice import Choice
from leeward.manager.gates import FeatureGates
from leeward.manager.settings import EvictionSettings, ManagerSettings, Safety
from leeward.manager.timing import Timing
from leeward.operations.drain import workload_of
from leeward.operations.sentences import places
from leeward.sim.member import Mode, SimulatedMember
from leeward.sim.rehearsal.other_load import OTHERS_NAMESPACE, nodes_of, other_pods
from leeward.sim.rehearsal.putting_back import Remembered, put_back
from leeward.sim.rehearsal.rebuilding import Rebuilding, first_assignment, with_identities
from leeward.sim.rehearsal.rebuilt_templates import APP_LABEL, RebuiltTemplates, app_label_of, rebuild_templates
from leeward.sim.world import World

BUILDING_SECONDS = 120.0
SETTLING_SECONDS = 60.0
"""Seconds to settle, less half of the interval between probes: what fails at the beginning is noticed neither at once
nor late."""
_LOOK_SECONDS = 1.0
MOST_LOOKS = int(BUILDING_SECONDS - 20)
_GROWING_SECONDS = 10.0
"""Seconds in which Pods beyond the assigned ones begin to run."""


@dataclass(slots=True)
class CopyNotes:
    """Notes on how the copy differs from the picture, for people."""

    left_out: list[str]
    differs: list[str]


class CopiedWorld(World):
    """`several_nodes` are the clusters whose nodes go down one by one. Enter it; then it is settled."""

    def __init__(self, state: FleetState, several_nodes: Collection[str] = ()) -> None:
        members: dict[str, Mode] = {name: c.spec.sync_mode for name, c in sorted(state.clusters.items())}
        whole = manager_settings(state.settings)
        super().__init__(
            members,
            timing_of(state.settings),
            clock=VirtualClock(state.as_of - timedelta(seconds=BUILDING_SECONDS)),
            manager=replace(whole, controllers=BUILDING),
        )
        self.state = state
        self.templates: RebuiltTemplates = rebuild_templates(state)
        self.notes = CopyNotes(
            sorted(self.templates.left_out.values()), [ESTIMATED] if state.settings.estimators else []
        )
        self._whole = whole
        self._several_nodes = several_nodes
        self._assigned = {key: first_assignment(state, key) for key in self.templates.manifests}
        self._grown = {key: grown_copies(state.bindings[key].spec, state.works_of(key)) for key in self._assigned}
        for name, member in self.members.items():
            cluster = state.clusters[name]
            ours, one_by_one = self._ours(name), name in several_nodes
            divisors = divisors_of(state.requests_in(name))
            member.workloads = nodes_of(cluster, member.workloads, ours, divisors, one_by_one=one_by_one)
            member.nodes = member.workloads.nodes

    async def __aenter__(self) -> Self:
        await self.start_apiserver()
        await asyncio.gather(*(member.start_apiserver() for member in self.members.values()))
        rebuilding = Rebuilding(self, self.state, self._assigned)
        for name in sorted(self.members):
            await rebuilding.make_cluster(name)
        self.templates = await rebuilding.make_objects(self.templates)
        self.notes.left_out = sorted(self.templates.left_out.values())
        await self._keep_identities(rebuilding.renamed)
        for member in self.members.values():
            if member.mode == "Pull":
                member.start_agent()
        self.start_controllers()
        self._observe()
        await self._build()
        await self._begin()
        return self

    async def _keep_identities(self, renamed: Mapping[str, str]) -> None:
        """Gives objects the uids that they have in the picture: which cluster is first among equals follows from it."""
        await self.stop_apiserver()
        self.medium.replace(with_identities(await self.medium.load(), renamed))
        await self.start_apiserver()

    async def _build(self) -> None:
        """Waits until copies are there, or for as long as there is; then fills the clusters as they were."""
        pending = list(self.templates.manifests)
        for _ in range(MOST_LOOKS):
            pending = [key for key in pending if not self._is_built(key)]
            if not pending:
                break
            await asyncio.sleep(_LOOK_SECONDS)
        for key in pending:
            self.notes.differs.append(f"{workload_of(self.state.bindings[key])} does not become healthy in the copy")
        await self._let_grow()
        for name, member in self.members.items():
            await self._make_unready(name, member)
            await self._add_others(member, self.state.clusters[name])
        await asyncio.sleep(BUILDING_SECONDS - self.seconds)

    async def _begin(self) -> None:
        """The true state, and all controllers."""
        await self.stop_controllers()
        for name, member in self.members.items():
            if self.is_down(name):
                await member.stop()
            elif _is_unready(self.state.clusters[name]):
                member.set_ready(False)
        await put_back(self.client, Remembered(self.state, self.templates), self.clock.now())
        self.use(self._whole)
        self.start_controllers()
        await asyncio.sleep(SETTLING_SECONDS - self.timing.cluster_status_update_frequency / 2)
        for key in self.templates.manifests:
            binding, before = self.any_binding(key), self.state.bindings[key].spec.assigned
            now = binding.spec.assigned if binding is not None else {}
            if now != before:
                workload = workload_of(self.state.bindings[key])
                self.notes.differs.append(
                    f"{workload} moves before anything is done: {places(before)} to {places(now)}"
                )

    def any_binding(self, key: BindingName) -> Binding | None:
        """Binding of either kind, as it is now."""
        return (
            self.binding(key.name, key.namespace)
            if key.namespace
            else self._informers.of(CLUSTER_RESOURCE_BINDINGS).get(key.name)
        )

    def is_down(self, name: str) -> bool:
        """Tells whether the picture has it as one that does not answer."""
        cluster = self.state.clusters[name]
        ready = cluster.ready
        if ready is None:
            return True
        if ready.status == "True" or is_uncollected(ready):
            return False
        return not _is_unready(cluster)

    def _is_built(self, key: BindingName) -> bool:
        """Tells whether each copy is there, and as healthy as its kind can be told to be."""
        binding = self.any_binding(key)
        if binding is None:
            return False
        there = {item.cluster_name: item for item in binding.status.aggregated_status}
        return all(name in there and _is_there(there[name], binding) for name in self._assigned[key])

    def _ours(self, cluster: str) -> Mapping[str, Decimal]:
        """Amounts that the copies in the cluster ask for."""
        total = {"pods": Decimal(0)}
        for key, assigned in self._assigned.items():
            replicas = max(1, assigned[cluster], self._grown[key].get(cluster, 0)) if cluster in assigned else 0
            asked = self.state.bindings[key].spec.replica_requirements
            total["pods"] += replicas
            for name, quantity in asked.resource_request.items() if asked is not None else ():
                total[name] = total.get(name, Decimal(0)) + replicas * parse_quantity(quantity)
        return total

    async def _let_grow(self) -> None:
        """Makes copies as large as autoscalers in their members have made them, where the template leaves that to
        members."""
        for key, sizes in self._grown.items():
            template = self.templates.manifests.get(key)
            if not sizes or template is None or labels_of(template).get(RETAIN_REPLICAS_LABEL) != "true":
                continue
            resource = self.state.bindings[key].spec.resource
            kind = Resource.of_manifests(resource.api_version, f"{resource.kind.lower()}s", resource.kind, True)
            for name in sizes.keys() & self._assigned[key].keys():
                size = {"spec": {"replicas": sizes[name]}}
                await self.members[name].client.patch(kind, resource.name, size, resource.namespace)
        if any(self._grown.values()):
            await asyncio.sleep(_GROWING_SECONDS)

    async def _make_unready(self, name: str, member: SimulatedMember) -> None:
        """Has as many Pods not ready as the Works report."""
        cluster = self.state.clusters[name]
        for key, assigned in self._assigned.items():
            size = max(assigned.get(name, 0), self._grown[key].get(name, 0))
            known = availability(self.state.works_of(key).get(name), cluster, size)
            lacking = size - known.told if known.since is not None else 0
            if lacking > 0:
                label = f"{APP_LABEL}={app_label_of(self.state.bindings[key])}"
                pods = (await member.client.list(PODS, key.namespace, label_selector=label)).items
                for pod in pods[:lacking]:
                    await _mark_unready(member, pod)

    async def _add_others(self, member: SimulatedMember, cluster: Cluster) -> None:
        pods = (await member.client.list(PODS)).items
        divisors, one_by_one = divisors_of(self.state.requests_in(member.name)), member.name in self._several_nodes
        others = other_pods(cluster, member.workloads, pods, divisors, one_by_one=one_by_one)
        if others:
            namespace = {"metadata": {"name": OTHERS_NAMESPACE}}
            await member.client.create(CORE_NAMESPACES, namespace)
        for pod in others:
            try:
                await member.client.create(PODS, pod, OTHERS_NAMESPACE)
            except WorldError as error:
                self.notes.differs.append(f"{member.name}: what else runs there cannot be copied: {error}")


async def _mark_unready(member: SimulatedMember, pod: Manifest) -> None:
    conditions = [each for each in pod["status"].get("conditions", ()) if each["type"] != "Ready"]
    unready = {"type": "Ready", "status": "False", "reason": "AsReported"}
    status = {"status": {"conditions": [*conditions, unready]}}
    metadata = pod["metadata"]
    await member.client.patch(PODS, metadata["name"], status, metadata["namespace"], subresource="status")


def _is_there(item: AggregatedStatusItem, binding: Binding) -> bool:
    healthy = ("Healthy",) if binding.spec.is_workload else ("Healthy", "Unknown")
    return item.applied is not False and item.health in healthy


def _is_unready(cluster: Cluster) -> bool:
    """Tells whether it answers, and says that it is not well."""
    ready = cluster.ready
    return ready is not None and ready.reason == "ClusterNotReady"


BUILDING = Choice(
    ("agentAccess", "namespace", "detector", "binding", "bindingStatus", "clusterStatus", "execution", "workStatus"),
    frozenset(),
)
"""The controllers that put a copy into its members: none of them places, evicts or taints."""


def timing_of(settings: SettingsInForce) -> Timing:
    """Timing of controllers and of agents. Times that nobody sets, as of a lease's renewal, fit the others."""
    return Timing(
        cluster_status_update_frequency=settings.cluster_status_update_frequency,
        cluster_failure_threshold=settings.cluster_failure_threshold,
        cluster_success_threshold=settings.cluster_success_threshold,
        cluster_monitor_grace_period=settings.cluster_monitor_grace_period,
        cluster_lease_duration=settings.cluster_monitor_grace_period,
        failover_eviction_timeout=settings.failover_eviction_timeout,
        graceful_eviction_timeout=settings.placement.graceful_seconds,
        hold_down=settings.hold_down,
        hold_down_half_life=6 * settings.hold_down,
    )


def manager_settings(settings: SettingsInForce) -> ManagerSettings:
    """Settings of the controllers: the inverse of `ManagerSettings.in_force`, as far as that tells."""
    placement = settings.placement
    return ManagerSettings(
        timing=timing_of(settings),
        gates=FeatureGates(
            {
                "Failover": settings.no_execute,
                "GracefulEviction": placement.graceful,
                "WorkloadAffinity": settings.workload_affinity,
                "MultiplePodTemplatesScheduling": settings.multiple_pod_templates,
            }
        ),
        eviction=EvictionSettings(
            taint_manager=placement.finish,
            no_execute=placement.evict,
            purge_mode=placement.purge_mode,
            per_second=settings.evictions_per_second,
        ),
        safety=Safety(
            keep_without_place=placement.keep_without_place,
            last_healthy_copy=not placement.exact_health,
            could_not_look=settings.could_not_look,
            withdraw_on_recovery=placement.withdraw,
        ),
        brake=settings.brake,
        scheduler_name=placement.scheduler_name,
    )
