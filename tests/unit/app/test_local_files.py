"""Files that a local fleet keeps in its data directory: faults, the lock, and logs."""

from itertools import islice
from pathlib import Path

import pytest

from leeward.app.local import logs
from leeward.app.local.errors import FleetError
from leeward.app.local.faults import NO_FAULTS, Faults, read_faults, write_faults
from leeward.app.local.layout import Layout
from leeward.app.local.lock import fleet_lock


def test_no_file_means_no_faults(tmp_path: Path) -> None:
    assert read_faults(tmp_path / "faults.json") == NO_FAULTS


def test_faults_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    write_faults(path, Faults(unready=True, latency_seconds=1.5))
    assert path.read_text() == '{"unready":true,"stalled":false,"latency_seconds":1.5}'
    assert read_faults(path) == Faults(unready=True, latency_seconds=1.5)


def test_damaged_faults_are_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    path.write_text('{"unready": "yes"}')
    with pytest.raises(FleetError, match=r"unready.*; delete the file to have no faults"):
        read_faults(path)


def test_faults_are_shown_in_words() -> None:
    assert str(NO_FAULTS) == ""
    assert str(Faults(unready=True, latency_seconds=2)) == "unready, slow 2s"
    assert str(Faults(stalled=True)) == "stalled"


def test_only_one_command_at_a_time_changes_a_fleet(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "data")
    with (
        fleet_lock(layout, create=True),
        pytest.raises(FleetError, match="another leeward command is changing the fleet"),
        fleet_lock(layout),
    ):
        pass
    with fleet_lock(layout):
        pass


def test_a_missing_data_directory_is_not_made_by_the_way(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "data")
    with pytest.raises(FleetError, match="there is no fleet in"), fleet_lock(layout):
        pass
    assert not layout.root.exists()


def test_a_data_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FleetError, match="file cannot be used"), fleet_lock(Layout(tmp_path / "file"), create=True):
        pass


def test_the_last_lines_of_a_log(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    assert logs.last_lines(path, 3) == []
    path.write_text("one\ntwo\nthree\n")
    assert logs.last_lines(path, 2) == ["two", "three"]
    assert logs.last_lines(path, 0) == []


def test_the_sentence_with_which_a_process_has_ended_is_found_in_its_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    assert logs.fatal_reason(path) == ""
    line = 'time=2026-01-01T00:00:00.000Z level={} logger=leeward.cli message="the store failed: \\"x\\" is damaged"\n'
    path.write_text("before\n" + line.format("critical"))
    assert logs.fatal_reason(path) == 'the store failed: "x" is damaged'
    path.write_text(line.format("critical") + line.format("info"))
    assert logs.fatal_reason(path) == "", "another process has begun since"


def test_a_large_log_is_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "LARGE_LOG_BYTES", 3)
    path = tmp_path / "a.log"
    path.write_text("large")
    with open(logs.open_log(path), "wb") as file:
        file.write(b"new")
    assert path.read_text() == "new"
    assert (tmp_path / "a.log.1").read_text() == "large"


def test_a_log_is_followed_past_its_being_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("before\n")
    events = iter(["first\n", "second\n", "aside", "third\n"])

    def next_event(seconds: float) -> None:
        text = next(events)
        if text == "aside":
            path.replace(tmp_path / "a.log.1")
        else:
            with path.open("a") as file:
                file.write(text)

    assert list(islice(logs.follow(path, next_event), 3)) == ["first\n", "second\n", "third\n"]
