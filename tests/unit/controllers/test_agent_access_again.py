"""Rights of an agent whose cluster joins again before those of its earlier life are collected."""

import asyncio

from kubeapi.core import NAMESPACES
from kubeapi.meta import Manifest
from leeward.api.names import AGENT_USER_PREFIX, CLUSTER_NAMESPACE
from leeward.api.resource import CLUSTERS
from leeward.controllers.agents.agent_access import AgentAccessController
from leeward.controllers.agents.agent_roles import roles_of_agent
from tests.unit.controllers.desk import MEMBER, SPACE, Desk, play

USER = AGENT_USER_PREFIX + MEMBER
EARLIER = {"apiVersion": CLUSTERS.api_version, "kind": "Cluster", "name": MEMBER, "uid": "uid-of-the-earlier-one"}
ROLE = next(roles_of_agent(MEMBER, EARLIER, CLUSTER_NAMESPACE, []))


async def joined(desk: Desk) -> str:
    """Has the cluster join in Pull mode. Returns its uid."""
    for name in (SPACE, CLUSTER_NAMESPACE, "karmada-system"):
        await desk.client.create(NAMESPACES, {"metadata": {"name": name}})
    spec = {"syncMode": "Pull"}
    return (await desk.client.create(CLUSTERS, {"metadata": {"name": MEMBER}, "spec": spec})).metadata.uid


def test_rights_that_go_with_an_earlier_cluster_are_made_anew_once_they_are_gone() -> None:
    async def story(desk: Desk) -> None:
        resource, role = ROLE
        uid = await joined(desk)
        kept = role["metadata"] | {"finalizers": ["example.com/slow"]}
        await desk.client.create(resource, role | {"metadata": kept}, CLUSTER_NAMESPACE)
        AgentAccessController(desk.plane).start()
        await asyncio.sleep(20)
        await desk.client.patch(resource, USER, {"metadata": {"finalizers": None}}, CLUSTER_NAMESPACE)
        await asyncio.sleep(20)
        found = await desk.client.get(resource, USER, CLUSTER_NAMESPACE)
        assert [each["uid"] for each in found["metadata"]["ownerReferences"]] == [uid]
        desk.wire.writes()
        await asyncio.sleep(60)
        assert desk.wire.sent == [], "all of them stay"

    play(story)


def test_rights_that_an_administrator_has_written_stay_as_they_are() -> None:
    async def story(desk: Desk) -> None:
        resource, _ = ROLE
        theirs: Manifest = {"metadata": {"name": USER, "labels": {"written": "by-hand"}}, "rules": []}
        await joined(desk)
        await desk.client.create(resource, theirs, CLUSTER_NAMESPACE)
        AgentAccessController(desk.plane).start()
        await asyncio.sleep(20)
        found = await desk.client.get(resource, USER, CLUSTER_NAMESPACE)
        assert found["metadata"]["labels"] == theirs["metadata"]["labels"]
        assert "ownerReferences" not in found["metadata"]
        desk.wire.writes()
        await asyncio.sleep(60)
        assert desk.wire.sent == []

    play(story)
