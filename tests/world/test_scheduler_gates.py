"""The scheduler's settings: gates that are off as in Karmada, priorities that are on, and estimators."""

import asyncio
from collections.abc import Sequence

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.meta import find_condition
from leeward.api.resource import (
    CLUSTER_PROPAGATION_POLICIES,
    CLUSTER_RESOURCE_BINDINGS,
    PRIORITY_CLASSES,
    RESOURCE_BINDINGS,
)
from leeward.core.scheduling.estimates import Answers, Question
from leeward.manager.gates import FeatureGates
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import Mode, World
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, deployment, in_world, play, policy, ready_replicas

THREE: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push"}
CLUSTER_ROLES = Resource.of_manifests("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", False)
ONE_CLUSTER: Manifest = {
    "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
}


def grouped(name: str, group: str) -> Manifest:
    made = deployment(name, 1)
    made["metadata"]["labels"]["group"] = group
    return made


def together(*names: str) -> Manifest:
    return {**ONE_CLUSTER, "clusterAffinity": {"clusterNames": list(names)}, "workloadAffinity": by_group("affinity")}


def apart() -> Manifest:
    return {**ONE_CLUSTER, "workloadAffinity": by_group("antiAffinity")}


def by_group(kind: str) -> Manifest:
    return {kind: {"groupByLabelKey": "group"}}


async def placed(world: World, name: str) -> set[str]:
    await world.until(lambda: bool(world.assigned(f"{name}-deployment")), 30)
    return set(world.assigned(f"{name}-deployment"))


ON = ManagerSettings(gates=FeatureGates({"WorkloadAffinity": True}))


@in_world(THREE, manager=ON)
async def test_workloads_of_an_anti_affinity_group_go_to_different_clusters(world: World) -> None:
    for name in ("a", "b", "c", "d"):
        await apply(world.client, grouped(name, "g"), policy(name, apart()))
    places = [await placed(world, name) for name in ("a", "b", "c")]
    assert sorted(map(tuple, places)) == [("member1",), ("member2",), ("member3",)]
    await world.sleep(30)
    assert world.assigned("d-deployment") == {}
    found = world.binding("d-deployment")
    assert found is not None
    scheduled = find_condition(found.status.conditions, "Scheduled")
    assert scheduled is not None
    assert "3 cluster already has workload with the same anti-affinity group" in scheduled.message


@in_world(THREE, manager=ON)
async def test_one_that_waits_follows_at_once_when_another_of_its_group_is_gone(world: World) -> None:
    for name in ("a", "b", "c"):
        await apply(world.client, grouped(name, "g"), policy(name, apart()))
        await placed(world, name)
    await apply(world.client, grouped("d", "g"), policy("d", apart()))
    await world.sleep(30)
    assert world.assigned("d-deployment") == {}
    free = await placed(world, "b")
    await world.client.delete(POLICIES, "b", "default")
    await world.client.delete(DEPLOYMENTS, "b", "default")
    assert await world.until(lambda: set(world.assigned("d-deployment")) == free, 60) < 5


@in_world(THREE)
async def test_without_the_gate_groups_mean_nothing(world: World) -> None:
    for name in ("a", "b", "c", "d"):
        await apply(world.client, grouped(name, "g"), policy(name, apart()))
        assert await placed(world, name)
    found = world.binding("a-deployment")
    assert found is not None
    assert found.spec.workload_affinity_groups is None


@in_world(THREE, manager=ON)
async def test_workloads_of_an_affinity_group_follow_the_first_and_move_together_when_its_cluster_dies(
    world: World,
) -> None:
    await apply(world.client, grouped("a", "g"), policy("a", together("member2", "member3")))
    first = await placed(world, "a")
    await apply(world.client, grouped("b", "g"), policy("b", together("member1", "member2", "member3")))
    assert await placed(world, "b") == first
    world.member(min(first)).pause()
    await world.until(lambda: not first & set(world.assigned("a-deployment")), 1_200)
    await world.until(lambda: not first & set(world.assigned("b-deployment")), 60)
    moved = await placed(world, "a")
    assert await placed(world, "b") == moved
    await world.sleep(30)
    for name in ("a", "b"):
        assert await ready_replicas(world, min(moved), name) == 1


def components() -> Manifest:
    """A binding of two components, as an interpreter of such a kind makes it."""
    asked = {"resourceRequest": {"cpu": "100m"}}
    return {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {"name": "job-flinkdeployment", "namespace": "default"},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "job"},
            "components": [
                {"name": "jobmanager", "replicas": 1, "replicaRequirements": asked},
                {"name": "taskmanager", "replicas": 3, "replicaRequirements": asked},
            ],
            "placement": ONE_CLUSTER,
        },
    }


