"""The taints of a cluster, written: in one write for each change, held by the brake and by doubt, and told."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any, cast

import pytest

from kubeapi.core import EVENTS
from kubeapi.meta import format_time
from kubeapi.status import Status
from kubeclient import Conflict, Unreachable
from leeward.api.cluster import Cluster
from leeward.api.names import (
    FLAPPING_ANNOTATION,
    FLAPPING_TAINT,
    NOT_READY_TAINT,
    OUTAGE_ANNOTATION,
    OUTAGE_CONFIRMED_ANNOTATION,
    POLICY_TAINTS_ANNOTATION,
    TAINTED_CONDITION,
)
from leeward.api.resource import CLUSTER_TAINT_POLICIES, CLUSTERS
from leeward.controllers.cluster.confirming import OutageConfirmation
from leeward.controllers.cluster.taints import BRAKED, ClusterTaints, TaintSettings
from leeward.controllers.cluster.warnings import StandingWarnings
from leeward.core.cluster_health.brake import BrakeSettings
from leeward.core.cluster_health.flap_damping import HoldDownSettings
from leeward.core.cluster_health.monitor_grace_period import MonitorGracePeriods
from leeward.core.cluster_health.ready_condition import UNCOLLECTED
from leeward.core.cluster_health.watched_time import Attention, Gap, WatchedTime
from leeward.runtime.brake import BRAKED_PAUSE, BrakeView
from leeward.runtime.heartbeat import HeartbeatSettings, HeartbeatView
from tests.unit.controllers.desk import CLOCK, MEMBER, Desk, play

NO_SCHEDULE, NO_EXECUTE = f"{NOT_READY_TAINT}:NoSchedule", f"{NOT_READY_TAINT}:NoExecute"
UNKEPT = Attention()
LONG_AGO = "2025-01-01T00:00:00Z"


class Keeper:
    def __init__(self, desk: Desk, brake: BrakeSettings, **settings: Any) -> None:
        self.desk = desk
        recorder = desk.plane.recorder("cluster-controller")
        heartbeat = HeartbeatView(desk.plane.informers, CLOCK, HeartbeatSettings())
        self.taints = ClusterTaints(
            desk.plane,
            recorder,
            StandingWarnings(recorder),
            TaintSettings(eviction_seconds=60, **settings),
            BrakeView(desk.plane.informers, brake),
            OutageConfirmation(desk.plane, heartbeat, MonitorGracePeriods(40, 60), probes=False),
            self.patch,
        )

    async def patch(self, cluster: Cluster, patch: Mapping[str, Any], subresource: str = "") -> Cluster:
        version = cluster.metadata.resource_version
        return await self.desk.plane.client.patch(
            CLUSTERS, cluster.name, patch, subresource=subresource, resource_version=version
        )

    async def cluster(self) -> Cluster:
        return await self.desk.client.get(CLUSTERS, MEMBER)

    async def keep(self, attention: Attention = UNKEPT) -> float | None:
        """Number of seconds in which it is to be looked at again."""
        await asyncio.sleep(0.02)
        at = await self.taints.keep(await self.cluster(), CLOCK.now(), attention)
        return None if at is None else (at - CLOCK.now()).total_seconds()

    async def had(self) -> list[str]:
        return [f"{taint.key}:{taint.effect}" for taint in (await self.cluster()).spec.taints]

    async def told(self) -> list[tuple[str, str, str]]:
        """Type, reason and message of all events, in that order."""
        await asyncio.sleep(1)
        found = (await self.desk.client.list(EVENTS)).items
        ordered = sorted(found, key=lambda event: int(event.metadata.resource_version))
        return [(event.type, event.reason, event.message) for event in ordered]


def tell(story: Callable[[Keeper], Awaitable[None]], *, braked: bool = False, **settings: Any) -> None:
    """`braked`: the cluster is all of the fleet, so that the brake holds when it looks dead."""

    async def prepared(desk: Desk) -> None:
        await desk.cluster()
        if braked:
            version = {"status": {"kubernetesVersion": "v1.30.0"}}
            await desk.client.patch(CLUSTERS, MEMBER, version, subresource="status")
        keeper = Keeper(desk, BrakeSettings(), **settings)
        await desk.plane.informers.of(CLUSTERS).wait_synced()
        await story(keeper)

    play(prepared)


async def away(keeper: Keeper, **fields: str) -> None:
    """Makes it not Ready since a minute ago and more, as the annotation says."""
    await keeper.desk.condition(**{"status": "False", "lastTransitionTime": LONG_AGO, **fields})
    await keeper.desk.client.patch(CLUSTERS, MEMBER, {"metadata": {"annotations": {OUTAGE_ANNOTATION: LONG_AGO}}})
    keeper.desk.wire.writes()


def test_s13_who_keeps_no_record_neither_believes_it_nor_leaves_it() -> None:
    async def story(keeper: Keeper) -> None:
        await away(keeper)
        message = f"Ready is False since {LONG_AGO}; {NO_EXECUTE} since {LONG_AGO}"
        tainted = {"type": TAINTED_CONDITION, "status": "True", "reason": "ControlPlane", "message": message}
        ready = {"type": "Ready", "status": "False", "reason": "Test", "lastTransitionTime": LONG_AGO}
        status = {"status": {"conditions": [ready, {**tainted, "lastTransitionTime": LONG_AGO}]}}
        await keeper.desk.client.patch(CLUSTERS, MEMBER, status, subresource="status")
        before = CLOCK.now().replace(microsecond=0)
        await keeper.keep()
        found = await keeper.cluster()
        assert [condition.type for condition in found.status.conditions] == ["Ready"]
        assert [taint.time_added >= before for taint in found.taints if taint.time_added] == [True, True]
        keeper.desk.wire.writes()
        await keeper.keep()
        assert keeper.desk.wire.writes() == []

    tell(story)


def test_an_outage_taints_at_once_and_evicts_after_its_time_in_one_write_each() -> None:
    async def story(keeper: Keeper) -> None:
        since = CLOCK.now().replace(microsecond=0)
        await keeper.desk.condition(status="False", lastTransitionTime=format_time(since))
        before = await keeper.cluster()
        left = await keeper.keep()
        (sent,) = keeper.desk.wire.writes()
        assert sent.version == before.metadata.resource_version
        assert (await keeper.had()) == [NO_SCHEDULE]
        assert sent.body["metadata"]["annotations"] == {OUTAGE_ANNOTATION: format_time(since)}
        assert left is not None
        assert left == pytest.approx(60, abs=1.1)
        await keeper.keep()
        assert keeper.desk.wire.writes() == []
        await asyncio.sleep(left)
        assert await keeper.keep() is None
        (sent,) = keeper.desk.wire.writes()
        assert list(sent.body["metadata"]) == ["resourceVersion"]
        assert await keeper.had() == [NO_SCHEDULE, NO_EXECUTE]
        await keeper.desk.condition(status="True")
        await keeper.keep()
        (sent,) = keeper.desk.wire.writes()
        assert sent.body["spec"] == {"taints": None}
        assert sent.body["metadata"]["annotations"] == {OUTAGE_ANNOTATION: None}, "nothing of its coming and going"
        told = [f"{{Key:{NOT_READY_TAINT},Effect:{effect}}}" for effect in ("NoSchedule", "NoExecute")]
        assert [(kind, reason, message) for kind, reason, message in await keeper.told()] == [
            ("Normal", "TaintClusterSucceed", f"Taint cluster succeed: cluster now has taints([{told[0]}])."),
            ("Normal", "TaintClusterSucceed", f"Taint cluster succeed: cluster now has taints([{','.join(told)}])."),
            ("Normal", "TaintClusterSucceed", "Taint cluster succeed: cluster now does not have taints."),
        ]

    tell(story, hold_down=HoldDownSettings(enabled=False))


def test_while_the_brake_holds_nothing_is_evicted_and_that_is_told_once_s4() -> None:
    async def story(keeper: Keeper) -> None:
        await away(keeper)
        for _ in range(2):
            assert await keeper.keep() == BRAKED_PAUSE.total_seconds()
            assert await keeper.had() == [NO_SCHEDULE]
        (why,) = [message for kind, _, message in await keeper.told() if kind == "Warning"]
        assert why.startswith(BRAKED)
        assert len(why) > len(BRAKED), "it says for what reason the brake holds"
        assert [reason for _, reason, _ in await keeper.told()] == ["TaintClusterSucceed", "TaintClusterFailed"]

    tell(story, braked=True)


def test_what_is_not_due_is_not_held_and_not_told() -> None:
    async def story(keeper: Keeper) -> None:
        await keeper.desk.condition(status="False", lastTransitionTime=format_time(CLOCK.now()))
        assert await keeper.keep() == BRAKED_PAUSE.total_seconds()
        assert [reason for _, reason, _ in await keeper.told()] == ["TaintClusterSucceed"]

    tell(story, braked=True)


def test_without_failover_nothing_is_evicted_nor_held() -> None:
    async def story(keeper: Keeper) -> None:
        await away(keeper)
        await keeper.keep()
        assert await keeper.had() == [NO_SCHEDULE]
        assert [reason for _, reason, _ in await keeper.told()] == ["TaintClusterSucceed"]

    tell(story, braked=True, failover=False)


@pytest.mark.parametrize(
    ("attention", "is_evicted"),
    [
        (UNKEPT, True),
        (Attention(heartbeat="it"), True),
        (Attention(heartbeat="it", is_now=False), False),
        (Attention(heartbeat="", is_now=False), False),
    ],
)
def test_only_an_outage_that_was_confirmed_evicts_and_the_cluster_says_so_s13(
    attention: Attention, is_evicted: bool
) -> None:
    async def story(keeper: Keeper) -> None:
        await away(keeper)
        await keeper.keep(attention)
        assert (NO_EXECUTE in await keeper.had()) == is_evicted
        marked = (await keeper.cluster()).metadata.annotations.get(OUTAGE_CONFIRMED_ANNOTATION)
        assert marked == (attention.heartbeat if is_evicted and attention.heartbeat else None)
        keeper.desk.wire.writes()
        await keeper.keep(attention)
        assert keeper.desk.wire.writes() == []

    tell(story)


def test_time_that_nobody_watched_does_not_count_s13() -> None:
    async def story(keeper: Keeper) -> None:
        await away(keeper)
        gap = Gap(CLOCK.now() - timedelta(days=3_650), CLOCK.now())
        left = await keeper.keep(Attention(time=WatchedTime((gap,))))
        assert left == pytest.approx(60, abs=1.1)
        assert await keeper.had() == [NO_SCHEDULE]

    tell(story)


@pytest.mark.parametrize("could_not_look", [True, False])
def test_that_nobody_could_look_evicts_only_where_that_is_asked_for(could_not_look: bool) -> None:
    async def story(keeper: Keeper) -> None:
        await away(keeper, reason=UNCOLLECTED)
        await keeper.keep()
        assert (NO_EXECUTE in await keeper.had()) == (not could_not_look)

    tell(story, could_not_look=could_not_look)


def test_a_taint_of_somebody_without_a_time_counts_from_now() -> None:
    async def story(keeper: Keeper) -> None:
        by_hand = [{"key": "example.com/mine", "effect": "NoExecute"}]
        await keeper.desk.client.patch(CLUSTERS, MEMBER, {"spec": {"taints": by_hand}})
        assert await keeper.keep() is None
        (taint,) = (await keeper.cluster()).spec.taints
        assert taint.time_added is not None
        assert (CLOCK.now() - taint.time_added).total_seconds() < 2

    tell(story)


def test_a_cluster_that_comes_and_goes_is_held_down_and_that_is_told() -> None:
    async def story(keeper: Keeper) -> None:
        left = None
        for _ in range(2):
            await away(keeper)
            await keeper.keep()
            assert NO_EXECUTE in await keeper.had()
            await keeper.desk.condition(status="True")
            left = await keeper.keep()
        assert await keeper.had() == [f"{FLAPPING_TAINT}:NoSchedule"]
        assert FLAPPING_ANNOTATION in (await keeper.cluster()).metadata.annotations
        assert left == pytest.approx(3600, abs=1.1)
        until = format_time((CLOCK.now() + timedelta(seconds=left or 0, milliseconds=500)).replace(microsecond=0))
        message = (
            f"The cluster comes and goes: nothing new is placed there before {until}. "
            f"To end that at once, remove the taint {FLAPPING_TAINT}."
        )
        assert (await keeper.told())[-1] == ("Warning", "ClusterFlapping", message)

    tell(story)


def test_a_hold_down_lasts_over_time_that_nobody_watched_s13() -> None:
    async def story(keeper: Keeper) -> None:
        for _ in range(2):
            await away(keeper)
            await keeper.keep()
            await keeper.desk.condition(status="True")
            await keeper.keep()
        began = CLOCK.now()
        await asyncio.sleep(1_000)
        assert await keeper.keep() == pytest.approx(2_600, abs=1.5)
        unwatched = Attention(time=WatchedTime((Gap(began, CLOCK.now()),)))
        assert await keeper.keep(unwatched) == pytest.approx(3_600, abs=1.5)

    tell(story)


def test_a_write_that_fails_is_told_and_one_that_comes_too_late_is_not() -> None:
    async def story(keeper: Keeper) -> None:
        await away(keeper)
        refused: Any = Unreachable("cut")

        async def fail(cluster: Cluster, patch: Mapping[str, Any]) -> Cluster:
            raise refused

        keeper.taints._patch = cast(Any, fail)  # pyright: ignore[reportPrivateUsage]
        with pytest.raises(Unreachable):
            await keeper.keep()
        assert await keeper.told() == [("Warning", "TaintClusterFailed", "Taint cluster failed: cut")]
        refused = Conflict(Status(code=409))
        with pytest.raises(Conflict):
            await keeper.keep()
        assert len(await keeper.told()) == 1

    tell(story)


def test_the_clock_of_an_outage_starts_with_the_last_sign_of_life_beside_who_has_seen_it() -> None:
    async def story(keeper: Keeper) -> None:
        await keeper.desk.condition(status="Unknown", lastTransitionTime=LONG_AGO)
        await asyncio.sleep(0.02)
        last_seen = (CLOCK.now() - timedelta(seconds=30)).replace(microsecond=0)
        cluster = await keeper.cluster()
        await keeper.taints.keep(cluster, last_seen, Attention(heartbeat="it"))
        await asyncio.sleep(0.02)
        annotations = (await keeper.cluster()).metadata.annotations
        assert annotations[OUTAGE_ANNOTATION] == format_time(last_seen)

    tell(story)


AT_ONCE = {
    "metadata": {"name": "at-once"},
    "spec": {
        "addOnConditions": [{"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}],
        "removeOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["True"]}],
        "taints": [{"key": "example.com/lost", "effect": "NoExecute"}],
    },
}
LOST = "example.com/lost:NoExecute"


@pytest.mark.parametrize("policies", [True, False])
def test_s9_what_the_condition_and_what_policies_call_for_is_one_write(*, policies: bool) -> None:
    async def story(keeper: Keeper) -> None:
        await keeper.desk.client.create(CLUSTER_TAINT_POLICIES, AT_ONCE)
        await keeper.taints.wait_synced()
        await keeper.desk.condition(status="False", lastTransitionTime=format_time(CLOCK.now()))
        await keeper.keep()
        (sent,) = keeper.desk.wire.writes()
        assert [taint["key"] for taint in sent.body["spec"]["taints"]] == (
            [NOT_READY_TAINT, "example.com/lost"] if policies else [NOT_READY_TAINT]
        )
        assert sent.body["metadata"]["annotations"].get(POLICY_TAINTS_ANNOTATION) == (LOST if policies else None)
        await keeper.keep()
        assert keeper.desk.wire.writes() == []
        await keeper.desk.condition(status="True")
        await keeper.keep()
        (sent,) = keeper.desk.wire.writes()
        assert sent.body["spec"] == {"taints": None}
        assert await keeper.had() == []

    tell(story, policies=policies)


def test_s4_the_brake_holds_what_a_policy_adds_on_a_cluster_that_looks_dead() -> None:
    async def story(keeper: Keeper) -> None:
        await keeper.desk.client.create(CLUSTER_TAINT_POLICIES, AT_ONCE)
        await keeper.taints.wait_synced()
        await away(keeper)
        await keeper.keep()
        assert await keeper.had() == [NO_SCHEDULE]

    tell(story, braked=True)


def test_who_looks_at_clusters_is_told_of_policies_that_are_new_and_not_of_those_that_go() -> None:
    async def story(keeper: Keeper) -> None:
        told: list[int] = []
        keeper.taints.start(lambda: told.append(1))
        await keeper.taints.wait_synced()
        await keeper.desk.client.create(CLUSTER_TAINT_POLICIES, AT_ONCE)
        await asyncio.sleep(1)
        assert told == [1]
        await keeper.desk.client.delete(CLUSTER_TAINT_POLICIES, "at-once")
        await asyncio.sleep(1)
        assert told == [1]

    tell(story)
