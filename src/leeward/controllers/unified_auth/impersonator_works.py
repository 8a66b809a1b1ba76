"""Impersonator of members, as Works: its role in the member, and the binding that gives the role to its account.

    Cluster (impersonatorSecretRef) ──▶ Work  ClusterRole karmada-impersonator: the users of the member's proxy
                                    └─▶ Work  ClusterRoleBinding karmada-impersonator: to the account of that name

Without them the cluster proxy works for nobody where `karmadactl join`, or an agent, has made the account alone. In a
Pull member nobody can look whether a role is there; in a Push member `unified_auth` looks first. Nothing is made for a
Cluster that names no Secret with the account's token, or says which role its member gives by itself (a local one).
What is there and was not made from these Works is left as it is, and the Work says so (Holds: S6). A Work of that name
that is a binding's stays one. Works of a Karmada, which belong to the Cluster, go on as they are; only where the
impersonator is to be limited they are brought to other users. While somebody deletes these Works none is made
(`FOREIGN_DELETION_REST`): `karmadactl unregister` ends.
Karmada: pkg/controllers/unifiedauth; there a deleted Work comes back with the next change of a right.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from controller_runtime import key_of, reference_of
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest, labels_of
from kubeapi.resource import Resource
from kubeapi.untrusted import text_in
from kubeclient import AlreadyExists, Conflict
from leeward.api.cluster import Cluster
from leeward.api.names import (
    EXECUTION_CONTROLLER_FINALIZER,
    EXECUTION_SPACE_PREFIX,
    IMPERSONATOR_ROLE_ANNOTATION,
    RENDERED_ANNOTATION,
    SYSTEM_LABEL,
    cluster_of_execution_space,
    execution_space,
    work_name,
)
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Work
from leeward.core.execution.claims import owners_of
from leeward.core.execution.ownership import stamp
from leeward.core.impersonation import (
    EVERY_CLUSTER,
    EVERYBODY,
    Impersonated,
    account_namespace,
    impersonation_rules,
    impersonator_objects,
    proxies_named,
    users_of_proxy,
)
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.reassignment import FOREIGN_DELETION_REST

COMPONENT = "unified-auth-controller"
SETTLE = timedelta(seconds=1)
"""Changes of roles within this time are written together."""
_RBAC = "rbac.authorization.k8s.io"
CLUSTER_ROLES: Resource[Manifest] = Resource.of_manifests(f"{_RBAC}/v1", "clusterroles", "ClusterRole", False)
CLUSTER_ROLE_BINDINGS: Resource[Manifest] = Resource.of_manifests(
    f"{_RBAC}/v1", "clusterrolebindings", "ClusterRoleBinding", False
)
_RENDERED: Manifest = {RENDERED_ANNOTATION: "true"}
_NAMES = frozenset(work_name(each["kind"], each["metadata"]["name"], "") for each in impersonator_objects([]))


class ProxyUsers:
    """Users of the proxies, by the RBAC of the control plane.

    Where the impersonator is not `limited` it may be everybody: the control plane lets `system:masters` use each proxy,
    and who may be in that group may be everybody.
    """

    def __init__(self, plane: ControlPlane, *, limited: bool) -> None:
        self._limited = limited
        self._roles = plane.informers.of(CLUSTER_ROLES)
        self._bindings = plane.informers.of(CLUSTER_ROLE_BINDINGS)

    def on_change(self, handler: Callable[[Manifest | None, Manifest | None], None]) -> list[Callable[[], None]]:
        return [informer.on_change(handler) for informer in (self._roles, self._bindings)]

    def concerned(self, *changed: Manifest | None) -> frozenset[str]:
        """Names of the clusters whose proxy these roles, or bindings of roles, are about; `*` for all of them."""
        return frozenset[str]().union(*(proxies_named(self._role_of(each)) for each in changed if each is not None))

    async def of(self, cluster: str) -> Impersonated:
        for informer in (self._roles, self._bindings):
            await informer.wait_synced()
        return users_of_proxy(self._roles.list(), self._bindings.list(), cluster)

    def rules_for(self, users: Impersonated) -> list[Manifest]:
        """Raises: ValueError for more users than a role can name."""
        return impersonation_rules(users) if self._limited else EVERYBODY

    def _role_of(self, changed: Manifest) -> Manifest:
        reference = changed.get("roleRef")
        return changed if reference is None else self._roles.get(text_in(reference, "name")) or {}


def count_of(rules: list[Manifest]) -> str:
    """Number of users whom these rules name, for people."""
    named = sum(len(rule.get("resourceNames", ())) for rule in rules)
    return (
        "everybody whom the control plane lets use its proxy" if rules == EVERYBODY else f"{named} users of its proxy"
    )


def named_for_proxy(users: Impersonated) -> str:
    return f"the control plane's ClusterRoles name {sum(map(len, users))} users, groups and accounts for its proxy"


class ImpersonatorWriter:
    """Writer of the Works of impersonators: one for all members."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._recorder = plane.recorder(COMPONENT)
        self._works = plane.informers.of(WORKS)
        self._rests: dict[str, datetime] = {}
        self._told: dict[str, tuple[str, Impersonated]] = {}
        """Uids of Clusters, and the users of their proxies at the last event."""
        plane.supervisor.on_close(self._works.on_change(self._work_changed))

    def has_any(self, cluster: Cluster) -> bool:
        """Tells whether the impersonator of this cluster is told by Works that may be written."""
        found = [self._works.get(name, execution_space(cluster.name)) for name in _NAMES]
        return any(work is not None and (_is_ours(work) or _is_karmadas(work, cluster)) for work in found)

    def rests_until(self, cluster: str) -> datetime | None:
        """Instant until which nothing is made, as somebody deletes these Works; None for now."""
        now, space = self._plane.clock.now(), execution_space(cluster)
        works = (self._works.get(name, space) for name in _NAMES)
        if any(work is not None and work.metadata.deletion_timestamp is not None for work in works):
            return now + FOREIGN_DELETION_REST
        until = self._rests.get(cluster)
        if until is not None and until <= now:
            del self._rests[cluster]
            return None
        return until

    def tell(self, cluster: Cluster, users: Impersonated, message: str, *, written: bool = False) -> None:
        """Tells that the impersonator has its rights: when they were written, and as others get a right to the proxy.

        Karmada: after each look, thus with each change of a right.
        """
        if written or self._told.get(cluster.name) != (cluster.metadata.uid, users):
            self._told[cluster.name] = (cluster.metadata.uid, users)
            self._recorder.step(reference_of(CLUSTERS, cluster), "SyncImpersonationConfigSucceed", message)

    def forget(self, cluster: str) -> None:
        self._told.pop(cluster, None)

    async def ensure(self, cluster: Cluster, users: Impersonated, rules: list[Manifest]) -> datetime | None:
        """Brings the Works to these rules; returns when to look again, where they rest. Raises: WorldError."""
        await self._works.wait_synced()
        if (until := self.rests_until(cluster.name)) is not None:
            return until
        objects = impersonator_objects(rules, account_namespace(cluster.spec.impersonator_secret_ref))
        due = [
            manifest for manifest in objects if rules != EVERYBODY or not self._is_told_by_karmada(cluster, manifest)
        ]
        written = [await self._ensure(cluster, manifest) for manifest in due]
        message = f"by Works of the member, its impersonator may speak for {count_of(rules)}"
        self.tell(cluster, users, message, written=any(written))
        return None

    def _is_told_by_karmada(self, cluster: Cluster, manifest: Manifest) -> bool:
        """Tells whether a Work of a Karmada says it, which names the users: a switch writes no object of a member."""
        name = work_name(manifest["kind"], manifest["metadata"]["name"], "")
        work = self._works.get(name, execution_space(cluster.name))
        return work is not None and not _is_ours(work) and _is_karmadas(work, cluster)

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

    async def remove(self, cluster: Cluster) -> None:
        """Removes the impersonator of a member for which nobody speaks any more. Raises: WorldError."""
        await self._works.wait_synced()
        for name in sorted(_NAMES):
            work = self._works.get(name, execution_space(cluster.name))
            if work is not None and _is_ours(work) and work.metadata.deletion_timestamp is None:
                uid, version = work.metadata.uid, work.metadata.resource_version
                await self._plane.client.delete(WORKS, name, work.namespace, uid=uid, resource_version=version)

    def _work_changed(self, old: Work | None, new: Work | None) -> None:
        if old is not None and new is None and is_impersonators(old):
            self._rests[cluster_of_execution_space(old.namespace)] = self._plane.clock.now() + FOREIGN_DELETION_REST


