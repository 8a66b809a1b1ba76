"""CronJobs in a whole cluster on virtual time, which begins on the hour."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubecluster.kinds import CRON_JOBS, JOBS
from kubecluster.rules.cron_job import decide_cron
from kubecluster.rules.cron_schedule import last_due, next_due
from kubeserver.store.memory import MemoryMedium
from tests.kubecluster.cluster.simulated_cluster import Cluster, pod_template, running, tell
from tests.kubecluster.cluster.test_workloads_references import told

NOON = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def cron_job(schedule: str, template: Manifest | None = None, **spec: Any) -> Manifest:
    pod = template or pod_template(restartPolicy="Never")
    job = {"metadata": {"labels": {"made": "by-cron"}}, "spec": {"template": pod}}
    return {"metadata": {"name": "tick"}, "spec": {"schedule": schedule, "jobTemplate": job, **spec}}


def slow() -> Manifest:
    """A Job that never ends: its image cannot be pulled."""
    return pod_template("nginx:broken", restartPolicy="Never")


async def starts(cluster: Cluster) -> list[str]:
    noted = "batch.kubernetes.io/cronjob-scheduled-timestamp"
    return sorted(job["metadata"]["annotations"][noted][11:16] for job in await cluster.objects(JOBS))


def test_jobs_are_made_on_schedule_and_three_of_them_are_kept() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(CRON_JOBS, cron_job("*/10 * * * *"))
        await asyncio.sleep(59 * 60)
        times = await starts(cluster)
        minutes = [int(time[:2]) * 60 + int(time[3:]) for time in times]
        assert [minute - minutes[0] for minute in minutes] == [0, 10, 20]
        assert all(minute % 10 == 0 for minute in minutes)
        job = (await cluster.objects(JOBS))[-1]
        scheduled = datetime.fromisoformat(
            job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"]
        )
        assert job["metadata"]["name"] == f"tick-{int(scheduled.timestamp()) // 60}"
        assert job["metadata"]["labels"]["made"] == "by-cron"
        status = await cluster.status(CRON_JOBS, "tick")
        assert status["lastScheduleTime"][11:16] == times[-1]
        assert "active" not in status
        assert status["lastSuccessfulTime"] == job["status"]["completionTime"]
        assert len(await told(cluster, "SuccessfulCreate")) == 5

        await cluster.patch(CRON_JOBS, "tick", {"spec": {"suspend": True}})
        await asyncio.sleep(3600)
        assert await starts(cluster) == times

    tell(story)


@pytest.mark.parametrize(("policy", "there"), [("Forbid", 1), ("Replace", 1), ("Allow", 3)])
def test_a_job_that_still_runs_is_kept_or_replaced_or_joined(policy: str, there: int) -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(CRON_JOBS, cron_job("*/10 * * * *", slow(), concurrencyPolicy=policy))
        await asyncio.sleep(25 * 60)
        first = (await starts(cluster))[0]
        await asyncio.sleep(5 * 60)
        times = await starts(cluster)
        assert len(times) == there
        assert (times[0] == first) is (policy != "Replace")
        assert len((await cluster.status(CRON_JOBS, "tick"))["active"]) == there
        assert bool(await told(cluster, "JobAlreadyActive")) is (policy == "Forbid")

    tell(story)


def test_a_start_that_was_missed_is_made_up_for_once() -> None:
    async def run() -> None:
        medium = MemoryMedium()
        async with running(medium) as cluster:
            await cluster.create(CRON_JOBS, cron_job("*/10 * * * *"))
            await asyncio.sleep(1)
        await asyncio.sleep(45 * 60)
        async with running(medium) as cluster:
            await asyncio.sleep(10)
            assert len(await starts(cluster)) == 1

    run_virtual(run())


def made(**spec: Any) -> Manifest:
    """A CronJob that was created at noon."""
    job = cron_job("*/10 * * * *", **spec)
    metadata = {"name": "tick", "namespace": "default", "uid": "u", "creationTimestamp": "2026-01-01T12:00:00Z"}
    return {**job, "metadata": metadata}


def test_a_start_beyond_its_deadline_is_left_out() -> None:
    late = decide_cron(made(startingDeadlineSeconds=60), [], NOON + timedelta(minutes=12))
    assert (late.due, late.wake_at) == (None, NOON + timedelta(minutes=20))
    in_time = decide_cron(made(startingDeadlineSeconds=60), [], NOON + timedelta(minutes=10, seconds=59))
    assert in_time.due == NOON + timedelta(minutes=10)


def test_after_a_very_long_time_only_the_last_start_counts() -> None:
    steps = decide_cron(made(), [], NOON + timedelta(days=30, seconds=5))
    assert (steps.due, steps.reason) == (NOON + timedelta(days=30), "TooManyMissedTimes")


@pytest.mark.parametrize(
    ("schedule", "zone", "due"),
    [
        ("0 3 * * *", "", "2026-01-02T03:00:00Z"),
        ("0 3 * * *", "Asia/Tokyo", "2026-01-01T18:00:00Z"),
        ("0 0 1 * 1", "", "2026-01-05T00:00:00Z"),
        ("0 3 ? * mon-fri", "", "2026-01-02T03:00:00Z"),
        ("@monthly", "", "2026-02-01T00:00:00Z"),
        ("@every 1h30m", "", "2026-01-01T13:30:00Z"),
    ],
)
def test_a_schedule_is_read_in_its_time_zone(schedule: str, zone: str, due: str) -> None:
    assert next_due(schedule, zone, NOON) == datetime.fromisoformat(due)


def test_a_day_that_never_comes_is_never_due() -> None:
    assert next_due("0 0 31 2 *", "", NOON) is None
    assert last_due("0 0 31 2 *", "", NOON, NOON + timedelta(days=9)) == (None, 0)


def test_schedules_are_due_when_robfig_cron_3_0_1_of_kubernetes_1_36_says() -> None:
    """tests/data/cron. Differs: on Lord Howe, on the day on which clocks go back half an hour, robfig passes over half
    an hour; no schedule is due later for it here."""
    wrong: list[tuple[str, str, list[str], list[str]]] = []
    for line in Path("tests/data/cron/due.jsonl").read_text().splitlines():
        schedule, zone, since, expected = json.loads(line)
        if (zone, since[:10]) == ("Australia/Lord_Howe", "2026-04-04"):
            continue
        found, due = list[str](), next_due(schedule, zone, datetime.fromisoformat(since))
        while len(found) < 3 and due is not None:
            found.append(due.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
            due = next_due(schedule, zone, due)
        if found != (expected or []):
            wrong.append((schedule, zone, found, expected))
    assert wrong == []


def test_the_last_of_many_missed_times_is_found() -> None:
    for schedule, last in (("* * * * *", NOON), ("5 3 * * *", NOON.replace(hour=3, minute=5))):
        due, missed = last_due(schedule, "", NOON - timedelta(days=200), NOON)
        assert (due, missed) == (last, 101)
