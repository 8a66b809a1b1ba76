"""`.ci/run` with stand-ins for the commands that it starts: what it begins, in which order, and what makes it fail."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUITES = ["check", "worlds", "sim", "planted", "test", "long", "crash", "browser", "docs"]
BESIDE = "e2e"  # beside the suites from `test` to `long`, so that its place among the calls is open
REAL = ["bash", "env", "dirname", "mktemp", "rm", "tail", "cp", "cat", "nice"]
STANDINS = [
    "make",
    "timeout",
    "gcc",
    "dpkg-source",
    "jq",
    "python3",
    "kubectl",
    "node",
    "npm",
    "chromium",
    "knotd",
    "etcdctl",
    "id",
    "apt-get",
]
STANDIN = """#!/bin/bash
name=${0##*/}
[[ $1 == --version || $1 == version || $1 == -c ]] && exit 0
echo "$name $*" >>"$CALLS"
case $name in
    id) echo "$ID" ;;
    make) [[ $1 != "$FAILS" ]] ;;
    binaries) echo "a line of the log"; exit "${BUILD:-0}" ;;
    apt-get) [[ ${*: -1} == kubernetes-client ]] && cp "${0%/*}/jq" "${0%/*}/kubectl"; exit 0 ;;
    timeout)
        while [[ $1 == --* ]]; do shift; done
        shift
        [[ ${HANGS:-none} != none && $* == *$HANGS* ]] && exit "${HANGS_WITH:-124}"
        exec "$@" ;;
