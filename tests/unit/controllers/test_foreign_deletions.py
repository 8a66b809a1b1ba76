"""Works that left their objects to the next Work of their name: when a successor is made that nobody wants."""

import asyncio
from datetime import timedelta

from controller_runtime.identity import Key
from leeward.api.names import (
    BINDING_NAME_ANNOTATION,
    BINDING_NAMESPACE_ANNOTATION,
    EXECUTION_CONTROLLER_FINALIZER,
    REASSIGNED_ANNOTATION,
    WORK_ID_LABEL,
)
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Work
from leeward.controllers.binding.foreign_deletions import ForeignDeletions
from leeward.runtime.reassignment import FOREIGN_DELETION_REST
from tests.unit.controllers.desk import CLOCK, MEMBER, SPACE, Desk, play

OWNER = Key("default", "web-deployment")
MARKS = {BINDING_NAMESPACE_ANNOTATION: "default", BINDING_NAME_ANNOTATION: "web-deployment"}
LATER = 10.0
"""Seconds after which a Work that somebody else has deleted may be made anew."""


async def following(desk: Desk) -> ForeignDeletions:
    await desk.cluster()
    deletions = ForeignDeletions(desk.plane)
    works = desk.plane.informers.of(WORKS)
    works.on_change(deletions.note_change)
    await works.wait_synced()
    await desk.plane.informers.of(CLUSTERS).wait_synced()
    return deletions


async def left(desk: Desk, deletions: ForeignDeletions, *, preserve: bool = False) -> Work:
    """A Work that somebody has deleted, and that is gone without its objects; as it was."""
    metadata = {"labels": {WORK_ID_LABEL: "id-1"}, "annotations": MARKS, "finalizers": [EXECUTION_CONTROLLER_FINALIZER]}
    before = await desk.work(metadata=metadata, preserveResourcesOnDeletion=preserve)
    await asyncio.sleep(1)
    await desk.client.delete(WORKS, "web", SPACE)
    await asyncio.sleep(1)
    assert (await deletions.keep(await desk.seen())).metadata.finalizers == ()
    await asyncio.sleep(1)
    desk.wire.sent.clear()
    return before


def test_l3_the_successor_is_as_the_work_was_and_is_made_once_and_after_a_rest() -> None:
    async def story(desk: Desk) -> None:
        deletions = await following(desk)
        before = await left(desk, deletions)
        until = await deletions.succeed(OWNER)
        assert desk.wire.writes() == []
        assert until is not None
        assert timedelta() < until - CLOCK.now() <= FOREIGN_DELETION_REST
        await asyncio.sleep(LATER)
        assert await deletions.succeed(OWNER) is None
        made = await desk.seen()
        assert made.metadata.uid != before.metadata.uid
        assert (made.metadata.labels, made.metadata.annotations) == (
            before.metadata.labels,
            before.metadata.annotations,
        )
        assert (made.metadata.finalizers, made.spec) == (before.metadata.finalizers, before.spec)
        assert len(desk.wire.writes()) == 1
        await asyncio.sleep(1)
        assert await deletions.succeed(OWNER) is None
        assert desk.wire.writes() == []

    play(story)


def test_what_its_policy_preserves_is_preserved_in_the_successor() -> None:
    async def story(desk: Desk) -> None:
        deletions = await following(desk)
        await left(desk, deletions, preserve=True)
        await asyncio.sleep(LATER)
        await deletions.succeed(OWNER)
        made = await desk.seen()
        assert made.spec.preserve_resources_on_deletion is True
        assert REASSIGNED_ANNOTATION not in made.metadata.annotations

    play(story)


def test_none_is_made_where_one_is_wanted_nor_for_another_binding_nor_in_a_cluster_that_leaves() -> None:
    async def story(desk: Desk) -> None:
        deletions = await following(desk)
        await left(desk, deletions)
        await asyncio.sleep(LATER)
        assert await deletions.succeed(OWNER, {MEMBER}) is None
        assert await deletions.succeed(Key("default", "shop-deployment")) is None
        await desk.client.patch(CLUSTERS, MEMBER, {"metadata": {"finalizers": ["example.com/keep"]}})
        await desk.client.delete(CLUSTERS, MEMBER)
        await asyncio.sleep(1)
        assert await deletions.succeed(OWNER) is None
        assert desk.wire.writes() == []

    play(story)


def test_none_is_made_where_the_next_work_is_there_nor_after_that() -> None:
    async def story(desk: Desk) -> None:
        deletions = await following(desk)
        await left(desk, deletions)
        await asyncio.sleep(LATER)
        await desk.work(metadata={"annotations": MARKS})
        await asyncio.sleep(1)
        assert await deletions.succeed(OWNER) is None
        await desk.client.delete(WORKS, "web", SPACE)
        await asyncio.sleep(LATER)
        assert await deletions.succeed(OWNER) is None
        assert desk.wire.writes() == []

    play(story)


def test_one_that_is_there_though_it_was_not_listed_is_taken_for_the_successor() -> None:
    async def story(desk: Desk) -> None:
        deletions = await following(desk)
        await left(desk, deletions)
        await asyncio.sleep(LATER)

        async def made_meanwhile() -> None:
            await desk.work(metadata={"annotations": MARKS})

        desk.wire.before["POST"] = made_meanwhile
        assert await deletions.succeed(OWNER) is None
        assert len(desk.wire.writes()) == 1

    play(story)
