"""A control plane is restored under controllers that go on, and one kind is listed again long after the others.

What they were about to remove by what they know was removed of the restored control plane, whose objects still had the
uid and the resourceVersion that they knew.
"""

from collections.abc import Awaitable, Callable

import pytest

from kubeclient import Request, Response
from kubeserver.store.backup import revision_behind
from kubeserver.store.medium import Loaded
from leeward.api.resource import CLUSTERS
from leeward.sim.world import Mode, World
from tests.world.stories import CONFIG_MAPS, DEPLOYMENTS, POLICIES, apply, identities, in_world, play, ready_replicas
from tests.world.test_dependencies import config, followed, reading
from tests.world.test_detection import answers, status
from tests.world.test_ownership import on
from tests.world.test_restored import ONE_COPY, PUSHED, WEB, placed

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


async def restored(world: World, asked: Asked, old: str, late: str, down_seconds: float = 20) -> None:
    """`asked` comes after the backup, and cannot be carried out before it is restored; `late` is not listed then."""
    backup = await world.medium.load()
    await asked(world, old)
    await world.sleep(2)
    newest = (await world.medium.load()).records[-1].revision
    world.crash_apiserver()
    answers(world.place, unlisted(late))
    await world.sleep(down_seconds)
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
@in_world(PUSHED)
async def test_s1_what_was_asked_for_after_the_backup_is_not_carried_out_of_a_cache_of_before(
    world: World, asked: Asked, late: str
) -> None:
    old = await placed(world)
    before = await identities(world, "web", [old])
    answers(world.place, without_removals)
    await restored(world, asked, old, late)
    await stays(world, old, before)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["Push", "Pull"])
def test_s1_a_member_deletes_nothing_of_works_that_were_deleted_before_the_restore(mode: Mode) -> None:
    async def story(world: World) -> None:
        old = await placed(world)
        before = await identities(world, "web", [old])
        answers(world.member(old).place, keeping)
        await restored(world, deleted, old, "/works", down_seconds=0.2)
        answers(world.member(old).place, lambda _: None)
        await stays(world, old, before)

    play(story, dict.fromkeys(PUSHED, mode))


def without_changes(*parts: str) -> Callable[[Request], Response | None]:
    """Nothing can be changed or deleted of which the path has one of these parts."""

    def instead(request: Request) -> Response | None:
        is_change = request.method in ("PATCH", "DELETE") and any(part in request.path for part in parts)
        return status(500, "InternalError") if is_change else None

    return instead


async def read_no_more(world: World, old: str) -> None:
    """A release of the application, which does not read the ConfigMap."""
    containers = [{"name": "app", "image": "nginx:2"}]
    template = {"spec": {"containers": containers}}
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"template": template}}, "default")


async def followed_no_more(world: World, old: str) -> None:
    await world.client.patch(POLICIES, "web", {"spec": {"propagateDeps": False}}, "default")


@pytest.mark.long
@pytest.mark.parametrize(
    ("asked", "blocked", "late"),
    [
        pytest.param(followed_no_more, ("settings", "/works"), "/resourcebindings", id="its binding said so"),
        pytest.param(read_no_more, ("/resourcebindings", "/works"), "/deployments", id="its template said so"),
    ],
)
@in_world(PUSHED)
async def test_s1_what_an_application_reads_stays_when_that_was_to_go_before_the_restore(
    world: World, asked: Asked, blocked: tuple[str, ...], late: str
) -> None:
    """Neither is the application rolled out by a template that is no more."""
    web = reading("web", "settings", replicas=3)
    await apply(world.client, config("settings"), web, followed("web", ONE_COPY))
    await world.until(lambda: len(world.assigned(WEB)) == 1, 60)
    await world.sleep(60)
    (old,) = world.assigned(WEB)
    settings = await identities(world, "settings", [old], CONFIG_MAPS)
    assert settings.keys() == {old}
    before = await identities(world, "web", [old])
    answers(world.place, without_changes(*blocked))
    await restored(world, asked, old, late)
    for second in range(3 * LATE_SECONDS):
        await world.sleep(1)
        if second == LATE_SECONDS:
            answers(world.place, lambda _: None)
        assert await identities(world, "settings", [old], CONFIG_MAPS) == settings
        assert await identities(world, "web", [old]) == before


@pytest.mark.long
@pytest.mark.parametrize(
    "unread",
    [("/deployments",), ("/deployments", "/deployments/web"), ("/propagationpolicies",), ("/overridepolicies",)],
    ids=["it is read by its name", "it cannot be read at all", "policies", "override policies"],
)
@in_world(PUSHED)
async def test_l1_an_application_fails_over_though_a_kind_cannot_be_listed(
    world: World, unread: tuple[str, ...]
) -> None:
    """The API server was away, and lists a kind no more: its conversion webhook is dead, say."""

    def instead(request: Request) -> Response | None:
        is_refused = request.method == "GET" and request.path.endswith(unread)
        return status(500, "InternalError") if is_refused else None

    old = await placed(world)
    world.crash_apiserver()
    answers(world.place, instead)
    await world.sleep(20)
    await world.start_apiserver()
    await world.sleep(60)
    await world.member(old).stop()
    await world.until(lambda: old not in world.assigned(WEB), 900)
    (new,) = world.assigned(WEB)
    await world.sleep(60)
    assert await ready_replicas(world, new, "web") == 3


@pytest.mark.long
@in_world(PUSHED)
async def test_l1_what_an_application_reads_follows_it_though_its_kind_cannot_be_listed(world: World) -> None:
    web = reading("web", "settings", replicas=3)
    await apply(world.client, config("settings"), web, followed("web", ONE_COPY))
    await world.until(lambda: len(world.assigned(WEB)) == 1, 60)
    await world.sleep(60)
    (old,) = world.assigned(WEB)
    world.crash_apiserver()
    answers(world.place, unlisted("/configmaps"))
    await world.sleep(20)
    await world.start_apiserver()
    await world.sleep(60)
    await world.member(old).stop()
    await world.until(lambda: old not in world.assigned(WEB), 900)
    (new,) = world.assigned(WEB)
    await world.sleep(60)
    assert (await identities(world, "settings", [new], CONFIG_MAPS)).keys() == {new}
    assert await ready_replicas(world, new, "web") == 3
