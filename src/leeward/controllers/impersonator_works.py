"""The impersonator of Pull members: what it may there, as Works that the member's agent carries out.

    Cluster (Pull, impersonatorSecretRef) ──▶ Work  ClusterRole karmada-impersonator: the users of the member's proxy
                                          └─▶ Work  ClusterRoleBinding karmada-impersonator: to the account of that name

Push members have both from joining, and `unified_auth` writes the role there. Here nothing is made in a member whose
Cluster names no Secret with the account's token: nobody speaks for users there. What is there and was not made from
these Works is left as it is, and the Work says so (Holds: S6). A Work of such a name that is a binding's stays one.
Those of a Karmada, which belong to the Cluster, go on as they are until other users have the right to the proxy.

Karmada: pkg/controllers/unifiedauth; there, for Push members as well.
"""

from datetime import datetime, timedelta

from kubeapi.meta import Manifest, ReadOnlyManifest, labels_of
from leeward.api.cluster import Cluster
from leeward.api.names import (
    EXECUTION_CONTROLLER_FINALIZER,
    EXECUTION_SPACE_PREFIX,
    RENDERED_ANNOTATION,
    SYSTEM_LABEL,
    cluster_of_execution_space,
    execution_space,
    work_name,
)
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Work
from leeward.client import AlreadyExists, Conflict
from leeward.controllers.unified_auth import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, COMPONENT, SETTLE
from leeward.core.execution.claims import owners_of
from leeward.core.execution.ownership import stamp
from leeward.core.impersonation import impersonation_rules, impersonator_objects, users_of_proxy
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.identity import key_of
from leeward.runtime.reassignment import FOREIGN_DELETION_REST

_RENDERED: Manifest = {RENDERED_ANNOTATION: "true"}
_NAMES = frozenset(work_name(each["kind"], each["metadata"]["name"], "") for each in impersonator_objects([]))


