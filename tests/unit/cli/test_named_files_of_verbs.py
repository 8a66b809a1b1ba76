"""Files that users name on the command line: `-`, pipes, devices, links, directories, and what is not there."""

import io
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leeward.answers.fleet_state import FleetState, decode_state, encode_state
from leeward.app.local.layout import Layout
from leeward.planning.recording import decode_recorded
from tests.builders import binding, cluster, dead, divided, targets
from tests.fleet_pictures import picture_of
from tests.json_server import JsonServer
from tests.verbs import call_verb

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
PROGRAM = "from leeward.cli.program import main; main()"
Capture = pytest.CaptureFixture[str]


def held_fleet() -> FleetState:
    return picture_of([dead("a", since=-400), cluster("b")], [binding(divided({"a": 1}), 2, targets(a=2))])


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "fleet.json"
    path.write_bytes(encode_state(held_fleet()))
    return path


@pytest.fixture
def server(control_plane: JsonServer) -> JsonServer:
    control_plane.objects["/version"] = {"gitVersion": "v1.31.0"}
    control_plane.objects[f"{CLUSTERS}/a"] = {"metadata": {"name": "a"}, "spec": {"syncMode": "Push"}}
    return control_plane


def feed(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Has standard input hold the content."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def reading(fifo: Path) -> Callable[[], bytes]:
    """Makes a FIFO, and gives what comes out of it."""
    os.mkfifo(fifo)
    received = list[bytes]()
    thread = threading.Thread(target=lambda: received.append(fifo.read_bytes()), daemon=True)
    thread.start()

    def wait() -> bytes:
        thread.join(60)
        return received[0]

    return wait


def test_a_snapshot_on_standard_output_is_the_picture_and_nothing_else(
    layout: Layout, server: JsonServer, capsys: Capture
) -> None:
    code, out, err = call_verb(capsys, "snapshot", "-", "--kubeconfig", layout.kubeconfig)
    assert code == 0
    assert set(decode_state(out.encode()).clusters) == {"a"}
    assert err == "-: 1 cluster, 0 bindings, 0 Works\n"
    assert not Path("-").exists()


def test_a_snapshot_goes_through_a_fifo_and_a_link_which_stay(
    layout: Layout, server: JsonServer, tmp_path: Path, capsys: Capture
) -> None:
    received = reading(tmp_path / "fifo")
    assert call_verb(capsys, "snapshot", tmp_path / "fifo", "--kubeconfig", layout.kubeconfig)[0] == 0
    assert set(decode_state(received()).clusters) == {"a"}
    assert stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)
    target = tmp_path / "target"
    target.write_bytes(b"old")
    target.chmod(0o640)
    (tmp_path / "link").symlink_to(target)
    assert call_verb(capsys, "snapshot", tmp_path / "link", "--kubeconfig", layout.kubeconfig)[0] == 0
    assert (tmp_path / "link").is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert set(decode_state(target.read_bytes()).clusters) == {"a"}


def test_a_record_on_standard_output_has_the_answer_on_the_other(picture: Path, capsys: Capture) -> None:
    code, out, err = call_verb(capsys, "explain", "deploy/nginx", "--from", picture, "--record", "-")
    assert code == 1
    assert decode_recorded(out.encode())[0].binding.spec.resource.name == "nginx"
    assert err.startswith("Deployment default/nginx, 2 replicas")


def test_a_record_goes_through_a_device(picture: Path, capsys: Capture) -> None:
    assert call_verb(capsys, "explain", "deploy/nginx", "--from", picture, "--record", "/dev/null")[0] == 1
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    code, _, err = call_verb(capsys, "explain", "deploy/nginx", "--from", picture, "--record", "/dev/full")
    assert (code, err) == (2, "leeward: /dev/full cannot be written: No space left on device\n")


def test_what_cannot_be_written_names_the_flag(picture: Path, tmp_path: Path, capsys: Capture) -> None:
    absent = tmp_path / "absent" / "file"
    question = ("explain", "deploy/nginx", "--from", picture)
    code, out, err = call_verb(capsys, *question, "--record", absent)
    why = f"there is no directory {absent.parent}; `mkdir -p {absent.parent}` makes it"
    assert (code, out, err) == (2, "", f"leeward: --record: {absent} cannot be written: {why}\n")
    code, _, err = call_verb(capsys, *question, "--record", tmp_path)
    assert code == 2
    assert "'--record'" in err
    assert "is a directory" in err
    register = ("register", "127.0.0.1:1", "--token", "a.b", "--discovery-token-ca-cert-hash", "sha256:00")
    code, _, err = call_verb(capsys, *register, "--cluster-name", "a", "--karmada-kubeconfig", absent)
    assert (code, "--karmada-kubeconfig: " in err, "there is no directory" in err) == (1, True, True)
    code, _, err = call_verb(capsys, "backup", absent)
    assert (code, "there is no directory" in err) == (1, True)


