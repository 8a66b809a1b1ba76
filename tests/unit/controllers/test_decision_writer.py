"""A decision as it is written: in one write, bound to the version that was decided on; and nothing that stands."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from controller_runtime.identity import Key
from controller_runtime.statuses import BOOKKEEPING_SECONDS, NEWS_SECONDS, PROGRESS_SECONDS
from kubeapi.codec import encode, to_wire
from kubeapi.meta import Manifest
from kubeapi.status import Status, StatusCause, StatusDetails
from kubeclient import Conflict, Forbidden, Unreachable, WorldError
from leeward.api.meta import Condition, find_condition
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION, CLUSTER_OUTAGE_CONDITION, EVICTION_HELD_CONDITION
from leeward.api.policy import ClusterAffinity, Placement
from leeward.api.resource import RESOURCE_BINDINGS
from leeward.api.work import Binding, GracefulEvictionTask, ResourceBinding
from leeward.controllers.scheduler.bindings import BindingKey, Bindings
from leeward.controllers.scheduler.decision_writer import DecisionWriter, QuotaRefused
from leeward.core.cluster_health.outage import Outage, OutageReport, Outcome, Outlook
from leeward.core.placement import Decision
from leeward.core.quota.enforcement import EXCEEDED
from leeward.core.scheduling import Placed, Unplaceable
from tests.builders import targets
from tests.unit.controllers.desk import CLOCK, Desk, play

NAME, NOW = "web-deployment", datetime(2026, 1, 1, tzinfo=UTC)
KEY = BindingKey(RESOURCE_BINDINGS.plural, Key("default", NAME))
PATH = f"/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings/{NAME}"
PLACEMENT = Placement(cluster_affinity=ClusterAffinity(cluster_names=("m1", "m2")))
APPLIED = encode(PLACEMENT).decode()
TASK = GracefulEvictionTask("m1", reason="TaintUntolerated", producer="TaintManager", replicas=2)
OUTAGE = Condition(CLUSTER_OUTAGE_CONDITION, "True", "NotReady", "m1 is away", NOW)
AWAY = OutageReport((Outlook(Outage("m1", NOW), Outcome.EVICTION, NOW),))
HELD = Condition(EVICTION_HELD_CONDITION, "True", "BrakeEngaged", "It is held.", NOW)


M1: Manifest = {"name": "m1", "replicas": 2}


async def bound(desk: Desk, annotations: Mapping[str, str] | None = None, **spec: Any) -> ResourceBinding:
    """A binding with two replicas in m1 that the cache knows."""
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}
    placement = {"clusterAffinity": {"clusterNames": ["m1", "m2"]}}
    made = {
        "metadata": {"name": NAME, "annotations": dict(annotations or {})},
        "spec": {"resource": resource, "replicas": 2, "placement": placement, "clusters": [M1], **spec},
    }
    await desk.plane.informers.of(RESOURCE_BINDINGS).wait_synced()
    return await desk.client.create(RESOURCE_BINDINGS, made, "default")


def writing(desk: Desk) -> DecisionWriter:
    return DecisionWriter(desk.plane, Bindings(desk.plane), "scheduler")


def decided(binding: Binding, **fields: Any) -> Decision:
    """Decision that it stays as it is, but for `fields`."""
    stays: dict[str, Any] = {"clusters": binding.spec.clusters, "eviction_tasks": binding.spec.graceful_eviction_tasks}
    return Decision(**{**stays, **fields})


def test_a_move_is_one_write_in_the_version_that_was_decided_on_s5() -> None:
    async def story(desk: Desk) -> None:
        binding = await bound(desk)
        moved = decided(
            binding,
            clusters=targets(m2=2),
            eviction_tasks=(TASK,),
            result=Placed(targets(m2=2)),
            annotations={"leeward.dev/a": "b"},
        )
        after = await writing(desk).write_placement(KEY, binding, moved)
        (sent,) = desk.wire.writes()
        assert (sent.method, sent.path, sent.version) == ("PATCH", PATH, binding.metadata.resource_version)
        assert sent.body["spec"]["clusters"] == [{"name": "m2", "replicas": 2}]
        assert [task["fromCluster"] for task in sent.body["spec"]["gracefulEvictionTasks"]] == ["m1"]
        assert sent.body["metadata"]["annotations"] == {"leeward.dev/a": "b", APPLIED_PLACEMENT_ANNOTATION: APPLIED}
        assert desk.plane.informers.of(RESOURCE_BINDINGS).get(NAME, "default") == after
        assert after.spec.clusters == targets(m2=2)

    play(story)


def test_a_binding_that_has_changed_is_not_written_s5() -> None:
    async def story(desk: Desk) -> None:
        binding = await bound(desk)
        await desk.client.patch(RESOURCE_BINDINGS, NAME, {"metadata": {"labels": {"a": "b"}}}, "default")
        with pytest.raises(Conflict):
            await writing(desk).write_placement(KEY, binding, decided(binding, clusters=targets(m2=2)))

    play(story)


def test_only_what_has_changed_is_written_s9() -> None:
    async def story(desk: Desk) -> None:
        binding = await bound(desk, {APPLIED_PLACEMENT_ANNOTATION: APPLIED})
        works = writing(desk)
        stays = decided(binding, result=Placed(binding.spec.clusters))
        assert await works.write_placement(KEY, binding, stays) is binding
        assert desk.wire.writes() == []
        evicted = await works.write_placement(KEY, binding, decided(binding, eviction_tasks=(TASK,)))
        (sent,) = desk.wire.writes()
        assert (list(sent.body["spec"]), list(sent.body["metadata"])) == (
            ["gracefulEvictionTasks"],
            ["resourceVersion"],
        )
        moved = await works.write_placement(KEY, evicted, decided(evicted, clusters=targets(m2=2)))
        (sent,) = desk.wire.writes()
        assert list(sent.body["spec"]) == ["clusters"]
        noted = await works.write_placement(KEY, moved, decided(moved, annotations={"leeward.dev/a": "b"}))
        (sent,) = desk.wire.writes()
        assert list(sent.body) == ["metadata"]
        finished = await works.write_placement(KEY, noted, decided(noted, eviction_tasks=()))
        (sent,) = desk.wire.writes()
        assert sent.body["spec"] == {"gracefulEvictionTasks": None}
        assert finished.spec.graceful_eviction_tasks == ()

    play(story)


@pytest.mark.parametrize(
    ("result", "clusters", "is_settled"),
    [
        (Placed(targets(m1=2)), [M1], True),
        (Unplaceable("FitError", "", {}), [], True),
        (Unplaceable("FitError", "", {}), [M1], False),
        (Unplaceable("UnschedulableError", "", {}), [M1], False),
        (Unplaceable("Error", "", {}), [M1], False),
        (None, [M1], False),
    ],
)
def test_a_placement_counts_as_applied_when_it_was_carried_out_or_fits_nowhere_and_nothing_is_placed(
    result: Any, clusters: list[Manifest], is_settled: bool
) -> None:
    async def story(desk: Desk) -> None:
        binding = await bound(desk, {APPLIED_PLACEMENT_ANNOTATION: "an earlier one"}, clusters=clusters)
        after = await writing(desk).write_placement(KEY, binding, decided(binding, result=result))
        applied = after.metadata.annotations[APPLIED_PLACEMENT_ANNOTATION]
        assert applied == (APPLIED if is_settled else "an earlier one")
        assert len(desk.wire.writes()) == is_settled

    play(story)


@pytest.mark.parametrize(
    ("details", "told"),
    [
        (StatusDetails(causes=(StatusCause(message="no room for 2 more"), StatusCause(message="nor for 1"))),
         "no room for 2 more"),
        (StatusDetails(), "refused by a webhook"),
        (None, "refused by a webhook"),
    ],
    ids=["the quota's words", "no cause", "no details"],
)  # fmt: skip
def test_a_quota_without_room_is_told_from_other_refusals_and_in_its_own_words(
    details: StatusDetails | None, told: str
) -> None:
    async def story(desk: Desk) -> None:
        binding = await bound(desk)
        moved = decided(binding, clusters=targets(m1=2, m2=2))
        for reason in (EXCEEDED, "Forbidden"):
            refused = Status(message="refused by a webhook", reason=reason, details=details, code=403)
            desk.wire.refuse = lambda request, refused=refused: Forbidden(refused)
            with pytest.raises(Forbidden) as failed:
                await writing(desk).write_placement(KEY, binding, moved)
            assert isinstance(failed.value, QuotaRefused) == (reason == EXCEEDED)
            if reason == EXCEEDED:
                assert str(failed.value) == told

    play(story)


def test_a_placement_for_which_a_quota_leaves_no_room_is_not_applied() -> None:
    async def story(desk: Desk) -> None:
        binding = await bound(desk, {APPLIED_PLACEMENT_ANNOTATION: "an earlier one"})
        refused = decided(binding, result=Placed(targets(m1=2)), quota_refusal="no room for 2 more")
        assert await writing(desk).write_placement(KEY, binding, refused) is binding
        assert desk.wire.writes() == []

    play(story)


def test_without_a_placement_the_empty_one_was_applied() -> None:
    async def story(desk: Desk) -> None:
        binding = await bound(desk, placement=None)
        after = await writing(desk).write_placement(KEY, binding, decided(binding, result=Placed(targets(m1=2))))
        assert after.metadata.annotations[APPLIED_PLACEMENT_ANNOTATION] == encode(Placement()).decode()

    play(story)


async def written_after(desk: Desk) -> float:
    """The seconds until a status was written."""
    began = CLOCK.monotonic()
    await asyncio.sleep(2 * BOOKKEEPING_SECONDS)
    (sent,) = desk.wire.writes()
    assert (sent.method, sent.path) == ("PATCH", f"{PATH}/status")
    return sent.at - began


async def conditions(desk: Desk) -> dict[str, str]:
    found = await desk.client.get(RESOURCE_BINDINGS, NAME, "default")
    return {condition.type: condition.message for condition in found.status.conditions}


def post(desk: Desk, works: DecisionWriter, binding: ResourceBinding, **fields: Any) -> list[WorldError]:
    """Has it said in a burst; returns the failures to come."""
    desk.plane.statuses.expect_burst()
    failures: list[WorldError] = []
    works.post_status(KEY, binding, decided(binding, **fields), NOW, failures.append)
    return failures


def test_in_a_burst_a_first_success_waits_for_what_comes_of_it_and_a_failure_does_not() -> None:
    async def story(desk: Desk) -> None:
        binding, works = await bound(desk), writing(desk)
        failures = post(desk, works, binding, result=Unplaceable("FitError", "", {}))
        assert await written_after(desk) == pytest.approx(NEWS_SECONDS, abs=0.05)
        await asyncio.sleep(0.1)
        failed = await desk.client.get(RESOURCE_BINDINGS, NAME, "default")
        failures += post(desk, works, failed, result=Placed(targets(m1=2)))
        assert await written_after(desk) == pytest.approx(NEWS_SECONDS, abs=0.05), "it was not the first word"
        assert failures == []

    play(story)


def test_what_was_decided_is_said_soon_and_what_was_only_seen_later() -> None:
    async def story(desk: Desk) -> None:
        binding, works = await bound(desk), writing(desk)
        failures = post(desk, works, binding, result=Placed(targets(m1=2)))
        assert await written_after(desk) == pytest.approx(PROGRESS_SECONDS, abs=0.05)
        assert "Scheduled" in await conditions(desk)
        patch = {"spec": {"replicas": 3}}
        seen = await desk.client.patch(RESOURCE_BINDINGS, NAME, patch, "default")
        await asyncio.sleep(0.1)
        failures += post(desk, works, seen, result=Placed(targets(m1=2)))
        assert await written_after(desk) == pytest.approx(BOOKKEEPING_SECONDS, abs=0.05)
        after = await desk.client.get(RESOURCE_BINDINGS, NAME, "default")
        assert after.status.scheduler_observed_generation == seen.metadata.generation
        assert failures == []

    play(story)


def test_what_somebody_else_has_said_before_makes_a_first_success_no_later() -> None:
    async def story(desk: Desk) -> None:
        await bound(desk)
        applied = Condition("FullyApplied", "True", "FullyAppliedSuccess", "", NOW)
        told = {"status": {"conditions": to_wire((applied,))}}
        binding = await desk.client.patch(RESOURCE_BINDINGS, NAME, told, "default", subresource="status")
        await asyncio.sleep(0.1)
        post(desk, writing(desk), binding, result=Placed(targets(m1=2)))
        assert await written_after(desk) == pytest.approx(PROGRESS_SECONDS, abs=0.05)
        assert set(await conditions(desk)) == {"FullyApplied", "Scheduled"}

    play(story)


def test_that_an_outage_goes_on_is_no_news_while_the_binding_moves() -> None:
    async def story(desk: Desk) -> None:
        evicting = [{"fromCluster": "m1", "reason": "TaintUntolerated", "producer": "TaintManager", "replicas": 2}]
        binding, works = await bound(desk, gracefulEvictionTasks=evicting), writing(desk)
        post(desk, works, binding, result=Placed(targets(m1=2)), outage=AWAY)
        await written_after(desk)
        again = await desk.client.patch(RESOURCE_BINDINGS, NAME, {"spec": {"replicas": 3}}, "default")
        assert CLUSTER_OUTAGE_CONDITION in await conditions(desk)
        await asyncio.sleep(0.1)
        post(desk, works, again, result=Placed(targets(m1=2)), outage=AWAY)
        assert await written_after(desk) == pytest.approx(BOOKKEEPING_SECONDS, abs=0.05)
        assert CLUSTER_OUTAGE_CONDITION in await conditions(desk)

    play(story)


@pytest.mark.parametrize(("tasks", "seconds"), [((), NEWS_SECONDS), ((TASK,), BOOKKEEPING_SECONDS)])
def test_that_an_outage_is_over_is_no_news_while_the_binding_moves(tasks: Any, seconds: float) -> None:
    async def story(desk: Desk) -> None:
        evicting = [{"fromCluster": "m1", "reason": "TaintUntolerated", "producer": "TaintManager", "replicas": 2}]
        binding, works = await bound(desk, gracefulEvictionTasks=evicting if tasks else None), writing(desk)
        post(desk, works, binding, result=Placed(targets(m1=2)))
        await written_after(desk)
        again = await desk.client.get(RESOURCE_BINDINGS, NAME, "default")
        told = {"status": {"conditions": to_wire((*again.status.conditions, OUTAGE))}}
        again = await desk.client.patch(RESOURCE_BINDINGS, NAME, told, "default", subresource="status")
        assert CLUSTER_OUTAGE_CONDITION in await conditions(desk)
        await asyncio.sleep(0.1)
        post(desk, works, again, result=Placed(targets(m1=2)), outage=OutageReport())
        assert await written_after(desk) == pytest.approx(seconds, abs=0.05)
        assert CLUSTER_OUTAGE_CONDITION not in await conditions(desk)

    play(story)


def test_what_is_said_rests_on_what_is_about_to_be_written_l5() -> None:
    async def story(desk: Desk) -> None:
        binding, works = await bound(desk), writing(desk)
        post(desk, works, binding, result=Placed(targets(m1=2)), held=HELD)
        assert find_condition(Bindings(desk.plane).statuses(KEY).expected(binding).status.conditions, HELD.type)
        post(desk, works, binding, result=Placed(targets(m1=2)), held=HELD)
        await written_after(desk)
        assert (await conditions(desk))[EVICTION_HELD_CONDITION] == "It is held."
        await asyncio.sleep(60)
        assert desk.wire.writes() == []

    play(story)


def test_who_decided_hears_that_it_could_not_be_said() -> None:
    async def story(desk: Desk) -> None:
        binding, works = await bound(desk), writing(desk)
        desk.wire.refuse = lambda request: Unreachable("cut") if request.method == "PATCH" else None
        failures = post(desk, works, binding, result=Placed(targets(m1=2)))
        await asyncio.sleep(PROGRESS_SECONDS + 1)
        assert [str(failure) for failure in failures] == ["cut"]

    play(story)
