"""Objects that stay when their application is deleted: they belong to their owners alone. Holds: S6."""

from collections.abc import Mapping

import pytest

from kubeapi.meta import Manifest, annotations_of, labels_of
from kubeapi.resource import Resource
from kubeclient import NotFound
from leeward.api.names import PRESERVED_ANNOTATION
from leeward.api.resource import WORKS
from leeward.app.leaving import unjoin_cluster
from leeward.sim.world import Mode, World
from tests.world.stories import CONFIG_MAPS, DEPLOYMENTS, POLICIES, apply, play
from tests.world.test_dependencies import SECRETS, config, followed, named, one_of, reading
from tests.world.test_nothing_to_gain import POLICIES as CLUSTER_POLICIES
from tests.world.test_nothing_to_gain import cluster_policy
from tests.world.test_ownership import on

FLEETS = pytest.mark.parametrize("fleet", [{"member1": "Push"}, {"member1": "Pull"}], ids=["Push", "Pull"])
SERVICES = Resource.of_manifests("v1", "services", "Service", True)
ROLES = Resource.of_manifests("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", False)
EVERYTHING = (
    (DEPLOYMENTS, "default"),
    (CONFIG_MAPS, "default"),
    (SECRETS, "default"),
    (SERVICES, "default"),
    (ROLES, ""),
)


def everything() -> list[tuple[Resource[Manifest], Manifest, str]]:
    """`web`, in five kinds; ConfigMap and Secret are read by the Deployment."""
    web = reading("web", "web", replicas=1)
    web["spec"]["template"]["spec"]["containers"][0]["envFrom"].append({"secretRef": {"name": "web"}})
    named_web = {"metadata": {"name": "web"}}
    ports = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    return [
        (CONFIG_MAPS, config("web"), "default"),
        (SECRETS, {"apiVersion": "v1", "kind": "Secret", **named_web, "stringData": {"key": "1"}}, "default"),
        (SERVICES, {"apiVersion": "v1", "kind": "Service", **named_web, "spec": ports}, "default"),
        (ROLES, {"apiVersion": ROLES.api_version, "kind": "ClusterRole", **named_web, "rules": [rule]}, ""),
        (DEPLOYMENTS, web, "default"),
    ]


async def placed(world: World, **spec: str | bool) -> None:
    """`web` in member1 by two policies."""
    web = followed("web", one_of("member1"), **spec)
    web["spec"]["resourceSelectors"].append({"apiVersion": "v1", "kind": "Service", "name": "web"})
    roles = cluster_policy(on("member1"), (ROLES.api_version, "ClusterRole", "web"))
    roles["spec"] |= spec
    await apply(world.client, web)
    await world.client.create(CLUSTER_POLICIES, roles)
    for resource, manifest, namespace in everything():
        await world.client.create(resource, manifest, namespace)
    await world.sleep(60)


async def deleted(world: World) -> None:
    for resource, manifest, namespace in everything():
        await world.client.delete(resource, manifest["metadata"]["name"], namespace)
    await world.client.delete(POLICIES, "web", "default")
    await world.client.delete(CLUSTER_POLICIES, "all")
    await world.sleep(60)


async def in_member(world: World) -> dict[str, Manifest]:
    """The objects of `web` that are in member1, by kind."""
    found: dict[str, Manifest] = {}
    for resource, namespace in EVERYTHING:
        try:
            found[resource.kind] = await world.member("member1").client.get(resource, "web", namespace)
        except NotFound:
            continue
    return found


def marks(observed: Manifest) -> set[str]:
    """Labels and annotations that a control plane sets."""
    keys = labels_of(observed).keys() | annotations_of(observed).keys()
    return {key for key in keys if "karmada.io" in key or "leeward.dev" in key}


def pods(observed: Manifest) -> Manifest:
    return observed["spec"]["template"]


@FLEETS
@pytest.mark.parametrize("away", [False, True], ids=["", "while the member is away"])
def test_s6_what_was_preserved_is_released_and_no_template_of_its_name_touches_it(
    fleet: Mapping[str, Mode], *, away: bool
) -> None:
    async def story(world: World) -> None:
        await placed(world, preserveResourcesOnDeletion=True)
        before = await in_member(world)
        assert len(before) == len(EVERYTHING)
        if away:
            await world.member("member1").stop()
            await world.until(lambda: not world.is_ready("member1"), 120)
        await deleted(world)
        if away:
            assert named(world, "member1", "Deployment", "web") is not None, "it waits for its member"
            await world.member("member1").start()
            await world.until(lambda: world.is_ready("member1"), 120)
            await world.sleep(60)
        assert named(world, "member1", "Deployment", "web") is None
        released = await in_member(world)
        assert {kind: marks(each) for kind, each in released.items()} == {key: {PRESERVED_ANNOTATION} for key in before}
        assert pods(released["Deployment"]) == pods(before["Deployment"]), "no rollout"
        await world.member("member1").client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "default")
        await world.sleep(30)
        owned = await in_member(world)
        await placed(world)
        assert {kind: each["spec"] for kind, each in (await in_member(world)).items() if kind == "Deployment"} == {
            "Deployment": owned["Deployment"]["spec"]
        }
        for kind in ("Deployment", "Service"):
            applied = named(world, "member1", kind, "web").applied
            assert applied.status == "False"
            assert "is not managed by this Work" in applied.message
        await deleted(world)
        assert await in_member(world) == owned

    play(story, fleet)