esac
"""


class Machine:
    """A folder with a copy of `.ci/run`, and a PATH that holds stand-ins only."""

    def __init__(self, folder: Path) -> None:
        self.path, self.calls = folder / "path", folder / "calls"
        for place in (folder / ".ci", folder / "scripts", self.path):
            place.mkdir()
        shutil.copy(ROOT / ".ci/run", folder / ".ci/run")
        for command in REAL:
            (self.path / command).symlink_to(shutil.which(command) or "")
        for file in [*(self.path / name for name in STANDINS), folder / "scripts/binaries"]:
            file.write_text(STANDIN)
            file.chmod(0o755)
        self.calls.touch()
        self._script = folder / ".ci/run"

    def run(self, **environment: str) -> "Outcome":
        chosen = {"PATH": str(self.path), "CALLS": str(self.calls), "ID": "0", "FAILS": "", **environment}
        process = subprocess.run([self._script], env=chosen, capture_output=True, text=True, timeout=60)
        return Outcome(process.returncode, process.stderr, self.calls.read_text().splitlines())

    def without(self, command: str) -> None:
        (self.path / command).unlink()


class Outcome:
    def __init__(self, code: int, said: str, calls: list[str]) -> None:
        self.code, self.said, self.calls = code, said, calls

    @property
    def suites(self) -> list[str]:
        """The targets one after the other, without the one beside them."""
        return [target for target in self._targets if target != BESIDE]

    @property
    def runs_beside(self) -> int:
        return self._targets.count(BESIDE)

    @property
    def _targets(self) -> list[str]:
        return [call.split()[1] for call in self.calls if call.startswith("make ")]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_every_suite_runs_once(machine: Machine) -> None:
    outcome = machine.run()
    assert (outcome.code, outcome.said, outcome.suites, outcome.runs_beside) == (0, "", SUITES, 1)
    assert "binaries " in outcome.calls


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_that_fails_fails_the_whole(machine: Machine, suite: str) -> None:
    outcome = machine.run(FAILS=suite)
    assert outcome.code == 1
    assert outcome.said.startswith(f".ci/run: make {suite}")
    assert outcome.said.endswith("failed with exit code 1\n")
    assert outcome.suites == SUITES[: SUITES.index(suite) + 1]


def test_the_suite_beside_the_others_that_fails_fails_the_whole(machine: Machine) -> None:
    outcome = machine.run(FAILS=BESIDE)
    assert (outcome.code, outcome.said) == (1, f".ci/run: make {BESIDE} failed with exit code 1\n")
    assert outcome.suites == SUITES[: SUITES.index("long") + 1]


@pytest.mark.parametrize("code", ["124", "137"])
def test_the_suite_beside_the_others_that_does_not_end_in_time_fails_the_whole(machine: Machine, code: str) -> None:
    outcome = machine.run(HANGS=f"make {BESIDE}", HANGS_WITH=code)
    assert outcome.code == 1
    assert outcome.said.startswith(f".ci/run: make {BESIDE} did NOT end within")
    assert outcome.runs_beside == 0


@pytest.mark.parametrize("code", ["124", "137"])
@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_that_does_not_end_in_time_fails_the_whole(machine: Machine, suite: str, code: str) -> None:
    outcome = machine.run(HANGS=f"make {suite}", HANGS_WITH=code)
    assert outcome.code == 1
    assert outcome.said.startswith(f".ci/run: make {suite}")
    assert "did NOT end within" in outcome.said
    assert suite not in outcome.suites


def test_every_suite_has_a_limit_and_none_has_more_than_is_left(machine: Machine) -> None:
    limits = [call.split()[3] for call in machine.run(LEEWARD_CI_SECONDS="299").calls if " make " in call]
    assert len(limits) == len(SUITES) + 1
    assert all(0 < int(limit) <= 299 for limit in limits)


def test_a_suite_for_which_no_time_is_left_fails_the_whole(machine: Machine) -> None:
    outcome = machine.run(LEEWARD_CI_SECONDS="0")
    assert (outcome.code, outcome.suites) == (1, [])
    assert "make check was NOT run" in outcome.said


def test_binaries_that_cannot_be_built_fail_the_whole_and_show_the_log(machine: Machine) -> None:
    outcome = machine.run(BUILD="3")
    assert (outcome.code, outcome.suites) == (1, SUITES[: SUITES.index("test")])
    assert outcome.said == (
        "a line of the log\n.ci/run: make e2e could NOT run: scripts/binaries failed with exit code 3\n"
    )


def test_binaries_that_are_not_built_in_time_fail_the_whole(machine: Machine) -> None:
    outcome = machine.run(HANGS="scripts/binaries")
    assert outcome.code == 1
    assert "its binaries were not built within" in outcome.said
    assert outcome.runs_beside == 0


def test_a_missing_command_is_installed(machine: Machine) -> None:
    machine.without("kubectl")
    outcome = machine.run()
    assert (outcome.code, outcome.suites) == (0, SUITES)
    assert any(call.startswith("apt-get") and call.endswith("kubernetes-client") for call in outcome.calls)


@pytest.mark.parametrize("command", ["kubectl", "gcc", "jq", "dpkg-source", "python3"])
def test_a_command_that_cannot_be_installed_fails_the_whole(machine: Machine, command: str) -> None:
    machine.without(command)
    outcome = machine.run(ID="1000")
    assert (outcome.code, outcome.suites) == (1, [])
    assert "a suite could not run; on Debian: apt-get install" in outcome.said


@pytest.mark.parametrize(("variables", "code"), [({}, 0), ({"LEEWARD_NO_SKIPS": "1"}, 1)])
def test_a_skipped_test_fails_where_all_have_to_run(tmp_path: Path, variables: dict[str, str], code: int) -> None:
    file = tmp_path / "test_skipped.py"
    file.write_text("import pytest\n\n@pytest.mark.skip(reason='no kubectl')\ndef test_it(): ...\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.conftest",
        "--rootdir",
        tmp_path,
        file,
    ]
    inherited = {name: value for name, value in os.environ.items() if name != "LEEWARD_NO_SKIPS"}
    process = subprocess.run(command, env=inherited | variables, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert process.returncode == code, process.stdout
    assert ("was not run" in process.stdout) == bool(code)


def test_every_file_of_tests_is_in_a_target() -> None:
    """File that is in none runs nowhere, whatever it says."""
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["testpaths"]
    named = re.findall(r"tests/[\w/.]+", (ROOT / "Makefile").read_text())
    places = {ROOT / place for place in (*configured, *named)}
    files = set((ROOT / "tests").rglob("test_*.py"))
    assert {file for file in files if places.isdisjoint({file, *file.parents})} == set()


def test_every_marked_test_is_in_a_suite() -> None:
    """Each marker of a test is one that a target chooses by, and `.ci/run` runs all of these targets."""
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]
    markers = [told.partition(":")[0] for told in configured]
    rule = re.compile(r'^(\w+): .*\n\t@\$\(PYTEST\) -m "([^"]+)"', re.MULTILINE)
    chosen = dict(rule.findall((ROOT / "Makefile").read_text()))
    assert set(chosen) <= {*SUITES, BESIDE}
    for has in product((False, True), repeat=len(markers)):
        values = dict(zip(markers, has, strict=True))
        assert [eval(expression, {}, values) for expression in chosen.values()].count(True) == 1, values
