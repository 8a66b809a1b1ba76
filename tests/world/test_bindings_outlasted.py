"""Bindings that somebody deletes alone: their template stays, so nothing in the members changes."""

from collections.abc import Awaitable, Callable, Mapping

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.resource import RESOURCE_BINDINGS, WORKS
from leeward.app.leaving import unjoin_cluster
from leeward.manager.settings import ManagerSettings
from leeward.operations.drain import start_drain
from leeward.sim.world import Mode, World
from tests.world.sampler import running, sampled
from tests.world.stories import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    POLICIES,
    apply,
    by_weight,
    deployment,
    identities,
    play,
    policy,
    tasks,
)
from tests.world.test_claims_found_again import AGGREGATED, DIVIDED, ONE
from tests.world.test_dependencies_with_data import CLAIMS
from tests.world.test_jobs_in_outages import CRON_JOB, jobs_in, start_cron_job, succeeded
from tests.world.test_stateful_sets import STATEFUL_SETS, stateful_set
from tests.world.test_unjudged_kinds import DATABASES, ORDERS, claim_of, definition, operate, place

PUSH: Mapping[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push"}
PULL: Mapping[str, Mode] = {"member1": "Pull", "member2": "Pull", "member3": "Pull"}
WEB, DB, CONFIG = "web-deployment", "db-statefulset", "config-configmap"
STATIC = by_weight(dict.fromkeys(PUSH, 1))
PLACEMENTS = {"one": ONE, "aggregated": AGGREGATED, "dynamic": DIVIDED, "static": STATIC}
Change = Callable[[World, str], Awaitable[None]]


async def delete(world: World, name: str) -> None:
    await world.client.delete(RESOURCE_BINDINGS, name, "default")


async def delete_by_force(world: World, name: str) -> None:
    await world.client.patch(RESOURCE_BINDINGS, name, {"metadata": {"finalizers": None}}, "default")
    await world.client.delete(RESOURCE_BINDINGS, name, "default")


async def delete_twice(world: World, name: str) -> None:
    await delete(world, name)
    await world.until(lambda: world.binding(name) is not None, 30)
    await delete(world, name)


async def delete_beside_a_change_of_leaders(world: World, name: str) -> None:
    await delete(world, name)
    await world.sleep(0.05)
    world.crash_controllers()
    await world.sleep(40)
    world.start_controllers()


WAYS: tuple[Change, ...] = (delete, delete_by_force, delete_twice, delete_beside_a_change_of_leaders)


async def uids(world: World, name: str, resource: Resource[Manifest] = DEPLOYMENTS) -> dict[str, str]:
    return {member: uid for member, (uid, _) in (await identities(world, name, resource=resource)).items()}


def naming(name: str) -> Manifest:
    """`web`, that names a ConfigMap."""
    made = deployment("web", 6)
    volume = {"name": "config", "configMap": {"name": name}}
    pods = made["spec"]["template"]["spec"] | {"volumes": [volume]}
    return {**made, "spec": {**made["spec"], "template": {**made["spec"]["template"], "spec": pods}}}


async def web_runs(world: World, placement: Manifest) -> None:
    await world.client.create(CONFIG_MAPS, {"metadata": {"name": "config"}, "data": {"a": "b"}}, "default")
    placing = policy("web", placement)
    await apply(world.client, naming("config"), {**placing, "spec": {**placing["spec"], "propagateDeps": True}})
    await world.sleep(90)
    assert sum((await running(world, "web")).values()) == 6


@pytest.mark.parametrize("placement", PLACEMENTS.values(), ids=PLACEMENTS)
@pytest.mark.parametrize("happens", WAYS)
def test_s1_an_application_whose_binding_is_deleted_serves_on_with_what_follows_it(
    happens: Change, placement: Manifest
) -> None:
    async def story(world: World) -> None:
        await web_runs(world, placement)
        before = await uids(world, "web"), await uids(world, "config", CONFIG_MAPS)
        there = world.assigned(WEB)
        async with sampled(world) as samples:
            await happens(world, WEB)
            await world.sleep(120)
        assert samples.fewest == 6
        assert (await uids(world, "web"), await uids(world, "config", CONFIG_MAPS)) == before
        assert world.assigned(WEB) == there
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "default")
        await world.sleep(60)
        assert sum((await running(world, "web")).values()) == 3, "the next binding has taken it over"
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(60)
        assert await uids(world, "web") == await uids(world, "config", CONFIG_MAPS) == {}

    play(story, PUSH if happens is not delete else PULL)


