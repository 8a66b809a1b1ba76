"""Answers of one member's estimator, from its API server, on virtual time: the newest revision, and nothing stale."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from kubeapi.errors import Unreachable
from kubeapi.loop.randomness import Randomness
from kubeapi.meta import Manifest, format_time
from kubeapi.resource import Resource
from leeward.api.work import BindingResource, ReplicaRequirements
from leeward.core.scheduling.estimates import Question
from leeward.estimator.answering import MemberEstimates, NoSuchWorkload, WrongCluster
from leeward.estimator.messages import RoomRequest, UnschedulableRequest
from leeward.runtime.controller_context import Member
from tests.kubecluster.runtime.small_world import CLOCK, SmallWorld, tell

NODES = Resource.of_manifests("v1", "nodes", "Node", False)
PODS = Resource.of_manifests("v1", "pods", "Pod", True)
DEPLOYMENTS = Resource.of_manifests("apps/v1", "deployments", "Deployment", True)
STATEFUL_SETS = Resource.of_manifests("apps/v1", "statefulsets", "StatefulSet", True)
REPLICA_SETS = Resource.of_manifests("apps/v1", "replicasets", "ReplicaSet", True)
WEB = BindingResource(api_version="apps/v1", kind="Deployment", namespace="default", name="web")
ASKED = RoomRequest("member1", Question(ReplicaRequirements(resource_request={"cpu": "1"})))
LABELS = {"app": "web"}


def estimates_of(world: SmallWorld) -> MemberEstimates:
    return MemberEstimates(Member.of("member1", world.client, Randomness(0), world.supervisor), CLOCK)


async def add_node(world: SmallWorld, name: str, cpu: str) -> None:
    conditions = [{"type": "Ready", "status": "True"}]
    status = {"allocatable": {"cpu": cpu, "pods": "10"}, "conditions": conditions}
    await world.direct.create(NODES, {"metadata": {"name": name}})
    await world.direct.patch(NODES, name, {"status": status}, subresource="status")


async def add_owner(world: SmallWorld, resource: Resource[Manifest], name: str, **metadata: Any) -> Mapping[str, Any]:
    """Makes a workload. Returns what says that its objects are its own."""
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": LABELS}, "template": template}
    made = await world.direct.create(resource, {"metadata": {"name": name, **metadata}, "spec": spec}, "default")
    uid = made["metadata"]["uid"]
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": name,
        "uid": uid,
        "controller": True,
    }


async def add_replica_set(world: SmallWorld, name: str, revision: int, owner: Mapping[str, Any]) -> Mapping[str, Any]:
    annotations = {"deployment.kubernetes.io/revision": str(revision)}
    return await add_owner(world, REPLICA_SETS, name, annotations=annotations, ownerReferences=[owner])


async def add_pod(world: SmallWorld, name: str, owner: Mapping[str, Any], waiting_seconds: float) -> None:
    containers = [{"name": "main", "image": "nginx"}]
    manifest: Manifest = {"metadata": {"name": name, "ownerReferences": [owner]}, "spec": {"containers": containers}}
    await world.direct.create(PODS, manifest, "default")
    since = format_time(CLOCK.now() - timedelta(seconds=waiting_seconds))
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": since}
    await world.direct.patch(PODS, name, {"status": {"conditions": [condition]}}, "default", subresource="status")


def waiting(workload: BindingResource = WEB, seconds: float = 300) -> UnschedulableRequest:
    return UnschedulableRequest("member1", workload, seconds)


def test_room_is_that_of_the_nodes_and_follows_them() -> None:
    async def story(world: SmallWorld) -> None:
        await add_node(world, "n1", "2500m")
        estimates = estimates_of(world)
        assert await estimates.available(ASKED) == 2
        await add_node(world, "n2", "900m")
        await asyncio.sleep(1)
        assert await estimates.available(ASKED) == 2
        await add_node(world, "n3", "1")
        await asyncio.sleep(1)
        assert await estimates.available(ASKED) == 3

    tell(story)


def test_replicas_of_the_newest_revision_count_once_they_have_waited_long_enough() -> None:
    async def story(world: SmallWorld) -> None:
        web, other = [await add_owner(world, DEPLOYMENTS, name) for name in ("web", "other")]
        old = await add_replica_set(world, "web-9", 9, web)
        new = await add_replica_set(world, "web-10", 10, web)
        await add_replica_set(world, "other-11", 11, other)
        await add_pod(world, "old", old, 900)
        await add_pod(world, "long", new, 301)
        await add_pod(world, "short", new, 10)
        estimates = estimates_of(world)
        assert await estimates.unschedulable(waiting()) == 1
        assert await estimates.unschedulable(waiting(seconds=0)) == 2
        await asyncio.sleep(295)
        assert await estimates.unschedulable(waiting()) == 2

    tell(story)


def test_another_kind_is_judged_by_the_pods_that_it_controls_itself() -> None:
    async def story(world: SmallWorld) -> None:
        await add_pod(world, "db-0", await add_owner(world, STATEFUL_SETS, "db"), 301)
        database = BindingResource(api_version="apps/v1", kind="StatefulSet", namespace="default", name="db")
        assert await estimates_of(world).unschedulable(waiting(database)) == 1

    tell(story)


def test_a_workload_that_is_not_there_and_another_cluster_have_no_number() -> None:
    async def story(world: SmallWorld) -> None:
        estimates = estimates_of(world)
        with pytest.raises(NoSuchWorkload, match="resource: member1 has no Deployment default/web"):
            await estimates.unschedulable(waiting())
        with pytest.raises(WrongCluster, match="cluster: 'member2' is asked about"):
            await estimates.available(RoomRequest("member2", ASKED.question))

    tell(story)


def test_what_is_old_is_no_answer_and_a_short_break_is_none() -> None:
    async def story(world: SmallWorld) -> None:
        await add_node(world, "n1", "2")
        estimates = estimates_of(world)
        assert await estimates.available(ASKED) == 2
        world.link.cut()
        await asyncio.sleep(20)
        assert await estimates.available(ASKED) == 2
        await asyncio.sleep(20)
        with pytest.raises(Unreachable, match="nodes of member1 cannot be followed"):
            await estimates.available(ASKED)
        world.link.mend()
        await asyncio.sleep(20)
        assert await estimates.available(ASKED) == 2

    tell(story)


def test_nothing_is_answered_before_the_member_was_listed() -> None:
    async def story(world: SmallWorld) -> None:
        world.link.cut()
        with pytest.raises(Unreachable, match="no list of nodes yet"):
            await estimates_of(world).available(ASKED)

    tell(story)
