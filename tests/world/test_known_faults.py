"""The known faults of Karmada, by number (docs/karmada-behaviour.md): one test each, which shows that ours has it not.

The numbers stand in the tests' names. Most are stories in the world; where a fault lies in one decision, the decision
itself is asked.
"""

from dataclasses import replace as with_fields
from datetime import datetime, timedelta

import msgspec
import pytest

from kubeapi.core import PODS
from kubeapi.loop.clock import Clock
from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, NotFound
from kubecluster.network import LinkedTransport
from leeward.agent.agent import Agent
from leeward.api.cluster import Cluster
from leeward.api.policy import Placement, SpreadConstraint
from leeward.api.resource import CLUSTER_TAINT_POLICIES, CLUSTERS
from leeward.api.spread_field import SpreadFieldText
from leeward.core.placement import PlacementSettings, Snapshot, decide
from leeward.core.scheduling import Placed
from leeward.manager.member_side import MemberSide
from leeward.manager.timing import Timing
from leeward.runtime.controller_context import Member, Server
from leeward.sim.world import ADMIN, Mode, World
from tests.builders import at, binding, cluster, dead, divided, duplicated, fleet, targets
from tests.world.stories import (
    DEPLOYMENTS,
    POLICIES,
    apply,
    by_weight,
    deployment,
    held,
    identities,
    in_world,
    policy,
    ready_replicas,
    scenario,
    tasks,
    with_room,
    without_room,
)

FOUR: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull", "member4": "Push"}
NGINX, WORK = "nginx-deployment", "nginx-687f7fb96f"
CRON_TABS = Resource.of_manifests("stable.example.com/v1", "crontabs", "CronTab", True)
DEFINITIONS = Resource.of_manifests(
    "apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", False
)
DRAIN = {"spec": {"taints": [{"key": "leeward.dev/drain", "effect": "NoExecute"}]}}

AT_ONCE: Manifest = {
    "metadata": {"name": "lost"},
    "spec": {
        "addOnConditions": [{"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}],
        "taints": [{"key": "example.com/lost", "effect": "NoExecute"}],
    },
}


async def divided_one_to_two(world: World) -> None:
    await apply(world.client, *scenario("divided.yaml"))
    await world.until(lambda: world.assigned(NGINX) == {"member1": 1, "member2": 2}, 60)
    await world.sleep(30)


async def pod_names(world: World, member: str) -> set[str]:
    return {pod.name for pod in (await world.member(member).client.list(PODS, "default")).items}


@in_world()
async def test_fault_1_an_empty_result_is_never_all_healthy(world: World) -> None:
    await divided_one_to_two(world)
    await without_room(world, "member2")
    await world.client.patch(CLUSTERS, "member1", DRAIN)
    await world.until(lambda: tasks(world, NGINX) == ["member1"], 60)
    nowhere = {"clusterAffinity": {"clusterNames": ["nowhere"]}}
    await world.client.patch(POLICIES, "nginx-propagation", {"spec": {"placement": nowhere}}, "default")
    await world.sleep(60)
    assert world.assigned(NGINX) == {"member2": 3}, "no place is none to go to"
    await world.client.delete(CLUSTERS, "member2")
    await world.until(lambda: world.assigned(NGINX) == {}, 60)
    await world.sleep(900)
    assert tasks(world, NGINX) == ["member1"]
    assert await ready_replicas(world, "member1", "nginx") == 1, "the last copy is still there"


@in_world()
async def test_fault_2_the_time_out_takes_no_healthy_copy_whose_replacement_is_not(world: World) -> None:
    await divided_one_to_two(world)
    await without_room(world, "member2")
    await world.client.patch(CLUSTERS, "member1", DRAIN)
    await world.until(lambda: world.assigned(NGINX) == {"member2": 3}, 60)
    await world.sleep(600 + 120)
    assert tasks(world, NGINX) == ["member1"]
    assert await ready_replicas(world, "member1", "nginx") == 1
    await with_room(world, "member2")
    await world.until(lambda: tasks(world, NGINX) == [], 60)
    assert await ready_replicas(world, "member2", "nginx") == 3


@pytest.mark.long
@in_world()
async def test_fault_3_with_directly_it_is_said_that_nothing_runs_until_the_cluster_is_back(world: World) -> None:
    directly = policy("web", by_weight({"member1": 1, "member2": 2}))
    directly["spec"]["failover"] = {"cluster": {"purgeMode": "Directly"}}
    await apply(world.client, deployment("web", 3), directly)
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 1, "member2": 2}, 60)
    await world.sleep(30)
    await world.member("member1").stop()
    await world.until(lambda: world.assigned("web-deployment") == {"member2": 3})
    await world.sleep(5)
    assert held(world, "web-deployment") == "WaitingForPurge"
    await world.sleep(660)
    assert held(world, "web-deployment") != ""
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    await world.sleep(30)
    assert held(world, "web-deployment") == ""
    assert [await ready_replicas(world, name, "web") for name in ("member1", "member2")] == [1, 2], "it is well"


