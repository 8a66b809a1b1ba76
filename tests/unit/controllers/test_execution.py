"""The execution controller of one member: when the member is written to, when not, and what is said of it."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from controller_runtime.statuses import NEWS_SECONDS, PROGRESS_SECONDS
from kubeapi.core import EVENTS
from kubeapi.meta import Manifest
from kubeapi.status import Status
from kubeclient import Conflict, NotFound, Unreachable
from kubeserver.store.record import Record
from leeward.api.meta import Condition, find_condition
from leeward.api.names import (
    EXECUTION_CONTROLLER_FINALIZER,
    LEAVING_CONDITION,
    REMOVAL_BLOCKED_CONDITION,
    REMOVAL_HELD_ANNOTATION,
    UNREACHABLE_TAINT,
)
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Work
from leeward.controllers.execution import execution
from leeward.controllers.execution.execution import (
    LOOK_AGAIN,
    RETRY_SECONDS,
    ApplyFailed,
    ExecutionController,
    _is_other_order,  # pyright: ignore[reportPrivateUsage]
)
from leeward.controllers.execution.member_objects import ROUNDING_SECONDS
from leeward.controllers.removals.returned_copies import ReturnedCopies
from leeward.core.execution.ownership import stamp
from leeward.runtime.member_works import MemberWorks
from tests.unit.controllers.desk import CLOCK, CONFIG_MAPS, MEMBER, SPACE, Desk, play

OURS, THEIRS = EXECUTION_CONTROLLER_FINALIZER, "example.com/keep"
PATH = f"/apis/work.karmada.io/v1alpha1/namespaces/{SPACE}/works"


class Shift:
    """The controller, reconciling when a story says so."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.works = MemberWorks(desk.plane, desk.member)
        self.controller = ExecutionController(desk.plane, desk.member, self.works, ReturnedCopies(desk.plane))
        self.backup: Record | None = None

    async def reconcile(self, name: str = "web") -> float | None:
        """Number of seconds in which it wants to look again; after it has heard of what has happened."""
        await asyncio.sleep(0.02)
        at = await self.controller.reconcile(name)
        return None if at is None else (at - CLOCK.now()).total_seconds()

    async def work(self, *names: str, finalizers: tuple[str, ...] = (OURS,), **fields: Any) -> Work:
        """A Work with ConfigMaps of these names."""
        annotations = fields.pop("annotations", {})
        manifests = [stamp(named(name), SPACE, "web") for name in names or ("colors",)]
        metadata = {"finalizers": list(finalizers), "annotations": annotations}
        return await self.desk.work(metadata=metadata, workload={"manifests": manifests}, **fields)

    async def delete(self) -> Work:
        """The Work is being deleted from now on."""
        await self.desk.client.delete(WORKS, "web", SPACE)
        return await self.desk.seen()

    async def has(self, name: str = "colors") -> bool:
        """Tells whether the ConfigMap is in the member."""
        try:
            await self.desk.there.get(CONFIG_MAPS, name, "default")
        except NotFound:
            return False
        return True

    async def said(self, kind: str) -> Condition | None:
        """The condition of the Work, once statuses are written."""
        await asyncio.sleep(2 * NEWS_SECONDS)
        return find_condition((await self.desk.seen()).status.conditions, kind)


