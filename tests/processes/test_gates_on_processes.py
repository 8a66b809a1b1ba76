"""A failover waits for its data: real processes, driven by the real kubectl; the member is asked over its own API."""

from collections.abc import Generator

import pytest

from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

pytestmark = [pytest.mark.processes, needs_kubectl]

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: volumereplicationgroups.ramendr.openshift.io}
spec:
  group: ramendr.openshift.io
  scope: Namespaced
  names:
    {plural: volumereplicationgroups, singular: volumereplicationgroup, kind: VolumeReplicationGroup,
     listKind: VolumeReplicationGroupList}
  versions:
  - {name: v1alpha1, served: true, storage: true,
     schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
"""
GROUP = """
apiVersion: ramendr.openshift.io/v1alpha1
kind: VolumeReplicationGroup
metadata: {name: ledger}
status: {state: Secondary}
"""
LEDGER = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ledger
  annotations:
    leeward.dev/wait-for: |
      apiVersion: ramendr.openshift.io/v1alpha1
      kind: VolumeReplicationGroup
      for: jsonpath={.status.state}=Primary
    leeward.dev/keep-until: |
      apiVersion: v1
      kind: ConfigMap
      in: ControlPlane
      for: jsonpath={.data.synced}=$(cluster)
spec:
  replicas: 2
  selector: {matchLabels: {app: ledger}}
  template:
    metadata: {labels: {app: ledger}}
    spec: {containers: [{name: main, image: nginx}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: ledger}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: ledger}]
  placement:
    clusterAffinities:
    - {affinityName: home, clusterNames: [member1]}
    - {affinityName: spare, clusterNames: [member2]}
    replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}
"""
HELD = "leeward.dev/ReplacementHeld"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    with running_fleet(tmp_path_factory.mktemp("fleet"), "--member", "member1", "--member", "member2") as running:
        yield running


def held(fleet: Fleet) -> str:
    """Message of the condition; empty where no gate holds anything."""
    conditions = fleet.get("resourcebinding", "ledger-deployment")["status"].get("conditions", [])
    return next((each["message"] for each in conditions if each["type"] == HELD), "")


def ready_in(fleet: Fleet, member: str) -> int:
    if not fleet.exists("deployment", "ledger", context=member):
        return 0
    return fleet.get("deployment", "ledger", context=member).get("status", {}).get("readyReplicas", 0)


def test_a_drain_and_an_outage_wait_for_what_the_member_itself_says(fleet: Fleet) -> None:
    for member in ("member1", "member2"):
        fleet.kubectl("create", "-f", "-", context=member, stdin=DEFINITION)
    for member in ("member1", "member2"):
        established = ("crd/volumereplicationgroups.ramendr.openshift.io", "--for=condition=Established")
        fleet.kubectl("wait", *established, context=member)
        fleet.kubectl("create", "-f", "-", context=member, stdin=GROUP)
    fleet.kubectl("create", "-f", "-", stdin=LEDGER)
    fleet.eventually(lambda: fleet.exists("resourcebinding", "ledger-deployment"), "it is claimed")
    fleet.eventually(lambda: ready_in(fleet, "member1") == 2, "the first placement waits for nothing")

    fleet.leeward("member", "stop", "member1")
    named = "VolumeReplicationGroup default/ledger in member2"
    told = "its {.status.state} is Secondary"
    fleet.eventually(lambda: told in held(fleet), "it is held, and looked at")
    assert named in held(fleet)
    assert not fleet.exists("deployment", "ledger", context="member2")
    assert "waits for a gate" in fleet.leeward("explain", "deploy/ledger", fails=True)
    promoted = '{"status": {"state": "Primary"}}'
    fleet.kubectl("patch", "volumereplicationgroup", "ledger", "--type", "merge", "-p", promoted, context="member2")
    fleet.eventually(lambda: ready_in(fleet, "member2") == 2, "its data is there")

    fleet.leeward("member", "start", "member1")
    fleet.eventually(lambda: fleet.ready("member1")[0] == "True", "member1 is back")
    fleet.eventually(lambda: "ConfigMap default/ledger in the control plane" in held(fleet), "the old copy is kept")
    assert ready_in(fleet, "member1") == 2
    fleet.kubectl("create", "configmap", "ledger", "--from-literal=synced=member2")
    fleet.eventually(lambda: not fleet.exists("deployment", "ledger", context="member1"), "the old copy goes")
    assert ready_in(fleet, "member2") == 2
    fleet.eventually(lambda: held(fleet) == "", "nothing is held any more")
