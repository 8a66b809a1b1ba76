"""Access that a member gives to the control plane, as objects that its administrator may change.

The control plane, or the agent, may do everything; the cluster proxy may only speak for others.
Karmada: `karmadactl join` and `register` make the same ClusterRoles in a member.
"""

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import AlreadyExists, Client
from leeward.api.names import SYSTEM_LABEL
from leeward.app.config import IMPERSONATOR, MEMBER_ACCESS, SPEAKER_ACCESS
from leeward.core.impersonation import EVERYBODY

_GROUP = "rbac.authorization.k8s.io"
CLUSTER_ROLES: Resource[Manifest] = Resource.of_manifests(f"{_GROUP}/v1", "clusterroles", "ClusterRole", False)
CLUSTER_ROLE_BINDINGS: Resource[Manifest] = Resource.of_manifests(
    f"{_GROUP}/v1", "clusterrolebindings", "ClusterRoleBinding", False
)


EVERYTHING: list[Manifest] = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["get"]},
]
SPEAKING = EVERYBODY
OURS = {SYSTEM_LABEL: "true"}
"""The labels of the roles that are made when a member joins; who changes them later asks for these."""


async def grant_member_access(client: Client) -> None:
    """Idempotent. Raises: WorldError."""
    await _grant(client, MEMBER_ACCESS, EVERYTHING, MEMBER_ACCESS)
    await _grant(client, SPEAKER_ACCESS, SPEAKING, IMPERSONATOR)


async def _grant(client: Client, name: str, rules: list[Manifest], group: str) -> None:
    """The ClusterRole `name`, bound to `group`. `leeward join` and `unjoin` have none of these names.

    Of a role that is there nothing but the labels is changed.
    """
    role: Manifest = {"metadata": {"name": name, "labels": OURS}, "rules": rules}
    binding: Manifest = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": _GROUP, "kind": "Group", "name": group}],
    }
    for resource, manifest in ((CLUSTER_ROLES, role), (CLUSTER_ROLE_BINDINGS, binding)):
        try:
            await client.create(resource, manifest)
        except AlreadyExists:
            continue
    await client.patch(CLUSTER_ROLES, name, {"metadata": {"labels": OURS}})
