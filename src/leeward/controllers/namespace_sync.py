"""The namespace sync controller: a namespace of the control plane appears in every member, as a Work like any other.

Karmada: pkg/controllers/namespace; same, except that a Work is owned by its Namespace, so that both go together.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubeapi.meta import Manifest
from leeward.api.cluster import Cluster
from leeward.api.core import Namespace
from leeward.api.names import (
    EXECUTION_CONTROLLER_FINALIZER,
    EXECUTION_SPACE_PREFIX,
    SKIP_NAMESPACE_LABEL,
    execution_space,
    work_name,
)
from leeward.api.resource import CLUSTERS, NAMESPACES, WORKS
from leeward.api.work import Work
from leeward.client import AlreadyExists
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.reassignment import FOREIGN_DELETION_REST, keep_objects

from leeward.core.execution.ownership import stamp  # isort: skip

SKIPPED_ALWAYS = ("karmada-system", "karmada-cluster", "default")


@dataclass(frozen=True, slots=True)
class NamespaceSyncSettings:
    """`skipped` are regular expressions of whole names: --skipped-propagating-namespaces."""

    skipped: tuple[str, ...] = ("kube-.*",)


class NamespaceSyncController:
    def __init__(self, plane: ControlPlane, settings: NamespaceSyncSettings) -> None:
        self._plane = plane
        self._skipped = [re.compile(pattern) for pattern in settings.skipped]
        self._namespaces = plane.informers.of(NAMESPACES)
        self._clusters = plane.informers.of(CLUSTERS)
        self._last_gone: dict[str, tuple[str, datetime]] = {}
        """Work that has gone last, and when, by execution space."""
        self._works = plane.informers.of(WORKS)
        self._controller = plane.controller("namespace-sync-controller", self.reconcile, workers=2)

    def start(self) -> None:
        self._namespaces.on_change(self._namespace_changed)
        self._clusters.on_change(self._cluster_changed)
        self._works.on_change(self._work_changed)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, name: str) -> None:
        for informer in (self._namespaces, self._clusters, self._works):
            await informer.wait_synced()
        namespace = self._namespaces.get(name)
        if namespace is None or namespace.metadata.deletion_timestamp is not None or not self._is_propagated(namespace):
            return
        for cluster in self._clusters.list():
            space = execution_space(cluster.name)
            if cluster.is_being_deleted or self._namespaces.get(space) is None:
                continue
            if not self._plane.share.owns_cluster(cluster.name):
                continue
            await self._ensure_work(namespace, space)

    async def _ensure_work(self, namespace: Namespace, space: str) -> None:
        name = work_name("Namespace", namespace.name, "")
        present = self._works.get(name, space)
        if present is not None and present.metadata.deletion_timestamp is not None:
            await keep_objects(self._plane.client, present)
        if present is not None:
            return
        work: Manifest = {
            "metadata": {
                "name": name,
                "namespace": space,
                "finalizers": [EXECUTION_CONTROLLER_FINALIZER],
                "ownerReferences": [
                    {
                        "apiVersion": "v1",
                        "kind": "Namespace",
                        "name": namespace.name,
                        "uid": namespace.metadata.uid,
                        "controller": True,
                        "blockOwnerDeletion": True,
                    }
                ],
            },
            "spec": {"workload": {"manifests": [_manifest(namespace, space, name)]}},
        }
        try:
            self._works.remember(await self._plane.client.create(WORKS, work, space))
        except AlreadyExists:
            return

    def _is_propagated(self, namespace: Namespace) -> bool:
        name = namespace.name
        return not (
            name in SKIPPED_ALWAYS
            or name.startswith(EXECUTION_SPACE_PREFIX)
            or namespace.metadata.labels.get(SKIP_NAMESPACE_LABEL) == "true"
            or any(pattern.fullmatch(name) for pattern in self._skipped)
        )

    def _namespace_changed(self, old: Namespace | None, new: Namespace | None) -> None:
        if new is None:
            return
        if new.name.startswith(EXECUTION_SPACE_PREFIX):
            self._add_all()
        else:
            self._controller.queue.add(new.name)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if old is None or new is None:
            self._add_all()

    def _work_changed(self, old: Work | None, new: Work | None) -> None:
        """A Work that goes, perhaps that of an earlier namespace of this name, is made again.

        It rests before where other Works of its cluster have gone just so: then somebody empties the cluster.
        """
        gone = new or old
        rests = old is not None and new is None and self._is_emptied(old)
        if gone is not None and (new is None or new.metadata.deletion_timestamp is not None):
            at = self._plane.clock.now() + (FOREIGN_DELETION_REST if rests else timedelta())
            for owner in gone.metadata.owner_references:
                if owner.kind == "Namespace":
                    self._controller.queue.add_at(owner.name, at)

    def _is_emptied(self, gone: Work) -> bool:
        """Tells whether a Work of another name has gone from the same execution space a moment before."""
        now = self._plane.clock.now()
        name, at = self._last_gone.get(gone.namespace, ("", now))
        self._last_gone[gone.namespace] = gone.name, now
        return name not in ("", gone.name) and now - at < FOREIGN_DELETION_REST

    def _add_all(self) -> None:
        for namespace in self._namespaces.list():
            if not namespace.name.startswith(EXECUTION_SPACE_PREFIX):
                self._controller.queue.add(namespace.name)


def _manifest(namespace: Namespace, space: str, work: str) -> Manifest:
    labels = {k: v for k, v in namespace.metadata.labels.items() if not k.startswith("kubernetes.io/")}
    manifest: Manifest = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": namespace.name, **({"labels": labels} if labels else {})},
    }
    return stamp(manifest, space, work)
