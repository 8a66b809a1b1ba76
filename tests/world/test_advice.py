"""Advice helps: the command that `explain` prints is read, carried out as an administrator does, and seen to help."""

import json
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from msgspec import structs

from kubeapi.codec import from_wire
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, Request
from kubecluster.network import LinkedTransport
from leeward.answers.advice import naming, placement_of
from leeward.answers.explanation import ApplicationState
from leeward.answers.replay import replay
from leeward.answers.subjects import asked_of, record_of
from leeward.api.cluster import Cluster
from leeward.api.resource import CLUSTERS, FEDERATED_RESOURCE_QUOTAS, RESOURCE_BINDINGS
from leeward.api.work import ResourceBinding
from leeward.cli.explain_text import help_lines
from leeward.core.placement import Decision, Snapshot, decide
from leeward.core.scheduling import Trace
from leeward.manager.gates import switch_gates
from leeward.manager.settings import ManagerSettings
from leeward.operations.brake import release_brake
from leeward.operations.drain import start_cordon, start_drain, undo_cordon, undo_drain
from leeward.planning import group_decisions
from leeward.planning.recording import decode_recorded
from leeward.sim.world import ADMIN, World
from tests.world.pictures import picture
from tests.world.stories import (
    DEPLOYMENTS,
    POLICIES,
    apply,
    by_weight,
    deployment,
    held,
    in_world,
    policy,
    ready_replicas,
    tasks,
    without_room,
)
from tests.world.test_application_failover import cordon_nodes, web_policy
from tests.world.test_explain import explain
from tests.world.test_purged_copies import THREE, WEB, is_purged_in_member1
from tests.world.test_quota import asking, create_quota
from tests.world.test_safety import brake_engaged

KINDS: dict[str, Resource[Any]] = {
    "propagationpolicy": POLICIES,
    "deployment": DEPLOYMENTS,
    "federatedresourcequota": FEDERATED_RESOURCE_QUOTAS,
    "resourcebinding": RESOURCE_BINDINGS,
}
ENFORCED = ManagerSettings(gates=switch_gates([("FederatedQuotaEnforcement", True)]))
ROOM: Manifest = {
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }
}
DUPLICATED: Manifest = {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}


def named(*names: str, **more: object) -> Manifest:
    return {"clusterAffinity": {"clusterNames": list(names), **more}}


def spread(least: int, field: str = "cluster") -> Manifest:
    by_cluster = {"spreadByField": "cluster", "minGroups": least if field == "cluster" else 1, "maxGroups": 3}
    more = [] if field == "cluster" else [{"spreadByField": field, "minGroups": least, "maxGroups": 3}]
    return {"spreadConstraints": [by_cluster, *more]}


async def printed(world: World, words: str) -> str:
    """Command that is printed below the advice with these words."""
    told = await explain(world)
    lines = list(help_lines(told.helps))
    at, *_ = [index for index, line in enumerate(lines) if words in line and not line.startswith("      ")]
    command = next(
        line for line in lines[at:] if line.startswith("      ") and line.split()[0] in ("kubectl", "leeward")
    )
    return command.strip()


async def carry_out(world: World, printed_command: str) -> None:
    """Does as the command line does that was printed."""
    for command in printed_command.split(" && "):
        match shlex.split(command):
            case ["kubectl", "patch", kind, name, *where, "--type=merge", "-p", text]:
                await world.client.patch(KINDS[kind], name, json.loads(text), where[-1] if where else "")
            case ["kubectl", "patch", kind, name, "-n", namespace, "--type=json", "-p", text]:
                path, kind_of_body = KINDS[kind].path(namespace, name), {"content-type": "application/json-patch+json"}
                patch = Request("PATCH", path, headers=kind_of_body, body=text.encode())
                answer = await LinkedTransport(world.place, ADMIN).send(patch, timeout_seconds=10)
                assert answer.code == 200, answer.body
            case ["kubectl", "edit", "deployment", name, "-n", namespace]:
                body = {"spec": deployment(name, 2)["spec"]}
                await world.client.patch(DEPLOYMENTS, name, body, namespace)
            case ["leeward", "status"]:
                world.start_controllers()
            case ["leeward", "uncordon", name]:
                await undo_drain(world.client, name)
                await undo_cordon(world.client, name)
            case ["leeward", "brake", "release"]:
                await release_brake(world.client)
            case _:
                raise AssertionError(f"no command that is known: {command}")


