"""Life of Karmada's own agent, which joins a control plane and goes on there: its calls, in its order, with no rights
but its own.

Read from Karmada's sources: `run`, `setupControllers` and `generateClusterInControllerPlane` of cmd/agent/app/agent.go,
`RegisterClusterInControllerPlane` of pkg/util/credential.go, CreateSecret, PatchSecret, EnsureNamespaceExist and
CreateOrUpdateClusterObject of pkg/util, pkg/controllers/status/cluster_status_controller.go, and the elector and the
lease controller of client-go and component-helpers. They update what they have read; only Secrets, events and the
status of Works are patched.
"""

import asyncio
import base64
from collections.abc import Callable
from contextlib import aclosing
from datetime import datetime
from functools import partial
from typing import Any

from kubeapi.meta import Manifest, format_micro_time, format_time
from kubeapi.resource import Resource
from kubeclient import AlreadyExists, Client, NotFound
from leeward.api.names import CLUSTER_NAMESPACE, SYSTEM_NAMESPACE, execution_space

CLUSTERS = Resource.of_manifests("cluster.karmada.io/v1alpha1", "clusters", "Cluster", False)
WORKS = Resource.of_manifests("work.karmada.io/v1alpha1", "works", "Work", True)
NAMESPACES = Resource.of_manifests("v1", "namespaces", "Namespace", False)
SECRETS = Resource.of_manifests("v1", "secrets", "Secret", True)
SERVICES = Resource.of_manifests("v1", "services", "Service", True)
EVENTS = Resource.of_manifests("v1", "events", "Event", True)
LEASES = Resource.of_manifests("coordination.k8s.io/v1", "leases", "Lease", True)
CONFIGURATIONS = [
    Resource.of_manifests("config.karmada.io/v1alpha1", kind.lower() + "s", kind, False)
    for kind in ("ResourceInterpreterCustomization", "ResourceInterpreterWebhookConfiguration")
]
LEASE_SECONDS = 40
TOKEN = base64.b64encode(b"token").decode()

LOOK_SECONDS = 0.2


