"""What a member lets the control plane, or its agent, do: everything, as objects that its administrator may change.

Karmada: `karmadactl join` and `register` make the same ClusterRole in a member.
"""

from leeward.api.meta import Manifest
from leeward.api.resource import Resource
from leeward.app.config import MEMBER_ACCESS
from leeward.client import AlreadyExists, Client

_GROUP = "rbac.authorization.k8s.io"
CLUSTER_ROLES: Resource[Manifest] = Resource.of_manifests(f"{_GROUP}/v1", "clusterroles", "ClusterRole", False)
CLUSTER_ROLE_BINDINGS: Resource[Manifest] = Resource.of_manifests(
    f"{_GROUP}/v1", "clusterrolebindings", "ClusterRoleBinding", False
)


async def grant_member_access(client: Client) -> None:
    """Idempotent. Raises: WorldError."""
    everything: Manifest = {
        "metadata": {"name": MEMBER_ACCESS},
        "rules": [
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
            {"nonResourceURLs": ["*"], "verbs": ["get"]},
        ],
    }
    binding: Manifest = {
        "metadata": {"name": MEMBER_ACCESS},
        "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": MEMBER_ACCESS},
        "subjects": [{"apiGroup": _GROUP, "kind": "Group", "name": MEMBER_ACCESS}],
    }
    for resource, manifest in ((CLUSTER_ROLES, everything), (CLUSTER_ROLE_BINDINGS, binding)):
        try:
            await client.create(resource, manifest)
        except AlreadyExists:
            continue
