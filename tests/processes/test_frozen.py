"""A control plane that is frozen is named by every verb, and what was asked for has not begun."""

import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

from leeward.app.local import processes
from leeward.app.local.layout import CONTROL_PLANE, Layout
from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

pytestmark = [pytest.mark.processes, needs_kubectl]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    with running_fleet(tmp_path_factory.mktemp("fleet"), "--member", "member1") as running:
        yield running


def files(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if "kubectl-cache" not in path.parts}


def test_every_verb_names_a_frozen_control_plane_and_does_nothing(fleet: Fleet) -> None:
    process = processes.find_process(Layout(fleet.data_dir), CONTROL_PLANE)
    assert process is not None
    before, here = files(fleet.data_dir), ("--kubeconfig", str(fleet.kubeconfig))
    cluster = fleet.get("cluster", "member1")["metadata"]["uid"]
    os.kill(process.pid, signal.SIGSTOP)
    try:
        for verb in (
            ("status",),
            ("brake", "status"),
            ("cordon", "member1"),
            ("member", "add", "member2"),
            ("member", "remove", "member1"),
        ):
            told = fleet.leeward(*verb, fails=True)
            assert "does not answer" in told, verb
            assert f"kill -CONT {process.pid}" in " ".join(told.split()), verb
        for verb in (("unjoin", "member1"), ("token", "list"), ("init",)):
            told = fleet.leeward(*verb, *here, fails=True)
            assert "has not answered within 2 s, and nothing was changed" in told, verb
        assert files(fleet.data_dir) == before
    finally:
        os.kill(process.pid, signal.SIGCONT)
    fleet.eventually(lambda: fleet.ready("member1")[0] == "True", "it goes on")
    assert fleet.get("cluster", "member1")["metadata"]["uid"] == cluster
    assert "member2" not in fleet.leeward("member", "add", "member1", fails=True)
    assert fleet.leeward("down") == "stopped: control-plane, member1\n", "no process of a member that was not added"


def test_a_store_that_is_damaged_is_one_sentence(fleet: Fleet) -> None:
    fleet.leeward("down")
    store = fleet.data_dir / "control-plane" / "store.db"
    whole = store.read_bytes()
    store.write_bytes(whole[:8192] + b"x" * (len(whole) - 8192))
    try:
        told = fleet.leeward("up", "--detach", fails=True)
        assert told.startswith("leeward: control-plane ended while it started: the store failed: ")
        assert told.endswith("; restore it from a backup, or begin with an empty data directory\n")
        assert told.count("\n") == 1
        seen = " ".join(fleet.leeward("status", fails=True).split())
        assert "the control plane has ended: the store failed: " in seen
        assert "restore it from a backup" in seen
        assert "Traceback" not in (fleet.data_dir / "logs" / "control-plane.log").read_text()
    finally:
        store.write_bytes(whole)
