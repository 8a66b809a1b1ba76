"""A cluster joins once, leaves by the verb for its mode, and finds the way back: real processes, as a user types it."""

import json
from collections.abc import Generator

import pytest

from tests.kubectl import CONTROL_PLANE
from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

PROXY = "/apis/cluster.karmada.io/v1alpha1/clusters/{}/proxy/api/v1/namespaces"
MEMBERS = ("member1", "member3")
HERE = ("--karmada-context", CONTROL_PLANE)

pytestmark = [pytest.mark.processes, needs_kubectl]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    options = ("--member", "member1=push", "--member", "member3=pull")
    with running_fleet(tmp_path_factory.mktemp("fleet"), *options) as running:
        yield running


def own_id(fleet: Fleet, context: str) -> str:
    return fleet.get("namespace", "kube-system", context=context)["metadata"]["uid"]


def clusters(fleet: Fleet) -> dict[str, str]:
    """The uid of each Cluster by its name."""
    return {item["metadata"]["name"]: item["metadata"]["uid"] for item in fleet.get("clusters")["items"]}


def on_control_plane(fleet: Fleet, *arguments: str, fails: bool = False) -> str:
    """Runs `join`, `unjoin` and `unregister`: `--data-dir` is none of their options, but taken by all verbs."""
    return fleet.leeward(*arguments, "--kubeconfig", str(fleet.kubeconfig), *HERE, fails=fails)


def join(fleet: Fleet, name: str, context: str, *, fails: bool = False) -> str:
    there = ("--cluster-kubeconfig", str(fleet.kubeconfig), "--cluster-context", context)
    return on_control_plane(fleet, "join", name, *there, fails=fails)


def serves_users(fleet: Fleet, name: str) -> bool:
    """Through the cluster proxy, as the user who asks."""
    found = json.loads(fleet.kubectl("get", "--raw", PROXY.format(name)))
    return "kube-system" in {item["metadata"]["name"] for item in found["items"]}


def is_back(fleet: Fleet, name: str) -> bool:
    cluster = fleet.get("cluster", name)
    return (
        fleet.ready(name)[0] == "True"
        and cluster["spec"]["id"] == own_id(fleet, name)
        and cluster["spec"]["impersonatorSecretRef"]["name"] == f"{name}-impersonator"
        and serves_users(fleet, name)
    )


def test_members_are_known_by_their_own_namespace(fleet: Fleet) -> None:
    for name in MEMBERS:
        fleet.eventually(lambda name=name: is_back(fleet, name), f"{name} is joined, and serves users")


def test_a_cluster_that_has_joined_is_refused_under_another_name(fleet: Fleet) -> None:
    before = clusters(fleet)
    assert "joined already, as member1: " in join(fleet, "again", "member1", fails=True)
    assert "`leeward unregister member3` first" in join(fleet, "again", "member3", fails=True)
    assert "is the control plane itself" in join(fleet, "itself", CONTROL_PLANE, fails=True)
    by_hand = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "by-hand"},
        "spec": {"syncMode": "Pull", "id": own_id(fleet, "member1")},
    }
    said = fleet.kubectl("apply", "-f", "-", stdin=json.dumps(by_hand), fails=True)
    assert "joined already, as member1" in said
    assert clusters(fleet) == before
    assert not fleet.exists("serviceaccounts", "-n", "karmada-cluster", context="member1"), "nothing was done there"


def test_each_mode_leaves_by_its_own_verb(fleet: Fleet) -> None:
    before = clusters(fleet)
    assert "use `leeward unjoin member1`" in on_control_plane(fleet, "unregister", "member1", fails=True)
    assert "use `leeward unregister member3`" in on_control_plane(fleet, "unjoin", "member3", fails=True)
    assert clusters(fleet) == before
    for name in MEMBERS:
        assert fleet.ready(name)[0] == "True"


