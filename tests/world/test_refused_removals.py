"""Removals that a member refuses for a while, and what has become of their reason until it carries them out."""

from collections.abc import Callable

import pytest

from kubeclient import Request, Response
from kubecluster.network import Answering
from kubeserver.handler import StreamResponse
from leeward.api.names import execution_space
from leeward.api.resource import CLUSTERS, WORKS
from leeward.operations.status import look_at_fleet
from leeward.sim.world import Mode, World
from tests.world.stories import (
    DEPLOYMENTS,
    POLICIES,
    apply,
    deployment,
    identities,
    in_world,
    play,
    policy,
    ready_replicas,
    tasks,
)
from tests.world.test_detection import answers, status
from tests.world.test_ownership import on
from tests.world.test_restored import PULLED, PUSHED, WEB, placed


@pytest.mark.parametrize("members", [PUSHED, PULLED], ids=["Push", "Pull"])
def test_s1_what_a_member_did_not_let_go_stays_when_its_replacement_is_lost_meanwhile(members: dict[str, Mode]) -> None:
    """A copy leaves by a taint; a webhook in its cluster is down, and refuses the deletion; its replacement dies."""

    async def story(world: World) -> None:
        old = await placed(world)
        before = await identities(world, "web", [old])
        answers(world.member(old).place, lambda r: status(500, "InternalError") if r.method == "DELETE" else None)
        await world.client.patch(CLUSTERS, old, {"spec": {"taints": [{"key": "x", "effect": "NoExecute"}]}})
        await world.until(lambda: old not in world.assigned(WEB) and not tasks(world, WEB), 600)
        (new,) = world.assigned(WEB)
        await world.sleep(60)
        await world.member(new).stop()
        await world.until(lambda: not world.is_ready(new), 100)
        await world.sleep(30)
        answers(world.member(old).place, lambda r: None)
        await world.sleep(120)
        assert await ready_replicas(world, old, "web") == 3
        assert await identities(world, "web", [old]) == before
        await world.member(new).start()
        await world.sleep(120)
        assert await ready_replicas(world, old, "web") == -1
        assert await ready_replicas(world, new, "web") == 3

    play(story, members)


@in_world(PULLED)
async def test_a_copy_that_its_member_does_not_delete_is_told_until_it_is_gone(world: World) -> None:
    """An application moves, and runs twice: an admission webhook of the old cluster is down."""
    await apply(world.client, deployment("web", 3), policy("web", on("member1")))
    await world.sleep(30)
    answers(world.member("member1").place, lambda r: status(500, "InternalError") if r.method == "DELETE" else None)
    await world.client.patch(POLICIES, "web", {"spec": {"placement": on("member2")}}, "default")
    await world.sleep(120)
    assert [await ready_replicas(world, name, "web") for name in ("member1", "member2")] == [3, 3]
    (told,) = (await look_at_fleet(world.client, world.clock)).findings
    assert "still has an old copy (Refused, since " in told.sentence
    assert "Still runs in member1, because the cluster refuses to delete Deployment default/web: " in told.sentence
    answers(world.member("member1").place, lambda _: None)
    await world.sleep(120)
    assert await ready_replicas(world, "member1", "web") == -1
    assert not (await look_at_fleet(world.client, world.clock)).findings


@in_world({"member1": "Pull"})
async def test_l3_what_a_slow_member_makes_after_its_application_was_deleted_is_removed(world: World) -> None:
    """The member answers too late: the object comes when the agent has asked in vain, and its Work is to go."""
    place = world.member("member1").place

    async def slow(request: Request, work: Callable[[], Answering]) -> Response | StreamResponse:
        if request.method == "POST" and request.path.endswith("/deployments"):
            await world.sleep(20)
        return await work()

    place.audit = slow
    await apply(world.client, deployment("web", 3), policy("web", on("member1")))
    await world.sleep(12)
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.sleep(5)
    assert await ready_replicas(world, "member1", "web") == -1, "not yet"
    await world.sleep(120)
    assert await ready_replicas(world, "member1", "web") == -1
    assert not (await world.client.list(WORKS, execution_space("member1"))).items