@pytest.mark.long
@in_world()
async def test_fault_4_no_eviction_task_outlives_the_outage_and_bars_the_cluster(world: World) -> None:
    await divided_one_to_two(world)
    await without_room(world, "member2")
    there = await identities(world, "nginx")
    await world.member("member1").stop()
    await world.until(lambda: tasks(world, NGINX) == ["member1"])
    await world.member("member1").start()
    await world.until(lambda: tasks(world, NGINX) == [], 120)
    assert (await identities(world, "nginx"))["member1"] == there["member1"]
    await with_room(world, "member2")
    await world.client.patch(DEPLOYMENTS, "nginx", {"spec": {"replicas": 6}}, "default")
    await world.until(lambda: world.assigned(NGINX) == {"member1": 2, "member2": 4}, 60)


@pytest.mark.parametrize("policies", [[], [AT_ONCE]], ids=["in time", "at once"])
@in_world(FOUR)
async def test_fault_5_a_control_plane_that_is_cut_off_evicts_nothing(world: World, policies: list[Manifest]) -> None:
    await divided_one_to_two(world)
    for each in policies:
        await world.client.create(CLUSTER_TAINT_POLICIES, each)
    for name in FOUR:
        world.member(name).pause()
    await world.sleep(1_800)
    assert world.assigned(NGINX) == {"member1": 1, "member2": 2}
    assert not any("NoExecute" in taint for name in FOUR for taint in world.taints(name))


@pytest.mark.parametrize("field", ["zone", "provider"])
def test_fault_6_spread_by_zone_and_by_provider_is_scheduled(field: SpreadFieldText) -> None:
    def of(name: str, group: str) -> Cluster:
        return cluster(name, zones=(group,), provider=group)

    by_field = SpreadConstraint(spread_by_field=field, min_groups=2, max_groups=2)
    by_cluster = SpreadConstraint(spread_by_field="cluster", min_groups=2, max_groups=2)
    placement: Placement = msgspec.structs.replace(duplicated("a", "b", "c"), spread_constraints=(by_field, by_cluster))
    members = fleet(of("a", "one"), of("b", "one"), of("c", "two"))
    decision = decide(Snapshot(binding(placement, 2), members, now=at(0)))
    assert isinstance(decision.result, Placed)
    assert len(decision.clusters) == 2
    assert {members[target.name].spec.provider for target in decision.clusters} == {"one", "two"}


def test_fault_7_a_scale_up_with_failover_off_does_not_empty_the_unhealthy_cluster() -> None:
    before = targets(a=2, b=2)
    scaled_up = binding(divided({"a": 1, "b": 1}), 6, before)
    decision = decide(
        Snapshot(scaled_up, fleet(dead("a"), cluster("b")), settings=PlacementSettings(evict=False), now=at(4_000))
    )
    assert {target.name: target.replicas for target in decision.clusters} == {"a": 2, "b": 4}, "it keeps what it has"


@pytest.mark.long
@in_world(FOUR)
async def test_fault_8_what_is_lost_is_spread_over_all_survivors(world: World) -> None:
    await apply(world.client, deployment("web", 8), policy("web", by_weight(dict.fromkeys(FOUR, 1))))
    await world.until(lambda: world.assigned("web-deployment") == dict.fromkeys(FOUR, 2), 60)
    await world.member("member1").stop()
    await world.until(lambda: "member1" not in world.assigned("web-deployment"))
    assert sorted(world.assigned("web-deployment").values()) == [2, 3, 3]


@in_world()
async def test_fault_9_a_restart_with_an_unreachable_member_deletes_nothing(world: World) -> None:
    await divided_one_to_two(world)
    before = await pod_names(world, "member1")
    world.member("member1").pause()
    await world.stop_controllers()
    await world.sleep(5)
    world.start_controllers()
    await world.sleep(120)
    assert world.assigned(NGINX) == {"member1": 1, "member2": 2}
    work = world.work("member1", WORK)
    assert work is not None
    assert work.metadata.deletion_timestamp is None
    world.member("member1").resume()
    await world.sleep(120)
    assert await pod_names(world, "member1") == before


