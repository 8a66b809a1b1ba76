"""ClusterTaintPolicies and the cluster controller on one Cluster: policies decide when, and nobody fights."""

from typing import Any

import pytest

from kubeapi.codec import to_wire
from kubeapi.core import EVENTS
from leeward.api.resource import CLUSTER_TAINT_POLICIES, CLUSTERS
from leeward.sim.world import Mode, World
from tests.variants import mostly_long
from tests.world.stories import apply, by_weight, deployment, in_world, play, policy, scenario

NO_SCHEDULE, NO_EXECUTE = "cluster.karmada.io/not-ready:NoSchedule", "cluster.karmada.io/not-ready:NoExecute"
FOUR: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull", "member4": "Push"}


def at_once(key: str = "cluster.karmada.io/not-ready", **more: Any) -> dict[str, Any]:
    """Karmada's documented example: NoExecute as soon as a cluster is not Ready."""
    condition = {"conditionType": "Ready", "statusValues": ["True"]}
    return {
        "metadata": {"name": "not-ready-no-execute"},
        "spec": {
            "addOnConditions": [{**condition, "operator": "NotIn"}],
            "removeOnConditions": [{**condition, "operator": "In"}],
            "taints": [{"key": key, "effect": "NoExecute"}],
            **more,
        },
    }


@in_world()
async def test_a_policy_brings_no_execute_with_the_outage_and_it_leaves_with_it(world: World) -> None:
    await world.client.create(CLUSTER_TAINT_POLICIES, at_once())
    await apply(world.client, *scenario("divided.yaml"))
    await world.until(lambda: len(world.assigned("nginx-deployment")) == 2, 60)
    await world.sleep(10)
    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"))
    lost = world.seconds
    await world.until(lambda: world.taints("member1") == {NO_SCHEDULE, NO_EXECUTE}, 5)
    await world.until(lambda: world.assigned("nginx-deployment") == {"member2": 3})
    assert 299 <= world.seconds - lost <= 302, "the toleration alone, without --failover-eviction-timeout"
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    await world.until(lambda: world.taints("member1") == set(), 5)
    told = [e.message for e in (await world.client.list(EVENTS, "default")).items if e.reason.startswith("Taint")]
    assert any("not-ready,Effect:NoExecute" in message for message in told)


@in_world()
async def test_l5_two_writers_of_the_same_key_come_to_rest(world: World) -> None:
    always = at_once(addOnConditions=[{"conditionType": "Ready", "operator": "In", "statusValues": ["True"]}])
    always["spec"]["removeOnConditions"] = []
    await world.client.create(CLUSTER_TAINT_POLICIES, always)
    await world.until(lambda: all(world.taints(m) == {NO_EXECUTE} for m in ("member1", "member3")), 10)
    await world.sleep(30)
    before = {m: world.cluster(m).metadata.resource_version for m in ("member1", "member2", "member3")}
    generations = {m: world.cluster(m).metadata.generation for m in before}
    await world.sleep(300)
    assert {m: world.cluster(m).metadata.generation for m in before} == generations
    assert {m: world.cluster(m).metadata.resource_version for m in before} == before, "no writes in a quiet world"


@in_world()
async def test_l5_a_silent_pull_member_keeps_a_not_ready_taint_of_a_policy(world: World) -> None:
    await world.client.create(CLUSTER_TAINT_POLICIES, at_once())
    await world.member("member3").stop()
    expected = {NO_EXECUTE, "cluster.karmada.io/unreachable:NoSchedule"}
    await world.until(lambda: world.taints("member3") == expected)
    await world.sleep(10)
    version = world.cluster("member3").metadata.resource_version
    await world.sleep(60)
    assert world.cluster("member3").metadata.resource_version == version
    await world.member("member3").start()
    await world.until(lambda: world.is_ready("member3") and world.taints("member3") == set())


