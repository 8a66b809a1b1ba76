"""The Lease by which a leader is elected: who may take it and when, which requests that takes, and its end (S8)."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import pytest

from controller_runtime.leader import READING, FencedTransport, LeaderElector, Leadership, NotLeading
from kubeapi.core import LEASES, NAMESPACES, Lease
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.meta import Manifest
from kubeclient import Client, Request, Response, Transport, Unreachable
from leeward.api.names import SHARD_ASKED_FOR_ANNOTATION, SHARDS_ANNOTATION, SYSTEM_NAMESPACE
from leeward.runtime.sharding import LeaderSettings, Sharding
from tests.kubecluster.runtime.small_world import CLOCK, ScriptedTransport, SmallWorld
from tests.kubecluster.runtime.small_world import tell as tell_of_world

SETTINGS = LeaderSettings()
LASTS, RENEW, RETRY = SETTINGS.lease_seconds, SETTINGS.renew_seconds, SETTINGS.retry_seconds
JITTER = 1.1
"""The longest pause between two tries, in retries."""
TWO = Sharding(2)


@dataclass
class Way:
    """The way of one candidate to the API server. It notes the writes, fails while it is cut, and answers late."""

    inner: Transport
    is_cut: bool = False
    answer_seconds: float = 0.0
    before_write: Callable[[], Awaitable[object]] | None = None
    """Work to do before the next write arrives, once."""
    writes: list[Manifest] = field(default_factory=list[Manifest])

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        if request.method not in READING:
            self.writes.append({"method": request.method, "path": request.path, **json.loads(request.body)})
            meanwhile, self.before_write = self.before_write, None
            if meanwhile is not None:
                await meanwhile()
        if self.is_cut:
            raise Unreachable("cut")
        await asyncio.sleep(self.answer_seconds)
        return await self.inner.send(request, timeout_seconds=timeout_seconds)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self.inner.stream(request)

    async def close(self) -> None:
        await self.inner.close()


class Office:
    """One candidate, and the Lease that others write."""

    def __init__(
        self, world: SmallWorld, settings: LeaderSettings = SETTINGS, sharding: Sharding | None = None
    ) -> None:
        self.world = world
        self.way = Way(world.transport)
        self.elector = LeaderElector(Client(self.way), "leader", "me", CLOCK, Randomness(0), settings, sharding)
        self.diary: list[tuple[float, str]] = []
        self._began = CLOCK.monotonic()
        self._leading: asyncio.Task[None] | None = None

    @property
    def now(self) -> float:
        return round(CLOCK.monotonic() - self._began, 3)

    def begin(self) -> None:
        self._began = CLOCK.monotonic()
        self._leading = self.world.supervisor.start(self.elector.lead(self._work), "leading")

    async def end(self) -> None:
        assert self._leading is not None
        self._leading.cancel()
        await asyncio.wait([self._leading])
        assert self._leading.cancelled(), "who ends it raises nothing"

    async def _work(self) -> None:
        self.diary.append((self.now, "begins"))
        try:
            await asyncio.Event().wait()
        finally:
            self.diary.append((self.now, "ends"))

    async def lease(
        self, holder: str = "a", lasts: int | None = 15, transitions: int | None = 3, marks: Manifest | None = None
    ) -> None:
        """Makes the Lease, as another program writes it."""
        spec = {"holderIdentity": holder, "leaseDurationSeconds": lasts, "leaseTransitions": transitions}
        metadata = {"name": "leader", "annotations": marks or {}}
        await self.world.direct.create(LEASES, {"metadata": metadata, "spec": spec}, SYSTEM_NAMESPACE)

    async def change(self, spec: Manifest) -> None:
        await self.world.direct.patch(LEASES, "leader", {"spec": spec}, SYSTEM_NAMESPACE)

    async def seen(self) -> Lease:
        return await self.world.direct.get(LEASES, "leader", SYSTEM_NAMESPACE)

    async def holder(self) -> str:
        return (await self.seen()).spec.holder_identity


def tell(story: Callable[[Office], Awaitable[None]], **more: Any) -> None:
    async def prepared(world: SmallWorld) -> None:
        await world.direct.create(NAMESPACES, {"metadata": {"name": SYSTEM_NAMESPACE}})
        await story(Office(world, **more))

    tell_of_world(prepared)


def test_who_is_the_first_makes_the_lease_and_renews_it_in_the_version_that_it_saw() -> None:
    async def story(office: Office) -> None:
        office.begin()
        await asyncio.sleep(0.5)
        seen = await office.seen()
        await asyncio.sleep(RETRY)
        first, _, second = office.way.writes
        times = {first["spec"].pop("renewTime"), first["spec"].pop("acquireTime")}
        assert times == {"2026-01-01T00:00:00.000000Z"}
        assert first["method"] == "POST"
        assert first["metadata"] == {"name": "leader", "namespace": SYSTEM_NAMESPACE}
        assert first["spec"] == {"holderIdentity": "me", "leaseDurationSeconds": 15, "leaseTransitions": 0}
        assert second["spec"].pop("renewTime") == "2026-01-01T00:00:02.000000Z"
        assert second["method"] == "PATCH"
        assert second["metadata"]["resourceVersion"] == seen.metadata.resource_version
        assert second["spec"] == {"holderIdentity": "me", "leaseDurationSeconds": 15}, "it was not acquired again"

    tell(story)


def test_a_leader_with_shards_says_so_whenever_it_writes_its_lease() -> None:
    async def story(office: Office) -> None:
        office.begin()
        await asyncio.sleep(RETRY + 0.5)
        told = [write["metadata"]["annotations"] for write in office.way.writes]
        assert told == [{SHARDS_ANNOTATION: "2/me"}] * 3

    tell(story, sharding=TWO)


@pytest.mark.parametrize(
    ("holder", "lasts", "transitions", "expected_at", "expected_transitions"),
    [
        ("", 15, 3, 0.0, 4),
        ("", 15, 0, 0.0, 1),
        ("", 15, None, 0.0, 1),
        ("a", 15, 3, 15.0, 4),
        ("a", 31, 3, 31.0, 4),
        ("a", None, 3, 15.0, 4),
        ("me", 15, 3, 0.0, 3),
    ],
)
def test_s8_a_lease_of_another_is_taken_when_nobody_has_renewed_it_for_its_duration(
    holder: str, lasts: int | None, transitions: int | None, expected_at: float, expected_transitions: int
) -> None:
    async def story(office: Office) -> None:
        await office.lease(holder, lasts, transitions)
        office.begin()
        await asyncio.sleep(60)
        assert office.diary == [(expected_at, "begins")]
        lease = await office.seen()
        assert (lease.spec.holder_identity, lease.spec.lease_transitions) == ("me", expected_transitions)

    tell(story)


def test_s8_a_renewal_of_another_begins_its_duration_anew() -> None:
    async def story(office: Office) -> None:
        await office.lease()
        office.begin()
        await asyncio.sleep(LASTS - 0.5)
        await office.change({"renewTime": "2026-01-01T00:00:07.000000Z"})
        await asyncio.sleep(LASTS)
        assert office.diary == []
        assert not office.elector.leadership.holds
        await asyncio.sleep(JITTER * RETRY)
        assert [line for _, line in office.diary] == ["begins"]

    tell(story)


def test_a_lease_that_is_given_back_is_taken_with_the_next_look() -> None:
    async def story(office: Office) -> None:
        await office.lease()
        office.begin()
        await asyncio.sleep(LASTS / 3)
        await office.change({"holderIdentity": ""})
        await asyncio.sleep(JITTER * RETRY)
        assert [line for _, line in office.diary] == ["begins"]

    tell(story)


@pytest.mark.parametrize("was_there", [False, True])
def test_s8_who_was_slower_than_another_does_not_lead(was_there: bool) -> None:
    async def story(office: Office) -> None:
        if was_there:
            await office.lease("")
        taken = office.change({"holderIdentity": "a"}) if was_there else office.lease()
        office.way.before_write = lambda: taken
        office.begin()
        await asyncio.sleep(LASTS - 1)
        assert (office.diary, office.elector.leadership.holds) == ([], False)
        assert await office.holder() == "a"
        assert len(office.way.writes) == 1
        await asyncio.sleep(2 + JITTER * RETRY)
        assert await office.holder() == "me"

    tell(story)


def test_s8_who_gets_no_answer_does_not_lead_and_asks_again() -> None:
    async def story(office: Office) -> None:
        office.way.answer_seconds = 100.0
        office.begin()
        await asyncio.sleep(RENEW + RETRY)
        assert (office.diary, office.elector.leadership.holds) == ([], False)
        office.way.answer_seconds = 0.0
        await asyncio.sleep(JITTER * RETRY)
        assert [line for _, line in office.diary] == ["begins"]
        assert RENEW + RETRY <= office.diary[0][0] <= RENEW + JITTER * RETRY

    tell(story)


def test_work_ends_when_no_renewal_has_succeeded_in_time_and_begins_when_one_has() -> None:
    async def story(office: Office) -> None:
        office.begin()
        await asyncio.sleep(RETRY + 1)
        office.way.is_cut = True
        await asyncio.sleep(LASTS)
        last_renewal = RETRY
        assert office.diary == [(0.0, "begins"), (last_renewal + RENEW, "ends")]
        office.way.is_cut = False
        await asyncio.sleep(JITTER * RETRY)
        assert [line for _, line in office.diary] == ["begins", "ends", "begins"]

    tell(story)


def test_one_renewal_that_fails_ends_no_work() -> None:
    async def story(office: Office) -> None:
        office.begin()
        for _ in range(5):
            await asyncio.sleep(RETRY + 1)
            office.way.is_cut = True
            await asyncio.sleep(RENEW - 3 * RETRY)
            office.way.is_cut = False
            await asyncio.sleep(RENEW)
        assert office.diary == [(0.0, "begins")]

    tell(story)


@pytest.mark.parametrize(("answer_seconds", "ends_at"), [(3.5, None), (4.5, 14.0), (7.5, 14.0), (RENEW + 1, 12.0)])
def test_a_renewal_is_waited_for_no_longer_than_it_may_take(answer_seconds: float, ends_at: float | None) -> None:
    """A renewal counts from its beginning: the next one, after a pause, has as much less time. One that fails is
    followed by a pause, too."""

    async def story(office: Office) -> None:
        office.begin()
        await asyncio.sleep(RETRY / 2)
        office.way.answer_seconds = answer_seconds / 2
        await asyncio.sleep(2 * RENEW)
        assert office.diary[1:2] == ([] if ends_at is None else [(ends_at, "ends")])

    tell(story)


@pytest.mark.parametrize("answers", [True, False])
def test_whoever_stood_still_tries_once_more_for_as_long_as_its_lease_lasts(answers: bool) -> None:
    """A pause of the whole process, behind the time for a renewal and before the end of the lease."""

    async def story(office: Office) -> None:
        office.begin()
        await asyncio.sleep(RETRY - 0.1)
        with pytest.MonkeyPatch.context() as patch:
            now = VirtualClock.monotonic

            def later(clock: VirtualClock) -> float:
                return now(clock) + RENEW + 1.0

            patch.setattr(VirtualClock, "monotonic", later)
            office.way.answer_seconds = 0.0 if answers else 100.0
            await asyncio.sleep(0.5)
            assert office.elector.leadership.holds
            await asyncio.sleep(LASTS)
        assert office.diary[1:2] == ([] if answers else [(LASTS + RETRY, "ends")])

    tell(story)


@pytest.mark.parametrize("holder", ["me", "a"])
def test_a_leader_that_ends_gives_back_its_own_lease_alone(holder: str) -> None:
    async def story(office: Office) -> None:
        office.begin()
        await asyncio.sleep(1)
        await office.change({"holderIdentity": holder})
        await office.end()
        assert not office.elector.leadership.holds
        lease = await office.seen()
        freed = ("", 1) if holder == "me" else ("a", 15)
        assert (lease.spec.holder_identity, lease.spec.lease_duration_seconds) == freed

    tell(story)


def test_a_candidate_that_ends_writes_nothing() -> None:
    async def story(office: Office) -> None:
        await office.lease()
        office.begin()
        await asyncio.sleep(RETRY)
        await office.end()
        assert office.way.writes == []

    tell(story)


def test_a_lease_that_is_written_while_it_is_given_back_is_looked_at_once_more() -> None:
    async def story(office: Office) -> None:
        office.begin()
        await asyncio.sleep(1)
        office.way.before_write = lambda: office.change({"renewTime": "2026-01-01T00:00:07.000000Z"})
        await office.end()
        assert await office.holder() == ""
        *_, refused, freed = office.way.writes
        assert refused["metadata"]["resourceVersion"] < freed["metadata"]["resourceVersion"]

    tell(story)


@pytest.mark.parametrize("is_cut", [False, True])
def test_a_lease_that_cannot_be_given_back_runs_out(is_cut: bool) -> None:
    """A server has as long for it as for a renewal."""

    async def story(office: Office) -> None:
        office.begin()
        await asyncio.sleep(1)
        office.way.is_cut, office.way.answer_seconds = is_cut, 100.0
        await office.end()
        assert office.now == (1.0 if is_cut else 1.0 + RENEW)
        assert await office.holder() == "me"

    tell(story)


@pytest.mark.parametrize("shard_holder", ["", "shard"])
def test_s8_a_leader_frees_its_lease_when_no_shard_works_on_its_strength(shard_holder: str) -> None:
    async def story(office: Office) -> None:
        spec = {"holderIdentity": shard_holder}
        await office.world.direct.create(
            LEASES, {"metadata": {"name": TWO.lease_of(1)}, "spec": spec}, SYSTEM_NAMESPACE
        )
        office.begin()
        await asyncio.sleep(1)
        await office.end()
        lease = await office.seen()
        assert SHARDS_ANNOTATION not in lease.metadata.annotations
        assert lease.spec.holder_identity == ("me" if shard_holder else "")

    tell(story, sharding=TWO)


def test_a_leader_that_gives_its_lease_back_is_no_candidate_for_its_duration() -> None:
    async def story(office: Office) -> None:
        office.elector.give_back()
        office.begin()
        await asyncio.sleep(1)
        assert await office.holder() == "me", "it did not lead when it was asked"
        office.elector.give_back()
        await asyncio.sleep(0.5)
        assert await office.holder() == ""
        await asyncio.sleep(LASTS + 1)
        assert await office.holder() == "me"
        assert office.diary == [(0.0, "begins"), (1.0, "ends"), (1.0 + LASTS, "begins")]

    tell(story)


def test_a_leader_whose_lease_cannot_be_given_back_in_time_takes_it_again_later() -> None:
    async def story(office: Office) -> None:
        office.begin()
        await asyncio.sleep(1)
        office.way.answer_seconds = 0.6 * RENEW
        office.elector.give_back()
        await asyncio.sleep(RENEW + 1)
        office.way.answer_seconds = 0.0
        await asyncio.sleep(LASTS + 1)
        assert office.diary == [(0.0, "begins"), (1.0, "ends"), (1.0 + RENEW + LASTS, "begins")]

    tell(story)


@pytest.mark.parametrize("asked", [False, True])
def test_a_lease_that_was_asked_for_says_so_no_longer_when_it_is_given_back(asked: bool) -> None:
    async def story(office: Office) -> None:
        kept = {"example.com/kept": "yes"}
        await office.lease("", marks=kept | ({SHARD_ASKED_FOR_ANNOTATION: "b"} if asked else {}))
        office.begin()
        await asyncio.sleep(1)
        await office.end()
        lease = await office.seen()
        assert dict(lease.metadata.annotations) == kept
        assert ("metadata" in office.way.writes[-1] and "annotations" in office.way.writes[-1]["metadata"]) == asked

    tell(story)


def test_who_waits_names_the_holder_once_and_trouble_once(caplog: pytest.LogCaptureFixture) -> None:
    async def story(office: Office) -> None:
        await office.lease()
        office.begin()
        await asyncio.sleep(3 * RETRY)
        await office.change({"holderIdentity": "b"})
        await asyncio.sleep(3 * RETRY)
        office.way.is_cut = True
        await asyncio.sleep(2 * RETRY)
        office.way.is_cut, office.way.answer_seconds = False, 100.0
        await asyncio.sleep(RENEW + 2 * RETRY)

    with caplog.at_level(logging.INFO, "controller_runtime.leader"):
        tell(story)
    assert [record.getMessage() for record in caplog.records] == [
        "me waits: leader is held by a",
        "me waits: leader is held by b",
        "lease leader: cut",
        "lease leader: no answer in time",
    ]


def test_s8_a_fence_passes_on_how_long_to_wait_and_which_watch() -> None:
    async def story(office: Office) -> None:
        inner, leadership = ScriptedTransport(), Leadership(CLOCK)
        fence = FencedTransport(inner, leadership)
        with pytest.raises(NotLeading):
            await fence.send(Request("PATCH", "/x"), timeout_seconds=3)
        leadership.extend(CLOCK.monotonic() + 1)
        with pytest.raises(Unreachable, match="no answer"):
            await fence.send(Request("PATCH", "/x"), timeout_seconds=3)
        async with fence.stream(Request("GET", "/watched")):
            pass
        assert [request.path for request in inner.requests] == ["/x", "/watched"]
        assert inner.asked_at[1] - inner.asked_at[0] == 3

    tell(story)
