"""Copies that come back of Works that are gone: who still asks for them, and when nobody does."""

from typing import Any

import pytest

from kubeapi.status import Status
from kubeclient import NotServed
from leeward.api.names import BINDING_NAME_ANNOTATION, BINDING_NAMESPACE_ANNOTATION, TEMPLATE_UID_ANNOTATION
from leeward.api.resource import RESOURCE_BINDINGS, WORKS
from leeward.api.work import Work
from leeward.controllers.removals.returned_copies import ReturnedCopies
from tests.unit.controllers.desk import SPACE, Desk, play

NAMED = {BINDING_NAMESPACE_ANNOTATION: "default", BINDING_NAME_ANNOTATION: "web-deployment"}
PLACED: dict[str, Any] = {"placement": {}, "clusters": [{"name": "member2", "replicas": 3}], "replicas": 3}
NONE_WANTED: dict[str, Any] = {**PLACED, "replicas": 0, "replicaRequirements": {}}
FOLLOWING: dict[str, Any] = {"requiredBy": [{"namespace": "default", "name": "shop-deployment", "clusters": []}]}


async def bound(desk: Desk, name: str = "web", uid: str = "uid", **spec: Any) -> None:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name, "uid": uid}
    metadata = {"name": f"{name}-deployment", "finalizers": ["example.com/keep"]}
    made = {"metadata": metadata, "spec": {"resource": resource, **spec}}
    await desk.client.create(RESOURCE_BINDINGS, made, "default")


async def ended(desk: Desk) -> Work:
    """The Work as it was when it went."""
    template: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
    }
    template["metadata"]["annotations"] = {TEMPLATE_UID_ANNOTATION: "uid"}
    metadata = {"annotations": NAMED, "finalizers": ["example.com/keep"]}
    await desk.work(metadata=metadata, workload={"manifests": [template]})
    await desk.client.delete(WORKS, "web", SPACE)
    return await desk.seen()


@pytest.mark.parametrize(
    ("spec", "stays"),
    [(PLACED, True), (NONE_WANTED, False), ({}, False)],
    ids=["asked for", "none is wanted", "nobody needs it"],
)
def test_what_comes_back_stays_while_its_binding_asks_for_it_s1(spec: dict[str, Any], *, stays: bool) -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        work = await ended(desk)
        await bound(desk, **spec)
        assert await ReturnedCopies(desk.plane).stays(work) == stays

    play(story)


@pytest.mark.parametrize("deleted", [False, True])
def test_what_others_need_stays_until_they_are_healthy_elsewhere_s1(*, deleted: bool) -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        work = await ended(desk)
        await bound(desk, **FOLLOWING)
        await bound(desk, "shop", **PLACED)
        if deleted:
            await desk.client.delete(RESOURCE_BINDINGS, "shop-deployment", "default")
        assert await ReturnedCopies(desk.plane).stays(work) == (not deleted)

    play(story)


@pytest.mark.parametrize("how", ["gone", "going", "anew"])
def test_what_comes_back_of_a_deleted_template_goes_l3(how: str) -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        work = await ended(desk)
        if how != "gone":
            await bound(desk, uid="another" if how == "anew" else "uid", **PLACED)
        if how == "going":
            await desk.client.delete(RESOURCE_BINDINGS, "web-deployment", "default")
        assert not await ReturnedCopies(desk.plane).stays(work)

    play(story)


def test_that_a_binding_cannot_be_asked_for_says_nothing_s5() -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        work = await ended(desk)
        gone = NotServed(Status(code=404))
        desk.wire.refuse = lambda request: gone if request.path.endswith("/web-deployment") else None
        with pytest.raises(NotServed):
            await ReturnedCopies(desk.plane).stays(work)

    play(story)
