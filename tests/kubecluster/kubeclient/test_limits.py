"""--kube-api-qps and its companions: requests wait for their turn, and fail when it does not come in time."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeclient import Request, Unreachable
from kubeclient.limits import Limit, LimitedTransport, RequestPace, limited
from tests.transports import Sent


def play(story: Callable[[Sent, LimitedTransport], Awaitable[None]], per_second: float, burst: int) -> None:
    async def run() -> None:
        sent = Sent()
        await story(sent, LimitedTransport(sent, RequestPace(per_second, burst)))

    run_virtual(run())


async def send(transport: LimitedTransport, count: int, timeout_seconds: float = 10) -> None:
    request = Request("GET", "/x")
    await asyncio.gather(*(transport.send(request, timeout_seconds=timeout_seconds) for _ in range(count)))


def test_a_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    async def story(sent: Sent, transport: LimitedTransport) -> None:
        await send(transport, 5)
        assert sent.instants == pytest.approx([0, 0, 0, 0.5, 1.0])

    play(story, per_second=2, burst=3)


def test_a_pause_earns_a_burst_again_but_no_more_than_that() -> None:
    async def story(sent: Sent, transport: LimitedTransport) -> None:
        await send(transport, 2)
        await asyncio.sleep(100)
        await send(transport, 3)
        assert sent.instants == pytest.approx([0, 0, 100, 100, 100.5])

    play(story, per_second=2, burst=2)


def test_a_request_whose_turn_does_not_come_in_time_fails_at_once() -> None:
    async def story(sent: Sent, transport: LimitedTransport) -> None:
        await send(transport, 1, timeout_seconds=1)
        with pytest.raises(Unreachable, match="the limit on requests is too low"):
            await send(transport, 1, timeout_seconds=1)
        assert asyncio.get_running_loop().time() == 0

    play(story, per_second=0.1, burst=1)


def test_without_a_limit_nothing_stands_between() -> None:
    sent = Sent()
    assert limited(sent, Limit()) is sent
