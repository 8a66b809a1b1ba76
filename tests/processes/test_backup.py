"""Backup and restore of real control planes: into the same fleet, and on a machine that has none."""

import stat
from contextlib import closing
from pathlib import Path

import pytest

from leeward.api.resource import CLUSTERS
from leeward.app.local.api import AdminClient
from leeward.app.local.fleet import load_fleet
from leeward.app.local.layout import CONTROL_PLANE, Layout
from leeward.app.local.starting import start_components, stop_fleet
from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

ENDPOINTS = "jsonpath={.items[*].spec.apiEndpoint}"
POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: note, namespace: default}
spec:
  resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: note}]
  placement: {clusterAffinity: {clusterNames: [member1, member2]}}
"""

pytestmark = [pytest.mark.processes, needs_kubectl]


def note(fleet: Fleet) -> str:
    return fleet.get("configmap", "note")["data"]["text"]


def who(fleet: Fleet, token: str) -> str:
    """Tells whose token it is, in the words of the control plane."""
    fleet.kubectl("config", "set-credentials", "robot", f"--token={token}")
    fleet.kubectl("config", "set-context", "robot", "--cluster=karmada-apiserver", "--user=robot")
    return fleet.kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}", context="robot")


def has_note(fleet: Fleet, member: str) -> bool:
    return fleet.exists("configmap", "note", context=member)


def endpoints(fleet: Fleet) -> set[str]:
    return set(fleet.kubectl("get", "clusters", "-o", ENDPOINTS).split())


def endpoints_without_members(layout: Layout) -> set[str]:
    """Endpoints that the controllers are shown where the control plane is started, and no member joins."""
    start_components(layout, [CONTROL_PLANE])
    with closing(AdminClient(layout, load_fleet(layout).control_plane_port)) as api:
        found = {cluster["spec"]["apiEndpoint"] for cluster in api.list(CLUSTERS.path())}
    stop_fleet(layout)
    assert len(found) == 2
    return found


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


def test_a_fleet_made_of_a_backup_leaves_the_one_that_runs_alone(tmp_path: Path) -> None:
    backup, members = tmp_path / "backup.tar", ("member1", "member2")
    with running_fleet(tmp_path / "old", "--member", "member1", "--member", "member2=pull") as old:
        old.kubectl("create", "configmap", "note", "--from-literal=text=before")
        old.kubectl("create", "-f", "-", stdin=POLICY)
        old.eventually(lambda: all(has_note(old, name) for name in members), "it is in both")
        old.leeward("backup", str(backup))
        old.kubectl("delete", "configmap", "note")
        old.eventually(lambda: not any(has_note(old, name) for name in members), "it is gone from both")

        new = Fleet(tmp_path / "new")
        assert "this one has others" in new.leeward("restore", str(backup), "--yes")
        assert "the control plane does not run" in new.leeward("cordon", "member1", fails=True)
        assert not endpoints_without_members(Layout(new.data_dir)) & endpoints(old), "never to theirs"
        with running_fleet(new.data_dir):
            new.eventually(lambda: all(has_note(new, name) for name in members), "it is made again in the new fleet")
            assert not endpoints(new) & endpoints(old)
        assert not any(has_note(old, name) for name in members)
        assert old.taints("member1") == set()
