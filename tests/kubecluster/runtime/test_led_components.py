"""Parts that are led here are worked on as one, and begun anew when one is gained or lost."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from controller_runtime.leader import Leadership, NotLeading
from controller_runtime.led_components import SETTLING_SECONDS, Led, LedComponents, fenced
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeclient import Request
from tests.transports import Sent

MANAGER, SCHEDULER = "manager", "scheduler"


class Scene:
    """`diary` has the parts that were worked on, and when that began and ended."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.diary: list[tuple[float, str]] = []
        self.parts = LedComponents((MANAGER, SCHEDULER), self._work)
        self._supervisor = supervisor

    def gain(self, part: str) -> asyncio.Task[None]:
        return self._supervisor.start(self.parts.lead(part, None), part)

    async def _work(self, led: Led[str]) -> None:
        names = "+".join(sorted(led))
        self._note(f"{names} begins")
        try:
            await asyncio.Event().wait()
        finally:
            self._note(f"{names} ends")

    def _note(self, line: str) -> None:
        self.diary.append((asyncio.get_running_loop().time(), line))


def play(story: Callable[[Scene], Awaitable[None]]) -> list[tuple[float, str]]:
    async def run() -> list[tuple[float, str]]:
        async with Supervisor() as supervisor:
            scene = Scene(supervisor)
            supervisor.start(scene.parts.run(), "parts")
            await story(scene)
            return list(scene.diary)

    return run_virtual(run())


def test_parts_that_are_gained_together_begin_as_one() -> None:
    async def story(scene: Scene) -> None:
        scene.gain(MANAGER)
        await asyncio.sleep(SETTLING_SECONDS / 2)
        scene.gain(SCHEDULER)
        await asyncio.sleep(10)

    assert play(story) == [(SETTLING_SECONDS / 2, "manager+scheduler begins")]


def test_a_part_that_another_process_leads_is_not_waited_for() -> None:
    async def story(scene: Scene) -> None:
        scene.gain(MANAGER)
        await asyncio.sleep(10)

    assert play(story) == [(SETTLING_SECONDS, "manager begins")]


def test_when_a_part_is_gained_or_lost_the_work_is_begun_anew() -> None:
    async def story(scene: Scene) -> None:
        scene.gain(MANAGER)
        await asyncio.sleep(10)
        scheduler = scene.gain(SCHEDULER)
        await asyncio.sleep(10)
        scheduler.cancel()
        await asyncio.sleep(10)

    assert play(story) == [
        (SETTLING_SECONDS, "manager begins"),
        (10, "manager ends"),
        (10, "manager+scheduler begins"),
        (20, "manager+scheduler ends"),
        (20 + SETTLING_SECONDS, "manager begins"),
    ]


def test_what_the_work_raises_ends_the_process() -> None:
    async def work(led: Led[str]) -> None:
        raise OSError("the disk is full")

    async def run() -> None:
        async with Supervisor() as supervisor:
            parts = LedComponents((MANAGER,), work)
            supervisor.start(parts.lead(MANAGER, None), MANAGER)
            await parts.run()

    with pytest.raises(OSError, match="the disk is full"):
        run_virtual(run())


def test_s8_what_is_written_for_two_parts_needs_both_leases() -> None:
    async def run() -> None:
        sent, clock = Sent(), VirtualClock()
        manager, scheduler = Leadership(clock), Leadership(clock)
        transport = fenced(sent, {MANAGER: manager, SCHEDULER: scheduler})
        manager.extend(10)
        scheduler.extend(5)
        await transport.send(Request("PATCH", "/x"), timeout_seconds=1)
        await asyncio.sleep(5)
        with pytest.raises(NotLeading):
            await transport.send(Request("PATCH", "/x"), timeout_seconds=1)
        await transport.send(Request("GET", "/x"), timeout_seconds=1)
        assert sent.methods == ["PATCH", "GET"]

    run_virtual(run())
