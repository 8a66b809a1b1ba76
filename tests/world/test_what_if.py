"""Answers of `leeward what-if` are what then happens: places equal, instants within a second, reasons equal."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.answers.fleet_state import FleetState
from leeward.answers.imagined import ImaginedChange, imagine_policies, imagine_scale
from leeward.answers.subjects import asked_of
from leeward.answers.what_if import Fate, WhatIf, what_if
from leeward.answers.what_if_sentences import answer_of, command_of
from leeward.api.resource import CLUSTERS
from leeward.manager.settings import EvictionSettings, ManagerSettings
from leeward.manager.timing import Timing
from leeward.operations.brake import read_brake, release_brake
from leeward.operations.drain import start_drain
from leeward.sim.world import Mode, World
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
    scenario,
)

WITHIN = timedelta(seconds=1)
FOUR: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull", "member4": "Push"}
ONE_OF: Manifest = {
    "clusterAffinity": {"clusterNames": ["member1", "member2", "member3"]},
    "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
}
EVERYWHERE: Manifest = {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}
BY_ROOM: Manifest = {
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }
}
ONLY_MEMBER1: Manifest = {
    "clusterAffinity": {"clusterNames": ["member1"]},
    "replicaScheduling": {"replicaSchedulingType": "Divided"},
}
NAMES = ("weighted", "one", "all", "room", "solo")


def tolerating(placement: Manifest, seconds: int) -> Manifest:
    keys = ("cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable")
    tolerations = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds} for key in keys
    ]
    return {**placement, "clusterTolerations": tolerations}


async def populate(world: World) -> None:
    placements = {
        "weighted": by_weight({"member1": 2, "member2": 1, "member3": 1}),
        "one": tolerating(ONE_OF, 60),
        "all": EVERYWHERE,
        "room": BY_ROOM,
        "solo": ONLY_MEMBER1,
    }
    for name, placement in placements.items():
        app = deployment(name, 5)
        app["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
        await apply(world.client, app, policy(name, placement))
    await world.until(lambda: all(assigned(world, name) for name in NAMES), 60)
    await world.sleep_to_whole(10, offset=51)


def assigned(world: World, name: str) -> Mapping[str, int]:
    return world.assigned(f"{name}-deployment")


def fails(*names: str, at_seconds: float = 0, recover_after_seconds: float | None = None) -> ImaginedChange:
    return ImaginedChange(frozenset(names), at_seconds=at_seconds, recover_after_seconds=recover_after_seconds)


def fate(told: WhatIf, name: str):
    return next(each for each in told.applications if each.workload == f"Deployment default/{name}")


async def instants(world: World, names: tuple[str, ...], seconds: float) -> dict[str, datetime]:
    """Instants at which each of these has left where it was, within so long."""
    before, left = {name: assigned(world, name) for name in names}, dict[str, datetime]()
    for _ in range(int(seconds * 2)):
        await world.sleep(0.5)
        for name in names:
            gone = before[name].keys() - assigned(world, name).keys()
            shrunk = any(assigned(world, name).get(each, 0) < count for each, count in before[name].items())
            if name not in left and (gone or shrunk):
                left[name] = world.clock.now()
    return left


def agrees(world: World, told: WhatIf, left: Mapping[str, datetime], began: datetime, as_of: datetime) -> None:
    """Every place, every reason and every instant is as it was told. Instants count from the failure's first sign."""
    for each in told.applications:
        name = each.workload.rpartition("/")[2]
        assert assigned(world, name) == each.after, (name, each)
        assert held(world, f"{name}-deployment") == each.reason, (name, each)
        assert (name in left) == (each.left_at is not None), (name, each)
        if each.left_at is not None:
            assert abs((left[name] - began) - (each.left_at - as_of)) <= WITHIN, (name, left[name], each)


@pytest.mark.long
@in_world()
async def test_a_push_cluster_that_fails_is_told_to_the_second(world: World) -> None:
    await populate(world)
    told = what_if(await picture(world), fails("member1"))
    assert {each.workload.rpartition("/")[2] for each in told.applications} >= {"weighted", "all", "solo"}
    assert fate(told, "solo").fate is Fate.NO_ROOM
    assert fate(told, "all").fate is Fate.KEPT
    await world.member("member1").stop()
    began = await first_sign(world, "member1")
    left = await instants(world, NAMES, 1000)
    agrees(world, told, left, began, told.as_of)


