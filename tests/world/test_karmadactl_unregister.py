"""`karmadactl unregister` of a Pull member with applications: Works are deleted until none is left, then it."""

import asyncio
from dataclasses import replace

import pytest

from kubeapi.core import NAMESPACES, Namespace
from kubeapi.meta import Manifest, ObjectMeta
from kubeclient import Client, Forbidden, NotFound
from kubecluster.network import LinkedTransport
from kubeserver.handler import User
from leeward.api.names import AGENT_GROUP, AGENT_USER_PREFIX, CLUSTER_NAMESPACE, execution_space
from leeward.api.resource import WORKS
from leeward.controllers.unified_auth.unified_auth import CLUSTER_ROLES
from leeward.core.impersonation import IMPERSONATOR
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import World
from tests.migration import karmadactl
from tests.world.stories import apply, by_weight, deployment, in_world, play, policy, ready_replicas

APPLICATIONS = [f"web-{number}" for number in range(8)]
SPACE = execution_space("member3")


async def divide(world: World) -> None:
    """Eight applications in a namespace of their own, half of each in member3."""
    await world.client.create(NAMESPACES, Namespace(metadata=ObjectMeta(name="shop")))
    for name in APPLICATIONS:
        placed = policy(name, by_weight({"member2": 1, "member3": 1}))
        await apply(world.client, deployment(name, 4), placed, namespace="shop")
    placed_so = {"member2": 2, "member3": 2}
    await world.until(lambda: all(world.assigned(f"{n}-deployment", "shop") == placed_so for n in APPLICATIONS))
    await world.sleep(30)


@pytest.mark.long
@in_world()
async def test_a_pull_member_leaves_with_its_applications_by_the_requests_of_karmadactl(world: World) -> None:
    await divide(world)
    await karmadactl.unregister(world.client, "member3")
    with pytest.raises(NotFound):
        await world.client.get(karmadactl.CLUSTERS, "member3")
    await world.sleep(60)
    for name in APPLICATIONS:
        assert await ready_replicas(world, "member3", name, "shop") == -1, "what was placed there is taken back"
        assert await ready_replicas(world, "member2", name, "shop") == 4, "what it held runs elsewhere"


LIMITED = ManagerSettings(controllers=replace(ManagerSettings().controllers, patterns=("*", "unifiedAuth")))


@pytest.mark.parametrize("manager", [ManagerSettings(), LIMITED])
def test_a_pull_member_that_the_proxy_reaches_leaves_by_the_requests_of_karmadactl(manager: ManagerSettings) -> None:
    """The Works of its impersonator end one after the other, while rights of others change. None is made anew."""

    async def story(world: World) -> None:
        reference = {"namespace": CLUSTER_NAMESPACE, "name": "member3-impersonator"}
        await world.client.patch(karmadactl.CLUSTERS, "member3", {"spec": {"impersonatorSecretRef": reference}})
        await world.sleep(30)
        works = [work for work in (await world.client.list(WORKS, SPACE)).items if IMPERSONATOR in work.name]
        known = {work.metadata.uid for work in (await world.client.list(WORKS, SPACE)).items}
        assert len(works) == 2
        slow = {"metadata": {"finalizers": [*works[1].metadata.finalizers, "example.com/slow"]}}
        await world.client.patch(WORKS, works[1].name, slow, SPACE)
        leaving = asyncio.ensure_future(karmadactl.unregister(world.client, "member3"))
        for second in range(50):
            role: Manifest = {"metadata": {"name": "other", "annotations": {"second": str(second)}}, "rules": []}
            await world.client.apply(CLUSTER_ROLES, role, field_manager="test")
            await world.sleep(1)
            assert {work.metadata.uid for work in (await world.client.list(WORKS, SPACE)).items} <= known
            if second == 20:
                await world.client.patch(WORKS, works[1].name, {"metadata": {"finalizers": None}}, SPACE)
        await leaving
        await world.sleep(30)
        with pytest.raises(NotFound):
            await world.client.get(karmadactl.CLUSTERS, "member3")
        with pytest.raises(NotFound):
            await world.member("member3").client.get(CLUSTER_ROLES, IMPERSONATOR)

    play(story, manager=manager)


def as_agent(world: World) -> Client:
    return Client(LinkedTransport(world.place, User(AGENT_USER_PREFIX + "member3", (AGENT_GROUP,))))


@pytest.mark.long
@in_world()
async def test_a_pull_member_leaves_by_the_identity_of_its_agent_where_karmadactl_has_written_its_roles(
    world: World,
) -> None:
    """The identity is that of the agent's Deployment, where karmadactl is given no --karmada-config."""
    await divide(world)
    await karmadactl.write_all_roles(world.client, "member3")
    await karmadactl.unregister(as_agent(world), "member3", as_agent=True)
    with pytest.raises(NotFound):
        await world.client.get(karmadactl.CLUSTERS, "member3")
    await world.sleep(60)
    for name in APPLICATIONS:
        assert await ready_replicas(world, "member2", name, "shop") == 4


@pytest.mark.long
@in_world()
async def test_an_agent_without_these_roles_takes_out_neither_works_nor_its_cluster(world: World) -> None:
    await divide(world)
    before = [work.metadata.uid for work in (await world.client.list(WORKS, SPACE)).items]
    with pytest.raises(Forbidden, match='cannot delete resource "works"'):
        await karmadactl.unregister(as_agent(world), "member3", as_agent=True)
    with pytest.raises(Forbidden):
        await as_agent(world).delete(karmadactl.CLUSTERS, "member3")
    await world.sleep(30)
    assert [work.metadata.uid for work in (await world.client.list(WORKS, SPACE)).items] == before


@in_world()
async def test_tokens_of_karmadactl_are_listed_by_their_type_and_deleted(world: World) -> None:
    for token in ("abcdef.0123456789abcdef", "fedcba.0123456789abcdef"):
        await karmadactl.create_token(world.client, token)
    await world.client.create(karmadactl.SECRETS, {"metadata": {"name": "other"}}, "kube-system")
    assert sorted(await karmadactl.list_tokens(world.client)) == ["abcdef", "fedcba"]
    await karmadactl.delete_token(world.client, "abcdef")
    assert await karmadactl.list_tokens(world.client) == ["fedcba"]
    with pytest.raises(Forbidden):
        await karmadactl.list_tokens(as_agent(world))


@pytest.mark.long
@in_world()
async def test_a_work_that_somebody_deletes_is_made_anew_after_a_while(world: World) -> None:
    await divide(world)
    (work, *_) = [each for each in (await world.client.list(WORKS, SPACE)).items if each.name.startswith("web-")]
    await world.client.delete(WORKS, work.name, SPACE)
    await world.until(lambda: world.work("member3", work.name) is None, 30)
    took = await world.until(lambda: world.work("member3", work.name) is not None, 30)
    assert 4 < took < 8
    await world.sleep(30)
    assert [await ready_replicas(world, "member3", name, "shop") for name in APPLICATIONS] == [2] * 8
