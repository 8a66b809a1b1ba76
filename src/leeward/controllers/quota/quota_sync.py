"""The quota sync controller: brings a ResourceQuota to each cluster that a FederatedResourceQuota assigns something.

A Work goes when its assignment goes, or the quota: the API server itself has to say that it is gone (Holds: S5). None
is made while a cache may be that of a control plane that is no more: of one that was restored, and does not know the
quota, it would soon go again, and take along what runs on in its cluster. The Work of somebody else is left alone, and
the quota says so in an event (Holds: S6).

Karmada: pkg/controllers/federatedresourcequota (`federatedResourceQuotaSync`); same, except that it writes over others'
Works, and makes Works without a limit for all other clusters.
"""

from controller_runtime import Index, Key, key_of
from kubeapi.core import NAMESPACES, Namespace
from kubeapi.meta import Manifest
from kubeclient import AlreadyExists, Conflict, NotFound, NotServed, WorldError
from leeward.api.cluster import Cluster
from leeward.api.names import EXECUTION_SPACE_PREFIX, execution_space
from leeward.api.quota import FederatedResourceQuota
from leeward.api.resource import CLUSTERS, FEDERATED_RESOURCE_QUOTAS, WORKS
from leeward.api.work import Work
from leeward.core.propagation.reach import Reach
from leeward.core.quota.static_assignments import brought_to, is_of, needless, quota_of_work, quota_works
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.reassignment import keep_objects

COMPONENT = "federated-resource-quota-sync-controller"


class QuotaSyncController:
    def __init__(self, plane: ControlPlane, reach: Reach) -> None:
        self._plane = plane
        self._reach = reach
        self._recorder = plane.recorder(COMPONENT)
        self._quotas = plane.informers.of(FEDERATED_RESOURCE_QUOTAS)
        self._clusters = plane.informers.of(CLUSTERS)
        self._namespaces = plane.informers.of(NAMESPACES)
        self._works = plane.informers.of(WORKS)
        self._works_of = Index(self._works, _quota_key)
        self._controller = plane.controller(COMPONENT, self.reconcile, workers=2)

    def start(self) -> None:
        self._quotas.on_change(self._quota_changed)
        self._clusters.on_change(self._cluster_changed)
        self._namespaces.on_change(self._namespace_changed)
        self._works.on_change(self._work_changed)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, key: Key) -> None:
        for informer in (self._quotas, self._clusters, self._namespaces, self._works):
            await informer.wait_current()
        quota = self._quotas.get(key.name, key.namespace) or await self._ask(key)
        if quota is None:
            for work in self._works_of.get(key):
                await self._delete(work)
            return
        if quota.metadata.deletion_timestamp is not None:
            return
        try:
            refused, written = await self._sync(quota)
        except Conflict:
            raise
        except WorldError as error:
            self._recorder.warning(FEDERATED_RESOURCE_QUOTAS, quota, "SyncWorkFailed", str(error))
            raise
        if refused:
            said = "; ".join(refused)
            self._recorder.warning(FEDERATED_RESOURCE_QUOTAS, quota, "SyncWorkFailed", said)
        elif written:
            said = f"Sync works for FederatedResourceQuota({key}) succeed."
            self._recorder.normal(FEDERATED_RESOURCE_QUOTAS, quota, "SyncWorkSucceed", said)

    async def _ask(self, key: Key) -> FederatedResourceQuota | None:
        """None when there is no such quota. Raises: WorldError."""
        return await self._plane.client.find(FEDERATED_RESOURCE_QUOTAS, key.name, key.namespace)

    async def _sync(self, quota: FederatedResourceQuota) -> tuple[list[str], bool]:
        """Writes the quota's Works. Returns what stands in its way, and whether anything was written.
        Raises: WorldError."""
        written = False
        for work in needless(self._works_of.get(key_of(quota)), quota):
            written |= await self._delete(work)
        if not quota.spec.static_assignments:
            return [], written
        if self._reach.skips_namespace(quota.namespace):
            return [f"namespace {quota.namespace} is not propagated, and so is no quota of it"], written
        refused: list[str] = []
        for cluster, manifest in quota_works(quota, self._present()).items():
            present = self._works.get(manifest["metadata"]["name"], execution_space(cluster))
            if present is not None and not is_of(present, quota):
                refused.append(f"Work {key_of(present)} is another's, and is left as it is")
            else:
                written |= await self._ensure(present, manifest)
        return refused, written

    def _present(self) -> list[str]:
        """The clusters that can be given something."""
        joined = (cluster.name for cluster in self._clusters.list() if not cluster.is_being_deleted)
        return [name for name in joined if self._namespaces.get(execution_space(name)) is not None]

    async def _ensure(self, work: Work | None, manifest: Manifest) -> bool:
        """Tells whether it had to be written. One that waits for its deletion goes without its object, and is made
        again."""
        client, space = self._plane.client, manifest["metadata"]["namespace"]
        if work is None:
            try:
                self._works.remember(await client.create(WORKS, manifest, space))
            except AlreadyExists as error:
                raise Conflict(error.status) from error
            return True
        if work.metadata.deletion_timestamp is not None:
            await keep_objects(client, work)
            return False
        wanted = brought_to(work, manifest)
        if wanted is None:
            return False
        self._works.remember(await client.update(WORKS, wanted, work.name, space))
        return True

    async def _delete(self, work: Work) -> bool:
        """Deletes a Work as it was seen; its execution controller takes the ResourceQuota out of the cluster."""
        if work.metadata.deletion_timestamp is not None:
            return False
        metadata = work.metadata
        try:
            await self._plane.client.delete(
                WORKS, work.name, work.namespace, uid=metadata.uid, resource_version=metadata.resource_version
            )
        except NotServed:
            raise
        except NotFound:
            return False
        return True

    def _quota_changed(self, old: FederatedResourceQuota | None, new: FederatedResourceQuota | None) -> None:
        quota = new or old
        if quota is not None and (old is None or new is None or old.metadata.generation != new.metadata.generation):
            self._controller.queue.add(key_of(quota))

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if old is None or new is None:
            self._add_all()

    def _namespace_changed(self, old: Namespace | None, new: Namespace | None) -> None:
        if old is None and new is not None and new.name.startswith(EXECUTION_SPACE_PREFIX):
            self._add_all()

    def _work_changed(self, old: Work | None, new: Work | None) -> None:
        """A Work that somebody deletes or changes is brought back to what it must be."""
        if old is not None and new is not None and old.metadata.generation == new.metadata.generation:
            return
        for key in {_quota_key(work) for work in (old, new) if work is not None}:
            if key is not None:
                self._controller.queue.add(key)

    def _add_all(self) -> None:
        for quota in self._quotas.list():
            if quota.spec.static_assignments:
                self._controller.queue.add(key_of(quota))


def _quota_key(work: Work) -> Key | None:
    quota = quota_of_work(work)
    return Key(*quota) if quota is not None else None
