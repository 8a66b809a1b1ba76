"""Access of the agent of one cluster, and what it may not touch; on a control plane that gave it its rights."""

import pytest

from kubeapi.core import LEASES, NAMESPACES, SECRETS, Lease
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import ObjectMeta
from kubeapi.resource import Resource
from kubeclient import Client, Forbidden, NotFound
from kubecluster.network import LinkedTransport
from kubeserver.handler import User
from leeward.api.cluster import Cluster, ClusterSpec
from leeward.api.names import (
    AGENT_GROUP,
    AGENT_USER_PREFIX,
    CLUSTER_NAMESPACE,
    HEARTBEAT_NAME,
    SYSTEM_NAMESPACE,
    execution_space,
)
from leeward.api.resource import CLUSTERS, WORKS
from leeward.manager.timing import Timing
from leeward.sim.world import World

ROLES = Resource.of_manifests("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", False)
USER = User(AGENT_USER_PREFIX + "member1", (AGENT_GROUP, "system:authenticated"))
OWN, OTHER = execution_space("member1"), execution_space("member2")


def test_an_agent_touches_its_own_cluster_lease_and_execution_space_and_nothing_else() -> None:
    async def main() -> None:
        async with World({"member1": "Pull", "member2": "Pull"}, Timing.karmada()) as world:
            await world.until(lambda: world.is_ready("member1") and world.is_ready("member2"))
            agent = Client(LinkedTransport(world.place, USER))
            await what_is_its_own(agent)
            await what_is_not(agent)

    run_virtual(main())


async def what_is_its_own(agent: Client) -> None:
    await agent.patch(CLUSTERS, "member1", {"status": {"kubernetesVersion": "v1"}}, subresource="status")
    await agent.patch(LEASES, "member1", {"spec": {"holderIdentity": "member1"}}, CLUSTER_NAMESPACE)
    await agent.list(WORKS, OWN)
    await agent.get(LEASES, HEARTBEAT_NAME, SYSTEM_NAMESPACE)
    with pytest.raises(NotFound):
        await agent.patch(WORKS, "none", {"metadata": {"finalizers": []}}, OWN)
    with pytest.raises(NotFound):
        await agent.patch(WORKS, "none", {"status": {}}, OWN, subresource="status")


async def what_is_not(agent: Client) -> None:
    lease = Lease(metadata=ObjectMeta(name="member3", namespace=CLUSTER_NAMESPACE))
    cluster = Cluster(metadata=ObjectMeta(name="member3"), spec=ClusterSpec(sync_mode="Pull"))
    for attempt in (
        agent.patch(CLUSTERS, "member2", {"status": {"kubernetesVersion": "v1"}}, subresource="status"),
        agent.patch(CLUSTERS, "member1", {"spec": {"taints": []}}),
        agent.delete(CLUSTERS, "member1"),
        agent.create(CLUSTERS, cluster),
        agent.patch(LEASES, "member2", {"spec": {"holderIdentity": "member1"}}, CLUSTER_NAMESPACE),
        agent.get(LEASES, "member2", CLUSTER_NAMESPACE),
        agent.get(LEASES, "another", SYSTEM_NAMESPACE),
        agent.patch(LEASES, HEARTBEAT_NAME, {"spec": {"holderIdentity": "member1"}}, SYSTEM_NAMESPACE),
        agent.create(LEASES, lease, CLUSTER_NAMESPACE),
        agent.list(WORKS, OTHER),
        agent.list(WORKS),
        agent.patch(WORKS, "none", {"status": {}}, OTHER, subresource="status"),
        agent.delete(WORKS, "none", OWN),
        agent.list(SECRETS, CLUSTER_NAMESPACE),
        agent.list(NAMESPACES),
        agent.get(ROLES, AGENT_USER_PREFIX + "member1"),
    ):
        with pytest.raises(Forbidden):
            await attempt


def test_the_rights_of_an_agent_go_with_its_cluster() -> None:
    async def main() -> None:
        async with World({"member1": "Pull"}, Timing.karmada()) as world:
            await world.until(lambda: world.is_ready("member1"))
            assert await world.client.get(ROLES, AGENT_USER_PREFIX + "member1")
            await world.client.delete(CLUSTERS, "member1")
            gone = False
            while not gone:
                try:
                    await world.client.get(ROLES, AGENT_USER_PREFIX + "member1")
                    await world.sleep(1)
                except NotFound:
                    gone = True

    run_virtual(main())