@in_world(FOUR)
async def test_fault_10_a_member_that_hangs_delays_no_other(world: World) -> None:
    world.member("member1").pause()
    await apply(world.client, deployment("web", 3), policy("web", by_weight(dict.fromkeys(FOUR, 1))))
    await world.until(lambda: len(world.assigned("web-deployment")) == 3, 60)
    await world.sleep(10)
    for name in world.assigned("web-deployment").keys() - {"member1"}:
        assert await ready_replicas(world, name, "web") == 1
    await world.sleep_to_whole(10, offset=1)
    await world.member("member2").stop()
    await world.until(lambda: not world.is_ready("member2"), 39.5)


@in_world()
async def test_fault_10_a_kind_that_cannot_be_followed_in_a_member_stops_no_other_kind_there(world: World) -> None:
    definition = custom_definition()
    member = world.member("member1").client
    for client in (world.client, member):
        await client.create(DEFINITIONS, definition)
    await world.sleep(30)
    await world.client.create(CRON_TABS, {"metadata": {"name": "nightly"}, "spec": {"at": "02:00"}}, "default")
    here = {"clusterAffinity": {"clusterNames": ["member1"]}}
    nightly = policy("nightly", here, kind="CronTab", api_version=CRON_TABS.api_version)
    await apply(world.client, nightly)
    await world.until(lambda: "member1" in world.assigned("nightly-crontab"), 60)
    await world.sleep(10)
    assert (await member.get(CRON_TABS, "nightly", "default"))["spec"] == {"at": "02:00"}

    await member.delete(DEFINITIONS, definition["metadata"]["name"])
    await world.sleep(60)
    await apply(world.client, deployment("web", 2), policy("web", here))
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 2}, 60)
    await world.sleep(10)
    assert await ready_replicas(world, "member1", "web") == 2
    await member.delete(DEPLOYMENTS, "web", "default")
    await world.sleep(10)
    assert await ready_replicas(world, "member1", "web") == 2, "drift is seen and mended"


def custom_definition() -> Manifest:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "crontabs", "singular": "crontab", "kind": "CronTab"}
    spec = {"group": "stable.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "crontabs.stable.example.com"}, "spec": spec}


@in_world(timing=with_fields(Timing.karmada(), pod_startup_seconds=60))
async def test_fault_11_health_from_before_the_replica_was_added_ends_no_task(world: World) -> None:
    await apply(world.client, *scenario("divided.yaml"))
    await world.until(lambda: world.assigned(NGINX) == {"member1": 1, "member2": 2}, 60)
    await world.sleep(120)
    await world.member("member1").stop()
    await world.until(lambda: tasks(world, NGINX) == ["member1"])
    placed = world.seconds
    await world.until(lambda: tasks(world, NGINX) == [])
    assert world.seconds - placed >= 60, "the new replica takes a minute to become ready"
    assert await ready_replicas(world, "member2", "nginx") == 3


@pytest.mark.long
@in_world()
async def test_fault_12_what_was_left_behind_is_removed_as_soon_as_the_cluster_is_ready(world: World) -> None:
    await divided_one_to_two(world)
    await world.member("member1").stop()
    await world.until(lambda: world.assigned(NGINX) == {"member2": 3})
    await world.sleep(1_200)
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    ready = world.seconds
    await world.until(lambda: world.work("member1", WORK) is None, 60)
    assert world.seconds - ready < 3, "not after a back-off, and when placement has followed the return"
    with pytest.raises(NotFound):
        await world.member("member1").client.get(DEPLOYMENTS, "nginx", "default")


class SkewedClock:
    """A clock that is wrong by the same time always."""

    def __init__(self, clock: Clock, skew: timedelta) -> None:
        self._clock = clock
        self._skew = skew

    def now(self) -> datetime:
        return self._clock.now() + self._skew

    def monotonic(self) -> float:
        return self._clock.monotonic()


@pytest.mark.parametrize("hours", [-3, 3])
@in_world()
async def test_fault_13_a_lease_is_judged_by_when_it_was_seen_and_not_by_the_members_clock(
    world: World, hours: int
) -> None:
    member = world.member("member3")
    await member.stop_agent()
    supervisor = Supervisor("agent with a wrong clock")
    client = Client(LinkedTransport(world.place, ADMIN, member.agent_link))
    plane = with_fields(world.plane(client, supervisor), clock=SkewedClock(world.clock, timedelta(hours=hours)))
    server = Server.of(Client(LinkedTransport(member.place, ADMIN, member.agent_link)), world.randomness, supervisor)
    supervisor.start(Agent(plane, Member("member3", server, supervisor), MemberSide(world.timing)).start(), "agent")
    await world.sleep(900)
    assert world.is_ready("member3")
    assert world.taints("member3") == set()
    await supervisor.close()
    await world.until(lambda: not world.is_ready("member3"), 40.5)
