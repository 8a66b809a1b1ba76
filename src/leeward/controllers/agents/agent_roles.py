"""Roles of agents, as RBAC objects: what the agent of a cluster may do once that has joined, and a while before.

Karmada: pkg/karmadactl/register; the same rights, cut down to what an agent uses, ours or Karmada's, and the heartbeat.
"""

from collections.abc import Iterator

from controller_runtime import delete_seen
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, NotServed
from leeward.api.names import (
    AGENT_USER_PREFIX,
    CLUSTER_NAMESPACE,
    HEARTBEAT_NAME,
    KUBE_SYSTEM_NAMESPACE,
    SYSTEM_NAMESPACE,
    execution_space,
    lease_of_agent,
)
from leeward.core.registration import secrets_of_agent

GROUP = "rbac.authorization.k8s.io"
JOINING_SUFFIX = ":joining"
"""Suffix of the name of the role that an agent has before its cluster has joined."""
_READ = ["get", "list", "watch"]
_CHANGE = ["get", "patch", "update"]


def rules_of_agent(cluster: str, *, secrets: bool = True) -> dict[str, list[Manifest]]:
    """The rules for each namespace; "" is the cluster scope. The right to begin comes last.

    `secrets`: with its Secrets in `karmada-cluster`, none of which may be called like another cluster's.
    """
    events = _rule("", ["events"], ["create", "patch", "update"])
    works = [
        _rule("work.karmada.io", ["works"], [*_READ, "patch", "update"]),
        _rule("work.karmada.io", ["works/status"], _CHANGE),
        events,
    ]
    return {
        "": [
            _rule("cluster.karmada.io", ["clusters/status"], _CHANGE, cluster),
            _rule("", ["services"], ["list", "watch"]),
        ],
        KUBE_SYSTEM_NAMESPACE: [_rule("", ["namespaces"], ["get"], KUBE_SYSTEM_NAMESPACE)],
        SYSTEM_NAMESPACE: [
            _rule("coordination.k8s.io", ["leases"], ["get"], HEARTBEAT_NAME),
            _rule("coordination.k8s.io", ["leases"], _CHANGE, lease_of_agent(cluster)),
            events,
        ],
        CLUSTER_NAMESPACE: [
            _rule("coordination.k8s.io", ["leases"], _CHANGE, cluster),
            *(rules_before_joining(cluster) if secrets else ()),
        ],
        "default": [events],
        execution_space(cluster): works,
    }


def rules_before_joining(cluster: str) -> list[Manifest]:
    """Rules in `karmada-cluster`: Karmada's agent makes two Secrets, and says right after its Cluster whose they
    are."""
    return [_rule("", ["secrets"], ["get", "patch"], *secrets_of_agent(cluster))]


async def end_approved_agent(client: Client, cluster: str) -> None:
    """Takes from an agent that was approved under the name its right to read the Secrets of it; idempotent.

    Raises: WorldError.
    """
    for resource, manifest in reversed([*roles_of_agent(cluster, {}, CLUSTER_NAMESPACE, [], JOINING_SUFFIX)]):
        try:
            await delete_seen(client, resource, manifest["metadata"]["name"], CLUSTER_NAMESPACE)
        except NotServed:
            continue


def _rule(group: str, resources: list[str], verbs: list[str], *names: str) -> Manifest:
    named = {"resourceNames": list(names)} if names else {}
    return {"apiGroups": [group], "resources": resources, **named, "verbs": verbs}


def roles_of_agent(
    cluster: str, owner: Manifest, scope: str, rules: list[Manifest], suffix: str = ""
) -> Iterator[tuple[Resource[Manifest], Manifest]]:
    """A role with its binding to the agent of `cluster`, which go with `owner`."""
    user, prefix = AGENT_USER_PREFIX + cluster, "" if scope else "Cluster"
    name = user + suffix
    metadata = {"name": name, "ownerReferences": [owner]}
    role, binding = f"{prefix}Role", f"{prefix}RoleBinding"
    yield _resource(role, bool(scope)), {"metadata": metadata, "rules": rules}
    yield (
        _resource(binding, bool(scope)),
        {
            "metadata": metadata,
            "roleRef": {"apiGroup": GROUP, "kind": role, "name": name},
            "subjects": [{"apiGroup": GROUP, "kind": "User", "name": user}],
        },
    )


def _resource(kind: str, namespaced: bool) -> Resource[Manifest]:
    return Resource.of_manifests(f"{GROUP}/v1", f"{kind.lower()}s", kind, namespaced)
