"""The objects of a member: what is written to them, and what is never touched."""

import asyncio
from contextlib import nullcontext
from functools import partial

import pytest

from controller_runtime.identity import Key
from controller_runtime.informer_cache import without_owned_fields
from kubeapi.status import Status
from kubeclient import AlreadyExists, Conflict, Unreachable
from leeward.api.names import (
    BINDING_NAME_ANNOTATION,
    BINDING_NAMESPACE_ANNOTATION,
    CONFLICT_RESOLUTION_ANNOTATION,
    HUB_ANNOTATION,
    WORK_GENERATION_ANNOTATION,
    WORK_NAME_ANNOTATION,
    WORK_NAMESPACE_ANNOTATION,
)
from leeward.api.resource import WORKS
from leeward.controllers.execution.member_objects import (
    Foreign,  # pyright: ignore[reportPrivateUsage]
)
from tests.unit.controllers.desk import CONFIG_MAPS, SPACE
from tests.unit.controllers.member_hands import OF_WORK, PATH, Hands, tell


def test_what_is_not_there_is_made_with_its_marks_and_told() -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        hands.desk.line.sent.clear()
        await hands.objects.apply(work, manifest)
        assert methods(hands) == ["POST"]
        found = await hands.there()
        marks = found["metadata"]["annotations"]
        assert found["data"] == {"color": "red"}
        assert {key: marks[key] for key in OF_WORK} == OF_WORK
        assert marks[HUB_ANNOTATION] == hands.works.hub != ""
        assert marks[WORK_GENERATION_ANNOTATION] == str(work.metadata.generation)
        assert hands.written == ["web"]
        assert hands.desk.member.server.informers.of(CONFIG_MAPS).get("colors", "default") == without_owned_fields(
            found
        )
        assert (hands.counted("create"), hands.counted("create", "error")) == (1, 0)

    tell(story)


def test_what_is_as_it_is_to_be_is_neither_asked_for_nor_written_l5() -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        await hands.objects.apply(work, manifest)
        hands.desk.line.sent.clear()
        await hands.objects.apply(work, manifest)
        assert hands.desk.line.sent == []
        assert hands.written == ["web"]

    tell(story)


def test_what_was_there_before_this_process_is_found_in_the_cache_l6() -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        await hands.objects.apply(work, manifest)
        hands.desk.line.sent.clear()
        anew = Hands(hands.desk, hands.works)
        await anew.objects.apply(work, manifest)
        assert hands.desk.line.sent == []

    tell(story)


def test_other_contents_are_written_over_what_was_seen_and_keep_what_is_others_s5_s9() -> None:
    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        patch = {"metadata": {"labels": {"example.com/team": "shop"}}}
        before = await hands.desk.there.patch(CONFIG_MAPS, "colors", patch, "default")
        hands.desk.line.writes()
        work, manifest = await hands.change("blue")
        await asyncio.sleep(0.1)
        hands.desk.line.sent.clear()
        await hands.objects.apply(work, manifest)
        (sent,) = hands.desk.line.sent
        assert (sent.method, sent.path) == ("PUT", f"{PATH}/colors")
        assert sent.version == before["metadata"]["resourceVersion"]
        found = await hands.there()
        assert (found["data"], found["metadata"]["uid"]) == ({"color": "blue"}, before["metadata"]["uid"])
        assert found["metadata"]["labels"]["example.com/team"] == "shop"
        assert found["metadata"]["annotations"][WORK_GENERATION_ANNOTATION] == str(work.metadata.generation)
        assert hands.written == ["web", "web"]
        assert hands.desk.member.server.informers.of(CONFIG_MAPS).get("colors", "default") == without_owned_fields(
            found
        )
        assert (hands.counted("update"), hands.counted("update", "error")) == (1, 0)

    tell(story)


def test_an_object_that_is_not_ours_is_left_as_it_is_s6() -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        before = await hands.desk.map_there("colors", {"color": "theirs"})
        with pytest.raises(Foreign) as foreign:
            await hands.objects.apply(work, manifest)
        assert str(foreign.value) == (
            "it exists in cluster member1 and is not managed by this Work; "
            "remove it there, or set conflictResolution: Overwrite in the policy"
        )
        assert await hands.there() == before
        assert hands.written == []

    tell(story)


@pytest.mark.parametrize("resolution", ["overwrite", "abort"])
def test_what_another_work_has_made_is_told_with_a_way_out_that_helps(resolution: str) -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work(metadata={"annotations": {CONFLICT_RESOLUTION_ANNOTATION: resolution}})
        owner = {WORK_NAMESPACE_ANNOTATION: "karmada-es-member9", WORK_NAME_ANNOTATION: "web"}
        await hands.desk.map_there("colors", {"color": "theirs"}, annotations=owner)
        with pytest.raises(Foreign) as foreign:
            await hands.objects.apply(work, manifest)
        told = (
            "it exists in cluster member1 and was made from another Work (karmada-es-member9/web), which is not "
            "overwritten; if that is gone, or if it was copied from another cluster, remove it there, or remove its "
            f"annotation {WORK_NAME_ANNOTATION} there"
        )
        also = " and set conflictResolution: Overwrite in the policy"
        assert str(foreign.value) == (told if resolution == "overwrite" else told + also)
        unnamed = {"metadata": {"annotations": {WORK_NAME_ANNOTATION: None}}}
        await hands.desk.there.patch(CONFIG_MAPS, "colors", unnamed, "default")
        await hands.desk.client.patch(
            WORKS, "web", {"metadata": {"annotations": {CONFLICT_RESOLUTION_ANNOTATION: "overwrite"}}}, SPACE
        )
        await hands.objects.apply(await hands.desk.seen(), manifest)
        assert (await hands.there())["data"] == {"color": "red"}

    tell(story)


