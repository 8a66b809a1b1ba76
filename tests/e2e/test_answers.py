"""The verbs that answer, before, during and after an outage on real Kubernetes, as a user who may only read."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.applications import BINDING, has_moved_to, is_cleaned_up, place_divided, remove
from tests.e2e.fleet import Fleet
from tests.e2e.writes import Writes

VIEWER = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: viewer, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: viewer}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: viewer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: viewer}
subjects: [{kind: ServiceAccount, name: viewer, namespace: default}]
"""
WELL, FINDINGS = 0, 1
VERB_SECONDS = 120.0
FORBIDDEN = "(403)"


def test_what_is_told_beforehand_comes_true_is_explained_and_remembered_and_nothing_is_written(
    fleet: Fleet, tmp_path: Path
) -> None:
    place_divided(fleet, "member1", "member2")
    viewer, before = viewing(fleet, tmp_path / "viewer"), Writes.of(fleet.control_plane)

    def asked(code: int, *arguments: str) -> Any:
        return json.loads(said(viewer, code, *arguments, "-o", "json"))

    foretold = asked(WELL, "what-if", "--fail", "member1")
    (fate,) = (each for each in foretold["applications"] if each["binding"] == f"default/{BINDING}")
    assert (fate["before"], fate["after"]) == ({"member1": 1, "member2": 2}, {"member2": 3})
    picture = tmp_path / "fleet.json"
    said(viewer, WELL, "snapshot", str(picture))
    from_file = json.loads(run(WELL, "what-if", "--fail", "member1", "--from", str(picture), "-o", "json"))
    assert places(from_file) == places(foretold)
    assert asked(WELL, "explain", "deploy/nginx")["workload"] == "Deployment default/nginx"
    linted = asked(WELL, "lint")
    assert (linted["unseen"], linted["unasked"]) == ([], [])
    losses = {each["loss"]: each["missing"] for each in asked(WELL, "resilience")["losses"]}
    assert losses == {"member1": 0, "member2": 0, "member3": 0}

    fleet.members["member1"].kill()
    try:
        fleet.eventually(lambda: has_moved_to(fleet, fate["after"]), "it is where what-if has said")
        fleet.eventually(lambda: "moved" in fleet.kubectl("get", "outages", "-o", "yaml"), "the outage is written down")
        (running,) = (each for each in asked(FINDINGS, "timeline")["outages"] if each["running"])
        assert (running["cluster"], running["headline"].partition(" ")[0]) == ("member1", "member1")
        assert "member1" in said(viewer, FINDINGS, "explain", "cluster/member1")
    finally:
        fleet.members["member1"].restart()
    fleet.eventually(lambda: fleet.is_back("member1"), "member1 is back")
    fleet.eventually(lambda: is_cleaned_up(fleet, "member1"), "what was left behind is cleaned up")
    name = running["name"]
    fleet.eventually(lambda: not asked_of(viewer, name)["running"], "the outage is over")
    told = asked_of(viewer, name)
    assert [each["name"] for each in told["applications"] if each["state"] == "Moved"] == ["nginx"]
    assert "default/nginx" in said(viewer, WELL, "timeline", "--outage", name, "-o", "markdown")

    assert [what for what in Writes.of(fleet.control_plane).since(before).by_what if FORBIDDEN in what] == []
    remove(fleet)
    fleet.release("member1")


def places(told: Any) -> dict[str, dict[str, int]]:
    return {each["binding"]: each["after"] for each in told["applications"]}


def asked_of(viewer: Path, outage: str) -> Any:
    (told,) = json.loads(said(viewer, WELL, "timeline", "--outage", outage, "-o", "json"))["outages"]
    return told


def viewing(fleet: Fleet, directory: Path) -> Path:
    """A kubeconfig of somebody who may read all, and write nothing: what they tried to write would be counted."""
    fleet.kubectl("apply", "-f", "-", stdin=VIEWER)
    token = fleet.kubectl("create", "token", "viewer", "--duration=1h").strip()
    config = yaml.safe_load(fleet.control_plane.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    directory.mkdir()
    path = directory / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    path.chmod(0o600)
    return path


def said(viewer: Path, code: int, *arguments: str) -> str:
    return run(code, *arguments, "--kubeconfig", str(viewer))


def run(code: int, *arguments: str) -> str:
    """Gives what a verb prints that ends with the code."""
    command = [sys.executable, "-m", "leeward.cli", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=VERB_SECONDS, check=False)
    assert done.returncode == code, f"{' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout
