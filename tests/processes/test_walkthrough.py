"""The walkthrough as a user types it: real processes, TLS, real time-outs, the real kubectl."""

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from leeward.api.names import NOT_SEEN_SINCE
from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

EXAMPLES = Path(__file__).parents[2] / "examples"
NOT_READY = {"cluster.karmada.io/not-ready:NoSchedule", "cluster.karmada.io/not-ready:NoExecute"}
UNREACHABLE = {"cluster.karmada.io/unreachable:NoSchedule", "cluster.karmada.io/unreachable:NoExecute"}
WORK = "nginx-687f7fb96f"

pytestmark = [pytest.mark.processes, needs_kubectl]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    with running_fleet(tmp_path_factory.mktemp("fleet")) as running:
        yield running


def divided_over(fleet: Fleet, first: str, second: str) -> None:
    """Creates nginx, one replica on `first` and two on `second`, and waits until they run."""
    manifest = (EXAMPLES / "divided.yaml").read_text().replace("member1", "\0").replace("member2", second)
    fleet.kubectl("create", "-f", "-", stdin=manifest.replace("\0", first))
    fleet.eventually(lambda: fleet.exists("resourcebinding", "nginx-deployment"), "the binding is there")
    fleet.eventually(lambda: fleet.assigned("nginx-deployment") == {first: 1, second: 2}, "1:2")
    fleet.eventually(lambda: ready_in_template(fleet) == 3, "the template says 3/3")
    for member in (first, second):
        assert fleet.exists("work", WORK, "-n", f"karmada-es-{member}")
    pods = fleet.get("pods", context=second)["items"]
    assert [pod["status"]["phase"] for pod in pods] == ["Running", "Running"]


def ready_in_template(fleet: Fleet) -> int:
    return fleet.get("deployment", "nginx").get("status", {}).get("readyReplicas", 0)


def moved_to(fleet: Fleet, member: str) -> bool:
    spec = fleet.binding("nginx-deployment")["spec"]
    return fleet.assigned("nginx-deployment") == {member: 3} and not spec.get("gracefulEvictionTasks")


def waits_for_its_cluster(fleet: Fleet, member: str) -> bool:
    work = fleet.get("work", WORK, "-n", f"karmada-es-{member}")
    reasons = [each["reason"] for each in work["status"]["conditions"] if each["type"] == "leeward.dev/Leaving"]
    return reasons == ["ClusterNotReady"] and "deletionTimestamp" not in work["metadata"]


def cleaned_up(fleet: Fleet, member: str) -> bool:
    return not fleet.exists("work", WORK, "-n", f"karmada-es-{member}") and not fleet.exists(
        "deployment", "nginx", context=member
    )


def delete_nginx(fleet: Fleet) -> None:
    fleet.kubectl("delete", "deployment/nginx", "propagationpolicy/nginx-propagation")
    fleet.eventually(lambda: not fleet.exists("resourcebinding", "nginx-deployment"), "the binding is gone")
    for member in ("member1", "member2", "member3"):
        fleet.eventually(lambda member=member: cleaned_up(fleet, member), f"nothing is left in {member}")


def described(fleet: Fleet) -> str:
    """The binding, with one space between words."""
    return " ".join(fleet.kubectl("describe", "resourcebinding", "nginx-deployment").split())


def outage_told(fleet: Fleet, member: str) -> bool:
    told, wide = described(fleet), fleet.kubectl("get", "resourcebinding", "nginx-deployment", "-o", "wide")
    leaves = told.partition(f"the copy in {member} is evicted at ")[2].partition(" ")[0]
    return (
        "Type: leeward.dev/ClusterOutage" in told
        and all(part in told for part in (f"{member} is down (since", "in member2, unless", NOT_SEEN_SINCE))
        and leaves != ""
        and wide.split()[-1] == leaves
    )


def told_last(fleet: Fleet, member: str) -> str:
    """The state that is the last in the events of `kubectl describe`."""
    told = fleet.kubectl("describe", "cluster", member).splitlines()
    return [line[line.index("Ready is now") :].split(":")[0] for line in told if "Ready is now" in line][-1]


