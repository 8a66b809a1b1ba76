"""StatefulSets in an outage: volumes that stay behind keep them, volumes that follow have one writer at a time."""

from typing import Any

import pytest

from kubeapi.core import PODS
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.resource import RESOURCE_BINDINGS
from leeward.operations.drain import start_drain
from leeward.sim.world import Mode, World
from tests.world.stories import POLICIES, held, in_world, policy, tasks

TWO: dict[str, Mode] = {"member1": "Push", "member2": "Pull"}
DB = "db-statefulset"
STATEFUL_SETS = Resource.of_manifests("apps/v1", "statefulsets", "StatefulSet", True)
SERVICES = Resource.of_manifests("v1", "services", "Service", True)
CUSTOMIZATIONS = Resource.of_manifests(
    "config.karmada.io/v1alpha1", "resourceinterpretercustomizations", "ResourceInterpreterCustomization", False
)
ONE_CLUSTER: Manifest = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}


def stateful_set() -> Manifest:
    labels = {"app": "db"}
    claim: Manifest = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "postgres"}]}}
    spec: dict[str, Any] = {"replicas": 2, "serviceName": "db", "selector": {"matchLabels": labels}}
    spec |= {"template": template, "volumeClaimTemplates": [claim]}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec}


async def deployed(world: World, **annotations: str) -> str:
    """The cluster in which it runs, under a policy with these annotations."""
    wanted = policy("db", ONE_CLUSTER, "StatefulSet")
    wanted["metadata"]["annotations"] = {f"leeward.dev/{name}": text for name, text in annotations.items()}
    await world.client.create(STATEFUL_SETS, stateful_set(), "default")
    await world.client.create(POLICIES, wanted, "default")
    await world.until(lambda: bool(world.assigned(DB)), 30)
    await world.sleep(60)
    (first,) = world.assigned(DB)
    return first


async def pods(world: World, name: str) -> dict[str, str]:
    """The uids of its Pods in a member, by name."""
    found = (await world.member(name).client.list(PODS, "default")).items
    return {pod.name: pod.metadata.uid for pod in found}


@pytest.mark.long
@in_world(TWO)
async def test_s12_a_set_whose_volumes_stay_behind_is_still_there_when_its_cluster_is_back(world: World) -> None:
    first = await deployed(world)
    before = await pods(world, first)
    assert set(before) == {"db-0", "db-1"}
    world.member(first).pause()
    await world.until(lambda: held(world, DB) == "VolumesStay", 1200)
    await world.sleep(1200)
    assert (set(world.assigned(DB)), tasks(world, DB)) == ({first}, [])
    world.member(first).resume()
    await world.sleep(300)
    assert held(world, DB) == ""
    assert await pods(world, first) == before


@in_world(TWO)
async def test_a_template_says_when_the_change_of_its_set_is_rolled_out(world: World) -> None:
    """`kubectl rollout status` waits until the present generation is observed. It is not while a copy is behind."""
    await deployed(world)

    async def observed() -> tuple[int, int]:
        found = await world.client.get(STATEFUL_SETS, "db", "default")
        return found["metadata"]["generation"], found["status"].get("observedGeneration", 0)

    assert await observed() == (1, 1)
    await world.client.patch(STATEFUL_SETS, "db", {"spec": {"replicas": 3}}, "default")
    await world.sleep(2)
    assert await observed() == (2, 1), "its third Pod is on its way"
    await world.sleep(60)
    assert await observed() == (2, 2)


CLAIMS = {"leeward.dev/claims": None}
OURS = {**CLAIMS, "leeward.dev/template-digest": None}


