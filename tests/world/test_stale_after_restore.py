"""A control plane is restored under controllers that go on, and one kind is listed again long after the others.

What they were about to remove by what they know was removed of the restored control plane, whose objects still had the
uid and the resourceVersion that they knew.
"""

from collections.abc import Awaitable, Callable

import pytest

from kubeserver.store.backup import revision_behind
from kubeserver.store.medium import Loaded
from leeward.api.resource import CLUSTERS
from leeward.client import Request, Response
from leeward.sim.world import Mode, World
from tests.world.stories import DEPLOYMENTS, POLICIES, identities, play, ready_replicas
from tests.world.test_detection import answers, status
from tests.world.test_ownership import on
from tests.world.test_restored import PUSHED, WEB, placed

LATE_SECONDS = 60
Asked = Callable[[World, str], Awaitable[object]]


def without_removals(request: Request) -> Response | None:
    """No Work can be deleted."""
    return status(500, "InternalError") if request.method == "DELETE" and "/works" in request.path else None


def unlisted(plural: str) -> Callable[[Request], Response | None]:
    """The kind is neither listed nor watched; what is asked for by name is there."""

    def instead(request: Request) -> Response | None:
        is_list = request.method == "GET" and request.path.endswith(plural)
        return status(500, "InternalError") if is_list else None

    return instead


async def moved(world: World, old: str) -> None:
    new = next(name for name in PUSHED if name != old)
    await world.client.patch(POLICIES, "web", {"spec": {"placement": on(new)}}, "default")
    await world.until(lambda: list(world.assigned(WEB)) == [new], 60)


async def deleted(world: World, old: str) -> None:
    await world.client.delete(DEPLOYMENTS, "web", "default")


async def unjoined(world: World, old: str) -> None:
    await world.client.delete(CLUSTERS, old)


def keeping(request: Request) -> Response | None:
    """The member lets nobody delete a workload."""
    return status(500, "InternalError") if request.method == "DELETE" and "/deployments" in request.path else None


async def restored(world: World, asked: Asked, old: str, late: str) -> None:
    """`asked` comes after the backup, and cannot be carried out before it is restored; `late` is not listed then."""
    backup = await world.medium.load()
    await asked(world, old)
    await world.sleep(2)
    newest = (await world.medium.load()).records[-1].revision
    world.crash_apiserver()
    answers(world.place, unlisted(late))
    await world.sleep(20)
    copied = max(record.revision for record in backup.records)
    world.medium.replace(Loaded(tuple(backup.records), revision_behind(copied, newest)))
    await world.start_apiserver()


async def stays(world: World, old: str, before: dict[str, tuple[str, int]]) -> None:
    """The copy is never gone, neither while the late kind is unlisted nor after."""
    for second in range(3 * LATE_SECONDS):
        await world.sleep(1)
        if second == LATE_SECONDS:
            answers(world.place, lambda _: None)
        assert await identities(world, "web", [old]) == before
        assert await ready_replicas(world, old, "web") == 3
    assert list(world.assigned(WEB)) == [old]


@pytest.mark.parametrize(
    ("asked", "late"),
    [
        pytest.param(moved, "/resourcebindings", id="it was moved", marks=pytest.mark.long),
        pytest.param(moved, "/propagationpolicies", id="its policy said so", marks=pytest.mark.long),
        pytest.param(deleted, "/resourcebindings", id="it was deleted"),
        pytest.param(unjoined, "/clusters", id="its cluster was leaving"),
    ],
)
def test_s1_what_was_asked_for_after_the_backup_is_not_carried_out_of_a_cache_of_before(
    asked: Asked, late: str
) -> None:
    async def story(world: World) -> None:
        old = await placed(world)
        before = await identities(world, "web", [old])
        answers(world.place, without_removals)
        await restored(world, asked, old, late)
        await stays(world, old, before)

    play(story, PUSHED)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["Push", "Pull"])
def test_s1_a_member_deletes_nothing_of_works_that_were_deleted_before_the_restore(mode: Mode) -> None:
    async def story(world: World) -> None:
        old = await placed(world)
        before = await identities(world, "web", [old])
        answers(world.member(old).place, keeping)
        await restored(world, deleted, old, "/works")
        answers(world.member(old).place, lambda _: None)
        await stays(world, old, before)

    play(story, dict.fromkeys(PUSHED, mode))
