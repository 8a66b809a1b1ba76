"""The audit log of a real API server: who asked for what, in a file that does not grow for ever."""

import json
import stat
import subprocess
from pathlib import Path

import pytest

from tests.processes.fleet import needs_kubectl
from tests.processes.lone_server import lone_server

pytestmark = [pytest.mark.processes, needs_kubectl]


def test_requests_are_told_with_their_users_and_without_their_secrets(tmp_path: Path) -> None:
    log, kubeconfig = tmp_path / "audit" / "audit.log", tmp_path / "kubeconfig"
    with lone_server(tmp_path, "--audit-log-path", str(log), "--audit-log-maxsize", "1") as server:
        server.write_kubeconfig(kubeconfig)
        command = ["kubectl", "--kubeconfig", str(kubeconfig), "--cache-dir", str(tmp_path / "cache")]
        create = [*command, "create", "secret", "generic", "hidden", "--from-literal=password=unspeakable"]
        subprocess.run(create, check=True, capture_output=True, timeout=30)
        refused = subprocess.run(
            [*command, "--context=bob", "get", "secrets"], check=False, capture_output=True, timeout=30
        )
        assert refused.returncode == 1
    written = log.read_text()
    events = [json.loads(line) for line in written.splitlines()]
    told = {(e["user"]["username"], e["verb"], e["responseStatus"]["code"]) for e in events if "objectRef" in e}
    assert told == {("admin", "create", 201), ("bob", "list", 403)}
    assert "unspeakable" not in written
    assert "-token" not in written
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
