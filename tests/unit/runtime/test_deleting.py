"""Deleting what was seen: each request names uid and resourceVersion, and what has changed is looked at again."""

import pytest

from controller_runtime.deleting import ATTEMPTS, delete_seen
from kubeapi.status import Status
from kubeclient import Conflict, NotServed, Request
from leeward.api.resource import CLUSTERS, WORKS
from tests.unit.controllers.desk import MEMBER, SPACE, Desk, play, preconditions

PATH = f"/apis/work.karmada.io/v1alpha1/namespaces/{SPACE}/works/web"


def test_it_is_deleted_as_the_one_and_in_the_version_that_was_seen_s5() -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        work = await desk.work()
        assert await delete_seen(desk.plane.client, WORKS, "web", SPACE) is True
        asked, deleted = desk.wire.sent
        assert (asked.method, asked.path, deleted.method, deleted.path) == ("GET", PATH, "DELETE", PATH)
        assert preconditions(deleted) == (work.metadata.uid, work.metadata.resource_version)
        assert await delete_seen(desk.plane.client, WORKS, "web", SPACE) is False

    play(story)


def test_what_is_in_no_namespace_is_deleted_alike() -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        assert await delete_seen(desk.plane.client, CLUSTERS, MEMBER) is True
        assert [sent.path for sent in desk.wire.writes()] == [f"/apis/cluster.karmada.io/v1alpha1/clusters/{MEMBER}"]

    play(story)


def test_another_object_of_the_name_is_not_the_one_that_was_meant_s5() -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        work = await desk.work()
        assert await delete_seen(desk.plane.client, WORKS, "web", SPACE, uid="another") is False
        assert desk.wire.writes() == []
        assert await delete_seen(desk.plane.client, WORKS, "web", SPACE, uid=work.metadata.uid) is True

    play(story)


def test_what_has_changed_is_looked_at_again_so_often_and_no_more_s5() -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        await desk.work()
        desk.wire.before["DELETE"] = desk.note
        assert await delete_seen(desk.plane.client, WORKS, "web", SPACE) is True
        assert [sent.method for sent in desk.wire.sent] == ["GET", "DELETE"] * 2
        await desk.work()
        desk.wire.writes()

        def changing(request: Request) -> Conflict | None:
            return Conflict(Status(code=409)) if request.method == "DELETE" else None

        desk.wire.refuse = changing
        with pytest.raises(Conflict):
            await delete_seen(desk.plane.client, WORKS, "web", SPACE)
        assert len(desk.wire.writes()) == ATTEMPTS

    play(story)


def test_what_cannot_be_seen_is_not_gone_s5() -> None:
    async def story(desk: Desk) -> None:
        desk.wire.refuse = lambda request: NotServed(Status(code=404))
        with pytest.raises(NotServed):
            await delete_seen(desk.plane.client, WORKS, "web", SPACE)

    play(story)