def placed(world: World) -> int:
    return sum(world.assigned(WEB).values())


async def deployed(world: World, placement: Manifest, replicas: int = 2) -> None:
    await apply(world.client, deployment("web", replicas), policy("web", placement))
    await world.sleep(60)


GPU: Manifest = {"spec": {"taints": [{"key": "example.com/gpu", "value": "yes", "effect": "NoSchedule"}]}}


@pytest.mark.parametrize(
    ("placement", "words"),
    [
        ({**named("fra-9"), **ROOM}, "add member"),
        ({**named("fra-9"), **DUPLICATED}, "add member"),
        ({**named("fra-9", exclude=["member1", "member2"]), **ROOM}, "add member3"),
        ({**named(exclude=["member1", "member2", "member3"]), **ROOM}, "let the policy allow all clusters"),
        ({**by_weight({"fra-9": 1})}, "add member"),
        ({"clusterAffinities": [{"affinityName": "fra", "clusterNames": ["fra-9"]}], **ROOM}, "add member"),
        ({**named("member1"), **spread(2), **ROOM}, "add member"),
        ({**named("member1"), **spread(2), **ROOM}, "lower minGroups of cluster to 1"),
        ({**spread(3, "region"), **ROOM}, "do not spread the application by region"),
    ],
    ids=str,
)
@in_world(THREE)
async def test_the_printed_advice_gives_a_place_to_what_has_none(world: World, placement: Manifest, words: str) -> None:
    await deployed(world, placement)
    assert placed(world) == 0
    await carry_out(world, await printed(world, words))
    await world.sleep(30)
    assert placed(world) >= 2
    assert (await explain(world)).helps == ()


@in_world(THREE)
async def test_advice_to_ask_for_less_is_of_a_whole_pod_and_has_no_command(world: World) -> None:
    """The picture does not have the containers: a command that sets each of them would ask for twice as much."""
    web = deployment("web", 2)
    pod: Manifest = web["spec"]["template"]["spec"]
    pod["containers"] = [
        {"name": name, "image": "nginx", "resources": {"requests": {"cpu": "20"}}} for name in ("web", "proxy")
    ]
    await apply(world.client, web, policy("web", {**named("member1"), **ROOM}))
    await world.sleep(60)
    assert placed(world) == 0
    (less,) = [each for each in (await explain(world)).helps if "requests" in each.change]
    told = "lower the requests of each Pod to cpu=5000m, summed over its containers"
    assert (less.change, less.command) == (told, "")
    for container in pod["containers"]:
        container["resources"] = {"requests": {"cpu": "2500m"}}
    body: Manifest = {"spec": {"template": {"spec": {"containers": pod["containers"]}}}}
    await world.client.patch(DEPLOYMENTS, "web", body, "default")
    await world.sleep(30)
    assert (placed(world), (await explain(world)).helps) == (2, ())


def test_advice_to_name_a_cluster_shuts_out_none_that_labels_select() -> None:
    """An affinity without names allows every cluster with these labels, and one name would allow that one alone."""
    labelled = {"labelSelector": {"matchLabels": {"tier": "prod"}}}
    wire: Manifest = {
        "metadata": {
            "name": WEB,
            "namespace": "default",
            "annotations": {
                "propagationpolicy.karmada.io/namespace": "default",
                "propagationpolicy.karmada.io/name": "web",
            },
        },
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"},
            "placement": {**by_weight({"member1": 1}), "clusterAffinity": labelled},
        },
    }
    prod = from_wire(
        {"metadata": {"name": "member3", "labels": {"tier": "prod"}}, "spec": {"syncMode": "Push"}}, Cluster
    )
    first, all_allowed = naming(from_wire(wire, ResourceBinding), [prod])
    assert (first.change, all_allowed.change) == ("add member3 to the policy", "let the policy allow all clusters")
    placement = json.loads(shlex.split(first.command)[-1])["spec"]["placement"]
    assert list(placement) == ["replicaScheduling"]
    affinity = placement_of(first.binding).cluster_affinity
    assert affinity is not None
    assert affinity.cluster_names == ()
    del wire["spec"]["placement"]["replicaScheduling"]
    assert [each.change for each in naming(from_wire(wire, ResourceBinding), [prod])] == [all_allowed.change]


