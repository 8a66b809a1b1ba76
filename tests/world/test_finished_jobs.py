"""A Job that has ended is done, and for ever: nobody begins it again in another cluster (S1)."""

from collections.abc import Awaitable, Callable, Mapping

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeserver.store.medium import Loaded
from leeward.api.names import FAILBACK_ANNOTATION
from leeward.api.resource import CLUSTERS, WORKLOAD_REBALANCERS
from leeward.app.leaving import unjoin_cluster
from leeward.core.interpreter.jobs import says_complete
from leeward.manager.settings import ManagerSettings
from leeward.operations.drain import start_drain
from leeward.sim.world import Mode, World
from tests.world.stories import POLICIES, apply, held, identities, play, policy, with_room, without_room
from tests.world.test_jobs_in_outages import JOB, JOBS, ONE, THREE, jobs_in, pod, succeeded
from tests.world.test_kinds import DEFINITIONS
from tests.world.test_overrides import OVERRIDES, only, overriding, replacing

FOUR = (*THREE, "member4")
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
        world.member("member1").medium.replace(Loaded((), 0))
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
    async def story(world: World) -> None:
        await run_longer(world, "member3", "3000")
        await without_room(world, "member4")
        await world.sleep(60)
        anywhere = {"clusterAffinity": {"clusterNames": list(FOUR)}, "replicaScheduling": DYNAMIC}
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

    play(story, dict.fromkeys(FOUR, "Push"))


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


REGIONS: Mapping[str, str] = {"member1": "a", "member2": "a", "member3": "b", "member4": "b"}


@pytest.mark.parametrize("duplicated", [False, True])
def test_s2_a_part_that_runs_fails_over_within_its_region_where_a_done_one_holds_the_other(*, duplicated: bool) -> None:
    """Harm of before: the replacement alone was to lie in both regions, so that the part was never done."""

    async def story(world: World) -> None:
        for name, region in REGIONS.items():
            await world.client.patch(CLUSTERS, name, {"spec": {"region": region}})
        for name in ("member3", "member4"):
            await run_longer(world, name, "3000")
        two_regions = [{"spreadByField": field, "minGroups": 2, "maxGroups": 2} for field in ("region", "cluster")]
        everywhere = {"clusterAffinity": {"clusterNames": list(FOUR)}, "spreadConstraints": two_regions}
        before = await finish_job(world, everywhere | ({} if duplicated else {"replicaScheduling": DYNAMIC}), 2, 2)
        (done,) = before.keys() & {"member1", "member2"}
        (lost,) = before.keys() & {"member3", "member4"}
        (other,) = {"member3", "member4"} - {lost}
        for name in {"member1", "member2"} - {done}:
            await without_room(world, name)
        uids = await jobs_in(world, done)
        await world.member(lost).stop()
        await world.sleep(900)
        assert world.assigned(JOB).keys() == {done, other}
        assert await jobs_in(world, other)
        assert await jobs_in(world, done) == uids

    play(story, dict.fromkeys(FOUR, "Push"))


def test_a_job_for_each_cluster_of_its_term_is_done_in_those_that_the_term_comes_to_mean() -> None:
    """Harm of before: with a second term for outages, no cluster got it that was labelled after it had ended."""

    async def story(world: World) -> None:
        labels = {"metadata": {"labels": {"role": "primary"}}}
        await world.client.patch(CLUSTERS, "member1", labels)
        primary = {"affinityName": "primary", "labelSelector": {"matchLabels": {"role": "primary"}}}
        backup = {"affinityName": "backup", "clusterNames": ["member3"]}
        assert await finish_job(world, {"clusterAffinities": [primary, backup]}, 1, 1) == {"member1": 1}
        await rebalance(world)
        await world.sleep(60)
        assert await runs(world) == {"member1": 1}
        await world.client.patch(CLUSTERS, "member2", labels)
        await world.sleep(120)
        assert await runs(world) == {"member1": 1, "member2": 1}

    play(story, dict.fromkeys(THREE, "Push"))


TERMS: Manifest = {
    "clusterAffinities": [{"affinityName": name, "clusterNames": [name]} for name in ("member1", "member2")]
}


