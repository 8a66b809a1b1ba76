"""The pipeline step of deploy/pipeline with the real program, and krew's plug-in as `scripts/krew` writes it."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from leeward import __version__
from leeward.answers.fleet_state import encode_state
from tests.builders import binding, cluster, divided, targets
from tests.fleet_pictures import picture_of

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests/data"
FOREVER, CLEAN = DATA / "lint/LW002.yaml", ROOT / "deploy/kustomize/namespace.yaml"
PIPELINE = ROOT / "deploy/pipeline"
EXPECTED = """
apiVersion: leeward.dev/v1alpha1
kind: Rehearsal
metadata: {name: nothing}
spec:
  duration: 1m
  steps: [{at: 0s, cordon: [member1]}]
  expect: [{recoveredWithin: 1m}]
"""


def check(directory: Path, **given: object) -> tuple[int, str, str]:
    """Exit code and outputs of the step."""
    variables = {f"LEEWARD_{name.upper()}": str(value) for name, value in given.items()}
    environment = {**os.environ, **variables, "LEEWARD": f"{sys.executable} -m leeward.cli"}
    done = subprocess.run(
        [PIPELINE / "check"], cwd=directory, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_a_step_fails_where_lint_finds_something_and_writes_sarif(tmp_path: Path) -> None:
    code, out, _ = check(tmp_path, manifests=FOREVER)
    assert code == 1
    assert "LW002 tolerates-for-ever" in out
    written = json.loads((tmp_path / "leeward.sarif").read_text())
    schema: Any = json.loads((DATA / "sarif-2.1.0.json").read_text())
    assert jsonschema_rs.validator_for(schema).is_valid(written)
    assert [found["ruleId"] for found in written["runs"][0]["results"]] == ["LW002"]


def test_a_step_plays_each_rehearsal_on_the_picture(tmp_path: Path) -> None:
    app = binding(divided({"member1": 1}), 2, targets(member1=2))
    picture, scenario = tmp_path / "fleet.json", tmp_path / "cordoned.yaml"
    picture.write_bytes(encode_state(picture_of([cluster("member1")], [app])))
    scenario.write_text(EXPECTED)
    code, out, err = check(tmp_path, manifests=CLEAN, snapshot=picture, scenarios=f"{scenario} {scenario}")
    assert out.count("rehearsal of ") == 2, err
    assert code == 0, out
    scenario.write_text(EXPECTED.replace("member1", "member7"))
    assert check(tmp_path, manifests=CLEAN, snapshot=picture, scenarios=scenario)[0] == 2


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "LEEWARD_MANIFESTS: name files"),
        ({"manifests": CLEAN, "scenarios": "x.yaml"}, "name it in LEEWARD_SNAPSHOT"),
    ],
    ids=["no manifests", "no picture"],
)
def test_a_step_names_the_variable_that_is_missing(tmp_path: Path, given: dict[str, object], problem: str) -> None:
    code, _, err = check(tmp_path, **given)
    assert code == 2
    assert problem in err


def test_the_steps_of_both_services_run_the_script_in_the_version_of_the_repository() -> None:
    action = yaml.safe_load((PIPELINE / "action.yml").read_text())
    assert action["inputs"]["version"]["default"] == __version__
    install, run, upload = action["runs"]["steps"]
    assert "leeward==" in install["run"]
    assert "/check" in run["run"]
    asked = {name.removeprefix("LEEWARD_").lower() for name in run["env"]}
    assert asked == set(action["inputs"]) - {"version"}
    assert upload["if"] == "always()"
    job = yaml.safe_load((PIPELINE / "gitlab.yml").read_text())[".leeward"]
    assert job["variables"]["LEEWARD_VERSION"] == __version__
    assert job["script"] == ["sh deploy/pipeline/check"]


def test_krew_finds_the_plug_in_that_its_manifest_names(tmp_path: Path) -> None:
    """Fields as krew's own validation asks for them, and the same archive each time."""
    url = "https://example.org/leeward/releases/download/v1"
    command, environment = [ROOT / "scripts/krew", url], {**os.environ, "DIST": str(tmp_path)}
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)
    manifest = yaml.safe_load((tmp_path / "leeward-krew.yaml").read_text())
    assert manifest["metadata"]["name"] == "leeward"
    assert manifest["spec"]["version"] == f"v{__version__}"
    assert len(manifest["spec"]["shortDescription"]) <= 50
    (platform,) = manifest["spec"]["platforms"]
    archive = tmp_path / platform["uri"].removeprefix(f"{url}/")
    assert platform["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    (tmp_path / "plugin").mkdir()
    subprocess.run(["tar", "-xf", archive, "-C", tmp_path / "plugin"], check=True, timeout=60)
    assert {file["from"] for file in platform["files"]} == {path.name for path in (tmp_path / "plugin").iterdir()}
    plugin = tmp_path / "plugin" / platform["bin"]
    done = subprocess.run([plugin, "status"], env={"PATH": "/nowhere"}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"pip install leeward=={__version__}" in done.stderr
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)
    assert platform["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
