"""`leeward timeline` as a user calls it: of a file, filtered, as a report, for programs, and with bad input."""

import json
from pathlib import Path

import msgspec
import pytest

from leeward.answers.fleet_state import encode_state
from leeward.api.outage import ClusterOutage, OutageApplication, OutageStep, StepKind
from leeward.cli.text_lines import COLUMNS
from leeward.core.settings_in_force import SettingsInForce
from leeward.operations.outage_story import SENTENCES, story_of
from leeward.operations.sentences import long_span
from tests.answers_page import over, running
from tests.builders import NOW, cluster
from tests.fleet_pictures import picture_of
from tests.verbs import call_verb


def written(path: Path, *outages: ClusterOutage) -> Path:
    path.write_bytes(encode_state(picture_of([cluster("eu-1")], [], outages=outages)))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "fleet.json", over(), running())


def test_a_running_outage_is_told_first_and_as_a_whole(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call_verb(capsys, "timeline", "--from", file)
    lines = out.split("\n")
    assert (code, err, lines[0]) == (1, "", "test, as of 00:00:00 UTC, 1 Jan 2026: 2 outages")
    assert lines[2:4] == [
        "! eu-2 failed 11 min 30 s ago and is not back: 11 of 14 applications moved, 1 is moving, 1 has not",
        "      moved yet, 1 cannot move",
    ]
    assert "  23:59:00  +10 min 30 s  !  default/ledger cannot move: NoPlaceToGo" in lines
    assert "v us-1 was down for 19 min 8 s: 4 of 4 applications moved; 31 Dec 2025 15:43:20 to 16:02:28" in lines
    assert max(map(len, lines)) <= COLUMNS


def test_without_a_running_outage_it_exits_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call_verb(capsys, "timeline", "--from", written(tmp_path / "over.json", over()))
    assert (code, out.split("\n")[2]) == (
        0,
        "v us-1 was down for 19 min 8 s: 4 of 4 applications moved; 31 Dec 2025 15:43:20 to 16:02:28",
    )
    code, out, _ = call_verb(capsys, "timeline", "--from", written(tmp_path / "none.json"))
    assert (code, out.split("\n")[2]) == (0, "v no cluster failed")


def test_what_no_outage_is_like_is_not_taken_for_no_outage_at_all(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = call_verb(capsys, "timeline", "--app", "deploy/none", "--from", file)
    assert (code, out.split("\n")[2]) == (0, "v no outage matches")
    assert (
        "No outage matches." in call_verb(capsys, "timeline", "--cluster", "eu-1", "-o", "markdown", "--from", file)[1]
    )
    said = "leeward: --cluster 'nobody': there is no such cluster; choose from eu-1\n"
    assert call_verb(capsys, "timeline", "--cluster", "nobody", "--from", file) == (2, "", said)


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (("--since", "1h"), ["eu-2-20251231-234830"]),
        (("--since", "8h"), ["eu-2-20251231-234830", "us-1-20251231-154320"]),
        (("--cluster", "us-1"), ["us-1-20251231-154320"]),
        (("--cluster", "eu-1"), []),
        (("--outage", "us-1-20251231-154320"), ["us-1-20251231-154320"]),
        (("--app", "deploy/mailer"), ["eu-2-20251231-234830"]),
        (("--app", "deploy/mailer", "-n", "other"), []),
        (("--app", "sts/mailer"), []),
    ],
)
def test_outages_are_chosen(
    asked: tuple[str, ...], names: list[str], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = call_verb(capsys, "timeline", *asked, "--from", file, "-o", "json")
    told = json.loads(out)
    assert [outage["name"] for outage in told["outages"]] == names
    assert code == int(any(outage["running"] for outage in told["outages"]))


def test_an_application_is_told_alone(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call_verb(capsys, "timeline", "--app", "deploy/mailer", "--from", file)
    assert "default/mailer" in out
    assert "default/queue" not in out
    told = json.loads(call_verb(capsys, "timeline", "--app", "deploy/mailer", "--from", file, "-o", "json")[1])
    (application,) = told["outages"][0]["applications"]
    assert (application["recoverySeconds"], application["to"]) == (682, {"us-1": 3})


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        (("--outage", "gone"), "there is no Outage 'gone'"),
        (("--app", "mailer"), "'mailer' is no TYPE/NAME"),
        (("--app", "cluster/eu-1"), "--app 'cluster/eu-1' is no application"),
        (("--since", "yesterday"), "--since"),
        (("-o", "html"), "'html' is not one of 'table', 'json', 'yaml', 'markdown'"),
    ],
)
def test_what_is_asked_wrongly_is_said_and_exits_with_2(
    asked: tuple[str, ...], complaint: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call_verb(capsys, "timeline", *asked, "--from", file)
    assert (code, out) == (2, "")
    assert complaint in err


def test_the_report_says_what_happened_what_was_held_and_how_long_it_took(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = call_verb(capsys, "timeline", "-o", "markdown", "--from", file)
    assert code == 1
    assert "## eu-2, 23:48:30 UTC, 31 Dec 2025" in out
    assert "| 23:59:52 | +11 min 22 s | 2 of 3 applications are healthy |" in out
    assert "| default/ledger | NoPlaceToGo | The policy allows eu-2 only, and eu-2 is down. | Held |" in out
    assert "| default/mailer | us-1:3 | 23:59:00 | 23:59:52 | 11 min 22 s |" in out
    assert "8 more applications are counted, and not listed." in out


def test_nobody_can_forge_a_row_or_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outage = running()
    evil = "gone | now |\n| 00:00:00 | all is well\x1b[2K"
    steps = (OutageStep(at=outage.spec.since, kind=StepKind.FAILED_PROBE, message=evil),)
    listed: tuple[OutageApplication, ...] = tuple(
        msgspec.structs.replace(each, message=evil) for each in outage.status.listed
    )
    status = msgspec.structs.replace(outage.status, steps=steps, listed=listed)
    file = written(tmp_path / "evil.json", msgspec.structs.replace(outage, status=status))
    for form in ("table", "markdown"):
        _, out, _ = call_verb(capsys, "timeline", "--from", file, "-o", form)
        assert "\x1b" not in out
        assert not [line for line in out.split("\n") if line.startswith(("| 00:00:00 | all", "| 00:00:00 \\| all"))]


def test_every_kind_of_step_has_its_sentence() -> None:
    assert {*SENTENCES, StepKind.LEFT} == set(StepKind)
    outage = over()
    for kind in StepKind:
        step = OutageStep(at=outage.spec.since, kind=kind, reason="R", message="m", applications=2)
        told = msgspec.structs.replace(outage, status=msgspec.structs.replace(outage.status, steps=(step,)))
        (line,) = story_of(told, NOW, SettingsInForce())
        assert line.sentence
        assert "{" not in line.sentence


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0 s"),
        (0, "0 s"),
        (59.4, "59 s"),
        (59.9, "1 min"),
        (682, "11 min 22 s"),
        (3600, "1 h"),
        (90_061, "1 d 1 h"),
    ],
)
def test_spans_are_told_in_two_units(seconds: float, text: str) -> None:
    assert long_span(seconds) == text
