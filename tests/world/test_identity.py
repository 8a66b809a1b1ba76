"""One cluster joins once: it is known by the UID of its Namespace kube-system."""

from itertools import pairwise

import pytest

from kubeapi.core import NAMESPACES
from kubeapi.meta import ObjectMeta
from kubeclient import Invalid, Request, Response
from leeward.agent.registration import register
from leeward.api.cluster import Cluster, ClusterSpec
from leeward.api.resource import CLUSTERS
from leeward.sim.world import World
from tests.world.stories import POLICIES, PUSH_PUSH_PULL, apply, deployment, identities, in_world, policy
from tests.world.test_detection import answers, reason_of, status
from tests.world.test_ownership import on
from tests.world.test_restored import PULLED


async def own_id(world: World, name: str) -> str:
    return (await world.member(name).client.get(NAMESPACES, "kube-system")).metadata.uid


@in_world()
async def test_clusters_are_known_by_their_own_namespace_whoever_joins_them(world: World) -> None:
    for name in PUSH_PUSH_PULL:
        assert world.cluster(name).spec.id == await own_id(world, name)


@in_world()
async def test_the_control_plane_refuses_a_cluster_that_has_joined_and_itself(world: World) -> None:
    taken = {
        world.cluster("member1").spec.id: "joined already, as member1: .*`leeward unjoin member1` first",
        world.cluster("member3").spec.id: "joined already, as member3: .*`leeward unregister member3` first",
        (await world.client.get(NAMESPACES, "kube-system")).metadata.uid: "is the control plane itself",
    }
    for cluster_id, said in taken.items():
        spec = ClusterSpec(sync_mode="Push", id=cluster_id)
        with pytest.raises(Invalid, match=said):
            await world.client.create(CLUSTERS, Cluster(metadata=ObjectMeta(name="again"), spec=spec))
        with pytest.raises(Invalid, match=said):
            await world.client.patch(CLUSTERS, "member2", {"spec": {"id": cluster_id}})
    assert sorted(cluster.name for cluster in (await world.client.list(CLUSTERS)).items) == sorted(PUSH_PUSH_PULL)
    await world.client.patch(CLUSTERS, "member2", {"spec": {"region": "north"}})


@in_world()
async def test_an_agent_of_a_cluster_that_has_joined_waits_until_that_one_has_left(world: World) -> None:
    member = world.member("member3")
    await member.stop_agent()
    await world.client.delete(CLUSTERS, "member3")
    await world.sleep(60)
    spec = ClusterSpec(sync_mode="Pull", id=await own_id(world, "member3"))
    await world.client.create(CLUSTERS, Cluster(metadata=ObjectMeta(name="other"), spec=spec))
    member.start_agent()
    await world.sleep(300)
    names = [cluster.name for cluster in (await world.client.list(CLUSTERS)).items]
    assert sorted(names) == ["member1", "member2", "other"]
    await world.client.delete(CLUSTERS, "other")
    await world.sleep(60)
    assert world.is_ready("member3"), "it has tried again"


@in_world()
async def test_l5_an_agent_that_is_refused_asks_seldom_and_joins_when_it_may(world: World) -> None:
    member = world.member("member3")
    await member.stop_agent()
    asked: list[float] = []

    def refuse(request: Request) -> Response | None:
        if request.method != "GET" or not request.path.endswith("/clusters/member3"):
            return None
        asked.append(world.seconds)
        return status(403, "Forbidden")

    answers(world.place, refuse)
    member.start_agent()
    began = world.seconds
    await world.sleep(600)
    pauses = [round(later - earlier, 6) for earlier, later in pairwise(asked)]
    assert asked[0] - began < 1
    assert pauses == [1, 2, 4, 8] + [10] * (len(pauses) - 4)
    assert len(pauses) == 4 + (600 - 15) // 10
    world.place.audit = None
    await world.until(lambda: world.is_ready("member3"), 120)


@in_world()
async def test_an_agent_says_where_its_cluster_is_when_it_joins_and_changes_nothing_later(
    world: World,
    caplog: pytest.LogCaptureFixture,
) -> None:
    described = ClusterSpec(sync_mode="Pull", region="eu", zones=("a", "b"), provider="own")
    member = world.member("member3")
    await member.stop_agent()
    await world.client.delete(CLUSTERS, "member3")
    await world.sleep(30)
    joined = await register(world.client, "member3", member.client, described)
    assert (joined.spec.region, joined.spec.zones, joined.spec.provider) == ("eu", ("a", "b"), "own")
    assert joined.spec.id == member.identity
    again = await register(world.client, "member3", member.client, ClusterSpec(sync_mode="Pull", region="us"))
    assert again.spec == joined.spec
    assert "cluster member3 has joined before, and this changes nothing of it: region" in caplog.text


@in_world(PULLED)
async def test_s6_an_agent_beside_another_cluster_that_has_joined_applies_nothing_there_and_lets_go_of_nothing(
    world: World,
) -> None:
    """The kubeconfig leads to the cluster of another agent when it restarts: somebody has switched contexts."""
    member, other = world.member("member2"), world.member("member3")
    await apply(world.client, deployment("web", 2), policy("web", on("member2")))
    await world.sleep(60)
    before = await identities(world, "web")
    await member.stop_agent()
    own, member.place = member.place, other.place
    member.start_agent()
    member.place = own
    await world.sleep(20)
    assert await identities(world, "web") == before, "nothing is made in member3"
    await world.client.patch(POLICIES, "web", {"spec": {"placement": on("member1")}}, "default")
    await world.sleep(60)
    assert not world.is_ready("member2"), "nobody looks after it"
    await member.stop_agent()
    member.start_agent()
    await world.sleep(120)
    assert set(await identities(world, "web")) == {"member1"}, "and now it is removed"


@in_world()
async def test_an_agent_beside_a_member_that_hangs_says_so_soon_after_it_has_begun(world: World) -> None:
    member = world.member("member3")
    await member.stop_agent()
    member.place.link.hang()
    member.start_agent()
    await world.until(lambda: reason_of(world, "member3") == ("False", "ClusterNotReachable"), 60)
