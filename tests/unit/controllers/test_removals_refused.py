"""Removals from a member that are held, are refused, or come too soon: what is asked, and what is told."""

import asyncio

import pytest

from kubeapi.status import Status
from kubeclient import ApiError, Forbidden, NotFound, NotServed, Request, TooManyRequests, Unreachable, WorldError
from leeward.api.names import REMOVAL_HELD_ANNOTATION
from leeward.api.resource import CLUSTERS, WORKS
from leeward.controllers.execution.member_objects import LATE_SECONDS
from leeward.controllers.execution.object_removal import RemovalRefused
from leeward.core.execution.ownership import stamp
from tests.unit.controllers.desk import CONFIG_MAPS, MEMBER, SPACE
from tests.unit.controllers.member_hands import PATH, Hands, tell

NOT_SERVED = NotServed(Status(code=404))
CLUSTER = {"metadata": {"finalizers": ["example.com/keep"]}}


@pytest.mark.parametrize("leaves", [False, True])
def test_what_is_held_by_now_is_not_deleted_unless_its_cluster_leaves_s1(leaves: bool) -> None:
    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        work = await hands.going()
        held = {"metadata": {"annotations": {REMOVAL_HELD_ANNOTATION: "true"}}}
        await hands.desk.client.patch(WORKS, "web", held, SPACE)
        if leaves:
            await hands.desk.client.patch(CLUSTERS, MEMBER, CLUSTER)
            await hands.desk.client.delete(CLUSTERS, MEMBER)
        hands.desk.line.writes()
        assert await hands.removal.remove(work) is not leaves
        assert [sent.method for sent in hands.desk.line.writes()] == ["DELETE"] * leaves

    tell(story)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Forbidden(Status(code=403, message="no")), RemovalRefused),
        (ApiError(Status(code=500, message="webhook is down")), RemovalRefused),
        (TooManyRequests(Status(code=429)), TooManyRequests),
        (Unreachable("cut"), Unreachable),
    ],
)
def test_a_refusal_to_delete_is_told_with_the_object_and_a_busy_member_is_none(
    error: WorldError, expected: type[WorldError]
) -> None:
    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        work = await hands.going()
        hands.desk.line.refuse = lambda request: error if request.method == "DELETE" else None
        with pytest.raises(expected) as raised:
            await hands.removal.remove(work)
        assert type(raised.value) is expected
        assert expected is not RemovalRefused or str(raised.value) == f"to delete ConfigMap default/colors: {error}"

    tell(story)


def test_what_a_slow_member_may_still_make_is_waited_for_l3() -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        hands.desk.line.refuse = lambda request: Unreachable("no answer") if request.method == "POST" else None
        with pytest.raises(Unreachable):
            await hands.objects.apply(work, manifest)
        work = await hands.going()
        assert await hands.removal.remove(work) is True, "it may come yet"
        await asyncio.sleep(LATE_SECONDS - 1)
        assert await hands.removal.remove(work) is True
        await asyncio.sleep(1)
        assert await hands.removal.remove(work) is False

    tell(story)


def test_an_object_of_a_kind_that_is_served_in_another_version_alone_is_deleted_in_that_s5() -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        await hands.objects.apply(work, manifest)
        older = {**manifest, "apiVersion": "v0"}
        await hands.desk.client.patch(WORKS, "web", {"spec": {"workload": {"manifests": [older]}}}, SPACE)
        work = await hands.going()
        hands.desk.line.writes()
        assert await hands.removal.remove(work) is False
        assert [(sent.method, sent.path) for sent in hands.desk.line.writes()] == [("DELETE", f"{PATH}/colors")]
        with pytest.raises(NotFound):
            await hands.desk.there.get(CONFIG_MAPS, "colors", "default")

    tell(story)


def test_a_kind_that_is_offered_and_not_served_for_a_moment_is_not_gone_s5() -> None:
    """The path of its objects is not answered, in the version of the Work and in no other."""

    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        await hands.objects.apply(work, manifest)
        work = await hands.going()

        def unserved(request: Request) -> WorldError | None:
            return NOT_SERVED if request.path.startswith(PATH) else None

        hands.desk.line.refuse = unserved
        assert await hands.removal.remove(work) is True
        older = stamp({**manifest, "apiVersion": "v0"}, SPACE, "web")
        await hands.desk.client.patch(WORKS, "web", {"spec": {"workload": {"manifests": [older]}}}, SPACE)
        assert await hands.removal.remove(await hands.desk.seen("web")) is True

    tell(story)
