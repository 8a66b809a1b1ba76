"""The objects of a member that somebody else changes, or takes away."""

import asyncio
from typing import Any, cast

import pytest

from kubeapi.meta import Manifest
from kubeclient import Unreachable
from leeward.api.names import HUB_ANNOTATION
from leeward.controllers.execution.member_objects import (
    ROUNDING_SECONDS,
    Foreign,
    WriteUndone,
)
from leeward.core.execution.ownership import stamp
from leeward.runtime.member_works import MemberWorks
from tests.unit.controllers.desk import CLOCK, CONFIG_MAPS, DEPLOYMENTS, SPACE, Desk, play
from tests.unit.controllers.member_hands import OF_WORK, Hands, tell


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


def test_the_work_is_named_when_somebody_changes_its_object() -> None:
    async def story(hands: Hands) -> None:
        await hands.objects.apply(*await hands.work())
        hands.added.clear()
        await drift(hands)
        assert hands.added == ["web", "web"], "once for how it was, and once for how it is"

    tell(story)


async def told_of_a_report(hands: Hands) -> list[str]:
    """Works that are named when a Deployment of one reports that it is ready."""
    metadata = {"name": "web", "namespace": "default", "annotations": OF_WORK}
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": pod}
    await hands.desk.there.create(DEPLOYMENTS, {"metadata": metadata, "spec": spec}, "default")
    await hands.objects.backlinks.follow(DEPLOYMENTS).wait_synced()
    await asyncio.sleep(0.1)
    hands.added.clear()
    status = {"status": {"observedGeneration": 1, "replicas": 1, "readyReplicas": 1}}
    await hands.desk.there.patch(DEPLOYMENTS, "web", status, "default", subresource="status")
    await asyncio.sleep(0.1)
    return hands.added


def test_the_work_is_not_named_when_its_object_reports_something() -> None:
    async def story(hands: Hands) -> None:
        assert await told_of_a_report(hands) == []
        await hands.desk.there.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "default")
        await asyncio.sleep(0.1)
        assert hands.added == ["web", "web"]

    tell(story)


def test_a_work_that_was_not_carried_out_is_named_whatever_its_object_reports() -> None:
    async def story(hands: Hands) -> None:
        hands.failing.add("web")
        assert await told_of_a_report(hands) == ["web", "web"]

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
            await hands.removal.remove(work, ended=True)
            cast(Any, hands.objects)._is_to_go = _always
            await hands.removal.remove(work)
            await asyncio.sleep(0.1)
        await hands.objects.apply(work, manifest)
        assert (await hands.there())["data"] == {"color": "red"}

    tell(story)


def _nothing(*_: object) -> None:
    return None


async def _always(*_: object, **__: object) -> bool:
    return True