@pytest.mark.parametrize(
    ("unsaid", "waits"),
    [(CLAIMS, False), (CLAIMS, True), (OURS, True)],
    ids=["brought up to date", "its policy waits for an override", "of Karmada, and its policy waits"],
)
@in_world(TWO)
async def test_s12_a_set_of_which_an_earlier_version_has_said_nothing_is_not_taken_for_one_without_volumes(
    world: World, unsaid: dict[str, None], *, waits: bool
) -> None:
    """The controllers are replaced by those of this version while its cluster is dead; its toleration is over."""
    first = await deployed(world)
    before = await pods(world, first)
    world.member(first).pause()
    await world.until(lambda: any("NoExecute" in taint for taint in world.taints(first)), 900)
    await world.sleep(200)
    await world.stop_controllers()
    await world.client.patch(RESOURCE_BINDINGS, DB, {"metadata": {"annotations": unsaid}}, "default")
    if waits:
        await world.client.patch(POLICIES, "db", {"spec": {"dependentOverrides": ["none"]}}, "default")
    world.start_controllers()
    for _ in range(100):
        await world.sleep(10)
        assert (set(world.assigned(DB)), tasks(world, DB)) == ({first}, [])
    assert held(world, DB) == "VolumesStay"
    world.member(first).resume()
    await world.sleep(300)
    assert await pods(world, first) == before


@pytest.mark.long
@pytest.mark.parametrize("how", ["it is well", "it is drained"])
@in_world(TWO)
async def test_s7_a_set_whose_volumes_follow_is_made_when_the_old_copy_is_gone(world: World, how: str) -> None:
    """A set that is well when its cluster is back stays, for nothing else serves."""
    first = await deployed(world, **{"volumes-follow": "true"})
    (other,) = set(TWO) - {first}
    before = await pods(world, first)
    world.member(first).pause()
    await world.until(lambda: set(world.assigned(DB)) == {other}, 1200)
    await world.sleep(1200)
    assert await pods(world, other) == {}, "nobody knows that the old copy has stopped writing"
    assert held(world, DB) == "WaitingForPurge"
    if how == "it is drained":
        await start_drain(world.client, first, None)
    world.member(first).resume()
    await world.sleep(300)
    stays, gone = (first, other) if how == "it is well" else (other, first)
    assert await pods(world, gone) == {}
    assert set(await pods(world, stays)) == {"db-0", "db-1"}
    assert how == "it is drained" or await pods(world, first) == before


NAMED_SERVICE = """
local kube = require("kube")
function GetDependencies(set)
  local found = kube.getPodDependencies(set.spec.template, set.metadata.namespace)
  if set.spec.serviceName ~= nil and set.spec.serviceName ~= "" then
    table.insert(found, {apiVersion = "v1", kind = "Service", namespace = set.metadata.namespace,
                         name = set.spec.serviceName})
  end
  return found
end
"""
"""Script as decision 83 has it."""


@pytest.mark.long
@pytest.mark.parametrize("told", [True, False], ids=["with the script", "without it"])
@in_world(TWO)
async def test_s12_the_service_that_a_set_names_stays_with_it_where_a_script_says_that_it_is_needed(
    world: World, told: bool
) -> None:
    if told:
        script = {"dependencyInterpretation": {"luaScript": NAMED_SERVICE}}
        target = {"apiVersion": "apps/v1", "kind": "StatefulSet"}
        wanted: Manifest = {"metadata": {"name": "sets"}, "spec": {"target": target, "customizations": script}}
        await world.client.create(CUSTOMIZATIONS, wanted, "")
    both = policy("db", ONE_CLUSTER, "StatefulSet")
    both["spec"]["resourceSelectors"].append({"apiVersion": "v1", "kind": "Service", "name": "db"})
    both["spec"]["propagateDeps"] = True
    service: Manifest = {
        "metadata": {"name": "db"},
        "spec": {"clusterIP": "None", "selector": {"app": "db"}, "ports": [{"port": 5432}]},
    }
    await world.client.create(SERVICES, service, "default")
    await world.client.create(STATEFUL_SETS, stateful_set(), "default")
    await world.client.create(POLICIES, both, "default")
    await world.until(lambda: bool(world.assigned(DB)), 30)
    await world.sleep(60)
    (first,) = world.assigned(DB)
    before = await world.member(first).client.get(SERVICES, "db", "default")
    world.member(first).pause()
    await world.until(lambda: held(world, DB) == "VolumesStay", 1200)
    await world.sleep(600)
    world.member(first).resume()
    await world.sleep(900)
    assert set(world.assigned(DB)) == {first}
    found = (await world.member(first).client.list(SERVICES, "default")).items
    kept = [each["metadata"]["uid"] for each in found if each["metadata"]["name"] == "db"]
    assert kept == [before["metadata"]["uid"]], "decision 83 tells of both"
