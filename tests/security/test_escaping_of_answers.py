"""Names that others have given, in answers: outages, time lines, rehearsals, what-if, resilience, explain, lint and
snapshots.

The attacker names a cluster, a workload or its kind, writes the message of a probe, of a condition or of an Outage,
gives somebody a file of `leeward snapshot`, a scenario, or a directory of manifests to look at.

It must not: forge a line or a row (of a report in Markdown either), act on the terminal, or push what others say out
of sight. What is no answer is a refusal of one line, which acts on nothing either.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kubeapi.codec import parse_yaml_documents
from kubeapi.meta import Manifest
from leeward.answers.fleet_state import encode_state
from tests.answers_page import fleet
from tests.security.test_escaping import NASTY, check
from tests.verbs import call_verb

NAMED = ("us-1", "ledger", "connection refused", "NoPlaceToGo", "0/3 clusters are available.", '"apps/v1"')
"""Texts of the picture in docs/answers.md that are written by others."""
SCENARIO: Manifest = {
    "apiVersion": "leeward.dev/v1alpha1",
    "kind": "Rehearsal",
    "metadata": {"name": "NASTY"},
    "spec": {
        "duration": "15m",
        "steps": [{"at": "0s", "fail": ["eu-1"]}],
        "expect": [{"noEviction": True}, {"neverFewerThan": 1}],
    },
}
WORKLOAD = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "NASTY", "namespace": "NASTY", "labels": {"app": "NASTY"}},
    "spec": {"replicas": 1, "template": {"spec": {"nodeSelector": {"NASTY": "NASTY"}}}},
}
POLICY = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "NASTY", "namespace": "NASTY"},
    "spec": {
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "NASTY"}],
        "placement": {
            "clusterAffinity": {"clusterNames": ["NASTY"]},
            "clusterTolerations": [{"key": "cluster.karmada.io/not-ready", "operator": "Exists", "NASTY": "NASTY"}],
            "spreadConstraints": [{"spreadByField": "NASTY", "minGroups": 9, "maxGroups": 2}],
        },
        "NASTY": "NASTY",
    },
}
VERBS: tuple[tuple[str, ...], ...] = (
    ("timeline", "--all"),
    ("timeline", "--all", "-o", "markdown"),
    ("timeline", "--all", "-o", "json"),
    ("timeline", "--all", "-o", "yaml"),
    ("explain", "deploy/web"),
    ("explain", "cluster/eu-2"),
    ("what-if", "--fail", "eu-1", "--recover-after", "30m", "--wide"),
    ("resilience", "--wide"),
    ("resilience", "-o", "yaml"),
    ("lint",),
    ("lint", "-o", "sarif"),
)


def spoiled(text: str, nasty: str, *named: str) -> str:
    """JSON in which each of these texts is `nasty`."""
    for name in named:
        quoted = name.startswith('"')
        text = text.replace(name, json.dumps(nasty) if quoted else json.dumps(nasty)[1:-1])
    return text


@pytest.fixture(params=NASTY, ids=range(len(NASTY)))
def nasty(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def picture(tmp_path: Path, nasty: str) -> Path:
    path = tmp_path / "fleet.json"
    path.write_text(spoiled(encode_state(fleet()).decode(), nasty, *NAMED))
    return path


Said = Callable[..., str]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """Gives what a verb prints that was able to look."""

    def call(*arguments: object) -> str:
        code, out, err = call_verb(capsys, *arguments)
        assert code in (0, 1), err
        assert "unexpected" not in err, err
        return out + err

    return call


def judge(verb: tuple[str, ...], text: str) -> None:
    check(text, most=10**6 if {"json", "yaml", "sarif"} & set(verb) else 20_000)
    if "markdown" in verb:
        rows = [line for line in text.split("\n") if line.startswith("|")]
        columns = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
        assert columns <= {3, 4, 5, 6}, "no cell ends but where we end it"
        assert not re.search(r"(?<!\\)[<`]", text), "no HTML, and no code that it could hide in"


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_no_answer_prints_what_acts_on_a_terminal(verb: tuple[str, ...], picture: Path, said: Said) -> None:
    judge(verb, said(*verb, "--from", picture))


@pytest.mark.long
@pytest.mark.parametrize("nasty", [NASTY[0], NASTY[1], NASTY[5]], ids=range(3), indirect=True)
def test_no_rehearsal_prints_what_acts_on_a_terminal(nasty: str, tmp_path: Path, said: Said) -> None:
    """A rehearsal of a picture of which an API server takes the clusters and the policies."""
    picture, scenario = tmp_path / "fleet.json", tmp_path / "scenario.json"
    taken = json.loads(encode_state(fleet()))
    hostile = json.loads(spoiled(json.dumps(taken), nasty, *NAMED[1:-1]))
    picture.write_text(json.dumps({**hostile, "policies": taken["policies"]}))
    scenario.write_text(spoiled(json.dumps(SCENARIO), nasty, "NASTY"))
    judge((), said("rehearse", scenario, "--from", picture, "--wide"))


@pytest.mark.parametrize("what", ["metadata", "spec"])
def test_no_scenario_makes_a_rehearsal_print_what_acts_on_a_terminal(
    what: str, picture: Path, nasty: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names in a scenario: its own, that of a cluster, a field that there is not, and a cluster that none can be."""
    scenario = tmp_path / "scenario.json"
    changed = {**SCENARIO, what: {**SCENARIO[what], "NASTY": "NASTY", "name": "NASTY"}}
    scenario.write_text(spoiled(json.dumps(changed), nasty, "NASTY", "eu-1"))
    code, out, err = call_verb(capsys, "rehearse", scenario, "--from", picture)
    assert code == 2, (code, out, err)
    check(out + err)


@pytest.mark.parametrize("output", ["text", "json", "yaml", "sarif"])
def test_no_manifest_makes_lint_print_what_acts_on_a_terminal(
    output: str, nasty: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "manifests"
    directory.mkdir()
    for number, manifest in enumerate((WORKLOAD, POLICY)):
        (directory / f"{number}.yaml").write_text(spoiled(json.dumps(manifest), nasty, "NASTY"))
    code, out, err = call_verb(capsys, "lint", directory, "-o", output)
    judge((output,), out + err)
    assert code in (0, 1, 2)
    if output == "yaml":
        assert parse_yaml_documents(out)
    elif output != "text":
        assert json.loads(out)


@pytest.mark.parametrize(
    "verb", [("lint",), ("timeline",), ("rehearse",), ("replay",), ("what-if", "--apply")], ids=" ".join
)
def test_no_refusal_of_a_file_prints_what_acts_on_a_terminal(
    verb: tuple[str, ...], nasty: str, picture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file whose name is hostile, as far as a name may be, and whose contents are no answer to anything."""
    path = tmp_path / nasty.replace("/", "").replace("\0", "")[:60]
    path.write_text(spoiled(json.dumps({"kind": "NASTY", "apiVersion": "NASTY", "NASTY": ["NASTY"]}), nasty, "NASTY"))
    before = ("--from",) if verb == ("timeline",) else ()
    after = ("--from", picture) if verb[0] in ("rehearse", "what-if") else ()
    code, out, err = call_verb(capsys, *verb, *before, path, *after)
    assert code == 2, (code, out, err)
    check(out + err)
