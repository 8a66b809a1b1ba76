"""The recorded conversations that the embedded API server is held to, with the real one of the suite.

They were recorded with another version. Where this one is known to answer otherwise, the recording says so; anything
else that differs is a fault of the recording, or of how it is read.
"""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.servers import TOKEN, KubeServer

DATA = Path(__file__).parents[1] / "data" / "contract"
WITHOUT = ("ServiceAccount", "DefaultTolerationSeconds", "StorageObjectInUseProtection", "TaintNodesByCondition")
REPLAY_SECONDS = 900
PATIENCE = 6


@pytest.fixture
def server(tmp_path: Path) -> Generator[KubeServer]:
    """Empty, with nothing running beside it, as at the recording."""
    binaries = Path(os.environ["KUBEBUILDER_ASSETS"])
    server = KubeServer("contract", tmp_path / "contract", binaries, workloads=False, without_admission=WITHOUT)
    server.start()
    try:
        server.wait_answers()
        yield server
    finally:
        server.stop()


def test_the_real_server_says_what_was_recorded_but_where_its_version_is_known_to_differ(
    server: KubeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = gzip.decompress((DATA / "contract.jsonl.gz").read_bytes()).decode()
    conversations = tmp_path / "contract.jsonl"
    conversations.write_text(recorded)
    result = tmp_path / "result.json"
    command = [sys.executable, str(DATA / "replay.py"), str(conversations), "--server", server.url, "--token", TOKEN]
    command += ["--fixtures", str(DATA / "fixtures.json"), "--cacert", str(server.authority), "--loose", "--quiet"]
    command += ["--patience", str(PATIENCE), "--version", server.version, "--json", str(result)]
    done = subprocess.run(command, check=False, timeout=REPLAY_SECONDS, capture_output=True, text=True)
    assert result.exists(), f"the conversations were not replayed to their end: {done.stderr}"
    told: dict[str, Any] = json.loads(result.read_text())
    scenarios = {scenario["id"]: scenario for scenario in map(json.loads, recorded.splitlines())}
    surprises = {
        f"{name} step {index}: {differences[0]}"
        for name, outcome in told.items()
        for index, differences in outcome["failed"]
        if not is_known(scenarios[name], index, server.version)
    }
    steps = sum(outcome["steps"] for outcome in told.values())
    differing = sum(len(outcome["failed"]) for outcome in told.values())
    with capsys.disabled():
        print(f"\n{server.version} says what was recorded in {steps - differing} of {steps} steps", end="")
        print(f"; {differing - len(surprises)} of the others are known to differ")
    assert not surprises, "\n".join(sorted(surprises))


def is_known(scenario: dict[str, Any], index: int, version: str) -> bool:
    """Tells whether a step differs in this version, or follows from one that does: what it made is another object
    then."""
    return any(version in step.get("differs", {}) for step in scenario["steps"][: index + 1])
