"""`leeward snapshot` against an API server that only keeps objects, and files that are none of it."""

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kubeapi.meta import format_micro_time
from leeward.answers.fleet_state import decode_state
from leeward.app.local.layout import Layout
from tests.json_server import JsonServer
from tests.verbs import call_verb

HEARTBEAT = "/apis/coordination.k8s.io/v1/namespaces/karmada-system/leases/leeward-heartbeat"
CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"


@pytest.fixture
def server(control_plane: JsonServer) -> JsonServer:
    control_plane.objects["/version"] = {"gitVersion": "v1.31.0"}
    control_plane.objects[f"{CLUSTERS}/a"] = {"metadata": {"name": "a"}, "spec": {"syncMode": "Push"}}
    return control_plane


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


def test_a_directory_that_is_not_there_is_not_made(
    layout: Layout, server: JsonServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mistyped" / "fleet.json"
    code, out, err = call_verb(capsys, "snapshot", file, "--kubeconfig", layout.kubeconfig)
    assert (code, out) == (2, "")
    way_out = f"`mkdir -p {file.parent}` makes it"
    assert err == f"leeward: {file} cannot be written: there is no directory {file.parent}; {way_out}\n"
    assert not file.parent.exists()


@pytest.mark.parametrize("holder", ["one", ""])
def test_a_picture_says_since_when_nobody_watches(
    layout: Layout, server: JsonServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], holder: str
) -> None:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 40, "renewTime": "2020-01-01T00:00:00.000000Z"}
    server.objects[HEARTBEAT] = {"metadata": {"name": "leeward-heartbeat"}, "spec": spec}
    file = tmp_path / "fleet.json"
    call_verb(capsys, "snapshot", file, "--kubeconfig", layout.kubeconfig)
    assert decode_state(file.read_bytes()).recorded.unwatched_since == datetime(2020, 1, 1, tzinfo=UTC)
    spec["renewTime"] = format_micro_time(datetime.now(UTC))
    call_verb(capsys, "snapshot", file, "--kubeconfig", layout.kubeconfig)
    assert decode_state(file.read_bytes()).recorded.unwatched_since is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing argument 'FILE' (see `leeward snapshot --help`)"),
        (("f", "--kubeconfig", "none"), "none"),
    ],
)
def test_what_is_asked_wrongly_is_no_finding(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call_verb(capsys, "snapshot", *arguments)
    assert (code, out, said in err) == (2, "", True)
