"""Objects that are deleted: preconditions, finalizers, grace, dependents, collections and namespaces."""

import asyncio

import pytest

from tests.kubeserver.api_world import CONFIG_MAPS, PODS, ApiWorld, config_map, pod, tell


def test_a_dry_run_that_is_not_said_in_full_deletes_nothing() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("a"))
        assert (await world.delete(f"{CONFIG_MAPS}/a", dryRun="")).code == 422
        assert (await world.get(f"{CONFIG_MAPS}/a")).code == 200

    tell(story)


def test_a_namespace_that_ends_does_not_change_its_mind_and_takes_nothing_that_has_no_name_yet() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create("/api/v1/namespaces", {"metadata": {"name": "n"}})
        held = {"metadata": {"name": "c", "finalizers": ["example.com/wait"]}}
        assert (await world.create("/api/v1/namespaces/n/configmaps", held)).code == 201
        await world.delete("/api/v1/namespaces/n")
        ending = (await world.delete("/api/v1/namespaces/n", propagationPolicy="Foreground")).body
        assert "finalizers" not in ending["metadata"]
        refused = await world.create("/api/v1/namespaces/n/configmaps", {})
        assert refused.body["message"].startswith('configmaps "Unknown" is forbidden: unable to create new content')

    tell(story)


def test_d8_an_object_with_finalizers_waits_until_the_last_one_is_gone():
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, {"metadata": {"name": "a", "finalizers": ["example.com/hold"]}})
        deleted = await world.delete(f"{CONFIG_MAPS}/a")
        assert deleted.body["metadata"]["deletionTimestamp"]
        more = await world.patch(
            f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": ["example.com/hold", "example.com/x"]}}
        )
        assert more.code == 422
        await world.patch(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}})
        assert (await world.get(f"{CONFIG_MAPS}/a")).code == 404

    tell(story)


@pytest.mark.parametrize("precondition", [{"uid": "another"}, {"resourceVersion": "1"}])
def test_a_deletion_with_a_wrong_precondition_is_a_conflict(precondition: dict[str, str]):
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("a"))
        refused = await world.delete(f"{CONFIG_MAPS}/a", {"preconditions": precondition})
        assert refused.code == 409
        assert (await world.get(f"{CONFIG_MAPS}/a")).code == 200

    tell(story)


def test_a_running_pod_is_given_time_and_a_pending_one_is_not():
    async def story(world: ApiWorld) -> None:
        await world.create(PODS, pod("pending"))
        await world.create(PODS, pod("running", nodeName="node1"))
        await world.delete(f"{PODS}/pending")
        marked = await world.delete(f"{PODS}/running", gracePeriodSeconds="10")
        assert (await world.get(f"{PODS}/pending")).code == 404
        assert marked.body["metadata"]["deletionGracePeriodSeconds"] == 10
        assert marked.body["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:10Z"
        await world.delete(f"{PODS}/running", {"gracePeriodSeconds": 0})
        assert (await world.get(f"{PODS}/running")).code == 404

    tell(story)


JOBS = "/apis/batch/v1/namespaces/default/jobs"


def test_a_job_leaves_its_pods_alone_unless_it_is_told_what_to_do_with_them():
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}
    job = {"kind": "Job", "metadata": {"name": "a"}, "spec": {"template": template}}

    async def story(world: ApiWorld) -> None:
        await world.create(JOBS, job)
        marked = await world.delete(f"{JOBS}/a")
        assert marked.body["metadata"]["finalizers"] == ["orphan"]
        assert marked.headers["warning"].startswith('299 - "child pods are preserved by default when jobs are deleted')
        await asyncio.sleep(1)
        await world.create(JOBS, job)
        asked = await world.delete(f"{JOBS}/a", propagationPolicy="Background")
        assert asked.body["status"] == "Success"
        assert "warning" not in asked.headers

    tell(story)


def test_options_in_the_body_of_a_deletion_leave_those_of_the_query_unread():
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("a"))
        wrong = await world.delete(f"{CONFIG_MAPS}/a", {"gracePeriodSeconds": "x"})
        said = "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64"
        assert (wrong.code, wrong.body["message"]) == (400, said)
        assert (await world.delete(f"{CONFIG_MAPS}/a", {}, dryRun="All")).code == 200
        assert (await world.get(f"{CONFIG_MAPS}/a")).code == 404

    tell(story)


def test_a_collection_is_deleted_as_far_as_it_is_selected():
    async def story(world: ApiWorld) -> None:
        for name, tier in (("a", "x"), ("b", "x"), ("c", "y")):
            await world.create(CONFIG_MAPS, {"metadata": {"name": name, "labels": {"tier": tier}}})
        await world.delete(CONFIG_MAPS, labelSelector="tier=x")
        assert (await world.get(CONFIG_MAPS)).names == ["c"]

    tell(story)