@in_world(THREE)
async def test_no_advice_is_given_by_which_a_running_copy_is_lost(world: World) -> None:
    """More is asked for, and the policy names the cluster of the running copy no more."""
    await deployed(world, by_weight({"member1": 1}))
    assert world.assigned(WEB) == {"member1": 2}
    await world.client.patch(POLICIES, "web", {"spec": {"placement": by_weight({"fra-9": 1})}}, "default")
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 6}}, "default")
    await world.sleep(60)
    assert world.assigned(WEB) == {"member1": 2}
    assert [each.change for each in (await explain(world)).helps] == ["let the policy allow all clusters"]
    await carry_out(world, await printed(world, "let the policy allow all clusters"))
    await world.sleep(60)
    assert world.assigned(WEB) == {"member1": 2, "member2": 2, "member3": 2}


@pytest.mark.parametrize("words", ["tolerate the taint example.com/gpu=yes:NoSchedule in the policy", "add member2"])
@in_world(THREE)
async def test_the_printed_advice_frees_what_is_held(world: World, words: str) -> None:
    """The only cluster that the policy allows, and that has no taint, is lost."""
    await world.client.patch(CLUSTERS, "member3", GPU)
    await deployed(world, {**named("member1", "member3"), **ROOM})
    assert list(world.assigned(WEB)) == ["member1"]
    await world.member("member1").stop()
    await world.until(lambda: held(world, WEB) == "NoPlaceToGo", 900)
    await carry_out(world, await printed(world, words))
    await world.sleep(60)
    assert (held(world, WEB), placed(world), "member1" in world.assigned(WEB)) == ("", 2, False)


@in_world(THREE)
async def test_the_printed_advice_moves_what_a_drain_finds_no_place_for(world: World) -> None:
    """Nothing of it is missing, since its only copy serves in the drained cluster."""
    await deployed(world, {**named("member1"), **ROOM})
    await start_drain(world.client, "member1", None)
    await world.until(lambda: held(world, WEB) == "NoPlaceToGo", 60)
    await carry_out(world, await printed(world, "add member2"))
    await world.sleep(60)
    assert (held(world, WEB), placed(world), "member1" in world.assigned(WEB)) == ("", 2, False)


@pytest.mark.parametrize("begin", [start_cordon, partial(start_drain, budget=None)], ids=["cordon", "drain"])
@in_world(THREE)
async def test_a_cluster_that_somebody_took_out_is_given_back_by_the_printed_command(
    world: World,
    begin: Callable[[Client, str], Awaitable[object]],
) -> None:
    await begin(world.client, "member1")
    await deployed(world, {**named("member1"), **ROOM})
    assert placed(world) == 0
    await carry_out(world, await printed(world, "uncordon member1"))
    await world.sleep(30)
    assert world.assigned(WEB) == {"member1": 2}


@in_world(THREE, manager=ENFORCED)
async def test_a_quota_is_raised_by_the_printed_command_to_all_that_is_asked_for(world: World) -> None:
    await create_quota(world, {"cpu": "4", "memory": "1Gi"})
    await apply(world.client, asking("web", 5), policy("web", by_weight({"member1": 1, "member2": 1})))
    await world.sleep(30)
    assert placed(world) == 0
    told = await explain(world)
    assert told.headline == (
        "The application has no copy anywhere: FederatedResourceQuota default/team allows cpu 4, and 5 would be used. "
        "FederatedResourceQuota default/team allows memory 1Gi, and 5Gi would be used."
    )
    (helps,) = told.helps
    assert helps.change == "raise cpu from 4 to 5 and memory from 1Gi to 5Gi in FederatedResourceQuota default/team"
    assert helps.effect.startswith("5 more replicas would fit")
    await carry_out(world, await printed(world, "raise"))
    await world.sleep(30)
    assert placed(world) == 5


@in_world({**THREE, "member4": "Push"})
async def test_a_release_of_the_brake_moves_what_it_holds(world: World) -> None:
    await deployed(world, {**named("member1", "member3"), **ROOM, **spread(1)})
    for lost in ("member1", "member2", "member4"):
        await world.member(lost).stop()
    await world.sleep(1200)
    assert await brake_engaged(world)
    assert "member1" in world.assigned(WEB)
    await carry_out(world, await printed(world, "release the brake"))
    await world.sleep(700)
    assert world.assigned(WEB) == {"member3": 2}


