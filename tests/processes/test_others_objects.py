"""Objects of others in members, under the names of ours: real processes, driven by the real kubectl."""

from collections.abc import Generator

import pytest

from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

pytestmark = [pytest.mark.processes, needs_kubectl]

WEB = """
apiVersion: v1
kind: ConfigMap
metadata: {name: db}
data: {db: prod}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: nginx, envFrom: [{configMapRef: {name: db}}]}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  propagateDeps: true
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  placement:
    clusterAffinities:
    - {affinityName: first, clusterNames: [member1]}
    - {affinityName: second, clusterNames: [member2]}
    - {affinityName: third, clusterNames: [member3]}
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    members = [each for name in ("member1", "member2", "member3") for each in ("--member", name)]
    with running_fleet(tmp_path_factory.mktemp("fleet"), *members, "--graceful-eviction-timeout", "4s") as running:
        yield running


def ready_in(fleet: Fleet, member: str) -> int:
    return fleet.get("deployment", "web", context=member).get("status", {}).get("readyReplicas", 0)


def is_moved(fleet: Fleet) -> bool:
    """Tells whether the old copy is gone. Until then it serves."""
    serves = ready_in(fleet, "member1") if fleet.exists("deployment", "web", context="member1") else 0
    moved = list(fleet.assigned("web-deployment")) == ["member3"] and ready_in(fleet, "member3") == 2
    assert serves == 2 or moved
    return serves == 0


def test_a_drain_leaves_the_good_copy_until_a_cluster_takes_what_it_needs(fleet: Fleet) -> None:
    fleet.kubectl("apply", "-f", "-", stdin=WEB)
    fleet.eventually(lambda: ready_in(fleet, "member1") == 2, "web runs in member1")
    fleet.kubectl("create", "configmap", "db", "--from-literal=db=TEST", context="member2")
    fleet.leeward("drain", "member1")
    fleet.eventually(lambda: is_moved(fleet), "it goes on to member3")
    assert ready_in(fleet, "member3") == 2
    assert fleet.get("configmap", "db", context="member3")["data"] == {"db": "prod"}
    assert fleet.get("configmap", "db", context="member2")["data"] == {"db": "TEST"}
    told = fleet.kubectl("get", "events", "--field-selector", "reason=DependenciesRefused")
    assert "ConfigMap db" in told