def named(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": {}}


def tell(story: Callable[[Shift], Awaitable[None]]) -> None:
    async def prepared(desk: Desk) -> None:
        await desk.cluster()
        shift = Shift(desk)
        await shift.works.get("web")
        desk.wire.writes()
        desk.line.writes()
        await story(shift)

    play(prepared)


def since(seconds: float) -> dict[str, str]:
    """A transition of a condition so many seconds from now."""
    return {"lastTransitionTime": (CLOCK.now() + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")}


def test_what_a_work_contains_is_applied_and_said() -> None:
    async def story(shift: Shift) -> None:
        work = await shift.work()
        assert await shift.reconcile() is None
        assert await shift.has()
        applied, dispatching = await shift.said("Applied"), await shift.said("Dispatching")
        assert applied is not None
        assert (applied.status, applied.reason) == ("True", "AppliedSuccessful")
        assert applied.message == "Manifest has been successfully applied"
        assert applied.observed_generation == work.metadata.generation
        assert dispatching is not None
        assert (dispatching.status, dispatching.reason) == ("True", "Dispatching")
        assert dispatching.message == "Work is being dispatched to member clusters."
        assert sorted(await shift.desk.events()) == ["SyncSucceed", "WorkDispatching"]
        told = (await shift.desk.client.list(EVENTS)).items
        (event,) = (each for each in told if each.reason == "SyncSucceed")
        assert event.source.component == "execution-controller"

    tell(story)


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_while_the_cluster_is_not_ready_nothing_is_written_or_deleted_there(status: str) -> None:
    async def story(shift: Shift) -> None:
        await shift.work()
        await shift.desk.condition(status=status)
        assert await shift.reconcile() is None
        await shift.delete()
        assert await shift.reconcile() is None
        assert shift.desk.line.writes() == []
        assert (await shift.desk.seen()).metadata.finalizers == (OURS,)

    tell(story)


def test_nothing_is_written_where_there_is_no_cluster_and_no_work() -> None:
    async def story(shift: Shift) -> None:
        assert await shift.reconcile() is None
        await shift.work()
        await shift.desk.client.patch(CLUSTERS, MEMBER, {"metadata": {"finalizers": None}})
        await shift.desk.client.delete(CLUSTERS, MEMBER)
        assert await shift.reconcile() is None
        assert shift.desk.line.writes() == []

    tell(story)


def test_a_suspended_work_is_not_dispatched_and_says_so() -> None:
    async def story(shift: Shift) -> None:
        await shift.work(suspendDispatching=True)
        assert await shift.reconcile() is None
        assert not await shift.has()
        said = await shift.said("Dispatching")
        assert said is not None
        assert (said.status, said.reason) == ("False", "SuspendDispatching")
        assert said.message == "Work dispatching is in a suspended state."

    tell(story)


def test_what_cannot_be_applied_holds_back_no_other_and_is_told_once_l4() -> None:
    async def story(shift: Shift) -> None:
        work = await shift.work("first", "second")
        await shift.desk.map_there("first")
        message = (
            "Failed to apply all manifests: ConfigMap default/first: it exists in cluster member1 and is not managed "
            "by this Work; remove it there, or set conflictResolution: Overwrite in the policy"
        )
        for _ in range(2):
            with pytest.raises(ApplyFailed) as failed:
                await shift.reconcile()
            assert str(failed.value) == message
            applied = await shift.said("Applied")
            assert applied is not None
            assert (applied.status, applied.reason, applied.message) == ("False", "AppliedFailed", message)
            assert applied.observed_generation == work.metadata.generation
        assert await shift.has("second")
        assert sorted(await shift.desk.events()) == ["SyncFailed", "SyncSucceed", "WorkDispatching"]

    tell(story)


def test_several_problems_are_all_named() -> None:
    async def story(shift: Shift) -> None:
        await shift.work("first", "second")
        for name in ("first", "second"):
            await shift.desk.map_there(name)
        with pytest.raises(ApplyFailed, match=r"first: it exists .*; ConfigMap default/second: it exists"):
            await shift.reconcile()

    tell(story)


def test_an_object_that_changes_while_it_is_written_is_tried_again_and_no_problem() -> None:
    async def story(shift: Shift) -> None:
        await shift.work()
        changed = Conflict(Status(code=409))
        shift.desk.line.refuse = lambda request: changed if request.method == "POST" else None
        with pytest.raises(Conflict):
            await shift.reconcile()
        assert await shift.said("Applied") is None

    tell(story)


def test_what_is_undone_again_and_again_waits_for_its_turn_and_says_so() -> None:
    async def story(shift: Shift) -> None:
        await shift.work()
        left = await shift.reconcile()
        for _ in range(2):
            await shift.desk.there.delete(CONFIG_MAPS, "colors", "default")
            left = await shift.reconcile()
        assert left is not None
        assert 0.9 < left <= 1 + ROUNDING_SECONDS
        applied = await shift.said("Applied")
        assert applied is not None
        assert "it is deleted in cluster member1 whenever it is written" in applied.message
        assert (await shift.desk.events())[-1] == "WriteUndone"

    tell(story)


def test_what_is_undone_beside_a_failure_is_a_failure() -> None:
    async def story(shift: Shift) -> None:
        await shift.work("colors", "theirs")
        await shift.desk.map_there("theirs")
        for _ in range(3):
            with pytest.raises(ApplyFailed):
                await shift.reconcile()
            if await shift.has():
                await shift.desk.there.delete(CONFIG_MAPS, "colors", "default")
        assert "WriteUndone" not in await shift.desk.events()

    tell(story)


def test_the_finalizer_goes_when_all_is_gone_in_the_version_that_was_seen_s5() -> None:
    async def story(shift: Shift) -> None:
        await shift.work(finalizers=(OURS, THEIRS))
        await shift.reconcile()
        await shift.said("Applied")
        held = {"metadata": {"finalizers": [THEIRS]}}
        await shift.desk.there.patch(CONFIG_MAPS, "colors", held, "default")
        work = await shift.delete()
        shift.desk.wire.writes()
        assert await shift.reconcile() == 1
        assert shift.desk.wire.writes() == [], "it is still there"
        await shift.desk.there.patch(CONFIG_MAPS, "colors", {"metadata": {"finalizers": None}}, "default")
        assert await shift.reconcile() is None
        (sent,) = shift.desk.wire.writes()
        assert (sent.method, sent.path) == ("PATCH", f"{PATH}/web")
        assert sent.version == work.metadata.resource_version
        assert (await shift.desk.seen()).metadata.finalizers == (THEIRS,)
        assert await shift.reconcile() is None
        assert shift.desk.wire.writes() == [], "what others keep is theirs to give up"

    tell(story)


def test_a_work_that_leaves_its_objects_goes_also_while_its_cluster_is_away() -> None:
    async def story(shift: Shift) -> None:
        await shift.work(preserveResourcesOnDeletion=True, finalizers=(OURS, THEIRS))
        await shift.reconcile()
        await shift.desk.condition(status="False")
        work = await shift.delete()
        shift.desk.wire.writes()
        assert await shift.reconcile() is None
        (sent,) = shift.desk.wire.writes()
        assert sent.version == work.metadata.resource_version
        assert await shift.reconcile() is None
        assert shift.desk.wire.writes() == []
        assert await shift.has()

    tell(story)


def test_a_removal_that_is_held_waits_unless_the_cluster_leaves_s1() -> None:
    async def story(shift: Shift) -> None:
        await shift.work(annotations={REMOVAL_HELD_ANNOTATION: "true"})
        await shift.reconcile()
        await shift.delete()
        assert await shift.reconcile() == 1
        assert await shift.has()
        await shift.desk.client.patch(CLUSTERS, MEMBER, {"metadata": {"finalizers": [THEIRS]}})
        await shift.desk.client.delete(CLUSTERS, MEMBER)
        assert await shift.reconcile() is None
        assert not await shift.has()

    tell(story)


def test_what_leaves_is_not_made_in_its_member_nor_changed() -> None:
    async def story(shift: Shift) -> None:
        leaving = {"type": LEAVING_CONDITION, "status": "True", "reason": "ClusterNotReady", "message": "Not wanted."}
        leaving["lastTransitionTime"] = "2026-01-01T00:00:00Z"
        work = await shift.work()
        await shift.desk.client.patch(WORKS, "web", {"status": {"conditions": [leaving]}}, SPACE, subresource="status")
        assert await shift.reconcile() is None
        assert not await shift.has()
        assert _is_other_order(work, await shift.desk.seen()), "when it is wanted again, it is an order"

    tell(story)


def test_another_work_of_the_name_is_another_order() -> None:
    async def story(shift: Shift) -> None:
        work = await shift.work()
        replace = msgspec.structs.replace

        def but(**fields: Any) -> Work:
            return replace(work, metadata=replace(work.metadata, **fields))

        assert _is_other_order(None, work)
        assert not _is_other_order(work, but(resource_version="another"))
        for fields in ({"uid": "another"}, {"generation": 7}, {"deletion_timestamp": CLOCK.now()}):
            assert _is_other_order(work, but(**fields))

    tell(story)


def test_what_was_asked_for_since_the_return_waits_for_nothing() -> None:
    async def story(shift: Shift) -> None:
        await shift.work()
        await shift.reconcile()
        await shift.delete()
        assert await shift.reconcile() is None
        assert not await shift.has()

    tell(story)


async def carried_out(shift: Shift) -> None:
    """The Work and its object are gone, and its end was seen. There is a backup of the member."""
    await shift.work()
    await shift.reconcile()
    shift.backup = shift.desk.kept_there("colors")
    await shift.delete()
    await shift.reconcile()
    with pytest.raises(NotFound):
        await shift.desk.seen()
    assert not await shift.has()
    shift.desk.line.writes()


async def comes_back(shift: Shift) -> None:
    """The member is restored from its past."""
    assert shift.backup is not None
    await shift.desk.put_back(shift.backup)


def test_what_comes_back_of_a_work_that_is_gone_is_removed_once_more_l3() -> None:
    async def story(shift: Shift) -> None:
        await carried_out(shift)
        await comes_back(shift)
        await shift.desk.there.patch(CONFIG_MAPS, "colors", {"metadata": {"finalizers": [THEIRS]}}, "default")
        assert await shift.reconcile() == LOOK_AGAIN.total_seconds()
        await shift.desk.there.patch(CONFIG_MAPS, "colors", {"metadata": {"finalizers": None}}, "default")
        assert await shift.reconcile() is None
        assert not await shift.has()
        assert [sent.method for sent in shift.desk.line.writes()] == ["DELETE"]

    tell(story)


def test_who_cannot_know_what_replaces_a_copy_leaves_it_when_it_comes_back_s1() -> None:
    async def story(shift: Shift) -> None:
        shift.controller = ExecutionController(shift.desk.plane, shift.desk.member, shift.works)
        await carried_out(shift)
        await comes_back(shift)
        assert await shift.reconcile() is None
        assert await shift.has()
        assert shift.desk.line.writes() == []

    tell(story)


def test_what_came_back_with_its_cluster_waits_until_it_is_known_who_else_has_returned_s1() -> None:
    async def story(shift: Shift) -> None:
        await carried_out(shift)
        await comes_back(shift)
        taints = [{"key": UNREACHABLE_TAINT, "effect": "NoExecute"}]
        await shift.desk.client.patch(CLUSTERS, MEMBER, {"spec": {"taints": taints}})
        await shift.desk.condition(**since(60))
        assert await shift.reconcile() == pytest.approx(RETRY_SECONDS, abs=0.01)
        assert await shift.has()
        await shift.desk.client.patch(CLUSTERS, MEMBER, {"spec": {"taints": None}})
        await asyncio.sleep(await shift.reconcile() or 0)
        assert await shift.reconcile() is None
        assert not await shift.has()

    tell(story)


def test_what_somebody_in_the_member_makes_anew_as_it_was_is_theirs_s5() -> None:
    """A tool that makes backups, or somebody with an export, gives it a uid of its own."""

    async def story(shift: Shift) -> None:
        await carried_out(shift)
        await shift.desk.there.create(CONFIG_MAPS, stamp(named("colors"), SPACE, "web"), "default")
        assert await shift.reconcile() is None
        assert await shift.has()
        assert shift.desk.line.writes() == []

    tell(story)


def test_what_a_work_left_on_purpose_is_left_when_it_is_gone() -> None:
    async def story(shift: Shift) -> None:
        await carried_out(shift)
        await shift.work(preserveResourcesOnDeletion=True)
        await shift.desk.condition(status="False")
        await shift.delete()
        await shift.reconcile()
        await shift.desk.condition()
        await comes_back(shift)
        assert await shift.reconcile() is None
        assert await shift.has()

    tell(story)


def test_of_a_work_that_is_there_again_nothing_is_removed() -> None:
    async def story(shift: Shift) -> None:
        await carried_out(shift)
        await shift.work()
        await shift.reconcile()
        await shift.desk.client.patch(WORKS, "web", {"metadata": {"finalizers": None}}, SPACE)
        await shift.desk.client.delete(WORKS, "web", SPACE)
        assert await shift.reconcile() is None
        assert await shift.has(), "its end was not seen"

    tell(story)


def test_what_came_back_while_the_cluster_was_away_is_looked_at_when_it_is_ready() -> None:
    async def story(shift: Shift) -> None:
        await carried_out(shift)
        await shift.desk.condition(status="False")
        await comes_back(shift)
        assert await shift.reconcile() is None
        assert await shift.has()
        shift.controller.start()
        await asyncio.sleep(1)
        assert await shift.has()
        await shift.desk.condition()
        await asyncio.sleep(1)
        assert not await shift.has()

    tell(story)


def test_only_another_order_is_looked_at_and_not_what_a_work_reports_l5() -> None:
    async def story(shift: Shift) -> None:
        seen: list[str] = []
        reconcile = shift.works.get

        async def get(name: str) -> Work | None:
            seen.append(name)
            return await reconcile(name)

        shift.works.get = get
        await shift.work()
        shift.controller.start()
        await asyncio.sleep(1)
        assert await shift.has()
        looks = len(seen)
        report = {"type": "Other", "status": "True", "reason": "R", "message": "", **since(0)}
        await shift.desk.client.patch(WORKS, "web", {"status": {"conditions": [report]}}, SPACE, subresource="status")
        await shift.desk.note()
        await asyncio.sleep(1)
        assert len(seen) == looks
        await shift.desk.client.patch(WORKS, "web", {"spec": {"suspendDispatching": True}}, SPACE)
        await asyncio.sleep(1)
        assert len(seen) > looks
        await shift.delete()
        await asyncio.sleep(1)
        assert not await shift.has()

    tell(story)


@pytest.mark.parametrize("is_news", [True, False])
def test_in_a_burst_only_what_came_of_it_is_news(is_news: bool) -> None:
    async def story(shift: Shift) -> None:
        await shift.work("colors", "theirs")
        await shift.reconcile()
        await shift.said("Applied")
        if is_news:
            await shift.desk.there.delete(CONFIG_MAPS, "theirs", "default")
            await shift.desk.map_there("theirs")
        manifests = [stamp({**named(n), "data": {"a": "b"}}, SPACE, "web") for n in ("colors", "theirs")]
        await shift.desk.client.patch(WORKS, "web", {"spec": {"workload": {"manifests": manifests}}}, SPACE)
        await asyncio.sleep(0.1)
        shift.desk.plane.statuses.expect_burst()
        shift.desk.wire.writes()
        began = CLOCK.monotonic()
        try:
            await shift.reconcile()
        except ApplyFailed:
            assert is_news
        await asyncio.sleep(2 * PROGRESS_SECONDS)
        (sent,) = shift.desk.wire.writes()
        took = sent.at - began
        assert took == pytest.approx(NEWS_SECONDS if is_news else PROGRESS_SECONDS, abs=0.1)

    tell(story)


def test_who_writes_the_status_again_is_the_controller_when_that_failed() -> None:
    async def story(shift: Shift) -> None:
        await shift.work()
        shift.desk.wire.refuse = lambda request: Unreachable("cut") if request.path.endswith("/status") else None
        shift.controller.start()
        await asyncio.sleep(1)
        shift.desk.wire.refuse = lambda request: None
        await asyncio.sleep(60)
        applied = await shift.said("Applied")
        assert applied is not None
        assert applied.status == "True"

    tell(story)


def test_somebody_elses_finalizer_in_the_member_is_named_after_half_a_minute() -> None:
    async def story(shift: Shift) -> None:
        await shift.work()
        shift.controller.start()
        await asyncio.sleep(1)
        await shift.desk.there.patch(CONFIG_MAPS, "colors", {"metadata": {"finalizers": [THEIRS]}}, "default")
        await shift.delete()
        await asyncio.sleep(20)
        assert await shift.said(REMOVAL_BLOCKED_CONDITION) is None
        await asyncio.sleep(20)
        said = await shift.said(REMOVAL_BLOCKED_CONDITION)
        assert said is not None
        assert said.message == f"ConfigMap default/colors has the finalizer {THEIRS}"
        await shift.desk.there.patch(CONFIG_MAPS, "colors", {"metadata": {"finalizers": None}}, "default")
        await asyncio.sleep(5)
        await shift.work()
        await asyncio.sleep(5)
        assert await shift.has()
        await shift.desk.there.patch(CONFIG_MAPS, "colors", {"metadata": {"finalizers": [THEIRS]}}, "default")
        await shift.delete()
        await asyncio.sleep(20)
        assert await shift.said(REMOVAL_BLOCKED_CONDITION) is None, "the time of the first one does not count"

    tell(story)


def test_a_drift_in_the_member_is_mended_without_being_asked() -> None:
    async def story(shift: Shift) -> None:
        await shift.work()
        shift.controller.start()
        await asyncio.sleep(1)
        await shift.desk.there.delete(CONFIG_MAPS, "colors", "default")
        await asyncio.sleep(1)
        assert await shift.has()

    tell(story)


def test_so_many_removals_are_remembered_and_no_more_d9(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "MAX_REMEMBERED", 2)

    async def story(shift: Shift) -> None:
        for name in ("first", "second", "third"):
            metadata = {"finalizers": [OURS]}
            manifests = [stamp(named(name), SPACE, name)]
            await shift.desk.work(name, metadata=metadata, workload={"manifests": manifests})
            await shift.reconcile(name)
            backup = shift.desk.kept_there(name)
            await shift.desk.client.delete(WORKS, name, SPACE)
            await shift.reconcile(name)
            await shift.desk.put_back(backup)
        for name in ("first", "second", "third"):
            await shift.reconcile(name)
        assert [await shift.has(name) for name in ("first", "second", "third")] == [True, False, False]

    tell(story)


def test_what_was_carried_out_is_counted_and_timed() -> None:
    async def story(shift: Shift) -> None:
        await shift.work("colors")
        await asyncio.sleep(10)
        await shift.reconcile()
        await shift.desk.there.delete(CONFIG_MAPS, "colors", "default")
        await shift.desk.map_there("colors")
        with pytest.raises(ApplyFailed):
            await shift.reconcile()
        found = shift.desk.plane.metrics.registry.get_sample_value
        name = "work_sync_workload_duration_seconds"
        for result in ("success", "error"):
            assert found(f"{name}_count", {"result": result}) == 1
            assert (found(f"{name}_sum", {"result": result}) or 0.0) < 1

    tell(story)
