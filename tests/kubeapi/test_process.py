import asyncio
import gc
import os
import signal

import click
import pytest

from kubeapi.process import YOUNG_OBJECTS, serve


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_component_cleanly(number: signal.Signals) -> None:
    ended: list[str] = []

    async def work() -> None:
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), number)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("cleaned up")

    serve(work(), "member1")
    assert ended == ["cleaned up"]


def test_the_error_of_a_component_is_logged_and_passed_on(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        serve(work(), "member1")
    assert "member1 failed" in caplog.text


def test_a_port_that_is_taken_is_told_without_a_trace(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async def nobody(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None: ...

        first = await asyncio.start_server(nobody, "127.0.0.1", 0)
        async with first:
            await asyncio.start_server(nobody, "127.0.0.1", first.sockets[0].getsockname()[1])

    with pytest.raises(click.ClickException, match=r"address already in use: end who listens there, or choose"):
        serve(work(), "member1")
    assert "failed" not in caplog.text


def test_the_collector_passes_over_what_was_imported_before() -> None:
    found: list[tuple[int, int]] = []
    before = gc.get_threshold()

    async def work() -> None:
        found.append((gc.get_freeze_count(), gc.get_threshold()[0]))

    try:
        serve(work(), "member1")
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
    ((frozen, young),) = found
    assert frozen > YOUNG_OBJECTS
    assert young == YOUNG_OBJECTS
