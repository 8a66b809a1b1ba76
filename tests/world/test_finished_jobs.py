"""A Job that has ended is done, and for ever: nobody begins it again in another cluster (S1)."""

from collections.abc import Awaitable, Callable, Mapping

import pytest

from kubeapi.meta import Manifest
from kubeserver.store.medium import Loaded
from leeward.api.names import FAILBACK_ANNOTATION
from leeward.api.resource import CLUSTERS, WORKLOAD_REBALANCERS
from leeward.core.interpreter.jobs import says_complete
from leeward.sim.world import World
from tests.world.stories import POLICIES, apply, held, play, policy, with_room, without_room
from tests.world.test_jobs_in_outages import JOB, JOBS, ONE, THREE, jobs_in, pod, succeeded
from tests.world.test_overrides import OVERRIDES, only, overriding, replacing

WORKLOAD = {"apiVersion": "batch/v1", "kind": "Job", "name": "bill", "namespace": "default"}


async def rebalance(world: World) -> None:
    spec = {"spec": {"workloads": [WORKLOAD]}}
    await world.client.create(WORKLOAD_REBALANCERS, {"metadata": {"name": "again"}, **spec})


async def finish_job(world: World, placement: Manifest, parallelism: int, completions: int) -> Mapping[str, int]:
    """Runs a Job to its end, and returns what succeeded by cluster."""
    spec = {**pod(20), "parallelism": parallelism, "completions": completions}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "bill"}, "spec": spec}
    await world.client.create(JOBS, job, "default")
    await apply(world.client, policy("bill", placement, "Job", "batch/v1"))
    await world.sleep(200)
    return await runs(world)


async def runs(world: World) -> Mapping[str, int]:
    return {name: await succeeded(world, name) for name in THREE if await jobs_in(world, name)}


DYNAMIC: Manifest = {
    "replicaSchedulingType": "Divided",
    "replicaDivisionPreference": "Weighted",
    "weightPreference": {"dynamicWeight": "AvailableReplicas"},
}
STATIC: Manifest = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
ANYWHERE: Manifest = {"clusterAffinity": {"clusterNames": list(THREE)}}
PLACEMENTS: Mapping[str, Manifest] = {
    "one": ONE,
    "dynamic": ANYWHERE | {"replicaScheduling": DYNAMIC},
    "static": ANYWHERE | {"replicaScheduling": STATIC},
}


async def cordoned(world: World, there: str) -> None:
    taint = {"key": "cluster.karmada.io/unschedulable", "effect": "NoSchedule"}
    await world.client.patch(CLUSTERS, there, {"spec": {"taints": [taint]}})
    await world.sleep(10)
    await rebalance(world)


async def crowded(world: World, there: str) -> None:
    await without_room(world, there)
    await world.sleep(60)
    await rebalance(world)


async def placed_elsewhere(world: World, there: str) -> None:
    names = [name for name in THREE if name != there]
    placement = {"clusterAffinity": {"clusterNames": names}}
    await world.client.patch(POLICIES, "bill", {"spec": {"placement": placement}}, "default")


async def with_more_pods(world: World, there: str) -> None:
    await without_room(world, there)
    await world.sleep(60)
    await world.client.patch(JOBS, "bill", {"spec": {"parallelism": 4}}, "default")


async def with_fewer_pods(world: World, there: str) -> None:
    await world.client.patch(JOBS, "bill", {"spec": {"parallelism": 1}}, "default")


CHANGES = (cordoned, crowded, placed_elsewhere, with_more_pods, with_fewer_pods)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("how", PLACEMENTS)
def test_s1_a_finished_job_is_not_begun_again_whatever_is_changed_about_its_placement(
    change: Callable[[World, str], Awaitable[None]], how: str
) -> None:
    """Harm of before: a WorkloadRebalancer had a Job that had ended done a second time in another cluster."""

    async def story(world: World) -> None:
        before = await finish_job(world, PLACEMENTS[how], 2, 4)
        assert sum(before.values()) == 4
        uids = {name: await jobs_in(world, name) for name in THREE}
        await change(world, max(before))
        await world.sleep(300)
        assert {name: await jobs_in(world, name) for name in THREE} == uids
        assert await runs(world) == before

    play(story, dict.fromkeys(THREE, "Push"))


def test_s1_a_job_that_has_ended_in_the_backup_does_not_return_to_the_primary() -> None:
    """Harm of before: failback took a Job that had ended for one that serves, and began it at home."""

    async def story(world: World) -> None:
        terms = [{"affinityName": f"t{n}", "clusterNames": [name]} for n, name in enumerate(THREE)]
        spec = {**pod(900), "completions": 1}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "bill"}, "spec": spec}
        wanted = policy("bill", {"clusterAffinities": terms}, "Job", "batch/v1")
        wanted["metadata"]["annotations"] = {FAILBACK_ANNOTATION: "Automatic"}
        await world.client.create(JOBS, job, "default")
        await apply(world.client, wanted)
        await world.sleep(60)
        await world.member("member1").stop()
        await world.sleep(2000)
        assert await succeeded(world, "member2") == 1
        world.member("member1").replace_contents(Loaded((), 0))
        await world.member("member1").start()
        for _ in range(60):
            await world.sleep(60)
            assert await runs(world) == {"member2": 1}
        await rebalance(world)
        await world.sleep(1000)
        assert await runs(world) == {"member2": 1}

    play(story, dict.fromkeys(THREE, "Push"))


