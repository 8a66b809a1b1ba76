"""Writes that have an application serve go before those that record it, and none waits for ever."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeclient import Request, Response, Unreachable
from kubeclient.ordering import (
    DECISION_SECONDS,
    RECORD_SECONDS,
    RECORDS_AT_ONCE,
    REMEMBERED_SECONDS,
    SLOW_SECONDS,
    WRITES_AT_ONCE,
    OrderedTransport,
    WritePace,
    seconds_to_wait,
)
from tests.transports import Sent

WORK = Request("PUT", "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works/web")
DECISION = Request("PATCH", "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings/web-deployment")
RECORD = Request("PATCH", "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings/web-deployment/status")
READ = Request("GET", WORK.path)


ANSWER_SECONDS = 0.25


class Slow(Sent):
    """A server that answers each request after `ANSWER_SECONDS`; one to a path of `hang` after a minute."""

    def __init__(self, seconds: float = ANSWER_SECONDS) -> None:
        super().__init__()
        self.requests: list[Request] = []
        self._seconds = seconds

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        self.requests.append(request)
        async with asyncio.timeout(timeout_seconds):
            await asyncio.sleep(60 if "/hang/" in request.path else self._seconds)
        return await super().send(request, timeout_seconds=timeout_seconds)


BUSY_SECONDS = 0.05


class Busy(Slow):
    """A server that answers one request after the other, each in `BUSY_SECONDS`."""

    def __init__(self) -> None:
        super().__init__(BUSY_SECONDS)
        self._lock, self._under_way, self.most_at_once = asyncio.Lock(), 0, 0

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        self._under_way += 1
        self.most_at_once = max(self.most_at_once, self._under_way)
        try:
            async with self._lock:
                return await super().send(request, timeout_seconds=timeout_seconds)
        finally:
            self._under_way -= 1


def play(story: Callable[[Slow, OrderedTransport], Awaitable[None]]) -> None:
    async def run() -> None:
        slow = Slow()
        await story(slow, OrderedTransport(slow))

    run_virtual(run())


async def send(transport: OrderedTransport, *requests: Request, timeout_seconds: float = 100) -> list[Response]:
    return await asyncio.gather(*(transport.send(each, timeout_seconds=timeout_seconds) for each in requests))


def test_works_go_first_then_decisions_then_records() -> None:
    async def story(slow: Slow, transport: OrderedTransport) -> None:
        full = [DECISION] * WRITES_AT_ONCE
        await send(transport, *full, RECORD, DECISION, WORK)
        assert slow.requests == [*full, WORK, DECISION, RECORD]

    play(story)


def test_a_record_waits_its_time_and_then_goes_before_what_came_later() -> None:
    async def story() -> None:
        busy = Busy()
        transport = OrderedTransport(busy)

        async def keep_busy() -> None:
            for _ in range(int((RECORD_SECONDS + 5) / BUSY_SECONDS / WRITES_AT_ONCE)):
                await send(transport, *[WORK] * WRITES_AT_ONCE)

        async with asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(keep_busy())
            await asyncio.sleep(0.1)
            await transport.send(RECORD, timeout_seconds=10)
            waited = asyncio.get_running_loop().time()
        assert RECORD_SECONDS <= waited <= RECORD_SECONDS + 3

    run_virtual(story())


@pytest.mark.parametrize("seconds", [0.25, 0.5, 0.9])
def test_a_server_that_is_far_away_and_not_busy_gets_more_at_once(seconds: float) -> None:
    """Sixteen at once would take seven times as long as one."""

    async def story() -> None:
        transport = OrderedTransport(Slow(seconds))
        await send(transport, *[DECISION] * 100, *[RECORD] * 100)
        assert asyncio.get_running_loop().time() <= 5 * seconds

    run_virtual(story())


def test_a_server_that_is_busy_keeps_its_few_and_their_order() -> None:
    async def story() -> None:
        busy = Busy()
        transport = OrderedTransport(busy)
        await asyncio.gather(send(transport, *[DECISION] * 100), send(transport, *[WORK] * 100))
        late = [number for number, each in enumerate(busy.requests) if each == WORK]
        assert late[-1] <= 100 + 2 * WRITES_AT_ONCE
        assert busy.most_at_once <= 2 * WRITES_AT_ONCE

    run_virtual(story())


def test_a_server_that_becomes_busy_gets_few_again() -> None:
    pace = WritePace()
    for _ in range(200):
        pace.answered(0.1, 0.0, others_wait=True)
    assert pace.most == 200 + WRITES_AT_ONCE
    for _ in range(30):
        pace.answered(1.0, 1.0, others_wait=True)
    assert pace.most == WRITES_AT_ONCE
    for number in range(200):
        pace.answered(1.0, REMEMBERED_SECONDS * 2 + number, others_wait=False)
    assert pace.most == WRITES_AT_ONCE, "nobody waits"


def test_reads_and_leases_do_not_wait() -> None:
    async def story(slow: Slow, transport: OrderedTransport) -> None:
        lease = Request("PUT", "/apis/coordination.k8s.io/v1/namespaces/karmada-system/leases/leeward")
        await send(transport, *[WORK] * (2 * WRITES_AT_ONCE), READ, lease)
        assert all(each in slow.requests[: WRITES_AT_ONCE + 2] for each in (READ, lease))

    play(story)


def test_records_that_hang_leave_room_for_the_others() -> None:
    async def story(slow: Slow, transport: OrderedTransport) -> None:
        await send(transport, *[RECORD] * WRITES_AT_ONCE, WORK)
        assert slow.requests[: RECORDS_AT_ONCE + 1] == [*[RECORD] * RECORDS_AT_ONCE, WORK]

    play(story)


def test_writes_that_hang_hold_back_no_others_for_long() -> None:
    async def story(slow: Slow, transport: OrderedTransport) -> None:
        hanging = Request("POST", "/api/v1/namespaces/hang/configmaps")
        async with asyncio.TaskGroup() as group:
            for _ in range(WRITES_AT_ONCE):
                group.create_task(transport.send(hanging, timeout_seconds=100))
            await asyncio.sleep(0)
            await send(transport, *[WORK] * WRITES_AT_ONCE)
            assert asyncio.get_running_loop().time() == SLOW_SECONDS + ANSWER_SECONDS

    play(story)


def test_a_write_without_a_turn_fails_in_its_time_and_takes_none() -> None:
    async def story(slow: Slow, transport: OrderedTransport) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(WRITES_AT_ONCE):
                group.create_task(transport.send(WORK, timeout_seconds=10))
            await asyncio.sleep(0)
            with pytest.raises(Unreachable, match=r"no turn to write within 0\.1 s"):
                await transport.send(DECISION, timeout_seconds=0.1)
            given_up = group.create_task(transport.send(DECISION, timeout_seconds=10))
            await asyncio.sleep(0)
            given_up.cancel()
        await send(transport, *[RECORD] * RECORDS_AT_ONCE, *[WORK] * (WRITES_AT_ONCE - RECORDS_AT_ONCE))
        assert asyncio.get_running_loop().time() == 2 * ANSWER_SECONDS, "all turns were given back"
        assert DECISION not in slow.requests

    play(story)


@pytest.mark.parametrize(
    ("method", "path", "seconds"),
    [
        ("POST", "/api/v1/namespaces/default/events", RECORD_SECONDS),
        ("PATCH", "/apis/apps/v1/namespaces/default/deployments/web/status", RECORD_SECONDS),
        ("PATCH", "/apis/leeward.dev/v1alpha1/outages/m1", RECORD_SECONDS),
        ("PATCH", "/apis/cluster.karmada.io/v1alpha1/clusters/m1/status", 0),
        ("PATCH", "/apis/work.karmada.io/v1alpha2/clusterresourcebindings/role", DECISION_SECONDS),
        ("PATCH", "/api/v1/namespaces/default/services/web/status", 0),
        ("PATCH", "/apis/networking.k8s.io/v1/namespaces/default/ingresses/web/status", 0),
        ("POST", "/api/v1/namespaces/events/configmaps", 0),
        ("PUT", "/api/v1/namespaces/status/secrets/events", 0),
        ("POST", "/api/v1/namespaces", 0),
        ("PATCH", "/api/v1/namespaces/events", 0),
        ("PUT", "/api/v1/namespaces/events/status", RECORD_SECONDS),
        ("GET", "/api/v1/namespaces/default/events", None),
    ],
)
def test_the_kind_of_a_write_says_how_long_it_may_wait(method: str, path: str, seconds: float | None) -> None:
    assert seconds_to_wait(Request(method, path)) == seconds
