"""Purged copies that are not wanted: one goes at once while its reason stands, and one that may serve on is held.

Nothing serves in its stead here, so what is not purged at once is held.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from kubeapi.core import NAMESPACES, Toleration
from leeward.api.meta import Condition
from leeward.api.names import LEAVING_CONDITION
from leeward.api.resource import CLUSTERS
from leeward.api.work import Binding, GracefulEvictionTask, Work
from tests.builders import binding, divided, duplicated, targets, wanting, work
from tests.unit.controllers.desk import MEMBER
from tests.unit.controllers.test_holds_and_people import of_karmada
from tests.unit.controllers.test_removal_holds import HALVES, REQUIREMENTS, Holding, tell

SINCE = "2026-01-01T00:00:00Z"
TAINT = {"key": "example.com/broken", "effect": "NoExecute", "timeAdded": SINCE}


def task(cluster: str = MEMBER, reason: str = "TaintUntolerated") -> GracefulEvictionTask:
    producer = "TaintManager" if reason == "TaintUntolerated" else "ApplicationFailoverController"
    return GracefulEvictionTask(
        from_cluster=cluster, purge_mode="Directly", reason=reason, producer=producer, replicas=2
    )


def placed(*tasks: GracefulEvictionTask, **spec: Any) -> Binding:
    tasks = tasks or (task(),)
    return binding(HALVES, 2, targets(member2=2), tasks, replica_requirements=REQUIREMENTS, **spec)


def is_held(holding: Holding, bound: Binding, there: Work | None = None) -> bool:
    present = {MEMBER: there or work(MEMBER, 2), "member2": work("member2", None)}
    why, _ = holding.holds.why_it_waits(bound, MEMBER, present, is_purged=True)
    return bool(why)


def in_a_fleet(story: Callable[[Holding], Awaitable[None]]) -> None:
    """Plays a story in a fleet whose first cluster offers Deployments."""

    async def prepared(holding: Holding) -> None:
        offer = {"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}
        await holding.desk.client.patch(CLUSTERS, MEMBER, {"status": {"apiEnablements": [offer]}}, subresource="status")
        await seen(holding)
        await story(holding)

    tell(prepared)


async def seen(holding: Holding) -> None:
    await holding.desk.plane.client.get(NAMESPACES, "default")


def test_s1_a_copy_that_is_seen_whole_after_its_cluster_was_away_may_serve_on() -> None:
    async def story(holding: Holding) -> None:
        assert is_held(holding, placed())
        assert not is_held(holding, placed(task(reason="ApplicationFailure"))), "it was not away"
        assert not is_held(holding, placed(task("member2"), task(reason="ApplicationFailure"))), "another one was"
        assert not is_held(holding, placed(), holding.going()), "an order that was given is not taken back"

    in_a_fleet(story)


def test_s1_a_copy_that_waits_since_its_cluster_was_away_may_serve_on() -> None:
    async def story(holding: Holding) -> None:
        there = work(MEMBER, 2)
        leaving = Condition(LEAVING_CONDITION, "True", "ReplacementLost", "")
        status = msgspec.structs.replace(there.status, conditions=(*there.status.conditions, leaving))
        waits = msgspec.structs.replace(there, status=status)
        assert is_held(holding, placed(task(reason="ApplicationFailure")), waits)

    in_a_fleet(story)


def test_one_that_is_asked_for_elsewhere_does_not_serve_on() -> None:
    async def story(holding: Holding) -> None:
        bound = placed()
        other = msgspec.structs.replace(bound.spec, placement=divided({MEMBER: 1, "member2": 3}))
        assert not is_held(holding, msgspec.structs.replace(bound, spec=other)), "another placement is asked for"
        assert not is_held(
            holding,
            binding(duplicated("member2"), 2, targets(member2=2), (task(),), replica_requirements=REQUIREMENTS),
        ), "no term names its cluster"

    in_a_fleet(story)


@pytest.mark.parametrize(
    ("tolerations", "held"),
    [
        ((), False),
        ((Toleration(key="example.com/broken", operator="Exists", effect="NoExecute"),), True),
        ((Toleration(key="example.com/broken", operator="Exists", toleration_seconds=3600),), False),
        ((Toleration(key="example.com/other", operator="Exists"),), False),
    ],
)
def test_one_that_its_cluster_drives_out_again_does_not_serve_on(
    tolerations: tuple[Toleration, ...], *, held: bool
) -> None:
    async def story(holding: Holding) -> None:
        await holding.desk.client.patch(CLUSTERS, MEMBER, {"spec": {"taints": [TAINT]}})
        await seen(holding)
        placement = msgspec.structs.replace(HALVES, cluster_tolerations=tolerations)
        bound = binding(placement, 2, targets(member2=2), (task(),), replica_requirements=REQUIREMENTS)
        assert is_held(holding, bound) is held

    in_a_fleet(story)


@pytest.mark.parametrize(
    ("key", "effect", "held"),
    [
        ("leeward.dev/flapping", "NoSchedule", True),
        ("leeward.dev/flapping", "NoExecute", False),
        ("example.com/no-more", "NoSchedule", False),
    ],
    ids=["held down", "driven out", "no others"],
)
def test_one_that_the_scheduler_would_not_consider_does_not_serve_on(key: str, effect: str, *, held: bool) -> None:
    async def story(holding: Holding) -> None:
        taint = {"key": key, "effect": effect, "timeAdded": SINCE}
        await holding.desk.client.patch(CLUSTERS, MEMBER, {"spec": {"taints": [taint]}})
        await seen(holding)
        assert is_held(holding, placed()) is held

    in_a_fleet(story)


@pytest.mark.parametrize(
    ("ready", "wants", "looked_at", "held"),
    [
        (2, None, 0, True),
        (None, None, 0, False),
        (1, None, 0, False),
        (1, 1, 0, True),
        (1, 3, 0, False),
        (1, None, -1, True),
    ],
    ids=["whole", "unhealthy", "half", "as its cluster wants it", "less than that", "not looked at"],
)
def test_one_that_a_look_since_its_return_does_not_call_whole_does_not_serve_on(
    ready: int | None, wants: int | None, looked_at: int, *, held: bool
) -> None:
    """`looked_at` is in seconds since the return: a look at that very moment counts."""

    async def story(holding: Holding) -> None:
        await holding.desk.condition(MEMBER, lastTransitionTime=SINCE)
        await seen(holding)
        there = work(MEMBER, ready, reflected=looked_at)
        assert is_held(holding, placed(), there if wants is None else wanting(wants, there)) is held

    in_a_fleet(story)


def test_one_of_which_nothing_is_reported_may_serve_on() -> None:
    async def story(holding: Holding) -> None:
        there = work(MEMBER, 2)
        (applied, _) = there.status.conditions
        status = msgspec.structs.replace(there.status, conditions=(applied,))
        assert is_held(holding, placed(), msgspec.structs.replace(there, status=status))

    in_a_fleet(story)


def test_s1_a_report_of_karmadas_agent_counts() -> None:
    async def story(holding: Holding) -> None:
        await holding.desk.condition(MEMBER, lastTransitionTime="2025-01-01T00:00:00Z")
        await seen(holding)
        assert is_held(holding, placed(), of_karmada(MEMBER, 2))

    in_a_fleet(story)


def test_one_whose_cluster_leaves_goes_and_one_whose_cluster_is_away_waits() -> None:
    async def story(holding: Holding) -> None:
        due = placed(task(reason="ApplicationFailure"))
        assert not is_held(holding, due)
        await holding.desk.condition(MEMBER, status="False")
        await seen(holding)
        assert is_held(holding, due), "nobody can see that it is gone"
        await holding.desk.client.patch(CLUSTERS, MEMBER, {"metadata": {"finalizers": ["example.com/keep"]}})
        await holding.desk.client.delete(CLUSTERS, MEMBER)
        await seen(holding)
        assert not is_held(holding, placed()), "it leaves the fleet"
        await holding.desk.client.patch(CLUSTERS, MEMBER, {"metadata": {"finalizers": None}})
        await seen(holding)
        assert not is_held(holding, placed()), "it has left"

    in_a_fleet(story)
