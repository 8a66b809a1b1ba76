"""Kills in the middle of a failover: nothing is lost, nothing is there twice."""

import time
from collections.abc import Callable

import pytest

from tests.e2e.applications import has_moved_to, is_cleaned_up, place_divided, ready_in, remove
from tests.e2e.fleet import NO_EXECUTE, Fleet

Act = Callable[[Fleet], None]
DOWN_SECONDS = 3.0


def kill_serve(fleet: Fleet) -> None:
    fleet.serve.kill()


def start_serve(fleet: Fleet) -> None:
    fleet.serve.start()


def kill_webhook(fleet: Fleet) -> None:
    fleet.webhook.kill()


def start_webhook(fleet: Fleet) -> None:
    fleet.start_webhook()


def kill_apiserver(fleet: Fleet) -> None:
    fleet.control_plane.apiserver.kill()


def start_apiserver(fleet: Fleet) -> None:
    fleet.control_plane.apiserver.start()
    fleet.control_plane.wait_ready()


def kill_etcd(fleet: Fleet) -> None:
    fleet.control_plane.etcd.kill()


def start_etcd(fleet: Fleet) -> None:
    fleet.control_plane.etcd.start()
    fleet.control_plane.wait_ready()


KILLS = [
    pytest.param("dying", kill_serve, start_serve, id="controllers-while-it-dies"),
    pytest.param("tainted", kill_serve, start_serve, id="controllers-when-it-is-tainted"),
    pytest.param("moving", kill_serve, start_serve, id="controllers-as-all-moves"),
    pytest.param("moving", kill_webhook, start_webhook, id="webhook-as-all-moves"),
    pytest.param("tainted", kill_apiserver, start_apiserver, id="kube-apiserver-when-it-is-tainted"),
    pytest.param("moving", kill_apiserver, start_apiserver, id="kube-apiserver-as-all-moves"),
    pytest.param("moving", kill_etcd, start_etcd, id="etcd-as-all-moves"),
]


@pytest.mark.parametrize(("stage", "kill", "start"), KILLS)
def test_l6_a_component_that_dies_during_a_failover_changes_nothing_about_its_end(
    fleet: Fleet, stage: str, kill: Act, start: Act
) -> None:
    place_divided(fleet, "member1", "member2")
    uid = fleet.get("deployment", "nginx", context="member2")["metadata"]["uid"]
    fleet.members["member1"].kill()
    wait_for(fleet, stage)
    kill(fleet)
    time.sleep(DOWN_SECONDS)
    start(fleet)
    fleet.eventually(lambda: has_moved_to(fleet, {"member2": 3}), "member2 has 3 and the task is gone")
    fleet.eventually(lambda: ready_in(fleet, "member2") == 3, "they run")
    assert fleet.get("deployment", "nginx", context="member2")["metadata"]["uid"] == uid, "the copy was never removed"
    assert not fleet.exists("deployment", "nginx", context="member3")
    fleet.members["member1"].restart()
    fleet.eventually(lambda: is_cleaned_up(fleet, "member1"), "the old copy is removed")
    remove(fleet)
    fleet.release("member1")


def wait_for(fleet: Fleet, stage: str) -> None:
    if stage == "tainted":
        fleet.eventually(lambda: bool(fleet.taints("member1")), "member1 has its first taint")
    if stage == "moving":
        fleet.eventually(lambda: NO_EXECUTE in fleet.taints("member1"), f"member1 has {NO_EXECUTE}")