@pytest.mark.parametrize("happens", WAYS)
def test_s12_the_claims_of_a_set_whose_binding_is_deleted_keep_their_data(happens: Change) -> None:
    async def story(world: World) -> None:
        made = stateful_set()
        made["spec"]["persistentVolumeClaimRetentionPolicy"] = {"whenDeleted": "Delete", "whenScaled": "Retain"}
        await world.client.create(STATEFUL_SETS, made, "default")
        await apply(world.client, policy("db", ONE, "StatefulSet"))
        await world.sleep(90)
        before = [await identities(world, f"data-db-{n}", resource=CLAIMS) for n in (0, 1)]
        assert all(before)
        await happens(world, DB)
        await world.sleep(120)
        assert [await identities(world, f"data-db-{n}", resource=CLAIMS) for n in (0, 1)] == before

    play(story, PUSH)


def test_s12_a_custom_resource_whose_binding_is_deleted_keeps_its_claims() -> None:
    async def story(world: World) -> None:
        await place(world, definition())
        claim = await operate(world, "member1")
        before = await identities(world, "orders", ["member1"], DATABASES)
        await delete(world, ORDERS)
        await world.sleep(120)
        assert await identities(world, "orders", ["member1"], DATABASES) == before
        assert (await claim_of(world, "member1"))["metadata"]["uid"] == claim["metadata"]["uid"]

    play(story, {"member1": "Push", "member2": "Push"})


def test_s1_the_run_of_a_cron_job_whose_binding_is_deleted_goes_on() -> None:
    async def story(world: World) -> None:
        there = await start_cron_job(world, "*/30 * * * *", 300)
        before = await jobs_in(world, there)
        await delete(world, CRON_JOB)
        await world.sleep(400)
        assert (await jobs_in(world, there), await succeeded(world, there)) == (before, 1)

    play(story, PUSH)


@pytest.mark.parametrize("placement", PLACEMENTS.values(), ids=PLACEMENTS)
@pytest.mark.parametrize("moment", [200, 330, 420])
def test_s1_a_binding_that_is_deleted_in_an_outage_fails_over_and_leaves_nothing_behind(
    moment: float, placement: Manifest
) -> None:
    async def story(world: World) -> None:
        await web_runs(world, placement)
        old = min(world.assigned(WEB))
        serves = 6 - world.assigned(WEB)[old]
        await world.member(old).stop()
        async with sampled(world) as samples:
            await world.sleep(moment)
            await delete(world, WEB)
            await world.sleep(900)
            assert sum((await running(world, "web")).values()) == 6
            assert old not in world.assigned(WEB)
            await world.member(old).start()
            await world.sleep(400)
        assert samples.fewest >= serves
        there = {name: n for name, n in (await running(world, "web")).items() if n}
        assert there == world.assigned(WEB)
        assert sum(there.values()) == 6
        assert tasks(world, WEB) == []

    play(story, {**PUSH, "member4": "Push"} if placement is not STATIC else PUSH)


@pytest.mark.parametrize("placement", PLACEMENTS.values(), ids=PLACEMENTS)
def test_s1_a_binding_that_is_deleted_in_a_drain_leaves_the_cluster_in_order(placement: Manifest) -> None:
    async def story(world: World) -> None:
        await web_runs(world, placement)
        old = min(world.assigned(WEB))
        async with sampled(world) as samples:
            await start_drain(world.client, old, None)
            await world.until(lambda: bool(tasks(world, WEB)), 60)
            await delete(world, WEB)
            await world.sleep(300)
        assert samples.fewest >= 6
        there = {name: n for name, n in (await running(world, "web")).items() if n}
        assert there == world.assigned(WEB)
        assert (sum(there.values()), old in there) == (6, False)

    play(story, PUSH)


@pytest.mark.parametrize("seconds", [0, 0.05, 0.2, 1, 5])
@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize("policy_too", [False, True])
def test_l3_what_a_deleted_binding_has_left_goes_with_its_template(
    seconds: float, *, gap: bool, policy_too: bool
) -> None:
    """Nobody watched for a while since it was made, or no next binding is made."""

    async def story(world: World) -> None:
        await web_runs(world, AGGREGATED)
        if gap:
            await world.stop_controllers()
            await world.sleep(60)
            world.start_controllers()
            await world.sleep(60)
        if policy_too:
            await world.client.patch(POLICIES, "web", {"spec": {"dependentOverrides": ["none"]}}, "default")
        await delete(world, WEB)
        await world.sleep(seconds)
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(120)
        assert await uids(world, "web") == await uids(world, "config", CONFIG_MAPS) == {}
        for member in PUSH:
            assert not [w for w in (await world.client.list(WORKS, f"karmada-es-{member}")).items if "web" in w.name]

    play(story, PUSH)


def test_an_application_goes_where_its_policy_says_by_then() -> None:
    async def story(world: World) -> None:
        await web_runs(world, ONE)
        (old,) = world.assigned(WEB)
        (new, _) = set(PUSH) - {old}
        async with sampled(world) as samples:
            await delete(world, WEB)
            placement = {"clusterAffinity": {"clusterNames": [new]}}
            await world.client.patch(POLICIES, "web", {"spec": {"placement": placement}}, "default")
            await world.sleep(200)
        assert samples.fewest >= 6
        assert {name: n for name, n in (await running(world, "web")).items() if n} == {new: 6}

    play(story, PUSH)


