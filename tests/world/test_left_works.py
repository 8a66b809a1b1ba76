"""Works that a deleted binding has left, and no next one has taken up yet: kinds that go, other schedulers, restarts,
overrides, rollouts."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import NotFound
from leeward.api.names import work_name
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS, WORKS
from leeward.core.left_works import LEFT_ANNOTATION
from leeward.sim.world import Mode, World
from tests.world.sampler import running, sampled
from tests.world.staging import GOOD, begun, images, reason, told
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
)
from tests.world.test_claims_found_again import AGGREGATED, DIVIDED, ONE
from tests.world.test_kinds import CLUSTER_POLICIES, CRON_TAB_DEFINITION, CRON_TABS, DEFINITIONS, selecting
from tests.world.test_overrides import OVERRIDES, only, overriding
from tests.world.test_scripted_kinds import given_a_scripted_kind
from tests.world.test_unjudged_kinds import DATABASES, ORDERS, definition, place
from tests.world.test_unserved_paths import not_served
from tests.world.test_works_of_data_deleted import SPACES

PUSH: Mapping[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push"}
TWO: Mapping[str, Mode] = {"member1": "Push", "member2": "Push"}
WEB = "web-deployment"
WORK = work_name("Database", "orders", "default")
STATIC = by_weight(dict.fromkeys(PUSH, 1))
PLACEMENTS = {"one": ONE, "aggregated": AGGREGATED, "dynamic": DIVIDED, "static": STATIC}
NOWHERE: Manifest = {"spec": {"placement": {"clusterAffinity": {"clusterNames": ["ghost"]}}}}
NO_NEXT: Manifest = {"spec": {"dependentOverrides": ["none"]}}
ROLES = Resource.of_manifests("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", False)


async def delete(world: World, name: str = WEB) -> None:
    await world.client.delete(RESOURCE_BINDINGS, name, "default")


async def web_runs(world: World, placement: Manifest, **spec: Any) -> None:
    placing = policy("web", placement)
    await apply(world.client, deployment("web", 6), {**placing, "spec": {**placing["spec"], **spec}})
    await world.sleep(90)
    assert sum((await running(world, "web")).values()) == 6


async def there(world: World) -> dict[str, int]:
    return {member: count for member, count in (await running(world, "web")).items() if count}


async def works(world: World, text: str = "web") -> Sequence[str]:
    listed = [(await world.client.list(WORKS, f"karmada-es-{member}")).items for member in world.members]
    return [work.name for each in listed for work in each if text in work.name]


async def begin_anew(world: World, seconds: float) -> None:
    world.crash_controllers()
    await world.sleep(seconds)
    world.start_controllers()


async def assign(world: World, name: str) -> None:
    targets = {"spec": {"clusters": [{"name": name, "replicas": 6}]}}
    await world.client.patch(RESOURCE_BINDINGS, WEB, targets, "default")


@pytest.mark.parametrize("binding_first", [False, True])
def test_l3_objects_go_whose_definition_was_deleted_while_nobody_watched(*, binding_first: bool) -> None:
    async def story(world: World) -> None:
        await place(world, definition())
        if binding_first:
            await delete(world, ORDERS)
        world.crash_controllers()
        await world.client.delete(DEFINITIONS, "databases.data.example.com")
        if not binding_first:
            with suppress(NotFound):
                await delete(world, ORDERS)
        await world.sleep(5)
        world.start_controllers()
        await world.sleep(300)
        assert (world.binding(ORDERS), await works(world, "orders")) == (None, [])
        assert await identities(world, "orders", resource=DATABASES) == {}

    play(story, TWO)


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("restart", [False, True])
def test_l3_the_binding_goes_whose_definition_was_deleted(*, slow: bool, restart: bool) -> None:
    """The member holds the object up for a while, or not."""

    async def story(world: World) -> None:
        await place(world, definition())
        held = world.member("member1").client
        if slow:
            await held.patch(DATABASES, "orders", {"metadata": {"finalizers": ["example.com/slow"]}}, "default")
        await world.client.delete(DEFINITIONS, "databases.data.example.com")
        await world.sleep(10)
        if restart:
            await begin_anew(world, 5)
            await world.sleep(30)
        if slow:
            await held.patch(DATABASES, "orders", {"metadata": {"finalizers": None}}, "default")
        await world.sleep(300)
        assert (world.binding(ORDERS), await works(world, "orders")) == (None, [])

    play(story, TWO)


@pytest.mark.parametrize("binding_first", [False, True])
@pytest.mark.parametrize("anew", [False, True])
def test_s5_what_a_binding_has_left_stays_while_the_kind_is_not_served(*, binding_first: bool, anew: bool) -> None:
    """A definition stands, and the API server does not serve it yet: nobody knows whether the template is gone."""

    async def story(world: World) -> None:
        await place(world, definition())
        before = await identities(world, "orders", resource=DATABASES)
        if binding_first:
            await world.client.patch(POLICIES, "orders", NO_NEXT, "default")
            await delete(world, ORDERS)
            await world.sleep(30)
        if anew:
            world.crash_controllers()
        not_served(world.place, "GET", "/apis/data.example.com/")
        if anew:
            world.start_controllers()
            await world.sleep(10)
        if not binding_first:
            await delete(world, ORDERS)
        await world.sleep(200)
        assert (await identities(world, "orders", resource=DATABASES), await works(world, "orders")) == (before, [WORK])
        world.place.audit = None
        await world.sleep(100)
        assert await identities(world, "orders", resource=DATABASES) == before
        await world.client.delete(DATABASES, "orders", "default")
        await world.sleep(300)
        assert (await identities(world, "orders", resource=DATABASES), await works(world, "orders")) == ({}, [])

    play(story, TWO)


@pytest.mark.parametrize("moved_before", [False, True])
def test_s9_another_scheduler_may_place_it_elsewhere(*, moved_before: bool) -> None:
    """Such a scheduler writes no word of the placement that it has carried out."""

    async def story(world: World) -> None:
        placing = policy("web", ONE)
        await apply(
            world.client, deployment("web", 6), {**placing, "spec": {**placing["spec"], "schedulerName": "theirs"}}
        )
        await world.sleep(20)
        await assign(world, "member1")
        await world.sleep(60)
        if moved_before:
            await assign(world, "member3")
            await world.sleep(200)
        await delete(world)
        await world.sleep(20)
        await assign(world, "member2")
        await world.sleep(400)
        assert await there(world) == {"member2": 6}

    play(story, PUSH)


@pytest.mark.parametrize("next_one", [False, True])
@pytest.mark.parametrize("gap", [0, 120])
def test_l3_what_was_left_goes_with_its_template_also_after_a_gap(gap: float, *, next_one: bool) -> None:
    async def story(world: World) -> None:
        await web_runs(world, AGGREGATED)
        if not next_one:
            await world.client.patch(POLICIES, "web", NO_NEXT, "default")
        await delete(world)
        await world.sleep(30)
        await begin_anew(world, gap)
        await world.sleep(60)
        assert (world.binding(WEB) is not None, sum((await there(world)).values())) == (next_one, 6)
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(300)
        assert (await there(world), await works(world)) == ({}, [])

    play(story, PUSH)


@pytest.mark.parametrize("first", ["binding", "namespace"])
def test_l3_what_was_left_goes_with_its_namespace_also_after_a_gap(first: str) -> None:
    async def story(world: World) -> None:
        await world.client.create(SPACES, {"metadata": {"name": "shop"}})
        await apply(world.client, deployment("web", 2), policy("web", ONE), namespace="shop")
        await world.sleep(60)
        if first == "binding":
            await world.client.delete(RESOURCE_BINDINGS, WEB, "shop")
        await world.client.delete(SPACES, "shop")
        await world.sleep(3)
        await begin_anew(world, 120)
        await world.sleep(300)
        assert await works(world) == []

    play(story, PUSH)


def test_s5_a_left_work_that_was_restored_stays_in_doubt() -> None:
    """A restored Work has the mark of the one that was saved; its template is not there yet."""

    async def story(world: World) -> None:
        await web_runs(world, ONE)
        (name,) = world.assigned(WEB)
        await world.client.patch(POLICIES, "web", NO_NEXT, "default")
        await delete(world)
        await world.sleep(30)
        (work,) = [w for w in (await world.client.list(WORKS, f"karmada-es-{name}")).items if "web" in w.name]
        assert work.metadata.annotations[LEFT_ANNOTATION] == f"6/{work.metadata.uid}"
        other = {"metadata": {"annotations": {LEFT_ANNOTATION: "6/of-another"}}}
        world.crash_controllers()
        await world.client.patch(WORKS, work.name, other, work.namespace)
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(120)
        world.start_controllers()
        await world.sleep(300)
        assert await there(world) == {name: 6}

    play(story, PUSH)


@pytest.mark.parametrize("count", [1, 10])
@pytest.mark.parametrize("placement", ["aggregated", "dynamic", "static"])
def test_s1_an_override_of_replicas_changes_no_assignment(count: int, placement: str) -> None:
    async def story(world: World) -> None:
        change = {"path": "/spec/replicas", "operator": "replace", "value": count}
        made = overriding("few", {"name": "web"}, only("member1"), plaintext=[change])
        await world.client.create(OVERRIDES, made, "default")
        await apply(world.client, deployment("web", 6), policy("web", PLACEMENTS[placement]))
        await world.sleep(90)
        before, ready = world.assigned(WEB), await there(world)
        async with sampled(world) as samples:
            await delete(world)
            await world.sleep(120)
        assert (world.assigned(WEB), await there(world)) == (before, ready)
        assert samples.fewest >= sum(ready.values())

    play(story, PUSH)


def test_s1_a_kind_whose_replicas_a_script_tells_stays_as_it_is() -> None:
    async def story(world: World) -> None:
        await given_a_scripted_kind(world)
        await world.sleep(60)
        name = "nightly-crontab"
        before = world.assigned(name), await identities(world, "nightly", resource=CRON_TABS)
        await delete(world, name)
        await world.sleep(120)
        assert (world.assigned(name), await identities(world, "nightly", resource=CRON_TABS)) == before

    play(story, TWO)


def test_a_rollout_goes_on_with_its_stages() -> None:
    async def story(world: World) -> None:
        await begun(world, GOOD)
        await world.sleep(60)
        there = await images(world)
        assert sorted(there.values()) == ["nginx:1", "nginx:1", GOOD]
        await delete(world)
        await world.sleep(20)
        assert await images(world) == there
        await world.until(lambda: reason(world) == "Complete", 1200)
        assert set((await images(world)).values()) == {GOOD}

    told(story)


@pytest.mark.parametrize("edit", [False, True])
def test_s17_a_lazy_policy_keeps_its_application(*, edit: bool) -> None:
    async def story(world: World) -> None:
        await web_runs(world, ONE, activationPreference="Lazy")
        (old,) = world.assigned(WEB)
        if edit:
            await world.client.patch(POLICIES, "web", NOWHERE, "default")
            await world.sleep(30)
        async with sampled(world) as samples:
            await delete(world)
            await world.sleep(200)
        assert (await there(world), samples.fewest) == ({old: 6}, 6)
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(60)
        assert await there(world) == {}

    play(story, PUSH)


@pytest.mark.parametrize("seconds", [0, 0.05, 1])
@pytest.mark.parametrize("order", ["binding policy", "policy binding", "binding policy template"])
def test_l3_what_no_policy_claims_any_more_is_left_to_nobody(seconds: float, order: str) -> None:
    async def story(world: World) -> None:
        await web_runs(world, AGGREGATED)
        for each in order.split():
            resource, name = {"policy": (POLICIES, "web"), "template": (DEPLOYMENTS, "web")}.get(
                each, (RESOURCE_BINDINGS, WEB)
            )
            await world.client.delete(resource, name, "default")
            await world.sleep(seconds)
        await world.sleep(120)
        assigned = world.assigned(WEB) if world.binding(WEB) is not None else {}
        assert await there(world) == assigned
        assert bool(await works(world)) == bool(assigned)

    play(story, PUSH)


@pytest.mark.parametrize("placement", PLACEMENTS.values(), ids=PLACEMENTS)
@pytest.mark.parametrize("count", [0, 2, 12])
def test_an_application_that_is_scaled_in_the_same_moment_has_the_new_size(placement: Manifest, count: int) -> None:
    async def story(world: World) -> None:
        await web_runs(world, placement)
        await delete(world)
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": count}}, "default")
        await world.sleep(200)
        assert sum((await there(world)).values()) == count

    play(story, PUSH)


@pytest.mark.parametrize("moment", [0, 20])
def test_s1_what_fits_nowhere_serves_on_as_under_its_first_binding(moment: float) -> None:
    async def story(world: World) -> None:
        await web_runs(world, ONE)
        before = await there(world)
        await delete(world)
        await world.sleep(moment)
        await world.client.patch(POLICIES, "web", NOWHERE, "default")
        await world.sleep(200)
        assert await there(world) == before
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(60)
        assert (await there(world), await works(world)) == ({}, [])

    play(story, PUSH)


@pytest.mark.parametrize("deleted", [False, True])
def test_s1_preserved_copies_move_also_after_their_binding_was_deleted(*, deleted: bool) -> None:
    async def story(world: World) -> None:
        await web_runs(world, {"clusterAffinity": {"clusterNames": ["member1"]}}, preserveResourcesOnDeletion=True)
        if deleted:
            await delete(world)
        placement = {"clusterAffinity": {"clusterNames": ["member2"]}}
        await world.client.patch(POLICIES, "web", {"spec": {"placement": placement}}, "default")
        await world.sleep(300)
        assert await there(world) == {"member2": 6}

    play(story, PUSH)


@pytest.mark.parametrize("edit", ["fewer clusters", "no template"])
def test_l3_what_a_binding_of_the_whole_fleet_has_left_follows_its_policy(edit: str) -> None:
    async def story(world: World) -> None:
        await world.client.create(DEFINITIONS, CRON_TAB_DEFINITION)
        await world.client.create(ROLES, {"metadata": {"name": "reader"}, "rules": []})
        made = selecting(ROLES, "reader", "member1", "member2")
        await world.client.create(CLUSTER_POLICIES, {**made, "metadata": {"name": "roles"}})
        await world.sleep(60)
        before = await identities(world, "reader", resource=ROLES, namespace="")
        assert before.keys() == {"member1", "member2"}
        (name,) = [b.name for b in (await world.client.list(CLUSTER_RESOURCE_BINDINGS)).items if "reader" in b.name]
        await world.client.delete(CLUSTER_RESOURCE_BINDINGS, name)
        await world.sleep(60)
        assert await identities(world, "reader", resource=ROLES, namespace="") == before
        await world.client.delete(CLUSTER_RESOURCE_BINDINGS, name)
        if edit == "no template":
            await world.client.delete(ROLES, "reader")
        else:
            placement = {"clusterAffinity": {"clusterNames": ["member1"]}}
            await world.client.patch(CLUSTER_POLICIES, "roles", {"spec": {"placement": placement}})
        await world.sleep(150)
        left = set(await identities(world, "reader", resource=ROLES, namespace=""))
        assert left == ({"member1"} if edit == "fewer clusters" else set())

    play(story, PUSH)


def test_what_two_applications_need_stays_with_each_of_them() -> None:
    async def story(world: World) -> None:
        await world.client.create(CONFIG_MAPS, {"metadata": {"name": "config"}, "data": {"a": "b"}}, "default")
        for name in ("web", "api"):
            made, placing = deployment(name, 2), policy(name, ONE)
            made["spec"]["template"]["spec"]["volumes"] = [{"name": "c", "configMap": {"name": "config"}}]
            await apply(world.client, made, {**placing, "spec": {**placing["spec"], "propagateDeps": True}})
        await world.sleep(90)
        for name in (WEB, "api-deployment", "config-configmap"):
            await delete(world, name)
        await world.sleep(120)
        places = {*world.assigned(WEB), *world.assigned("api-deployment")}
        assert set(await identities(world, "config", resource=CONFIG_MAPS)) == places
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(90)
        assert set(await identities(world, "config", resource=CONFIG_MAPS)) == set(world.assigned("api-deployment"))
        await delete(world, "api-deployment")
        await world.client.delete(DEPLOYMENTS, "api", "default")
        await world.sleep(90)
        assert await identities(world, "config", resource=CONFIG_MAPS) == {}

    play(story, PUSH)


async def hold(world: World, resource: Resource[Any], name: str, *finalizers: str) -> None:
    """Somebody holds an object up with these finalizers; with none all are taken off."""
    await world.client.patch(resource, name, {"metadata": {"finalizers": list(finalizers) or None}}, "default")


@pytest.mark.parametrize("hangs_on", [False, True])
def test_l3_what_a_binding_has_left_that_somebody_holds_up_goes_with_its_template(*, hangs_on: bool) -> None:
    async def story(world: World) -> None:
        await web_runs(world, AGGREGATED)
        binding = world.binding(WEB)
        assert binding is not None
        await hold(world, RESOURCE_BINDINGS, WEB, *binding.metadata.finalizers, "example.com/held")
        await delete(world)
        await world.sleep(60)
        assert sum((await there(world)).values()) == 6
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(60)
        if not hangs_on:
            await hold(world, RESOURCE_BINDINGS, WEB)
        await world.sleep(60)
        assert (await there(world), await works(world)) == ({}, [])

    play(story, PUSH)


def test_l3_what_a_forced_deletion_has_left_goes_with_its_template_after_a_gap() -> None:
    async def story(world: World) -> None:
        await world.sleep(1500)
        await web_runs(world, ONE)
        await world.sleep(1500)
        await world.client.patch(POLICIES, "web", NO_NEXT, "default")
        world.crash_controllers()
        await hold(world, RESOURCE_BINDINGS, WEB)
        await delete(world)
        await world.sleep(3)
        world.start_controllers()
        await world.sleep(90)
        assert sum((await there(world)).values()) == 6
        await begin_anew(world, 300)
        await world.sleep(60)
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(120)
        assert (await there(world), await works(world)) == ({}, [])

    play(story, PUSH)


def test_l3_nothing_is_left_for_a_template_that_is_being_deleted() -> None:
    async def story(world: World) -> None:
        await web_runs(world, ONE)
        await hold(world, DEPLOYMENTS, "web", "example.com/held")
        await world.client.patch(POLICIES, "web", NO_NEXT, "default")
        await delete(world)
        await world.sleep(30)
        assert sum((await there(world)).values()) == 6
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(120)
        assert await there(world) == {}

    play(story, PUSH)
