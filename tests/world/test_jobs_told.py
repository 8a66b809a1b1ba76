"""Answers about Jobs that have ended: they stay, as the controllers hold them, and no outage is said to move them."""

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.answers.explanation import ApplicationState, Explanation
from leeward.answers.imagined import ImaginedChange
from leeward.answers.subjects import asked_of, explain_in
from leeward.answers.what_if import Fate, what_if
from leeward.sim.world import World
from tests.world.pictures import picture
from tests.world.stories import apply, held, in_world, policy

JOBS = Resource.of_manifests("batch/v1", "jobs", "Job", True)
MIGRATION = "migration-job"
ONE_OF_TWO: Manifest = {
    "clusterAffinity": {"clusterNames": ["member1", "member2"]},
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
}


async def start(world: World) -> str:
    """Runs a Job to its end, and returns its cluster."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "migration"}}
    await world.client.create(JOBS, {**job, "spec": {"template": {"spec": pod}}}, "default")
    await apply(world.client, policy("migration", ONE_OF_TWO, "Job", "batch/v1"))
    await world.until(lambda: bool(world.assigned(MIGRATION)), 30)
    await world.sleep(60)
    (there,) = world.assigned(MIGRATION)
    return there


async def explain(world: World) -> Explanation:
    answer = explain_in(await picture(world), asked_of("job/migration", "default"))
    assert isinstance(answer, Explanation)
    return answer


@in_world()
async def test_a_job_that_has_ended_is_told_to_stay_in_a_cluster_that_fails_and_stays(world: World) -> None:
    there = await start(world)
    change = ImaginedChange(fails=frozenset({there}), recover_after_seconds=3600)
    told = what_if(await picture(world), change)
    (job,) = told.applications
    assert (job.fate, job.reason, job.after) == (Fate.KEPT, "NothingToGain", job.before)
    assert told.losses.total == 0, "it is not deleted on return"
    await world.member(there).stop()
    await world.until(lambda: held(world, MIGRATION) == "NothingToGain", 900)
    explained = await explain(world)
    assert (explained.state, explained.reason) == (ApplicationState.KEPT, "NothingToGain")
    assert not [step.sentence for step in explained.next if "leaves" in step.sentence]
