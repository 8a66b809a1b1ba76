"""Platform that the controllers of one simulated cluster share: caches, queues, and writes that happen only when
needed.

Every write goes through here: creates and patches are read back into the cache at once, patches carry the version that
was seen, deletions the uid, and an object that is gone already is no error.

A deleted object is shown as leaving until its event comes: who counts before that would delete another one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from controller_runtime import (
    NORMAL,
    WARNING,
    Controller,
    ControllerMetrics,
    EventRecorder,
    Index,
    Informer,
    Informers,
    Key,
    Note,
    WorkQueue,
    key_of,
    reference_of,
)
from kubeapi.codec import encode
from kubeapi.diff import merge_patch
from kubeapi.errors import error_of
from kubeapi.loop import Clock, Randomness, Supervisor
from kubeapi.meta import Manifest, ReadOnlyManifest, annotations_of
from kubeapi.resource import Resource
from kubeapi.unstructured import mapping_at
from kubeclient import Client, NotFound
from kubecluster.kinds import NODES, PODS, QUIET_KINDS, REPLICA_SETS
from kubecluster.rules.owners import controller_of, controller_uid
from kubecluster.rules.pods import is_gone, is_leaving


class Dependents:
    def __init__(self, informer: Informer[Manifest]) -> None:
        self._informer = informer
        self._index = Index(informer, controller_uid)
        self._leaving: set[str] = set()
        informer.on_change(self._changed)

    def of(self, owner: ReadOnlyManifest) -> list[Manifest]:
        """Objects that `owner` controls, by name."""
        found = [self._as_it_will_be(obj) for obj in self._index.get(owner["metadata"]["uid"])]
        return sorted(found, key=lambda obj: obj["metadata"]["name"])

    def expect_leaving(self, deleted: ReadOnlyManifest) -> None:
        key, uid = key_of(deleted), deleted["metadata"]["uid"]
        cached = self._informer.get(key.name, key.namespace)
        if cached is not None and cached["metadata"]["uid"] == uid and not is_leaving(cached):
            self._leaving.add(uid)

    def _as_it_will_be(self, obj: Manifest) -> Manifest:
        metadata = obj["metadata"]
        if metadata["uid"] not in self._leaving:
            return obj
        return {**obj, "metadata": {**metadata, "deletionTimestamp": metadata["creationTimestamp"]}}

    def _changed(self, old: Manifest | None, new: Manifest | None) -> None:
        if old is not None and (new is None or is_gone(old, new) or is_leaving(new)):
            self._leaving.discard(old["metadata"]["uid"])


MAX_WRITES = 100
SETTLING = timedelta(milliseconds=50)
Reconcile = Callable[[Key], Awaitable[datetime | None]]


class Platform:
    """The caches hold plain manifests, and are therefore its own: others may read the same kinds as structs."""

    def __init__(
        self, client: Client, clock: Clock, randomness: Randomness, metrics: ControllerMetrics, supervisor: Supervisor
    ) -> None:
        self.clock = clock
        self.supervisor = supervisor
        self._client = client
        self._randomness = randomness
        self._metrics = metrics
        self._informers = Informers(client, randomness, supervisor)
        self._writes = asyncio.Semaphore(MAX_WRITES)
        self._events = EventRecorder(client, clock, randomness)
        supervisor.start(self._events.run(), "events")
        self.nodes = self.informer(NODES)
        self.pods = self.informer(PODS)
        self.owned_pods = Dependents(self.pods)
        self.owned_sets = Dependents(self.informer(REPLICA_SETS))

    def informer(self, resource: Resource[Manifest]) -> Informer[Manifest]:
        return self._informers.of(resource, bookmarks=resource not in QUIET_KINDS)

    async def wait_synced(self) -> None:
        """Raises: Unreachable."""
        await self._informers.wait_synced()

    def controller(self, name: str, reconcile: Reconcile, workers: int = 8) -> Controller[Key]:
        return Controller(
            name, reconcile, clock=self.clock, randomness=self._randomness, metrics=self._metrics, workers=workers
        )

    def follow(self, resource: Resource[Manifest], queue: WorkQueue[Key]) -> None:
        """Adds the key of every object of a kind that is there, comes or changes."""
        self.informer(resource).on_change(lambda old, new: queue.add(key_of(new)) if new is not None else None)

    def follow_owned(self, resource: Resource[Manifest], owner: Resource[Manifest], queue: WorkQueue[Key]) -> None:
        """Adds the key of the owner, if it is of that kind, of every object that comes, changes or goes.

        A moment later, so that the owner looks at a hundred changes at once instead of a hundred times.
        """

        def changed(old: Manifest | None, new: Manifest | None) -> None:
            key = owner_key(new or old or {}, owner)
            if key is not None:
                queue.add_at(key, self.clock.now() + SETTLING)

        self.informer(resource).on_change(changed)

    def warn(self, component: str, resource: Resource[Manifest], about: Manifest, reason: str, message: str) -> None:
        """Tells the fault of an object, as an event of the cluster."""
        self._events.record(Note(component, reference_of(resource, about), WARNING, reason, message))

    def tell(self, component: str, resource: Resource[Manifest], about: Manifest, reason: str, message: str) -> None:
        """Tells as `warn`, where nothing is wrong."""
        self._events.record(Note(component, reference_of(resource, about), NORMAL, reason, message))

    async def create(self, resource: Resource[Manifest], manifest: Manifest) -> None:
        """Raises: AlreadyExists."""
        async with self._writes:
            namespace = manifest["metadata"].get("namespace", "")
            self.informer(resource).remember(await self._client.create(resource, manifest, namespace))

    async def patch(
        self, resource: Resource[Manifest], seen: ReadOnlyManifest, patch: Mapping[str, Any], subresource: str = ""
    ) -> None:
        """Applies a merge patch to the version that was seen; an empty one not at all. Raises: Conflict."""
        if not patch:
            return
        key, version = key_of(seen), seen["metadata"]["resourceVersion"]
        try:
            async with self._writes:
                patched = await self._client.patch(
                    resource, key.name, patch, key.namespace, subresource=subresource, resource_version=version
                )
        except NotFound:
            return
        self.informer(resource).remember(patched)

    async def bind(self, pod: ReadOnlyManifest, node: str) -> None:
        """Gives a Pod its node. Raises: Conflict when it has one."""
        key = key_of(pod)
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": key.name}, "target": target}
        path = PODS.path(key.namespace, key.name, "binding")
        async with self._writes:
            answer = await self._client.raw("POST", path, body=encode(binding))
        if answer.code == 404:
            return
        if answer.code >= 400:
            raise error_of(answer.code, answer.body)
        self.informer(PODS).remember(await self._client.get(PODS, key.name, key.namespace))

    async def report(
        self,
        resource: Resource[Manifest],
        seen: ReadOnlyManifest,
        status: Mapping[str, Any],
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Writes the status, and annotations with it, where they differ from the known ones. Raises: Conflict."""
        patch = merge_patch({"status": mapping_at(seen, "status")}, {"status": status})
        known = annotations_of(seen)
        added = {name: value for name, value in (annotations or {}).items() if known.get(name) != value}
        if added:
            patch["metadata"] = {"annotations": added}
        await self.patch(resource, seen, patch, "status")

    async def delete(
        self, resource: Resource[Manifest], seen: ReadOnlyManifest, grace_seconds: int | None = None
    ) -> None:
        """Raises: Conflict when another object has the name by now."""
        key, uid = key_of(seen), seen["metadata"]["uid"]
        try:
            async with self._writes:
                await self._client.delete(resource, key.name, key.namespace, uid=uid, grace_seconds=grace_seconds)
        except NotFound:
            return

    async def delete_pod(self, pod: ReadOnlyManifest) -> None:
        """Gives a Pod up: from now on it counts as leaving, even before the cache says so."""
        await self.delete(PODS, pod)
        self.owned_pods.expect_leaving(pod)


def owner_key(manifest: ReadOnlyManifest, owner: Resource[Manifest]) -> Key | None:
    """The key of the controller of an object, if it is of that kind."""
    controller = controller_of(manifest)
    if controller is None or (controller["apiVersion"], controller["kind"]) != (owner.api_version, owner.kind):
        return None
    return Key(manifest["metadata"].get("namespace", ""), controller["name"])


async def together(*writes: Awaitable[None]) -> None:
    """Returns when all have ended. Raises: the error of the first that failed."""
    for outcome in await asyncio.gather(*writes, return_exceptions=True):
        if outcome is not None:
            raise outcome