@pytest.mark.parametrize(
    "question",
    [
        ("explain", "deploy/nginx"),
        ("timeline",),
        ("resilience",),
        ("what-if", "--fail", "b"),
        ("lint",),
    ],
    ids=lambda question: question[0],
)
def test_a_picture_comes_from_standard_input_and_through_a_pipe(
    question: tuple[str, ...], picture: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = call_verb(capsys, *question, "--from", picture)
    feed(monkeypatch, picture.read_bytes())
    assert call_verb(capsys, *question, "--from", "-")[:2] == expected[:2]
    os.mkfifo(tmp_path / "fifo")
    writer = threading.Thread(target=lambda: (tmp_path / "fifo").write_bytes(picture.read_bytes()), daemon=True)
    writer.start()
    assert call_verb(capsys, *question, "--from", tmp_path / "fifo")[:2] == expected[:2]
    writer.join(60)


def test_a_record_a_scenario_and_policies_come_from_standard_input(
    picture: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "record"
    call_verb(capsys, "explain", "deploy/nginx", "--from", picture, "--record", record)
    feed(monkeypatch, record.read_bytes())
    assert call_verb(capsys, "replay", "-")[0] == 0
    feed(monkeypatch, b"{")
    code, _, err = call_verb(capsys, "replay", "-")
    assert (code, err.startswith("leeward: standard input cannot be read: ")) == (2, True)
    feed(monkeypatch, b"kind: Other\n")
    code, _, err = call_verb(capsys, "rehearse", "-", "--from", picture)
    assert (code, err.startswith("leeward: standard input cannot be read: ")) == (2, True)
    feed(monkeypatch, b"")
    code, _, err = call_verb(capsys, "what-if", "--apply", "-", "--from", picture)
    assert (code, err) == (
        2,
        "leeward: standard input cannot be read: it holds no manifest; give a file of policies\n",
    )


@pytest.mark.parametrize(
    "arguments",
    [("what-if", "--apply", "-", "--from", "-"), ("rehearse", "-", "--from", "-"), ("lint", "-", "--from", "-")],
    ids=lambda arguments: arguments[0],
)
def test_standard_input_is_one_file_only(arguments: tuple[str, ...], capsys: Capture) -> None:
    code, _, err = call_verb(capsys, *arguments)
    assert (code, "standard input can be one file only" in err) == (2, True)


def test_a_kubeconfig_comes_from_standard_input_and_through_a_pipe(
    layout: Layout, server: JsonServer, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, file = layout.kubeconfig.read_bytes(), tmp_path / "fleet.json"
    feed(monkeypatch, content)
    assert call_verb(capsys, "snapshot", file, "--kubeconfig", "-")[0] == 0
    assert set(decode_state(file.read_bytes()).clusters) == {"a"}
    feed(monkeypatch, b"")
    code, _, err = call_verb(capsys, "snapshot", file, "--kubeconfig", "-")
    assert (code, "standard input cannot be read: it holds 0 documents" in err) == (2, True)
    os.mkfifo(tmp_path / "fifo")
    writer = threading.Thread(target=lambda: (tmp_path / "fifo").write_bytes(content), daemon=True)
    writer.start()
    assert call_verb(capsys, "snapshot", file, "--kubeconfig", tmp_path / "fifo")[0] == 0
    writer.join(60)


def test_a_file_that_is_called_a_dash_is_named_with_its_directory(
    picture: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call_verb(capsys, "explain", "deploy/nginx", "--from", picture, "--record", "./-")
    assert (tmp_path / "-").is_file()


def test_a_file_that_the_shell_has_opened_holds_the_whole_record(picture: Path, tmp_path: Path) -> None:
    """Or the record and the answer would overwrite one another."""
    both = tmp_path / "both"
    command: list[Any] = [sys.executable, "-c", PROGRAM, "explain", "deploy/nginx", "--from", picture]
    with both.open("wb") as opened:
        opened.write(b"# before\n")
        opened.flush()
        ended = subprocess.run([*command, "--record", "/dev/stdout"], stdout=opened, check=False)
    assert ended.returncode == 1
    before, _, record = both.read_bytes().partition(b"\n")
    assert before == b"# before"
    assert decode_recorded(record)[0].binding.spec.resource.name == "nginx"
