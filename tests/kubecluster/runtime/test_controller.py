"""The loop of controllers: whatever a reconciliation ends with, the loop goes on."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta

import pytest

from controller_runtime.controller import Controller
from controller_runtime.controller_metrics import ControllerMetrics
from controller_runtime.queue import LAST_RETRY_SECONDS
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.turns import BUDGET_SECONDS, Turns
from kubeapi.loop.virtual import run_virtual
from kubeapi.status import Status, StatusDetails
from kubeclient import Conflict, TooManyRequests, Unreachable
from kubeclient.caller import HEADER, with_caller
from tests.kubeapi.loop.busy_loop import busy, run_busy

CLOCK = VirtualClock()


def controller_of(
    reconcile: Callable[[str], Awaitable[datetime | None]],
    workers: int,
    metrics: ControllerMetrics | None = None,
    turns: Turns | None = None,
) -> Controller[str]:
    metrics = metrics or ControllerMetrics()
    return Controller(
        "test", reconcile, clock=CLOCK, randomness=Randomness(0), metrics=metrics, workers=workers, turns=turns
    )


class Reconciler:
    """Ends each reconciliation of a key as its script says, and notes when it began."""

    def __init__(self, **scripts: list[Exception | float | None]) -> None:
        self.scripts = scripts
        self.began: dict[str, list[float]] = {key: [] for key in scripts}
        self.metrics = ControllerMetrics()

    async def reconcile(self, key: str) -> datetime | None:
        self.began[key].append(CLOCK.monotonic())
        await asyncio.sleep(0)
        outcome = self.scripts[key].pop(0) if self.scripts[key] else None
        if isinstance(outcome, Exception):
            raise outcome
        return None if outcome is None else CLOCK.now() + timedelta(seconds=outcome)

    def run(self, seconds: float, workers: int = 2) -> None:
        async def main() -> None:
            async with Supervisor() as supervisor:
                controller = controller_of(self.reconcile, workers, self.metrics)
                controller.start(supervisor)
                for key in self.scripts:
                    controller.queue.add(key)
                await asyncio.sleep(seconds)

        run_virtual(main())

    def counted(self, result: str) -> float | None:
        labels = {"controller": "test", "result": result}
        return self.metrics.registry.get_sample_value("controller_runtime_reconcile_total", labels)


def test_conflicts_failures_of_the_world_and_bugs_are_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    reconciler = Reconciler(a=[Conflict(Status(code=409)), Unreachable("gone"), KeyError("bug")])
    with caplog.at_level(logging.WARNING):
        reconciler.run(60)
    first, second, third, fourth = reconciler.began["a"]
    assert second - first < third - second < fourth - third < 1
    assert [reconciler.counted(result) for result in ("conflict", "error", "bug", "success")] == [1, 1, 1, 1]
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR"]


def test_a_server_that_has_too_much_to_do_is_left_alone_for_as_long_as_it_says() -> None:
    busy = TooManyRequests(Status(code=429, details=StatusDetails(retry_after_seconds=7)))
    reconciler = Reconciler(a=[busy])
    reconciler.run(60)
    first, second = reconciler.began["a"]
    assert second - first >= 7
    assert reconciler.counted("throttled") == 1


def test_a_server_that_asks_for_a_day_is_asked_again_within_a_minute() -> None:
    busy = TooManyRequests(Status(code=429, details=StatusDetails(retry_after_seconds=86_400)))
    reconciler = Reconciler(a=[busy])
    reconciler.run(90_000)
    first, second = reconciler.began["a"]
    assert LAST_RETRY_SECONDS <= second - first <= 2 * LAST_RETRY_SECONDS


def test_it_comes_back_when_the_reconciliation_said() -> None:
    reconciler = Reconciler(a=[30, 5])
    reconciler.run(1_000)
    assert reconciler.began["a"] == [0, 30, 35]


def test_one_bad_object_does_not_stop_the_others() -> None:
    reconciler = Reconciler(bad=[KeyError("bug")] * 1_000, good=[10] * 6)
    reconciler.run(61, workers=1)
    assert reconciler.began["good"] == [0, 10, 20, 30, 40, 50, 60]
    assert 5 < len(reconciler.began["bad"]) < 20


def test_workers_are_hired_for_keys_that_nobody_is_free_for_and_no_more_than_there_may_be() -> None:
    at_work: list[str] = []
    most: list[int] = []
    tasks: list[int] = []

    async def reconcile(key: str) -> None:
        at_work.append(key)
        most.append(len(at_work))
        await asyncio.sleep(1)
        at_work.remove(key)

    async def main() -> None:
        async with Supervisor() as supervisor:
            controller = controller_of(reconcile, workers=3)
            controller.start(supervisor)
            tasks.append(len(asyncio.all_tasks()) - 1)
            for keys in ("a", "b", "cd", "efghij"):
                for key in keys:
                    controller.queue.add(key)
                await asyncio.sleep(5)
                tasks.append(len(asyncio.all_tasks()) - 1)

    run_virtual(main())
    assert tasks == [0, 1, 1, 2, 3]
    assert max(most) == 3
    assert len(most) == 10


def test_keys_that_come_together_are_begun_together() -> None:
    began: list[float] = []

    async def reconcile(key: str) -> None:
        began.append(CLOCK.monotonic())
        await asyncio.sleep(1)

    async def main() -> None:
        async with Supervisor() as supervisor:
            controller = controller_of(reconcile, workers=8)
            controller.queue.add("early")
            controller.start(supervisor)
            for key in "abcdef":
                controller.queue.add(key)
            await asyncio.sleep(0.5)

    run_virtual(main())
    assert began == [0] * 7


def test_what_a_reconciliation_sends_says_which_controller_it_is_for() -> None:
    async def story() -> None:
        heard: list[Mapping[str, str]] = []

        async def reconcile(key: str) -> datetime | None:
            heard.append(with_caller({"accept": "all"}))
            return None

        async with Supervisor("test") as supervisor:
            controller = controller_of(reconcile, workers=2)
            controller.start(supervisor)
            controller.queue.add("a")
            await asyncio.sleep(1)
        assert heard == [{"accept": "all", HEADER: "test"}]
        assert with_caller({"accept": "all"}) == {"accept": "all"}

    run_virtual(story())


def test_what_is_to_be_done_is_done_before_a_thousand_that_are_late() -> None:
    """A process that begins has all to look at; what comes while it does has to wait for one round of the loop."""
    order: list[str] = []

    async def reconcile(key: str) -> datetime | None:
        order.append(key)
        busy().compute(BUDGET_SECONDS / 2)
        return None

    async def story() -> None:
        turns = Turns()
        async with Supervisor() as supervisor:
            settled = controller_of(reconcile, workers=8, turns=turns)
            others = [controller_of(reconcile, workers=8, turns=turns) for _ in range(50)]
            for each in (settled, *others):
                each.start(supervisor)
                for number in range(20):
                    each.queue.add(f"late-{number}", late=True)
            await asyncio.sleep(BUDGET_SECONDS)
            before = len(order)
            settled.queue.add("new")
            settled.queue.add("late-19")
            await asyncio.sleep(20)
        assert order.index("new") - before <= 3
        assert order.index("late-19") - before <= 4
        assert len(order) == 51 * 20 + 1

    run_busy(story())