@pytest.mark.parametrize("mode", ["Push", "Pull"])
@pytest.mark.parametrize("placement", [*PLACEMENTS.values(), TERMS], ids=[*PLACEMENTS, "terms"])
def test_s1_a_finished_job_is_not_begun_again_when_a_cluster_of_it_leaves_the_fleet(
    placement: Manifest, mode: Mode
) -> None:
    """Harm of before: unjoining a cluster had its part done again."""

    async def story(world: World) -> None:
        before = await finish_job(world, placement, 2, 4)
        (gone, *_) = before
        uids = {name: await jobs_in(world, name) for name in THREE if name != gone}
        await unjoin_cluster(world.client, gone, world.clock, force=False, wait_seconds=60, tell=lambda _: None)
        await world.sleep(200)
        await rebalance(world)
        await world.sleep(200)
        await world.stop_controllers()
        world.start_controllers()
        await world.client.patch(JOBS, "bill", {"spec": {"parallelism": 3}}, "default")
        await world.sleep(200)
        assert {name: await jobs_in(world, name) for name in uids} == uids
        assert gone not in world.assigned(JOB)
        binding = world.binding(JOB)
        assert binding is not None
        told = {condition.type: condition.status for condition in binding.status.conditions}
        assert told == {"Scheduled": "True", "FullyApplied": str(len(before) > 1)}

    play(story, dict.fromkeys(THREE, mode))


@pytest.mark.parametrize("exact", [False, True])
def test_a_job_that_is_over_is_begun_again_in_karmadas_way_or_once_it_is_made_anew(*, exact: bool) -> None:
    async def story(world: World) -> None:
        (there,) = await finish_job(world, ONE, 2, 4)
        await unjoin_cluster(world.client, there, world.clock, force=False, wait_seconds=60, tell=lambda _: None)
        await world.sleep(60)
        if not exact:
            assert not any([await jobs_in(world, name) for name in THREE])
            await world.client.delete(JOBS, "bill", "default")
            await world.client.delete(POLICIES, "bill", "default")
            await world.sleep(30)
            await finish_job(world, ONE, 2, 4)
        (other,) = world.assigned(JOB)
        assert other != there
        assert await jobs_in(world, other)

    settings = ManagerSettings()
    play(story, dict.fromkeys(THREE, "Push"), manager=settings.karmada_exact() if exact else settings)


@pytest.mark.parametrize("how", ["force", "vanished"])
def test_s1_a_finished_job_is_not_begun_again_when_its_dead_cluster_is_taken_out(how: str) -> None:
    async def story(world: World) -> None:
        before = await finish_job(world, PLACEMENTS["dynamic"], 2, 4)
        (gone, *others) = before
        uids = {name: await jobs_in(world, name) for name in THREE if name != gone}
        await world.member(gone).stop()
        await world.sleep(600)
        if how == "force":
            await unjoin_cluster(world.client, gone, world.clock, force=True, wait_seconds=60, tell=lambda _: None)
        else:
            await world.stop_controllers()
            await world.client.patch(CLUSTERS, gone, {"metadata": {"finalizers": None}})
            await world.client.delete(CLUSTERS, gone)
            world.start_controllers()
        await world.sleep(300)
        for name in others:
            await world.member(name).stop()
        await world.sleep(900)
        for name in others:
            await world.member(name).start()
        await world.sleep(300)
        assert {name: await jobs_in(world, name) for name in uids} == uids

    play(story, dict.fromkeys(THREE, "Push"))


def test_s1_a_finished_job_whose_clusters_leave_one_after_the_other_is_not_begun_in_the_last_one() -> None:
    async def story(world: World) -> None:
        before = await finish_job(world, PLACEMENTS["dynamic"], 2, 4)
        assert len(before) == 2
        (never,) = set(THREE) - before.keys()
        for name in before:
            await world.stop_controllers()
            world.start_controllers()
            await world.sleep(1)
            await unjoin_cluster(world.client, name, world.clock, force=False, wait_seconds=60, tell=lambda _: None)
            await world.sleep(100)
            assert await jobs_in(world, never) == {}
        assert world.assigned(JOB) == {}

    play(story, {"member1": "Push", "member2": "Pull", "member3": "Pull"})


