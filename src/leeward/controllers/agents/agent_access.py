"""The agent access controller: when a Pull cluster joins, its agent gets its rights, as RBAC objects.

    Cluster NAME (Pull) ──▶ in all        ClusterRole  clusters/status of NAME; Services, which Karmada's agent follows
                            kube-system         Role   that Namespace, whose uid says whose objects it writes
                            karmada-cluster     Role   the Lease NAME, the two Secrets that Karmada's agent makes
                            karmada-system      Role   reading the heartbeat; the Lease of Karmada's agent; events
                            default             Role   events
                            karmada-es-NAME     Role   Works and their status, events

All of them are owned by the Cluster, and go with it. What is there is left as it is, so that an administrator may
change it. What goes with an earlier Cluster of the name is made anew, once it is gone. Secrets that are called like
those of another cluster are left out.

Karmada: pkg/karmadactl/register; there, who registers writes the roles.
"""

from datetime import datetime, timedelta

from kubeapi.core import NAMESPACES, Namespace
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import NotFound, NotServed
from leeward.api.cluster import Cluster
from leeward.api.names import EXECUTION_SPACE_PREFIX, execution_space
from leeward.api.resource import CLUSTERS
from leeward.controllers.agents.agent_roles import roles_of_agent, rules_of_agent
from leeward.core.registration import namesakes_of_secrets
from leeward.runtime.controller_context import ControlPlane

LOOK_AGAIN = timedelta(seconds=5)
"""Pause before rights are looked at again that go with an earlier Cluster of the name."""


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

    async def reconcile(self, name: str) -> datetime | None:
        for informer in (self._clusters, self._namespaces):
            await informer.wait_synced()
        cluster, space = self._clusters.get(name), self._namespaces.get(execution_space(name))
        if (
            cluster is None
            or cluster.is_being_deleted
            or space is None
            or space.metadata.deletion_timestamp is not None
        ):
            return None
        secrets = not any(map(self._clusters.get, namesakes_of_secrets(name)))
        owner = {"apiVersion": CLUSTERS.api_version, "kind": "Cluster", "name": name, "uid": cluster.metadata.uid}
        stay = True
        for scope, rules in rules_of_agent(name, secrets=secrets).items():
            for resource, manifest in roles_of_agent(name, owner, scope, rules):
                stay = await self._grant(resource, manifest, scope) and stay
        return None if stay else self._plane.clock.now() + LOOK_AGAIN

    async def _grant(self, resource: Resource[Manifest], manifest: Manifest, scope: str) -> bool:
        """Makes an object where there is none. Returns whether the one that is there stays: one of an earlier Cluster
        of the name is still to be collected. Raises: WorldError."""
        name, (owner,) = manifest["metadata"]["name"], manifest["metadata"]["ownerReferences"]
        try:
            metadata = (await self._plane.client.get(resource, name, scope))["metadata"]
        except NotServed:
            raise
        except NotFound:
            await self._plane.client.create(resource, manifest, scope)
            return True
        owners = [each["uid"] for each in metadata.get("ownerReferences") or ()]
        return "deletionTimestamp" not in metadata and (not owners or owner["uid"] in owners)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if new is not None and new.spec.sync_mode == "Pull" and (old is None or old.metadata.uid != new.metadata.uid):
            self._controller.queue.add(new.name)

    def _namespace_changed(self, old: Namespace | None, new: Namespace | None) -> None:
        if old is None and new is not None and new.name.startswith(EXECUTION_SPACE_PREFIX):
            cluster = self._clusters.get(new.name.removeprefix(EXECUTION_SPACE_PREFIX))
            if cluster is not None and cluster.spec.sync_mode == "Pull":
                self._controller.queue.add(cluster.name)
