"""Namespaces of the control plane in the members: which Works are made, for whom, and when again."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubeapi.core import NAMESPACES
from kubeapi.meta import Manifest
from kubeclient import NotFound
from leeward.api.names import EXECUTION_CONTROLLER_FINALIZER, SKIP_NAMESPACE_LABEL, work_name
from leeward.api.names import TEMPLATE_UID_ANNOTATION as UID
from leeward.api.resource import CLUSTERS, WORKS
from leeward.controllers.namespace_sync import NamespaceSyncController, NamespaceSyncSettings
from leeward.core.execution.ownership import stamp
from tests.unit.controllers.desk import MEMBER, SPACE, Desk, play

SHOP = work_name("Namespace", "shop", "")


class Sync:
    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.controller = NamespaceSyncController(desk.plane, NamespaceSyncSettings(("kube-.*", "skipped")))

    async def reconcile(self, name: str = "shop") -> None:
        await asyncio.sleep(0.02)
        await self.controller.reconcile(name)

    async def namespace(self, name: str = "shop", **metadata: Any) -> Any:
        return await self.desk.client.create(NAMESPACES, {"metadata": {"name": name, **metadata}})

    async def works(self, space: str = SPACE) -> list[str]:
        return sorted(work.name for work in (await self.desk.client.list(WORKS, space)).items)


def tell(story: Callable[[Sync], Awaitable[None]], *, joined: bool = True) -> None:
    async def prepared(desk: Desk) -> None:
        if joined:
            await desk.cluster()
        await story(Sync(desk))

    play(prepared)


def test_a_namespace_becomes_a_work_that_it_owns_in_every_member() -> None:
    async def story(sync: Sync) -> None:
        await sync.desk.cluster("member2")
        made = await sync.namespace(labels={"team": "shop"})
        await sync.reconcile()
        assert await sync.works() == await sync.works("karmada-es-member2") == [SHOP]
        work = await sync.desk.seen(SHOP)
        assert work.metadata.finalizers == (EXECUTION_CONTROLLER_FINALIZER,)
        (owner,) = work.metadata.owner_references
        assert (owner.api_version, owner.kind, owner.name, owner.uid) == ("v1", "Namespace", "shop", made.metadata.uid)
        assert owner.controller is owner.block_owner_deletion is True
        metadata: Manifest = {"name": "shop", "labels": {"team": "shop"}}
        template, marks = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}, {UID: made.metadata.uid}
        wanted = stamp(template, SPACE, SHOP, None, marks)
        assert work.spec.workload.manifests == (wanted,)
        sync.desk.wire.writes()
        await sync.reconcile()
        assert sync.desk.wire.writes() == []

    tell(story)


def test_labels_of_the_api_server_are_not_copied() -> None:
    async def story(sync: Sync) -> None:
        await sync.namespace(labels={"kubernetes.io/example": "a"})
        await sync.reconcile()
        (manifest,) = (await sync.desk.seen(SHOP)).spec.workload.manifests
        assert not [key for key in manifest["metadata"]["labels"] if key.startswith("kubernetes.io/")]

    tell(story)


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("karmada-system", {}),
        ("karmada-cluster", {}),
        ("default", {}),
        ("karmada-es-other", {}),
        ("kube-system", {}),
        ("skipped", {}),
        ("shop", {SKIP_NAMESPACE_LABEL: "true"}),
    ],
)
def test_what_is_the_control_planes_own_stays_there(name: str, labels: dict[str, str]) -> None:
    async def story(sync: Sync) -> None:
        try:
            await sync.desk.client.get(NAMESPACES, name)
        except NotFound:
            await sync.namespace(name, labels=labels)
        await sync.reconcile(name)
        assert await sync.works() == []

    tell(story)


@pytest.mark.parametrize(("name", "labels"), [("skipped-not", {}), ("shop", {SKIP_NAMESPACE_LABEL: "false"})])
def test_what_only_looks_so_is_copied(name: str, labels: dict[str, str]) -> None:
    async def story(sync: Sync) -> None:
        await sync.namespace(name, labels=labels)
        await sync.reconcile(name)
        assert await sync.works() == [work_name("Namespace", name, "")]

    tell(story)


def test_nothing_is_made_for_a_namespace_that_goes_or_a_cluster_that_leaves() -> None:
    async def story(sync: Sync) -> None:
        await sync.desk.cluster("member2")
        keep = {"metadata": {"finalizers": ["example.com/keep"]}}
        await sync.desk.client.patch(CLUSTERS, MEMBER, keep)
        await sync.desk.client.delete(CLUSTERS, MEMBER)
        await sync.namespace()
        await sync.reconcile()
        assert (await sync.works(), await sync.works("karmada-es-member2")) == ([], [SHOP])
        await sync.namespace("gone", finalizers=["example.com/keep"])
        await sync.desk.client.delete(NAMESPACES, "gone")
        await sync.reconcile("gone")
        await sync.reconcile("never")
        assert await sync.works("karmada-es-member2") == [SHOP]

    tell(story)


def test_a_cluster_without_a_space_holds_back_no_other() -> None:
    async def story(sync: Sync) -> None:
        spec = {"syncMode": "Push", "apiEndpoint": "https://a.example"}
        await sync.desk.client.create(CLUSTERS, {"metadata": {"name": "a"}, "spec": spec})
        await sync.namespace()
        await sync.reconcile()
        assert await sync.works() == [SHOP]

    tell(story)


def test_a_work_that_goes_keeps_the_namespace_in_the_member_and_is_made_again_s12() -> None:
    async def story(sync: Sync) -> None:
        sync.controller.start()
        await sync.namespace()
        await asyncio.sleep(1)
        other = {"metadata": {"finalizers": [EXECUTION_CONTROLLER_FINALIZER, "example.com/keep"]}}
        before = await sync.desk.client.patch(WORKS, SHOP, other, SPACE)
        await sync.desk.client.delete(WORKS, SHOP, SPACE)
        await asyncio.sleep(1)
        going = await sync.desk.seen(SHOP)
        assert (going.metadata.uid, going.spec.preserve_resources_on_deletion) == (before.metadata.uid, True)
        assert going.metadata.finalizers == ("example.com/keep",), "nobody waits for an agent"
        await sync.desk.client.patch(WORKS, SHOP, {"metadata": {"finalizers": None}}, SPACE)
        await asyncio.sleep(1)
        after = await sync.desk.seen(SHOP)
        assert after.metadata.uid != before.metadata.uid
        assert not after.spec.preserve_resources_on_deletion

    tell(story)


def test_a_work_that_is_there_though_it_was_not_listed_is_left_as_it_is() -> None:
    async def story(sync: Sync) -> None:
        await sync.namespace()
        await sync.reconcile("none")
        made: Any = None

        async def first() -> None:
            nonlocal made
            made = await sync.desk.work(SHOP)

        sync.desk.wire.before["POST"] = first
        await sync.reconcile()
        assert (await sync.desk.seen(SHOP)) == made

    tell(story)


def test_namespaces_are_looked_at_when_they_or_clusters_or_their_spaces_appear() -> None:
    async def story(sync: Sync) -> None:
        sync.controller.start()
        await sync.namespace()
        await asyncio.sleep(1)
        await sync.desk.cluster()
        await asyncio.sleep(1)
        assert await sync.works() == [SHOP]
        await sync.namespace("later")
        await asyncio.sleep(1)
        assert await sync.works() == sorted([SHOP, work_name("Namespace", "later", "")])

    tell(story, joined=False)


def test_what_clusters_report_wakes_nobody_l5() -> None:
    async def story(sync: Sync) -> None:
        reconciled: list[str] = []
        is_propagated = sync.controller._is_propagated  # pyright: ignore[reportPrivateUsage]

        def note(namespace: Any) -> bool:
            reconciled.append(namespace.name)
            return is_propagated(namespace)

        sync.controller._is_propagated = note  # pyright: ignore[reportPrivateUsage]
        sync.controller.start()
        await sync.namespace()
        await asyncio.sleep(1)
        reconciled.clear()
        await sync.desk.condition(status="False")
        await asyncio.sleep(1)
        assert reconciled == []

    tell(story)
