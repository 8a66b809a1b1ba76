"""How clusters and their agents become known: which cluster may join, whose certificate request is approved without a
person, and what every agent may do.

A cluster is known by the UID of its Namespace kube-system, which stands in `spec.id` of its Cluster.

Karmada: pkg/controllers/certificate/approver, pkg/karmadactl/register; same, with fewer rights. pkg/util/cluster.go
(IsClusterIdentifyUnique); same, and the control plane itself is no member.
"""

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from leeward.api.names import AGENT_GROUP, AGENT_USER_PREFIX

IDENTIFYING_NAMESPACE = "kube-system"
SIGNER = "kubernetes.io/kube-apiserver-client"
BOOTSTRAP_GROUP = "system:bootstrappers"
USAGES = ("client auth", "digital signature", "key encipherment")
ASKING_RULE: dict[str, Any] = {
    "apiGroups": ["certificates.k8s.io"],
    "resources": ["certificatesigningrequests"],
    "verbs": ["create", "get", "list", "watch"],
}
AGENT_RULES: tuple[dict[str, Any], ...] = (
    {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters"], "verbs": ["create", "get", "list", "watch"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
    {"apiGroups": ["config.karmada.io"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
    ASKING_RULE,
)
"""The rights of the group of all agents; what is an agent's own comes when its cluster joins."""


class Joined(NamedTuple):
    """What a Cluster says of who has joined: its name, `spec.id`, which may be empty, and `spec.syncMode`."""

    name: str
    id: str
    sync_mode: str

    @property
    def way_out(self) -> str:
        """The command with which it leaves."""
        return f"leeward {'unregister' if self.sync_mode == 'Pull' else 'unjoin'} {self.name}"


def problem_of_identity(name: str, cluster_id: str, joined: Iterable[Joined], control_plane_id: str = "") -> str:
    """The reason why the cluster with this id may not join as `name`; empty when it may. Unknown ids are empty."""
    if not cluster_id:
        return ""
    if cluster_id == control_plane_id:
        return "this cluster is the control plane itself, which cannot be a member of its own: give another cluster"
    for other in joined:
        if other.id == cluster_id and other.name != name:
            return f"this cluster has joined already, as {other.name}: use that one, or `{other.way_out}` first"
    return ""


def is_asked_by_agent(
    wanted_user: str,
    wanted_groups: Collection[str],
    usages: Collection[str],
    asker: str,
    asker_groups: Collection[str],
) -> bool:
    """Whether somebody with a bootstrap token asks for an agent's certificate, or that agent renews its own."""
    if tuple(wanted_groups) != (AGENT_GROUP,) or not wanted_user.startswith(AGENT_USER_PREFIX):
        return False
    if not set(usages) <= set(USAGES):
        return False
    renews = asker == wanted_user and AGENT_GROUP in asker_groups
    return renews or BOOTSTRAP_GROUP in asker_groups