class ImpersonatorWorks:
    """Controller for the impersonators of Pull members, by Works that the member's agent carries out.

    It also tells of a member that gives the rights by itself, unless another controller limits them there.
    """

    def __init__(self, plane: ControlPlane, writer: ImpersonatorWriter, *, limited: bool) -> None:
        self._plane = plane
        self._recorder = plane.recorder(COMPONENT)
        self._clusters = plane.informers.of(CLUSTERS)
        self._works = plane.informers.of(WORKS)
        self._writer = writer
        self._limited = limited
        self._users = ProxyUsers(plane, limited=limited)
        self._controller = plane.controller(f"{COMPONENT}-works", self.reconcile, workers=2)

    def start(self) -> None:
        self._users.on_change(self._rights_changed)
        self._clusters.on_change(self._cluster_changed)
        self._works.on_change(self._work_changed)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, name: str) -> datetime | None:
        await self._clusters.wait_synced()
        cluster = self._clusters.get(name)
        if cluster is None or cluster.is_being_deleted:
            self._writer.forget(name)
            return None
        is_pull = cluster.spec.sync_mode == "Pull"
        if not is_spoken_for(cluster):
            await self._writer.remove(cluster)
            if own_role_of(cluster) and (is_pull or not self._limited):
                users = await self._users.of(name)
                message = f"the member itself gives its impersonator the ClusterRole {own_role_of(cluster)}"
                self._writer.tell(cluster, users, f"{message}; {named_for_proxy(users)}")
        elif is_pull:
            return await self._give(cluster)
        return None

    async def _give(self, cluster: Cluster) -> datetime | None:
        """Returns when to look again, where it has to. Raises: WorldError."""
        users = await self._users.of(cluster.name)
        try:
            rules = self._users.rules_for(users)
        except ValueError as problem:
            self._recorder.warning(CLUSTERS, cluster, "SyncImpersonationConfigFailed", str(problem))
            return None
        return await self._writer.ensure(cluster, users, rules)

    def _rights_changed(self, old: Manifest | None, new: Manifest | None) -> None:
        settled, names = self._plane.clock.now() + SETTLE, self._users.concerned(old, new)
        for cluster in self._clusters.list() if names else ():
            if not names.isdisjoint((cluster.name, EVERY_CLUSTER)):
                self._controller.queue.add_at(cluster.name, settled)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if new is not None and (old is None or _asked(old) != _asked(new)):
            self._controller.queue.add(new.name)

    def _work_changed(self, old: Work | None, new: Work | None) -> None:
        """Wakes the cluster whose Work somebody has changed or deleted; it is made again a while after it is gone."""
        work = new or old
        if work is None or not is_impersonators(work):
            return
        if old is None or new is None or old.metadata.generation != new.metadata.generation:
            at = self._plane.clock.now() + (FOREIGN_DELETION_REST if new is None else timedelta())
            self._controller.queue.add_at(cluster_of_execution_space(work.namespace), at)