class JoiningAgent:
    """The agent of cluster `name`; `client` is its way to the control plane."""

    def __init__(self, client: Client, name: str, now: Callable[[], datetime]) -> None:
        self.client = client
        self.name = name
        self._now = now

    async def join(self, cluster_id: str, endpoint: str) -> Manifest:
        """Registers the cluster, and returns its Cluster. Raises: WorldError."""
        await self.client.list(CLUSTERS)
        await self.client.get(NAMESPACES, CLUSTER_NAMESPACE)
        made = [await self._ensure_secret(secret) for secret in (f"{self.name}-impersonator", self.name)]
        cluster = await self._ensure_cluster(cluster_id, endpoint)
        owner = {"apiVersion": CLUSTERS.api_version, "kind": "Cluster", "name": self.name}
        owner |= {"uid": cluster["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}
        for secret in made:
            patch = {"metadata": {"ownerReferences": [owner]}}
            await self.client.patch(SECRETS, secret["metadata"]["name"], patch, CLUSTER_NAMESPACE)
        return cluster

    async def _ensure_secret(self, name: str) -> Manifest:
        secret = {"metadata": {"name": name, "namespace": CLUSTER_NAMESPACE}, "data": {"token": TOKEN}}
        try:
            return await self.client.create(SECRETS, secret, CLUSTER_NAMESPACE)
        except AlreadyExists:
            return await self.client.get(SECRETS, name, CLUSTER_NAMESPACE)

    async def _ensure_cluster(self, cluster_id: str, endpoint: str) -> Manifest:
        """Creates the Cluster; one that is there is updated where it says something else, as it then never does
        here."""
        spec = {
            "id": cluster_id,
            "syncMode": "Pull",
            "apiEndpoint": endpoint,
            "secretRef": {"namespace": CLUSTER_NAMESPACE, "name": self.name},
            "impersonatorSecretRef": {"namespace": CLUSTER_NAMESPACE, "name": f"{self.name}-impersonator"},
        }
        try:
            there = await self.client.get(CLUSTERS, self.name)
        except NotFound:
            return await self.client.create(CLUSTERS, {"metadata": {"name": self.name}, "spec": spec})
        if {**there["spec"], **spec} == there["spec"]:
            return there
        return await self.client.update(CLUSTERS, {**there, "spec": {**there["spec"], **spec}}, self.name)

    async def lead(self) -> None:
        """One round of the election of a leader. Raises: WorldError."""
        name = f"karmada-agent-{self.name}"
        spec = {"holderIdentity": f"{name}-0_uid", "leaseDurationSeconds": 15, "leaseTransitions": 0}
        await self._renew(name, SYSTEM_NAMESPACE, {**spec, "acquireTime": format_micro_time(self._now())})
        await self._tell({"kind": "Lease", "name": name, "namespace": SYSTEM_NAMESPACE}, "LeaderElection")

    async def follow(self) -> None:
        """Lists and watches what the real one has in its caches, until each watch was seen open. Raises: WorldError."""
        for resource, namespace in (
            (SERVICES, ""),
            (CLUSTERS, ""),
            (WORKS, execution_space(self.name)),
            *((resource, "") for resource in CONFIGURATIONS),
        ):
            page = await self.client.list(resource, namespace)
            watch = self.client.watch(resource, namespace, resource_version=page.resource_version, timeout_seconds=1)
            async with aclosing(watch) as events, asyncio.timeout(30):
                async for _ in events:
                    break

    async def carry_out_removals(self) -> None:
        """Lets the Works go that are being deleted, as the real one does when their objects are gone. Never returns.

        Raises: WorldError.
        """
        space = execution_space(self.name)
        while True:
            for work in (await self.client.list(WORKS, space)).items:
                metadata: Manifest = work["metadata"]
                if "deletionTimestamp" in metadata:
                    let_go: Manifest = {**work, "metadata": {**metadata, "finalizers": []}}
                    await self.client.update(WORKS, let_go, metadata["name"], space)
            await asyncio.sleep(LOOK_SECONDS)

    async def report(self, status: Manifest) -> None:
        """Writes the status of its Cluster, which changes nothing of its `spec`. Raises: WorldError."""
        cluster = await self.client.get(CLUSTERS, self.name)
        await self.client.update(CLUSTERS, {**cluster, "status": status}, self.name, subresource="status")
        await self._tell({"kind": "Cluster", "name": self.name}, "SyncImpersonationConfigSucceed")

    async def renew(self, uid: str) -> None:
        """The heartbeat. Raises: WorldError."""
        owner = {"apiVersion": CLUSTERS.api_version, "kind": "Cluster", "name": self.name, "uid": uid}
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": LEASE_SECONDS}
        await self._renew(self.name, CLUSTER_NAMESPACE, spec, [owner])

    async def update_work(self, work: Manifest, change: Manifest, subresource: str = "") -> Manifest:
        """Writes a Work as it was read, but for `change`. Raises: WorldError."""
        name, namespace = work["metadata"]["name"], work["metadata"]["namespace"]
        return await self.client.update(WORKS, {**work, **change}, name, namespace, subresource=subresource)

    async def _renew(self, name: str, namespace: str, spec: Manifest, owners: list[Any] | None = None) -> None:
        renewed = {**spec, "renewTime": format_micro_time(self._now())}
        try:
            lease = await self.client.get(LEASES, name, namespace)
        except NotFound:
            metadata = {"name": name, "namespace": namespace, **({"ownerReferences": owners} if owners else {})}
            await self.client.create(LEASES, {"metadata": metadata, "spec": renewed}, namespace)
        else:
            await self.client.update(LEASES, {**lease, "spec": {**lease["spec"], **renewed}}, name, namespace)

    async def _tell(self, about: Manifest, reason: str) -> None:
        """An event as the recorder of client-go writes it; the second time it is counted."""
        namespace, name = about.get("namespace", "default"), f"{about['name']}.{reason.lower()}"
        count = partial(self.client.patch, EVENTS, name, {"count": 2, "lastTimestamp": format_time(self._now())})
        try:
            await count(namespace)
        except NotFound:
            event = {"metadata": {"name": name, "namespace": namespace}, "involvedObject": about, "reason": reason}
            event |= {"message": reason, "type": "Normal", "source": {"component": "karmada-agent"}, "count": 1}
            await self.client.create(EVENTS, event, namespace)
