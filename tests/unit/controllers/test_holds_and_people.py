"""Removals that are held: what ends a wait, what is still used, and when one is looked at again."""

from datetime import timedelta
from unittest import mock

import msgspec
import pytest

from kubeapi.core import NAMESPACES
from leeward.api.meta import Condition
from leeward.api.names import LEAVING_CONDITION, REMOVAL_HELD_ANNOTATION
from leeward.api.policy import ClusterFailover, FailoverBehavior
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Binding, BindingResource, GracefulEvictionTask, Work
from leeward.controllers.removals.carriers import Carriers
from leeward.controllers.removals.removal_holds import LOOK_AGAIN, RemovalHolds
from leeward.core.copies.evidence import AGENT_SETTLES
from leeward.core.execution.removal import RETURN_SETTLES
from leeward.core.execution.removal_conditions import STILL_USED
from tests.builders import binding, duplicated, targets, work
from tests.unit.controllers.desk import MEMBER, SPACE, Desk, play
from tests.unit.controllers.test_removal_holds import HALVES, MOVED, REQUIREMENTS, Holding, tell

SECRET = msgspec.structs.replace(
    binding(duplicated("member2"), 0, targets(member2=0)),
    spec=msgspec.structs.replace(
        binding(duplicated("member2"), 0, targets(member2=0)).spec,
        resource=BindingResource("v1", "Secret", "web", "default", uid="uid-1"),
    ),
)


def of_karmada(cluster: str, ready: int) -> Work:
    """Reported by Karmada's agent, which says of no generation."""
    made = work(cluster, ready)
    status = msgspec.structs.replace(made.status, conditions=(Condition("Applied", "True", "AppliedSuccessful"),))
    return msgspec.structs.replace(made, status=status)


def told(holding: Holding, bound: Binding, there: int | None, gone: Work | None = None) -> tuple[str, object]:
    present = {MEMBER: gone or work(MEMBER, 2), "member2": work("member2", there)}
    return holding.holds.why_it_waits(bound, MEMBER, present)


def test_holds_are_enabled_and_wait_for_nobody_where_nobody_watches() -> None:
    async def story(desk: Desk) -> None:
        holds = RemovalHolds(desk.plane)
        assert holds.enabled
        await holds.wait_synced()
        holds.on_change(lambda: None)

    play(story)


def test_holds_that_are_switched_off_wait_for_nobody() -> None:
    async def story(holding: Holding) -> None:
        for view in (holding.heartbeat, holding.brake):
            waits, follows = mock.AsyncMock(), mock.Mock()
            with mock.patch.multiple(view, wait_synced=waits, on_change=follows):
                await holding.holds.wait_synced()
                holding.holds.on_change(lambda: None)
            waits.assert_not_called()
            follows.assert_not_called()

    tell(story, enabled=False)


@pytest.mark.parametrize("by", ["task", "work"])
def test_what_a_person_has_ended_is_held_by_nothing(by: str) -> None:
    async def story(holding: Holding) -> None:
        ended = False if by == "task" else None
        task = GracefulEvictionTask(MEMBER, "TaintUntolerated", "TaintManager", replicas=2, suppress_deletion=ended)
        bound = binding(HALVES, 2, targets(member2=2), (task,), replica_requirements=REQUIREMENTS)
        going = holding.going(annotations={REMOVAL_HELD_ANNOTATION: "false"}) if by == "work" else holding.going()
        assert told(holding, bound, None, going) == ("", None)

    tell(story)


def test_s1_the_sizes_that_targets_need_count() -> None:
    async def story(holding: Holding) -> None:
        assert holding.is_held(MOVED, 1)
        assert not holding.is_held(MOVED, 1, needs={"member2": 1})

    tell(story)


