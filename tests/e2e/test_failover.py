"""A member dies in each of the ways in which clusters die, and comes back: on real Kubernetes."""

from collections.abc import Callable

import pytest

from tests.e2e.applications import (
    BINDING,
    WORK,
    describe,
    has_moved_to,
    is_cleaned_up,
    place_divided,
    ready_in,
    remove,
)
from tests.e2e.fleet import NO_EXECUTE, Fleet
from tests.e2e.servers import KubeServer

NOT_READY = {"cluster.karmada.io/not-ready:NoSchedule", NO_EXECUTE}
Act = Callable[[KubeServer], None]
WITHOUT_ETCD = {"ClusterNotReady", "ClusterNotServing"}
"""Reasons after the loss of etcd: its /readyz says ok for a while."""


@pytest.mark.parametrize(
    ("die", "revive", "reasons"),
    [
        pytest.param(KubeServer.kill, KubeServer.restart, {"ClusterNotReachable"}, id="killed"),
        pytest.param(KubeServer.freeze, KubeServer.thaw, {"ClusterNotReachable"}, id="paused"),
        pytest.param(KubeServer.make_unready, KubeServer.make_ready, WITHOUT_ETCD, id="without-etcd"),
    ],
)
def test_a_member_dies_its_replica_moves_and_nothing_moves_back(
    fleet: Fleet, die: Act, revive: Act, reasons: set[str]
) -> None:
    place_divided(fleet, "member1", "member2")
    member = fleet.members["member1"]
    die(member)
    try:
        fleet.eventually(lambda: is_lost(fleet, "member1", reasons), f"member1 is {reasons}")
        fleet.eventually(lambda: fleet.taints("member1") == NOT_READY, f"member1 has {NOT_READY}")
        fleet.eventually(lambda: has_moved_to(fleet, {"member2": 3}), "member2 has 3 and the task is gone")
        assert ready_in(fleet, "member2") == 3
        fleet.eventually(lambda: waits_for(fleet, "member1"), "the Work of the dead member waits for it")
        fleet.eventually(lambda: "Result: {member2:3}" in describe(fleet), "an event tells where it went")
    finally:
        revive(member)
    fleet.eventually(lambda: fleet.is_back("member1"), "member1 is back")
    fleet.eventually(lambda: is_cleaned_up(fleet, "member1"), "what was left behind is cleaned up")
    assert fleet.assigned(BINDING) == {"member2": 3}
    remove(fleet)
    fleet.release("member1")


def is_lost(fleet: Fleet, member: str, reasons: set[str]) -> bool:
    status, reason = fleet.ready(member)
    return status == "False" and reason in reasons


def waits_for(fleet: Fleet, member: str) -> bool:
    """Tells whether the Work of nginx is to go when its member is back; nothing is ordered before."""
    work = fleet.get("work", WORK, "-n", f"karmada-es-{member}")
    reasons = [each["reason"] for each in work["status"]["conditions"] if each["type"] == "leeward.dev/Leaving"]
    return reasons == ["ClusterNotReady"] and "deletionTimestamp" not in work["metadata"]
