"""A Push member whose Secret or endpoint leads to another cluster, or to its own that was rebuilt."""

from kubeapi.core import NAMESPACES
from kubeclient import Request
from kubecluster.network import Place
from kubeserver.store.medium import Loaded
from leeward.operations.status import look_at_fleet
from leeward.runtime.member_identity import PATH
from leeward.sim.world import World
from tests.world.stories import POLICIES, apply, deployment, identities, in_world, policy
from tests.world.test_detection import reason_of
from tests.world.test_ownership import on
from tests.world.test_restored import PUSHED


async def leads_to(world: World, place: Place) -> Place:
    """Gives member1 a connection that leads there; returns where it led before."""
    await world.stop_controllers()
    member, before = world.member("member1"), world.member("member1").place
    member.place = place
    world.start_controllers()
    return before


@in_world(PUSHED)
async def test_s6_what_is_for_a_cluster_is_not_made_in_another_one_that_its_secret_leads_to(world: World) -> None:
    """Somebody renews the credentials of member1, and pastes those of member2."""
    await apply(world.client, deployment("web", 2), policy("web", on("member1")))
    await world.sleep(60)
    before = await identities(world, "web")
    own = await leads_to(world, world.member("member2").place)
    await world.sleep(60)
    assert await identities(world, "web") == before, "nothing is made in member2"
    assert reason_of(world, "member1") == ("False", "StatusCollectionFailed")
    (found,) = (await look_at_fleet(world.client, world.clock)).findings
    assert found.sentence.startswith("member1 cannot be observed (since ")
    assert found.sentence.endswith(
        "spec.apiEndpoint and the Secret of member1 lead to the cluster member2, which has joined, too: nothing is "
        "done there for member1; give it those of its own cluster"
    )
    await world.client.patch(POLICIES, "web", {"spec": {"placement": on("member3")}}, "default")
    await world.sleep(60)
    await leads_to(world, own)
    await world.sleep(120)
    assert set(await identities(world, "web")) == {"member3"}, "and nobody has let go of what runs in member1"
    assert world.is_ready("member1")


@in_world(PUSHED)
async def test_s6_nothing_is_made_in_the_control_plane_itself(world: World) -> None:
    await apply(world.client, deployment("web", 2), policy("web", on("member1")))
    await world.sleep(60)
    own = await leads_to(world, world.place)
    written: list[str] = []
    world.place.witness = lambda request, user: written.append(request.path) if is_applied(request) else None
    await world.client.patch(POLICIES, "web", {"spec": {"placement": on("member1", "member2")}}, "default")
    await world.client.create(NAMESPACES, {"metadata": {"name": "shop"}})
    await world.sleep(60)
    assert not written
    ready = world.cluster("member1").ready
    assert ready is not None
    assert "lead to the control plane itself" in ready.message
    await leads_to(world, own)
    await world.sleep(60)
    assert world.is_ready("member1")


def is_applied(request: Request) -> bool:
    """Tells whether the request writes what is propagated, by what marks it."""
    return request.method != "GET" and b"leeward.dev/hub" in request.body


@in_world(PUSHED)
async def test_l1_a_member_that_was_rebuilt_under_its_name_is_given_everything_anew(world: World) -> None:
    await apply(world.client, deployment("web", 2), policy("web", on("member1")))
    await world.sleep(60)
    before, member = await identities(world, "web"), world.member("member1")
    await member.stop()
    member.medium.replace(Loaded((), 0))
    await member.start()
    await world.sleep(120)
    assert member.identity != world.cluster("member1").spec.id
    after = await identities(world, "web")
    assert world.is_ready("member1")
    assert set(after) == {"member1"}
    assert after != before


@in_world(PUSHED)
async def test_the_answer_to_the_probe_says_who_a_member_is(world: World) -> None:
    await apply(world.client, deployment("web", 2), policy("web", on("member1")))
    await world.sleep(60)
    await world.stop_controllers()
    asked: list[str] = []
    world.member("member1").place.witness = lambda request, user: asked.append(request.path)
    world.start_controllers()
    await world.sleep(8)
    assert asked.count(PATH) == 1
    assert len(asked) > 10, "others have been asked for, once it was known"
