"""Works that are not to be: which are deleted, which are marked first, and which stay as they are (S1)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec
import pytest

from kubeapi.meta import Manifest
from kubeclient import Conflict, NotFound
from leeward.api.names import LEAVING_CONDITION, REMOVAL_HELD_ANNOTATION
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS, WORKS
from leeward.api.work import CLUSTER_NOT_READY, Binding, ResourceBinding, Work
from leeward.controllers.binding.unwanted_works import UnwantedWorks
from leeward.controllers.binding.work_writing import WorkWriting, WrittenWorks
from leeward.controllers.removals.removal_holds import RemovalHolds
from leeward.core.copies.disruption import NO_SIZES
from leeward.core.execution.held_volumes import KEEPS_CLAIMS_ANNOTATION
from leeward.core.execution.removal import NOT_REPLACED
from leeward.core.execution.removal_conditions import leaving
from leeward.core.overrides.rendering import OverrideFailure
from leeward.core.propagation.reach import Reach
from tests.builders import at
from tests.unit.controllers.desk import MEMBER, SPACE, Desk, play, preconditions

PATH = f"/apis/work.karmada.io/v1alpha1/namespaces/{SPACE}/works/web"
PURGED = {"fromCluster": MEMBER, "purgeMode": "Directly", "reason": "TaintUntolerated", "producer": "TaintManager"}
ELSEWHERE: dict[str, Any] = {"clusters": [{"name": "member2", "replicas": 2}]}


class Told(RemovalHolds):
    """Holds that say what a test has them say, and note what they were asked."""

    def __init__(self, desk: Desk, *, held: bool, look_at: datetime | None = None, enabled: bool = True) -> None:
        super().__init__(desk.plane, enabled=enabled)
        self.held, self.look_at = held, look_at
        self.asked: list[tuple[str, str, bool | None]] = []
        self.needs: Mapping[str, int] = NO_SIZES

    def why_it_waits(
        self,
        binding: Binding,
        cluster: str,
        present: Mapping[str, Work],
        is_wanted: bool = False,
        needs: Mapping[str, int] = NO_SIZES,
        *,
        is_purged: bool = False,
    ) -> tuple[str, datetime | None]:
        if is_purged:
            return super().why_it_waits(binding, cluster, present, is_wanted, needs, is_purged=True)
        self.asked.append((binding.name, present[cluster].name, is_wanted))
        self.needs = needs
        return "NotReplaced" if self.held else "", self.look_at


class Removing:
    """One Work of a binding that is nowhere asked for, unless a test says so."""

    def __init__(
        self, desk: Desk, *, held: bool = False, enabled: bool = True, look_at: datetime | None = None
    ) -> None:
        self.desk = desk
        self.holds = Told(desk, held=held, look_at=look_at, enabled=enabled)
        self.synced = WrittenWorks({}, True, {})

    async def work(self, *, going: bool = False, **fields: Any) -> Work:
        work = await self.desk.work(metadata={"finalizers": ["example.com/keep"]}, **fields)
        if going:
            await self.desk.client.delete(WORKS, "web", SPACE)
            work = await self.desk.seen()
        return work

    async def bound(self, **spec: Any) -> ResourceBinding:
        resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}
        requirements: Any = {"resourceRequest": {"cpu": "1"}}
        made = {"resource": resource, "replicas": 2, "replicaRequirements": requirements, **spec}
        metadata = {"name": "web-deployment"}
        return await self.desk.client.create(RESOURCE_BINDINGS, {"metadata": metadata, "spec": made}, "default")

    async def bound_again(self, binding: ResourceBinding, **spec: Any) -> ResourceBinding:
        return await self.desk.client.patch(RESOURCE_BINDINGS, binding.name, {"spec": spec}, "default")

    async def remove(
        self, binding: Binding, work: Work, *, keep: bool = False, desired: bool = False, not_rendered: bool = False
    ) -> bool:
        """Forgets what was written before."""
        await self.desk.plane.informers.of(CLUSTERS).wait_synced()
        await self.desk.plane.informers.of(WORKS).wait_synced()
        failures = {MEMBER: OverrideFailure(None, "it cannot be read")} if not_rendered else {}
        self.synced = WrittenWorks({}, True, failures, look_at=self.synced.look_at)
        unwanted = self.unwanted()
        self.desk.wire.writes()
        wanted: dict[str, Manifest] = {MEMBER: {}} if desired else {}
        return await unwanted.remove(binding, {MEMBER: work}, wanted, self.synced, keep=keep)

    def unwanted(self) -> UnwantedWorks:
        plane = self.desk.plane
        return UnwantedWorks(plane, WorkWriting(plane, Reach()), self.holds)

    def written(self) -> list[tuple[str, Any]]:
        """Method of each write, with the annotation that holds a removal, and `preserveResourcesOnDeletion`."""
        found = [one for one in self.desk.wire.writes() if one.path == PATH]
        return [(one.method, _read(one.body) if one.method == "PATCH" else None) for one in found]


def _read(body: Any) -> tuple[Any, Any]:
    marks = body["metadata"].get("annotations", {})
    return marks.get(REMOVAL_HELD_ANNOTATION), body.get("spec", {}).get("preserveResourcesOnDeletion")


def tell(story: Callable[[Removing], Awaitable[None]], **more: Any) -> None:
    async def prepared(desk: Desk) -> None:
        await desk.cluster()
        await story(Removing(desk, **more))

    play(prepared)


@pytest.mark.parametrize("applied", [False, True])
def test_s1_what_waits_stays_as_it_is_and_says_so(applied: bool) -> None:
    """Nothing of it is made any more: one that may not be there yet is suspended."""

    async def story(removing: Removing) -> None:
        binding, work = await removing.bound(**ELSEWHERE), await removing.work()
        if applied:
            report: Manifest = {"type": "Applied", "status": "True", "reason": "Test", "message": "ok"}
            report |= {"observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}
            status = {"status": {"conditions": [report]}}
            work = await removing.desk.client.patch(WORKS, "web", status, SPACE, subresource="status")
        assert not await removing.remove(binding, work)
        assert removing.holds.asked == [("web-deployment", "web", False)]
        assert removing.holds.needs is removing.synced.needs
        assert removing.synced.waiting == {MEMBER: "NotReplaced"}
        await asyncio.sleep(1)
        seen = await removing.desk.seen()
        assert seen.metadata.deletion_timestamp is None
        (told,) = (each for each in seen.status.conditions if each.type == LEAVING_CONDITION)
        assert told.reason == "NotReplaced"
        assert told.message.startswith(f"Not wanted in cluster {MEMBER}.")
        assert bool(seen.spec.suspend_dispatching) is not applied

    tell(story, held=True)


@pytest.mark.parametrize("why", [CLUSTER_NOT_READY, NOT_REPLACED])
def test_a_work_that_waits_for_its_cluster_is_looked_at_no_more_because_it_says_so(why: str) -> None:
    async def story(removing: Removing) -> None:
        binding, work = await removing.bound(**ELSEWHERE), await removing.work()
        writing = WorkWriting(removing.desk.plane, Reach())
        work = await removing.desk.client.patch(WORKS, "web", {"spec": {"suspendDispatching": True}}, SPACE)
        await removing.desk.plane.informers.of(WORKS).wait_synced()
        await writing.leave(binding, work, leaving(MEMBER, why))
        await asyncio.sleep(1)
        seen = await removing.desk.seen()
        assert seen.is_leaving
        assert writing.is_written_here(seen) is (why == CLUSTER_NOT_READY)
        await removing.desk.note()
        assert not writing.is_written_here(await removing.desk.seen()), "others may change it"

    tell(story)


def test_s5_a_deletion_is_about_the_version_that_was_seen() -> None:
    async def story(removing: Removing) -> None:
        binding, work = await removing.bound(**ELSEWHERE), await removing.work()
        await removing.remove(binding, work)
        assert preconditions(removing.desk.wire.sent[-1]) == (work.metadata.uid, work.metadata.resource_version)

    tell(story)


@pytest.mark.parametrize(("desired", "not_rendered"), [(True, False), (False, True), (True, True)])
def test_what_is_to_be_there_or_cannot_be_rendered_stays(desired: bool, not_rendered: bool) -> None:
    async def story(removing: Removing) -> None:
        binding, work = await removing.bound(**ELSEWHERE), await removing.work()
        assert not await removing.remove(binding, work, desired=desired, not_rendered=not_rendered)
        assert (removing.written(), removing.holds.asked, removing.synced.kept) == ([], [], [])

    tell(story)


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("not_rendered", [False, True])
def test_a_work_that_is_going_is_held_or_let_go_and_looked_at_again(held: bool, not_rendered: bool) -> None:
    async def story(removing: Removing) -> None:
        binding, work = await removing.bound(**ELSEWHERE), await removing.work(going=True)
        removing.synced.look_at = at(500)
        assert not await removing.remove(binding, work, not_rendered=not_rendered)
        assert removing.written() == ([("PATCH", ("true", None))] if held else [])
        assert removing.holds.asked == [("web-deployment", "web", not_rendered)]
        assert removing.synced.look_at == at(400)
        assert not await removing.remove(binding, await removing.desk.seen())
        assert removing.written() == [], "it is marked so already"
        removing.holds.held = False
        assert not await removing.remove(binding, await removing.desk.seen())
        assert removing.written() == ([("PATCH", (None, None))] if held else [])

    tell(story, held=held, look_at=at(400))


def test_a_look_that_is_due_earlier_stays_so() -> None:
    async def story(removing: Removing) -> None:
        binding, work = await removing.bound(**ELSEWHERE), await removing.work(going=True)
        removing.synced.look_at = at(300)
        await removing.remove(binding, work)
        assert removing.synced.look_at == at(300)

    tell(story, look_at=at(400))


ENDED = {"fromCluster": MEMBER, "purgeMode": "Gracefully", "suppressDeletion": False, "reason": "R", "producer": "P"}


@pytest.mark.parametrize("going", [False, True])
@pytest.mark.parametrize(
    ("api_version", "tasks", "keeps"),
    [
        ("example.com/v1", (), "true"),
        ("apps/v1", (), None),
        ("example.com/v1", (PURGED,), None),
        ("example.com/v1", (ENDED,), None),
        ("example.com/v1", ({**ENDED, "fromCluster": "member3"},), "true"),
    ],
)
def test_what_owns_claims_is_marked_unless_it_is_purged_or_a_person_has_ended_it(
    api_version: str, tasks: tuple[Manifest, ...], keeps: str | None, going: bool
) -> None:
    async def story(removing: Removing) -> None:
        resource = {"apiVersion": api_version, "kind": "Database", "namespace": "default", "name": "web"}
        binding = await removing.bound(**ELSEWHERE, gracefulEvictionTasks=list(tasks), resource=resource)
        await removing.remove(binding, await removing.work(going=going))
        assert (await removing.desk.seen()).metadata.annotations.get(KEEPS_CLAIMS_ANNOTATION) == keeps

    tell(story)


@pytest.mark.parametrize("first", ["desired", "kept"])
def test_l4_a_work_that_stays_holds_back_no_other(first: str) -> None:
    async def story(removing: Removing) -> None:
        binding, work = await removing.bound(**ELSEWHERE), await removing.work()
        present = {"member3": work, MEMBER: work}
        synced, desired = WrittenWorks({}, True, {}), dict[str, Manifest]({"member3": {}} if first == "desired" else {})
        unwanted = removing.unwanted()
        removing.desk.wire.writes()
        if first == "kept":
            await removing.desk.cluster("member3")
            await removing.desk.plane.informers.of(CLUSTERS).wait_current()
            kept = await removing.bound_again(binding, gracefulEvictionTasks=[PURGED])
            await unwanted.remove(kept, present, desired, synced, keep=True)
            assert synced.kept == ["member3"]
        else:
            await unwanted.remove(binding, present, desired, synced, keep=False)
        assert "DELETE" in [sent.method for sent in removing.desk.wire.writes() if sent.path == PATH]

    tell(story)


@pytest.mark.parametrize("going", [False, True])
def test_s1_nothing_goes_while_what_replaces_it_may_not_be_made(going: bool) -> None:
    async def story(removing: Removing) -> None:
        binding, work = await removing.bound(**ELSEWHERE), await removing.work(going=going)
        assert not await removing.remove(binding, work, keep=True)
        assert removing.written() == ([("PATCH", ("true", None))] if going else [])
        assert removing.synced.kept == ([] if going else [MEMBER])
        assert removing.holds.asked == [], "it is kept whatever the holds say"

    tell(story)


@pytest.mark.parametrize("why", ["purged", "none is asked for", "unjoined", "not in the fleet", "holds nothing"])
@pytest.mark.parametrize("going", [False, True])
def test_s1_but_what_may_not_stay_goes(why: str, going: bool) -> None:
    async def story(removing: Removing) -> None:
        spec = {"gracefulEvictionTasks": [PURGED]} if why == "purged" else {}
        spec |= {"replicas": 0} if why == "none is asked for" else {}
        binding, work = await removing.bound(**ELSEWHERE, **spec), await removing.work(going=going)
        if why == "unjoined":
            kept = {"metadata": {"finalizers": ["example.com/keep"]}}
            await removing.desk.client.patch(CLUSTERS, MEMBER, kept)
        if why in ("unjoined", "not in the fleet"):
            await removing.desk.client.delete(CLUSTERS, MEMBER)
        assert await removing.remove(binding, work, keep=True) != going
        assert [method for method, _ in removing.written()] == ([] if going else ["DELETE"])
        assert removing.synced.kept == []

    tell(story, enabled=why != "holds nothing")


@pytest.mark.parametrize("going", [False, True])
def test_a_purged_copy_is_not_held_whatever_the_holds_say(going: bool) -> None:
    async def story(removing: Removing) -> None:
        binding = await removing.bound(**ELSEWHERE, gracefulEvictionTasks=[PURGED])
        work = await removing.work(going=going)
        await removing.remove(binding, work)
        assert [method for method, _ in removing.written()] == ([] if going else ["DELETE"])
        assert removing.holds.asked == []

    tell(story, held=True)


@pytest.mark.parametrize("unjoined", [False, True])
@pytest.mark.parametrize("surplus", [False, True])
def test_a_copy_that_counts_for_nothing_is_not_preserved_but_where_its_cluster_leaves(
    surplus: bool, unjoined: bool
) -> None:
    async def story(removing: Removing) -> None:
        needed: dict[str, Any] = {"requiredBy": [{"name": "x", "namespace": "default", **_in(MEMBER)}]}
        binding = await removing.bound(**ELSEWHERE, **({} if surplus else needed))
        work = await removing.work(preserveResourcesOnDeletion=True)
        if unjoined:
            await removing.desk.client.delete(CLUSTERS, MEMBER)
        assert await removing.remove(binding, work)
        cleared = [("PATCH", (None, False))] if surplus and not unjoined else []
        assert removing.written() == [*cleared, ("DELETE", None)]

    tell(story)


def _in(cluster: str) -> dict[str, Any]:
    return {"clusters": [{"name": cluster, "replicas": 2}]}


def test_a_work_that_is_gone_meanwhile_is_no_failure() -> None:
    async def story(removing: Removing) -> None:
        binding, work = await removing.bound(**ELSEWHERE), await removing.work()
        await removing.desk.client.patch(WORKS, "web", {"metadata": {"finalizers": None}}, SPACE)
        await removing.desk.client.delete(WORKS, "web", SPACE)
        assert await removing.remove(binding, work)
        with pytest.raises(NotFound):
            await removing.desk.seen()

    tell(story)


def test_l4_a_write_that_is_refused_is_told_and_holds_back_no_other_work() -> None:
    async def story(removing: Removing) -> None:
        binding, work = await removing.bound(**ELSEWHERE), await removing.work()
        refused = msgspec.structs.replace(work, metadata=msgspec.structs.replace(work.metadata, uid="another"))
        assert not await removing.remove(binding, refused)
        assert [type(error) for error in removing.synced.failures] == [Conflict]

    tell(story)