@pytest.mark.parametrize(
    ("bound", "used", "state", "waits"),
    [
        (SECRET, True, "", True),
        (SECRET, False, "", False),
        (MOVED, True, "", False),
        (SECRET, True, "unjoined", False),
        (SECRET, True, "gone", False),
    ],
    ids=["used", "not used", "an application", "its cluster leaves", "its cluster is gone"],
)
def test_s15_what_a_copy_in_its_cluster_uses_waits(bound: Binding, used: bool, state: str, *, waits: bool) -> None:
    async def story(holding: Holding) -> None:
        if state == "unjoined":
            await holding.desk.client.patch(CLUSTERS, MEMBER, {"metadata": {"finalizers": ["example.com/keep"]}})
        if state:
            await holding.desk.client.delete(CLUSTERS, MEMBER)
        await holding.desk.plane.client.get(NAMESPACES, "default")
        with mock.patch.object(Carriers, "carries", return_value=used):
            expected = (STILL_USED, holding.now + LOOK_AGAIN) if waits else ("", None)
            assert told(holding, bound, 2) == expected

    tell(story)


def test_s7_a_copy_that_may_not_run_beside_another_goes_at_once() -> None:
    async def story(holding: Holding) -> None:
        alone = FailoverBehavior(cluster=ClusterFailover(purge_mode="Directly"))
        bound = binding(HALVES, 2, targets(member2=2), replica_requirements=REQUIREMENTS, failover=alone)
        assert told(holding, bound, None) == ("", None)
        assert told(holding, MOVED, None) == ("NotReplaced", None)

    tell(story)


def test_s1_a_cluster_that_has_just_returned_is_looked_at_when_decisions_have_followed() -> None:
    async def story(holding: Holding) -> None:
        since = holding.now.replace(microsecond=0) - RETURN_SETTLES
        for back, look_at in ((since + timedelta(seconds=1), since + timedelta(seconds=2)), (since, None)):
            await holding.desk.condition(MEMBER, lastTransitionTime=back.strftime("%Y-%m-%dT%H:%M:%SZ"))
            await holding.desk.plane.client.get(NAMESPACES, "default")
            why, at = told(holding, MOVED, None)
            assert (bool(why), at) == (True, look_at)

    tell(story)


def test_s1_a_report_of_karmadas_agent_is_looked_at_when_it_can_be_believed() -> None:
    async def story(holding: Holding) -> None:
        present = {MEMBER: of_karmada(MEMBER, 2), "member2": of_karmada("member2", 2)}
        assert holding.holds.why_it_waits(MOVED, MEMBER, present) == ("", None)
        back = holding.now.replace(microsecond=0) - RETURN_SETTLES
        await holding.desk.condition("member2", lastTransitionTime=back.strftime("%Y-%m-%dT%H:%M:%SZ"))
        await holding.desk.plane.client.get(NAMESPACES, "default")
        assert holding.holds.why_it_waits(MOVED, MEMBER, present) == ("NotReplaced", back + AGENT_SETTLES)

    tell(story)


@pytest.mark.parametrize(("there", "preserved"), [(0, True), (2, True)])
def test_s1_a_target_is_preserved_whatever_it_serves(there: int, *, preserved: bool) -> None:
    async def story(holding: Holding) -> None:
        placed = binding(
            HALVES, 2, targets(member2=2), preserve_resources_on_deletion=True, replica_requirements=REQUIREMENTS
        )
        present = {MEMBER: of_karmada(MEMBER, 2), "member2": work("member2", there)}
        assert holding.holds.preserves(placed, present["member2"], present) is preserved
        assert not holding.holds.preserves(placed, present[MEMBER], {**present, "member2": of_karmada("member2", 2)})

    tell(story)


def test_a_copy_that_waits_to_go_is_among_the_removals() -> None:
    async def story(desk: Desk) -> None:
        await desk.cluster()
        holds = RemovalHolds(desk.plane)
        await desk.work("kept")
        await desk.work("waits")
        leaving = {"type": LEAVING_CONDITION, "status": "True", "reason": "NotReplaced", "message": ""}
        leaving["lastTransitionTime"] = "2026-01-01T00:00:00Z"
        await desk.client.patch(WORKS, "waits", {"status": {"conditions": [leaving]}}, SPACE, subresource="status")
        await desk.plane.client.get(NAMESPACES, "default")
        assert [each.name for each in holds.removals()] == ["waits"]

    play(story)
