"""An application says that its cluster is dead: since when, and what will become of it; and that turns out true."""

import re
from datetime import datetime

import pytest

from kubeapi.core import EVENTS, NODES
from kubeapi.meta import Manifest, parse_time
from kubeclient import Request
from leeward.answers.explanation import explain_binding
from leeward.answers.fleet_state import BindingName
from leeward.api.meta import Condition, find_condition
from leeward.api.names import CLUSTER_OUTAGE_CONDITION, REMOVAL_BLOCKED_CONDITION
from leeward.api.resource import CLUSTERS
from leeward.core.cluster_health.outage import marks_in
from leeward.manager.gates import FeatureGates
from leeward.manager.settings import ManagerSettings
from leeward.sim.member import agent_of
from leeward.sim.world import CONTROLLERS, Mode, World
from tests.world.pictures import picture
from tests.world.stories import (
    DEPLOYMENTS,
    apply,
    by_weight,
    deployment,
    held,
    in_world,
    play,
    policy,
    ready_replicas,
    tasks,
)
from tests.world.test_detection import answers, status

THREE: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull"}
WEB = "web-deployment"
REASON, BLOCKED = "ClusterOutage", "RemovalBlocked"
MINE = "example.com/mine"
THRESHOLD_SECONDS = 60
"""Seconds within which a dead cluster has to be told of: Karmada's thresholds, and two looks."""


