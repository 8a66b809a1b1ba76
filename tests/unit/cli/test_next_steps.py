"""Next steps are for who watches: on a terminal they follow what a verb has done, and nothing else sees them."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from leeward.app.local.layout import Layout
from tests.json_server import JsonServer

CLUSTER = "/apis/cluster.karmada.io/v1alpha1/clusters/a"
PATIENCE_SECONDS = 60


@pytest.fixture
def server(control_plane: JsonServer) -> JsonServer:
    control_plane.objects["/version"] = {"gitVersion": "v1.31.0"}
    control_plane.objects[CLUSTER] = {"metadata": {"name": "a"}, "spec": {"syncMode": "Push"}}
    return control_plane


def watched(*arguments: object) -> tuple[str, str]:
    """Stdout, which is a pipe, and what a terminal shows of stderr."""
    terminal, its_end = pty.openpty()
    try:
        command = [sys.executable, "-m", "leeward.cli", *map(str, arguments)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=its_end, text=True, timeout=PATIENCE_SECONDS)
        assert done.returncode == 0
        os.set_blocking(terminal, False)
        return done.stdout, os.read(terminal, 10_000).decode().replace("\r\n", "\n")
    finally:
        os.close(its_end)
        os.close(terminal)


def test_who_watches_is_told_what_may_come_next(layout: Layout, server: JsonServer, tmp_path: Path) -> None:
    out, aside = watched("cordon", "a", "--kubeconfig", layout.kubeconfig)
    assert out == "a cluster cordoned\n"
    assert aside == "next: leeward drain a, which moves what runs there; leeward uncordon a, which takes it back\n"
    file = tmp_path / "fleet.json"
    out, aside = watched("snapshot", file, "--kubeconfig", layout.kubeconfig)
    assert out == f"{file}: 1 cluster, 0 bindings, 0 Works\n"
    assert aside == f"next: leeward what-if --from {file} --fail CLUSTER; leeward resilience --from {file}\n"


def test_a_script_is_told_nothing_more(layout: Layout, server: JsonServer) -> None:
    command = [sys.executable, "-m", "leeward.cli", "cordon", "a", "--kubeconfig", str(layout.kubeconfig)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert (done.stdout, done.stderr) == ("a cluster cordoned\n", "")
