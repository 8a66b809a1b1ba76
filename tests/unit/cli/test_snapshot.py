"""`leeward snapshot` against an API server that only keeps objects, and files that are none of it."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from leeward.answers.fleet_state import decode_state
from leeward.app.local.fleet import Fleet
from leeward.app.local.layout import Layout
from tests.json_server import JsonServer, serve_json
from tests.ports import free_port
from tests.verbs import call_verb, issued

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return issued(tmp_path_factory.mktemp("fleet"), Fleet(free_port()))


@pytest.fixture
def server(layout: Layout) -> Iterator[JsonServer]:
    with serve_json(layout) as server:
        issued(layout.root, Fleet(server.port))
        server.objects["/version"] = {"gitVersion": "v1.31.0"}
        server.objects[f"{CLUSTERS}/a"] = {"metadata": {"name": "a"}, "spec": {"syncMode": "Push"}}
        yield server


def test_a_snapshot_is_written_for_its_owner_alone_and_says_what_is_in_it(
    layout: Layout, server: JsonServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "fleet.json"
    code, out, err = call_verb(capsys, "snapshot", file, "--kubeconfig", layout.kubeconfig)
    assert (code, out, err) == (0, f"{file}: 1 cluster, 0 bindings, 0 Works\n", "")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert set(decode_state(file.read_bytes()).clusters) == {"a"}


def test_what_could_not_be_read_is_named_and_ends_it_with_2(
    layout: Layout, server: JsonServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.refusals["/apis/work.karmada.io/v1alpha1/works"] = 403, b'{"kind": "Status", "message": "no right"}'
    file = tmp_path / "fleet.json"
    code, _, err = call_verb(capsys, "snapshot", file, "--kubeconfig", layout.kubeconfig)
    assert (code, "could not be seen: Works: " in err) == (2, True)
    assert [unseen.partition(":")[0] for unseen in decode_state(file.read_bytes()).recorded.unseen] == ["Works"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing argument 'FILE' (see `leeward snapshot --help`)"),
        (("/nowhere/at/all/f", "--kubeconfig", "none"), "none"),
    ],
)
def test_what_is_asked_wrongly_is_no_finding(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call_verb(capsys, "snapshot", *arguments)
    assert (code, out, said in err) == (2, "", True)