@pytest.mark.parametrize(
    ("victim", "die", "revive", "ready", "taints"),
    [
        ("member1", "stop", "start", ("False", "ClusterNotReachable"), NOT_READY),
        ("member1", "pause", "resume", ("False", "ClusterNotReachable"), NOT_READY),
        ("member1", "unready", "ready", ("False", "ClusterNotReady"), NOT_READY),
        ("member1", "stall", "serve", ("False", "ClusterNotServing"), NOT_READY),
        ("member3", "stop", "start", ("Unknown", "ClusterStatusUnknown"), UNREACHABLE),
        ("member3", "pause", "resume", ("Unknown", "ClusterStatusUnknown"), UNREACHABLE),
        ("member3", "unready", "ready", ("False", "ClusterNotReady"), NOT_READY),
        ("member3", "stall", "serve", ("False", "ClusterNotServing"), NOT_READY),
    ],
)
def test_a_member_dies_its_replica_moves_and_nothing_moves_back(
    fleet: Fleet, victim: str, die: str, revive: str, ready: tuple[str, str], taints: set[str]
) -> None:
    divided_over(fleet, victim, "member2")
    fleet.leeward("member", die, victim)
    fleet.eventually(lambda: fleet.ready(victim) == ready, f"{victim} is {ready}")
    fleet.eventually(lambda: told_last(fleet, victim) == f"Ready is now {ready[0]}", "describe tells that last")
    fleet.eventually(lambda: outage_told(fleet, victim), "describe says what will become of it")
    events = fleet.kubectl("get", "events", "--field-selector", "reason=ClusterOutage,involvedObject.name=nginx")
    assert f"{victim} is down (since" in events
    fleet.eventually(lambda: fleet.taints(victim) == taints, f"{victim} has {taints}")
    fleet.eventually(lambda: moved_to(fleet, "member2"), "member2 has 3 and the task is gone")
    if ready[1] != "ClusterNotReady":
        fleet.eventually(lambda: waits_for_its_cluster(fleet, victim), "the old Work waits for its cluster")
    told = fleet.kubectl("describe", "resourcebinding", "nginx-deployment")
    assert "EvictWorkloadFromClusterSucceed" in told
    assert "Result: {member2:3}" in told
    fleet.eventually(lambda: "Type: leeward.dev/ClusterOutage" not in described(fleet), "it is over")

    fleet.leeward("member", revive, victim)
    fleet.eventually(lambda: fleet.ready(victim)[0] == "True" and not fleet.taints(victim), f"{victim} is back")
    fleet.eventually(lambda: told_last(fleet, victim) == "Ready is now True", "describe tells that last")
    fleet.eventually(lambda: cleaned_up(fleet, victim), "what was left behind is cleaned up")
    assert fleet.assigned("nginx-deployment") == {"member2": 3}
    delete_nginx(fleet)


def test_an_outage_is_listed_and_told_and_survives_the_control_plane(fleet: Fleet) -> None:
    divided_over(fleet, "member1", "member2")
    fleet.leeward("member", "stop", "member1")
    fleet.eventually(lambda: moved_to(fleet, "member2"), "member2 has 3 and the task is gone")
    fleet.eventually(lambda: row_of(fleet, "member1")[2:5] == ["running", "1", "0"], "one has moved, and none is held")
    assert row_of(fleet, "member1")[5].endswith("s"), "the worst recovery time"
    told = fleet.leeward("timeline", "--cluster", "member1", fails=True)
    assert "default/nginx leaves" in told, "it exits with 1 while the outage is running"
    assert "default/nginx  member2:1" in told
    uid = outage_of(fleet, "member1")["metadata"]["uid"]
    fleet.leeward("down")
    fleet.leeward("up", "--detach")
    fleet.leeward("member", "start", "member1")
    fleet.eventually(lambda: fleet.ready("member1")[0] == "True", "member1 is back")
    fleet.eventually(lambda: outage_of(fleet, "member1")["status"]["phase"] == "Over", "the outage is over")
    assert outage_of(fleet, "member1")["metadata"]["uid"] == uid
    report = fleet.leeward("timeline", "--app", "deploy/nginx", "-o", "markdown")
    assert "| default/nginx | member2:1 |" in report
    explained = fleet.kubectl("explain", "outages.status.recovery")
    assert "from the first failure until a replacement was healthy" in explained
    delete_nginx(fleet)


def outage_of(fleet: Fleet, member: str) -> dict[str, Any]:
    """Last outage of the member."""
    items: list[dict[str, Any]] = fleet.get("outages")["items"]
    return max((each for each in items if each["spec"]["cluster"] == member), key=lambda each: each["spec"]["since"])


def row_of(fleet: Fleet, member: str) -> list[str]:
    """CLUSTER, SINCE, FOR, MOVED, HELD and WORST of its running outage, as `kubectl get` prints them."""
    rows = [line.split()[1:] for line in fleet.kubectl("get", "outg", "--no-headers").splitlines()]
    found = [row for row in rows if row[0] == member and row[2] == "running"]
    return found[0] if found else [""] * 6


