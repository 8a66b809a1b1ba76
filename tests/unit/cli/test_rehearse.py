"""`leeward rehearse` as a user calls it: of a file, with bad input, and for programs."""

import json
from pathlib import Path

import pytest

from leeward.answers.fleet_state import encode_state
from tests.builders import binding, cluster, divided, targets
from tests.fleet_pictures import picture_of
from tests.verbs import call_verb

HEAD = "apiVersion: leeward.dev/v1alpha1\nkind: Rehearsal\nmetadata: {name: eu-goes}\nspec:\n  duration: 15m\n"
DIES = "  steps:\n  - {at: 0s, fail: [region=eu]}\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "fleet.json"
    app = binding(divided({"a": 1, "b": 1}), 4, targets(a=2, b=2))
    clusters = [cluster("a", region="eu"), cluster("b", region="us"), cluster("c", region="us")]
    path.write_bytes(encode_state(picture_of(clusters, [app])))
    return path


def scenario(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "scenario.yaml"
    path.write_text(HEAD + text)
    return path


def test_what_holds_exits_with_0_and_what_does_not_with_1_and_says_by_how_much(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    holds = scenario(tmp_path, f"{DIES}  expect:\n  - recoveredWithin: 12m\n  - neverFewerThan: 2\n")
    code, out, err = call_verb(capsys, "rehearse", holds, "--from", file)
    lines = out.split("\n")
    assert (code, err, lines[2]) == (0, "", "v all of 2 expectations hold")
    assert lines[0] == "eu-goes, on a copy of test, as of 00:00:00 UTC, 1 Jan 2026; nothing is changed"
    assert "  +0 s          a dies" in lines
    assert not any("goes from" in line for line in lines), "the story of the outage tells it"
    told = next(line for line in lines if line.endswith("default/nginx leaves for b, after a toleration of 5 min"))
    assert "+10 min 30 s  >" in told, "since the first failed probe"
    fails = scenario(tmp_path, f"{DIES}  expect:\n  - recoveredWithin: 10m\n  - neverFewerThan: 3\n  - brake: idle\n")
    code, out, _ = call_verb(capsys, "rehearse", fails, "--from", file)
    assert (code, out.split("\n")[2]) == (1, "! 2 of 3 expectations do not hold")
    assert "+0 s  Deployment default/nginx: whole again after 10 min 37 s, 37 s too late" in out
    assert "+0 s  Deployment default/nginx: 2 served, 1 fewer than 3" in out


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        (DIES, "v at the end all replicas of 1 application serve; nothing was expected of it"),
        ("  steps:\n  - {at: 0s, fail: [a, b, c]}\n", "! at the end 1 of 1 application is down; nothing was"),
        ("  steps:\n  - {at: 14m, fail: [a]}\n", "! at the end 1 of 1 application serves with fewer replicas; nothing"),
    ],
)
def test_what_nothing_is_expected_of_says_who_serves_at_the_end(
    steps: str, told: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call_verb(capsys, "rehearse", scenario(tmp_path, steps), "--from", file)
    assert (code, err) == (0, "")
    assert out.split("\n")[2].startswith(told)


@pytest.mark.long
def test_programs_get_all_of_it(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = scenario(tmp_path, f"{DIES}  expect:\n  - noEviction: true\n")
    code, out, err = call_verb(capsys, "rehearse", asked, "--from", file, "-o", "json")
    told = json.loads(out)
    (verdict,), (app,) = told["verdicts"], told["applications"]
    assert (code, err, verdict["holds"], verdict["shortfalls"][0]["afterSeconds"]) == (1, "", False, 635.0)
    assert (app["before"], app["after"], app["fewest"], app["replicas"]) == ({"a": 2, "b": 2}, {"b": 4}, 2, 4)
    assert app["longestSeconds"] == 637.1
    assert call_verb(capsys, "rehearse", asked, "--from", file, "-o", "json")[1] == out, "the same once more"
    assert call_verb(capsys, "rehearse", asked, "--from", file, "-o", "yaml")[1].startswith("name: eu-goes\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("  steps:\n  - {fail: [z]}\n", "spec.steps[0]: fail 'z': there is no such cluster; choose from a, b, c"),
        ("  steps:\n  - {kill: [a]}\n", "line 7: spec.steps[0].kill: there is no field 'kill'"),
        (
            "  steps:\n  - {scale: {application: deploy/x, replicas: 2}}\n",
            "spec.steps[0]: there is no binding of deploy/x in namespace default",
        ),
        (f"{DIES}  expect:\n  - {{noEviction: true, namespace: shop}}\n", "spec.expect[0]: no application is so"),
        (f"{DIES}  expect:\n  - placedOn: [z]\n", "spec.expect[0].placedOn: there is no cluster 'z'"),
        (
            "  steps:\n  - {at: 1s, apply: [{apiVersion: x.io/v1, kind: Foo, metadata: {name: foo}}]}\n",
            "Foo foo is applied: the copy refuses it",
        ),
    ],
)
def test_what_cannot_be_played_exits_with_2_and_names_the_place(
    text: str, said: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call_verb(capsys, "rehearse", scenario(tmp_path, text), "--from", file)
    assert (code, out) == (2, "")
    assert said in err.replace("\n  | ", " ")
    assert err.startswith("leeward: ")


def test_a_file_that_is_not_there_and_one_that_is_no_scenario(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = call_verb(capsys, "rehearse", tmp_path / "none.yaml", "--from", file)
    assert (code, "none.yaml cannot be read: No such file" in err) == (2, True)
    code, _, err = call_verb(capsys, "rehearse", file, "--from", file)
    assert (code, "docs/rehearsals.md describes the fields" in err) == (2, True)


def test_a_fleet_that_is_too_large_is_refused_with_what_has_no_such_bound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "fleet.json"
    path.write_bytes(encode_state(picture_of([cluster(f"c{n}", region="eu") for n in range(61)], [])))
    code, _, err = call_verb(capsys, "rehearse", scenario(tmp_path, DIES), "--from", path)
    assert (code, "it has 61 clusters, and at most 60 are rehearsed; `leeward what-if`" in err) == (2, True)
