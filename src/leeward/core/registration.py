"""How agents become known: whose certificate request is approved without a person, and what every agent may do.

Karmada: pkg/controllers/certificate/approver, pkg/karmadactl/register; same, with fewer rights.
"""

from collections.abc import Collection
from typing import Any

from leeward.api.names import AGENT_GROUP, AGENT_USER_PREFIX

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