COMPLETE: Manifest = {"conditions": [{"type": "Complete", "status": "True"}]}
SUCCEEDED: Manifest = {"conditions": [{"type": "Succeeded", "status": "True"}]}
BATCH_KINDS: Mapping[str, tuple[Resource[Manifest], Manifest]] = {
    "Pod": (Resource.of_manifests("v1", "pods", "Pod", True), {"phase": "Succeeded"}),
    "Workflow": (
        Resource.of_manifests("argoproj.io/v1alpha1", "workflows", "Workflow", True),
        {"phase": "Succeeded"},
    ),
    "PyTorchJob": (Resource.of_manifests("kubeflow.org/v1", "pytorchjobs", "PyTorchJob", True), SUCCEEDED),
    "Job": (
        Resource.of_manifests("batch.volcano.sh/v1alpha1", "jobs", "Job", True),
        {"state": {"phase": "Completed"}},
    ),
}


RUNNING: Manifest = {"conditions": [{"type": "Running", "status": "True"}]}
RUNS: Mapping[str, tuple[Resource[Manifest], Manifest]] = {
    "Workflow": (BATCH_KINDS["Workflow"][0], {"phase": "Running"}),
    "PyTorchJob": (BATCH_KINDS["PyTorchJob"][0], RUNNING),
    "Job": (BATCH_KINDS["Job"][0], {"state": {"phase": "Running"}}),
    "RayJob": (
        Resource.of_manifests("ray.io/v1", "rayjobs", "RayJob", True),
        {"jobStatus": "RUNNING", "jobDeploymentStatus": "Running"},
    ),
    "TrainJob": (
        Resource.of_manifests("trainer.kubeflow.org/v1alpha1", "trainjobs", "TrainJob", True),
        {"jobsStatus": [{"name": "node", "active": 1}]},
    ),
}
"""Kinds and the status of a run."""


def defining(resource: Resource[Manifest]) -> Manifest:
    """The definition of a kind of custom resources."""
    group, version = resource.api_version.split("/")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served: Manifest = {"name": version, "served": True, "storage": True, "subresources": {"status": {}}}
    return {
        "metadata": {"name": f"{resource.plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": resource.plural, "singular": resource.kind.lower(), "kind": resource.kind},
            "versions": [{**served, "schema": {"openAPIV3Schema": schema}}],
        },
    }


async def begun(world: World, kind: str, resource: Resource[Manifest], status: Manifest | None) -> str:
    """Places one object of the kind, and returns its cluster, which reports this status."""
    containers = [{"name": "main", "image": "bill"}]
    spec = {"restartPolicy": "Never", "containers": containers} if kind == "Pod" else {}
    template = {"apiVersion": resource.api_version, "kind": kind, "metadata": {"name": "bill"}, "spec": spec}
    clients = [world.client, *(world.member(name).client for name in THREE)]
    for client in clients if kind != "Pod" else ():
        await client.create(DEFINITIONS, defining(resource))
    await world.sleep(30)
    await world.client.create(resource, template, "default")
    await apply(world.client, policy("bill", ONE, kind, resource.api_version))
    binding = f"bill-{kind.lower()}"
    await world.until(lambda: len(world.assigned(binding)) == 1, 60)
    await world.sleep(30)
    (there,) = world.assigned(binding)
    if status is not None:
        await report(world, there, resource, status)
    return there


async def report(world: World, there: str, resource: Resource[Manifest], status: Manifest) -> None:
    await world.member(there).client.patch(resource, "bill", {"status": status}, "default", subresource="status")
    await world.sleep(30)


@pytest.mark.parametrize("kind", ["Pod", *RUNS])
def test_s1_what_is_no_job_and_runs_ends_in_its_drained_cluster_and_is_done_once(kind: str) -> None:
    """Harm of before: a second training began beside the first, which was then deleted."""
    resource, status = RUNS.get(kind, (BATCH_KINDS["Pod"][0], None))
    _, done = BATCH_KINDS.get(kind, (resource, {"jobStatus": "SUCCEEDED"} if kind == "RayJob" else COMPLETE))

    async def story(world: World) -> None:
        there = await begun(world, kind, resource, status)
        before = await identities(world, "bill", resource=resource)
        binding = f"bill-{kind.lower()}"
        await start_drain(world.client, there, None)
        await world.sleep(1500)
        assert (set(world.assigned(binding)), held(world, binding)) == ({there}, "RunUnderWay")
        await report(world, there, resource, done)
        await world.sleep(900)
        assert (set(world.assigned(binding)), held(world, binding)) == ({there}, "NothingToGain")
        assert await identities(world, "bill", resource=resource) == before

    play(story, dict.fromkeys(THREE, "Push"))