def on_one_of(*names: str) -> Manifest:
    """Duplicated, on one of these clusters."""
    one = {"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}
    return {
        "clusterAffinity": {"clusterNames": list(names)},
        "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
        "spreadConstraints": [one],
    }


def outage(world: World, name: str = WEB) -> Condition | None:
    binding = world.binding(name)
    return find_condition(binding.status.conditions, CLUSTER_OUTAGE_CONDITION) if binding else None


def message(world: World, name: str = WEB) -> str:
    told = outage(world, name)
    return told.message if told else ""


def marks(world: World, name: str = WEB) -> dict[str, datetime | None]:
    binding = world.binding(name)
    assert binding is not None
    found = marks_in(binding.status.aggregated_status)
    return {item.cluster_name: found.get(item.cluster_name) for item in binding.status.aggregated_status}


def instants(text: str) -> list[datetime]:
    return [parse_time(found) for found in re.findall(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text)]


async def told(world: World, kind: str, name: str, reason: str = REASON) -> list[str]:
    """The messages of the events about outages of an object; each was told once."""
    events = [e for e in (await world.client.list(EVENTS, "default")).items if e.reason == reason]
    mine = [e for e in events if (e.involved_object.kind, e.involved_object.name) == (kind, name)]
    assert all(event.count == 1 and event.type == "Warning" for event in mine)
    return [event.message for event in sorted(mine, key=lambda event: int(event.metadata.resource_version))]


async def place(world: World, placement: Manifest, replicas: int = 2) -> None:
    await apply(world.client, deployment("web", replicas), policy("web", placement))
    await world.until(lambda: bool(world.assigned(WEB)), 60)
    await world.sleep(60)


def version(world: World, name: str = WEB) -> str:
    binding = world.binding(name)
    assert binding is not None
    return binding.metadata.resource_version


@in_world(THREE)
async def test_a_dead_cluster_is_told_at_once_with_the_instant_and_the_place_of_the_eviction_that_follows(
    world: World,
) -> None:
    await place(world, on_one_of("member1", "member2", "member3"))
    (old,) = world.assigned(WEB)
    died = world.clock.now()
    await world.member(old).stop()
    await world.until(lambda: outage(world) is not None, THRESHOLD_SECONDS)
    await world.sleep(2)
    since, at = instants(message(world))
    (to,) = re.findall(r"is evicted at \S+ and replaced in (\S+), unless", message(world))
    assert message(world).startswith(f"{old} is down (since")
    assert 0 <= (since - died).total_seconds() <= 15, "the first look that failed"
    assert marks(world) == {old: since}
    for kind, name in (("ResourceBinding", WEB), ("Deployment", "web")):
        assert await told(world, kind, name) == [message(world)]
    await world.until(lambda: old not in world.assigned(WEB))
    assert abs((world.clock.now() - at).total_seconds()) <= 1
    assert set(world.assigned(WEB)) == {to}
    await world.until(lambda: outage(world) is None, 60)
    await world.until(lambda: marks(world) == {to: None}, 120)
    assert len(await told(world, "Deployment", "web")) == 1


@in_world(THREE)
async def test_a_pull_cluster_that_falls_silent_is_told_with_when_it_was_heard_of_last(world: World) -> None:
    await place(world, by_weight({"member2": 1, "member3": 1}))
    died = world.clock.now()
    await world.member("member3").stop()
    await world.until(lambda: outage(world) is not None, THRESHOLD_SECONDS)
    await world.sleep(2)
    since, at = instants(message(world))
    assert -11 <= (since - died).total_seconds() <= 0
    assert " in member2, unless" in message(world)
    await world.until(lambda: "member3" not in world.assigned(WEB))
    assert abs((world.clock.now() - at).total_seconds()) <= 1


@in_world(THREE)
async def test_what_is_told_goes_when_the_cluster_is_back_and_the_next_outage_is_told_anew(world: World) -> None:
    await place(world, by_weight({"member1": 1, "member2": 1}))
    for number in (1, 2):
        await world.member("member1").stop()
        await world.until(lambda: outage(world) is not None, THRESHOLD_SECONDS)
        await world.sleep(30)
        assert len(await told(world, "Deployment", "web")) == number
        await world.member("member1").start()
        await world.until(lambda: world.is_ready("member1"), 120)
        await world.sleep(2)
        assert outage(world) is None
        assert set(marks(world).values()) == {None}
        await world.sleep(60)
    assert world.assigned(WEB) == {"member1": 1, "member2": 1}


@in_world({**THREE, "member4": "Push", "member5": "Push"})
async def test_two_clusters_that_die_one_after_the_other_are_two_outages_and_two_events(world: World) -> None:
    await place(world, by_weight({"member1": 1, "member2": 1, "member3": 1}), 3)
    await world.member("member1").stop()
    await world.until(lambda: "member1 is down" in message(world), THRESHOLD_SECONDS)
    await world.sleep(60)
    await world.member("member3").stop()
    await world.until(lambda: "member3 is down" in message(world), THRESHOLD_SECONDS)
    await world.sleep(2)
    assert "member1 is down" in message(world)
    assert len(instants(message(world))) == 4
    first, second = await told(world, "Deployment", "web")
    assert "member1 is down" in first
    assert "member3 is down" in second
    assert "member1 is down" not in second, "each event speaks of its own outage"
    assert re.findall(r"in (\S+), unless", message(world)) == ["member2", "member2"]


@in_world(THREE)
async def test_it_is_written_once_as_long_as_the_outage_is_the_same_and_a_restart_says_nothing_anew(
    world: World,
) -> None:
    await place(world, by_weight({"member1": 1, "member2": 1}))
    await world.member("member1").stop()
    await world.until(lambda: outage(world) is not None, THRESHOLD_SECONDS)
    await world.sleep(20)
    before, sentence = version(world), message(world)
    await world.sleep(100)
    await world.stop_controllers()
    world.start_controllers()
    await world.until(lambda: "cluster.karmada.io/not-ready:NoExecute" in world.taints("member1"))
    await world.sleep(200)
    assert version(world) == before, "neither probes, nor a restart, nor NoExecute are news"
    await world.until(lambda: world.assigned(WEB) == {"member2": 2})
    due = instants(sentence)[1]
    assert abs((world.clock.now() - due).total_seconds()) <= 1
    assert await told(world, "Deployment", "web") == [sentence]


@pytest.mark.long
@in_world(THREE)
async def test_what_has_no_place_to_go_is_told_to_be_held_and_is_not_evicted_then(world: World) -> None:
    await place(world, on_one_of("member1"))
    await world.member("member1").stop()
    await world.until(lambda: outage(world) is not None, THRESHOLD_SECONDS)
    await world.sleep(5)
    condition = outage(world)
    assert condition is not None
    assert condition.reason == "EvictionHeld"
    assert ": the copy in member1 is due to leave at " in condition.message
    (event,) = await told(world, "Deployment", "web")
    assert event == condition.message
    due = instants(condition.message)[1]
    await world.sleep((due - world.clock.now()).total_seconds() + 60)
    assert world.assigned(WEB) == {"member1": 2}
    assert tasks(world, WEB) == []
    assert held(world, WEB)
    standing = outage(world)
    assert standing is not None
    assert standing == condition, "what was said before is what holds"
    before = version(world)
    await world.sleep(1_200)
    assert version(world) == before
    assert len(await told(world, "Deployment", "web")) == 1
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"), 120)
    await world.sleep(5)
    assert outage(world) is None
    assert held(world, WEB) == ""


@pytest.mark.long
@in_world(THREE)
async def test_s4_what_the_brake_holds_is_told_so_and_what_follows_when_it_is_released(world: World) -> None:
    await place(world, by_weight({"member1": 1, "member2": 1}))
    for name in THREE:
        world.link(CONTROLLERS, name).cut()
        world.link(agent_of(name), world.NAME).cut()
    await world.until(lambda: outage(world) is not None, THRESHOLD_SECONDS)
    await world.sleep(60)
    condition = outage(world)
    assert condition is not None
    assert condition.reason == "EvictionHeld"
    assert "leeward-brake" in condition.message
    assert len(instants(condition.message)) == 2, "since when, of both; and no instant that nobody knows"
    before = version(world)
    await world.sleep(1_200)
    assert version(world) == before
    for name in ("member2", "member3"):
        world.link(CONTROLLERS, name).mend()
        world.link(agent_of(name), world.NAME).mend()
    await world.until(lambda: "in member2, unless" in message(world))
    due = instants(message(world))[1]
    await world.until(lambda: world.assigned(WEB) == {"member2": 2})
    assert abs((world.clock.now() - due).total_seconds()) <= 1


TOLERANT: Manifest = {
    "clusterTolerations": [
        {"key": f"cluster.karmada.io/{name}", "operator": "Exists"} for name in ("not-ready", "unreachable")
    ]
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("reason", "placement", "gates"),
    [("Tolerated", TOLERANT, FeatureGates()), ("EvictionDisabled", {}, FeatureGates({"Failover": False}))],
)
def test_what_stays_in_an_outage_is_told_to_stay(reason: str, placement: Manifest, gates: FeatureGates) -> None:
    async def story(world: World) -> None:
        await place(world, {**by_weight({"member1": 1, "member2": 1}), **placement})
        await world.member("member1").stop()
        await world.until(lambda: outage(world) is not None, THRESHOLD_SECONDS)
        await world.sleep(900)
        condition = outage(world)
        assert condition is not None
        assert condition.reason == reason
        assert world.assigned(WEB) == {"member1": 1, "member2": 1}

    play(story, THREE, manager=ManagerSettings(gates=gates))


@pytest.mark.long
@in_world(THREE)
async def test_a_cluster_that_refuses_our_credential_is_not_seen_and_nothing_leaves_it(world: World) -> None:
    await place(world, by_weight({"member1": 1, "member2": 1}))
    answers(world.member("member1").place, lambda request: status(401, "Unauthorized"))
    await world.until(lambda: outage(world) is not None, THRESHOLD_SECONDS)
    await world.sleep(900)
    condition = outage(world)
    assert condition is not None
    assert condition.reason == "StatusCollectionFailed"
    assert set(marks(world)) == {"member1", "member2"}
    assert marks(world)["member1"] == instants(condition.message)[0]
    assert world.assigned(WEB) == {"member1": 1, "member2": 1}


async def stop_kubelets(world: World, name: str) -> None:
    """Stops those of a member: no kubelet says any more that its node is ready."""
    member = world.member(name)
    gone = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}

    def is_heartbeat(request: Request) -> bool:
        return request.method != "GET" and "/nodes/" in request.path and b"KubeletReady" in (request.body or b"")

    answers(member.place, lambda request: status(403, "Forbidden") if is_heartbeat(request) else None)
    for node in (await member.client.list(NODES)).items:
        await member.client.patch(NODES, node.name, {"status": {"conditions": [gone]}}, subresource="status")