@pytest.mark.long
@in_world()
async def test_a_pull_cluster_that_falls_silent_is_told_to_the_second(world: World) -> None:
    await populate(world)
    told = what_if(await picture(world), fails("member3"))
    await world.member("member3").stop()
    began = world.clock.now()
    await world.until(lambda: not world.is_ready("member3"))
    began = world.clock.now() - timedelta(seconds=40)
    left = await instants(world, NAMES, 1000)
    agrees(world, told, left, began, told.as_of)


async def first_sign(world: World, name: str) -> datetime:
    """The first probe that fails."""
    failing = "leeward.dev/Failing"
    await world.until(lambda: any(c.type == failing for c in world.cluster(name).status.conditions))
    return world.clock.now()


@pytest.mark.long
@in_world()
async def test_the_walkthrough_and_its_return_are_told(world: World) -> None:
    await apply(world.client, *scenario("divided.yaml"))
    await world.until(lambda: bool(assigned(world, "nginx")), 60)
    await world.sleep_to_whole(10, offset=51)
    told = what_if(await picture(world), fails("member1", recover_after_seconds=1800))
    (app,) = told.applications
    assert (app.before, app.after, app.fate) == ({"member1": 1, "member2": 2}, {"member2": 3}, Fate.MOVES)
    assert told.losses.kinds == {"Deployment": 1}
    await world.member("member1").stop()
    began = await first_sign(world, "member1")
    left = await instants(world, ("nginx",), 700)
    await world.sleep(1800 - 700)
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    agrees(world, told, left, began, told.as_of)
    back = next(each for each in told.instants if each.sentence == "member1 is Ready again")
    assert abs((world.clock.now() - began).total_seconds() - back.after_seconds) <= 11, "and up to one probe more"


@pytest.mark.long
@in_world(FOUR)
async def test_clusters_that_fail_together_engage_the_brake_and_nothing_leaves(world: World) -> None:
    await populate(world)
    told = what_if(await picture(world), fails("member1", "member2", "member3"))
    assert told.braked
    for member in ("member1", "member2", "member3"):
        await world.member(member).stop()
    await world.until(lambda: not any(world.is_ready(name) for name in ("member1", "member2", "member3")))
    await world.sleep(1000)
    assert (await read_brake(world.client)).brake.engaged
    for each in told.applications:
        name = each.workload.rpartition("/")[2]
        assert (assigned(world, name), each.left_at) == (each.after, None)


@in_world(FOUR)
async def test_a_release_of_the_brake_does_what_was_told_of_it(world: World) -> None:
    await populate(world)
    for member in ("member1", "member2", "member3"):
        await world.member(member).stop()
    await world.until(lambda: not any(world.is_ready(name) for name in ("member1", "member2", "member3")))
    await world.sleep(1000)
    told = what_if(await picture(world), ImaginedChange(releases_brake=True))
    assert {each.workload.rpartition("/")[2] for each in told.applications} == set(NAMES)
    nobody = {each.workload.rpartition("/")[2] for each in told.applications if each.serves_nobody}
    assert nobody == {"weighted", "one", "solo"}, "their policies name nothing but what is lost"
    assert command_of(ImaginedChange(releases_brake=True)) == "leeward brake release"
    assert answer_of(told).startswith("3 of 5 applications would be down")
    await release_brake(world.client)
    await world.sleep(600)
    for each in told.applications:
        name = each.workload.rpartition("/")[2]
        assert (assigned(world, name), held(world, f"{name}-deployment")) == (each.after, each.reason), name


@pytest.mark.long
@in_world(FOUR)
async def test_one_after_the_other_is_told_with_what_is_lost_already(world: World) -> None:
    await populate(world)
    await world.member("member1").stop()
    await world.until(lambda: assigned(world, "weighted").get("member1") is None)
    await world.sleep(60)
    await world.sleep_to_whole(10, offset=51)
    told = what_if(await picture(world), fails("member2"))
    assert told.lost_before == ["member1"]
    await world.member("member2").stop()
    began = await first_sign(world, "member2")
    left = await instants(world, NAMES, 1000)
    agrees(world, told, left, began, told.as_of)


@in_world()
async def test_a_drain_is_told_before_it_is_asked_for(world: World) -> None:
    await populate(world)
    told = what_if(await picture(world), ImaginedChange(drained=frozenset({"member1"})))
    await start_drain(world.client, "member1", None)
    await world.sleep(120)
    for each in told.applications:
        name = each.workload.rpartition("/")[2]
        assert assigned(world, name) == each.after, each


