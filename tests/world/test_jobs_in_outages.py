"""Jobs and CronJobs in drains, outages and partitions: a run under way ends first, and a finished Job wins."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeserver.store.medium import Loaded
from leeward.api.names import work_name
from leeward.api.resource import CLUSTERS
from leeward.core.copies.job_copies import is_complete_job
from leeward.manager.settings import ManagerSettings
from leeward.operations.drain import copies_in, start_drain, undo_drain
from leeward.sim.world import Mode, World
from tests.variants import mostly_long
from tests.world.stories import POLICIES, apply, held, in_world, play, policy, tasks

JOBS = Resource.of_manifests("batch/v1", "jobs", "Job", True)
CRON_JOBS = Resource.of_manifests("batch/v1", "cronjobs", "CronJob", True)
THREE = ("member1", "member2", "member3")
ONE: Manifest = {
    "clusterAffinity": {"clusterNames": list(THREE)},
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
}
BY_HAND: Manifest = {"spec": {"taints": [{"key": "example.com/maintenance", "effect": "NoExecute"}]}}
JOB, CRON_JOB = "bill-job", "bill-cronjob"


def pod(seconds: int) -> Manifest:
    container = {"name": "main", "image": "bill", "command": ["sleep", str(seconds)]}
    return {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}


async def start_job(world: World, seconds: int, completions: int = 1) -> str:
    """Deploys a Job whose Pods run for so long, one after the other, and returns its cluster."""
    spec = {**pod(seconds), "completions": completions}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "bill"}, "spec": spec}
    await world.client.create(JOBS, job, "default")
    await apply(world.client, policy("bill", ONE, "Job", "batch/v1"))
    await world.sleep(60)
    (there,) = world.assigned(JOB)
    return there


async def start_cron_job(world: World, schedule: str, seconds: int, **failover: Any) -> str:
    """Deploys a CronJob, and returns its cluster once one of its Jobs runs there."""
    spec = {"schedule": schedule, "jobTemplate": {"spec": pod(seconds)}}
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "bill"}, "spec": spec}
    wanted = policy("bill", ONE, "CronJob", "batch/v1")
    wanted["spec"] |= failover
    await world.client.create(CRON_JOBS, cron, "default")
    await apply(world.client, wanted)
    await world.sleep(60)
    (there,) = world.assigned(CRON_JOB)
    while not await jobs_in(world, there):
        await world.sleep(10)
    return there


async def jobs_in(world: World, member: str) -> dict[str, str]:
    """Uids of the Jobs of a member by name."""
    found = (await world.member(member).client.list(JOBS, "default")).items
    return {each["metadata"]["name"]: each["metadata"]["uid"] for each in found}


async def succeeded(world: World, member: str) -> int:
    found = (await world.member(member).client.list(JOBS, "default")).items
    return sum(each.get("status", {}).get("succeeded", 0) for each in found)


async def schedules(world: World, member: str) -> bool | None:
    """Tells whether the CronJob of a member begins runs; None where it is not there."""
    found = (await world.member(member).client.list(CRON_JOBS, "default")).items
    return None if not found else not found[0]["spec"].get("suspend")


def others(there: str) -> list[str]:
    return [name for name in THREE if name != there]


@pytest.mark.parametrize("mode", mostly_long(["Push", "Pull"], "Push"))
@pytest.mark.parametrize("by_hand", mostly_long([False, True], False))
def test_a_job_that_runs_in_a_drained_cluster_ends_there_and_is_done_once(mode: Mode, *, by_hand: bool) -> None:
    """Harm of before: a drained Job began anew elsewhere, and was killed where it had run for a quarter of an hour."""

    async def story(world: World) -> None:
        there = await start_job(world, 400, completions=3)
        (uid,) = (await jobs_in(world, there)).values()
        if by_hand:
            await world.client.patch(CLUSTERS, there, BY_HAND)
        else:
            await start_drain(world.client, there, None)
        await world.until(lambda: held(world, JOB) == "RunUnderWay", 60)
        await world.sleep(900)
        assert (list(world.assigned(JOB)), tasks(world, JOB)) == ([there], [])
        await world.until(lambda: held(world, JOB) == "NothingToGain", 900)
        await world.sleep(1800)
        assert (await jobs_in(world, there), await succeeded(world, there)) == ({"bill": uid}, 3)
        assert not any([await jobs_in(world, name) for name in others(there)])
        if not by_hand:
            (copy,) = await copies_in(world.client, there)
            assert (copy.staying, copy.state.startswith("stays: not evicted from")) == (True, True)

    play(story, dict.fromkeys(THREE, mode))


@pytest.mark.parametrize("cut", mostly_long([True, False], True))
@pytest.mark.parametrize("runs_on", mostly_long([True, False], True))
@in_world(dict.fromkeys(THREE, "Push"))
async def test_s1_a_job_that_finishes_first_wins_whether_in_the_lost_cluster_or_in_its_replacement(
    world: World, *, cut: bool, runs_on: bool
) -> None:
    """A Job that had finished behind a partition was deleted, and done again in the cluster that had begun it."""
    there = await start_job(world, 1500 if runs_on else 400)
    (uid,) = (await jobs_in(world, there)).values()
    if cut:
        world.link("controllers", there).cut()
    else:
        await world.member(there).stop()
    await world.until(lambda: there in tasks(world, JOB), 900)
    (other,) = world.assigned(JOB)
    await world.sleep(60)
    assert await jobs_in(world, other), "nobody knows what the lost one does"
    if cut:
        world.link("controllers", there).mend()
    else:
        await world.member(there).start()
    await world.sleep(120)
    if runs_on:
        assert (await jobs_in(world, there))["bill"] == uid
        assert await jobs_in(world, other), "neither has finished, and neither is taken away"
    await world.sleep(2400)
    assert ((await jobs_in(world, there)).get("bill"), await jobs_in(world, other)) == (uid, {})
    assert (list(world.assigned(JOB)), tasks(world, JOB), held(world, JOB)) == ([there], [], "")


@in_world(dict.fromkeys(THREE, "Push"))
async def test_a_job_that_takes_longer_than_a_grace_period_is_not_begun_in_a_third_cluster(world: World) -> None:
    """Harm of before: a running Job was told as a replacement that never became healthy, and moved on each time."""
    there = await start_job(world, 5000)
    await world.member(there).stop()
    await world.until(lambda: there in tasks(world, JOB), 900)
    (other,) = world.assigned(JOB)
    told: list[str] = []
    for _ in range(20):
        await world.sleep(120)
        assert list(world.assigned(JOB)) == [other]
        told.append(held(world, JOB))
    assert told[0] == "", "it is in time"
    assert set(told[6:]) == {"RunUnderWay"}
    await world.until(lambda: tasks(world, JOB) == [], 4000)
    await world.member(there).start()
    await world.sleep(300)
    assert (await jobs_in(world, there), await succeeded(world, other)) == ({}, 1)


@in_world(dict.fromkeys(THREE, "Push"))
async def test_s12_a_finished_job_is_known_though_its_policy_is_made_anew_while_its_cluster_is_away(
    world: World,
) -> None:
    """Harm of before: the Work had another label by then, and its report counted as one about another Job."""
    there = await start_job(world, 20)
    before = await jobs_in(world, there)
    await world.member(there).stop()
    await world.until(lambda: not world.is_ready(there), 300)
    await world.client.delete(POLICIES, "bill", "default")
    await world.sleep(1)
    await apply(world.client, policy("bill", ONE, "Job", "batch/v1"))
    await world.until(lambda: held(world, JOB) == "NothingToGain", 900)
    await world.sleep(600)
    assert (list(world.assigned(JOB)), tasks(world, JOB)) == ([there], [])
    await world.member(there).start()
    await world.sleep(300)
    assert await jobs_in(world, there) == before


@in_world(dict.fromkeys(THREE, "Push"))
async def test_s15_a_job_that_is_made_anew_under_the_name_of_a_finished_one_runs(world: World) -> None:
    there = await start_job(world, 20)
    await world.member(there).stop()
    await world.until(lambda: not world.is_ready(there), 300)
    await world.client.delete(JOBS, "bill", "default")
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "bill"}, "spec": pod(20)}
    await world.client.create(JOBS, job, "default")
    await world.until(lambda: list(world.assigned(JOB)) not in ([], [there]), 1200)
    await world.sleep(120)
    (other,) = world.assigned(JOB)
    assert await succeeded(world, other) == 1


@pytest.mark.parametrize("mode", ["Push", "Pull"])
def test_s1_a_job_that_has_ended_is_not_begun_again_though_its_cluster_comes_back_empty(mode: Mode) -> None:
    """A report that outlives its Job. Who wants it done once more makes it anew."""

    async def story(world: World) -> None:
        there = await start_job(world, 20)
        assert await succeeded(world, there) == 1
        member = world.member(there)
        await member.stop()
        await world.until(lambda: not world.is_ready(there), 300)
        member.medium.replace(Loaded((), 0))
        await world.sleep(600)
        await member.start()
        await world.until(lambda: world.is_ready(there), 300)
        await world.sleep(300)
        assert (list(world.assigned(JOB)), tasks(world, JOB)) == ([there], [])
        assert [await jobs_in(world, name) for name in THREE] == [{}, {}, {}]
        await world.client.delete(JOBS, "bill", "default")
        await world.client.delete(POLICIES, "bill", "default")
        await world.sleep(30)
        assert await succeeded(world, await start_job(world, 20)) == 1

    play(story, dict.fromkeys(THREE, mode))


@pytest.mark.parametrize("exact", [False, True])
def test_a_job_that_has_ended_and_is_deleted_in_its_member_is_not_begun_again(*, exact: bool) -> None:
    """A Job in its place is wanted by Karmada alone."""

    async def story(world: World) -> None:
        there = await start_job(world, 20)
        assert await succeeded(world, there) == 1
        await world.member(there).client.delete(JOBS, "bill", "default")
        await world.client.patch(JOBS, "bill", {"metadata": {"labels": {"team": "billing"}}}, "default")
        await world.sleep(120)
        if exact:
            assert await succeeded(world, there) == 1
            return
        assert [await jobs_in(world, name) for name in THREE] == [{}, {}, {}]
        work = world.work(there, work_name("Job", "bill", "default"))
        assert work is not None
        assert is_complete_job(work)

    settings = ManagerSettings()
    play(story, dict.fromkeys(THREE, "Push"), manager=settings.karmada_exact() if exact else settings)


@pytest.mark.parametrize("mode", mostly_long(["Push", "Pull"], "Push"))
@pytest.mark.parametrize("schedule", mostly_long(["*/30 * * * *", "* * * * *"], "*/30 * * * *"))
def test_a_run_of_a_cron_job_ends_before_its_cluster_is_drained_and_none_begins_there(
    mode: Mode, schedule: str
) -> None:
    """Harm of before: the run was killed within five seconds."""

    async def story(world: World) -> None:
        there = await start_cron_job(world, schedule, 900)
        await start_drain(world.client, there, None)
        await world.until(lambda: there not in world.assigned(CRON_JOB), 60)
        await world.sleep(30)
        running = await jobs_in(world, there)
        (other,) = world.assigned(CRON_JOB)
        assert (bool(running), await schedules(world, there), await schedules(world, other)) == (True, False, True)
        (copy,) = await copies_in(world.client, there)
        assert "begins no run any more" in copy.state
        await world.sleep(600)
        assert await jobs_in(world, there) == running
        await world.sleep(600)
        assert (await schedules(world, there), await jobs_in(world, there)) == (None, {})
        assert await copies_in(world.client, there) == []

    play(story, dict.fromkeys(THREE, mode))


@in_world(dict.fromkeys(THREE, "Push"))
async def test_a_cron_job_whose_drain_is_taken_back_begins_runs_again(world: World) -> None:
    there = await start_cron_job(world, "*/30 * * * *", 900)
    await start_drain(world.client, there, None)
    await world.until(lambda: there not in world.assigned(CRON_JOB), 60)
    await world.sleep(30)
    await undo_drain(world.client, there)
    pinned = {"spec": {"placement": {"clusterAffinity": {"clusterNames": [there]}}}}
    await world.client.patch(POLICIES, "bill", pinned, "default")
    await world.sleep(60)
    assert (list(world.assigned(CRON_JOB)), await schedules(world, there)) == ([there], True)
    assert await jobs_in(world, there), "its run goes on"


@in_world(dict.fromkeys(THREE, "Push"))
async def test_a_run_behind_a_partition_ends_before_its_cron_job_goes_and_a_deleted_one_goes_at_once(
    world: World,
) -> None:
    there = await start_cron_job(world, "*/30 * * * *", 1500)
    world.link("controllers", there).cut()
    await world.until(lambda: there not in world.assigned(CRON_JOB), 900)
    await world.sleep(60)
    world.link("controllers", there).mend()
    await world.until(lambda: world.is_ready(there), 120)
    await world.sleep(60)
    assert (bool(await jobs_in(world, there)), await schedules(world, there)) == (True, False)
    await world.sleep(1500)
    assert await schedules(world, there) is None
    (other,) = world.assigned(CRON_JOB)
    while not await jobs_in(world, other):
        await world.sleep(60)
    await world.client.delete(CRON_JOBS, "bill", "default")
    await world.sleep(30)
    assert await jobs_in(world, other) == {}, "as in Kubernetes"
