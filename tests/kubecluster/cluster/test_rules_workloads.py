"""Steps that each kind of workload takes next, and its reports."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubecluster.rules import daemon_set, job, replica_set, stateful_set
from kubecluster.rules.deployment import (
    HASH_LABEL,
    REVISION_ANNOTATION,
    Revisions,
    expired_revisions,
    find_revisions,
    new_revision_number,
    render_replica_set,
    replica_set_patch,
)
from kubecluster.rules.deployment_status import deployment_status, progress_deadline
from kubecluster.rules.stateful_set import update_revision
from kubecluster.rules.templates import REVISION_LABEL, template_hash, template_of
from tests.kubecluster.cluster.manifests import owner, pod

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def names(pods: Any) -> list[str]:
    return [p["metadata"]["name"] for p in pods]


def test_a_replica_set_fills_up_and_prefers_to_lose_what_is_not_ready() -> None:
    ready, unready = pod("ready", node="n", ready=True), pod("unready", node="n")
    leaving, done = pod("leaving", node="n", leaving=True), pod("done", phase="Succeeded")
    pods = [ready, unready, leaving, done]
    assert replica_set.decide_pods(owner("ReplicaSet", replicas=3), pods).create == 1
    assert replica_set.decide_pods(owner("ReplicaSet", replicas=2), pods) == replica_set.Steps(0)
    assert names(replica_set.decide_pods(owner("ReplicaSet", replicas=1), pods).delete) == ["unready"]


def test_a_replica_set_counts_its_pods() -> None:
    pods = [pod("a", ready=True, labels={"app": "web", "x": "y"}), pod("b", leaving=True), pod("c")]
    assert replica_set.replica_set_status(owner("ReplicaSet", replicas=2), pods, NOW) == {
        "replicas": 2,
        "fullyLabeledReplicas": 1,
        "readyReplicas": 1,
        "availableReplicas": 1,
        "observedGeneration": 1,
    }


def revision(deployment: Manifest, number: int, replicas: int = 0, available: int = 0) -> Manifest:
    rendered = render_replica_set(deployment, replicas, number)
    status = {"replicas": replicas, "readyReplicas": available, "availableReplicas": available}
    return {**rendered, "status": status}


def other_revision(number: int, replicas: int = 0, available: int = 0) -> Manifest:
    """Revision of a template with another image."""
    deployment = owner("Deployment")
    deployment["spec"]["template"]["spec"]["containers"][0]["image"] = f"nginx:0.{number}"
    return revision(deployment, number, replicas, available)


def test_the_replica_set_of_the_present_template_is_the_new_one() -> None:
    deployment = owner("Deployment")
    new, second, first = revision(deployment, 3), other_revision(2), other_revision(1)
    revisions = find_revisions(deployment, [second, new, first])
    assert (revisions.new, revisions.old) == (new, (first, second))
    assert new["metadata"]["labels"][HASH_LABEL] == template_hash(template_of(deployment))
    assert new["spec"]["selector"]["matchLabels"][HASH_LABEL] == new["metadata"]["labels"][HASH_LABEL]


@pytest.mark.parametrize(("present", "number"), [(None, 5), (1, 5), (5, 5), (4, 5), (6, 6)])
def test_the_new_revision_has_the_highest_number(present: int | None, number: int) -> None:
    deployment = owner("Deployment")
    new = revision(deployment, present) if present else None
    assert new_revision_number(Revisions(new, (other_revision(2), other_revision(4)))) == number


def test_a_replica_set_that_is_right_needs_no_patch() -> None:
    deployment = owner("Deployment", minReadySeconds=5)
    assert replica_set_patch(deployment, revision(deployment, 1, 3), 3, 1) == {}
    assert replica_set_patch(deployment, revision(owner("Deployment"), 1, 3), 4, 2) == {
        "spec": {"replicas": 4, "minReadySeconds": 5},
        "metadata": {"annotations": {REVISION_ANNOTATION: "2"}},
    }


def test_empty_replica_sets_beyond_the_history_limit_expire() -> None:
    old = tuple(other_revision(number) for number in (1, 2, 3))
    with_pods = (other_revision(1, 1), *old[1:])
    deployment = owner("Deployment", revisionHistoryLimit=1)
    assert expired_revisions(deployment, Revisions(None, old)) == [*old[:2]]
    assert expired_revisions(deployment, Revisions(None, with_pods)) == [*old[1:]]
    assert expired_revisions(owner("Deployment"), Revisions(None, old)) == []


def progressing(status: Manifest) -> tuple[str, str]:
    [found] = [c for c in status["conditions"] if c["type"] == "Progressing"]
    return found["status"], found["reason"]


def test_a_rollout_progresses_completes_and_may_be_late() -> None:
    deployment = owner("Deployment", replicas=2, progressDeadlineSeconds=600)
    waiting = Revisions(revision(deployment, 1, 2, 0), ())
    status = deployment_status(deployment, waiting, NOW)
    assert progressing(status) == ("True", "ReplicaSetUpdated")
    assert progress_deadline(deployment, status) == NOW + timedelta(seconds=600)
    reported = {**deployment, "status": status}
    assert deployment_status(reported, waiting, NOW + timedelta(seconds=599)) == status
    late = deployment_status(reported, waiting, NOW + timedelta(seconds=600))
    assert progressing(late) == ("False", "ProgressDeadlineExceeded")
    assert progress_deadline(deployment, late) is None
    ready = Revisions(revision(deployment, 1, 2, 2), ())
    done = deployment_status({**deployment, "status": late}, ready, NOW)
    assert progressing(done) == ("True", "NewReplicaSetAvailable")
    lost = deployment_status({**deployment, "status": done}, waiting, NOW)
    assert progressing(lost) == ("True", "NewReplicaSetAvailable")
    assert (lost["unavailableReplicas"], done.get("unavailableReplicas", 0)) == (2, 0)


def member(ordinal: int, image_hash: str = "", **state: Any) -> Manifest:
    return pod(f"web-{ordinal}", node="n", labels={REVISION_LABEL: image_hash}, **state)


STATEFUL = owner("StatefulSet", replicas=3)
CURRENT = update_revision(STATEFUL)


@pytest.mark.parametrize(
    ("spec", "pods", "create", "delete"),
    [
        ({}, [], (0,), []),
        ({}, [member(0, CURRENT)], (), []),
        ({}, [member(0, CURRENT, ready=True)], (1,), []),
        ({}, [member(0, CURRENT), member(2, CURRENT, ready=True)], (), []),
        ({}, [member(1, CURRENT)], (0,), []),
        ({"ordinals": {"start": 5}}, [], (5,), []),
        ({"podManagementPolicy": "Parallel"}, [member(1, CURRENT)], (0, 2), []),
        ({}, [member(0, CURRENT, phase="Failed")], (), ["web-0"]),
        ({"replicas": 1}, [member(n, CURRENT, ready=True) for n in range(3)], (), ["web-2"]),
        ({"replicas": 1}, [member(0, CURRENT, ready=True), member(2, CURRENT, leaving=True)], (), []),
        ({"replicas": 2}, [member(0, "old", ready=True), member(1, "old", ready=True)], (), ["web-1"]),
        ({"replicas": 2}, [member(0, "old", ready=True), member(1, CURRENT, ready=True)], (), ["web-0"]),
        ({"replicas": 2}, [member(0, "old", ready=True), member(1, CURRENT)], (), []),
        (
            {"replicas": 1, "updateStrategy": {"type": "OnDelete"}},
            [member(0, "old", ready=True)],
            (),
            [],
        ),
    ],
)
def test_a_stateful_set_goes_in_order(
    spec: Manifest, pods: list[Manifest], create: tuple[int, ...], delete: list[str]
) -> None:
    steps = stateful_set.decide_steps(owner("StatefulSet", **{"replicas": 3, **spec}), pods, NOW)
    assert (steps.create, names(steps.delete)) == (create, delete)


DAEMON = template_hash(template_of(owner("DaemonSet")))


def daemon(node: str, revision: str = DAEMON, **state: Any) -> Manifest:
    return pod(f"web-{node}", node=node, labels={REVISION_LABEL: revision}, **state)


@pytest.mark.parametrize(
    ("spec", "pods", "create", "delete"),
    [
        ({}, [], ("a", "b"), []),
        ({}, [daemon("a", ready=True), daemon("b", ready=True)], (), []),
        ({}, [daemon("a"), daemon("b"), daemon("gone")], (), ["web-gone"]),
        ({}, [daemon("a", leaving=True), daemon("b")], (), []),
        ({}, [daemon("a", phase="Failed"), daemon("b")], (), ["web-a"]),
        ({}, [daemon("a", "old", ready=True), daemon("b", "old", ready=True)], (), ["web-a"]),
        ({}, [daemon("a", ready=False), daemon("b", "old", ready=True)], (), []),
        ({}, [daemon("a", ready=True), daemon("b", "old")], (), ["web-b"]),
        ({"updateStrategy": {"type": "OnDelete"}}, [daemon("a", "old"), daemon("b", "old")], (), []),
    ],
)
def test_a_daemon_set_has_one_pod_on_each_node(
    spec: Manifest, pods: list[Manifest], create: tuple[str, ...], delete: list[str]
) -> None:
    steps = daemon_set.decide_steps(owner("DaemonSet", **spec), ("a", "b"), pods, NOW)
    assert (steps.create, names(steps.delete)) == (create, delete)


def finished(number: int, phase: str = "Succeeded") -> list[Manifest]:
    return [pod(f"{phase}-{index}", node="n", phase=phase) for index in range(number)]


@pytest.mark.parametrize(
    ("spec", "pods", "create", "delete", "reason"),
    [
        ({"parallelism": 2, "completions": 5}, [], 2, 0, ""),
        ({"parallelism": 4, "completions": 5}, finished(3), 2, 0, ""),
        ({"parallelism": 2, "completions": 5}, [*finished(4), pod("a"), pod("b")], 0, 1, ""),
        ({"completions": 2}, finished(2), 0, 0, "CompletionsReached"),
        ({"completions": 0}, [], 0, 0, "CompletionsReached"),
        ({"parallelism": 3}, [], 3, 0, ""),
        ({"parallelism": 3}, [*finished(1), pod("a")], 0, 0, ""),
        ({"parallelism": 3}, finished(3), 0, 0, "CompletionsReached"),
        ({"completions": 1, "backoffLimit": 1}, finished(1, "Failed"), 1, 0, ""),
        ({"completions": 1, "backoffLimit": 1}, [*finished(2, "Failed"), pod("a")], 0, 1, "BackoffLimitExceeded"),
        ({"completions": 1, "suspend": True}, [pod("a")], 0, 1, ""),
    ],
)
def test_a_job_runs_until_enough_have_succeeded_or_too_many_failed(
    spec: Manifest, pods: list[Manifest], create: int, delete: int, reason: str
) -> None:
    once = owner("Job", **spec)
    outcome = job.decide_outcome(once, pods, NOW)
    steps = job.decide_steps(once, pods, outcome)
    assert (steps.create, len(steps.delete), outcome.reason if outcome else "") == (create, delete, reason)


def test_what_a_job_has_counted_stays_counted() -> None:
    once = owner("Job", parallelism=3, completions=3, status={"succeeded": 2})
    assert job.decide_steps(once, [], None).create == 1
    assert job.job_status(once, [], None, NOW)["succeeded"] == 2
