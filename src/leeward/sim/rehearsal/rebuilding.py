"""The objects that a copy begins with: clusters that are well, policies, templates, and bindings that assign to all
clusters in which the picture has a copy, those too that are being left.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from kubeapi.core import NAMESPACES, Namespace
from kubeapi.meta import Manifest, ObjectMeta
from kubeapi.resource import Resource
from kubeclient import AlreadyExists, Client, WorldError
from kubeserver.store.medium import Loaded
from kubeserver.store.record import Record
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.api.cluster import Cluster
from leeward.api.names import CLUSTER_NAMESPACE, execution_space
from leeward.api.resource import (
    CLUSTER_PROPAGATION_POLICIES,
    CLUSTER_RESOURCE_BINDINGS,
    CLUSTERS,
    PRIORITY_CLASSES,
    PROPAGATION_POLICIES,
    RESOURCE_BINDINGS,
)
from leeward.api.work import Binding, GracefulEvictionTask, TargetCluster, Work
from leeward.core.copies.availability import availability
from leeward.operations.drain import workload_of
from leeward.runtime.discovery import Discovery, UnknownKind
from leeward.sim.rehearsal.rebuilt_templates import RebuiltTemplates, definition_of, namespaces_of, priority_classes_of
from leeward.sim.world import World

CUSTOM_DEFINITIONS = Resource.of_manifests(
    "apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
_UID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
Assignments = Mapping[BindingName, Mapping[str, int]]


def first_assignment(state: FleetState, key: BindingName) -> dict[str, int]:
    """Replicas by cluster that the members have, or had when they were seen last."""
    spec, works = state.bindings[key].spec, state.works_of(key)
    tasks = {task.from_cluster: task for task in spec.graceful_eviction_tasks}
    targets = {target.name: target.replicas for target in spec.clusters}
    found: dict[str, int] = {}
    for name in (*targets, *tasks, *works):
        cluster, work = state.clusters.get(name), works.get(name)
        if cluster is None or (not cluster.is_ready and not _is_applied(work) and bool(state.recorded.works)):
            continue
        found[name] = targets[name] if name in targets else _left_there(spec.replicas, tasks.get(name), work)
    return found


def _left_there(replicas: int, task: GracefulEvictionTask | None, work: Work | None) -> int:
    """Number of replicas of it that a cluster has which is being left."""
    if task is not None and task.replicas is not None:
        return task.replicas
    return availability(work, None, 1).told or (1 if replicas else 0)


def _is_applied(work: Work | None) -> bool:
    applied = work.applied if work is not None else None
    return applied is not None and applied.status == "True"


class Rebuilding:
    """Makes objects as an administrator."""

    def __init__(self, world: World, state: FleetState, assigned: Assignments) -> None:
        self._world = world
        self._state = state
        self._assigned = assigned
        self.renamed: dict[str, str] = {}
        """The uids of the picture, by those of the copy."""

    async def make_cluster(self, name: str) -> None:
        """Makes the Cluster without taints, and as the simulated member is reached; all else is as in the picture."""
        cluster, member = self._state.clusters[name], self._world.member(name)
        spec = msgspec.structs.replace(
            cluster.spec,
            api_endpoint=f"https://{name}.example" if cluster.spec.sync_mode == "Push" else "",
            id=member.identity,
            taints=(),
            secret_ref=None,
            impersonator_secret_ref=None,
            insecure_skip_tls_verification=False,
            proxy_url="",
            proxy_header={},
        )
        metadata = ObjectMeta(name=name, labels=cluster.metadata.labels)
        await self._world.client.create(CLUSTERS, Cluster(metadata=metadata, spec=spec))
        await _ensure(self._world.client, NAMESPACES, Namespace(metadata=ObjectMeta(name=execution_space(name))))
        for definition in self._definitions(cluster):
            await _ensure(member.client, CUSTOM_DEFINITIONS, definition)

    async def make_objects(self, templates: RebuiltTemplates) -> RebuiltTemplates:
        """Returns what could be made of them."""
        client, state = self._world.client, self._state
        for namespace in sorted(namespaces_of(state) - {"", CLUSTER_NAMESPACE}):
            await _ensure(client, NAMESPACES, Namespace(metadata=ObjectMeta(name=namespace)))
        for name, value in priority_classes_of(state).items():
            await _ensure(client, PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
        for cluster in state.clusters.values():
            for definition in self._definitions(cluster):
                await _ensure(client, CUSTOM_DEFINITIONS, definition)
        for policy in state.recorded.policies:
            await client.create(PROPAGATION_POLICIES, _copied_policy(policy), policy.namespace)
        for policy in state.recorded.cluster_policies:
            await client.create(CLUSTER_PROPAGATION_POLICIES, _copied_policy(policy))
        made, left_out = dict[BindingName, Manifest](), dict(templates.left_out)
        discovery = Discovery(client)
        for key, template in templates.manifests.items():
            try:
                made[key] = await self._make(discovery, key, template)
            except (WorldError, UnknownKind) as error:
                left_out[key] = f"{workload_of(state.bindings[key])}: {error}"
        return replace(templates, manifests=made, left_out=left_out)

    async def _make(self, discovery: Discovery, key: BindingName, template: Manifest) -> Manifest:
        """The template, and its binding. Raises: WorldError."""
        client, binding = self._world.client, self._state.bindings[key]
        kind = await discovery.resource(template["apiVersion"], template["kind"])
        try:
            made = await client.create(kind, template, binding.spec.resource.namespace)
        except AlreadyExists:
            made = await client.get(kind, binding.spec.resource.name, binding.spec.resource.namespace)
        resource: Resource[Any] = RESOURCE_BINDINGS if key.namespace else CLUSTER_RESOURCE_BINDINGS
        copied = await client.create(resource, self._copied_binding(key, binding, made), key.namespace)
        self.renamed[made["metadata"]["uid"]] = binding.spec.resource.uid
        self.renamed[copied.metadata.uid] = binding.metadata.uid
        return made

    def _copied_binding(self, key: BindingName, binding: Binding, template: Manifest) -> Any:
        uid: str = template["metadata"]["uid"]
        owners = tuple(
            msgspec.structs.replace(owner, uid=uid) for owner in binding.metadata.owner_references if owner.controller
        )
        metadata = ObjectMeta(
            name=binding.name,
            namespace=binding.namespace,
            labels=binding.metadata.labels,
            annotations=binding.metadata.annotations,
            finalizers=binding.metadata.finalizers,
            owner_references=owners,
        )
        spec = msgspec.structs.replace(
            binding.spec,
            resource=msgspec.structs.replace(
                binding.spec.resource, uid=uid, resource_version=template["metadata"]["resourceVersion"]
            ),
            clusters=tuple(TargetCluster(name, replicas) for name, replicas in self._assigned[key].items()),
            graceful_eviction_tasks=(),
        )
        return msgspec.structs.replace(binding, metadata=metadata, spec=spec)

    def _definitions(self, cluster: Cluster) -> list[Manifest]:
        """Definitions of the custom kinds that are copied, as far as the cluster offers them."""
        wanted = {
            (b.spec.resource.api_version, b.spec.resource.kind): bool(b.namespace)
            for b in self._state.bindings.values()
        }
        return [
            definition_of(enablement.group_version, each.kind, each.name, namespaced=namespaced)
            for enablement in cluster.status.api_enablements
            for each in enablement.resources
            if (namespaced := wanted.get((enablement.group_version, each.kind))) is not None
            and "." in enablement.group_version.partition("/")[0]
            and not enablement.group_version.partition("/")[0].endswith(".k8s.io")
        ]


def _copied_policy(policy: Any) -> Any:
    """Waiting for no override: none is in a picture."""
    metadata = ObjectMeta(
        name=policy.name,
        namespace=policy.namespace,
        labels=policy.metadata.labels,
        annotations=policy.metadata.annotations,
    )
    return msgspec.structs.replace(
        policy, metadata=metadata, spec=msgspec.structs.replace(policy.spec, dependent_overrides=())
    )


def with_identities(loaded: Loaded, renamed: Mapping[str, str]) -> Loaded:
    """Contents of a store, with other uids, wherever they stand; a uid is like no other text."""
    by_bytes = {before.encode(): after.encode() for before, after in renamed.items() if before and after}

    def other(found: re.Match[bytes]) -> bytes:
        return by_bytes.get(found[0], found[0])

    records = [
        Record(record.key, record.revision, _UID.sub(other, record.value), record.deleted) for record in loaded.records
    ]
    return Loaded(records, loaded.compacted)


async def _ensure(client: Client, resource: Resource[Any], obj: Any) -> None:
    try:
        await client.create(resource, obj)
    except AlreadyExists:
        return
