"""The unified auth controller: gives the impersonator of a Push member its rights there, for the cluster proxy.

    no role in the member     Works make it, with its binding (`impersonator_works`), as in a Pull member
    a role by joining         is left as it is, or cut down to the users of the member's proxy where that was asked for

It runs by default, and then the impersonator may be everybody: the control plane lets `system:masters` use each proxy,
and who may be in that group may be everybody. Named by its name (`--controllers=*,unifiedAuth`) it limits the
impersonator: whoever has its token may be the users of the proxy, and nobody else. Members refuse then who reaches the
proxy by a role of `*`, or with groups that have no right to the proxy themselves. It writes only into roles that were
made by joining, which their labels say (Holds: S6); what somebody widens there, joining anew among it, is cut again.

Karmada: pkg/controllers/unifiedauth (`unifiedAuth`); there by a Work, in every member.
"""

from datetime import datetime, timedelta

from controller_runtime import Key
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, labels_of
from leeward.api.cluster import Cluster
from leeward.api.names import MANAGED_LABEL, SYSTEM_LABEL
from leeward.api.resource import CLUSTERS
from leeward.controllers.unified_auth.impersonator_works import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    COMPONENT,
    SETTLE,
    ImpersonatorWriter,
    ProxyUsers,
    count_of,
    is_spoken_for,
    named_for_proxy,
)
from leeward.core.impersonation import EVERY_CLUSTER, Impersonated
from leeward.runtime.controller_context import ControlPlane, Member

__all__ = ["CLUSTER_ROLES", "CLUSTER_ROLE_BINDINGS", "UnifiedAuthController", "is_made_by_joining"]

LOOK_AGAIN = timedelta(minutes=5)
WAIT_READY = timedelta(seconds=30)
"""Pause after which a member that is not Ready is looked at again."""
JOINED_ROLE = "karmada-impersonator"
IMPERSONATOR_ROLES = (JOINED_ROLE, "system:karmada:impersonator")
"""Names of the role in a member that was joined, and in a local one. That of a local one is for nobody who joins it."""
_FOREIGN = (
    "in the member, the ClusterRole {name} was not made by joining, and is left as it is: "
    f"the label {SYSTEM_LABEL}=true makes it ours, as does `leeward join` where that has made it before"
)


class UnifiedAuthController:
    """Controller for one member; it ends with the member's supervisor, and waits for nobody else's.

    `writer` of the Works is one for all members.
    """

    def __init__(
        self, plane: ControlPlane, member: Member, writer: ImpersonatorWriter | None = None, *, limited: bool = True
    ) -> None:
        self._plane = plane
        self._member = member
        self._limited = limited
        self._recorder = plane.recorder(COMPONENT)
        self._clusters = plane.informers.of(CLUSTERS)
        self._users = ProxyUsers(plane, limited=limited)
        self._writer = writer or ImpersonatorWriter(plane)
        self._controller = plane.controller(COMPONENT, self.reconcile, workers=1)

    def start(self) -> None:
        for end in self._users.on_change(self._rights_changed):
            self._member.supervisor.on_close(end)
        own = Key("", self._member.name)
        self._member.supervisor.on_close(self._clusters.on_change(self._cluster_changed, own))
        self._controller.start(self._member.supervisor)
        self._controller.queue.add(self._member.name)

    async def reconcile(self, name: str) -> datetime | None:
        await self._clusters.wait_synced()
        cluster = self._clusters.get(name)
        if cluster is None or cluster.is_being_deleted or not (self._limited or is_spoken_for(cluster)):
            return None
        now = self._plane.clock.now()
        if cluster.ready is not None and not cluster.is_ready:
            return now + WAIT_READY
        users = await self._users.of(name)
        try:
            rules = self._users.rules_for(users)
        except ValueError as problem:
            self._recorder.warning(CLUSTERS, cluster, "SyncImpersonationConfigFailed", str(problem))
            return None
        return await self._give(cluster, users, rules) or now + LOOK_AGAIN

    async def _give(self, cluster: Cluster, users: Impersonated, rules: list[Manifest]) -> datetime | None:
        """Gives these rights in the member; returns when to look again, if soon. Raises: WorldError."""
        if self._writer.has_any(cluster):
            return await self._writer.ensure(cluster, users, rules)
        found = {name: role for name in IMPERSONATOR_ROLES if (role := await self._role(name)) is not None}
        if self._limited:
            await self._limit(cluster, found, users, rules)
        if JOINED_ROLE not in found and is_spoken_for(cluster):
            return await self._writer.ensure(cluster, users, rules)
        if not self._limited and is_made_by_joining(found[JOINED_ROLE]):
            message = f"in the member, the ClusterRole {JOINED_ROLE} is there, and stays as it is"
            self._writer.tell(cluster, users, f"{message}; {named_for_proxy(users)}")
        return None

    async def _limit(
        self, cluster: Cluster, found: dict[str, Manifest], users: Impersonated, rules: list[Manifest]
    ) -> None:
        for name in (name for name, role in found.items() if not is_made_by_joining(role)):
            self._recorder.warning(CLUSTERS, cluster, "SyncImpersonationConfigFailed", _FOREIGN.format(name=name))
        ours = {name: role for name, role in found.items() if is_made_by_joining(role)}
        written = [name for name, role in ours.items() if await self._write(role, rules)]
        if ours:
            message = f"in the member, {' and '.join(written or ours)} may speak for {count_of(rules)}, and nobody else"
            self._writer.tell(cluster, users, message, written=bool(written))

    async def _role(self, name: str) -> Manifest | None:
        """A ClusterRole of the member. Raises: WorldError."""
        return await self._member.server.client.find(CLUSTER_ROLES, name)

    async def _write(self, role: Manifest, rules: list[Manifest]) -> bool:
        """Tells whether it had to be written. Raises: WorldError."""
        if is_equal(role.get("rules") or [], rules):
            return False
        name, version = role["metadata"]["name"], role["metadata"]["resourceVersion"]
        await self._member.server.client.patch(CLUSTER_ROLES, name, {"rules": rules}, resource_version=version)
        return True

    def _rights_changed(self, old: Manifest | None, new: Manifest | None) -> None:
        if not self._users.concerned(old, new).isdisjoint((self._member.name, EVERY_CLUSTER)):
            self._controller.queue.add_at(self._member.name, self._plane.clock.now() + SETTLE)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if old is not None and new is not None and _asked(old) != _asked(new):
            self._controller.queue.add(self._member.name)


def is_made_by_joining(role: Manifest) -> bool:
    """Tells whether it is ours to write: `leeward join`, a local member and Karmada (all but its old versions, which
    have it managed by a Work) give it the label of their own things."""
    labels = labels_of(role)
    return any(labels.get(label) == "true" for label in (SYSTEM_LABEL, MANAGED_LABEL))


def _asked(cluster: Cluster) -> tuple[object, ...]:
    return cluster.spec.impersonator_secret_ref, is_spoken_for(cluster), cluster.is_ready