@in_world()
async def test_taints_of_a_policy_stay_when_it_is_deleted(world: World) -> None:
    await world.client.create(CLUSTER_TAINT_POLICIES, at_once("example.com/lost"))
    await world.member("member1").stop()
    await world.until(lambda: "example.com/lost:NoExecute" in world.taints("member1"))
    await world.client.delete(CLUSTER_TAINT_POLICIES, "not-ready-no-execute")
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    await world.sleep(60)
    assert world.taints("member1") == {"example.com/lost:NoExecute"}
    await world.client.patch(CLUSTERS, "member1", {"spec": {"taints": None}})
    await world.sleep(60)
    assert world.taints("member1") == set()


@pytest.mark.long
@pytest.mark.parametrize("pull", mostly_long([0, 1, 2, 3, 4], 0, 3))
@pytest.mark.parametrize("cut", mostly_long(["refused", "hanging"], "refused"))
def test_s4_a_policy_does_not_undo_the_brake(cut: str, pull: int) -> None:
    """Nobody is tainted, in any order of noticing, before the others, which begin to fail, have been judged."""
    members: dict[str, Mode] = {name: "Pull" if n < pull else "Push" for n, name in enumerate(FOUR)}

    async def story(world: World) -> None:
        await world.client.create(CLUSTER_TAINT_POLICIES, at_once("example.com/lost"))
        await apply(world.client, deployment("web", 8), policy("web", by_weight(dict.fromkeys(FOUR, 1))))
        await world.until(lambda: sum(world.assigned("web-deployment").values()) == 8, 60)
        before = world.assigned("web-deployment")
        await world.sleep_to_whole(10, offset=1)
        for name in FOUR:
            await world.member(name).stop() if cut == "refused" else world.member(name).pause()
        await world.sleep(1_800)
        assert not [name for name in FOUR if "example.com/lost:NoExecute" in world.taints(name)]
        assert world.assigned("web-deployment") == before

    play(story, members)


@in_world(FOUR)
async def test_a_policy_is_obeyed_after_others_have_failed_for_a_moment(world: World) -> None:
    await world.client.create(CLUSTER_TAINT_POLICIES, at_once("example.com/lost"))
    await world.sleep_to_whole(10, offset=1)
    await world.member("member1").stop()
    await world.sleep(27)
    for name in ("member2", "member4"):
        world.member(name).pause()
    await world.until(lambda: not world.is_ready("member1"))
    await world.sleep(5)
    assert "example.com/lost:NoExecute" not in world.taints("member1"), "three of four may be lost"
    for name in ("member2", "member4"):
        world.member(name).resume()
    await world.until(lambda: "example.com/lost:NoExecute" in world.taints("member1"), 45)


@in_world()
async def test_health_that_others_report_without_a_reason_brings_and_takes_taints(world: World) -> None:
    """Karmada's aggregated API validates no status of a Cluster, and its own policies' suite leaves the reason out."""
    sick = {"conditionType": "ServiceDomainNameResolutionReady", "operator": "In"}
    diagnosed = at_once(
        "example.com/dns",
        addOnConditions=[{**sick, "statusValues": ["False"]}],
        removeOnConditions=[{**sick, "statusValues": ["True"]}],
    )
    await world.client.create(CLUSTER_TAINT_POLICIES, diagnosed)

    async def report(status: str) -> None:
        kept = [c for c in to_wire(world.cluster("member1"))["status"]["conditions"] if c["type"] == "Ready"]
        said = {"type": "ServiceDomainNameResolutionReady", "status": status, "lastTransitionTime": None}
        patch = {"status": {"conditions": [*kept, said]}}
        await world.client.patch(CLUSTERS, "member1", patch, subresource="status")

    await report("False")
    await world.until(lambda: "example.com/dns:NoExecute" in world.taints("member1"), 5)
    await world.sleep(120)
    conditions = {c.type: c.status for c in world.cluster("member1").status.conditions}
    assert conditions["ServiceDomainNameResolutionReady"] == "False", "later reports of Leeward keep it"
    await report("True")
    await world.until(lambda: world.taints("member1") == set(), 5)
