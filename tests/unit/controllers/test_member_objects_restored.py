"""Objects of a member that a later state of their Work has given replicas: the control plane was restored."""

import asyncio
from typing import Any

import pytest

from kubeapi.meta import Manifest
from leeward.api.names import WORK_GENERATION_ANNOTATION, WORK_ID_LABEL
from leeward.api.resource import WORKS
from leeward.api.work import Work
from leeward.controllers.execution.member_objects import SETTLE_SECONDS, WrittenLater
from leeward.core.execution.ownership import stamp
from tests.unit.controllers.desk import DEPLOYMENTS, SPACE
from tests.unit.controllers.member_hands import Hands, tell


def web(replicas: int, image: str = "web:1") -> Manifest:
    containers = [{"name": "main", "image": image}]
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    metadata = {"name": "web", "namespace": "default", "labels": {WORK_ID_LABEL: "the-id"}}
    return stamp({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}, SPACE, "web")


async def found_later(hands: Hands) -> tuple[Work, Manifest]:
    """A Work of one replica, and its manifest; the object has five of a later state."""
    manifest = web(1)
    work = await hands.desk.work(workload={"manifests": [manifest]}, metadata={"labels": {WORK_ID_LABEL: "the-id"}})
    await hands.objects.apply(work, manifest)
    later = {"metadata": {"annotations": {WORK_GENERATION_ANNOTATION: "9"}}, "spec": {"replicas": 5}}
    await hands.desk.there.patch(DEPLOYMENTS, "web", later, "default")
    await asyncio.sleep(1)
    return work, manifest


async def spec_there(hands: Hands) -> dict[str, Any]:
    return (await hands.desk.there.get(DEPLOYMENTS, "web", "default"))["spec"]


def test_what_a_restored_work_would_take_waits_for_as_long_as_a_failover_takes_s1() -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await found_later(hands)
        began = hands.desk.plane.clock.now()
        for passed in (0.0, SETTLE_SECONDS / 2):
            await asyncio.sleep(passed)
            with pytest.raises(
                WrittenLater, match="a later state of its Work gave it more replicas in cluster"
            ) as told:
                await hands.objects.apply(work, manifest)
            assert round((told.value.until - began).total_seconds()) == SETTLE_SECONDS
            assert (await spec_there(hands))["replicas"] == 5
        await asyncio.sleep(SETTLE_SECONDS / 2 + 1)
        await hands.objects.apply(work, manifest)
        assert (await spec_there(hands))["replicas"] == 1

    tell(story)


def test_what_is_asked_for_since_does_not_wait() -> None:
    async def story(hands: Hands) -> None:
        work, manifest = await found_later(hands)
        with pytest.raises(WrittenLater):
            await hands.objects.apply(work, manifest)
        anew = web(2, "web:2")
        await hands.objects.apply(await changed(hands, anew), anew)
        assert (await spec_there(hands))["replicas"] == 2

    tell(story)


async def changed(hands: Hands, manifest: Manifest) -> Work:
    patch = {"spec": {"workload": {"manifests": [manifest]}}}
    return await hands.desk.client.patch(WORKS, "web", patch, SPACE)
