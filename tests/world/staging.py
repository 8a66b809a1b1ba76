"""Staged applications on the virtual clock: an application whose policy has stages, and looks at it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from kubeapi.meta import Manifest
from kubeclient import NotFound, Unreachable
from leeward.answers.explanation import Explanation
from leeward.answers.subjects import asked_of, explain_in
from leeward.api.meta import Condition, find_condition
from leeward.api.names import work_name
from leeward.api.resource import RESOURCE_BINDINGS
from leeward.api.rollout import ROLLOUT_ANNOTATION, ROLLOUT_CONDITION
from leeward.core.rollout.state import RolloutState, state_of
from leeward.operations.status import look_at_fleet
from leeward.sim.world import Mode, World
from tests.world.pictures import picture
from tests.world.stories import DEPLOYMENTS, apply, by_weight, deployment, play, policy, ready_replicas

MEMBERS: Mapping[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull"}
WEB = "web-deployment"
PLACES = [("default", WEB)]
WORK = work_name("Deployment", "web", "default")
STAGES = """
stages:
- name: canary
  clusters: [member1]
  healthyFor: 5m
- name: rest
  healthyFor: 2m
progressDeadline: 10m
"""
OLD, GOOD, BAD, MENDED = "nginx:1", "nginx:2", "nginx:broken", "nginx:3"
ROLLING_BACK = STAGES + "onFailure: Rollback\n"
TWO_OF_THREE: Manifest = {
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}],
    "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
}
ANY_CANARY = STAGES.replace("clusters: [member1]", "share: 1%")


def staged(placement: Manifest, stages: str = STAGES) -> Manifest:
    found = policy("web", placement)
    found["metadata"]["annotations"] = {ROLLOUT_ANNOTATION: stages}
    return found


async def web_runs(world: World, stages: str = STAGES, weights: Mapping[str, int] | None = None, each: int = 2) -> None:
    """The application runs in its clusters, and its first revision is proven."""
    weights = weights or dict.fromkeys(MEMBERS, 1)
    await apply(world.client, deployment("web", each * len(weights), "nginx:1"), staged(by_weight(weights), stages))
    await world.until(lambda: reason(world) == "Complete", 60)
    await world.sleep(60)
    assert await images(world) == dict.fromkeys(weights, "nginx:1")


async def begun(world: World, image: str, stages: str = STAGES, each: int = 2) -> None:
    """A change of the application has been in the first stage for a minute."""
    await web_runs(world, stages, each=each)
    await change(world, image)
    await world.sleep(60)
    assert await images(world) == {"member1": image, "member2": OLD, "member3": OLD}


async def two_of_three(world: World) -> tuple[str, str, str]:
    """The application runs in two clusters, of which the first is the canary; and the spare one."""
    await apply(world.client, deployment("web", 2, OLD), staged(TWO_OF_THREE, ANY_CANARY))
    await world.until(lambda: reason(world) == "Complete", 60)
    await world.sleep(60)
    first, second = sorted(world.assigned(WEB))
    (spare,) = MEMBERS.keys() - {first, second}
    return first, second, spare


def rollout(world: World) -> Condition | None:
    found = world.binding(WEB)
    return find_condition(found.status.conditions, ROLLOUT_CONDITION) if found is not None else None


def reason(world: World) -> str:
    found = rollout(world)
    return found.reason if found is not None else ""


def remembered(world: World) -> RolloutState:
    found = world.binding(WEB)
    assert found is not None
    state = state_of(found, world.clock.now())
    assert state is not None
    return state


async def images(world: World) -> dict[str, str]:
    """Images by member."""
    found: dict[str, str] = {}
    for member in world.members:
        try:
            manifest = await world.member(member).client.get(DEPLOYMENTS, "web", "default")
        except (NotFound, Unreachable):
            continue
        found[member] = manifest["spec"]["template"]["spec"]["containers"][0]["image"]
    return found


async def change(world: World, image: str, **spec: Any) -> None:
    container = {"name": "main", "image": image}
    patch = {"spec": {"template": {"spec": {"containers": [container]}}, **spec}}
    await world.client.patch(DEPLOYMENTS, "web", patch, "default")


async def serving(world: World) -> dict[str, int]:
    return {name: await ready_replicas(world, name, "web") for name in world.members}


async def ask(world: World, **annotations: str | None) -> None:
    await world.client.patch(RESOURCE_BINDINGS, WEB, {"metadata": {"annotations": annotations}}, "default")


def told(story: Callable[[World], Awaitable[None]], members: Mapping[str, Mode] = MEMBERS) -> None:
    play(story, members)


async def explained(world: World) -> Explanation:
    answer = explain_in(await picture(world), asked_of("deploy/web", "default"))
    assert isinstance(answer, Explanation)
    return answer


async def findings(world: World) -> list[str]:
    return [each.sentence for each in (await look_at_fleet(world.client, world.clock)).findings]
