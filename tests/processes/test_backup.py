"""Backup and restore of real control planes: into the same fleet, and on a machine that has none."""

import stat
from pathlib import Path

import pytest

from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

pytestmark = [pytest.mark.processes, needs_kubectl]


def note(fleet: Fleet) -> str:
    return fleet.get("configmap", "note")["data"]["text"]


def who(fleet: Fleet, token: str) -> str:
    """Tells whose token it is, in the words of the control plane."""
    fleet.kubectl("config", "set-credentials", "robot", f"--token={token}")
    fleet.kubectl("config", "set-context", "robot", "--cluster=karmada-apiserver", "--user=robot")
    return fleet.kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}", context="robot")


def test_what_was_backed_up_comes_back_here_and_on_a_new_machine(tmp_path: Path) -> None:
    backup = tmp_path / "backup.tar"
    with running_fleet(tmp_path / "fleet", "--member", "member1") as fleet:
        fleet.kubectl("create", "configmap", "note", "--from-literal=text=before")
        fleet.kubectl("create", "serviceaccount", "robot")
        token = fleet.kubectl("create", "token", "robot", "--duration=1h").strip()
        assert who(fleet, token) == "system:serviceaccount:default:robot"

        told = fleet.leeward("backup", str(backup))
        assert "Secrets and private keys in clear (mode 0600)" in told
        assert stat.S_IMODE(backup.stat().st_mode) == 0o600
        assert "exists already" in fleet.leeward("backup", str(backup), fails=True)

        fleet.kubectl("patch", "configmap", "note", "-p", '{"data":{"text":"after"}}')
        fleet.kubectl("delete", "serviceaccount", "robot")
        fleet.leeward("restore", str(backup), "--yes")
        assert note(fleet) == "before"
        assert who(fleet, token) == "system:serviceaccount:default:robot", "with the account, its tokens are good again"
        fleet.eventually(lambda: fleet.ready("member1")[0] == "True", "the member is followed again")

    elsewhere = Fleet(tmp_path / "elsewhere")
    elsewhere.leeward("restore", str(backup), "--yes")
    with running_fleet(elsewhere.data_dir) as found:
        assert note(found) == "before"
        assert who(found, token) == "system:serviceaccount:default:robot"
        found.kubeconfig = fleet.kubeconfig
        assert note(found) == "before", "the old administrator's certificate is still good"
        assert found.ready("member1")[0] == "True"


def test_what_is_no_backup_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"no backup at all")
    fleet = Fleet(tmp_path / "fleet")
    refused = fleet.leeward("restore", str(broken), "--yes", fails=True)
    assert "there is no fleet" in refused
    assert not (fleet.data_dir / "fleet.json").exists()
    assert "does not exist" in fleet.leeward("restore", str(tmp_path / "nothing"), "--yes", fails=True)
