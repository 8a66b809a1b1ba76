"""The unified auth controller: cuts the impersonator of a Push member down to the users of the member's proxy.

Whoever has the impersonator's token may then be those users there, and nobody else. It writes where the rules differ,
into roles that are there and were made by joining, which their labels say (Holds: S6), and makes none. What somebody
widens in the member, joining anew among it, is cut again.
Not run by default: who reaches the proxy by a role of `*`, or with groups that have no right to the proxy themselves,
is refused by the member where it runs.

Karmada: pkg/controllers/unifiedauth (`unifiedAuth`); there by a Work, in every member.
"""

from datetime import datetime, timedelta

from kubeapi.meta import Manifest, labels_of
from kubeapi.resource import Resource
from leeward.api.names import MANAGED_LABEL, SYSTEM_LABEL
from leeward.api.resource import CLUSTERS
from leeward.client import NotFound, NotServed
from leeward.core.impersonation import impersonation_rules, users_of_proxy
from leeward.runtime.controller_context import ControlPlane, Member

COMPONENT = "unified-auth-controller"
LOOK_AGAIN = timedelta(minutes=5)
SETTLE = timedelta(seconds=1)
"""Changes of roles within this time are written together."""
IMPERSONATOR_ROLES = ("karmada-impersonator", "system:karmada:impersonator")
"""Names of the role in a member that was joined, and in a local one."""
_RBAC = "rbac.authorization.k8s.io"
CLUSTER_ROLES: Resource[Manifest] = Resource.of_manifests(f"{_RBAC}/v1", "clusterroles", "ClusterRole", False)
CLUSTER_ROLE_BINDINGS: Resource[Manifest] = Resource.of_manifests(
    f"{_RBAC}/v1", "clusterrolebindings", "ClusterRoleBinding", False
)
_FOREIGN = (
    "in the member, the ClusterRole {name} was not made by joining, and is left as it is: "
    f"the label {SYSTEM_LABEL}=true makes it ours, as does `leeward join` where that has made it before"
)


class UnifiedAuthController:
    """Controller for one member; it ends with the member's supervisor, and waits for nobody else's."""

    def __init__(self, plane: ControlPlane, member: Member) -> None:
        self._plane = plane
        self._member = member
        self._recorder = plane.recorder(COMPONENT)
        self._clusters = plane.informers.of(CLUSTERS)
        self._roles = plane.informers.of(CLUSTER_ROLES)
        self._bindings = plane.informers.of(CLUSTER_ROLE_BINDINGS)
        self._controller = plane.controller(COMPONENT, self.reconcile, workers=1)

    def start(self) -> None:
        for informer in (self._roles, self._bindings):
            self._member.supervisor.on_close(informer.on_change(self._rights_changed))
        self._controller.start(self._member.supervisor)
        self._controller.queue.add(self._member.name)

    async def reconcile(self, name: str) -> datetime | None:
        for informer in (self._clusters, self._roles, self._bindings):
            await informer.wait_synced()
        cluster = self._clusters.get(name)
        if cluster is None or cluster.is_being_deleted:
            return None
        try:
            rules = impersonation_rules(users_of_proxy(self._roles.list(), self._bindings.list(), name))
        except ValueError as problem:
            self._recorder.warning(CLUSTERS, cluster, "SyncImpersonationConfigFailed", str(problem))
            return None
        found = {name: role for name in IMPERSONATOR_ROLES if (role := await self._role(name)) is not None}
        for name in (name for name, role in found.items() if not is_made_by_joining(role)):
            self._recorder.warning(CLUSTERS, cluster, "SyncImpersonationConfigFailed", _FOREIGN.format(name=name))
        ours = {name: role for name, role in found.items() if is_made_by_joining(role)}
        written = [name for name, role in ours.items() if await self._write(role, rules)]
        if written:
            count = sum(len(rule["resourceNames"]) for rule in rules)
            message = (
                f"in the member, {' and '.join(written)} may speak for {count} users of its proxy, and nobody else"
            )
            self._recorder.normal(CLUSTERS, cluster, "SyncImpersonationConfigSucceed", message)
        return self._plane.clock.now() + LOOK_AGAIN

    async def _role(self, name: str) -> Manifest | None:
        """A ClusterRole of the member. Raises: WorldError."""
        try:
            return await self._member.server.client.get(CLUSTER_ROLES, name)
        except NotServed:
            raise
        except NotFound:
            return None

    async def _write(self, role: Manifest, rules: list[Manifest]) -> bool:
        """Tells whether it had to be written. Raises: WorldError."""
        if (role.get("rules") or []) == rules:
            return False
        name, version = role["metadata"]["name"], role["metadata"]["resourceVersion"]
        await self._member.server.client.patch(CLUSTER_ROLES, name, {"rules": rules}, resource_version=version)
        return True

    def _rights_changed(self, old: Manifest | None, new: Manifest | None) -> None:
        self._controller.queue.add_at(self._member.name, self._plane.clock.now() + SETTLE)


def is_made_by_joining(role: Manifest) -> bool:
    """Tells whether it is ours to write: `leeward join`, a local member and Karmada (all but its old versions, which
    have it managed by a Work) give it the label of their own things."""
    labels = labels_of(role)
    return any(labels.get(label) == "true" for label in (SYSTEM_LABEL, MANAGED_LABEL))