def parts(world: World) -> dict[str, int]:
    """Components that are placed, with their replicas."""
    found = world.binding("job-flinkdeployment")
    assert found is not None
    return {part.name: part.replicas for target in found.spec.clusters for part in target.components}


@in_world(THREE, manager=ManagerSettings(gates=FeatureGates({"MultiplePodTemplatesScheduling": True})))
async def test_components_are_placed_as_a_set_with_the_gate(world: World) -> None:
    await world.client.create(RESOURCE_BINDINGS, components(), "default")
    await world.until(lambda: bool(world.assigned("job-flinkdeployment")), 30)
    assert parts(world) == {"jobmanager": 1, "taskmanager": 3}


@in_world(THREE)
async def test_components_are_placed_without_looking_at_them_without_the_gate(world: World) -> None:
    await world.client.create(RESOURCE_BINDINGS, components(), "default")
    await world.until(lambda: bool(world.assigned("job-flinkdeployment")), 30)
    assert parts(world) == {}


DYNAMIC: Manifest = {
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }
}


class Known:
    """An estimator that knows how much room there is, and how long it takes to say so."""

    def __init__(self, name: str, room: dict[str, int], seconds: float = 0) -> None:
        self.name = name
        self.room = room
        self.seconds = seconds
        self.asked = 0

    async def estimate(self, question: Question, clusters: Sequence[str]) -> Answers:
        self.asked += 1
        await asyncio.sleep(self.seconds)
        return {name: self.room[name] for name in clusters if name in self.room}


def test_replicas_go_where_the_estimator_sees_room_and_one_that_hangs_costs_its_deadline() -> None:
    lower = Known("lower", {"member1": 1, "member2": 0})
    hanging = Known("hanging", {"member3": 0}, seconds=9_999)

    async def story(world: World) -> None:
        await apply(world.client, deployment("a", 3), policy("a", DYNAMIC))
        assert await world.until(lambda: bool(world.assigned("a-deployment")), 60) < 4
        after = world.assigned("a-deployment")
        assert after.get("member1", 0) <= 1
        assert "member2" not in after
        assert "member3" in after
        await apply(world.client, deployment("b", 3), policy("b", DYNAMIC))
        assert await world.until(lambda: bool(world.assigned("b-deployment")), 60) < 0.5
        assert hanging.asked == 1

    play(story, THREE, manager=ManagerSettings(estimators=(lower, hanging)))


def test_what_the_estimator_has_no_room_for_is_placed_when_it_has() -> None:
    room = Known("room", {"member1": 0, "member2": 0, "member3": 0})

    async def story(world: World) -> None:
        await apply(world.client, deployment("a", 3), policy("a", DYNAMIC))
        await world.sleep(60)
        assert world.assigned("a-deployment") == {}
        room.room = {"member1": 3, "member2": 0, "member3": 0}
        await world.until(lambda: world.assigned("a-deployment") == {"member1": 3}, 301)

    play(story, THREE, manager=ManagerSettings(estimators=(room,)))


def urgent(name: str) -> Manifest:
    made = policy(name, ONE_CLUSTER)
    made["spec"]["schedulePriority"] = {"priorityClassSource": "KubePriorityClass", "priorityClassName": "urgent"}
    return made


@in_world(THREE)
async def test_a_policys_priority_class_becomes_its_bindings_priority(world: World) -> None:
    await apply(world.client, deployment("a", 1), urgent("a"))
    await world.sleep(20)
    assert world.binding("a-deployment") is None, "there is no such class yet"
    await world.client.create(PRIORITY_CLASSES, {"metadata": {"name": "urgent"}, "value": 900})
    await placed(world, "a")
    found = world.binding("a-deployment")
    assert found is not None
    assert found.spec.schedule_priority is not None
    assert found.spec.schedule_priority.priority == 900


@in_world(THREE, manager=ManagerSettings(gates=FeatureGates({"PriorityBasedScheduling": False})))
async def test_without_the_gate_priority_classes_mean_nothing(world: World) -> None:
    await apply(world.client, deployment("a", 1), urgent("a"))
    await placed(world, "a")
    found = world.binding("a-deployment")
    assert found is not None
    assert found.spec.schedule_priority is None


@in_world(THREE)
async def test_a_cluster_scoped_binding_has_no_priority(world: World) -> None:
    made = urgent("roles")
    selector = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "reader"}
    made["kind"], made["metadata"] = "ClusterPropagationPolicy", {"name": "roles"}
    made["spec"]["resourceSelectors"] = [selector]
    await world.client.create(CLUSTER_ROLES, {"metadata": {"name": "reader"}, "rules": []})
    await world.client.create(CLUSTER_PROPAGATION_POLICIES, made)
    await world.sleep(20)
    (binding,) = (await world.client.list(CLUSTER_RESOURCE_BINDINGS)).items
    assert [target.name for target in binding.spec.clusters], "it waits for no class"
    assert binding.spec.schedule_priority is None
