"""The objects of a member: on what a deletion rests, and when a kind is gone."""

import asyncio
import json
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from kubeapi.status import Status
from kubeclient import Conflict, NotServed, Request, Response, Undecodable, Unreachable, WorldError
from leeward.api.meta import Condition
from leeward.api.names import HUB_ANNOTATION, WORK_ID_LABEL, WORK_NAME_ANNOTATION
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Work
from leeward.controllers.execution import object_removal
from leeward.controllers.execution.missing_kinds import GONE_SECONDS, REST_SECONDS
from leeward.core.execution.ownership import stamp
from leeward.runtime.discovery import UnknownKind
from tests.unit.controllers.desk import CONFIG_MAPS, MEMBER, SPACE, preconditions
from tests.unit.controllers.member_hands import OF_WORK, PATH, Hands, colors, tell

WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "default"}}


def test_what_was_applied_is_deleted_as_it_was_seen_s5() -> None:
    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        found = (await hands.there())["metadata"]
        work = await hands.going()
        hands.desk.line.writes()
        assert await hands.removal.remove(work) is False
        (sent,) = hands.desk.line.writes()
        assert (sent.method, sent.path) == ("DELETE", f"{PATH}/colors")
        assert preconditions(sent) == (found["uid"], found["resourceVersion"])
        assert (hands.counted("delete"), hands.counted("delete", "error")) == (1, 0)
        assert await hands.removal.remove(work) is False
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
        assert await hands.removal.remove(work) is True
        assert hands.desk.line.writes() == []

    tell(story)


def test_what_changes_meanwhile_is_looked_at_again_three_times_and_then_later_s5() -> None:
    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        work = await hands.going()
        hands.desk.line.writes()
        changed = Conflict(Status(code=409))
        hands.desk.line.refuse = lambda request: changed if request.method == "DELETE" else None
        assert await hands.removal.remove(work) is True
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
        assert await hands.removal.remove(await hands.going()) is False
        assert await hands.there() == before
        assert hands.desk.line.writes() == []

    tell(story)


def test_what_lost_its_name_but_carries_the_permanent_id_is_ours() -> None:
    async def story(hands: Hands) -> None:
        await hands.work(metadata={"labels": {WORK_ID_LABEL: "the-id"}})
        await hands.desk.map_there("colors", labels={WORK_ID_LABEL: "the-id"})
        assert await hands.removal.remove(await hands.going()) is False
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
        assert await hands.removal.remove(work) is True, "whether it is to go could not be seen"
        assert [sent.path for sent in hands.desk.wire.sent] == [asked]
        hands.desk.wire.refuse = answers(Unreachable("cut"))
        with pytest.raises(Unreachable):
            await hands.removal.remove(work)
        hands.desk.wire.refuse = lambda request: None
        await hands.desk.client.patch(WORKS, "web", {"spec": {"preserveResourcesOnDeletion": True}}, SPACE)
        assert await hands.removal.remove(work) is True, "it was told to leave its objects"
        await hands.desk.client.patch(WORKS, "web", {"metadata": {"finalizers": None}}, SPACE)
        assert await hands.removal.remove(work) is True, "it is gone, and nobody has seen its end"
        anew, _ = await hands.work()
        assert await hands.removal.remove(work) is True, "another of its name has a claim"
        assert await hands.removal.remove(anew) is True, "nobody has it deleted"
        assert hands.desk.line.writes() == []

    tell(story)


def test_the_deletion_of_another_work_of_that_name_removes_nothing_s5() -> None:
    """An order is about one object: what it says of a Work with another uid was decided about something else."""

    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        work = await hands.going()
        await hands.desk.client.patch(WORKS, "web", {"metadata": {"finalizers": None}}, SPACE)
        await hands.work()
        another = await hands.going()
        assert another.metadata.uid != work.metadata.uid
        hands.desk.line.writes()
        assert await hands.removal.remove(work) is True
        assert hands.desk.line.writes() == []
        assert await hands.removal.remove(another) is False
        assert [sent.method for sent in hands.desk.line.writes()] == ["DELETE"]

    tell(story)


