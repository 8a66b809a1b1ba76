"""The command: one line replays a history, whether it is drawn or written down."""

from pathlib import Path

import pytest

from simulator.histories.command import main
from simulator.histories.generator import draw_history
from simulator.histories.model import write_history


def test_a_seed_and_its_file_tell_the_same_story(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "story.json"
    path.write_bytes(write_history(draw_history(10)))
    assert main(["--seed", "10"]) == 0
    drawn = capsys.readouterr().out.splitlines()
    assert main(["--history", str(path)]) == 0
    written = capsys.readouterr().out.splitlines()
    assert drawn[:-1] == written[:-1]
    assert written[-1] == f"Replay: python -m simulator --history {path}"


def test_a_file_that_is_no_history_is_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "story.json"
    path.write_text('{"seed": 1, "members": [], "steps": [{"step": "Explode", "at": 1}]}')
    assert main(["--history", str(path)]) == 2
    assert "$.steps[0].step" in capsys.readouterr().err
