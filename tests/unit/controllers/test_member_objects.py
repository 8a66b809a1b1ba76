"""The objects of a member: what is written to them, on what a deletion rests, and what is never touched."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from kubeapi.meta import Manifest
from kubeapi.status import Status
from leeward.api.names import (
    BINDING_NAME_ANNOTATION,
    BINDING_NAMESPACE_ANNOTATION,
    CONFLICT_RESOLUTION_ANNOTATION,
    HUB_ANNOTATION,
    WORK_GENERATION_ANNOTATION,
    WORK_ID_LABEL,
    WORK_NAME_ANNOTATION,
    WORK_NAMESPACE_ANNOTATION,
)
from leeward.api.resource import WORKS
from leeward.api.work import Work
from leeward.client import AlreadyExists, Conflict, NotServed, Request, Response, Undecodable, Unreachable, WorldError
from leeward.controllers.member_objects import (
    ROUNDING_SECONDS,
    Foreign,
    MemberObjects,
    WriteUndone,
    _by,  # pyright: ignore[reportPrivateUsage]
)
from leeward.core.execution.ownership import stamp
from leeward.runtime.discovery import UnknownKind
from leeward.runtime.member_works import MemberWorks
from tests.unit.controllers.desk import CLOCK, CONFIG_MAPS, DEPLOYMENTS, MEMBER, SPACE, Desk, play, preconditions

PATH = "/api/v1/namespaces/default/configmaps"
OF_WORK = {WORK_NAMESPACE_ANNOTATION: SPACE, WORK_NAME_ANNOTATION: "web"}
WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "default"}}


class Hands:
    """The objects of the member, and what was told of them."""

    def __init__(self, desk: Desk, works: MemberWorks) -> None:
        self.desk = desk
        self.added: list[str] = []
        self.written: list[str] = []
        self.works = works
        self.objects = MemberObjects(
            desk.plane, desk.member, works, self.added.append, lambda work: self.written.append(work.name)
        )

    async def work(self, *, color: str = "red", name: str = "web", **fields: Any) -> tuple[Work, Manifest]:
        """A Work with one ConfigMap `colors`, and that."""
        manifest = stamp(colors(color), SPACE, name)
        work = await self.desk.work(name, workload={"manifests": [manifest]}, **fields)
        return work, manifest

    async def change(self, color: str, name: str = "web") -> tuple[Work, Manifest]:
        """Other contents of the Work."""
        manifest = stamp(colors(color), SPACE, name)
        patch = {"spec": {"workload": {"manifests": [manifest]}}}
        return await self.desk.client.patch(WORKS, name, patch, SPACE), manifest

    async def going(self, name: str = "web") -> Work:
        """The Work is being deleted from now on."""
        await self.desk.client.patch(WORKS, name, {"metadata": {"finalizers": ["example.com/keep"]}}, SPACE)
        await self.desk.client.delete(WORKS, name, SPACE)
        return await self.desk.seen(name)

    async def there(self) -> Manifest:
        """The ConfigMap as it is in the member."""
        return await self.desk.there.get(CONFIG_MAPS, "colors", "default")

    def counted(self, write: str, result: str = "success") -> float:
        labels = {"result": result, "apiversion": "v1", "kind": "ConfigMap", "member_cluster": MEMBER}
        way = "from" if write == "delete" else "to"
        found = self.desk.plane.metrics.registry.get_sample_value(f"{write}_resource_{way}_cluster", labels)
        return found or 0.0


def colors(color: str = "red", **metadata: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "colors", "namespace": "default", **metadata},
        "data": {"color": color},
    }


def tell(story: Callable[[Hands], Awaitable[None]]) -> None:
    async def prepared(desk: Desk) -> None:
        await desk.cluster()
        works = MemberWorks(desk.plane, desk.member)
        await works.get("web")
        await desk.member.server.informers.of(CONFIG_MAPS).wait_synced()
        hands = Hands(desk, works)
        desk.wire.writes()
        desk.line.writes()
        await story(hands)

    play(prepared)


def test_what_is_not_there_is_made_with_its_marks_and_told() -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        await hands.objects.apply(work, manifest)
        (sent,) = hands.desk.line.writes()
        assert (sent.method, sent.path) == ("POST", PATH)
        found = await hands.there()
        marks = found["metadata"]["annotations"]
        assert found["data"] == {"color": "red"}
        assert {key: marks[key] for key in OF_WORK} == OF_WORK
        assert marks[HUB_ANNOTATION] == hands.works.hub != ""
        assert marks[WORK_GENERATION_ANNOTATION] == str(work.metadata.generation)
        assert hands.written == ["web"]
        assert hands.desk.member.server.informers.of(CONFIG_MAPS).get("colors", "default") == found
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
        await hands.objects.apply(work, manifest)
        (sent,) = hands.desk.line.writes()
        assert (sent.method, sent.path) == ("PUT", f"{PATH}/colors")
        assert sent.version == before["metadata"]["resourceVersion"]
        found = await hands.there()
        assert (found["data"], found["metadata"]["uid"]) == ({"color": "blue"}, before["metadata"]["uid"])
        assert found["metadata"]["labels"]["example.com/team"] == "shop"
        assert found["metadata"]["annotations"][WORK_GENERATION_ANNOTATION] == str(work.metadata.generation)
        assert hands.written == ["web", "web"]
        assert hands.desk.member.server.informers.of(CONFIG_MAPS).get("colors", "default") == found
        assert (hands.counted("update"), hands.counted("update", "error")) == (1, 0)

    tell(story)


def test_a_drift_is_mended_at_once_and_what_is_undone_again_waits_longer_and_longer() -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        await hands.objects.apply(work, manifest)
        pauses: list[float] = []
        written_at = CLOCK.monotonic()
        for _ in range(4):
            await drift(hands)
            try:
                await hands.objects.apply(work, manifest)
            except WriteUndone as undone:
                wait = (undone.until - CLOCK.now()).total_seconds()
                pauses.append(CLOCK.monotonic() - written_at + wait)
                assert (await hands.there())["data"] == {"color": "grey"}
                await asyncio.sleep(wait)
                await hands.objects.apply(work, manifest)
            written_at = CLOCK.monotonic()
            assert (await hands.there())["data"] == {"color": "red"}
        assert [round(pause) for pause in pauses] == [1, 2, 4]
        assert all(pause > round(pause) for pause in pauses), "nobody wakes just before a pause has ended"
        assert all(pause < round(pause) + 2 * ROUNDING_SECONDS for pause in pauses)
        other, contents = await hands.change("blue")
        await hands.objects.apply(other, contents)
        assert (await hands.there())["data"] == {"color": "blue"}, "other contents wait for nothing"

    tell(story)


def test_who_undoes_it_is_named() -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        await hands.objects.apply(work, manifest)
        await drift(hands)
        await hands.objects.apply(work, manifest)
        await drift(hands)
        with pytest.raises(WriteUndone) as undone:
            await hands.objects.apply(work, manifest)
        assert str(undone.value) == (
            "it is changed back by leeward in cluster member1 whenever it is written (2 times in a row), so it is "
            "written less and less often; have whoever does that leave it alone, or change the template"
        )
        hands.desk.line.writes()
        await hands.desk.there.delete(CONFIG_MAPS, "colors", "default")
        await asyncio.sleep(0.1)
        with pytest.raises(WriteUndone, match=r"^it is deleted in cluster member1 whenever it is written \(2 times"):
            await hands.objects.apply(work, manifest)
        assert hands.desk.line.writes() == []

    tell(story)


async def drift(hands: Hands) -> None:
    """Somebody in the member changes what was written."""
    await hands.desk.there.patch(CONFIG_MAPS, "colors", {"data": {"color": "grey"}}, "default")
    await asyncio.sleep(0.1)


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


def test_what_was_applied_is_deleted_as_it_was_seen_s5() -> None:
    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        found = (await hands.there())["metadata"]
        work = await hands.going()
        hands.desk.line.writes()
        assert await hands.objects.remove(work) is False
        (sent,) = hands.desk.line.writes()
        assert (sent.method, sent.path) == ("DELETE", f"{PATH}/colors")
        assert preconditions(sent) == (found["uid"], found["resourceVersion"])
        assert (hands.counted("delete"), hands.counted("delete", "error")) == (1, 0)
        assert await hands.objects.remove(work) is False
        assert hands.desk.line.writes() == []

    tell(story)


def test_what_goes_already_is_not_deleted_again_and_is_still_there() -> None:
    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        await hands.desk.there.patch(
            CONFIG_MAPS, "colors", {"metadata": {"finalizers": ["example.com/keep"]}}, "default"
        )
        await hands.desk.there.delete(CONFIG_MAPS, "colors", "default")
        work = await hands.going()
        hands.desk.line.writes()
        assert await hands.objects.remove(work) is True
        assert hands.desk.line.writes() == []

    tell(story)


def test_what_changes_meanwhile_is_looked_at_again_three_times_and_then_later_s5() -> None:
    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        work = await hands.going()
        hands.desk.line.writes()
        changed = Conflict(Status(code=409))
        hands.desk.line.refuse = lambda request: changed if request.method == "DELETE" else None
        assert await hands.objects.remove(work) is True
        assert [sent.method for sent in hands.desk.line.writes()] == ["DELETE"] * 3
        assert (hands.counted("delete"), hands.counted("delete", "error")) == (0, 3)

    tell(story)


@pytest.mark.parametrize(
    "marks",
    [{}, {**OF_WORK, WORK_NAME_ANNOTATION: "another"}, {**OF_WORK, HUB_ANNOTATION: "another"}],
)
def test_nothing_is_deleted_that_is_not_ours_s6(marks: dict[str, str]) -> None:
    async def story(hands: Hands) -> None:
        await hands.work()
        before = await hands.desk.map_there("colors", annotations=marks)
        assert await hands.objects.remove(await hands.going()) is False
        assert await hands.there() == before
        assert hands.desk.line.writes() == []

    tell(story)


def test_what_lost_its_name_but_carries_the_permanent_id_is_ours() -> None:
    async def story(hands: Hands) -> None:
        await hands.work(metadata={"labels": {WORK_ID_LABEL: "the-id"}})
        await hands.desk.map_there("colors", labels={WORK_ID_LABEL: "the-id"})
        assert await hands.objects.remove(await hands.going()) is False
        assert [sent.method for sent in hands.desk.line.writes()] == ["DELETE"]

    tell(story)


def test_before_each_deletion_the_control_plane_is_asked_whether_the_work_is_still_to_go_s5() -> None:
    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        work = await hands.going()
        asked = f"/apis/work.karmada.io/v1alpha1/namespaces/{SPACE}/works/web"
        hands.desk.wire.sent.clear()
        hands.desk.line.writes()

        def answers(error: WorldError) -> Callable[[Request], WorldError | None]:
            return lambda request: error if request.path == asked else None

        hands.desk.wire.refuse = answers(NotServed(Status(code=404)))
        assert await hands.objects.remove(work) is True, "whether it is to go could not be seen"
        assert [sent.path for sent in hands.desk.wire.sent] == [asked]
        hands.desk.wire.refuse = answers(Unreachable("cut"))
        with pytest.raises(Unreachable):
            await hands.objects.remove(work)
        hands.desk.wire.refuse = lambda request: None
        await hands.desk.client.patch(WORKS, "web", {"spec": {"preserveResourcesOnDeletion": True}}, SPACE)
        assert await hands.objects.remove(work) is True, "it was told to leave its objects"
        await hands.desk.client.patch(WORKS, "web", {"metadata": {"finalizers": None}}, SPACE)
        assert await hands.objects.remove(work) is True, "it is gone, and nobody has seen its end"
        anew, _ = await hands.work()
        assert await hands.objects.remove(work) is True, "another of its name has a claim"
        assert await hands.objects.remove(anew) is True, "nobody has it deleted"
        assert hands.desk.line.writes() == []

    tell(story)


def test_of_a_work_whose_end_was_seen_what_comes_back_is_removed_unless_it_is_there_again_l3() -> None:
    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        work = await hands.going()
        hands.desk.line.writes()
        assert await hands.objects.remove(work, ended=True) is True
        assert hands.desk.line.writes() == [], "it is still there"
        await hands.desk.client.patch(WORKS, "web", {"metadata": {"finalizers": None}}, SPACE)
        assert await hands.objects.remove(work, ended=True) is False
        assert [sent.method for sent in hands.desk.line.writes()] == ["DELETE"]

    tell(story)


def test_all_objects_of_a_work_are_asked_to_go() -> None:
    async def story(hands: Hands) -> None:
        names = ("one", "two")
        manifests = [stamp(colors() | {"metadata": {"name": n, "namespace": "default"}}, SPACE, "web") for n in names]
        work = await hands.desk.work(workload={"manifests": manifests})
        for manifest in manifests:
            await hands.objects.apply(work, manifest)
        work = await hands.going()
        hands.desk.line.writes()
        assert await hands.objects.remove(work) is False
        assert [sent.path for sent in hands.desk.line.writes()] == [f"{PATH}/{name}" for name in names]

    tell(story)


def test_a_kind_is_gone_only_after_two_complete_looks_s5() -> None:
    async def story(hands: Hands) -> None:
        await hands.desk.work(workload={"manifests": [stamp(WIDGET, SPACE, "web")]})
        work = await hands.going()
        assert await hands.objects.remove(work) is True
        assert await hands.objects.remove(work) is False
        with pytest.raises(UnknownKind):
            await hands.objects.apply(work, WIDGET)

    tell(story)


def test_a_kind_of_a_group_that_does_not_answer_is_not_gone_s5() -> None:
    async def story(hands: Hands) -> None:
        await hands.desk.work(workload={"manifests": [stamp(WIDGET, SPACE, "web")]})
        work = await hands.going()
        inner, group = hands.desk.line.inner, "/apis/example.com/v1"

        version = {"groupVersion": "example.com/v1", "version": "v1"}
        groups = [{"name": "example.com", "versions": [version], "preferredVersion": version}]

        class OneGroup:
            """Offers a group that does not answer, once it has been asked for."""

            stream, close = inner.stream, inner.close
            asked = False

            async def send(self, request: Request, *, timeout_seconds: float) -> Response:
                if request.path == "/apis":
                    return Response(200, json.dumps({"kind": "APIGroupList", "groups": groups}).encode())
                if request.path == group and self.asked:
                    raise Unreachable("cut")
                self.asked |= request.path == group
                return await inner.send(request, timeout_seconds=timeout_seconds)

        hands.desk.line.inner = OneGroup()
        with pytest.raises(Undecodable, match=r"^the kinds of example\.com/v1 cannot be read$"):
            await hands.objects.remove(work)
        with pytest.raises(WorldError):
            await hands.objects.remove(work)

    tell(story)


def test_the_work_is_named_when_somebody_changes_its_object() -> None:
    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        hands.added.clear()
        await drift(hands)
        assert hands.added == ["web", "web"], "once for how it was, and once for how it is"

    tell(story)


@pytest.mark.parametrize("what", [{"data": {"extra": "1"}}, {"metadata": {"labels": {"example.com/a": "b"}}}])
def test_what_somebody_adds_is_looked_at_once_and_what_is_ours_alone_is_put_right(what: Manifest) -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        await hands.objects.apply(work, manifest)
        await hands.desk.there.patch(CONFIG_MAPS, "colors", what, "default")
        await asyncio.sleep(0.1)
        hands.desk.line.writes()
        await hands.objects.apply(work, manifest)
        assert [sent.method for sent in hands.desk.line.writes()] == ["PUT"]
        found = await hands.there()
        assert found["data"] == {"color": "red"}
        assert found["metadata"]["labels"].get("example.com/a") == ("b" if "metadata" in what else None)
        await asyncio.sleep(0.1)
        hands.desk.line.sent.clear()
        await hands.objects.apply(work, manifest)
        assert hands.desk.line.sent == []

    tell(story)


def test_what_an_object_reports_is_no_change_of_what_it_asks_for_l5() -> None:
    async def story(hands: Hands) -> None:
        labels = {"app": "web"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "a"}]}}
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        metadata = {"name": "web", "namespace": "default"}
        made = stamp({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}, SPACE, "web")
        work = await hands.desk.work(workload={"manifests": [made]})
        await hands.objects.apply(work, made)
        status = {"status": {"replicas": 1}}
        await hands.desk.there.patch(DEPLOYMENTS, "web", status, "default", subresource="status")
        await asyncio.sleep(0.1)
        hands.desk.line.sent.clear()
        await hands.objects.apply(work, made)
        assert hands.desk.line.sent == []
        await hands.desk.there.patch(DEPLOYMENTS, "web", {"spec": {"minReadySeconds": 5}}, "default")
        await asyncio.sleep(0.1)
        await hands.objects.apply(work, made)
        assert [sent.method for sent in hands.desk.line.writes()] == ["PUT"]

    tell(story)


def test_before_the_member_was_listed_the_member_itself_is_asked() -> None:
    async def story(hands: Hands) -> None:
        cast(Any, hands.desk.member.server.informers.of(CONFIG_MAPS)).get = _nothing
        work, manifest = await hands.work()
        before = await hands.desk.map_there("colors", annotations={**OF_WORK, HUB_ANNOTATION: "another"})
        with pytest.raises(Foreign, match=r"^it belongs to another control plane \(another;"):
            await hands.objects.apply(work, manifest)
        assert await hands.there() == before

    tell(story)


def test_what_is_undone_waits_for_its_turn_also_before_the_member_was_listed() -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        works = MemberWorks(desk.plane, desk.member)
        await works.get("web")
        hands = Hands(desk, works)
        desk.line.refuse = lambda request: Unreachable("cut") if request.path == "/api/v1/configmaps" else None
        cast(Any, desk.member.server.informers.of(CONFIG_MAPS)).get = _nothing
        work, manifest = await hands.work()
        await hands.objects.apply(work, manifest)
        await desk.there.delete(CONFIG_MAPS, "colors", "default")
        await hands.objects.apply(work, manifest)
        await desk.there.delete(CONFIG_MAPS, "colors", "default")
        with pytest.raises(WriteUndone, match=r"^it is deleted in cluster member1"):
            await hands.objects.apply(work, manifest)
        await asyncio.sleep(2)
        await hands.objects.apply(work, manifest)
        await drift(hands)
        with pytest.raises(WriteUndone, match=r"^it is changed back by leeward in cluster member1"):
            await hands.objects.apply(work, manifest)

    play(story)


def test_what_was_removed_is_made_again_at_once() -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        for _ in range(4):
            await hands.objects.apply(work, manifest)
            await hands.objects.remove(work, ended=True)
            cast(Any, hands.objects)._is_to_go = _always
            await hands.objects.remove(work)
            await asyncio.sleep(0.1)
        await hands.objects.apply(work, manifest)
        assert (await hands.there())["data"] == {"color": "red"}

    tell(story)


def _nothing(*_: object) -> None:
    return None


async def _always(*_: object, **__: object) -> bool:
    return True


def test_a_kind_that_is_offered_and_does_not_answer_is_not_gone_s5() -> None:
    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        work = await hands.going()
        gone = NotServed(Status(code=404))
        hands.desk.line.refuse = lambda request: gone if request.path == f"{PATH}/colors" else None
        for _ in range(3):
            assert await hands.objects.remove(work) is True
        assert (await hands.there())["data"] == {"color": "red"}

    tell(story)


@pytest.mark.parametrize(("found", "still"), [("GW GW GW", "111"), ("GG GW GG", "111"), ("GG GG", "10")])
def test_a_kind_that_is_offered_again_is_not_gone_s5(found: str, still: str) -> None:
    """Each removal asks twice for the group: which kind it has then is told by a letter."""

    async def story(hands: Hands) -> None:
        await hands.desk.work(workload={"manifests": [stamp(WIDGET, SPACE, "web")]})
        work = await hands.going()
        version = {"groupVersion": "example.com/v1", "version": "v1"}
        group = {"name": "example.com", "versions": [version], "preferredVersion": version}
        kinds = iter(found.replace(" ", ""))
        inner = hands.desk.line.inner

        class Changing:
            stream, close = inner.stream, inner.close

            async def send(self, request: Request, *, timeout_seconds: float) -> Response:
                if request.path == "/apis":
                    return Response(200, json.dumps({"kind": "APIGroupList", "groups": [group]}).encode())
                if request.path == "/apis/example.com/v1":
                    kind = {"G": "Gadget", "W": "Widget"}[next(kinds)]
                    resources = [{"name": f"{kind.lower()}s", "kind": kind, "namespaced": True}]
                    body = {"kind": "APIResourceList", **version, "resources": resources}
                    return Response(200, json.dumps(body).encode())
                return await inner.send(request, timeout_seconds=timeout_seconds)

        hands.desk.line.inner = Changing()
        assert [await hands.objects.remove(work) for _ in still] == [told == "1" for told in still]

    tell(story)


def entry(manager: str, time: str = "", **more: str) -> dict[str, str]:
    return {"manager": manager, **({"time": time} if time else {}), **more}


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (None, ""),
        ([], ""),
        ([entry("kubectl", "2026-01-01T00:00:00Z")], " by kubectl"),
        ([entry("b", "2026-01-02T00:00:00Z"), entry("a", "2026-01-01T00:00:00Z")], " by b"),
        ([entry("b", "2026-01-01T00:00:00Z"), entry("a")], " by b"),
        ([entry("b", "2026-01-01T00:00:00Z"), entry("kubelet", "2026-01-02T00:00:00Z", subresource="status")], " by b"),
        ([{"time": "2026-01-01T00:00:00Z"}], ""),
    ],
)
def test_who_has_changed_an_object_last(entries: Any, said: str) -> None:
    assert _by({"metadata": {"managedFields": entries}}) == said