def is_spoken_for(cluster: Cluster) -> bool:
    """Tells whether an account of the member speaks for users there, and has its rights from nobody else."""
    has_own = IMPERSONATOR_ROLE_ANNOTATION in cluster.metadata.annotations
    return cluster.spec.impersonator_secret_ref is not None and not has_own


def own_role_of(cluster: Cluster) -> str:
    """Name of the ClusterRole that a local member itself gives its impersonator; empty where there is none."""
    reached = cluster.spec.impersonator_secret_ref is not None
    return cluster.metadata.annotations.get(IMPERSONATOR_ROLE_ANNOTATION, "") if reached else ""


def is_impersonators(work: Work) -> bool:
    """Tells by its name whether it is the Work of an impersonator."""
    return work.name in _NAMES and work.namespace.startswith(EXECUTION_SPACE_PREFIX)


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
        if all(is_equal(present.get(field), value) for field, value in manifest.items() if field != "metadata"):
            return present
        labels = dict(labels_of(present))
    return stamp(manifest, work.namespace, work.name, labels)


def _asked(cluster: Cluster) -> tuple[object, ...]:
    own_role = cluster.metadata.annotations.get(IMPERSONATOR_ROLE_ANNOTATION)
    return cluster.spec.sync_mode, cluster.spec.impersonator_secret_ref, own_role, cluster.is_being_deleted