class ImpersonatorWorks:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._recorder = plane.recorder(COMPONENT)
        self._clusters = plane.informers.of(CLUSTERS)
        self._works = plane.informers.of(WORKS)
        self._roles = plane.informers.of(CLUSTER_ROLES)
        self._bindings = plane.informers.of(CLUSTER_ROLE_BINDINGS)
        self._controller = plane.controller(f"{COMPONENT}-works", self.reconcile, workers=2)

    def start(self) -> None:
        for informer in (self._roles, self._bindings):
            informer.on_change(self._rights_changed)
        self._clusters.on_change(self._cluster_changed)
        self._works.on_change(self._work_changed)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, name: str) -> datetime | None:
        for informer in (self._clusters, self._works, self._roles, self._bindings):
            await informer.wait_synced()
        cluster = self._clusters.get(name)
        if cluster is None or cluster.is_being_deleted:
            return None
        if cluster.spec.sync_mode != "Pull" or cluster.spec.impersonator_secret_ref is None:
            await self._remove(cluster)
            return None
        try:
            rules = impersonation_rules(users_of_proxy(self._roles.list(), self._bindings.list(), name))
        except ValueError as problem:
            self._recorder.warning(CLUSTERS, cluster, "SyncImpersonationConfigFailed", str(problem))
            return None
        written = [await self._ensure(cluster, manifest) for manifest in impersonator_objects(rules)]
        if any(written):
            count = sum(len(rule["resourceNames"]) for rule in rules)
            message = f"by Works of the member, its impersonator may speak for {count} users of its proxy"
            self._recorder.normal(CLUSTERS, cluster, "SyncImpersonationConfigSucceed", message)
        return None

    async def _ensure(self, cluster: Cluster, manifest: Manifest) -> bool:
        """Tells whether the Work of an object had to be written. Raises: WorldError."""
        space = execution_space(cluster.name)
        name = work_name(manifest["kind"], manifest["metadata"]["name"], "")
        present = self._works.get(name, space)
        if present is None:
            metadata = {"name": name, "labels": {SYSTEM_LABEL: "true"}, "finalizers": [EXECUTION_CONTROLLER_FINALIZER]}
            metadata["annotations"] = _RENDERED
            spec: Manifest = {"workload": {"manifests": [stamp(manifest, space, name)]}}
            try:
                created = await self._plane.client.create(WORKS, {"metadata": metadata, "spec": spec}, space)
            except AlreadyExists as error:
                raise Conflict(error.status) from error
            self._works.remember(created)
            return True
        if not _is_ours(present) and not _is_karmadas(present, cluster):
            message = f"the Work {key_of(present)} is somebody else's, and is left as it is"
            self._recorder.warning(CLUSTERS, cluster, "SyncImpersonationConfigFailed", message)
            return False
        wanted = _brought_to(present, manifest)
        if present.metadata.deletion_timestamp is not None or list(present.spec.workload.manifests) == [wanted]:
            return False
        change: Manifest = {"metadata": {"annotations": _RENDERED}, "spec": {"workload": {"manifests": [wanted]}}}
        version = present.metadata.resource_version
        patched = await self._plane.client.patch(WORKS, name, change, space, resource_version=version)
        self._works.remember(patched)
        return True

    async def _remove(self, cluster: Cluster) -> None:
        """Removes the impersonator of a member for which nobody speaks any more. Raises: WorldError."""
        for name in sorted(_NAMES):
            work = self._works.get(name, execution_space(cluster.name))
            if work is not None and _is_ours(work) and work.metadata.deletion_timestamp is None:
                uid, version = work.metadata.uid, work.metadata.resource_version
                await self._plane.client.delete(WORKS, name, work.namespace, uid=uid, resource_version=version)

    def _rights_changed(self, old: Manifest | None, new: Manifest | None) -> None:
        settled = self._plane.clock.now() + SETTLE
        for cluster in self._clusters.list():
            if cluster.spec.sync_mode == "Pull":
                self._controller.queue.add_at(cluster.name, settled)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if new is not None and (old is None or _asked(old) != _asked(new)):
            self._controller.queue.add(new.name)

    def _work_changed(self, old: Work | None, new: Work | None) -> None:
        """Wakes the cluster whose Work somebody has changed or deleted; it is made again a while after it is gone."""
        work = new or old
        if work is None or work.name not in _NAMES or not work.namespace.startswith(EXECUTION_SPACE_PREFIX):
            return
        if old is None or new is None or old.metadata.generation != new.metadata.generation:
            at = self._plane.clock.now() + (FOREIGN_DELETION_REST if new is None else timedelta())
            self._controller.queue.add_at(cluster_of_execution_space(work.namespace), at)


def _is_ours(work: Work) -> bool:
    return work.metadata.labels.get(SYSTEM_LABEL) == "true" and not any(owners_of(work))


def _is_karmadas(work: Work, cluster: Cluster) -> bool:
    """Tells whether Karmada has made it for this very Cluster, and no binding."""
    owners = (owner for owner in work.metadata.owner_references if owner.kind == CLUSTERS.kind)
    return any(owner.uid == cluster.metadata.uid for owner in owners) and not any(owners_of(work))


def _brought_to(work: Work, manifest: Manifest) -> ReadOnlyManifest:
    """The object of the Work with the contents of `manifest`. What Karmada has written stays where it says the same;
    its labels, by which a member knows the object, stay in any case."""
    empty: ReadOnlyManifest = {}
    present = next(iter(work.spec.workload.manifests), empty)
    labels: Manifest = {}
    if not _is_ours(work):
        if all(present.get(field) == value for field, value in manifest.items() if field != "metadata"):
            return present
        labels = dict(labels_of(present))
    return stamp(manifest, work.namespace, work.name, labels)


def _asked(cluster: Cluster) -> tuple[object, ...]:
    return cluster.spec.sync_mode, cluster.spec.impersonator_secret_ref, cluster.is_being_deleted
