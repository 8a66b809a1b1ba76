"""A stand-in for Karmada's own agent: it writes what the recorded one wrote, and no generation of a Work."""

import asyncio
from contextlib import suppress
from functools import partial

import msgspec

from kubeapi.codec import to_wire
from kubeapi.meta import Manifest, format_micro_time, format_time
from kubeapi.resource import Resource
from kubeclient import Client, Conflict, NotFound
from leeward.api.names import EXECUTION_CONTROLLER_FINALIZER, execution_space
from leeward.api.resource import WORKS
from leeward.api.work import Work
from leeward.core.execution.retain import covers, merge
from leeward.core.interpreter import health_of, reflect_status
from leeward.sim.member import SimulatedMember
from leeward.sim.world import World

LEASES: Resource[Manifest] = Resource.of_manifests("coordination.k8s.io/v1", "leases", "Lease", True)
LOOK_SECONDS = 1.0
RENEW_SECONDS = 10.0
_PLURALS = {
    "ConfigMap": ("configmaps", True),
    "ClusterRole": ("clusterroles", False),
    "ClusterRoleBinding": ("clusterrolebindings", False),
    "Deployment": ("deployments", True),
}


class KarmadaAgent:
    """Works until it is stopped: renews the Lease of its cluster, and carries out its Works."""

    def __init__(self, world: World, member: SimulatedMember, client: Client | None = None) -> None:
        """`client`: its way to the control plane, with its own rights; without one it may do anything."""
        self._world = world
        self._client = client or world.client
        self._member = member
        self._space = execution_space(member.name)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._renew()), asyncio.create_task(self._work())]

    async def stop(self) -> None:
        """Raises: what one of its tasks has ended by."""
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _renew(self) -> None:
        while True:
            lease = await self._client.get(LEASES, self._member.name, "karmada-cluster")
            renewed = {**lease["spec"], "renewTime": format_micro_time(self._world.clock.now())}
            await self._client.update(LEASES, {**lease, "spec": renewed}, self._member.name, "karmada-cluster")
            await asyncio.sleep(RENEW_SECONDS)

    async def _work(self) -> None:
        while True:
            for work in (await self._client.list(WORKS, self._space)).items:
                try:
                    await self._carry_out(work)
                except (Conflict, NotFound):
                    continue
            await asyncio.sleep(LOOK_SECONDS)

    async def _carry_out(self, work: Work) -> None:
        manifests = work.spec.workload.manifests
        if work.metadata.deletion_timestamp is not None:
            for manifest in manifests:
                await self._remove(manifest)
            left = tuple(each for each in work.metadata.finalizers if each != EXECUTION_CONTROLLER_FINALIZER)
            released = msgspec.structs.replace(work.metadata, finalizers=left)
            await self._client.update(WORKS, msgspec.structs.replace(work, metadata=released), work.name, self._space)
            return
        if work.spec.suspend_dispatching:
            return
        observed = [await self._apply(manifest) for manifest in manifests]
        statuses = [_manifest_status(ordinal, each) for ordinal, each in enumerate(observed)]
        if to_wire(work.status.manifest_statuses) != statuses or work.applied is None:
            now = format_time(self._world.clock.now())
            applied = _condition("Applied", "AppliedSuccessful", "Manifest has been successfully applied", now)
            said = {"manifestStatuses": statuses, **({} if work.applied else {"conditions": [applied]})}
            patch = partial(self._client.patch, WORKS, work.name, {"status": said}, self._space)
            await patch(subresource="status")

    async def _apply(self, manifest: Manifest) -> Manifest:
        resource, metadata = _resource_of(manifest), manifest["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        client = self._member.client
        try:
            observed = await client.get(resource, name, namespace)
        except NotFound:
            return await client.create(resource, manifest, namespace)
        wanted = merge(manifest, observed)
        return observed if covers(observed, wanted) else await client.update(resource, wanted, name, namespace)

    async def _remove(self, manifest: Manifest) -> None:
        resource, metadata = _resource_of(manifest), manifest["metadata"]
        try:
            await self._member.client.delete(resource, metadata["name"], metadata.get("namespace", ""))
        except NotFound:
            return


def _resource_of(manifest: Manifest) -> Resource[Manifest]:
    plural, namespaced = _PLURALS[manifest["kind"]]
    return Resource.of_manifests(manifest["apiVersion"], plural, manifest["kind"], namespaced)


def _manifest_status(ordinal: int, observed: Manifest) -> Manifest:
    group, _, version = observed["apiVersion"].rpartition("/")
    metadata = observed["metadata"]
    names = {"group": group, "version": version, "kind": observed["kind"], "name": metadata["name"]}
    where = {"namespace": metadata["namespace"]} if metadata.get("namespace") else {}
    identifier = {"ordinal": ordinal, "resource": "", **{key: value for key, value in names.items() if value}, **where}
    status = reflect_status(observed)
    said = {"status": status} if status else {}
    return {"identifier": identifier, "health": health_of(observed).value, **said}


def _condition(type_: str, reason: str, message: str, now: str) -> Manifest:
    return {"type": type_, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now}