@pytest.mark.parametrize("resolution", ["overwrite", "abort"])
@pytest.mark.parametrize("owner", [{}, {WORK_NAMESPACE_ANNOTATION: SPACE, WORK_NAME_ANNOTATION: "another"}])
def test_nobodys_object_is_overwritten_where_that_is_asked_for_and_no_other_works_s6(
    resolution: str, owner: dict[str, str]
) -> None:
    async def story(hands: Hands) -> None:
        annotations = {CONFLICT_RESOLUTION_ANNOTATION: resolution}
        work, manifest = await hands.work(metadata={"annotations": annotations})
        before = await hands.desk.map_there("colors", {"color": "theirs"}, annotations=owner)
        if resolution == "overwrite" and not owner:
            await hands.objects.apply(work, manifest)
            assert (await hands.there())["data"] == {"color": "red"}
        else:
            with pytest.raises(Foreign):
                await hands.objects.apply(work, manifest)
            assert await hands.there() == before

    tell(story)


def test_an_object_of_another_control_plane_is_left_to_it_whatever_is_asked_for_s6() -> None:
    async def story(hands: Hands) -> None:
        annotations = {CONFLICT_RESOLUTION_ANNOTATION: "overwrite"}
        work, manifest = await hands.work(metadata={"annotations": annotations})
        before = await hands.desk.map_there("colors", annotations={**OF_WORK, HUB_ANNOTATION: "another"})
        message = (
            rf"^it belongs to another control plane \(another; this one is {hands.works.hub}\) and is left to it; "
            "give it another name here, or have the other one give it up, and then remove its annotation "
            f"{HUB_ANNOTATION} in cluster member1$"
        )
        with pytest.raises(Foreign, match=message):
            await hands.objects.apply(work, manifest)
        await asyncio.sleep(0.1)
        hands.desk.line.sent.clear()
        with pytest.raises(Foreign, match=message):
            await hands.objects.apply(work, manifest)
        assert hands.desk.line.sent == [], "it is known now"
        assert await hands.there() == before

    tell(story)


def test_what_a_binding_cannot_reach_is_not_written_in_its_name() -> None:
    async def story(hands: Hands) -> None:
        annotations = {BINDING_NAMESPACE_ANNOTATION: "elsewhere", BINDING_NAME_ANNOTATION: "web"}
        work, manifest = await hands.work(metadata={"annotations": annotations})
        with pytest.raises(Foreign, match=r"^it is in namespace default, where ResourceBinding elsewhere/web does not"):
            await hands.objects.apply(work, manifest)
        assert hands.desk.line.sent == []

    tell(story)


def test_who_was_first_to_make_it_is_looked_at_again_s6() -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        there = AlreadyExists(Status(code=409, reason="AlreadyExists", message="it is there"))
        hands.desk.line.refuse = lambda request: there if request.method == "POST" else None
        with pytest.raises(Conflict, match="it is there"):
            await hands.objects.apply(work, manifest)
        assert (hands.counted("create"), hands.counted("create", "error")) == (0, 1)
        assert hands.written == []

    tell(story)


@pytest.mark.parametrize("resolution", ["overwrite", "abort"])
def test_what_the_watch_has_not_told_yet_is_found_when_it_cannot_be_made_s6(resolution: str) -> None:
    async def story(hands: Hands) -> None:
        annotations = {CONFLICT_RESOLUTION_ANNOTATION: resolution}
        work, manifest = await hands.work(metadata={"annotations": annotations})
        hands.desk.line.before["POST"] = partial(hands.desk.map_there, "colors", {"color": "theirs"})
        if resolution == "overwrite":
            await hands.objects.apply(work, manifest)
            assert methods(hands) == ["POST", "GET", "PUT"]
            assert (await hands.there())["data"] == {"color": "red"}
        else:
            with pytest.raises(Foreign, match="is not managed by this Work"):
                await hands.objects.apply(work, manifest)
            assert methods(hands) == ["POST", "GET"]
            assert (await hands.there())["data"] == {"color": "theirs"}

    tell(story)


def test_what_has_changed_meanwhile_is_read_and_its_contents_are_written_over_that_s9() -> None:
    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        work, manifest = await hands.change("blue")
        patch = {"metadata": {"labels": {"example.com/team": "shop"}}}
        late = partial(hands.desk.there.patch, CONFIG_MAPS, "colors", patch, "default")
        hands.desk.line.before["PUT"] = late
        hands.desk.line.sent.clear()
        await hands.objects.apply(work, manifest)
        assert methods(hands) == ["PUT", "GET", "PUT"]
        found = await hands.there()
        assert (found["data"], found["metadata"]["labels"]["example.com/team"]) == ({"color": "blue"}, "shop")

    tell(story)


