"""Orphans of a restore from an old backup, on real processes: what was placed since runs on, is listed, and deleted."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

pytestmark = [pytest.mark.processes, needs_kubectl]

EXAMPLES = Path(__file__).parents[2] / "examples"
PUSH, PULL = "member1", "member2"


def orphans(fleet: Fleet, *options: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "leeward.cli", "orphans", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


def uid(fleet: Fleet, member: str) -> str:
    return fleet.kubectl("get", "deployment", "nginx", "-o", "jsonpath={.metadata.uid}", context=member)


def test_what_a_restored_control_plane_has_forgotten_is_listed_and_deleted(tmp_path: Path) -> None:
    backup = tmp_path / "backup.tar"
    with running_fleet(tmp_path / "fleet", "--member", PUSH, "--member", f"{PULL}=pull") as fleet:
        local = ("--data-dir", str(fleet.data_dir))
        remote = ("--kubeconfig", str(fleet.kubeconfig), "--context", "karmada-apiserver")
        fleet.leeward("backup", str(backup))
        assert orphans(fleet, *local) == (0, "no orphans\n")
        fleet.kubectl("create", "-f", "-", stdin=(EXAMPLES / "divided.yaml").read_text())
        fleet.eventually(lambda: fleet.assigned("nginx-deployment") == {PUSH: 1, PULL: 2}, "1:2")
        fleet.eventually(lambda: bool(uid(fleet, PUSH) and uid(fleet, PULL)), "both are there")
        before = uid(fleet, PUSH), uid(fleet, PULL)
        assert orphans(fleet, *local) == (0, "no orphans\n")

        fleet.leeward("restore", str(backup), "--yes")
        fleet.eventually(lambda: fleet.ready(PULL)[0] == "True", "the members are followed again")
        for way in (local, remote):
            code, told = orphans(fleet, *way)
            assert code == 1
            assert all(each in told for each in before)
        assert (uid(fleet, PUSH), uid(fleet, PULL)) == before, "they run on"

        fleet.leeward("member", "stop", PULL)
        code, told = orphans(fleet, *local)
        assert code == 2
        assert f"cluster {PULL} could not be read" in told
        fleet.leeward("member", "start", PULL)
        code, told = orphans(fleet, "--delete", "--yes", *remote)
        assert code == 0
        assert told.count(" deleted\n") == 2
        assert orphans(fleet, *local) == (0, "no orphans\n")
