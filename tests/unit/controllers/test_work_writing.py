"""The Works of a binding, as they are written: what each request is bound to, and what stays of what was there."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kubeapi.codec import to_wire
from kubeapi.core import NAMESPACES
from kubeapi.meta import Manifest
from kubeapi.status import Status
from kubeapi.unstructured import with_annotations
from kubeclient import NotServed, Request, Unreachable
from leeward.api.names import (
    BINDING_CONTROLLER_FINALIZER,
    BINDING_NAME_ANNOTATION,
    BINDING_NAMESPACE_ANNOTATION,
    CLUSTER_BINDING_NAME_ANNOTATION,
    REASSIGNED_ANNOTATION,
    REMOVAL_HELD_ANNOTATION,
    RENDERED_ANNOTATION,
    WORK_ID_LABEL,
    work_name,
)
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, CLUSTERS, RESOURCE_BINDINGS, WORKS
from leeward.api.work import Binding, ResourceBinding, Work
from leeward.controllers.binding.work_writing import TakenWork, WorkWriting
from leeward.core.execution.works import build_works
from leeward.core.propagation.reach import Reach
from tests.unit.controllers.desk import MEMBER, SPACE, Desk, play, preconditions

NAME = work_name("Deployment", "web", "default")
PATH = f"/apis/work.karmada.io/v1alpha1/namespaces/{SPACE}/works"
APPLIED = {
    "type": "Applied",
    "status": "True",
    "reason": "R",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
REPORT: Manifest = {"status": {"conditions": [APPLIED]}}
FRESH, THEIRS = "id-of-ours", "id-of-theirs"


def template(seconds: int = 2, **metadata: Any) -> Manifest:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "uid": "uid-1", "generation": 1, **metadata},
        "spec": {"replicas": 2, "minReadySeconds": seconds},
    }


async def bound(desk: Desk, name: str = "web-deployment", resource: str = "web", **spec: Any) -> ResourceBinding:
    """A binding that is there."""
    wanted = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": resource}
    made = {
        "metadata": {"name": name, "finalizers": [BINDING_CONTROLLER_FINALIZER]},
        "spec": {"resource": wanted, "replicas": 2, "clusters": [{"name": MEMBER, "replicas": 2}], **spec},
    }
    return await desk.client.create(RESOURCE_BINDINGS, made, "default")


def wanted(binding: Binding, work_id: str = FRESH, **changes: Any) -> Manifest:
    return build_works(binding, template(**changes), {MEMBER: work_id})[MEMBER]


async def writing(desk: Desk, changed: Callable[[Work], None] = lambda work: None) -> WorkWriting:
    await desk.cluster()
    await desk.plane.informers.of(RESOURCE_BINDINGS).wait_synced()
    await desk.plane.informers.of(CLUSTER_RESOURCE_BINDINGS).wait_synced()
    await desk.plane.informers.of(WORKS).wait_synced()
    return WorkWriting(desk.plane, Reach(), changed)


async def sync(desk: Desk, works: WorkWriting, binding: Binding, **changes: Any) -> Any:
    """Syncs as when no Work was listed."""
    return await works.sync(binding, None, wanted(binding, **changes), lambda work_id: wanted(binding, work_id))


def test_a_work_that_was_not_there_is_made_as_it_is_to_be_and_read_at_once() -> None:
    async def story(desk: Desk) -> None:
        works, binding = await writing(desk), await bound(desk)
        made = await sync(desk, works, binding)
        (sent,) = desk.wire.writes()
        assert (sent.method, sent.path) == ("POST", PATH)
        assert sent.body["spec"] == wanted(binding)["spec"]
        assert sent.body["metadata"] == with_annotations(wanted(binding), {RENDERED_ANNOTATION: "true"})["metadata"]
        assert made == desk.plane.informers.of(WORKS).get(NAME, SPACE) == await desk.seen(NAME)

    play(story)


def test_a_change_of_a_work_is_ours_while_it_is_written_and_no_longer() -> None:
    async def story(desk: Desk) -> None:
        foreign, told = list[Work](), list[bool]()
        works, binding = await writing(desk, foreign.append), await bound(desk)
        desk.plane.informers.of(WORKS).on_change(
            lambda _, new: told.append(new is not None and works.is_written_here(new))
        )
        await desk.work("other")
        await asyncio.sleep(1)
        desk.wire.after["POST"] = lambda: asyncio.sleep(1)
        await sync(desk, works, binding)
        await desk.note(NAME)
        await asyncio.sleep(1)
        assert told == [False, True, False], "the watch has told of ours before the answer was there"
        assert foreign == []

    play(story)


def test_what_others_write_before_the_answer_is_there_is_told_after_it_s9() -> None:
    async def story(desk: Desk) -> None:
        foreign = list[Work]()
        works, binding = await writing(desk, foreign.append), await bound(desk)

        async def note() -> None:
            await desk.note(NAME)
            await asyncio.sleep(1)

        desk.wire.after["POST"] = note
        made = await sync(desk, works, binding)
        (found,) = foreign
        assert "example.com/noted" in found.metadata.annotations
        assert "example.com/noted" not in made.metadata.annotations

    play(story)


def test_a_work_that_is_there_though_it_was_not_listed_keeps_its_permanent_id_s9_s12() -> None:
    async def story(desk: Desk) -> None:
        works, binding = await writing(desk), await bound(desk)
        before = await desk.client.create(WORKS, wanted(binding, THEIRS, seconds=1), SPACE)
        after = await sync(desk, works, binding)
        assert (after.metadata.uid, after.metadata.labels[WORK_ID_LABEL]) == (before.metadata.uid, THEIRS)
        (carried,) = after.spec.workload.manifests
        assert (carried["metadata"]["labels"][WORK_ID_LABEL], carried["spec"]["minReadySeconds"]) == (THEIRS, 2)
        update = desk.wire.writes()[-1]
        assert (update.method, update.path) == ("PUT", f"{PATH}/{NAME}")
        assert update.version == before.metadata.resource_version

    play(story)


def test_a_work_without_a_permanent_id_that_was_not_listed_gets_one_s9() -> None:
    async def story(desk: Desk) -> None:
        works, binding = await writing(desk), await bound(desk)
        old = wanted(binding)
        del old["metadata"]["labels"][WORK_ID_LABEL]
        await desk.client.create(WORKS, old, SPACE)
        after = await sync(desk, works, binding)
        assert after.metadata.labels[WORK_ID_LABEL] == FRESH

    play(story)


def test_a_work_of_a_binding_that_is_gone_is_not_taken_over_while_it_goes() -> None:
    async def story(desk: Desk) -> None:
        works, other = await writing(desk), await bound(desk, "another")
        await desk.client.create(WORKS, wanted(other), SPACE)
        await desk.client.patch(RESOURCE_BINDINGS, "another", {"metadata": {"finalizers": None}}, "default")
        await desk.client.delete(RESOURCE_BINDINGS, "another", "default")
        await desk.client.delete(WORKS, NAME, SPACE)
        binding = await bound(desk)
        desk.wire.writes()
        with pytest.raises(TakenWork, match=f"^Work {NAME} of a binding that is gone is being deleted$"):
            await sync(desk, works, binding)
        assert [sent.method for sent in desk.wire.writes()] == ["POST"]

    play(story)


@pytest.mark.parametrize(("mode", "marks"), [("Pull", [True]), ("Push", [])])
def test_an_agent_is_told_that_a_deletion_is_an_order(mode: str, marks: list[bool]) -> None:
    async def story(desk: Desk) -> None:
        works, binding = await writing(desk), await bound(desk)
        await desk.client.patch(CLUSTERS, MEMBER, {"spec": {"syncMode": mode}})
        await desk.client.create(WORKS, wanted(binding), SPACE)
        work = await desk.seen(NAME)
        desk.wire.writes()
        await works.delete(work)
        *patches, deletion = desk.wire.writes()
        assert [sent.method for sent in patches] == ["PATCH"] * len(marks)
        assert deletion.method == "DELETE"
        going = await desk.seen(NAME)
        assert going.is_removal_ordered == bool(marks)
        held = await works.mark(going, held=True)
        assert not held.is_removal_ordered, "the word is taken back"
        assert (await works.mark(held)).is_removal_ordered == bool(marks)

    play(story)


def test_ones_own_work_that_goes_is_told_to_keep_its_objects_s12() -> None:
    async def story(desk: Desk) -> None:
        works, binding = await writing(desk), await bound(desk)
        await desk.client.create(WORKS, wanted(binding), SPACE)
        await desk.client.delete(WORKS, NAME, SPACE)
        going = await desk.seen(NAME)
        after = await sync(desk, works, binding)
        assert after.spec.preserve_resources_on_deletion is True
        patch = desk.wire.writes()[-1]
        assert (patch.method, patch.version) == ("PATCH", going.metadata.resource_version)

    play(story)


def test_one_that_goes_and_is_listed_is_told_so_too() -> None:
    async def story(desk: Desk) -> None:
        works, binding = await writing(desk), await bound(desk)
        await desk.client.create(WORKS, wanted(binding), SPACE)
        await desk.client.delete(WORKS, NAME, SPACE)
        going = await desk.seen(NAME)
        after = await works.sync(binding, going, wanted(binding, seconds=7), lambda _: wanted(binding))
        assert after.spec.preserve_resources_on_deletion is True
        assert after.spec.workload == going.spec.workload
        assert [sent.method for sent in desk.wire.writes()] == ["PATCH"]

    play(story)


@pytest.mark.parametrize("uid", ["", "uid-1", "uid-2"])
def test_one_that_goes_with_an_earlier_template_takes_its_objects_along(uid: str) -> None:
    async def story(desk: Desk) -> None:
        works, binding = await writing(desk), await bound(desk)
        made = template()
        made["metadata"]["uid"] = "uid-1"
        await desk.client.create(WORKS, build_works(binding, made, {MEMBER: FRESH})[MEMBER], SPACE)
        await desk.client.delete(WORKS, NAME, SPACE)
        going = await desk.seen(NAME)
        anew = build_works(binding, {**made, "metadata": {**made["metadata"], "uid": uid}}, {MEMBER: FRESH})[MEMBER]
        after = await works.sync(binding, going, anew, lambda _: anew)
        assert bool(after.spec.preserve_resources_on_deletion) == (uid != "uid-2")
        assert len(desk.wire.writes()) == (uid != "uid-2")

    play(story)


@pytest.mark.parametrize("preserves", [True, False])
def test_what_was_reassigned_and_is_of_an_earlier_template_keeps_what_its_policy_preserves(preserves: bool) -> None:
    async def story(desk: Desk) -> None:
        works, binding = await writing(desk), await bound(desk, preserveResourcesOnDeletion=preserves)
        await desk.client.create(WORKS, wanted(binding), SPACE)
        await desk.client.delete(WORKS, NAME, SPACE)
        reassigned = {"metadata": {"annotations": {REASSIGNED_ANNOTATION: "true"}}}
        await desk.client.patch(WORKS, NAME, {**reassigned, "spec": {"preserveResourcesOnDeletion": True}}, SPACE)
        anew = build_works(binding, template(uid="uid-2"), {MEMBER: FRESH})[MEMBER]
        after = await works.sync(binding, await desk.seen(NAME), anew, lambda _: anew)
        assert REASSIGNED_ANNOTATION not in after.metadata.annotations
        assert bool(after.spec.preserve_resources_on_deletion) is preserves

    play(story)


def test_l1_one_that_goes_with_an_earlier_template_is_held_no_more_where_its_cluster_is_assigned() -> None:
    async def story(desk: Desk) -> None:
        works, binding = await writing(desk), await bound(desk)
        await desk.client.create(WORKS, wanted(binding), SPACE)
        await desk.client.delete(WORKS, NAME, SPACE)
        await desk.client.patch(WORKS, NAME, {"metadata": {"annotations": {REMOVAL_HELD_ANNOTATION: "true"}}}, SPACE)
        anew = build_works(binding, template(uid="uid-2"), {MEMBER: FRESH})[MEMBER]
        after = await works.sync(binding, await desk.seen(NAME), anew, lambda _: anew)
        assert REMOVAL_HELD_ANNOTATION not in after.metadata.annotations
        assert not after.spec.preserve_resources_on_deletion

    play(story)


def test_an_update_is_bound_to_the_version_that_was_seen_and_keeps_what_is_others_s5_s9() -> None:
    async def story(desk: Desk) -> None:
        works, binding = await writing(desk), await bound(desk)
        made = wanted(binding)
        made["metadata"]["labels"]["example.com/team"] = "shop"
        made["metadata"]["annotations"]["example.com/note"] = "kept"
        made["metadata"]["annotations"][CLUSTER_BINDING_NAME_ANNOTATION] = "an-earlier-one"
        await desk.client.create(WORKS, made, SPACE)
        seen = await desk.client.patch(WORKS, NAME, REPORT, SPACE, subresource="status")
        after = await works.sync(binding, seen, wanted(binding, seconds=5), lambda _: wanted(binding))
        (update,) = desk.wire.writes()
        assert (update.method, update.path, update.version) == (
            "PUT",
            f"{PATH}/{NAME}",
            seen.metadata.resource_version,
        )
        assert "status" not in update.body
        assert after.metadata.labels["example.com/team"] == "shop"
        assert after.metadata.labels[WORK_ID_LABEL] == FRESH
        assert after.metadata.annotations["example.com/note"] == "kept"
        assert after.metadata.annotations[BINDING_NAME_ANNOTATION] == "web-deployment"
        assert CLUSTER_BINDING_NAME_ANNOTATION not in after.metadata.annotations
        assert after.metadata.finalizers == seen.metadata.finalizers
        assert after.spec.workload.manifests[0]["spec"]["minReadySeconds"] == 5
        assert desk.plane.informers.of(WORKS).get(NAME, SPACE) == after

    play(story)


def test_what_is_as_it_is_to_be_is_not_written_whatever_it_reports_l1() -> None:
    async def story(desk: Desk) -> None:
        works, binding = await writing(desk), await bound(desk)
        await desk.client.create(WORKS, wanted(binding), SPACE)
        seen = await desk.client.patch(WORKS, NAME, REPORT, SPACE, subresource="status")
        assert await works.sync(binding, seen, wanted(binding), lambda _: wanted(binding)) is seen
        assert desk.wire.writes() == []

    play(story)


def test_a_work_of_another_living_binding_is_left_to_it_s9() -> None:
    async def story(desk: Desk) -> None:
        works, other = await writing(desk), await bound(desk, "another")
        theirs = await desk.client.create(WORKS, wanted(other), SPACE)
        binding = await bound(desk)
        with pytest.raises(TakenWork, match=f"^Work {NAME} belongs to ResourceBinding default/another$"):
            await works.refuse_taken(theirs, binding, wanted(binding))
        with pytest.raises(TakenWork):
            await sync(desk, works, binding)
        assert await desk.seen(NAME) == theirs

    play(story)


def test_a_binding_that_is_known_is_not_asked_for_l5() -> None:
    async def story(desk: Desk) -> None:
        works, other = await writing(desk), await bound(desk, "another")
        theirs = await desk.client.create(WORKS, wanted(other), SPACE)
        binding = await bound(desk)
        await asyncio.sleep(0.1)
        desk.wire.sent.clear()
        with pytest.raises(TakenWork):
            await works.refuse_taken(theirs, binding, wanted(binding))
        assert desk.wire.sent == []

    play(story)


def test_the_cache_alone_does_not_say_that_a_binding_is_gone_s5() -> None:
    async def story(desk: Desk) -> None:
        works, binding = await writing(desk), await bound(desk)
        marks = {BINDING_NAMESPACE_ANNOTATION: "default", BINDING_NAME_ANNOTATION: "another"}
        theirs = await desk.work(NAME, metadata={"annotations": marks})
        found = f"/apis/work.karmada.io/v1alpha2/namespaces/default/{RESOURCE_BINDINGS.plural}/another"
        asked: list[str] = []

        def unreachable(request: Request) -> Unreachable | None:
            asked.append(request.path)
            return Unreachable("cut") if request.path == found else None

        desk.wire.refuse = unreachable
        with pytest.raises(Unreachable):
            await works.refuse_taken(theirs, binding, wanted(binding))
        assert found in asked
        gone = NotServed(Status(code=404))
        desk.wire.refuse = lambda request: gone if request.path == found else None
        with pytest.raises(NotServed):
            await works.refuse_taken(theirs, binding, wanted(binding))

    play(story)


def test_a_work_whose_binding_is_gone_is_taken_over() -> None:
    async def story(desk: Desk) -> None:
        works, other = await writing(desk), await bound(desk, "another")
        await desk.client.create(WORKS, wanted(other, THEIRS), SPACE)
        await desk.client.patch(RESOURCE_BINDINGS, "another", {"metadata": {"finalizers": None}}, "default")
        await desk.client.delete(RESOURCE_BINDINGS, "another", "default")
        await desk.plane.informers.of(RESOURCE_BINDINGS).wait_synced()
        binding = await bound(desk)
        after = await sync(desk, works, binding)
        names = (BINDING_NAMESPACE_ANNOTATION, BINDING_NAME_ANNOTATION)
        assert [after.metadata.annotations[name] for name in names] == ["default", "web-deployment"]
        assert after.metadata.labels[WORK_ID_LABEL] == THEIRS

    play(story)


def test_a_work_for_another_object_of_the_same_hash_is_left_to_it() -> None:
    async def story(desk: Desk) -> None:
        works, binding = await writing(desk), await bound(desk)
        foreign = wanted(binding)
        del foreign["metadata"]["annotations"][BINDING_NAME_ANNOTATION]
        foreign["spec"]["workload"]["manifests"][0]["metadata"]["name"] = "shop"
        theirs = await desk.client.create(WORKS, foreign, SPACE)
        with pytest.raises(TakenWork, match=f"^Work {NAME} is for Deployment default/shop$"):
            await works.refuse_taken(theirs, binding, wanted(binding))
        own = wanted(binding)
        own["spec"]["workload"]["manifests"][0]["metadata"]["name"] = "shop"
        await desk.client.delete(WORKS, NAME, SPACE)
        await desk.client.patch(WORKS, NAME, {"metadata": {"finalizers": None}}, SPACE)
        named = await desk.client.create(WORKS, own, SPACE)
        await works.refuse_taken(named, binding, wanted(binding))

    play(story)


@pytest.mark.parametrize("says", [True, False])
def test_what_is_evicted_is_told_to_take_its_objects_along(says: bool) -> None:
    async def story(desk: Desk) -> None:
        works = await writing(desk)
        work = await desk.work(preserveResourcesOnDeletion=says)
        after = await works.preserve(work, preserve=False)
        assert not after.spec.preserve_resources_on_deletion
        sent = desk.wire.writes()
        assert [one.version for one in sent] == ([work.metadata.resource_version] if says else [])
        assert [one.path for one in sent] == ([f"{PATH}/web"] if says else [])
        assert after == await desk.seen()

    play(story)


def test_a_work_is_deleted_as_the_one_and_in_the_version_that_was_seen_s5() -> None:
    async def story(desk: Desk) -> None:
        works, work = await writing(desk), await desk.work()
        await works.delete(work)
        (sent,) = desk.wire.writes()
        assert (sent.method, sent.path) == ("DELETE", f"{PATH}/web")
        assert preconditions(sent) == (work.metadata.uid, work.metadata.resource_version)
        await works.delete(work)
        assert [one.method for one in desk.wire.writes()] == ["DELETE"], "one that is gone is no failure"

    play(story)


def test_marks_of_an_earlier_binding_go_with_a_work_that_is_taken_over() -> None:
    async def story(desk: Desk) -> None:
        works, binding = await writing(desk), await bound(desk)
        metadata: Mapping[str, Any] = {"annotations": {CLUSTER_BINDING_NAME_ANNOTATION: "gone"}}
        before = await desk.work(NAME, metadata=dict(metadata))
        after = await works.sync(binding, before, wanted(binding), lambda _: wanted(binding))
        marks = to_wire(after)["metadata"]["annotations"]
        assert CLUSTER_BINDING_NAME_ANNOTATION not in marks
        assert marks[BINDING_NAME_ANNOTATION] == "web-deployment"
        assert (await desk.client.get(NAMESPACES, SPACE)).metadata.deletion_timestamp is None

    play(story)
