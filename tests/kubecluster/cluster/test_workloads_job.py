"""Jobs in a whole cluster on virtual time."""

import asyncio
from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubecluster.kinds import JOBS, PODS
from tests.kubecluster.cluster.simulated_cluster import Cluster, condition, pod_template, tell

STARTUP_SECONDS = 2


def job(image: str = "busybox:1", **spec: Any) -> Manifest:
    return {"metadata": {"name": "once"}, "spec": {"template": pod_template(image, restartPolicy="Never"), **spec}}


def test_a_job_completes_when_enough_pods_have_succeeded() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(JOBS, job(parallelism=2, completions=3))
        await asyncio.sleep(1)
        assert (await cluster.status(JOBS, "once"))["active"] == 2
        await asyncio.sleep(3)
        assert (await cluster.status(JOBS, "once"))["succeeded"] == 2
        await asyncio.sleep(4)
        status = await cluster.status(JOBS, "once")
        assert (status["succeeded"], status["ready"], "active" in status) == (3, 0, False)
        assert condition(status, "Complete") == ("True", "CompletionsReached")
        assert status["startTime"] < status["completionTime"]
        assert {pod["status"]["phase"] for pod in await cluster.objects(PODS)} == {"Succeeded"}

    tell(story)


@pytest.mark.parametrize(
    ("command", "seconds"),
    [
        (["sleep", "90"], 90),
        (["sh", "-c", "echo a; sleep 2m"], 120),
        (["sleep", "infinity"], 1),
        (["sh", "-c", "sleep 90; echo a"], 1),
    ],
)
def test_a_job_runs_for_as_long_as_its_command_sleeps_at_its_end(command: list[str], seconds: float) -> None:
    async def story(cluster: Cluster) -> None:
        asks = job()
        asks["spec"]["template"]["spec"]["containers"][0]["command"] = command
        await cluster.create(JOBS, asks)
        await asyncio.sleep(STARTUP_SECONDS + seconds - 0.5)
        assert (await cluster.status(JOBS, "once"))["active"] == 1
        await asyncio.sleep(1)
        assert condition(await cluster.status(JOBS, "once"), "Complete") == ("True", "CompletionsReached")

    tell(story)


def test_a_job_that_cannot_start_fails_at_its_deadline() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(JOBS, job("busybox:broken", activeDeadlineSeconds=20))
        await asyncio.sleep(19)
        assert condition(await cluster.status(JOBS, "once"), "Failed") == ("", "")
        await asyncio.sleep(2)
        assert condition(await cluster.status(JOBS, "once"), "Failed") == ("True", "DeadlineExceeded")
        assert await cluster.names(PODS) == []

    tell(story)


def test_a_suspended_job_runs_when_it_is_resumed() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(JOBS, job(suspend=True))
        await asyncio.sleep(5)
        assert condition(await cluster.status(JOBS, "once"), "Suspended") == ("True", "JobSuspended")
        assert await cluster.names(PODS) == []
        await cluster.patch(JOBS, "once", {"spec": {"suspend": False}})
        await asyncio.sleep(5)
        status = await cluster.status(JOBS, "once")
        assert condition(status, "Suspended") == ("False", "JobResumed")
        assert condition(status, "Complete") == ("True", "CompletionsReached")

    tell(story)


def test_a_job_is_deleted_some_time_after_its_end_if_it_says_so() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(JOBS, job(ttlSecondsAfterFinished=30))
        await asyncio.sleep(25)
        assert await cluster.names(JOBS) == ["once"]
        await asyncio.sleep(10)
        assert await cluster.names(JOBS) == []
        assert await cluster.names(PODS) == []

    tell(story)