@pytest.mark.parametrize("kind", ["Workflow", "PyTorchJob"])
def test_s1_a_run_that_has_begun_elsewhere_replaces_none(kind: str) -> None:
    """A person places it elsewhere while it runs: the first one goes once the second is done."""
    resource, status = RUNS[kind]

    async def story(world: World) -> None:
        there = await begun(world, kind, resource, status)
        await placed_elsewhere(world, there)
        await world.sleep(60)
        (other,) = {*await identities(world, "bill", resource=resource)} - {there}
        await report(world, other, resource, status)
        await world.sleep(1500)
        assert {*await identities(world, "bill", resource=resource)} == {there, other}
        await report(world, other, resource, BATCH_KINDS[kind][1])
        await world.sleep(300)
        assert {*await identities(world, "bill", resource=resource)} == {other}

    play(story, dict.fromkeys(THREE, "Push"))


def test_a_pod_that_is_always_restarted_moves_as_what_serves_does() -> None:
    resource = BATCH_KINDS["Pod"][0]
    spec = {"restartPolicy": "Always", "containers": [{"name": "main", "image": "web"}]}

    async def story(world: World) -> None:
        await world.client.create(resource, {"metadata": {"name": "bill"}, "spec": spec}, "default")
        await apply(world.client, policy("bill", ONE, "Pod", "v1"))
        await world.sleep(60)
        (there,) = world.assigned("bill-pod")
        await start_drain(world.client, there, None)
        await world.sleep(300)
        assert there not in await identities(world, "bill", resource=resource)

    play(story, dict.fromkeys(THREE, "Push"))


@pytest.mark.parametrize("kind", BATCH_KINDS)
@pytest.mark.parametrize("dies", [False, True])
def test_s1_what_is_no_job_and_is_done_is_not_begun_again(kind: str, *, dies: bool) -> None:
    """A Pod that has succeeded, a workflow, a training job: its cluster is lost or drained; then it is made anew."""
    resource, done = BATCH_KINDS[kind]
    containers = [{"name": "main", "image": "bill"}]
    spec = {"restartPolicy": "Never", "containers": containers} if kind == "Pod" else {}
    template = {"apiVersion": resource.api_version, "kind": kind, "metadata": {"name": "bill"}, "spec": spec}

    async def story(world: World) -> None:
        clients = [world.client, *(world.member(name).client for name in THREE)]
        for client in clients if kind != "Pod" else ():
            await client.create(DEFINITIONS, defining(resource))
        await world.sleep(30)
        await world.client.create(resource, template, "default")
        await apply(world.client, policy("bill", ONE, kind, resource.api_version))
        binding = f"bill-{kind.lower()}"
        await world.until(lambda: len(world.assigned(binding)) == 1, 60)
        await world.sleep(30)
        (there,) = world.assigned(binding)
        await world.member(there).client.patch(resource, "bill", {"status": done}, "default", subresource="status")
        await world.sleep(30)
        before = await identities(world, "bill", resource=resource)
        assert set(before) == {there}
        if dies:
            await world.member(there).stop()
        else:
            await start_drain(world.client, there, None)
        await world.sleep(1500)
        assert (set(world.assigned(binding)), held(world, binding)) == ({there}, "NothingToGain")
        if dies:
            await world.member(there).start()
            await world.sleep(120)
        assert await identities(world, "bill", resource=resource) == before
        await world.client.delete(resource, "bill", "default")
        await world.client.create(resource, template, "default")
        await world.sleep(120)
        anew = await identities(world, "bill", resource=resource)
        assert len(anew) == 1
        assert before.values() != anew.values()

    play(story, dict.fromkeys(THREE, "Push"))