def test_what_was_deleted_meanwhile_is_made_again() -> None:
    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        work, manifest = await hands.change("blue")
        hands.desk.line.before["PUT"] = partial(hands.desk.there.delete, CONFIG_MAPS, "colors", "default")
        hands.desk.line.sent.clear()
        await hands.objects.apply(work, manifest)
        assert methods(hands) == ["PUT", "GET", "POST"]
        assert (await hands.there())["data"] == {"color": "blue"}

    tell(story)


def test_after_an_outage_the_member_is_asked_before_anything_is_written_over_what_was_known() -> None:
    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        work, manifest = await hands.change("blue")
        await hands.desk.condition(lastTransitionTime="2025-01-02T00:00:00Z")
        await asyncio.sleep(0.1)
        hands.desk.line.sent.clear()
        await hands.objects.apply(work, manifest)
        assert methods(hands) == ["GET", "PUT"]

    tell(story)


def methods(hands: Hands) -> list[str]:
    """Methods of the requests about the object, or for it."""
    return [sent.method for sent in hands.desk.line.sent if sent.path.startswith(PATH)]


def test_what_was_written_as_it_was_to_be_is_looked_at_no_more() -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        await hands.objects.apply(work, manifest)
        await asyncio.sleep(1)
        assert hands.added == []
        work, manifest = await hands.change("blue")
        await hands.objects.apply(work, manifest)
        await asyncio.sleep(1)
        assert (await hands.there())["data"] == {"color": "blue"}
        assert hands.added == []
        await hands.desk.there.patch(CONFIG_MAPS, "colors", {"data": {"color": "gray"}}, "default")
        await asyncio.sleep(1)
        assert set(hands.added) == {"web"}

    tell(story)


@pytest.mark.parametrize("write", ["POST", "PUT"])
def test_what_somebody_changes_before_our_answer_is_there_is_looked_at(write: str) -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        if write == "PUT":
            await hands.objects.apply(work, manifest)
            work, manifest = await hands.change("blue")
        await asyncio.sleep(1)

        async def spoil() -> None:
            await hands.desk.there.patch(CONFIG_MAPS, "colors", {"data": {"color": "gray"}}, "default")
            await asyncio.sleep(1)

        hands.desk.line.after[write] = spoil
        await hands.objects.apply(work, manifest)
        assert hands.added == ["web"]

    tell(story)


def test_what_a_server_keeps_otherwise_than_it_was_written_is_looked_at() -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        await hands.objects.apply(work, {**manifest, "unknown": "nobody keeps this"})
        assert hands.added == ["web"]

    tell(story)


def test_a_write_that_fails_has_looked_at_what_was_told_meanwhile() -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        await hands.objects.apply(work, manifest)
        work, manifest = await hands.change("blue")

        async def spoil() -> None:
            await hands.desk.there.patch(CONFIG_MAPS, "colors", {"data": {"color": "gray"}}, "default")
            await asyncio.sleep(1)

        hands.desk.line.before["PUT"] = spoil
        await hands.objects.apply(work, manifest)
        assert "web" in hands.added
        assert (await hands.there())["data"] == {"color": "blue"}, "what was told is written over, as it was to be"

    tell(story)


def test_of_two_works_that_write_one_object_at_once_both_are_looked_at() -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        await hands.objects.apply(work, manifest)
        index, resource, key = hands.objects.backlinks, CONFIG_MAPS, Key("default", "colors")
        with index.holding(resource, key) as first:
            with index.holding(resource, key) as second:
                await hands.desk.there.patch(CONFIG_MAPS, "colors", {"data": {"color": "gray"}}, "default")
                await asyncio.sleep(1)
            assert first == second == {"web"}
            assert hands.added == []
            await hands.desk.there.patch(CONFIG_MAPS, "colors", {"data": {"color": "green"}}, "default")
            await asyncio.sleep(1)
        assert set(hands.added) == {"web"}, "whoever ends first ends it for both"

    tell(story)


@pytest.mark.parametrize(("hub", "made"), [("has it", True), ("has it no more", False), ("is silent", True)])
def test_what_works_from_before_a_restore_ask_for_is_made_unless_the_control_plane_says_otherwise(
    hub: str, *, made: bool
) -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        hands.desk.plane.informers.of(WORKS).doubt()
        if hub == "has it no more":
            await hands.desk.client.patch(WORKS, "web", {"metadata": {"finalizers": None}}, SPACE)
            await hands.desk.client.delete(WORKS, "web", SPACE)
        if hub == "is silent":
            hands.desk.wire.refuse = lambda request: Unreachable("no answer") if "/works/" in request.path else None
        hands.desk.line.sent.clear()
        with nullcontext() if made else pytest.raises(Conflict, match="is going, or has gone"):
            await hands.objects.apply(work, manifest)
        assert methods(hands) == (["POST"] if made else [])

    tell(story)
