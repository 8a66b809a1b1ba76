"""A FederatedResourceQuota typed as a user does: limits in clusters, what is used, what is refused, and a failover."""

from collections.abc import Generator

import pytest

from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

pytestmark = [pytest.mark.processes, needs_kubectl]

QUOTA = """
apiVersion: policy.karmada.io/v1alpha1
kind: FederatedResourceQuota
metadata: {name: team, namespace: default}
spec:
  overall: {cpu: 4}
  staticAssignments:
  - {clusterName: member1, hard: {cpu: 4}}
"""
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: nginx, resources: {requests: {cpu: 1}}}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  placement:
    clusterAffinity: {clusterNames: [member1, member2]}
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
      weightPreference: {staticWeightList: [
        {targetCluster: {clusterNames: [member1]}, weight: 1},
        {targetCluster: {clusterNames: [member2]}, weight: 1}]}
"""
BINDING, GATE = "web-deployment", "FederatedQuotaEnforcement=true"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    members = ("--member", "member1", "--member", "member2")
    with running_fleet(tmp_path_factory.mktemp("fleet"), *members, "--feature-gates", GATE) as running:
        yield running


def used(fleet: Fleet) -> str:
    return fleet.get("federatedresourcequota", "team")["status"].get("overallUsed", {}).get("cpu", "0")


def reason(fleet: Fleet) -> str:
    conditions = fleet.binding(BINDING)["status"]["conditions"]
    return next(condition["reason"] for condition in conditions if condition["type"] == "Scheduled")


def test_a_quota_limits_clusters_and_growth_and_holds_up_no_failover(fleet: Fleet) -> None:
    fleet.kubectl("apply", "-f", "-", stdin=QUOTA)
    fleet.eventually(lambda: fleet.exists("resourcequota", "team", context="member1"), "member1 has its limit")
    assert fleet.get("resourcequota", "team", context="member1")["spec"] == {"hard": {"cpu": "4"}}

    fleet.kubectl("apply", "-f", "-", stdin=WEB)
    fleet.eventually(lambda: fleet.assigned(BINDING) == {"member1": 2, "member2": 2}, "it is placed")
    fleet.eventually(lambda: used(fleet) == "4", "all of it is used")
    shown = fleet.kubectl("get", "federatedresourcequotas", "team", "--no-headers").split()
    assert shown == ["team", '{"cpu":"4"}', '{"cpu":"4"}']
    fleet.eventually(
        lambda: fleet.get("resourcequota", "team", context="member1")["status"].get("used") == {"cpu": "2"}, "counted"
    )

    fleet.kubectl("scale", "deployment/web", "--replicas=6")
    fleet.eventually(lambda: reason(fleet) == "QuotaExceeded", "more is refused")
    said = "FederatedResourceQuota(default/team) exceeded for resource cpu: requested sum 6, limit 4."
    assert said in fleet.kubectl("get", "events", "--field-selector", "reason=ScheduleBindingFailed")

    fleet.leeward("member", "stop", "member1")
    fleet.eventually(lambda: fleet.assigned(BINDING) == {"member2": 4}, "what there is has moved", times=2)
    assert used(fleet) == "4"

    limits = '{"spec": {"overall": {"cpu": "8"}}}'
    fleet.kubectl("patch", "federatedresourcequota", "team", "--type=merge", "--patch", limits)
    fleet.eventually(lambda: fleet.assigned(BINDING) == {"member2": 6}, "what was refused is placed")

    fleet.leeward("member", "start", "member1")
    fleet.kubectl("delete", "federatedresourcequota", "team")
    fleet.eventually(lambda: not fleet.exists("resourcequota", "team", context="member1"), "the limit goes")


def test_a_quota_that_contradicts_itself_is_refused_with_every_problem(fleet: Fleet) -> None:
    broken = QUOTA.replace("overall: {cpu: 4}", "overall: {cpu: 6, memory: -1}").replace(
        "hard: {cpu: 4}", "hard: {pods: 1}", 1
    )
    said = fleet.kubectl("apply", "-f", "-", stdin=broken.replace("name: team", "name: broken"), fails=True)
    for field in ("spec.overall[memory]", "spec.staticAssignments[0].hard[pods]"):
        assert field in said