@pytest.mark.parametrize("words", ["add member3 to the policy", "uncordon {old}"])
@in_world(THREE)
async def test_what_waits_for_its_replacement_is_helped_by_another_cluster_or_by_staying(
    world: World, words: str
) -> None:
    one = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}
    await deployed(world, {**named("member1", "member2"), **one, **DUPLICATED})
    (old,) = world.assigned(WEB)
    new = "member2" if old == "member1" else "member1"
    await without_room(world, new)
    await start_drain(world.client, old, None)
    await world.until(lambda: held(world, WEB) == "ReplacementMissing", 1800)
    told = await explain(world)
    (why,) = [row.what for row in told.where if row.cluster == new]
    assert why == "2 not ready: Pods wait for a node"
    assert "is not healthy in" in told.headline
    await carry_out(world, await printed(world, words.format(old=old)))
    await world.sleep(1200)
    assert (tasks(world, WEB), held(world, WEB)) == ([], "")
    (serves,) = world.assigned(WEB)
    assert serves == (old if "uncordon" in words else "member3")
    assert await ready_replicas(world, serves, "web") == 2


async def is_unwatched(world: World) -> None:
    """A cluster is lost, and the controllers stop before its copy leaves."""
    await deployed(world, {**named("member1", "member3"), **ROOM, **spread(1)})
    await world.member("member1").stop()
    await world.sleep(500)
    await world.stop_controllers()
    await world.sleep(600)


async def has_a_bad_release(world: World) -> None:
    await apply(world.client, deployment("web", 2, image="nginx:broken"), web_policy(["member1", "member2"]))
    await world.until(lambda: held(world, WEB) == "UnhealthyEverywhere", 900)


async def starts_in_no_cluster_of_its_policy(world: World) -> None:
    for name in ("member1", "member2"):
        await cordon_nodes(world, name)
    await apply(world.client, deployment("web", 2), web_policy(["member1", "member2"]))
    await world.until(lambda: held(world, WEB) == "UnhealthyEverywhere", 900)


@pytest.mark.parametrize(
    ("trouble", "reason", "words", "serving"),
    [
        (is_purged_in_member1, "WaitingForPurge", "switched off for certain", {"member2": 4}),
        (is_unwatched, "NotConfirmed", "start the controllers", {"member3": 2}),
        (has_a_bad_release, "UnhealthyEverywhere", "correct the release", {}),
        (starts_in_no_cluster_of_its_policy, "UnhealthyEverywhere", "add member3 to the policy", {"member3": 2}),
    ],
)
@in_world(THREE)
async def test_the_printed_advice_ends_what_holds(
    world: World, trouble: Callable[[World], Awaitable[None]], reason: str, words: str, serving: dict[str, int]
) -> None:
    await trouble(world)
    await world.sleep(30)
    told = await explain(world)
    assert told.reason == reason
    await carry_out(world, await printed(world, words))
    await world.sleep(400)
    assert (held(world, WEB), tasks(world, WEB)) == ("", [])
    there = world.assigned(WEB)
    assert there == (serving or there)
    assert {name: await ready_replicas(world, name, "web") for name in there} == there
    if not world.is_ready("member1"):
        await world.member("member1").start()
        await world.sleep(300)
        assert await ready_replicas(world, "member1", "web") == -1, "what replaced it serves, so the old copy goes"


@in_world(THREE)
async def test_a_decision_that_is_refused_is_told_with_the_record_for_a_report(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug is planted: whatever leaves a cluster loses a replica on its way."""

    def lossy(snapshot: Snapshot, trace: Trace | None = None) -> Decision:
        decision = decide(snapshot, trace)
        first, *more = decision.clusters or (None,)
        if not decision.evicted or first is None:
            return decision
        return replace(decision, clusters=(structs.replace(first, replicas=first.replicas - 1), *more))

    await deployed(world, {**named("member1", "member3"), **ROOM, **spread(1)})
    monkeypatch.setattr(group_decisions, "decide", lossy)
    await world.member("member1").stop()
    await world.until(lambda: held(world, WEB) == "DecisionRefused", 900)
    told = await explain(world)
    assert (told.state, told.reason) == (ApplicationState.HELD, "DecisionRefused")
    command = await printed(world, "as a bug of Leeward")
    assert command == "leeward explain deployment/web -n default --record refused.json"
    record = record_of(await picture(world), asked_of("deployment/web", "default"))
    assert replay(*decode_recorded(record)).violations
    monkeypatch.undo()
    await world.sleep(90)
    assert (held(world, WEB), world.assigned(WEB)) == ("", {"member3": 2})
