"""`leeward up` in the foreground: whatever ends it, the fleet goes with it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click
import pytest
from click.testing import CliRunner

from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import LocalFleet, save_fleet
from leeward.app.local.layout import CONTROL_PLANE, DASHBOARD, Layout
from leeward.app.local.starting import Started
from leeward.cli import up as up_module
from leeward.cli.settings import Settings
from tests.ports import free_port
from tests.verbs import pretend_to_run

UP: click.Command = up_module.up


def ending(error: BaseException) -> Callable[..., NoReturn]:
    def end(*_: Any) -> NoReturn:
        raise error

    return end


def started(*_: Any) -> Started:
    return Started(LocalFleet(control_plane_port=6443, members=()), {}, "")


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


def refusal(data_dir: Path) -> str:
    result = CliRunner().invoke(UP, ["--detach"], obj=Settings(str(data_dir)))
    assert isinstance(result.exception, FleetError)
    assert "already running" in str(result.exception)
    return result.output


def test_the_ways_into_a_fleet_that_runs_are_told_once_more(tmp_path: Path) -> None:
    """Finds the link again for who has closed the terminal that showed it."""
    layout = Layout(tmp_path)
    save_fleet(layout, LocalFleet(free_port(), dashboard_port=6444))
    layout.dashboard_key.write_text("secret\n")
    pretend_to_run(layout, CONTROL_PLANE, DASHBOARD)
    told = refusal(tmp_path)
    assert told == f"kubeconfig: {layout.kubeconfig}\ndashboard:  http://127.0.0.1:6444/#key=secret\n"


@pytest.mark.parametrize(("components", "key"), [((CONTROL_PLANE,), "secret"), ((CONTROL_PLANE, DASHBOARD), "")])
def test_no_link_is_told_that_would_open_nothing(tmp_path: Path, components: tuple[str, ...], key: str) -> None:
    layout = Layout(tmp_path)
    save_fleet(layout, LocalFleet(free_port(), dashboard_port=6444))
    if key:
        layout.dashboard_key.write_text(key)
    pretend_to_run(layout, *components)
    assert refusal(tmp_path) == f"kubeconfig: {layout.kubeconfig}\n"
    assert layout.dashboard_key.exists() == bool(key), "no key is made that the dashboard does not have"
