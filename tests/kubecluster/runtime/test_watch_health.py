"""Instant since which a kind cannot be followed, on the loop's clock."""

import asyncio

from controller_runtime.watch_health import WatchHealth
from kubeapi.loop.virtual import run_virtual
from kubeclient.bounds import OPEN_TIMEOUT_SECONDS


def test_the_first_of_several_failures_is_told_until_a_request_succeeds() -> None:
    async def story() -> None:
        health = WatchHealth()
        assert health.failing_since is None
        await asyncio.sleep(3)
        for _ in range(4):
            health.begins()
            health.fails()
            assert health.failing_since == 3
            await asyncio.sleep(5)
        health.begins()
        assert health.failing_since == 3
        health.succeeds()
        assert health.failing_since is None

    run_virtual(story())


def test_a_quiet_watch_that_lasts_is_open_and_what_fails_after_it_fails_from_then_on() -> None:
    async def story() -> None:
        health = WatchHealth()
        health.fails()
        health.begins()
        await asyncio.sleep(OPEN_TIMEOUT_SECONDS)
        assert health.failing_since == 0
        await asyncio.sleep(290)
        assert health.failing_since is None
        health.fails()
        assert health.failing_since == 290 + OPEN_TIMEOUT_SECONDS

    run_virtual(story())
