"""Operators' verbs on real processes: through the data directory, and through a kubeconfig as on any control plane.

In the order of the file: at its end the control plane is frozen, stopped, and its store damaged.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from leeward.app.local import processes
from leeward.app.local.layout import CONTROL_PLANE, Layout
from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

DRAIN = "leeward.dev/drain:NoExecute"
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


def ready_in(fleet: Fleet, member: str) -> int:
    return fleet.get("deployment", "nginx", context=member).get("status", {}).get("readyReplicas", 0)


def test_a_drain_moves_everything_and_an_uncordon_takes_the_taint_back(fleet: Fleet) -> None:
    fleet.kubectl("create", "-f", "-", stdin=(EXAMPLES / "divided.yaml").read_text())
    fleet.eventually(lambda: fleet.exists("resourcebinding", "nginx-deployment"), "the binding is there")
    fleet.eventually(lambda: fleet.assigned("nginx-deployment") == {"member1": 1, "member2": 2}, "1:2")
    fleet.eventually(lambda: fleet.exists("deployment", "nginx", context="member1"), "nginx is in member1")
    fleet.eventually(lambda: ready_in(fleet, "member1") == 1, "1 is ready in member1")

    told = fleet.leeward("drain", "member1", "--timeout", "50s")
    assert told.endswith("  Deployment default/nginx: moved\nmember1 is drained\n")
    assert DRAIN in fleet.taints("member1")
    assert fleet.assigned("nginx-deployment") == {"member2": 3}
    assert ready_in(fleet, "member2") == 3, "it left only when its replacement was healthy"
    fleet.eventually(lambda: not fleet.exists("deployment", "nginx", context="member1"), "nothing is left in member1")
    assert fleet.ready("member1")[0] == "True"

    assert fleet.leeward("uncordon", "member1") == "member1 cluster uncordoned\n"
    assert fleet.taints("member1") == set()
    assert fleet.assigned("nginx-deployment") == {"member2": 3}
    fleet.kubectl("delete", "-f", "-", stdin=(EXAMPLES / "divided.yaml").read_text())
    fleet.eventually(lambda: not fleet.exists("resourcebinding", "nginx-deployment"), "the binding is gone")


def test_a_cluster_is_cordoned_tainted_and_the_brake_looked_at(fleet: Fleet) -> None:
    fleet.leeward("cordon", "member2")
    fleet.leeward("taint", "member2", "example.com/maintenance=today:NoSchedule")
    assert fleet.taints("member2") == {
        "cluster.karmada.io/unschedulable:NoSchedule",
        "example.com/maintenance:NoSchedule",
    }
    fleet.leeward("uncordon", "member2")
    fleet.leeward("taint", "member2", "example.com/maintenance-")
    assert fleet.taints("member2") == set()
    assert "the brake is not engaged" in fleet.leeward("brake", "status")
    assert "not_a_key" in fleet.leeward("taint", "member2", "not_a_key/x/y:NoSchedule", fails=True)


def test_an_outage_is_told_first_and_its_end_too(fleet: Fleet) -> None:
    fleet.kubectl("create", "-f", "-", stdin=(EXAMPLES / "divided.yaml").read_text())
    fleet.eventually(lambda: fleet.assigned("nginx-deployment") == {"member1": 1, "member2": 2}, "1:2")
    fleet.eventually(lambda: is_well(fleet), "all is well")
    for remote in (False, True):
        assert "all is well: 2 of 2 clusters ready" in status(fleet, remote=remote)[1]

    fleet.leeward("member", "stop", "member1")
    fleet.eventually(lambda: fleet.ready("member1")[0] == "False", "member1 is not ready")
    here = f"leeward --data-dir {fleet.data_dir} member start member1"
    there = f"leeward explain cluster/member1 --kubeconfig {fleet.kubeconfig} --context karmada-apiserver"
    for remote, way_out in ((False, here), (True, there)):
        code, text = status(fleet, remote=remote)
        lines = text.splitlines()
        assert code == 1
        assert [line for line in lines if line.startswith("! member1 is down (since ")]
        assert way_out in " ".join(text.split())
        assert max(map(len, lines)) <= 100
        told = seen(fleet, remote=remote)
        assert "cluster/member1" in {finding["about"] for finding in told["findings"]}
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


def files(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if "kubectl-cache" not in path.parts}


def test_every_verb_names_a_frozen_control_plane_and_does_nothing(fleet: Fleet) -> None:
    process = processes.find_process(Layout(fleet.data_dir), CONTROL_PLANE)
    assert process is not None
    before, here = files(fleet.data_dir), ("--kubeconfig", str(fleet.kubeconfig))
    cluster = fleet.get("cluster", "member1")["metadata"]["uid"]
    os.kill(process.pid, signal.SIGSTOP)
    try:
        code, text = status(fleet, remote=False)
        said = " ".join(text.split())
        assert code == 2
        assert f"its process {process.pid} is frozen" in said
        assert f"`kill -CONT {process.pid}` lets it go on" in said
        for verb in (
            ("brake", "status"),
            ("cordon", "member1"),
            ("member", "add", "member3"),
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
    assert "member3" not in fleet.leeward("member", "add", "member1", fails=True)
    assert fleet.leeward("down") == "stopped: control-plane, member1, member2\n", (
        "no process of a member that was not added"
    )


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
