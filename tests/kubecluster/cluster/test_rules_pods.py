"""Conditions of Pods, and the life that a kubelet gives them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubecluster.rules.conditions import put_condition
from kubecluster.rules.kubelet import (
    Stage,
    blocked_status,
    obstacles_of,
    running_status,
    stage_of,
    starting_status,
    succeeded_status,
)
from kubecluster.rules.owners import controller_uid, owner_reference
from kubecluster.rules.pods import deletion_rank, is_available, next_available_at
from kubecluster.rules.templates import render_pod, template_hash, template_of
from tests.kubecluster.cluster.manifests import owner, pod

NOW = datetime(2026, 1, 1, 10, 0, 30, tzinfo=UTC)


def conditions(status: Manifest) -> dict[str, str]:
    return {condition["type"]: condition["status"] for condition in status["conditions"]}


def with_containers(*images: str, **spec: Any) -> Manifest:
    containers = [{"name": f"c{index}", "image": image} for index, image in enumerate(images)]
    return pod(node="node-1", spec={"containers": containers, **spec})


def test_pods_that_are_least_far_are_given_up_first() -> None:
    unbound = pod("unbound")
    pending = pod("pending", node="n")
    unready = pod("unready", node="n", phase="Running")
    young = pod("young", node="n", ready=True, created="2026-01-01T09:30:00Z")
    old = pod("old", node="n", ready=True)
    assert sorted([old, young, unready, pending, unbound], key=deletion_rank) == [
        unbound,
        pending,
        unready,
        young,
        old,
    ]


@pytest.mark.parametrize(("seconds", "available"), [(0, True), (30, True), (31, False)])
def test_a_pod_is_available_when_it_has_been_ready_long_enough(seconds: int, available: bool) -> None:
    assert is_available(pod(ready=True), seconds, NOW) is available


def test_a_pod_that_is_not_ready_is_never_available() -> None:
    assert not is_available(pod(), 0, NOW)


def test_an_owner_looks_again_when_the_next_pod_becomes_available() -> None:
    due = next_available_at([pod(ready=True), pod()], owner("ReplicaSet", minReadySeconds=40), NOW)
    assert due == datetime(2026, 1, 1, 10, 0, 40, tzinfo=UTC)
    assert next_available_at([pod(ready=True)], owner("ReplicaSet"), NOW) is None
    assert next_available_at([pod(ready=True)], owner("ReplicaSet", minReadySeconds=10), NOW) is None


def test_equal_templates_have_equal_hashes() -> None:
    one, same, other = {"a": 1, "b": {"c": 2}}, {"b": {"c": 2}, "a": 1}, {"a": 2}
    assert template_hash(one) == template_hash(same) != template_hash(other)
    assert len(template_hash(one)) == 10


def test_a_pod_is_rendered_from_its_template_and_belongs_to_its_owner() -> None:
    web = owner("ReplicaSet")
    rendered = render_pod(web, {"more": "labels"})
    assert rendered["metadata"]["generateName"] == "web-"
    assert rendered["metadata"]["labels"] == {"app": "web", "more": "labels"}
    assert rendered["metadata"]["ownerReferences"] == [owner_reference(web)]
    assert controller_uid(rendered) == "uid-web"
    rendered["spec"]["containers"].clear()
    assert template_of(web) == template_of(owner("ReplicaSet"))


@pytest.mark.parametrize(
    ("image", "broken"),
    [
        ("nginx:broken", True),
        ("registry:5000/team/nginx:broken@sha256:00", True),
        ("registry:5000/broken", False),
        ("broken", False),
        ("nginx:broken-not", False),
        ("fake/nginx:1.19.0", True),
        ("fictional.registry.us/nginx:1.19.0", True),
        ("registry.invalid:5000/team/nginx", True),
        ("faker/nginx", False),
        ("fake", False),
        ("registry.example.com/fake/nginx", False),
    ],
)
def test_only_a_tag_or_a_registry_makes_an_image_broken(image: str, broken: bool) -> None:
    assert (len(obstacles_of(with_containers("nginx", image), {})) == 1) is broken


def test_a_pod_goes_from_stage_to_stage() -> None:
    born = with_containers("nginx:1")
    born["status"] = {"phase": "Pending"}
    assert stage_of({**born, "spec": {}}) is Stage.ELSEWHERE
    assert stage_of(born) is Stage.BOUND
    creating = {**born, "status": starting_status(born, "172.18.0.2", NOW)}
    assert stage_of(creating) is Stage.CREATING
    running = {**creating, "status": running_status(creating, "10.128.0.2", NOW)}
    assert stage_of(running) is Stage.RUNNING
    finished = {**running, "status": succeeded_status(running, NOW)}
    assert stage_of(finished) is Stage.FINISHED


def test_a_starting_pod_is_scheduled_and_nothing_else() -> None:
    status = starting_status(with_containers("nginx:1"), "172.18.0.2", NOW)
    assert (status["phase"], status["hostIP"], status["startTime"]) == (
        "Pending",
        "172.18.0.2",
        "2026-01-01T10:00:30Z",
    )
    assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert conditions(status) == {
        "PodReadyToStartContainers": "False",
        "Initialized": "True",
        "Ready": "False",
        "ContainersReady": "False",
        "PodScheduled": "True",
    }


def test_a_running_pod_is_ready_and_its_init_containers_have_ended() -> None:
    sidecar = {"name": "side", "image": "proxy", "restartPolicy": "Always"}
    init = [{"name": "init", "image": "busybox"}, sidecar]
    status = running_status(with_containers("nginx:1", initContainers=init), "10.128.0.2", NOW)
    assert set(conditions(status).values()) == {"True"}
    assert [list(s["state"]) for s in status["initContainerStatuses"]] == [["terminated"], ["running"]]
    assert all(s["ready"] for s in status["initContainerStatuses"] + status["containerStatuses"])
    assert (status["podIP"], status["podIPs"]) == ("10.128.0.2", [{"ip": "10.128.0.2"}])


def test_a_broken_image_keeps_the_whole_pod_from_being_ready() -> None:
    waiting = with_containers("nginx:1", "nginx:broken")
    status = blocked_status(waiting, obstacles_of(waiting, {}), NOW)
    reasons = [s["state"]["waiting"]["reason"] for s in status["containerStatuses"]]
    assert reasons == ["ContainerCreating", "ImagePullBackOff"]
    assert conditions(status)["ContainersReady"] == "False"
    assert stage_of({**waiting, "status": {**status, "startTime": "2026-01-01T10:00:00Z"}}) is Stage.BLOCKED


def test_an_image_of_no_registry_stays_an_error_of_pulling() -> None:
    waiting = with_containers("fake/nginx:1.19.0")
    status = blocked_status(waiting, obstacles_of(waiting, {}), NOW)
    assert status["containerStatuses"][0]["state"]["waiting"]["reason"] == "ErrImagePull"
    assert stage_of({**waiting, "status": {**status, "startTime": "2026-01-01T10:00:00Z"}}) is Stage.BLOCKED


def test_a_finished_pod_is_no_longer_ready_but_was_completed() -> None:
    status = succeeded_status(with_containers("busybox"), NOW)
    [ready] = [c for c in status["conditions"] if c["type"] == "Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "PodCompleted")
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


def test_a_condition_that_stays_keeps_its_times() -> None:
    before = [{"type": "A", "status": "True", "lastTransitionTime": "t", "lastUpdateTime": "u"}]
    same = put_condition(before, {"type": "A", "status": "True"}, NOW, updated=False)
    assert same == before
    renamed = put_condition(before, {"type": "A", "status": "True", "reason": "R"}, NOW, updated=False)
    assert (renamed[0]["lastTransitionTime"], renamed[0]["lastUpdateTime"]) == ("t", "2026-01-01T10:00:30Z")
    changed = put_condition(before, {"type": "A", "status": "False"}, NOW)
    assert changed == [{"type": "A", "status": "False", "lastTransitionTime": "2026-01-01T10:00:30Z"}]