@pytest.mark.long
@in_world(THREE)
async def test_a_cluster_that_answers_and_has_no_node_left_is_told_and_evicts_nothing(world: World) -> None:
    await place(world, by_weight({"member1": 1, "member2": 1}))
    await stop_kubelets(world, "member1")
    await world.until(lambda: outage(world) is not None, 30)
    await world.sleep(5)
    condition = outage(world)
    assert condition is not None
    assert condition.reason == "NodesNotReady"
    assert condition.message.startswith("The API of member1 answers, but none of its ")
    assert await told(world, "Deployment", "web") == [condition.message]
    assert set(marks(world).values()) == {None}, "it is seen"
    await world.sleep(1_200)
    assert world.is_ready("member1")
    assert world.assigned(WEB) == {"member1": 1, "member2": 1}
    world.member("member1").place.audit = None
    await world.until(lambda: outage(world) is None, 600)


def blocked(world: World) -> str:
    binding = world.binding(WEB)
    condition = find_condition(binding.status.conditions, REMOVAL_BLOCKED_CONDITION) if binding else None
    return condition.message if condition else ""


@pytest.mark.long
@in_world(THREE)
async def test_what_was_evicted_and_runs_on_because_of_a_foreign_finalizer_is_told_until_it_is_gone(
    world: World,
) -> None:
    await place(world, on_one_of("member1", "member2"))
    (old,) = world.assigned(WEB)
    member = world.member(old).client
    await member.patch(DEPLOYMENTS, "web", {"metadata": {"finalizers": [MINE]}}, "default")
    taint = {"key": "example.com/x", "effect": "NoExecute"}
    await world.client.patch(CLUSTERS, old, {"spec": {"taints": [taint]}})
    await world.until(lambda: old not in world.assigned(WEB))
    await world.sleep(20)
    assert blocked(world) == "", "an end takes its time"
    await world.until(lambda: blocked(world) != "", 60)
    await world.sleep(2)
    assert blocked(world) == f"Still runs in {old}, because Deployment default/web has the finalizer {MINE}."
    for kind, name in (("ResourceBinding", WEB), ("Deployment", "web")):
        assert await told(world, kind, name, BLOCKED) == [blocked(world)]
    explained = explain_binding(await picture(world), BindingName("default", WEB))
    assert explained.needs_somebody
    assert explained.headline == f"The application still has an old copy (Finalizers): {blocked(world)}"
    assert f"{blocked(world).rstrip('.')} (Finalizers)." in explained.why
    await world.sleep(60)
    before = version(world)
    await world.sleep(1_200)
    assert version(world) == before
    await member.patch(DEPLOYMENTS, "web", {"metadata": {"finalizers": None}}, "default")
    await world.until(lambda: blocked(world) == "", 30)
    assert await ready_replicas(world, old, "web") == -1