def test_of_a_work_whose_end_was_seen_what_comes_back_is_removed_unless_it_is_there_again_l3() -> None:
    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        backup = hands.desk.kept_there("colors")
        work = await hands.going()
        assert await hands.removal.remove(work) is False
        await hands.desk.put_back(backup)
        hands.desk.line.writes()
        assert await hands.removal.remove(work, ended=True) is True
        assert hands.desk.line.writes() == [], "the Work is still there"
        await hands.desk.client.patch(WORKS, "web", {"metadata": {"finalizers": None}}, SPACE)
        assert await hands.removal.remove(work, ended=True) is False
        assert [sent.method for sent in hands.desk.line.writes()] == ["DELETE"]

    tell(story)


def test_of_a_work_that_is_gone_nothing_is_removed_that_was_not_deleted_here_before_s5() -> None:
    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        work = await hands.going()
        await hands.desk.client.patch(WORKS, "web", {"metadata": {"finalizers": None}}, SPACE)
        hands.desk.line.writes()
        assert await hands.removal.remove(work, ended=True) is False
        assert hands.desk.line.writes() == []

    tell(story)


def test_only_so_many_deletions_are_remembered_d9(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_removal, "MAX_REMEMBERED", 1)

    async def story(hands: Hands) -> None:
        manifests = [
            stamp({**colors(), "metadata": {"name": name, "namespace": "default"}}, SPACE, "web")
            for name in ("first", "second")
        ]
        work = await hands.desk.work(workload={"manifests": manifests})
        for manifest in manifests:
            await hands.objects.apply(work, manifest)
        backups = [hands.desk.kept_there(name) for name in ("first", "second")]
        work = await hands.going()
        assert await hands.removal.remove(work) is False
        await hands.desk.client.patch(WORKS, "web", {"metadata": {"finalizers": None}}, SPACE)
        for backup in backups:
            await hands.desk.put_back(backup)
        hands.desk.line.writes()
        assert await hands.removal.remove(work, ended=True) is False
        assert [sent.path for sent in hands.desk.line.writes()] == [f"{PATH}/second"]

    tell(story)


@pytest.mark.parametrize("end", ["going", "gone", "another"])
def test_what_was_removed_for_a_deletion_that_is_not_known_here_is_not_made_again_l3(end: str) -> None:
    """Another who works for the member, as a leader that was replaced, may have seen it before us."""

    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        await hands.objects.apply(work, manifest)
        applied = Condition("Applied", "True", "AppliedSuccessful")
        known = replace(work, status=replace(work.status, conditions=(applied,)))
        await hands.going()
        await hands.desk.there.delete(CONFIG_MAPS, "colors", "default")
        if end != "going":
            await hands.desk.client.patch(WORKS, "web", {"metadata": {"finalizers": None}}, SPACE)
        if end == "another":
            await hands.work()
        hands.desk.line.writes()
        with pytest.raises(Conflict):
            await hands.objects.apply(known, manifest)
        assert hands.desk.line.writes() == []

    tell(story)


def test_what_somebody_removed_in_the_member_is_made_again_and_what_is_new_costs_no_question() -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await hands.work()
        hands.desk.wire.sent.clear()
        await hands.objects.apply(work, manifest)
        assert [sent.path for sent in hands.desk.wire.sent if sent.path.endswith("/works/web")] == []
        await hands.desk.there.delete(CONFIG_MAPS, "colors", "default")
        applied = Condition("Applied", "True", "AppliedSuccessful")
        known = replace(work, status=replace(work.status, conditions=(applied,)))
        hands.desk.wire.refuse = lambda request: Unreachable("cut") if request.method == "GET" else None
        with pytest.raises(Unreachable):
            await hands.objects.apply(known, manifest)
        hands.desk.wire.refuse = lambda request: None
        hands.desk.line.writes()
        await hands.objects.apply(known, manifest)
        assert [sent.method for sent in hands.desk.line.writes()] == ["POST"]

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
        assert await hands.removal.remove(work) is False
        assert [sent.path for sent in hands.desk.line.writes()] == [f"{PATH}/{name}" for name in names]

    tell(story)


