"""The agent access controller: when a Pull cluster joins, its agent gets its rights, as RBAC objects.

    Cluster NAME (Pull) ──▶ in all        ClusterRole  clusters/status of NAME
                            kube-system         Role   that Namespace, whose uid says whose objects it writes
                            karmada-cluster     Role   the Lease NAME
                            karmada-system      Role   reading the heartbeat of the controllers
                            karmada-es-NAME     Role   Works and their status, events

All of them are owned by the Cluster, and go with it. What is there is left as it is, so that an administrator may
change it.

Karmada: pkg/karmadactl/register; the same rights, cut down to what an agent uses, and the heartbeat.
"""

from collections.abc import Iterator

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.cluster import Cluster
from leeward.api.core import Namespace
from leeward.api.names import (
    AGENT_USER_PREFIX,
    CLUSTER_NAMESPACE,
    EXECUTION_SPACE_PREFIX,
    HEARTBEAT_NAME,
    KUBE_SYSTEM_NAMESPACE,
    SYSTEM_NAMESPACE,
    execution_space,
)
from leeward.api.resource import CLUSTERS, NAMESPACES
from leeward.client import AlreadyExists
from leeward.runtime.plane import ControlPlane

GROUP = "rbac.authorization.k8s.io"
_READ = ["get", "list", "watch"]
_CHANGE = ["get", "patch", "update"]


class AgentAccessController:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._clusters = plane.informers.of(CLUSTERS)
        self._namespaces = plane.informers.of(NAMESPACES)
        self._controller = plane.controller("agent-access-controller", self.reconcile, workers=2)

    def start(self) -> None:
        self._clusters.on_change(self._cluster_changed)
        self._namespaces.on_change(self._namespace_changed)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, name: str) -> None:
        for informer in (self._clusters, self._namespaces):
            await informer.wait_synced()
        cluster, space = self._clusters.get(name), self._namespaces.get(execution_space(name))
        if (
            cluster is None
            or cluster.is_being_deleted
            or space is None
            or space.metadata.deletion_timestamp is not None
        ):
            return
        for scope, rules in rules_of_agent(name).items():
            for resource, manifest in _grant(cluster, scope, rules):
                try:
                    await self._plane.client.create(resource, manifest, scope)
                except AlreadyExists:
                    continue

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if new is not None and new.spec.sync_mode == "Pull" and (old is None or old.metadata.uid != new.metadata.uid):
            self._controller.queue.add(new.name)

    def _namespace_changed(self, old: Namespace | None, new: Namespace | None) -> None:
        if old is None and new is not None and new.name.startswith(EXECUTION_SPACE_PREFIX):
            cluster = self._clusters.get(new.name.removeprefix(EXECUTION_SPACE_PREFIX))
            if cluster is not None and cluster.spec.sync_mode == "Pull":
                self._controller.queue.add(cluster.name)


def rules_of_agent(cluster: str) -> dict[str, list[Manifest]]:
    """The rules for each namespace; "" is the cluster scope. The right to begin comes last."""
    works = [
        _rule("work.karmada.io", ["works"], [*_READ, "patch", "update"]),
        _rule("work.karmada.io", ["works/status"], _CHANGE),
        _rule("", ["events"], ["create", "patch"]),
    ]
    return {
        "": [_rule("cluster.karmada.io", ["clusters/status"], _CHANGE, cluster)],
        KUBE_SYSTEM_NAMESPACE: [_rule("", ["namespaces"], ["get"], KUBE_SYSTEM_NAMESPACE)],
        SYSTEM_NAMESPACE: [_rule("coordination.k8s.io", ["leases"], ["get"], HEARTBEAT_NAME)],
        CLUSTER_NAMESPACE: [_rule("coordination.k8s.io", ["leases"], _CHANGE, cluster)],
        execution_space(cluster): works,
    }


def _rule(group: str, resources: list[str], verbs: list[str], name: str = "") -> Manifest:
    named = {"resourceNames": [name]} if name else {}
    return {"apiGroups": [group], "resources": resources, **named, "verbs": verbs}


def _grant(cluster: Cluster, scope: str, rules: list[Manifest]) -> Iterator[tuple[Resource[Manifest], Manifest]]:
    """A role with its binding to the agent of `cluster`."""
    name, prefix = AGENT_USER_PREFIX + cluster.name, "" if scope else "Cluster"
    owner = {"apiVersion": CLUSTERS.api_version, "kind": "Cluster", "name": cluster.name, "uid": cluster.metadata.uid}
    metadata = {"name": name, "ownerReferences": [owner]}
    role, binding = f"{prefix}Role", f"{prefix}RoleBinding"
    yield _resource(role, bool(scope)), {"metadata": metadata, "rules": rules}
    yield (
        _resource(binding, bool(scope)),
        {
            "metadata": metadata,
            "roleRef": {"apiGroup": GROUP, "kind": role, "name": name},
            "subjects": [{"apiGroup": GROUP, "kind": "User", "name": name}],
        },
    )


def _resource(kind: str, namespaced: bool) -> Resource[Manifest]:
    return Resource.of_manifests(f"{GROUP}/v1", f"{kind.lower()}s", kind, namespaced)
