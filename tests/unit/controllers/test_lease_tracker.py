"""Last sign of life of an agent: its Lease, as it was received, and the statuses that it wrote."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from kubeapi.core import Lease, LeaseSpec
from kubeapi.meta import ObjectMeta
from leeward.api.cluster import Cluster
from leeward.controllers.cluster.lease_tracker import LeaseTracker, received_at
from leeward.core.cluster_health.monitor_grace_period import MonitorGracePeriods
from leeward.runtime.controller_context import ControlPlane
from tests.builders import cluster

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("times", "received"),
    [
        ([], None),
        (["2026-01-01T12:00:00Z", "2026-01-01T11:00:00Z"], NOON),
        ([None, "2026-01-01T12:00:00Z"], NOON),
        (["2026-02-31T12:00:00Z", "2026-01-01T12:00:00Z"], NOON),
        (["0000-01-01T00:00:00Z"], None),
    ],
)
def test_a_lease_was_received_when_the_last_date_says_that_can_be_read(
    times: list[str | None], received: datetime | None
) -> None:
    assert received_at({"metadata": {"managedFields": [{"time": time} for time in times]}}) == received


class Listened:
    """A tracker that began to listen at noon, on a control plane without an API server."""

    def __init__(self, *received: tuple[str, float]) -> None:
        """`received`: names of Leases, and how many seconds before noon each came last."""
        self.seconds, self.still = 900.0, 0.0
        self.heard: list[str] = []
        self.changes: list[Callable[[Any, Any], None]] = []
        self._received, self.asked = received, 0
        informer = SimpleNamespace(on_change=self.changes.append, wait_synced=self.synced)

        def informer_of(*_: object) -> object:
            return informer

        def stood_still(_: float) -> float:
            return self.still

        plane = SimpleNamespace(
            clock=SimpleNamespace(monotonic=lambda: self.seconds, now=self.now),
            informers=SimpleNamespace(of=informer_of),
            client=SimpleNamespace(list=self.listed),
            lag=SimpleNamespace(since=stood_still),
        )
        self.tracker = LeaseTracker(cast(ControlPlane, plane), MonitorGracePeriods(40, 60))
        self.seconds = 1000.0
        self.tracker.start(self.heard.append)

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds - 1000)

    async def synced(self) -> None: ...

    async def listed(self, *_: object) -> object:
        self.asked += 1
        dates = [(name, (NOON - timedelta(seconds=ago)).isoformat()) for name, ago in self._received]
        items = [{"metadata": {"name": name, "managedFields": [{"time": date}]}} for name, date in dates]
        return SimpleNamespace(items=[*items, {"metadata": {"name": "undated"}}])

    def cluster_changes(self, old: Cluster | None, new: Cluster | None) -> None:
        self.changes[0](old, new)

    def lease_changes(self, old: Lease | None, new: Lease | None) -> None:
        self.changes[1](old, new)

    def silent(self, name: str = "a") -> float:
        """Seconds since the cluster was heard of."""
        return (self.now() - self.tracker.last_seen(name)).total_seconds()


def lease(seconds: float) -> Lease:
    return Lease(metadata=ObjectMeta(name="a"), spec=LeaseSpec(renew_time=NOON + timedelta(seconds=seconds)))


def test_s8_silence_is_counted_from_the_last_renewal_that_was_received() -> None:
    listened = Listened()
    assert listened.silent() == 0, "one that was never heard of"
    listened.seconds += 100
    listened.lease_changes(lease(0), lease(100))
    listened.seconds += 30
    listened.lease_changes(lease(100), lease(100))
    listened.lease_changes(lease(100), None)
    assert (listened.silent(), listened.heard) == (30, ["a"]), "what is written anew and no renewal is no sign of life"


def test_s8_a_lease_that_is_there_at_the_start_was_received_by_someone_before() -> None:
    listened = Listened()
    assert listened.silent() == 0
    listened.seconds += 30
    listened.lease_changes(None, lease(0))
    assert (listened.silent(), listened.heard) == (30, ["a"])
    asyncio.run(listened.tracker.recall())
    listened.lease_changes(None, lease(30))
    assert listened.silent() == 0, "a new one, of which we hear first"


@pytest.mark.parametrize(("ago", "silent"), [(5, 5), (19, 19), (100, 20), (-50, 0)])
def test_s8_a_restart_restarts_no_clock_and_listens_for_half_of_the_grace_period(ago: float, silent: float) -> None:
    listened = Listened(("a", ago))
    asyncio.run(listened.tracker.recall())
    asyncio.run(listened.tracker.recall())
    assert (listened.silent(), listened.silent("undated"), listened.asked) == (silent, 0, 1)
    listened.seconds += 100
    assert listened.silent() == silent + 100
    listened.tracker.listens_anew()
    assert listened.silent() == 20, "it was away itself"


def test_s13_seconds_in_which_this_process_stood_still_are_no_silence() -> None:
    listened = Listened()
    assert listened.silent() == 0
    listened.seconds, listened.still = listened.seconds + 100, 60
    assert listened.silent() == 40


def test_a_status_of_the_agent_is_a_sign_of_life_and_silence_that_is_noted_here_is_none() -> None:
    listened = Listened(("a", 10))
    listened.cluster_changes(cluster("a"), None)
    asyncio.run(listened.tracker.recall())
    told, version = cluster("a"), cluster("a")
    version = msgspec.structs.replace(version, status=msgspec.structs.replace(version.status, kubernetes_version="v2"))
    unknown = cluster("a", "Unknown")
    for old, new, silent in ((told, told, 10), (told, unknown, 10), (None, version, 10), (told, version, 0)):
        listened.cluster_changes(old, new)
        assert listened.silent() == silent
    listened.seconds += 30
    listened.cluster_changes(version, None)
    assert listened.silent() == 0, "another one of this name was never heard of"
