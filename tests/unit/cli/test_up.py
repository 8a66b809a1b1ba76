"""`leeward up` in the foreground: whatever ends it, the fleet goes with it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click
import pytest
from click.testing import CliRunner

from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import Fleet
from leeward.app.local.layout import Layout
from leeward.app.local.starting import Started
from leeward.cli import up as up_module
from leeward.cli.settings import Settings

UP: click.Command = up_module.up


def ending(error: BaseException) -> Callable[..., NoReturn]:
    def end(*_: Any) -> NoReturn:
        raise error

    return end


def started(*_: Any) -> Started:
    return Started(Fleet(control_plane_port=6443, members=()), {}, "")


def run(monkeypatch: pytest.MonkeyPatch, data_dir: Path, *options: str) -> list[Layout]:
    """The fleets that were stopped."""
    stopped: list[Layout] = []
    monkeypatch.setattr(up_module, "start_fleet", started)
    monkeypatch.setattr(up_module, "stop_fleet", stopped.append)
    monkeypatch.setattr(up_module, "interrupt_on_termination", lambda: None)
    CliRunner().invoke(UP, list(options), obj=Settings(str(data_dir)))
    return stopped


@pytest.mark.parametrize("error", [KeyboardInterrupt(), FleetError("the control plane died"), BrokenPipeError()])
def test_the_fleet_is_stopped_whatever_ends_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: BaseException
) -> None:
    monkeypatch.setattr(up_module, "watch_fleet", ending(error))
    assert len(run(monkeypatch, tmp_path)) == 1


def test_the_fleet_is_stopped_though_nobody_reads_what_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The story is that of `leeward up | head -1`, and Ctrl-C later."""
    monkeypatch.setattr(up_module, "watch_fleet", ending(KeyboardInterrupt()))
    said = up_module.say

    def say(text: str = "") -> None:
        if "stopping" in text:
            raise BrokenPipeError
        said(text)

    monkeypatch.setattr(up_module, "say", say)
    assert len(run(monkeypatch, tmp_path)) == 1


def test_a_fleet_that_was_detached_runs_on_though_nobody_reads_what_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(up_module, "say", ending(BrokenPipeError()))
    assert run(monkeypatch, tmp_path, "--detach") == []
