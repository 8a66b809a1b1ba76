"""Supervision of a fleet whose processes are only told of."""

from itertools import pairwise
from pathlib import Path

import pytest

from leeward.app.local import processes, supervising
from leeward.app.local.errors import FleetError
from leeward.app.local.layout import Layout
from leeward.app.local.lock import fleet_lock
from leeward.app.local.processes import State
from leeward.app.local.supervising import LONGEST_PAUSE_SECONDS, STEADY_SECONDS, supervise_fleet


class Processes:
    """Components that live and die by a script: what happens at which second."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
        self.states = dict.fromkeys(names, State.RUNNING)
        self.fails: set[str] = set()
        self.started: list[tuple[float, str]] = []
        self.told: list[str] = []
        self.clock = 0.0
        self.script: dict[float, dict[str, State | None]] = {}
        monkeypatch.setattr(processes, "remembered_components", self._remembered)
        monkeypatch.setattr(processes, "state_of", self._state_of)
        monkeypatch.setattr(supervising, "start_components", self.start)

    def _remembered(self, layout: Layout) -> tuple[str, ...]:
        return tuple(sorted(self.states))

    def _state_of(self, layout: Layout, name: str) -> State:
        return self.states[name]

    def start(self, layout: Layout, names: list[str]) -> None:
        for name in names:
            self.started.append((self.clock, name))
            if name in self.fails:
                raise FleetError(f"{name} ended while it started")
            self.states[name] = State.RUNNING

    def pause(self, seconds: float) -> None:
        self.clock += seconds
        for name, state in self.script.pop(self.clock, {}).items():
            if state is None:
                self.states.pop(name, None)
            else:
                self.states[name] = state

    def play(self, root: Path, until: float) -> None:
        """`leeward down` comes at the end."""
        self.script.setdefault(until, {}).update(dict.fromkeys(self.states))
        supervise_fleet(Layout(root), self.told.append, self.pause, lambda: self.clock)


def test_what_died_is_started_again_and_what_was_stopped_is_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fleet = Processes(monkeypatch, "control-plane", "member1", "member2")
    fleet.script = {5.0: {"member1": State.STOPPED}, 6.0: {"member2": None}}
    fleet.play(tmp_path, 20.0)
    assert fleet.started == [(6.0, "member1")]
    assert fleet.told[-1] == "member1 was started again"


def test_who_dies_again_and_again_is_started_ever_more_seldom(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fleet = Processes(monkeypatch, "member1")
    fleet.fails = {"member1"}
    fleet.script = {1.0: {"member1": State.STOPPED}}
    fleet.play(tmp_path, 400.0)
    times = [at for at, _ in fleet.started]
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == pytest.approx(LONGEST_PAUSE_SECONDS, abs=1)
    assert "member1 ended while it started" in fleet.told


def test_who_has_run_for_long_is_started_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fleet = Processes(monkeypatch, "member1")
    fleet.script = {at: {"member1": State.STOPPED} for at in (1.0, 10.0, 20.0, 40.0 + STEADY_SECONDS)}
    fleet.play(tmp_path, 400.0)
    assert [at for at, _ in fleet.started] == [2.0, 12.0, 24.0, 41.0 + STEADY_SECONDS]


def test_while_another_verb_changes_the_fleet_it_waits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """However long that takes: a restore of a large store, a member that joins."""
    fleet = Processes(monkeypatch, "member1")
    fleet.script = {1.0: {"member1": State.STOPPED}}
    held = fleet_lock(Layout(tmp_path), create=True)
    held.__enter__()
    pause = fleet.pause

    def until_free(seconds: float) -> None:
        pause(seconds)
        if fleet.clock == 200.0:
            held.__exit__(None, None, None)

    monkeypatch.setattr(fleet, "pause", until_free)
    fleet.play(tmp_path, 400.0)
    assert fleet.started == [(201.0, "member1")]


def test_a_process_that_cannot_be_made_ends_no_supervision(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fleet = Processes(monkeypatch, "member1", "member2")
    fleet.script = {1.0: {"member1": State.STOPPED}, 5.0: {"member2": State.STOPPED}}
    start = fleet.start

    def full_disk(layout: Layout, names: list[str]) -> None:
        if names == ["member1"]:
            raise OSError(28, "No space left on device")
        start(layout, names)

    monkeypatch.setattr(supervising, "start_components", full_disk)
    fleet.play(tmp_path, 30.0)
    assert fleet.started == [(6.0, "member2")]
    assert any("No space left on device" in said for said in fleet.told)
