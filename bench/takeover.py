"""A change of the leader in a fleet where all is as it should be: what it costs a replica that stood by, and one that
begins then.

Seconds of the processor, of which the API servers of the world (the control plane's and the members') need a part.
"""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Request
from kubeserver.handler import User
from leeward.manager.timing import Timing
from leeward.sim.world import CONTROLLERS, World
from simulator.candidate import Candidate

BINDINGS = 100
TURNS = 3
SETTLED_SECONDS, LOOKED_AT_SECONDS = 120.0, 20.0
KINDS = {
    "Deployment": Resource.of_manifests("apps/v1", "deployments", "Deployment", True),
    "PropagationPolicy": Resource.of_manifests(
        "policy.karmada.io/v1alpha1", "propagationpolicies", "PropagationPolicy", True
    ),
}


def run() -> None:
    run_virtual(_run())


async def _run() -> None:
    async with World({"member1": "Push", "member2": "Push"}, Timing.karmada()) as world:
        await world.until(lambda: world.is_ready("member1") and world.is_ready("member2"), 60)
        await world.stop_controllers()
        leader = Candidate(world, "first", _begun)
        leader.start()
        await _propagate(world)
        print(f"{BINDINGS} applications in two Push clusters each; seconds of the processor in {LOOKED_AT_SECONDS:g} s")
        leader = await _begin(world, leader, "warming up")
        for turn in range(TURNS):
            leader = await _begin(world, leader, f"one that begins, {turn}")
            leader = await _stand_by(world, leader, f"one that stood by, {turn}")
        leader.life.end()


async def _begin(world: World, leader: Candidate, name: str) -> Candidate:
    successor = Candidate(world, name, _begun)
    await leader.stop()
    await _measured(world, name, successor.start)
    return successor


async def _stand_by(world: World, leader: Candidate, name: str) -> Candidate:
    successor = Candidate(world, name, _begun)
    successor.start()
    await world.sleep(SETTLED_SECONDS)
    await leader.stop()
    await _measured(world, name, lambda: None)
    return successor


async def _propagate(world: World) -> None:
    for number in range(BINDINGS):
        for manifest in _application(f"web{number}"):
            await world.client.create(KINDS[manifest["kind"]], manifest, "default")
    await world.until(lambda: all(world.assigned(f"web{number}-deployment") for number in range(BINDINGS)), 3_600)
    await world.sleep(SETTLED_SECONDS)


async def _measured(world: World, what: str, begin: Callable[[], None]) -> None:
    lists, writes = Counter[str](), world.journal.count

    def witness(request: Request, _: User) -> None:
        if request.headers.get("user-agent") == CONTROLLERS and "limit" in request.query:
            lists[request.path] += 1

    world.place.witness = witness
    before = time.process_time()
    begin()
    await world.sleep(LOOKED_AT_SECONDS)
    took = time.process_time() - before
    print(f"  {what}: {took:.2f}, which is {took / BINDINGS * 1000:.2f} ms an application")
    print(f"    {sum(lists.values())} lists of the control plane, {world.journal.count - writes} writes of all parties")


def _begun(_: str, __: Request) -> None:
    """Writes are counted by the journal."""


def _application(name: str) -> list[Manifest]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}}
    rules: list[dict[str, Any]] = [
        {"targetCluster": {"clusterNames": [cluster]}, "weight": 1} for cluster in ("member1", "member2")
    ]
    return [
        {
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "PropagationPolicy",
            "metadata": {"name": name},
            "spec": {
                "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}],
                "placement": {
                    "replicaScheduling": {
                        "replicaSchedulingType": "Divided",
                        "replicaDivisionPreference": "Weighted",
                        "weightPreference": {"staticWeightList": rules},
                    },
                },
            },
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "labels": labels},
            "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
        },
    ]
