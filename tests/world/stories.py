"""Parts that the stories on the virtual clock have in common: manifests, and running a story to its end."""

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

from kubeapi.codec import parse_yaml
from kubeapi.core import NODES
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, NotFound
from leeward.api.meta import find_condition
from leeward.api.names import EVICTION_HELD_CONDITION
from leeward.manager.settings import ManagerSettings
from leeward.manager.timing import Timing
from leeward.sim.world import Mode, World

SCENARIOS = Path(__file__).parents[1] / "data" / "scenarios"
DEPLOYMENTS = Resource.of_manifests("apps/v1", "deployments", "Deployment", True)
CONFIG_MAPS = Resource.of_manifests("v1", "configmaps", "ConfigMap", True)
POLICIES = Resource.of_manifests("policy.karmada.io/v1alpha1", "propagationpolicies", "PropagationPolicy", True)
BY_KIND = {resource.kind: resource for resource in (DEPLOYMENTS, CONFIG_MAPS, POLICIES)}

P = ParamSpec("P")
PUSH_PUSH_PULL: Mapping[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull"}


def play(
    story: Callable[[World], Awaitable[None]],
    members: Mapping[str, Mode] = PUSH_PUSH_PULL,
    timing: Timing | None = None,
    seed: int = 0,
    manager: ManagerSettings | None = None,
) -> None:
    """Runs a story in a fresh world in which every member is Ready."""

    async def run() -> None:
        async with World(members, timing or Timing.karmada(), seed, manager=manager) as world:
            await world.until(lambda: all(world.is_ready(name) for name in members), 60)
            await story(world)

    run_virtual(run())


def in_world(
    members: Mapping[str, Mode] = PUSH_PUSH_PULL,
    timing: Timing | None = None,
    seed: int = 0,
    manager: ManagerSettings | None = None,
) -> Callable[[Callable[Concatenate[World, P], Awaitable[None]]], Callable[P, None]]:
    """Makes a test of a story, which gets its world first, and then its fixtures and parameters."""

    def test_of(story: Callable[Concatenate[World, P], Awaitable[None]]) -> Callable[P, None]:
        @functools.wraps(story)
        def test(*args: P.args, **asked: P.kwargs) -> None:
            play(lambda world: story(world, *args, **asked), members, timing, seed, manager)

        _, *asked = inspect.signature(story).parameters.values()
        test.__dict__["__signature__"] = inspect.Signature(asked)
        return test

    return test_of


async def apply(client: Client, *manifests: Manifest, namespace: str = "default") -> None:
    """Creates objects as a user does."""
    for manifest in manifests:
        await client.create(BY_KIND[manifest["kind"]], manifest, namespace)


def scenario(name: str) -> list[Manifest]:
    """The manifests of a file of `tests/data/scenarios`."""
    return list(parse_yaml((SCENARIOS / name).read_text()))


def deployment(name: str, replicas: int, image: str = "nginx", **spec: Any) -> Manifest:
    labels = {"app": name}
    container = {"name": "main", "image": image}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template, **spec},
    }


def policy(name: str, placement: Manifest, kind: str = "Deployment", api_version: str = "apps/v1") -> Manifest:
    return {
        "apiVersion": POLICIES.api_version,
        "kind": "PropagationPolicy",
        "metadata": {"name": name},
        "spec": {
            "resourceSelectors": [{"apiVersion": api_version, "kind": kind, "name": name}],
            "placement": placement,
        },
    }


def by_weight(weights: Mapping[str, int]) -> Manifest:
    """Divided by static weight over these clusters."""
    rules = [{"targetCluster": {"clusterNames": [name]}, "weight": weight} for name, weight in weights.items()]
    return {
        "clusterAffinity": {"clusterNames": list(weights)},
        "replicaScheduling": {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": {"staticWeightList": rules},
        },
    }


async def ready_replicas(world: World, member: str, name: str, namespace: str = "default") -> int:
    """Ready replicas of a Deployment in a member; -1 when it is not there."""
    try:
        found = await world.member(member).client.get(DEPLOYMENTS, name, namespace)
    except NotFound:
        return -1
    return found.get("status", {}).get("readyReplicas", 0)


async def identities(
    world: World,
    name: str,
    members: Iterable[str] = (),
    resource: Resource[Manifest] = DEPLOYMENTS,
    namespace: str = "default",
) -> dict[str, tuple[str, int]]:
    """The uid and the generation of an object in each of these members (of all) that has it.

    They are the same before and after only where nobody has deleted it and made it anew, nor changed its spec.
    """
    found: dict[str, tuple[str, int]] = {}
    for member in members or world.members:
        try:
            metadata = (await world.member(member).client.get(resource, name, namespace))["metadata"]
        except NotFound:
            continue
        found[member] = metadata["uid"], metadata.get("generation", 0)
    return found


def tasks(world: World, name: str) -> list[str]:
    """The clusters that the binding is on its way out of."""
    found = world.binding(name)
    return [task.from_cluster for task in found.spec.graceful_eviction_tasks] if found else []


def held(world: World, name: str) -> str:
    """The reason why something that is due does not happen; empty when nothing is held."""
    found = world.binding(name)
    condition = find_condition(found.status.conditions, EVICTION_HELD_CONDITION) if found else None
    return condition.reason if condition else ""


async def without_room(world: World, name: str) -> None:
    """New Pods stay pending in the member from now on; what runs there runs on."""
    client = world.member(name).client
    for node in (await client.list(NODES)).items:
        await client.patch(NODES, node.name, {"spec": {"unschedulable": True}})


async def with_room(world: World, name: str) -> None:
    client = world.member(name).client
    for node in (await client.list(NODES)).items:
        await client.patch(NODES, node.name, {"spec": {"unschedulable": None}})
