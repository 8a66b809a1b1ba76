"""`leeward replay`: a decision that was recorded is decided again, and what differs is a finding."""

import json
from pathlib import Path

import pytest

from leeward.answers.fleet_state import encode_state
from leeward.app.local.errors import FleetError
from leeward.cli.questions import decode_file
from tests.builders import binding, cluster, dead, divided, targets
from tests.fleet_pictures import picture_of
from tests.verbs import call_verb


@pytest.fixture
def recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Record of a binding that leaves the cluster that it has lost."""
    picture, record = tmp_path / "fleet.json", tmp_path / "decision.json"
    app = binding(divided({"a": 1, "b": 1}), 4, targets(a=2, b=2))
    picture.write_bytes(encode_state(picture_of([dead("a", since=-400), cluster("b")], [app])))
    assert call_verb(capsys, "explain", "deploy/nginx", "--from", picture, "--record", record)[2] == ""
    return record


def test_the_same_is_decided_again(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call_verb(capsys, "replay", recorded)
    assert (code, err) == (0, "")
    assert out.split("\n")[0].startswith("Deployment default/nginx, decided by ")
    assert "v decided the same again" in out
    assert "  goes to  b:4" in out
    assert json.loads(call_verb(capsys, "replay", recorded, "-o", "json")[1])["now"]["leaves"] == ["a"]


def test_what_differs_is_a_finding(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = json.loads(recorded.read_text())
    file["outcome"] |= {"version": "0.0.1", "targets": {"a": 2, "b": 2}, "held": "NoPlaceToGo"}
    recorded.write_text(json.dumps(file))
    code, out, _ = call_verb(capsys, "replay", recorded)
    assert code == 1
    assert "! goes to: a:2 b:2 by 0.0.1, b:4 by " in out
    assert "! held: NoPlaceToGo by 0.0.1, nothing by " in out


def test_a_snapshot_without_an_outcome_is_only_decided(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = json.loads(recorded.read_text())
    del file["outcome"]
    recorded.write_text(json.dumps(file))
    code, out, _ = call_verb(capsys, "replay", recorded)
    assert (code, "v decided; what was decided is not recorded" in out) == (0, True)


def test_what_is_no_snapshot_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "other.json"
    file.write_text('{"kind": "Pod"}')
    code, out, err = call_verb(capsys, "replay", file)
    assert (code, out) == (2, "")
    assert "record one with `leeward explain --record`" in err


def test_of_a_cluster_nothing_is_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "fleet.json"
    picture.write_bytes(encode_state(picture_of([cluster("b")], [])))
    code, _, err = call_verb(capsys, "explain", "cluster/b", "--from", picture, "--record", tmp_path / "x")
    assert (code, "--record: nothing is decided about cluster/b" in err) == (2, True)


def test_a_file_forges_no_line(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = json.loads(recorded.read_text())
    file["outcome"]["version"] = "1\nv decided the same again\x1b[2J"
    recorded.write_text(json.dumps(file))
    first, second, *_ = call_verb(capsys, "replay", recorded)[1].split("\n")
    assert (r"by 1\nv decided" in first, second) == (True, "")


def test_a_device_that_never_ends_is_read_no_further_than_its_bound() -> None:
    with pytest.raises(FleetError, match="/dev/zero is larger than 1000 bytes"):
        decode_file(Path("/dev/zero"), bytes.decode, ValueError, "", 1000)