async def looked_for(hands: Hands, work: Work, seconds: float) -> list[bool]:
    """Tells at each look in so much time whether something may still be there."""
    found = list[bool]()
    for _ in range(int(seconds / REST_SECONDS)):
        found.append(await hands.removal.remove(work))
        await asyncio.sleep(REST_SECONDS)
    return found


def test_a_kind_is_gone_only_after_complete_looks_for_a_while_s5() -> None:
    async def story(hands: Hands) -> None:
        await hands.desk.work(workload={"manifests": [stamp(WIDGET, SPACE, "web")]})
        work = await hands.going()
        assert all(await looked_for(hands, work, GONE_SECONDS))
        assert await hands.removal.remove(work) is False
        with pytest.raises(UnknownKind):
            await hands.objects.apply(work, WIDGET)

    tell(story)


def test_a_kind_that_was_missed_before_its_cluster_was_away_is_looked_for_anew_s5() -> None:
    async def story(hands: Hands) -> None:
        await hands.desk.work(workload={"manifests": [stamp(WIDGET, SPACE, "web")]})
        work = await hands.going()
        assert all(await looked_for(hands, work, GONE_SECONDS))
        await hands.desk.condition(lastTransitionTime="2025-02-01T00:00:00Z")
        await asyncio.sleep(0.1)
        assert all(await looked_for(hands, work, GONE_SECONDS))
        await asyncio.sleep(GONE_SECONDS)
        assert await hands.removal.remove(work) is True, "nobody has looked for a while"

    tell(story)


def test_a_kind_that_was_missed_a_moment_ago_costs_no_question_l5() -> None:
    async def story(hands: Hands) -> None:
        await hands.desk.work(workload={"manifests": [stamp(WIDGET, SPACE, "web")]})
        work = await hands.going()
        await hands.removal.remove(work)
        hands.desk.line.sent.clear()
        assert await hands.removal.remove(work) is True
        assert hands.desk.line.sent == []

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
            await hands.removal.remove(work)
        with pytest.raises(WorldError):
            await hands.removal.remove(work)

    tell(story)


def test_a_kind_that_is_offered_and_does_not_answer_is_not_gone_s5() -> None:
    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        work = await hands.going()
        gone = NotServed(Status(code=404))
        hands.desk.line.refuse = lambda request: gone if request.path == f"{PATH}/colors" else None
        for _ in range(3):
            assert await hands.removal.remove(work) is True
        assert (await hands.there())["data"] == {"color": "red"}

    tell(story)


@pytest.mark.parametrize(
    ("found", "still"), [("GW GW GW", "111"), ("GG GW" + 6 * " GG", 8 * "1"), (7 * "GG ", "1111110")]
)
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
        assert await looked_for(hands, work, len(still) * REST_SECONDS) == [told == "1" for told in still]

    tell(story)


@pytest.mark.parametrize("leaves", [False, True])
def test_what_others_may_live_in_goes_unless_its_cluster_leaves_by_then_s12(*, leaves: bool) -> None:
    async def story(hands: Hands) -> None:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
        manifest = stamp(namespace, SPACE, "web")
        await hands.objects.apply(await hands.desk.work(workload={"manifests": [manifest]}), manifest)
        work = await hands.going()
        if leaves:
            await hands.desk.client.patch(CLUSTERS, MEMBER, {"metadata": {"finalizers": ["example.com/keep"]}})
            await hands.desk.client.delete(CLUSTERS, MEMBER)
        hands.desk.line.writes()
        await hands.removal.remove(work)
        assert [sent.method for sent in hands.desk.line.writes()] == ([] if leaves else ["DELETE"])

    tell(story)
