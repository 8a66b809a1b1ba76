"""`leeward lint` as a user calls it: of files, directories and pictures, with bad input, and for programs."""

import io
import json
import sys
from pathlib import Path

import jsonschema_rs
import msgspec
import pytest

from kubeapi.codec import parse_yaml_documents
from leeward.answers.fleet_state import encode_state
from leeward.lint.rule_table import RULES
from tests.builders import cluster
from tests.fleet_pictures import picture_of
from tests.verbs import call_verb

DATA = Path(__file__).parents[2] / "data"
FOREVER, NOTE, CLEAN = (DATA / f"lint/{name}.yaml" for name in ("LW002", "LW013", "LW001-near"))


@pytest.mark.parametrize(
    ("file", "expected", "head"),
    [(FOREVER, 1, "! 1 error"), (NOTE, 0, "v 1 note"), (CLEAN, 0, "v nothing is found")],
)
def test_errors_and_warnings_exit_with_1_and_notes_do_not(
    file: Path, expected: int, head: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call_verb(capsys, "lint", file)
    lines = out.split("\n")
    assert (code, err) == (expected, "")
    assert lines[0] == f"{file}, 2 objects; nothing is changed"
    assert lines[2].startswith(head)


def test_a_finding_says_where_it_is_and_what_mends_it(capsys: pytest.CaptureFixture[str]) -> None:
    out = call_verb(capsys, "lint", FOREVER)[1]
    assert f"! {FOREVER}:21  LW002 tolerates-for-ever\n" in out
    assert "    mend: give the toleration tolerationSeconds (300 is the default), or take it away\n" in out
    assert "  not asked: LW006 no-room, which needs a control plane, or a picture of one\n" in out


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_programs_get_all_that_people_get(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call_verb(capsys, "lint", FOREVER, "-o", output)
    told = json.loads(out) if output == "json" else parse_yaml_documents(out)[0]
    (finding,) = told["findings"]
    assert (code, finding["rule"], finding["level"], finding["line"]) == (1, "LW002", "error", 21)
    assert finding["field"] == "spec.placement.clusterTolerations[1]"
    assert [each["rule"] for each in told["unasked"]] == ["LW006"]


@pytest.mark.parametrize("arguments", [(DATA / "lint",), (CLEAN,), (FOREVER, "/nowhere")])
def test_sarif_is_as_its_schema_says(arguments: tuple[object, ...], capsys: pytest.CaptureFixture[str]) -> None:
    schema = json.loads((DATA / "sarif-2.1.0.json").read_text())
    told = json.loads(call_verb(capsys, "lint", *arguments, "-o", "sarif")[1])
    jsonschema_rs.validator_for(schema, validate_formats=True).validate(told)
    (run,) = told["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [rule.id for rule in RULES]
    by_index = [RULES[int(result["ruleIndex"])] for result in run["results"]]
    assert [rule.id for rule in by_index] == [result["ruleId"] for result in run["results"]]
    assert run["invocations"][0]["executionSuccessful"] == ("/nowhere" not in arguments)


def test_sarif_names_files_as_they_were_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my shop").mkdir()
    (tmp_path / "my shop/web.yaml").write_text(FOREVER.read_text())
    monkeypatch.chdir(tmp_path)
    told = json.loads(call_verb(capsys, "lint", "my shop", "-o", "sarif")[1])
    (result,) = told["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "my%20shop/web.yaml"}, "region": {"startLine": 21}}


def test_what_could_not_be_read_is_not_called_well(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call_verb(capsys, "lint", "/nowhere")
    assert (code, "nothing is found in what could be read" in out, "would keep a failover" in out) == (2, True, False)


def test_rules_are_ignored_for_one_run_and_that_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call_verb(capsys, "lint", FOREVER, "--ignore", "LW001,LW002")
    assert (code, "  1 finding ignored, by annotation or --ignore\n" in out) == (0, True)


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(FOREVER.read_bytes())))
    code, out, _ = call_verb(capsys, "lint", "-")
    assert (code, "! <stdin>:21  LW002" in out) == (1, True)


def test_a_directory_is_read_to_its_ground_but_for_what_is_hidden_and_what_holds_no_manifests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "chart/.git").mkdir(parents=True)
    (tmp_path / "chart/deep.yml").write_text(FOREVER.read_text())
    (tmp_path / "chart/.git/hidden.yaml").write_text("[")
    (tmp_path / "chart/values.yaml").write_text("replicas: 3\n")
    (tmp_path / "README.md").write_text("{")
    code, out, err = call_verb(capsys, "lint", tmp_path)
    assert (code, f"! {tmp_path}/chart/deep.yml:21  LW002" in out) == (1, True)
    assert err == f"leeward: {tmp_path}/chart/values.yaml: passed over, it holds no manifest\n"


def test_a_list_is_read_as_its_items(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = parse_yaml_documents(FOREVER.read_text())
    file = tmp_path / "list.json"
    file.write_bytes(msgspec.json.format(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items})))
    told = json.loads(call_verb(capsys, "lint", file, "-o", "json")[1])
    (finding,) = told["findings"]
    assert (told["objects"], finding["rule"]) == (2, "LW002")
    line: str = file.read_text().split("\n")[int(finding["line"]) - 1]
    assert line.strip() == "{"


BIG = "a: " + "x" * 10_000_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1\nb: 2\n", "f.yaml:2: not valid YAML: did not find expected ',' or ']'"),
        ("spec: {{ .Values.web }}\n", "render templates first, with `helm template` for example"),
        ("\x00\x01binary", "f.yaml: not valid YAML: "),
        ("- a\n", "f.yaml:1: a manifest is a mapping, and this is a list"),
        ("replicas: 3\n", "f.yaml:1: a manifest has a text apiVersion, and this has none"),
        ("apiVersion: v1\nkind: 7\nmetadata: {}\n", "f.yaml:2: a manifest has a text kind, and this has none"),
        ("apiVersion: v1\nkind: Pod\n", "f.yaml:1: a Pod has metadata, and this has none"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    version: 1\n",
            "f.yaml:5: metadata.labels holds texts, and version is 1: put it in quotes",
        ),
        ("apiVersion: v1\nkind: Pod\nmetadata:\n  name: 7\n", "f.yaml:4: metadata.name is a text, and this is 7"),
        ("", "f.yaml: it holds no manifest"),
        ("---\n---\n", "f.yaml: it holds no manifest"),
        ("[" * 5000, "f.yaml: YAML nested deeper than 100 levels"),
        (BIG, "f.yaml: 10000003 bytes, and 5242880 at most are read; split it"),
        ("a: &a [" + "1," * 50_001 + "]", "f.yaml: YAML of more than 50000 values"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_cannot_be_read_is_named_with_its_line_and_ends_it_with_2(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("f.yaml")
    file.write_text(text)
    code, out, err = call_verb(capsys, "lint", file, FOREVER, "-o", "json")
    told = json.loads(out)
    assert (code, err) == (2, "")
    assert [said in each for each in told["unseen"]] == [True], told["unseen"]
    assert [finding["rule"] for finding in told["findings"]] == ["LW002"], "the others are looked at"
    assert f"? could not be read: {file}" in call_verb(capsys, "lint", file)[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("/nowhere/web.yaml",), "/nowhere/web.yaml: No such file or directory"),
        ((DATA / "lint" / "LW002.yaml" / "x",), "Not a directory"),
    ],
)
def test_a_file_that_is_not_there_is_named(
    arguments: tuple[object, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = call_verb(capsys, "lint", *arguments, "-o", "json")
    assert (code, said in json.loads(out)["unseen"][0]) == (2, True)


def test_an_empty_directory_is_no_clean_bill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call_verb(capsys, "lint", tmp_path, "-o", "json")
    assert (code, json.loads(out)["unseen"]) == (2, [f"{tmp_path}: no file named *.yaml, *.yml or *.json is in it"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--ignore", "LW2"), "--ignore 'LW2': there is no such rule; there are LW001, LW002"),
        (("-o", "table"), "Invalid value for '-o' / '--output': 'table' is not one of"),
        (("--data-dir", "/nowhere"), "there is no fleet in /nowhere"),
        (("--from", "/nowhere"), "/nowhere cannot be read: No such file"),
        (("--from", FOREVER), "make one with `leeward snapshot FILE`"),
        (("--from", FOREVER, "--context", "x"), "--from asks a file: leave out --kubeconfig and --context"),
    ],
)
def test_bad_options_name_the_way_out(
    arguments: tuple[object, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call_verb(capsys, "lint", FOREVER, *arguments)
    assert (code, out, said in err) == (2, "", True), err


def test_files_are_looked_at_on_the_clusters_of_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fleet, file = tmp_path / "fleet.json", DATA / "lint/LW009-near-propagated.yaml"
    fleet.write_bytes(encode_state(picture_of([cluster("a"), cluster("z")], ())))
    assert call_verb(capsys, "lint", file)[0] == 0
    code, out, _ = call_verb(capsys, "lint", file, "--from", fleet, "-o", "json")
    told = json.loads(out)
    assert (code, told["asked"], told["unasked"]) == (1, f"{file} on test", [])
    assert [finding["rule"] for finding in told["findings"]] == ["LW003"]
    assert "allows only one joined cluster, a" in told["findings"][0]["sentence"]


def test_nothing_that_others_have_named_acts_on_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "web.yaml"
    file.write_text(FOREVER.read_text().replace("name: web, namespace: shop", 'name: "w\\e[31m", namespace: shop', 2))
    assert "\x1b" not in call_verb(capsys, "lint", file)[1]