@in_world()
async def test_a_policy_and_a_size_are_told_before_they_are_applied(world: World) -> None:
    await populate(world)
    state = await picture(world)
    wider = policy("weighted", by_weight({"member2": 1, "member3": 3}))
    asked = what_if(state, ImaginedChange(bindings=imagine_policies(state, [wider])))
    (app,) = asked.applications
    assert (app.workload, app.before != app.after) == ("Deployment default/weighted", True)
    await world.client.patch(POLICIES, "weighted", {"spec": wider["spec"]}, "default")
    await world.sleep(60)
    assert assigned(world, "weighted") == app.after

    state = await picture(world)
    (app,) = what_if(state, ImaginedChange(bindings=scaled(state, "room", 9))).applications
    await world.client.patch(DEPLOYMENTS, "room", {"spec": {"replicas": 9}}, "default")
    await world.sleep(60)
    assert assigned(world, "room") == app.after
    assert sum(app.after.values()) == 9


def scaled(state: FleetState, name: str, replicas: int):
    key = next(key for key in asked_of(f"deploy/{name}", "default").bindings if key in state.bindings)
    return imagine_scale(state, key, replicas)


@pytest.mark.long
@in_world(timing=Timing.fast())
async def test_instants_are_by_the_flags_in_force(world: World) -> None:
    await populate(world)
    state = await picture(world)
    assert (state.settings.told, state.settings.failover_eviction_timeout) == (True, 5)
    told = what_if(state, fails("member1"))
    await world.member("member1").stop()
    began = await first_sign(world, "member1")
    left = await instants(world, NAMES, 100)
    agrees(world, told, left, began, told.as_of)


@pytest.mark.long
@in_world(manager=ManagerSettings(eviction=EvictionSettings(per_second=0.05)))
async def test_the_rate_of_evictions_is_told_too(world: World) -> None:
    await populate(world)
    told = what_if(await picture(world), fails("member1"))
    await world.member("member1").stop()
    began = await first_sign(world, "member1")
    left = await instants(world, NAMES, 1000)
    agrees(world, told, left, began, told.as_of)
    apart = sorted(each.left_at for each in told.applications if each.left_at is not None)
    assert min(later - sooner for sooner, later in pairwise(apart)) == timedelta(seconds=20)


@in_world()
async def test_what_would_be_missing_where_an_application_goes_is_named_and_is_missed_there(world: World) -> None:
    """One names a Secret that is only in its first cluster, one a ConfigMap that follows it."""
    for name, kind, reference in (("alone", "Secret", "secretRef"), ("followed", "ConfigMap", "configMapRef")):
        app = deployment(name, 2)
        app["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [{reference: {"name": f"{name}-settings"}}]
        follows = policy(name, tolerating(ONE_OF, 60))
        follows["spec"]["propagateDeps"] = name == "followed"
        settings = {"apiVersion": "v1", "kind": kind, "metadata": {"name": f"{name}-settings"}}
        await world.client.create(Resource.of_manifests("v1", f"{kind.lower()}s", kind, True), settings, "default")
        await apply(world.client, app, follows)
    await world.until(lambda: bool(assigned(world, "alone") and assigned(world, "followed")), 60)
    (first,) = assigned(world, "alone")
    placement = {"clusterAffinity": {"clusterNames": [first]}}
    await apply(world.client, policy("alone-settings", placement, "Secret", "v1"))
    await world.sleep(60)
    assert await ready_replicas(world, first, "alone") == 2

    told = what_if(await picture(world), fails(first))
    (to,) = fate(told, "alone").after
    (missing,) = told.missing_dependencies
    assert (missing.workload, missing.cluster, missing.needs, missing.known) == (
        "Deployment default/alone",
        to,
        "Secret default/alone-settings",
        True,
    )
    await world.member(first).stop()
    await world.until(lambda: set(assigned(world, "alone")) == {to})
    await world.sleep(120)
    assert await ready_replicas(world, to, "alone") == 0, "its Pods wait"
    (other,) = assigned(world, "followed")
    assert await ready_replicas(world, other, "followed") == 2


@in_world()
async def test_a_picture_is_not_changed_by_what_is_asked_of_it(world: World) -> None:
    await populate(world)
    state = await picture(world)
    before = state.recorded
    assert what_if(state, fails("member1")) == what_if(state, fails("member1"))
    assert state.recorded is before
    assert (await world.client.list(CLUSTERS)).items