def test_s12_a_config_map_with_a_policy_of_its_own_stays_when_its_binding_is_deleted() -> None:
    async def story(world: World) -> None:
        await world.client.create(CONFIG_MAPS, {"metadata": {"name": "config"}, "data": {"a": "b"}}, "default")
        await apply(world.client, policy("config", ONE, "ConfigMap", "v1"))
        await world.sleep(60)
        before = await uids(world, "config", CONFIG_MAPS)
        for change in (delete, delete_by_force):
            await change(world, CONFIG)
            await world.sleep(120)
            assert await uids(world, "config", CONFIG_MAPS) == before

    play(story, PUSH)


async def scheduled_by(world: World, name: str | None) -> None:
    await world.client.delete(POLICIES, "web", "default")
    await world.sleep(5)
    placing = policy("web", ONE)
    await apply(world.client, {**placing, "spec": {**placing["spec"], "propagateDeps": True, "schedulerName": name}})


@pytest.mark.parametrize("dies", [False, True])
def test_s1_what_a_binding_has_left_serves_on_while_nothing_may_be_scheduled(*, dies: bool) -> None:
    async def story(world: World) -> None:
        await web_runs(world, ONE)
        await scheduled_by(world, "theirs")
        await world.sleep(20)
        async with sampled(world) as samples:
            await delete(world, WEB)
            await world.sleep(200)
        assert samples.fewest == 6
        if dies:
            await world.client.delete(DEPLOYMENTS, "web", "default")
            await world.sleep(60)
            assert await uids(world, "web") == {}
        else:
            await scheduled_by(world, None)
            await world.sleep(60)
            assert sum(world.assigned(WEB).values()) == sum((await running(world, "web")).values()) == 6

    play(story, PUSH)


def test_s1_a_cluster_that_is_unjoined_meanwhile_is_left_and_the_others_serve_on() -> None:
    async def story(world: World) -> None:
        await web_runs(world, STATIC)
        await delete(world, WEB)
        await unjoin_cluster(world.client, "member1", world.clock, force=False, wait_seconds=60, tell=lambda _: None)
        await world.sleep(120)
        there = {name: n for name, n in (await running(world, "web")).items() if n}
        assert (world.assigned(WEB), there) == ({"member2": 3, "member3": 3},) * 2

    play(story, PUSH)


def test_l3_preserved_objects_stay_when_the_template_of_a_deleted_binding_goes() -> None:
    async def story(world: World) -> None:
        await web_runs(world, STATIC)
        await world.client.patch(POLICIES, "web", {"spec": {"preserveResourcesOnDeletion": True}}, "default")
        await world.sleep(60)
        before = await uids(world, "web")
        await delete(world, WEB)
        await world.sleep(60)
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(60)
        assert await uids(world, "web") == before

    play(story, PUSH)


@pytest.mark.parametrize("seconds", [0, 0.05, 0.2, 1, 5])
def test_an_application_that_is_made_anew_after_its_binding_was_deleted_is_the_new_one(seconds: float) -> None:
    async def story(world: World) -> None:
        await web_runs(world, AGGREGATED)
        await world.stop_controllers()
        await world.sleep(60)
        world.start_controllers()
        await world.sleep(60)
        await delete(world, WEB)
        await world.sleep(seconds)
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await apply(world.client, deployment("web", 4, image="other"))
        await world.sleep(120)
        assert sum((await running(world, "web")).values()) == 4
        assert {name: n for name, n in (await running(world, "web")).items() if n} == world.assigned(WEB)

    play(story, PUSH)


def test_all_bindings_of_a_namespace_that_are_deleted_at_once_cost_no_replica() -> None:
    async def story(world: World) -> None:
        await web_runs(world, DIVIDED)
        before = await uids(world, "web")
        async with sampled(world) as samples:
            for name in (CONFIG, WEB):
                await delete(world, name)
            await world.sleep(120)
        assert (samples.fewest, await uids(world, "web")) == (6, before)
        assert await uids(world, "config", CONFIG_MAPS) != {}
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(90)
        assert await uids(world, "config", CONFIG_MAPS) == {}

    play(story, PUSH)


def test_with_karmada_exact_all_goes_with_the_binding() -> None:
    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 6), policy("web", ONE))
        await world.sleep(90)
        before = await uids(world, "web")
        await delete(world, WEB)
        await world.sleep(120)
        assert not set((await uids(world, "web")).values()) & set(before.values())

    play(story, PUSH, manager=ManagerSettings().karmada_exact())
