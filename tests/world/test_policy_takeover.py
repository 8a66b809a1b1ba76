"""A policy that takes over what another has claimed, and one that waits until users change what it claims."""

from typing import Any

import pytest

from kubeapi.meta import Manifest, labels_of
from leeward.api.names import LAZY_DIGEST_ANNOTATION, POLICY_NAME_ANNOTATION
from leeward.api.resource import EVENTS, RESOURCE_BINDINGS
from leeward.manager.gates import FeatureGates
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import Mode, World
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, deployment, play, policy

TWO: dict[str, Mode] = {"member1": "Push", "member2": "Push"}
WEB = "web-deployment"
PREEMPTION = ManagerSettings(gates=FeatureGates({"PropagationPolicyPreemption": True}))


def named(name: str, cluster: str, **spec: Any) -> Manifest:
    """A policy that puts the Deployment `web` into a cluster."""
    made = policy("web", {"clusterAffinity": {"clusterNames": [cluster]}})
    made["metadata"]["name"] = name
    made["spec"] |= spec
    return made


async def told(world: World, reason: str) -> list[str]:
    events = (await world.client.list(EVENTS, "default")).items
    return [event.message for event in events if event.reason == reason]


async def claimant(world: World) -> str:
    template = await world.client.get(DEPLOYMENTS, "web", "default")
    return template["metadata"]["annotations"].get(POLICY_NAME_ANNOTATION, "")


@pytest.mark.parametrize(
    ("manager", "spec", "takes"),
    [
        (PREEMPTION, {"preemption": "Always", "priority": 2}, True),
        (PREEMPTION, {"preemption": "Always", "priority": 1}, False),
        (PREEMPTION, {"preemption": "Never", "priority": 2}, False),
        (None, {"preemption": "Always", "priority": 2}, False),
    ],
    ids=["greater", "as great", "modest", "without the gate"],
)
def test_a_policy_of_greater_priority_takes_over_where_it_asks_for_it(
    manager: ManagerSettings | None, spec: dict[str, Any], takes: bool
) -> None:
    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 1), named("first", "member1", priority=1))
        await world.until(lambda: set(world.assigned(WEB)) == {"member1"}, 30)
        await apply(world.client, named("second", "member2", **spec))
        await world.sleep(30)
        assert await claimant(world) == ("second" if takes else "first")
        assert set(world.assigned(WEB)) == {"member2" if takes else "member1"}
        said = "Propagation policy(default/second) preempted propagation policy(default/first) successfully"
        assert await told(world, "PreemptPolicySucceed") == ([said] if takes else [])

    play(story, TWO, manager=manager)


def test_what_was_claimed_by_greater_priority_is_taken_over_when_that_is_lowered() -> None:
    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 1), named("first", "member1", priority=3))
        await world.until(lambda: set(world.assigned(WEB)) == {"member1"}, 30)
        await apply(world.client, named("second", "member2", preemption="Always", priority=2))
        await world.sleep(30)
        assert await claimant(world) == "first"
        await world.client.patch(POLICIES, "first", {"spec": {"priority": 1}}, "default")
        await world.until(lambda: set(world.assigned(WEB)) == {"member2"}, 30)

    play(story, TWO, manager=PREEMPTION)


def lazy(cluster: str) -> Manifest:
    return named("first", cluster, activationPreference="Lazy")


def moved_to(cluster: str) -> Manifest:
    return {"spec": {"placement": {"clusterAffinity": {"clusterNames": [cluster]}}}}


def test_a_change_of_a_lazy_policy_waits_until_a_user_changes_the_template() -> None:
    async def story(world: World) -> None:
        await apply(world.client, lazy("member1"))
        await world.sleep(5)
        await apply(world.client, deployment("web", 1))
        await world.until(lambda: set(world.assigned(WEB)) == {"member1"}, 30)
        await world.client.patch(POLICIES, "first", moved_to("member2"), "default")
        await world.sleep(60)
        await world.stop_controllers()
        world.start_controllers()
        await world.sleep(60)
        assert set(world.assigned(WEB)) == {"member1"}, "nor does a restart make it take effect"
        await world.client.patch(DEPLOYMENTS, "web", {"metadata": {"labels": {"tier": "front"}}}, "default")
        await world.until(lambda: set(world.assigned(WEB)) == {"member2"}, 60)
        await world.sleep(30)
        copy = await world.member("member2").client.get(DEPLOYMENTS, "web", "default")
        assert labels_of(copy)["tier"] == "front"
        assert LAZY_DIGEST_ANNOTATION not in copy["metadata"]["annotations"]

    play(story, TWO)


def test_what_was_there_before_a_lazy_policy_waits_for_a_user() -> None:
    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 1))
        await world.sleep(5)
        await apply(world.client, lazy("member1"))
        await world.sleep(60)
        assert world.binding(WEB) is None
        assert await claimant(world) == "first"
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 2}}, "default")
        await world.until(lambda: world.assigned(WEB) == {"member1": 2}, 60)

    play(story, TWO)


def test_a_binding_that_somebody_deletes_is_made_again_at_once() -> None:
    async def story(world: World) -> None:
        await apply(world.client, lazy("member1"))
        await world.sleep(5)
        await apply(world.client, deployment("web", 1))
        await world.until(lambda: set(world.assigned(WEB)) == {"member1"}, 30)
        found = world.binding(WEB)
        assert found is not None
        await world.client.delete(RESOURCE_BINDINGS, WEB, "default")
        await world.sleep(60)
        again = world.binding(WEB)
        assert again is not None
        assert again.metadata.uid != found.metadata.uid
        assert set(world.assigned(WEB)) == {"member1"}

    play(story, TWO)


def test_a_policy_that_is_lazy_no_more_takes_effect_at_once() -> None:
    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 1))
        await world.sleep(5)
        await apply(world.client, lazy("member1"))
        await world.sleep(30)
        await world.client.patch(POLICIES, "first", {"spec": {"activationPreference": None}}, "default")
        await world.until(lambda: set(world.assigned(WEB)) == {"member1"}, 60)
        template = await world.client.get(DEPLOYMENTS, "web", "default")
        assert LAZY_DIGEST_ANNOTATION not in template["metadata"]["annotations"]

    play(story, TWO)
