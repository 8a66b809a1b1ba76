"""Autoscalers in the members, and a divided Deployment of the control plane: they do not fight."""

import pytest

from kubeapi.core import EVENTS
from kubeapi.meta import Manifest, labels_of
from kubeapi.resource import Resource
from leeward.api.names import RETAIN_REPLICAS_LABEL
from leeward.manager.choice import AUTOSCALED, Choice
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import Mode, World
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, by_weight, deployment, play, policy

TWO: dict[str, Mode] = {"member1": "Push", "member2": "Push"}
WEB = "web-deployment"
AUTOSCALERS = Resource.of_manifests("autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", True)
NAMED = ManagerSettings(controllers=Choice(("*", *AUTOSCALED)))


def web() -> Manifest:
    made = deployment("web", 4)
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m"}}
    return made


def autoscaler() -> Manifest:
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    return {
        "apiVersion": AUTOSCALERS.api_version,
        "kind": AUTOSCALERS.kind,
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 1,
            "maxReplicas": 8,
            "metrics": [{"type": "Resource", "resource": cpu}],
        },
    }


async def deployed(world: World) -> None:
    """Two replicas in each member, and an autoscaler in both; without a load it would scale down."""
    both = by_weight(dict.fromkeys(TWO, 1))
    await apply(world.client, web(), policy("web", both))
    everywhere = {"clusterAffinity": {"clusterNames": list(TWO)}}
    scaler = policy("web", everywhere, AUTOSCALERS.kind, AUTOSCALERS.api_version)
    scaler["metadata"]["name"] = "scaler"
    await world.client.create(AUTOSCALERS, autoscaler(), "default")
    await world.client.create(POLICIES, scaler, "default")
    await world.until(lambda: world.assigned(WEB) == {"member1": 2, "member2": 2}, 60)
    await world.sleep(20)


async def load(world: World, name: str, cpu: str) -> None:
    annotations = {"leeward.dev/simulated-cpu": cpu}
    await world.member(name).client.patch(DEPLOYMENTS, "web", {"metadata": {"annotations": annotations}}, "default")


async def replicas(world: World, name: str) -> int:
    return (await world.member(name).client.get(DEPLOYMENTS, "web", "default"))["spec"]["replicas"]


@pytest.mark.long
def test_a_deployment_follows_what_its_autoscalers_decide() -> None:
    async def story(world: World) -> None:
        await deployed(world)
        await load(world, "member1", "200m")
        await load(world, "member2", "100m")
        await world.sleep(120)
        template = await world.client.get(DEPLOYMENTS, "web", "default")
        assert labels_of(template)[RETAIN_REPLICAS_LABEL] == "true"
        assert [await replicas(world, name) for name in TWO] == [4, 2]
        assert template["spec"]["replicas"] == 6
        await world.sleep(600)
        assert [await replicas(world, name) for name in TWO] == [4, 2], "nobody takes it back"
        await world.client.delete(AUTOSCALERS, "web", "default")
        await world.sleep(60)
        template = await world.client.get(DEPLOYMENTS, "web", "default")
        assert RETAIN_REPLICAS_LABEL not in labels_of(template)

    play(story, TWO, manager=NAMED)


async def autoscaled(world: World, *names: str) -> None:
    """Deployments of the namespace, each with an autoscaler of its own, all propagated."""
    both = by_weight(dict.fromkeys(TWO, 1))
    for name in names:
        scaler = autoscaler()
        scaler["metadata"]["name"] = scaler["spec"]["scaleTargetRef"]["name"] = name
        of_scaler = policy(name, both, AUTOSCALERS.kind, AUTOSCALERS.api_version)
        of_scaler["metadata"]["name"] = f"scaler-{name}"
        await apply(world.client, deployment(name, 2), policy(name, both))
        await world.client.create(AUTOSCALERS, scaler, "default")
        await world.client.create(POLICIES, of_scaler, "default")


def test_every_target_of_a_namespace_is_marked_and_keeps_its_mark_over_a_restart() -> None:
    names = ("api", "shop", "web")

    async def marks(world: World) -> dict[str, str]:
        found = (await world.client.list(DEPLOYMENTS, "default")).items
        return {each["metadata"]["name"]: labels_of(each).get(RETAIN_REPLICAS_LABEL, "") for each in found}

    async def generations(world: World) -> list[int]:
        return [each["metadata"]["generation"] for each in (await world.client.list(DEPLOYMENTS, "default")).items]

    async def story(world: World) -> None:
        await autoscaled(world, *names)
        await world.sleep(60)
        assert await marks(world) == dict.fromkeys(names, "true")
        await world.stop_controllers()
        world.start_controllers()
        await world.sleep(60)
        assert await marks(world) == dict.fromkeys(names, "true")
        before = await generations(world)
        await world.sleep(60)
        assert await generations(world) == before, "nobody writes again and again"
        await world.client.delete(AUTOSCALERS, "api", "default")
        await world.sleep(30)
        assert await marks(world) == {"api": "", "shop": "true", "web": "true"}

    play(story, TWO, manager=NAMED)


@pytest.mark.long
def test_nothing_is_followed_that_a_lost_cluster_has_said() -> None:
    async def story(world: World) -> None:
        await deployed(world)
        await load(world, "member1", "100m")
        await load(world, "member2", "100m")
        await world.sleep(60)
        await world.member("member1").stop()
        await world.until(lambda: not world.is_ready("member1"), 120)
        await load(world, "member2", "200m")
        await world.sleep(120)
        assert await replicas(world, "member2") == 4
        template = await world.client.get(DEPLOYMENTS, "web", "default")
        assert template["spec"]["replicas"] == 4

    play(story, TWO, manager=NAMED)


def test_a_label_that_a_user_has_set_stays() -> None:
    async def story(world: World) -> None:
        made = web()
        made["metadata"]["labels"][RETAIN_REPLICAS_LABEL] = "true"
        await apply(world.client, made, policy("web", by_weight(dict.fromkeys(TWO, 1))))
        await world.sleep(60)
        template = await world.client.get(DEPLOYMENTS, "web", "default")
        assert labels_of(template)[RETAIN_REPLICAS_LABEL] == "true"

    play(story, TWO, manager=NAMED)


def test_s12_what_an_autoscaler_has_scaled_up_stays_when_its_policy_is_deleted() -> None:
    """The autoscaler still scales in the members; the template still asks for as many as in the beginning."""

    async def story(world: World) -> None:
        await deployed(world)
        for name in TWO:
            await load(world, name, "2000m")
        await world.sleep(120)
        assert [await replicas(world, name) for name in TWO] == [8, 8]
        await world.client.delete(POLICIES, "scaler", "default")
        for _ in range(40):
            await world.sleep(3)
            assert [await replicas(world, name) for name in TWO] == [8, 8]

    play(story, TWO, manager=ManagerSettings(controllers=Choice(("*", "hpaScaleTargetMarker"))))


def test_a_rollout_that_hangs_makes_no_template_grow() -> None:
    async def story(world: World) -> None:
        await deployed(world)
        for name in TWO:
            await load(world, name, "200m")
        await world.sleep(120)
        template = await world.client.get(DEPLOYMENTS, "web", "default")
        assert (template["spec"]["replicas"], template["status"]["replicas"]) == (8, 8)
        nowhere = {"spec": {"template": {"spec": {"nodeSelector": {"no": "such"}}}}}
        await world.client.patch(DEPLOYMENTS, "web", nowhere, "default")
        await world.sleep(120)
        template = await world.client.get(DEPLOYMENTS, "web", "default")
        assert template["status"]["replicas"] > 8, "a Pod is made beside the others"
        assert template["spec"]["replicas"] == 8

    play(story, TWO, manager=NAMED)


async def fights(world: World) -> list[tuple[str, str, int]]:
    events = (await world.client.list(EVENTS, "default")).items
    told = [event for event in events if event.reason == "ScaleTargetNotRetained"]
    return [(event.involved_object.name, event.message, event.count) for event in told]


@pytest.mark.long
def test_an_autoscaler_whose_target_has_two_masters_is_told_of_once() -> None:
    async def story(world: World) -> None:
        await world.client.create(AUTOSCALERS, autoscaler(), "default")
        everywhere = {"clusterAffinity": {"clusterNames": list(TWO)}}
        scaler = policy("web", everywhere, AUTOSCALERS.kind, AUTOSCALERS.api_version)
        scaler["metadata"]["name"] = "scaler"
        await world.client.create(POLICIES, scaler, "default")
        await world.sleep(100)
        assert await fights(world) == [], "nothing is there to scale"
        await apply(world.client, web(), policy("web", by_weight(dict.fromkeys(TWO, 1))))
        await world.sleep(60)
        ((name, message, count),) = await fights(world)
        assert (name, count) == ("web", 1)
        assert message == (
            "what it makes of the replicas of Deployment web in members is set back by the control plane: label the "
            "Deployment resourcetemplate.karmada.io/retain-replicas=true, or run the controllers hpaScaleTargetMarker "
            "and deploymentReplicasSyncer"
        )
        await world.client.patch(AUTOSCALERS, "web", {"spec": {"maxReplicas": 9}}, "default")
        await world.sleep(600)
        assert len(await fights(world)) == 1

    play(story, TWO)


@pytest.mark.parametrize("marked", ["by its user", "by the controller"])
def test_a_target_that_keeps_what_members_have_is_not_told_of(marked: str) -> None:
    async def story(world: World) -> None:
        made = web()
        if marked == "by its user":
            made["metadata"]["labels"][RETAIN_REPLICAS_LABEL] = "true"
        await apply(world.client, made, policy("web", by_weight(dict.fromkeys(TWO, 1))))
        await world.client.create(AUTOSCALERS, autoscaler(), "default")
        scaler = policy("web", {}, AUTOSCALERS.kind, AUTOSCALERS.api_version)
        scaler["metadata"]["name"] = "scaler"
        await world.client.create(POLICIES, scaler, "default")
        await world.sleep(400)
        assert await fights(world) == []

    play(story, TWO, manager=NAMED if marked == "by the controller" else None)
