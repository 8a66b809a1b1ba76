"""Contents of objects that others live in: which a found order would take along, and which a cluster makes itself."""

from typing import Any

import pytest

from kubeapi.core import NAMESPACES
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.status import Status
from kubeclient import ApiError, Forbidden, NotFound, Request, WorldError
from leeward.api.resource import CLUSTERS, WORKS
from leeward.controllers.execution.shared_contents import SharedContents
from leeward.runtime.member_works import MemberWorks
from tests.unit.controllers.desk import CONFIG_MAPS, SPACE, Desk, play

SHOP: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
KINDS = {
    kind: Resource.of_manifests(version, f"{kind.lower()}s", kind, True)
    for kind, version in (
        ("ConfigMap", "v1"),
        ("Secret", "v1"),
        ("ServiceAccount", "v1"),
        ("Lease", "coordination.k8s.io/v1"),
        ("PersistentVolumeClaim", "v1"),
    )
}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
VOLUME: Manifest = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "pv"},
    "spec": {"claimRef": {"namespace": "shop", "name": "data"}},
}


def contents(desk: Desk) -> SharedContents:
    return SharedContents(desk.member, MemberWorks(desk.plane, desk.member))


async def found_in(desk: Desk, shared: Manifest, *there: tuple[str, Manifest]) -> str:
    await desk.there.create(NAMESPACES, SHOP)
    for kind, manifest in there:
        await desk.there.create(KINDS[kind], manifest, "shop")
    return await contents(desk).first_of(shared)


@pytest.mark.parametrize(
    ("kind", "manifest", "found"),
    [
        ("ConfigMap", {"metadata": {"name": "theirs"}}, True),
        ("ConfigMap", {"metadata": {"name": "kube-root-ca.crt"}}, False),
        ("ServiceAccount", {"metadata": {"name": "default"}}, False),
        ("ServiceAccount", {"metadata": {"name": "theirs"}}, True),
        ("Secret", {"metadata": {"name": "theirs"}}, True),
        ("Lease", {"metadata": {"name": "theirs"}}, False),
    ],
)
def test_a_namespace_is_empty_but_for_what_each_has_and_what_goes_with_its_owner(
    kind: str, manifest: Manifest, *, found: bool
) -> None:
    async def story(desk: Desk) -> None:
        name = manifest["metadata"]["name"]
        assert await found_in(desk, SHOP, (kind, manifest)) == (f"{kind} shop/{name}" if found else "")
        assert (await desk.there.get(KINDS[kind], name, "shop"))["metadata"]["uid"]

    play(story)


@pytest.mark.parametrize(("kind", "found"), [("ServiceAccount", ""), ("Namespace", "ConfigMap shop/owned")])
def test_what_goes_with_an_owner_in_the_namespace_is_none_of_its_contents(kind: str, found: str) -> None:
    async def story(desk: Desk) -> None:
        await found_in(desk, SHOP, ("ServiceAccount", {"metadata": {"name": "default"}}))
        space = await desk.there.get(NAMESPACES, "shop")
        uid = space.metadata.uid
        if kind == "ServiceAccount":
            uid = (await desk.there.get(KINDS[kind], "default", "shop"))["metadata"]["uid"]
        owner = {
            "apiVersion": "v1",
            "kind": kind,
            "name": "default" if kind == "ServiceAccount" else "shop",
            "uid": uid,
        }
        made: Manifest = {"metadata": {"name": "owned", "ownerReferences": [owner]}}
        await desk.there.create(CONFIG_MAPS, made, "shop")
        assert await contents(desk).first_of(SHOP) == found
        assert await desk.there.get(CONFIG_MAPS, "owned", "shop")

    play(story)


def test_what_is_being_deleted_lives_nowhere() -> None:
    async def story(desk: Desk) -> None:
        made: Manifest = {"metadata": {"name": "theirs", "finalizers": ["example.com/keep"]}}
        assert await found_in(desk, SHOP, ("ConfigMap", made)) == "ConfigMap shop/theirs"
        await desk.there.delete(CONFIG_MAPS, "theirs", "shop")
        assert await contents(desk).first_of(SHOP) == ""

    play(story)


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (Forbidden(Status(code=403, message="no")), "configmaps that cannot be listed: no"),
        (ApiError(Status(code=405, message="no lists")), ""),
        (NotFound(Status(code=404, message="no such kind")), ""),
    ],
)
def test_what_may_not_be_listed_may_live_there(error: WorldError, found: str) -> None:
    async def story(desk: Desk) -> None:
        def refuse(request: Request) -> WorldError | None:
            return error if request.path.endswith("/configmaps") else None

        desk.line.refuse = refuse
        assert await found_in(desk, SHOP) == found

    play(story)


@pytest.mark.parametrize(("name", "found"), [("data", "PersistentVolumeClaim shop/data"), ("other", "")])
def test_a_volume_holds_the_claim_that_it_is_bound_to(name: str, found: str) -> None:
    async def story(desk: Desk) -> None:
        claim = ("PersistentVolumeClaim", {"metadata": {"name": name}, "spec": CLAIM})
        assert await found_in(desk, VOLUME, claim) == found

    play(story)


@pytest.mark.parametrize(
    ("shared", "manifest", "first"),
    [
        (SHOP, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}}, True),
        (SHOP, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "other"}}, False),
        (
            VOLUME,
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop"}},
            True,
        ),
        (VOLUME, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "data", "namespace": "shop"}}, False),
        (
            {"kind": "CustomResourceDefinition", "spec": {"group": "a.io", "names": {"kind": "X"}}},
            {"apiVersion": "a.io/v2", "kind": "X", "metadata": {"name": "s", "namespace": "shop"}},
            True,
        ),
        (
            {"kind": "CustomResourceDefinition", "spec": {"group": "a.io", "names": {"kind": "X"}}},
            {"apiVersion": "b.io/v2", "kind": "X", "metadata": {"name": "s", "namespace": "shop"}},
            False,
        ),
    ],
)
@pytest.mark.parametrize("state", ["going", "preserved", "wanted", "its own"])
def test_orders_about_what_lives_there_are_carried_out_first(
    shared: Manifest, manifest: Manifest, state: str, *, first: bool
) -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        metadata = {"finalizers": ["example.com/keep"]}
        spec: dict[str, Any] = {"workload": {"manifests": [manifest]}}
        spec |= {"preserveResourcesOnDeletion": True} if state == "preserved" else {}
        other = await desk.work("other", metadata=metadata, **spec)
        if state != "wanted":
            await desk.client.delete(WORKS, "other", SPACE)
        mine = other if state == "its own" else await desk.work("mine")
        works = MemberWorks(desk.plane, desk.member)
        await works.get("mine")
        await desk.plane.informers.of(CLUSTERS).wait_current()
        assert SharedContents(desk.member, works).goes_first(mine, shared) is (first and state == "going")

    play(story)
