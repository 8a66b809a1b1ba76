"""Jobs whose binding somebody deletes: all that is asked for is done, and what ended may be done again."""

from collections.abc import Mapping

import pytest

from kubeapi.meta import Manifest
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS
from leeward.app.leaving import unjoin_cluster
from leeward.manager.gates import switch_gates
from leeward.manager.settings import EvictionSettings, ManagerSettings
from leeward.sim.world import Mode, World
from tests.world.stories import apply, play, policy
from tests.world.test_apart import ONLY_PLACING, REST, REST_AND_HALVES, managed
from tests.world.test_finished_jobs import ANYWHERE, PLACEMENTS, STATIC, finish_job, rebalance, run_longer, runs
from tests.world.test_jobs_in_outages import JOB, JOBS, ONE, THREE, jobs_in, pod, start_cron_job, succeeded
from tests.world.test_overrides import OVERRIDES, only, overriding

PUSHED: Mapping[str, Mode] = dict.fromkeys(THREE, "Push")


async def delete_binding(world: World) -> None:
    await world.client.delete(RESOURCE_BINDINGS, JOB, "default")


def test_s1_the_parts_that_run_are_done_where_another_has_failed() -> None:
    async def story(world: World) -> None:
        for name, seconds in (("member1", "901"), ("member2", "900"), ("member3", "900")):
            await run_longer(world, name, seconds)
        resource = {"apiVersion": "batch/v1", "kind": "Job", "name": "bill"}
        fails = [{"path": "/spec/activeDeadlineSeconds", "operator": "add", "value": 10}]
        failing = overriding("fails", resource, only("member1"), plaintext=fails)
        await world.client.create(OVERRIDES, failing, "default")
        await finish_job(world, PLACEMENTS["static"], 3, 3)
        await delete_binding(world)
        await world.sleep(1620)
        assert [await succeeded(world, name) for name in ("member2", "member3")] == [1, 1]

    play(story, PUSHED)


def test_s1_a_run_in_a_cluster_that_its_term_came_to_mean_is_done() -> None:
    async def story(world: World) -> None:
        labels = {"metadata": {"labels": {"role": "primary"}}}
        await world.client.patch(CLUSTERS, "member1", labels)
        await run_longer(world, "member2", "900")
        primary = {"affinityName": "primary", "labelSelector": {"matchLabels": {"role": "primary"}}}
        backup = {"affinityName": "backup", "clusterNames": ["member3"]}
        await finish_job(world, {"clusterAffinities": [primary, backup]}, 1, 1)
        await world.client.patch(CLUSTERS, "member2", labels)
        await world.sleep(120)
        await delete_binding(world)
        await world.sleep(1500)
        assert await succeeded(world, "member2") == 1

    play(story, PUSHED)


def test_s1_a_part_that_runs_is_done_where_fewer_pods_were_asked_for_meanwhile() -> None:
    async def story(world: World) -> None:
        await run_longer(world, "member3", "1500")
        weights = [{"targetCluster": {"clusterNames": [n]}, "weight": w} for n, w in (("member1", 2), ("member3", 1))]
        placement = {"replicaScheduling": STATIC | {"weightPreference": {"staticWeightList": weights}}}
        await finish_job(world, ANYWHERE | placement, 3, 6)
        await world.client.patch(JOBS, "bill", {"spec": {"parallelism": 2}}, "default")
        await world.sleep(100)
        await delete_binding(world)
        await world.sleep(3600)
        assert await succeeded(world, "member3") == 2

    play(story, PUSHED)


def test_s1_a_job_that_is_made_anew_after_its_binding_was_deleted_is_done_anew() -> None:
    async def story(world: World) -> None:
        await finish_job(world, ONE, 2, 4)
        before = {name: await jobs_in(world, name) for name in THREE}
        await world.stop_controllers()
        await world.sleep(20)
        world.start_controllers()
        await world.sleep(7200)
        await delete_binding(world)
        await world.client.delete(JOBS, "bill", "default")
        await start(world, {**pod(20), "parallelism": 2, "completions": 4})
        await world.sleep(1500)
        for name in THREE:
            assert not before[name] or await jobs_in(world, name) != before[name]
        assert sum((await runs(world)).values()) == 4

    play(story, PUSHED)


async def start(world: World, spec: Manifest) -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "bill"}, "spec": spec}
    await world.client.create(JOBS, job, "default")


def test_a_suspended_job_whose_binding_is_deleted_is_done_once_when_it_is_resumed() -> None:
    async def story(world: World) -> None:
        await start(world, {**pod(20), "completions": 2, "suspend": True})
        await apply(world.client, policy("bill", ONE, "Job", "batch/v1"))
        await world.sleep(60)
        await delete_binding(world)
        await world.sleep(60)
        await world.client.patch(JOBS, "bill", {"spec": {"suspend": False}}, "default")
        await world.sleep(200)
        assert await runs(world) == dict.fromkeys(world.assigned(JOB), 2)

    play(story, PUSHED)


APART = {
    "no failover": (ManagerSettings(gates=switch_gates([("Failover", False)])),),
    "no taint manager": (ManagerSettings(eviction=EvictionSettings(taint_manager=False)),),
    "apart": (REST_AND_HALVES, ONLY_PLACING),
    "placing alone": (REST, ONLY_PLACING),
}


@pytest.mark.parametrize("placement", PLACEMENTS.values(), ids=PLACEMENTS)
@pytest.mark.parametrize("settings", APART.values(), ids=APART)
def test_s1_a_finished_job_is_not_begun_again_where_nothing_fails_over_or_controllers_run_apart(
    settings: tuple[ManagerSettings, ...], placement: Manifest
) -> None:
    """Each of its clusters leaves the fleet, one after the other."""

    async def story(world: World) -> None:
        async with managed(world, *settings):
            for gone in await finish_job(world, placement, 2, 4):
                await unjoin_cluster(world.client, gone, world.clock, force=False, wait_seconds=60, tell=lambda _: None)
                await world.sleep(100)
            await rebalance(world)
            await world.client.patch(JOBS, "bill", {"spec": {"parallelism": 3}}, "default")
            await world.sleep(200)
            assert not any([await jobs_in(world, name) for name in THREE])

    play(story, {**PUSHED, "member4": "Push"})


def test_a_cron_job_whose_binding_is_deleted_begins_each_run_once() -> None:
    """A run under way goes with the binding, as Pods of a Deployment do; the next ones are begun when they are due."""

    async def story(world: World) -> None:
        there = await start_cron_job(world, "*/5 * * * *", 60)
        known = set((await jobs_in(world, there)).items())
        for binding in (await world.client.list(RESOURCE_BINDINGS, "default")).items:
            await world.client.delete(RESOURCE_BINDINGS, binding.name, "default")
        for _ in range(20):
            await world.sleep(60)
            known |= {each for name in THREE for each in (await jobs_in(world, name)).items()}
        assert len(known) == len({name for name, _ in known}) == 5

    play(story, PUSHED)
