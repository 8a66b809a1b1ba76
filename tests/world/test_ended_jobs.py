"""A Job that has ended in whatever way outlasts its binding; with controllers that run apart, too (S1)."""

from collections.abc import Awaitable, Callable, Mapping

import pytest

from kubeapi.meta import Manifest
from leeward.app.leaving import unjoin_cluster
from leeward.manager.gates import switch_gates
from leeward.manager.settings import EvictionSettings, ManagerSettings
from leeward.sim.world import Mode, World
from tests.world.stories import apply, play, policy
from tests.world.test_apart import ONLY_PLACING, REST, REST_AND_HALVES, managed
from tests.world.test_finished_jobs import (
    ANYWHERE,
    PLACEMENTS,
    delete_all_bindings,
    delete_binding,
    delete_binding_by_force,
    finish_job,
    rebalance,
    runs,
)
from tests.world.test_jobs_in_outages import JOB, JOBS, ONE, THREE, jobs_in, pod, start_cron_job
from tests.world.test_restored import restore, with_another_uid

PUSHED: Mapping[str, Mode] = dict.fromkeys(THREE, "Push")
ENDS: Mapping[str, Manifest] = {
    "failed": {**pod(900), "activeDeadlineSeconds": 20},
    "indexed": {**pod(20), "completionMode": "Indexed", "completions": 4, "parallelism": 2},
    "queue": {**pod(20), "parallelism": 2},
}


async def start(world: World, spec: Manifest, placement: Manifest) -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "bill"}, "spec": spec}
    await world.client.create(JOBS, job, "default")
    await apply(world.client, policy("bill", placement, "Job", "batch/v1"))


async def jobs(world: World) -> Mapping[str, Mapping[str, str]]:
    """Uids of the members' Jobs."""
    return {name: await jobs_in(world, name) for name in THREE}


@pytest.mark.parametrize("deletes", [delete_binding, delete_binding_by_force])
@pytest.mark.parametrize("placement", [*PLACEMENTS.values(), ANYWHERE], ids=[*PLACEMENTS, "duplicated"])
@pytest.mark.parametrize("end", ENDS)
def test_s1_a_job_that_has_ended_in_whatever_way_outlasts_its_binding(
    end: str, placement: Manifest, deletes: Callable[[World], Awaitable[None]]
) -> None:
    async def story(world: World) -> None:
        await start(world, ENDS[end], placement)
        await world.sleep(200)
        before, targets = await jobs(world), world.assigned(JOB)
        assert any(before.values())
        for change in (deletes, rebalance):
            await change(world)
            await world.sleep(200)
            assert (await jobs(world), world.assigned(JOB)) == (before, targets)

    play(story, PUSHED)


def test_s1_a_job_that_was_suspended_after_its_end_outlasts_its_binding() -> None:
    async def story(world: World) -> None:
        await finish_job(world, ONE, 2, 4)
        before = await jobs(world)
        await world.client.patch(JOBS, "bill", {"spec": {"suspend": True}}, "default")
        await world.sleep(30)
        await delete_binding(world)
        await world.sleep(200)
        assert await jobs(world) == before

    play(story, PUSHED)


def test_a_suspended_job_whose_binding_is_deleted_is_done_once_when_it_is_resumed() -> None:
    async def story(world: World) -> None:
        await start(world, {**pod(20), "completions": 2, "suspend": True}, ONE)
        await world.sleep(60)
        await delete_binding(world)
        await world.sleep(60)
        assert await runs(world) == dict.fromkeys(world.assigned(JOB), 0)
        await world.client.patch(JOBS, "bill", {"spec": {"suspend": False}}, "default")
        await world.sleep(200)
        assert await runs(world) == dict.fromkeys(world.assigned(JOB), 2)

    play(story, PUSHED)


NO_FAILOVER = ManagerSettings(gates=switch_gates([("Failover", False)]))
APART = {
    "no failover": (NO_FAILOVER,),
    "no taint manager": (ManagerSettings(eviction=EvictionSettings(taint_manager=False)),),
    "apart": (REST_AND_HALVES, ONLY_PLACING),
    "placing alone": (REST, ONLY_PLACING),
}


@pytest.mark.parametrize("placement", PLACEMENTS.values(), ids=PLACEMENTS)
@pytest.mark.parametrize("settings", APART.values(), ids=APART)
def test_s1_a_finished_job_is_not_begun_again_where_nothing_fails_over_or_controllers_run_apart(
    settings: tuple[ManagerSettings, ...], placement: Manifest
) -> None:
    """Somebody deletes its binding, then its clusters leave the fleet one after the other."""

    async def story(world: World) -> None:
        async with managed(world, *settings):
            before = await finish_job(world, placement, 2, 4)
            uids = await jobs(world)
            await delete_binding(world)
            await world.sleep(100)
            assert await jobs(world) == uids
            for gone in before:
                await unjoin_cluster(world.client, gone, world.clock, force=False, wait_seconds=60, tell=lambda _: None)
                await world.sleep(100)
            assert not any((await jobs(world)).values())
            await rebalance(world)
            await world.client.patch(JOBS, "bill", {"spec": {"parallelism": 3}}, "default")
            await world.sleep(200)
            assert not any((await jobs(world)).values())

    play(story, {**PUSHED, "member4": "Push"})


@pytest.mark.parametrize("placement", [*PLACEMENTS.values(), ANYWHERE], ids=[*PLACEMENTS, "duplicated"])
@pytest.mark.parametrize("controllers_stay", [False, True])
def test_s1_a_finished_job_is_not_begun_again_in_a_restored_hub_that_gives_its_template_another_uid(
    placement: Manifest, *, controllers_stay: bool
) -> None:
    """Templates and Works were restored object by object, and bindings were not."""

    async def story(world: World) -> None:
        await finish_job(world, placement, 2, 4)
        before = await jobs(world)
        backup = with_another_uid(await world.medium.load(), "/jobs/default/bill")
        await restore(world, backup, controllers_stay=controllers_stay, without=JOB)
        for change in (rebalance, delete_all_bindings, delete_binding_by_force):
            await world.sleep(200)
            assert await jobs(world) == before
            await change(world)
        await world.sleep(200)
        assert await jobs(world) == before

    play(story, PUSHED)


def test_a_cron_job_whose_binding_is_deleted_begins_each_run_once() -> None:
    """A run under way goes with the binding, as Pods of a Deployment do; the next ones are begun when they are due."""

    async def story(world: World) -> None:
        there = await start_cron_job(world, "*/5 * * * *", 60)
        known = set((await jobs_in(world, there)).items())
        await delete_all_bindings(world)
        for _ in range(20):
            await world.sleep(60)
            known |= {each for name in THREE for each in (await jobs_in(world, name)).items()}
        assert len(known) == len({name for name, _ in known}) == 5

    play(story, PUSHED)
