"""A template tells the truth while a cluster of its copies is not seen: what nobody sees is not ready."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.names import CLUSTER_OUTAGE_CONDITION
from leeward.manager.choice import AUTOSCALED, Choice
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import Mode, World
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, by_weight, deployment, in_world, play, policy
from tests.world.test_scripted_kinds import CRON_TABS, given_a_scripted_kind

ONE: dict[str, Mode] = {"member1": "Push"}
TWO: dict[str, Mode] = {"member1": "Push", "member2": "Pull"}
SEVEN: dict[str, Mode] = {f"member{number}": "Push" for number in range(1, 8)}
STATEFUL_SETS = Resource.of_manifests("apps/v1", "statefulsets", "StatefulSet", True)
DAEMON_SETS = Resource.of_manifests("apps/v1", "daemonsets", "DaemonSet", True)
JOBS = Resource.of_manifests("batch/v1", "jobs", "Job", True)
PAST_THRESHOLD = 75
"""Seconds after which a dead cluster is not Ready, in Push and in Pull, and long before anything moves."""
UNKNOWN, AVAILABLE = ("Unknown", "ClusterNotSeen"), ("True", "MinimumReplicasAvailable")
UNSEEN = ("True", "ClusterNotSeen")


async def status_of(world: World, name: str = "web", resource: Resource[Manifest] = DEPLOYMENTS) -> Manifest:
    return (await world.client.get(resource, name, "default")).get("status", {})


def condition(status: Manifest, kind: str) -> tuple[str, str]:
    found: list[Manifest] = [each for each in status.get("conditions", []) if each["type"] == kind]
    return (found[0]["status"], found[0].get("reason", "")) if found else ("", "")


def numbers(status: Manifest) -> dict[str, Any]:
    return {name: value for name, value in status.items() if name != "conditions"}


def is_rolled_out(template: Manifest) -> bool:
    """Tells whether `kubectl rollout status` of a Deployment ends, and Argo CD says Healthy: their rule."""
    spec, status = template["spec"], template.get("status", {})
    updated, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    is_observed = status.get("observedGeneration", 0) >= template["metadata"]["generation"]
    return is_observed and updated >= spec["replicas"] and status.get("replicas", 0) <= updated <= available


async def web(world: World, replicas: int, placement: Manifest) -> None:
    await apply(world.client, policy("web", placement), deployment("web", replicas))
    await world.sleep(60)


@pytest.mark.parametrize("mode", ["Push", "Pull"])
def test_the_only_cluster_of_a_deployment_dies_and_comes_back(mode: Mode) -> None:
    async def story(world: World) -> None:
        await web(world, 2, by_weight({"member1": 1}))
        before = await status_of(world)
        assert condition(before, "Available") == AVAILABLE
        await world.member("member1").stop()
        await world.sleep(15)
        assert await status_of(world) == before, "under the threshold nothing is said"
        await world.sleep(PAST_THRESHOLD - 15)
        during = await world.client.get(DEPLOYMENTS, "web", "default")
        assert condition(during["status"], "Available") == UNKNOWN
        assert condition(during["status"], CLUSTER_OUTAGE_CONDITION) == UNSEEN
        assert during["status"].get("readyReplicas", 0) == 0
        assert during["status"].get("availableReplicas", 0) == 0
        assert during["status"]["unavailableReplicas"] == 2
        assert (during["status"]["replicas"], during["status"]["updatedReplicas"]) == (2, 2), "autoscalers go by it"
        assert not is_rolled_out(during)
        await world.sleep(1200)
        assert world.assigned("web-deployment") == {"member1": 2}, "it has nowhere else to go"
        assert (await world.client.get(DEPLOYMENTS, "web", "default"))["metadata"] == during["metadata"], "told once"
        await world.member("member1").start()
        await world.until(lambda: world.is_ready("member1"), 120)
        await world.sleep(5)
        after = await status_of(world)
        assert numbers(after) == numbers(before)
        assert condition(after, "Available") == AVAILABLE
        assert condition(after, CLUSTER_OUTAGE_CONDITION) == ("", "")

    play(story, {"member1": mode})


@in_world({"member1": "Push", "member2": "Push", "member3": "Push"})
async def test_a_part_that_is_not_seen_is_all_that_is_not_counted(world: World) -> None:
    await web(world, 6, by_weight({"member1": 1, "member2": 1, "member3": 1}))
    await world.member("member3").stop()
    await world.sleep(PAST_THRESHOLD)
    status = await status_of(world)
    assert (status["replicas"], status["updatedReplicas"]) == (6, 6)
    assert (status["readyReplicas"], status["availableReplicas"], status["unavailableReplicas"]) == (4, 4, 2)
    assert condition(status, "Available") == UNKNOWN
    (told,) = [each for each in status["conditions"] if each["type"] == CLUSTER_OUTAGE_CONDITION]
    assert told["message"].startswith("Nothing is known of member3 (since ")
    assert "member1" not in told["message"]


@in_world({"member1": "Push", "member2": "Push"})
async def test_a_failover_ends_in_a_template_that_is_ready_again(world: World) -> None:
    await web(world, 4, by_weight({"member1": 1, "member2": 1}))
    await world.member("member1").stop()
    await world.sleep(900)
    assert world.assigned("web-deployment") == {"member2": 4}
    template = await world.client.get(DEPLOYMENTS, "web", "default")
    assert template["status"]["readyReplicas"] == 4
    assert condition(template["status"], "Available") == AVAILABLE
    assert condition(template["status"], CLUSTER_OUTAGE_CONDITION) == ("", "")
    assert is_rolled_out(template)


@in_world(SEVEN)
async def test_with_the_brake_engaged_nothing_moves_and_all_say_that_nothing_is_seen(world: World) -> None:
    await web(world, 7, by_weight(dict.fromkeys(SEVEN, 1)))
    for name in SEVEN:
        world.member(name).pause()
    await world.sleep(900)
    assert world.assigned("web-deployment") == dict.fromkeys(SEVEN, 1)
    status = await status_of(world)
    assert status.get("readyReplicas", 0) == 0
    assert status["replicas"] == 7
    assert condition(status, "Available") == UNKNOWN
    (told,) = [each for each in status["conditions"] if each["type"] == CLUSTER_OUTAGE_CONDITION]
    assert "and 2 more" in told["message"]


@in_world(ONE)
async def test_the_status_of_a_stateful_set_and_a_daemon_set_says_it_too(world: World) -> None:
    labels = {"app": "db"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "postgres"}]}}
    common = {"apiVersion": "apps/v1", "metadata": {"name": "db"}}
    spec: Manifest = {"selector": {"matchLabels": labels}, "template": pod}
    sets = {**spec, "replicas": 2, "serviceName": "db"}
    await world.client.create(STATEFUL_SETS, {**common, "kind": "StatefulSet", "spec": sets}, "default")
    await world.client.create(DAEMON_SETS, {**common, "kind": "DaemonSet", "spec": spec}, "default")
    both = policy("db", by_weight({"member1": 1}), "StatefulSet")
    both["spec"]["resourceSelectors"] *= 2
    both["spec"]["resourceSelectors"][1] = {**both["spec"]["resourceSelectors"][0], "kind": "DaemonSet"}
    await world.client.create(POLICIES, both, "default")
    await world.sleep(90)
    before = [await status_of(world, "db", resource) for resource in (STATEFUL_SETS, DAEMON_SETS)]
    assert before[0]["readyReplicas"] == 2
    assert before[1]["numberReady"] == before[1]["desiredNumberScheduled"] > 0
    await world.member("member1").stop()
    await world.sleep(PAST_THRESHOLD)
    db, daemon = [await status_of(world, "db", resource) for resource in (STATEFUL_SETS, DAEMON_SETS)]
    assert (db.get("readyReplicas", 0), db.get("availableReplicas", 0), db["replicas"]) == (0, 0, 2)
    assert (daemon["numberReady"], daemon.get("numberAvailable", 0)) == (0, 0)
    assert daemon["numberUnavailable"] == daemon["desiredNumberScheduled"] == before[1]["desiredNumberScheduled"]
    for status in (db, daemon):
        assert condition(status, CLUSTER_OUTAGE_CONDITION) == UNSEEN
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"), 120)
    await world.sleep(5)
    assert [await status_of(world, "db", resource) for resource in (STATEFUL_SETS, DAEMON_SETS)] == before


@in_world(ONE)
async def test_a_job_that_runs_says_it_and_one_that_has_ended_stays_complete(world: World) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    for name, more in (("done", {}), ("runs", {"nodeSelector": {"no": "where"}})):
        template = {"spec": {**pod, **more}}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": template}}
        await world.client.create(JOBS, job, "default")
        await world.client.create(POLICIES, policy(name, by_weight({"member1": 1}), "Job", "batch/v1"), "default")
    await world.sleep(90)
    before = {name: await status_of(world, name, JOBS) for name in ("done", "runs")}
    assert condition(before["done"], "Complete")[0] == "True"
    assert before["runs"]["active"] == 1
    await world.member("member1").stop()
    await world.sleep(PAST_THRESHOLD)
    assert await status_of(world, "done", JOBS) == before["done"]
    during = await status_of(world, "runs", JOBS)
    assert condition(during, CLUSTER_OUTAGE_CONDITION) == UNSEEN
    assert during["active"] == 1, "it is not known to have ended"
    await world.stop_controllers()
    world.start_controllers()
    await world.sleep(60)
    assert await status_of(world, "runs", JOBS) == during, "the outage is dated once"
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"), 120)
    await world.sleep(5)
    assert condition(await status_of(world, "runs", JOBS), CLUSTER_OUTAGE_CONDITION) == ("", "")


@in_world({"member1": "Push", "member2": "Push"})
async def test_a_script_that_adds_up_is_given_copies_that_are_not_ready(world: World) -> None:
    counts = """
        function AggregateStatus(o, items)
          local ready, told = 0, ''
          for _, item in ipairs(items) do
            if item.status ~= nil then ready = ready + (item.status.readyReplicas or 0) end
            told = told .. item.health
          end
          o.status = {readyReplicas = ready, told = told}
          return o
        end
    """
    reflects = "function ReflectStatus(o) return {readyReplicas = o.status.done} end"
    await given_a_scripted_kind(world, statusAggregation=counts, statusReflection=reflects)
    await world.until(lambda: bool(world.assigned("nightly-crontab")), 60)
    await world.sleep(30)
    for name, done in (("member1", 4), ("member2", 2)):
        patch = {"status": {"done": done}}
        await world.member(name).client.patch(CRON_TABS, "nightly", patch, "default")
    await world.sleep(30)
    assert await status_of(world, "nightly", CRON_TABS) == {"readyReplicas": 6, "told": "HealthyHealthy"}
    await world.member("member1").stop()
    await world.sleep(PAST_THRESHOLD)
    assert await status_of(world, "nightly", CRON_TABS) == {"readyReplicas": 2, "told": "UnknownHealthy"}


def test_autoscalers_and_the_replicas_syncer_shrink_nothing_since_a_cluster_is_not_seen() -> None:
    async def story(world: World) -> None:
        await apply(world.client, policy("web", by_weight({"member1": 1, "member2": 1})))
        made = deployment("web", 4)
        made["metadata"]["labels"]["resourcetemplate.karmada.io/retain-replicas"] = "true"
        await apply(world.client, made)
        await world.sleep(60)
        await world.member("member1").stop()
        await world.sleep(240)
        template = await world.client.get(DEPLOYMENTS, "web", "default")
        assert template["status"]["readyReplicas"] == 2
        assert (template["spec"]["replicas"], template["status"]["replicas"]) == (4, 4)
        assert world.assigned("web-deployment") == {"member1": 2, "member2": 2}

    manager = ManagerSettings(controllers=Choice(("*", *AUTOSCALED)))
    play(story, {"member1": "Push", "member2": "Push"}, manager=manager)


@in_world(ONE, manager=ManagerSettings().karmada_exact())
async def test_karmada_exact_says_what_was_reported_last(world: World) -> None:
    await web(world, 2, by_weight({"member1": 1}))
    before = await status_of(world)
    await world.member("member1").stop()
    await world.sleep(PAST_THRESHOLD)
    assert not world.is_ready("member1")
    assert await status_of(world) == before
