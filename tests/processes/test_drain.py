"""A member is drained for maintenance, and taken back: real processes, driven by the command line."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

EXAMPLES = Path(__file__).parents[2] / "examples"
DRAIN = "leeward.dev/drain:NoExecute"

pytestmark = [pytest.mark.processes, needs_kubectl]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    with running_fleet(tmp_path_factory.mktemp("fleet"), "--member", "member1", "--member", "member2") as running:
        yield running


def ready_in(fleet: Fleet, member: str) -> int:
    return fleet.get("deployment", "nginx", context=member).get("status", {}).get("readyReplicas", 0)


def test_a_drain_moves_everything_and_an_uncordon_takes_the_taint_back(fleet: Fleet) -> None:
    fleet.kubectl("create", "-f", "-", stdin=(EXAMPLES / "divided.yaml").read_text())
    fleet.eventually(lambda: fleet.exists("resourcebinding", "nginx-deployment"), "the binding is there")
    fleet.eventually(lambda: fleet.assigned("nginx-deployment") == {"member1": 1, "member2": 2}, "1:2")
    fleet.eventually(lambda: fleet.exists("deployment", "nginx", context="member1"), "nginx is in member1")
    fleet.eventually(lambda: ready_in(fleet, "member1") == 1, "1 is ready in member1")

    told = fleet.leeward("drain", "member1", "--timeout", "50s")
    assert told.endswith("  Deployment default/nginx: moved\nmember1 is drained\n")
    assert DRAIN in fleet.taints("member1")
    assert fleet.assigned("nginx-deployment") == {"member2": 3}
    assert ready_in(fleet, "member2") == 3, "it left only when its replacement was healthy"
    fleet.eventually(lambda: not fleet.exists("deployment", "nginx", context="member1"), "nothing is left in member1")
    assert fleet.ready("member1")[0] == "True"

    assert fleet.leeward("uncordon", "member1") == "member1 cluster uncordoned\n"
    assert fleet.taints("member1") == set()
    assert fleet.assigned("nginx-deployment") == {"member2": 3}


def test_a_cluster_is_cordoned_tainted_and_the_brake_looked_at(fleet: Fleet) -> None:
    fleet.leeward("cordon", "member2")
    fleet.leeward("taint", "member2", "example.com/maintenance=today:NoSchedule")
    assert fleet.taints("member2") == {
        "cluster.karmada.io/unschedulable:NoSchedule",
        "example.com/maintenance:NoSchedule",
    }
    fleet.leeward("uncordon", "member2")
    fleet.leeward("taint", "member2", "example.com/maintenance-")
    assert fleet.taints("member2") == set()
    assert "the brake is not engaged" in fleet.leeward("brake", "status")
    assert "not_a_key" in fleet.leeward("taint", "member2", "not_a_key/x/y:NoSchedule", fails=True)