def test_members_whose_answers_come_late_stay_ready_and_do_what_is_asked(fleet: Fleet) -> None:
    divided_over(fleet, "member1", "member3")
    for member in ("member1", "member3"):
        fleet.leeward("member", "slow", member, "--latency", "2s")
    fleet.kubectl("scale", "deployment/nginx", "--replicas=6")
    fleet.eventually(lambda: ready_in_template(fleet) == 6, "six are ready, however long it takes")
    for member in ("member1", "member3"):
        assert fleet.ready(member)[0] == "True"
        assert not fleet.taints(member)
        fleet.leeward("member", "slow", member, "--latency", "0s")
    assert fleet.assigned("nginx-deployment") == {"member1": 2, "member3": 4}
    delete_nginx(fleet)


def test_kubectl_apply_twice_changes_nothing_and_an_update_is_rolled_out(fleet: Fleet) -> None:
    manifest = (EXAMPLES / "divided.yaml").read_text()
    fleet.kubectl("apply", "-f", "-", stdin=manifest)
    fleet.eventually(lambda: ready_in_template(fleet) == 3, "the template says 3/3")
    assert "deployment.apps/nginx unchanged" in fleet.kubectl("apply", "-f", "-", stdin=manifest)
    fleet.kubectl("apply", "-f", "-", stdin=manifest.replace("image: nginx", "image: nginx:1.27"))

    def rolled_out() -> bool:
        found = fleet.get("deployment", "nginx", context="member2")
        image = found["spec"]["template"]["spec"]["containers"][0]["image"]
        return image == "nginx:1.27" and found["status"].get("updatedReplicas") == 2

    fleet.eventually(rolled_out, "the new image runs in member2")
    delete_nginx(fleet)


def test_a_fleet_that_was_stopped_has_everything_that_it_had(fleet: Fleet) -> None:
    fleet.kubectl("create", "configmap", "kept", "--from-literal=a=1")
    uid = fleet.get("configmap", "kept")["metadata"]["uid"]
    assert "member3" in fleet.leeward("down")
    assert "refused" in fleet.kubectl("get", "configmap", "kept", fails=True)
    fleet.leeward("up", "--detach")
    assert fleet.get("configmap", "kept")["metadata"]["uid"] == uid
    fleet.kubectl("delete", "configmap", "kept")


def test_members_join_and_leave_a_running_fleet(fleet: Fleet) -> None:
    fleet.leeward("member", "add", "member7=pull")
    fleet.eventually(lambda: fleet.ready("member7")[0] == "True", "member7 is ready")
    assert fleet.exists("namespace", "karmada-es-member7")
    fleet.leeward("member", "remove", "member7")
    assert not fleet.exists("cluster", "member7")
    assert not fleet.exists("namespace", "karmada-es-member7")


def test_bad_input_gets_an_error_that_names_the_field(fleet: Fleet) -> None:
    policy = (EXAMPLES / "divided.yaml").read_text().split("---")[1]
    both = policy.replace("clusterAffinity:", "clusterAffinities: [{affinityName: a}]\n    clusterAffinity:")
    told = fleet.kubectl("create", "-f", "-", stdin=both, fails=True)
    assert "spec.placement: " in told
    assert "clusterAffinity and clusterAffinities must not both be set" in told
    told = fleet.kubectl("create", "-f", "-", stdin=policy.replace("weight: 1", "weight: -1"), fails=True)
    assert "spec.placement.replicaScheduling.weightPreference.staticWeightList[0].weight" in told
    told = fleet.kubectl("create", "-f", "-", stdin=policy.replace("kind: Prop", "kind: Crop", 1), fails=True)
    assert "CropagationPolicy" in told
    assert "DNS" in fleet.leeward("member", "add", "Not_A_Name", fails=True)
    assert "already" in fleet.leeward("up", "--detach", fails=True)


def test_private_keys_and_tokens_are_the_users_alone(fleet: Fleet) -> None:
    secret = [path for path in fleet.data_dir.rglob("*") if path.suffix == ".key" or path.name == "tokens.csv"]
    assert len(secret) > 3
    for path in (*secret, fleet.kubeconfig):
        assert os.stat(path).st_mode & 0o077 == 0, path
    tables = [path.read_text() for path in secret if path.name == "tokens.csv"]
    tokens = [line.split(",")[0] for table in tables for line in table.splitlines()]
    assert tokens
    logs = "".join(path.read_text() for path in (fleet.data_dir / "logs").iterdir())
    assert not [token for token in tokens if token in logs]


def test_health_and_metrics_of_the_control_plane(fleet: Fleet) -> None:
    assert fleet.kubectl("get", "--raw", "/readyz") == "ok"
    assert fleet.kubectl("get", "--raw", "/healthz") == "ok"
    metrics = fleet.kubectl("get", "--raw", "/metrics")
    assert 'cluster_ready_state{member_cluster="member1"} 1.0' in metrics
    for part in ("karmada-controller-manager", "karmada-scheduler"):
        assert f'leader_election_master_status{{name="{part}"}} 1.0' in metrics