def test_a_member_that_has_left_is_added_again_with_what_it_holds(fleet: Fleet) -> None:
    fleet.kubectl("create", "configmap", "its-own", context="member1")
    uid = fleet.get("configmap", "its-own", context="member1")["metadata"]["uid"]
    on_control_plane(fleet, "unjoin", "member1")
    assert "has joined" in fleet.leeward("member", "add", "member1")
    fleet.eventually(lambda: is_back(fleet, "member1"), "member1 is back")
    assert fleet.get("configmap", "its-own", context="member1")["metadata"]["uid"] == uid
    assert "there is a member member1 in this fleet already" in fleet.leeward("member", "add", "member1", fails=True)


def test_a_member_joins_as_any_cluster_does_and_comes_back_to_its_fleet(fleet: Fleet) -> None:
    """Includes `unjoin` with the member's kubeconfig, which takes out what `join` has put there, and nothing else."""
    on_control_plane(fleet, "unjoin", "member1")
    join(fleet, "member1", "member1")
    fleet.eventually(lambda: is_back(fleet, "member1"), "member1 is back, as a cluster like any other")
    there = ("--cluster-kubeconfig", str(fleet.kubeconfig), "--cluster-context", "member1")
    on_control_plane(fleet, "unjoin", "member1", *there)
    fleet.leeward("member", "add", "member1")
    fleet.eventually(lambda: is_back(fleet, "member1"), "member1 is back, as a member of the fleet")


def test_a_pull_member_that_was_unregistered_comes_back_by_add_or_by_its_agent(fleet: Fleet) -> None:
    on_control_plane(fleet, "unregister", "member3")
    assert "has joined" in fleet.leeward("member", "add", "member3=pull")
    fleet.eventually(lambda: is_back(fleet, "member3"), "member3 was added again")
    on_control_plane(fleet, "unregister", "member3")
    fleet.leeward("member", "stop", "member3", "--only", "agent")
    fleet.leeward("member", "start", "member3", "--only", "agent")
    fleet.eventually(lambda: is_back(fleet, "member3"), "its agent has joined it again, and users reach it")


POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-more}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [cluster.karmada.io], apiVersions: [v1alpha1], operations: [CREATE], resources: [clusters]}
  validations: [{expression: "false", message: no more clusters}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-more}
spec: {policyName: no-more, validationActions: [Deny]}
"""


def test_a_member_that_cannot_join_leaves_nothing(fleet: Fleet) -> None:
    fleet.kubectl("apply", "-f", "-", stdin=POLICY)
    joined = clusters(fleet)
    files = {path for path in fleet.data_dir.rglob("*") if "kubectl-cache" not in path.parts}
    fleet.eventually(lambda: "no more clusters" in fleet.leeward("member", "add", "member2", fails=True), "refused")
    assert {path for path in fleet.data_dir.rglob("*") if "kubectl-cache" not in path.parts} == files
    assert clusters(fleet) == joined
    assert "member2" not in fleet.kubectl("get", "secrets", "-n", "karmada-cluster", "-o", "name")
    fleet.eventually(lambda: "member2" not in fleet.leeward("status", "-o", "json"), "no trace of it")
    fleet.kubectl("delete", "-f", "-", stdin=POLICY)


def test_a_fleet_starts_although_one_of_its_members_has_joined_under_another_name(fleet: Fleet) -> None:
    on_control_plane(fleet, "unjoin", "member1")
    join(fleet, "other", "member1")
    said = fleet.leeward("member", "add", "member1", fails=True)
    assert "has joined already, as other" in said
    fleet.leeward("down")
    assert "joined as other" in fleet.leeward("up", "--detach")
    assert sorted(clusters(fleet)) == ["member3", "other"]
    on_control_plane(fleet, "unjoin", "other")
    fleet.leeward("member", "add", "member1")
    fleet.eventually(lambda: is_back(fleet, "member1"), "member1 is back under its own name")
