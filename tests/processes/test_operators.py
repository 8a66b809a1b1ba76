"""Operators' verbs on real processes: through the data directory, and through a kubeconfig as on any control plane."""

import json
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

EXAMPLES = Path(__file__).parents[2] / "examples"
SECONDS = 60

pytestmark = [pytest.mark.processes, needs_kubectl]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    with running_fleet(tmp_path_factory.mktemp("fleet"), "--member", "member1", "--member", "member2") as running:
        yield running


def verb(fleet: Fleet, *arguments: str, remote: bool) -> subprocess.CompletedProcess[str]:
    """`remote`: as if the control plane were not of this machine."""
    elsewhere = ["--kubeconfig", str(fleet.kubeconfig), "--context", "karmada-apiserver"]
    named = elsewhere if remote else ["--data-dir", str(fleet.data_dir)]
    command = [sys.executable, "-m", "leeward.cli", *arguments, *named]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


def status(fleet: Fleet, *arguments: str, remote: bool) -> tuple[int, str]:
    done = verb(fleet, "status", *arguments, remote=remote)
    assert not done.stderr
    return done.returncode, done.stdout


def seen(fleet: Fleet, *, remote: bool) -> dict[str, Any]:
    return json.loads(status(fleet, "-o", "json", remote=remote)[1])


def is_well(fleet: Fleet) -> bool:
    return all(status(fleet, remote=remote)[0] == 0 for remote in (False, True))


def test_an_outage_is_told_first_and_its_end_too(fleet: Fleet) -> None:
    fleet.kubectl("create", "-f", "-", stdin=(EXAMPLES / "divided.yaml").read_text())
    fleet.eventually(lambda: fleet.assigned("nginx-deployment") == {"member1": 1, "member2": 2}, "1:2")
    fleet.eventually(lambda: is_well(fleet), "all is well")
    for remote in (False, True):
        assert "all is well: 2 of 2 clusters ready" in status(fleet, remote=remote)[1]

    fleet.leeward("member", "stop", "member1")
    fleet.eventually(lambda: fleet.ready("member1")[0] == "False", "member1 is not ready")
    for remote, way_out in ((False, "leeward member start member1"), (True, "kubectl describe cluster member1")):
        code, text = status(fleet, remote=remote)
        lines = text.splitlines()
        assert code == 1
        assert lines[2].startswith("! member1 is not ready since ")
        assert f"    {way_out}" in lines
        assert max(map(len, lines)) <= 100
        told = seen(fleet, remote=remote)
        assert told["findings"][0]["about"] == "cluster/member1"
        assert [row["name"] for row in told["clusters"]] == ["member1", "member2"]
        assert ("components" in told) is not remote
    fleet.leeward("member", "start", "member1")
    fleet.eventually(lambda: is_well(fleet), "all is well again")


def test_verbs_work_through_a_kubeconfig(fleet: Fleet) -> None:
    assert verb(fleet, "cordon", "member2", remote=True).stdout == "member2 cluster cordoned\n"
    assert fleet.taints("member2") == {"cluster.karmada.io/unschedulable:NoSchedule"}
    assert verb(fleet, "uncordon", "member2", remote=True).stdout == "member2 cluster uncordoned\n"
    assert verb(fleet, "taint", "member2", "a=b:NoSchedule", remote=True).stdout == "cluster/member2 tainted\n"
    assert verb(fleet, "taint", "member2", "a-", remote=True).stdout == "cluster/member2 untainted\n"
    assert fleet.taints("member2") == set()
    assert verb(fleet, "brake", "status", remote=True).stdout.startswith("the brake is not engaged")
    drained = verb(fleet, "drain", "member2", "--timeout", "50s", remote=True)
    assert drained.stdout.endswith("member2 is drained\n"), drained
    states = {row["name"]: row["state"] for row in seen(fleet, remote=True)["clusters"]}
    assert states == {"member1": "Ready", "member2": "Drained"}
    assert verb(fleet, "drain", "member2", "--undo", remote=True).stdout == "member2 is no longer drained\n"
    wrong = verb(
        fleet, "cordon", "member2", "--kubeconfig", str(fleet.kubeconfig), "--context", "member2", remote=False
    )
    assert (wrong.returncode, "this is no control plane" in wrong.stderr) == (1, True)


def test_a_backup_through_the_fleets_own_kubeconfig_is_that_of_the_fleet(fleet: Fleet, tmp_path: Path) -> None:
    file = tmp_path / "backup.tar"
    refused = verb(fleet, "backup", str(file), remote=True)
    assert (refused.returncode, file.exists()) == (1, False)
    assert "etcdctl snapshot save" in refused.stderr
    own = ["--kubeconfig", str(fleet.kubeconfig)]
    assert "objects at revision" in verb(fleet, "backup", str(file), *own, remote=False).stdout
    assert file.exists()


def test_watching_ends_cleanly_with_ctrl_c(fleet: Fleet) -> None:
    fleet.eventually(lambda: is_well(fleet), "all is well")
    command = [sys.executable, "-m", "leeward.cli", "status", "-w", "--data-dir", str(fleet.data_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        first = [watching.stdout.readline() for _ in range(3)]
        assert "all is well" in first[2]
        watching.send_signal(signal.SIGINT)
        _, err = watching.communicate(timeout=SECONDS)
    assert (watching.returncode, err) == (0, "")


def test_a_control_plane_that_is_frozen_is_named_at_once(fleet: Fleet) -> None:
    pid = next(c["pid"] for c in seen(fleet, remote=False)["components"] if c["name"] == "control-plane")
    subprocess.run(["kill", "-STOP", str(pid)], check=True)
    try:
        code, text = status(fleet, remote=False)
    finally:
        subprocess.run(["kill", "-CONT", str(pid)], check=True)
    assert code == 2
    said = " ".join(text.split())
    assert f"its process {pid} is frozen" in said
    assert f"`kill -CONT {pid}` lets it go on" in said
    fleet.eventually(lambda: is_well(fleet), "it goes on")
