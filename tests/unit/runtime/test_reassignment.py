"""A Work that is being deleted, and is wanted again, or not any more: what is written to it, and on what that rests."""

from typing import Any

import pytest

from kubeapi.status import Status
from kubeclient import Conflict, NotServed
from leeward.api.names import REASSIGNED_ANNOTATION, REMOVAL_HELD_ANNOTATION
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Work
from leeward.runtime.reassignment import keep_objects, mark_removal
from tests.unit.controllers.desk import MEMBER, SPACE, Desk, play

KEPT = ["example.com/keep"]


async def going(desk: Desk, annotations: dict[str, str] | None = None, **spec: Any) -> Work:
    """A Work that is being deleted; `web` in the space of a cluster that is there."""
    metadata = {"finalizers": KEPT, "annotations": annotations or {}}
    await desk.work(metadata=metadata, **spec)
    await desk.client.delete(WORKS, "web", SPACE)
    return await desk.seen()


def test_it_is_told_to_keep_its_objects_in_the_version_that_was_seen_s5() -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        work = await going(desk)
        after = await keep_objects(desk.plane.client, work)
        (sent,) = desk.wire.writes()
        assert sent.version == work.metadata.resource_version
        assert after.spec.preserve_resources_on_deletion is True
        assert after.metadata.annotations[REASSIGNED_ANNOTATION] == "true"
        assert await keep_objects(desk.plane.client, after) is after
        assert desk.wire.sent == [], "what is so already is neither asked for nor written"
        await desk.note()
        with pytest.raises(Conflict):
            await keep_objects(desk.plane.client, work)

    play(story)


def test_of_a_cluster_that_leaves_or_is_gone_nothing_is_kept() -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        work = await going(desk)
        await desk.client.patch(CLUSTERS, MEMBER, {"metadata": {"finalizers": KEPT}})
        await desk.client.delete(CLUSTERS, MEMBER)
        assert await keep_objects(desk.plane.client, work) is work
        await desk.client.patch(CLUSTERS, MEMBER, {"metadata": {"finalizers": None}})
        assert await keep_objects(desk.plane.client, work) is work
        assert [sent.path.rpartition("/")[2] for sent in desk.wire.sent] == [MEMBER, MEMBER]
        assert desk.wire.writes() == []

    play(story)


def test_a_cluster_that_cannot_be_seen_is_not_gone_s5() -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        work = await going(desk)
        desk.wire.refuse = lambda request: NotServed(Status(code=404)) if request.path.endswith(MEMBER) else None
        with pytest.raises(NotServed):
            await keep_objects(desk.plane.client, work)

    play(story)


def test_what_was_only_wanted_again_is_taken_back_and_no_wish_of_a_policy_s5() -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        work = await keep_objects(desk.client, await going(desk))
        after = await mark_removal(desk.plane.client, work)
        assert after.spec.preserve_resources_on_deletion is False
        assert REASSIGNED_ANNOTATION not in after.metadata.annotations
        assert [sent.version for sent in desk.wire.writes()] == [work.metadata.resource_version]
        assert await mark_removal(desk.plane.client, after) is after
        assert desk.wire.sent == []

    play(story)


def test_a_wish_of_a_policy_stays() -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        work = await going(desk, preserveResourcesOnDeletion=True)
        assert await mark_removal(desk.plane.client, work) is work
        again = await keep_objects(
            desk.client, await desk.client.patch(WORKS, "web", {"spec": {"preserveResourcesOnDeletion": False}}, SPACE)
        )
        after = await mark_removal(desk.plane.client, again, preserve=True)
        assert after.spec.preserve_resources_on_deletion is True
        assert REASSIGNED_ANNOTATION not in after.metadata.annotations

    play(story)


def test_that_a_removal_is_held_is_noted_once_and_taken_back_once_s1() -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        work = await going(desk)
        held = await mark_removal(desk.plane.client, work, held=True)
        assert held.metadata.annotations[REMOVAL_HELD_ANNOTATION] == "true"
        (sent,) = desk.wire.writes()
        assert (sent.version, sent.path) == (
            work.metadata.resource_version,
            f"/apis/work.karmada.io/v1alpha1/namespaces/{SPACE}/works/web",
        )
        assert await mark_removal(desk.plane.client, held, held=True) is held
        assert desk.wire.sent == []
        released = await mark_removal(desk.plane.client, held)
        assert REMOVAL_HELD_ANNOTATION not in released.metadata.annotations
        assert [sent.version for sent in desk.wire.writes()] == [held.metadata.resource_version]

    play(story)
