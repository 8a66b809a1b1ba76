"""Clusters in git on real processes: the real kubectl applies them again and again, and the failover comes."""

import threading
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.kubectl import CommandFailed
from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

pytestmark = [pytest.mark.processes, needs_kubectl]
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: nginx}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web, namespace: default}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  placement:
    clusterAffinities:
    - {affinityName: home, clusterNames: [member1]}
    - {affinityName: away, clusterNames: [member2]}
"""
IN_GIT = """
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: member1}
spec: {syncMode: Push, taints: []}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Generator[Fleet]:
    members = [argument for name in ("member1", "member2", "member3") for argument in ("--member", name)]
    with running_fleet(tmp_path, *members) as running:
        yield running


def test_l2_a_cluster_that_is_applied_again_and_again_fails_over(fleet: Fleet) -> None:
    fleet.kubectl("apply", "-f", "-", stdin=WEB)
    fleet.eventually(lambda: list(fleet.assigned("web-deployment")) == ["member1"], "it is placed")
    is_over = threading.Event()

    def sync() -> None:
        apply = ("apply", "--server-side", "--force-conflicts", "--field-manager=argocd-controller", "-f", "-")
        while not is_over.wait(1):
            with suppress(CommandFailed):
                fleet.kubectl(*apply, stdin=IN_GIT)

    tool = threading.Thread(target=sync)
    tool.start()
    try:
        fleet.leeward("member", "stop", "member1")
        fleet.eventually(lambda: list(fleet.assigned("web-deployment")) == ["member2"], "it moves", times=3)
        conditions = fleet.get("cluster", "member1")["status"]["conditions"]
        (told,) = (each for each in conditions if each["type"] == "leeward.dev/TaintsRemoved")
        assert "argocd-controller" in told["message"]
        assert "taken off by argocd-controller" in fleet.overview()
    finally:
        is_over.set()
        tool.join()