def test_a_job_for_each_cluster_is_done_in_those_that_its_placement_names_later() -> None:
    """Duplicates are for each cluster, unless their number is limited."""

    async def story(world: World) -> None:
        before = await finish_job(world, {"clusterAffinity": {"clusterNames": ["member1"]}}, 1, 1)
        assert before == {"member1": 1}
        (uid,) = (await jobs_in(world, "member1")).values()
        await world.client.patch(POLICIES, "bill", {"spec": {"placement": ANYWHERE}}, "default")
        await world.sleep(60)
        await rebalance(world)
        await world.sleep(60)
        assert await runs(world) == dict.fromkeys(THREE, 1)
        assert await jobs_in(world, "member1") == {"bill": uid}

    play(story, dict.fromkeys(THREE, "Push"))


@pytest.mark.parametrize("fails", [False, True])
def test_s1_the_part_of_a_divided_job_that_has_ended_stays_where_it_is_and_gets_no_more(*, fails: bool) -> None:
    """Another part runs on, and its cluster fails, or somebody asks for other places.

    Harm of before: what had ended was to do more, which its member refuses, so that the Job never became complete."""

    async def story(world: World) -> None:
        slowly = replacing("/spec/template/spec/containers/0/command/1", "900")
        job = {"apiVersion": "batch/v1", "kind": "Job", "name": "bill"}
        slow = overriding("slow", job, only("member3"), plaintext=slowly)
        await world.client.create(OVERRIDES, slow, "default")
        assert await finish_job(world, PLACEMENTS["dynamic"], 3, 3) == {"member1": 1, "member2": 1, "member3": 0}
        done = await jobs_in(world, "member2")
        if fails:
            await world.member("member3").stop()
        else:
            await without_room(world, "member2")
            await world.sleep(60)
            await rebalance(world)
        await world.sleep(3000)
        if fails:
            assert (world.assigned(JOB), held(world, JOB)) == (dict.fromkeys(THREE, 1), "NoPlaceToGo")
            await world.member("member3").start()
            await world.sleep(300)
        assert await jobs_in(world, "member2") == done
        assert await runs(world) == world.assigned(JOB) == dict.fromkeys(THREE, 1)
        template = await world.client.get(JOBS, "bill", "default")
        assert says_complete(template["status"])

    play(story, dict.fromkeys(THREE, "Push"))


async def run_longer(world: World, name: str, seconds: str) -> None:
    command = replacing("/spec/template/spec/containers/0/command/1", seconds)
    resource = {"apiVersion": "batch/v1", "kind": "Job", "name": "bill"}
    await world.client.create(OVERRIDES, overriding(f"slow-{name}", resource, only(name), plaintext=command), "default")


def test_s1_a_part_that_is_lost_while_nothing_has_room_is_done_once_there_is_room() -> None:
    four = (*THREE, "member4")

    async def story(world: World) -> None:
        await run_longer(world, "member3", "3000")
        await without_room(world, "member4")
        await world.sleep(60)
        anywhere = {"clusterAffinity": {"clusterNames": list(four)}, "replicaScheduling": DYNAMIC}
        await finish_job(world, anywhere, 3, 3)
        assert set(world.assigned(JOB)) == {*THREE}
        await without_room(world, "member1")
        await without_room(world, "member2")
        await world.sleep(60)
        await world.client.delete(CLUSTERS, "member3")
        await world.sleep(200)
        assert set(world.assigned(JOB)) == {"member1", "member2"}
        await with_room(world, "member4")
        await world.sleep(600)
        assert set(world.assigned(JOB)) == {"member1", "member2", "member4"}
        assert await jobs_in(world, "member4")

    play(story, dict.fromkeys(four, "Push"))


def test_s1_a_part_that_runs_goes_on_where_the_done_ones_are_as_many_as_are_asked_for() -> None:
    async def story(world: World) -> None:
        await run_longer(world, "member3", "1500")
        weights = [
            {"targetCluster": {"clusterNames": [name]}, "weight": weight}
            for name, weight in (("member1", 2), ("member3", 1))
        ]
        static = STATIC | {"weightPreference": {"staticWeightList": weights}}
        await finish_job(world, ANYWHERE | {"replicaScheduling": static}, 3, 6)
        assert world.assigned(JOB) == {"member1": 2, "member3": 1}
        before = await jobs_in(world, "member3")
        await world.client.patch(JOBS, "bill", {"spec": {"parallelism": 2}}, "default")
        await world.sleep(200)
        assert before
        assert await jobs_in(world, "member3") == before

    play(story, dict.fromkeys(THREE, "Push"))
