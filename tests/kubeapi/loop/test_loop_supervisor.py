"""The supervisor: what it starts ends with it, and nothing dies in silence."""

import asyncio

import pytest

from kubeapi.loop.supervisor import PATIENCE_SECONDS, Supervisor
from kubeapi.loop.virtual import run_virtual


async def fail() -> None:
    raise ValueError("broken")


def test_a_task_that_dies_is_reported_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    deaths: list[BaseException] = []

    async def main() -> None:
        async with Supervisor("crew", deaths.append) as supervisor:
            other = supervisor.start(asyncio.sleep(10), "other")
            supervisor.start(fail(), "sailor")
            await asyncio.sleep(1)
            assert not other.done()

    run_virtual(main())
    assert [str(death) for death in deaths] == ["broken"]
    assert "task sailor of crew died" in caplog.text


def test_closing_ends_all_tasks_and_those_they_start_meanwhile_are_refused() -> None:
    refused: list[str] = []

    async def main() -> None:
        supervisor = Supervisor("crew")

        async def restart_oneself() -> None:
            try:
                await asyncio.sleep(100)
            finally:
                with pytest.raises(RuntimeError, match="supervisor 'crew' is closed"):
                    supervisor.start(asyncio.sleep(100), "again")
                refused.append("again")

        task = supervisor.start(restart_oneself(), "stubborn")
        await asyncio.sleep(1)
        await supervisor.close()
        assert task.cancelled()

    run_virtual(main())
    assert refused == ["again"]


def test_callbacks_are_called_before_the_tasks_end_even_when_one_fails(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> list[bool]:
        supervisor = Supervisor("crew")
        task = supervisor.start(asyncio.sleep(100), "sailor")
        task_had_ended: list[bool] = []
        supervisor.on_close(lambda: task_had_ended.append(task.done()))
        supervisor.on_close(lambda: task_had_ended.remove(True))
        await supervisor.close()
        assert task.cancelled()
        return task_had_ended

    assert run_virtual(main()) == [False]
    assert "a callback of crew failed" in caplog.text


def test_a_task_that_swallows_its_cancellation_is_named_and_cancelled_again(caplog: pytest.LogCaptureFixture) -> None:
    async def swallow_once() -> None:
        try:
            await asyncio.sleep(1_000)
        except asyncio.CancelledError:
            await asyncio.sleep(1_000)

    async def main() -> float:
        supervisor = Supervisor("crew")
        supervisor.start(swallow_once(), "deaf")
        await asyncio.sleep(0)
        await supervisor.close()
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == PATIENCE_SECONDS
    assert "task deaf of crew does not end" in caplog.text
