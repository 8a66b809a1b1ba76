"""member3 leaves, comes back as a Pull member with its own agent, fails over, takes others in, and leaves again."""

import json
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.e2e.applications import has_moved_to, is_cleaned_up, place_divided, ready_in, remove
from tests.e2e.fleet import NO_EXECUTE, Fleet
from tests.e2e.program import Program
from tests.kubectl import run_command

UNREACHABLE = {"cluster.karmada.io/unreachable:NoSchedule", "cluster.karmada.io/unreachable:NoExecute"}


@pytest.fixture(scope="module")
def agent(fleet: Fleet) -> Generator[Program]:
    """The agent of member3, which has left as a Push member; afterwards it is one again."""
    member = str(fleet.members["member3"].kubeconfig)
    assert "has left" in fleet.leeward("unjoin", "member3", "--cluster-kubeconfig", member)
    assert not fleet.exists("namespace", "karmada-es-member3")
    assert not fleet.exists("serviceaccount", "karmada-member3", "-n", "karmada-cluster", context="member3")
    agent = fleet.agent("member3", register(fleet, "member3"))
    agent.start()
    try:
        fleet.eventually(lambda: fleet.exists("cluster", "member3") and fleet.is_back("member3"), "member3 has joined")
        yield agent
        assert "has left" in fleet.leeward("unregister", "member3")
    finally:
        agent.stop()
        fleet.join("member3")
    fleet.eventually(lambda: fleet.is_back("member3"), "member3 is a Push member again")


def register(fleet: Fleet, name: str) -> Path:
    """Registers as a user does: with the command that `token create` prints. Gives the agent's kubeconfig."""
    identity = fleet.directory / f"{name}-agent" / "kubeconfig"
    identity.parent.mkdir(exist_ok=True)
    identity.unlink(missing_ok=True)
    _, *arguments = fleet.leeward("token", "create", "--ttl", "1h", "--description", name).split()
    arguments[arguments.index("NAME")] = name
    command = [sys.executable, "-m", "leeward.cli", *arguments, "--karmada-kubeconfig", str(identity)]
    ca_hash = next(argument for argument in arguments if argument.startswith("sha256:"))
    wrong = [argument.replace(ca_hash, "sha256:" + "0" * 64) for argument in command]
    assert "take the hash that" in run_command(wrong, fails=True)
    assert not identity.exists()
    assert "now run" in run_command(command)
    assert identity.stat().st_mode & 0o077 == 0
    token = arguments[arguments.index("--token") + 1]
    assert token.partition(".")[0] in fleet.leeward("token", "list")
    assert "deleted" in fleet.leeward("token", "delete", token)
    assert "there is no bootstrap token" in fleet.leeward("token", "delete", token, fails=True)
    return identity


def test_a_pull_member_joins_by_its_agent_fails_over_and_leaves(fleet: Fleet, agent: Program) -> None:
    assert fleet.get("cluster", "member3")["spec"]["syncMode"] == "Pull"
    refuse_what_is_not_its_own(fleet)
    place_divided(fleet, "member3", "member2")
    agent.kill()
    fleet.eventually(lambda: fleet.ready("member3") == ("Unknown", "ClusterStatusUnknown"), "member3 is silent")
    fleet.eventually(lambda: fleet.taints("member3") == UNREACHABLE, f"member3 has {UNREACHABLE}")
    fleet.eventually(lambda: has_moved_to(fleet, {"member2": 3}), "member2 has 3 and the task is gone")
    assert ready_in(fleet, "member3") == 1, "what runs there cannot be reached"
    agent.start()
    fleet.eventually(lambda: fleet.is_back("member3"), "member3 is back")
    fleet.eventually(lambda: is_cleaned_up(fleet, "member3"), "what was left behind is cleaned up")
    remove(fleet)
    fleet.release("member3")


def test_l6_an_agent_that_dies_while_its_cluster_takes_another_in_goes_on_when_it_is_back(
    fleet: Fleet, agent: Program
) -> None:
    place_divided(fleet, "member1", "member3")
    uid = fleet.get("deployment", "nginx", context="member3")["metadata"]["uid"]
    fleet.members["member1"].kill()
    fleet.eventually(lambda: NO_EXECUTE in fleet.taints("member1"), f"member1 has {NO_EXECUTE}")
    agent.kill()
    agent.start()
    fleet.eventually(lambda: has_moved_to(fleet, {"member3": 3}), "member3 has 3 and the task is gone")
    assert ready_in(fleet, "member3") == 3
    assert fleet.get("deployment", "nginx", context="member3")["metadata"]["uid"] == uid, "the copy was never removed"
    fleet.members["member1"].restart()
    fleet.eventually(lambda: is_cleaned_up(fleet, "member1"), "the old copy is removed")
    remove(fleet)
    fleet.release("member1")


def refuse_what_is_not_its_own(fleet: Fleet) -> None:
    """An agent touches its own Cluster, lease and execution space, and no other."""

    def told(*arguments: str, stdin: str = "") -> str:
        identity = str(fleet.directory / "member3-agent" / "kubeconfig")
        return run_command(["kubectl", "--kubeconfig", identity, *arguments], fails=True, stdin=stdin)

    assert "Forbidden" in told("get", "secrets", "-A")
    assert "Forbidden" in told("get", "works", "-n", "karmada-es-member1")
    assert "Forbidden" in told("patch", "cluster", "member1", "--type=merge", "-p", '{"spec": {"taints": []}}')
    cluster = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "other"}}
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "member1", "namespace": "karmada-cluster"},
    }
    for foreign in ({**cluster, "spec": {"syncMode": "Pull"}}, lease):
        said = told("create", "--validate=false", "-f", "-", stdin=json.dumps(foreign))
        assert "may only touch what belongs to that cluster" in said
