"""The whole way of a Deployment, from its template to its status: with ten override policies and a script that judges
its health, beside without any.

A world is made for each, in which Deployments are created, divided over two clusters, started there, and their statuses
added up: all that a control plane and its members do for it. The two take turns in the same run. CPU times of this
process, of the quickest of a few rounds.
"""

import time
from collections.abc import Sequence
from typing import Any

from bench.lua import CUSTOMIZATION
from bench.rendering import POLICIES, policy, template
from kubeapi.codec import to_wire
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.resource import (
    CLUSTERS,
    OVERRIDE_POLICIES,
    PRIORITY_CLASSES,
    RESOURCE_INTERPRETER_CUSTOMIZATIONS,
)
from leeward.manager.timing import Timing
from leeward.sim.world import World
from tests.world.stories import DEPLOYMENTS, apply, by_weight
from tests.world.stories import policy as propagation

DEPLOYED, ROUNDS = 40, 4
SECONDS = 60
"""Seconds of the world's time, in which all are ready and have said so."""
MEMBERS = {"member1": 1, "member2": 1}
GOAL_RATIO = 2.0
Made = Sequence[tuple[Resource[Any], Manifest]]


def run() -> None:
    plain = own = float("inf")
    for _ in range(ROUNDS):
        plain, own = min(plain, _milliseconds(())), min(own, _milliseconds(_extras()))
    print(
        f"{'one Deployment in two clusters':<32}{'without':>10}{f'{POLICIES} policies, Lua':>18}{'ratio':>8}{'goal':>6}"
    )
    print(f"{'':<32}{plain:>7.1f} ms{own:>15.1f} ms{own / plain:>8.2f}{GOAL_RATIO:>6g}")


def _extras() -> Made:
    policies = [(OVERRIDE_POLICIES, to_wire(policy(number))) for number in range(POLICIES)]
    rules = {"healthInterpretation": CUSTOMIZATION["spec"]["customizations"]["healthInterpretation"]}
    spec = {**CUSTOMIZATION["spec"], "customizations": rules}
    return [*policies, (RESOURCE_INTERPRETER_CUSTOMIZATIONS, {**CUSTOMIZATION, "spec": spec})]


def _milliseconds(extras: Made) -> float:
    """Milliseconds for each Deployment."""

    async def measure() -> float:
        async with World({"member1": "Push", "member2": "Push"}, Timing.karmada()) as world:
            await world.until(lambda: all(world.is_ready(name) for name in MEMBERS), 60)
            for name in MEMBERS:
                await world.client.patch(CLUSTERS, name, {"metadata": {"labels": {"env": "test"}}})
                await apply(world.member(name).client, _settings())
                await world.member(name).client.create(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 1000})
            for resource, manifest in extras:
                await world.client.create(resource, manifest, "default" if resource.namespaced else "")
            await world.sleep(5)
            started = time.process_time()
            for number in range(DEPLOYED):
                await apply(
                    world.client, _deployment(f"web-{number}"), propagation(f"web-{number}", by_weight(MEMBERS))
                )
            await world.sleep(SECONDS)
            spent = time.process_time() - started
            found = (await world.client.list(DEPLOYMENTS, "default")).items
            ready = [each["status"].get("readyReplicas") for each in found]
            assert ready == [2] * DEPLOYED, ready
            return spent / DEPLOYED * 1e3

    return run_virtual(measure())


def _settings() -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {}}


def _deployment(name: str) -> Manifest:
    made = template()
    return {**made, "metadata": {"name": name, "namespace": "default", "labels": made["metadata"]["labels"]}}
