"""Next steps are for who watches: on a terminal they follow what a verb has done, and nothing else sees them."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import click
import pytest

from leeward.app.local.fleet import LocalFleet, save_fleet
from leeward.app.local.layout import CONTROL_PLANE, Layout
from leeward.cli.program import program
from leeward.cli.proposals import for_same_fleet
from leeward.cli.settings import Settings
from tests.json_server import JsonServer
from tests.verbs import pretend_to_run

CLUSTER = "/apis/cluster.karmada.io/v1alpha1/clusters/a"
PATIENCE_SECONDS = 60
ERASE = "\r\x1b[K"


@pytest.fixture
def server(control_plane: JsonServer) -> JsonServer:
    control_plane.objects["/version"] = {"gitVersion": "v1.31.0"}
    control_plane.objects[CLUSTER] = {"metadata": {"name": "a"}, "spec": {"syncMode": "Push"}}
    return control_plane


def watched(*arguments: object) -> tuple[str, str]:
    """Stdout, which is a pipe, and the lines of stderr that stay on a terminal. A verb that waits shows so, and takes
    it away."""
    terminal, its_end = pty.openpty()
    try:
        command = [sys.executable, "-m", "leeward.cli", *map(str, arguments)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=its_end, text=True, timeout=PATIENCE_SECONDS)
        assert done.returncode == 0
        os.set_blocking(terminal, False)
        written = os.read(terminal, 10_000).decode().replace("\r\n", "\n")
        return done.stdout, "\n".join(line.rpartition(ERASE)[2] for line in written.split("\n"))
    finally:
        os.close(its_end)
        os.close(terminal)


def test_who_watches_is_told_what_may_come_next(layout: Layout, server: JsonServer, tmp_path: Path) -> None:
    out, aside = watched("cordon", "a", "--kubeconfig", layout.kubeconfig)
    assert out == "a cluster cordoned\n"
    there = f"--kubeconfig {layout.kubeconfig}"
    assert aside == (
        f"next: leeward drain a {there}, which moves what runs there; leeward uncordon a {there}, which takes it back\n"
    )
    file = tmp_path / "fleet.json"
    out, aside = watched("snapshot", file, "--kubeconfig", layout.kubeconfig)
    assert out == f"{file}: 1 cluster, 0 bindings, 0 Works\n"
    assert aside == f"next: leeward what-if --from {file} --fail CLUSTER; leeward resilience --from {file}\n"


def test_a_script_is_told_nothing_more(layout: Layout, server: JsonServer) -> None:
    command = [sys.executable, "-m", "leeward.cli", "cordon", "a", "--kubeconfig", str(layout.kubeconfig)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert (done.stdout, done.stderr) == ("a cluster cordoned\n", "")


def test_what_may_come_next_is_for_the_fleet_that_was_chosen(layout: Layout, server: JsonServer) -> None:
    save_fleet(layout, LocalFleet(server.port))
    pretend_to_run(layout, CONTROL_PLANE)
    _, aside = watched("cordon", "a", "--data-dir", layout.root)
    assert aside.startswith(f"next: leeward --data-dir {layout.root} drain a, which moves what runs there; leeward --")


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("leeward brake status", "kubectl leeward --data-dir /x brake status --kubeconfig 'a b' --context hub"),
        ("leeward explain --from f, which reads", "kubectl leeward --data-dir /x explain --from f, which reads"),
        ("leeward member stop m, which kills it", "kubectl leeward --data-dir /x member stop m, which kills it"),
        ("kubectl get clusters", "kubectl --kubeconfig 'a b' --context hub get clusters"),
        ("leeward nothing", "kubectl leeward --data-dir /x nothing"),
    ],
)
def test_a_command_is_given_what_it_takes_of_the_options_that_chose_a_fleet(step: str, expected: str) -> None:
    root = click.Context(program, obj=Settings("/x", is_kubectl_plugin=True))
    with click.Context(click.Command("status"), parent=root) as context:
        context.params = {"kubeconfig": Path("a b"), "context": "hub"}
        assert for_same_fleet(step) == expected


@pytest.mark.parametrize(
    ("settings", "params", "expected"),
    [
        (Settings("/x y"), {}, "kubectl --kubeconfig '/x y/kubeconfig' edit deployment web"),
        (Settings("/x"), {"context": "hub"}, "kubectl --kubeconfig /x/kubeconfig --context hub edit deployment web"),
        (Settings("/x"), {"kubeconfig": Path("k")}, "kubectl --kubeconfig k edit deployment web"),
        (Settings(), {"context": "hub"}, "kubectl --context hub edit deployment web"),
        (Settings(is_kubectl_plugin=True), {}, "kubectl edit deployment web"),
    ],
)
def test_a_command_of_kubectl_goes_to_the_control_plane_that_the_verb_was_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Settings, params: dict[str, object], expected: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("LEEWARD_DATA_DIR", raising=False)
    root = click.Context(program, obj=settings)
    with click.Context(click.Command("explain"), parent=root) as context:
        context.params = params
        assert for_same_fleet("kubectl edit deployment web") == expected
