"""Values of an older Karmada on real processes: with the real kubectl they are taken, and a member dies with them."""

import sqlite3
import zlib
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

pytestmark = [pytest.mark.processes, needs_kubectl]

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: nginx}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  propagateDeps: true
  failover:
    application: {decisionConditions: {tolerationSeconds: 300}, purgeMode: Graciously}
  placement:
    clusterAffinity: {clusterNames: [member1, member2]}
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
      weightPreference:
        staticWeightList:
        - {targetCluster: {clusterNames: [member1]}, weight: 1}
        - {targetCluster: {clusterNames: [member2]}, weight: 1}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Generator[Fleet]:
    with running_fleet(tmp_path, "--member", "member1", "--member", "member2") as running:
        yield running


def store_old_words(fleet: Fleet) -> int:
    """Rewrites records of the control plane's store, which is stopped, as an older Karmada has written them."""
    rewritten = 0
    with sqlite3.connect(fleet.data_dir / "control-plane" / "store.db") as store:
        found = store.execute("SELECT revision, key, deleted, value FROM records WHERE key LIKE '%karmada.io/%'")
        for revision, key, deleted, value in found.fetchall():
            if b'"purgeMode":"Gracefully"' in value:
                old = value.replace(b'"purgeMode":"Gracefully"', b'"purgeMode":"Graciously"')
                checksum = zlib.crc32(old, zlib.crc32(f"{revision} {deleted} {key}".encode()))
                store.execute("UPDATE records SET value=?, checksum=? WHERE revision=?", (old, checksum, revision))
                rewritten += 1
    return rewritten


def test_old_purge_modes_are_taken_with_a_warning_and_what_is_stored_with_them_fails_over(fleet: Fleet) -> None:
    said = fleet.kubectl("apply", "-f", "-", "--warnings-as-errors", stdin=WEB, fails=True)
    assert "Graciously is read as Gracefully; write Gracefully" in said
    assert fleet.get("propagationpolicy", "web")["spec"]["failover"]["application"]["purgeMode"] == "Gracefully"
    fleet.eventually(lambda: fleet.assigned("web-deployment") == {"member1": 2, "member2": 2}, "web is placed")

    fleet.leeward("down")
    assert store_old_words(fleet) >= 2
    fleet.leeward("up", "--timing", "fast", "--detach", "--no-dashboard")
    assert "cannot be read" not in fleet.leeward("status")

    fleet.leeward("member", "stop", "member1")
    fleet.eventually(lambda: fleet.assigned("web-deployment") == {"member2": 4}, "web is where a member lives", times=3)
    fleet.eventually(
        lambda: fleet.get("deployment", "web", context="member2").get("status", {}).get("readyReplicas") == 4,
        "all of it serves",
    )