async def left_by_an_earlier_version(world: World) -> dict[str, Manifest]:
    """The objects of `web`, whose template is gone, with all the marks that earlier versions left on them."""
    await placed(world, preserveResourcesOnDeletion=True)
    before = await in_member(world)
    await deleted(world)
    for resource, namespace in EVERYTHING:
        metadata = before[resource.kind]["metadata"]
        left = {"labels": metadata["labels"] | {PRESERVED_ANNOTATION: None}, "annotations": metadata["annotations"]}
        await world.member("member1").client.patch(resource, "web", {"metadata": left}, namespace)
    await world.member("member1").client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "default")
    await world.sleep(30)
    found = await in_member(world)
    assert {kind: marks(each) for kind, each in found.items()} == {kind: marks(each) for kind, each in before.items()}
    return found


@FLEETS
def test_s6_what_an_earlier_version_preserved_with_its_marks_is_nobodys(fleet: Mapping[str, Mode]) -> None:
    async def story(world: World) -> None:
        left = await left_by_an_earlier_version(world)
        await placed(world)
        assert await in_member(world) == left
        for kind in ("Deployment", "Service"):
            applied = named(world, "member1", kind, "web").applied
            assert applied.status == "False"
            assert "is not managed by this Work; remove it there, or set conflictResolution" in applied.message
        await deleted(world)
        assert await in_member(world) == left

    play(story, fleet)


@FLEETS
def test_what_an_earlier_version_preserved_is_adopted_by_a_policy_that_overwrites(fleet: Mapping[str, Mode]) -> None:
    async def story(world: World) -> None:
        left = await left_by_an_earlier_version(world)
        await placed(world, conflictResolution="Overwrite")
        adopted = await in_member(world)
        assert {kind: each["metadata"]["uid"] for kind, each in adopted.items()} == {
            kind: each["metadata"]["uid"] for kind, each in left.items()
        }
        assert not any(PRESERVED_ANNOTATION in marks(each) for each in adopted.values())
        await deleted(world)
        assert await in_member(world) == {}

    play(story, fleet)


@FLEETS
def test_a_preserved_copy_whose_work_is_deleted_by_hand_is_taken_back(fleet: Mapping[str, Mode]) -> None:
    async def story(world: World) -> None:
        await placed(world, preserveResourcesOnDeletion=True)
        before = await in_member(world)
        work = named(world, "member1", "Deployment", "web")
        await world.client.delete(WORKS, work.name, work.namespace)
        await world.sleep(60)
        again = named(world, "member1", "Deployment", "web")
        assert again.metadata.uid != work.metadata.uid
        assert again.applied.status == "True"
        assert (await in_member(world))["Deployment"]["metadata"]["uid"] == before["Deployment"]["metadata"]["uid"]

    play(story, fleet)


@FLEETS
def test_s6_what_a_policy_preserves_is_released_when_its_cluster_leaves(fleet: Mapping[str, Mode]) -> None:
    async def story(world: World) -> None:
        await placed(world, preserveResourcesOnDeletion=True)
        before = await in_member(world)
        await unjoin_cluster(world.client, "member1", world.clock, force=False, wait_seconds=120)
        released = await in_member(world)
        assert {kind: marks(each) for kind, each in released.items()} == {key: {PRESERVED_ANNOTATION} for key in before}
        assert pods(released["Deployment"]) == pods(before["Deployment"]), "no rollout"

    play(story, fleet)


@FLEETS
def test_what_was_released_is_adopted_by_a_policy_that_overwrites(fleet: Mapping[str, Mode]) -> None:
    async def story(world: World) -> None:
        await placed(world, preserveResourcesOnDeletion=True)
        before = await in_member(world)
        await deleted(world)
        await placed(world, conflictResolution="Overwrite")
        adopted = await in_member(world)
        assert {kind: each["metadata"]["uid"] for kind, each in adopted.items()} == {
            kind: each["metadata"]["uid"] for kind, each in before.items()
        }
        assert not any(PRESERVED_ANNOTATION in labels_of(each) for each in adopted.values())
        await deleted(world)
        assert await in_member(world) == {}

    play(story, fleet)
