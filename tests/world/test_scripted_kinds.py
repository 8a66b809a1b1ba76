"""A kind that only a script understands is divided, judged and added up; one bad script costs its own object only."""

import pytest

from kubeapi.core import EVENTS
from kubeapi.meta import Manifest
from kubeclient import Invalid
from leeward.api.resource import RESOURCE_BINDINGS, RESOURCE_INTERPRETER_CUSTOMIZATIONS, WORKS
from leeward.sim.world import World
from tests.security.test_could_not_look import blind, not_observed
from tests.world.stories import POLICIES, apply, by_weight, deployment, in_world, policy, ready_replicas
from tests.world.test_kinds import CRON_TAB_DEFINITION, CRON_TABS, DEFINITIONS, appears
from tests.world.test_overrides import OVERRIDES, only, overriding, replacing

CUSTOMIZATION: Manifest = {
    "metadata": {"name": "cron-tabs"},
    "spec": {
        "target": {"apiVersion": "stable.example.com/v1", "kind": "CronTab"},
        "customizations": {
            "replicaResource": {"luaScript": "function GetReplicas(o) return o.spec.workers end"},
            "replicaRevision": {"luaScript": "function ReviseReplica(o, n) o.spec.workers = n return o end"},
            "retention": {"luaScript": "function Retain(o, seen) o.spec.node = seen.spec.node return o end"},
            "statusReflection": {"luaScript": "function ReflectStatus(o) return {done = o.status.done} end"},
            "statusAggregation": {
                "luaScript": """
                    function AggregateStatus(o, items)
                      local done = 0
                      for _, item in ipairs(items) do
                        if item.status ~= nil then done = done + item.status.done end
                      end
                      o.status = {done = done}
                      return o
                    end
                """
            },
            "healthInterpretation": {
                "luaScript": "function InterpretHealth(o) return o.status.done == o.spec.workers end"
            },
        },
    },
}
CRON_TAB: Manifest = {
    "apiVersion": "stable.example.com/v1",
    "kind": "CronTab",
    "metadata": {"name": "nightly"},
    "spec": {"workers": 6, "emptyDir": {}},
}
ENDLESS = "function InterpretHealth(o) while true do pcall(function() while true do end end) end end"


async def given_a_scripted_kind(world: World, **scripts: str) -> None:
    """`scripts` replace those of the customization; an empty one leaves its operation out. Without one of health,
    members serve the kind with a status subresource."""
    changed = {name: {"luaScript": text} for name, text in scripts.items()}
    customizations = {**CUSTOMIZATION["spec"]["customizations"], **changed}
    kept = {name: script for name, script in customizations.items() if script["luaScript"]}
    spec = {**CUSTOMIZATION["spec"], "customizations": kept}
    await world.client.create(RESOURCE_INTERPRETER_CUSTOMIZATIONS, {**CUSTOMIZATION, "spec": spec})
    version: Manifest = {**CRON_TAB_DEFINITION["spec"]["versions"][0], "subresources": {"status": {}}}
    definition: Manifest = {**CRON_TAB_DEFINITION, "spec": {**CRON_TAB_DEFINITION["spec"], "versions": [version]}}
    there = CRON_TAB_DEFINITION if "healthInterpretation" in kept else definition
    for name in ("member1", "member2"):
        await world.member(name).client.create(DEFINITIONS, there)
    await world.client.create(DEFINITIONS, definition)
    await world.sleep(30)
    await world.client.create(CRON_TABS, CRON_TAB, "default")
    placement = by_weight({"member1": 2, "member2": 1})
    await apply(world.client, policy("nightly", placement, "CronTab", "stable.example.com/v1"))


async def report(world: World, member: str, done: int) -> None:
    await world.member(member).client.patch(CRON_TABS, "nightly", {"status": {"done": done}}, "default")


async def health(world: World, member: str) -> list[str]:
    works = await world.client.list(WORKS, f"karmada-es-{member}")
    mine = [work for work in works.items if work.metadata.name.startswith("nightly-")]
    return [status.health for work in mine for status in work.status.manifest_statuses]


@in_world()
async def test_replicas_are_divided_and_statuses_added_up_by_scripts(world: World) -> None:
    await given_a_scripted_kind(world)
    first = await appears(world, "member1", CRON_TABS, "nightly", "default")
    second = await appears(world, "member2", CRON_TABS, "nightly", "default")
    assert [first["spec"], second["spec"]] == [{"workers": 4, "emptyDir": {}}, {"workers": 2, "emptyDir": {}}]
    await report(world, "member1", 4)
    await report(world, "member2", 1)
    await world.sleep(10)
    assert [await health(world, "member1"), await health(world, "member2")] == [["Healthy"], ["Unhealthy"]]
    assert (await world.client.get(CRON_TABS, "nightly", "default"))["status"] == {"done": 5}


@pytest.mark.parametrize(("operation", "expected"), [("healthInterpretation", 0), ("retention", 1)])
@in_world()
async def test_a_kind_that_nothing_judges_says_so_once(world: World, operation: str, expected: int) -> None:
    """A second object of the kind says nothing again; a script that judges health leaves nothing to say."""
    scripts = CUSTOMIZATION["spec"]["customizations"]
    spec = {**CUSTOMIZATION["spec"], "customizations": {operation: scripts[operation]}}
    await world.client.create(RESOURCE_INTERPRETER_CUSTOMIZATIONS, {**CUSTOMIZATION, "spec": spec})
    await world.client.create(DEFINITIONS, CRON_TAB_DEFINITION)
    await world.sleep(30)
    for name in ("nightly", "weekly"):
        await world.client.create(CRON_TABS, {**CRON_TAB, "metadata": {"name": name}}, "default")
        await apply(world.client, policy(name, by_weight({"member1": 1}), "CronTab", "stable.example.com/v1"))
    await apply(world.client, deployment("web", 1), policy("web", by_weight({"member1": 1})))
    await world.sleep(30)
    told = [event for event in (await world.client.list(EVENTS)).items if event.reason == "HealthNotInterpreted"]
    assert [event.involved_object.kind for event in told] == ["CronTab"] * expected
    assert all("healthInterpretation" in event.message for event in told)


COUNTED = {
    "statusReflection": "function ReflectStatus(o) return {readyReplicas = o.status.readyReplicas} end",
    "healthInterpretation": "function InterpretHealth(o) return o.status.readyReplicas == o.spec.workers end",
    "statusAggregation": "function AggregateStatus(o, items) return o end",
}
"""Scripts that tell the replicas of a kind as a Deployment tells them."""


async def serve(world: World, member: str, replicas: int) -> None:
    patch = {"status": {"readyReplicas": replicas}}
    await world.member(member).client.patch(CRON_TABS, "nightly", patch, "default")


@in_world()
async def test_s1_a_scripted_copy_that_serves_four_is_not_given_up_for_one_that_serves_one(world: World) -> None:
    """Scaled up from 1 to 5 while member1 was away; member2 has 4 of them."""
    await given_a_scripted_kind(world, **COUNTED)
    one = [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]
    placement = {"clusterAffinity": {"clusterNames": ["member1", "member2"]}, "spreadConstraints": one}
    await world.client.patch(CRON_TABS, "nightly", {"spec": {"workers": 1}}, "default")
    await world.client.patch(POLICIES, "nightly", {"spec": {"placement": None}}, "default")
    await world.client.patch(POLICIES, "nightly", {"spec": {"placement": placement}}, "default")
    await world.until(lambda: len(world.assigned("nightly-crontab")) == 1, 60)
    await world.sleep(30)
    (old,) = world.assigned("nightly-crontab")
    (new,) = {"member1", "member2"} - {old}
    await serve(world, old, 1)
    await world.member(old).stop()
    await world.until(lambda: set(world.assigned("nightly-crontab")) == {new}, 1_000)
    await world.client.patch(CRON_TABS, "nightly", {"spec": {"workers": 5}}, "default")
    await world.sleep(10)
    await serve(world, new, 4)
    await world.sleep(10)
    await world.member(old).start()
    await world.until(lambda: world.is_ready(old), 120)
    await world.sleep(120)
    assert world.assigned("nightly-crontab") == {new: 5}
    assert (await appears(world, new, CRON_TABS, "nightly", "default"))["status"] == {"readyReplicas": 4}


async def uncounted_copies(world: World) -> None:
    """Has copies run of which nobody says how much they serve."""
    without = dict.fromkeys(("healthInterpretation", "retention", "statusReflection", "statusAggregation"), "")
    await given_a_scripted_kind(world, **without)
    for member in ("member1", "member2"):
        await appears(world, member, CRON_TABS, "nightly", "default")
        told = {"status": {"phase": "Running"}}
        await world.member(member).client.patch(CRON_TABS, "nightly", told, "default", subresource="status")
    await world.sleep(30)
    assert [await health(world, member) for member in ("member1", "member2")] == [["Unknown"], ["Unknown"]]


async def workers(world: World) -> dict[str, int]:
    found = {name: await appears(world, name, CRON_TABS, "nightly", "default") for name in ("member1", "member2")}
    return {name: each["spec"]["workers"] for name, each in found.items()}


@in_world()
async def test_a_user_scales_down_copies_of_which_nobody_says_how_much_they_serve(world: World) -> None:
    await uncounted_copies(world)
    for asked in (5, 4, 2):
        await world.client.patch(CRON_TABS, "nightly", {"spec": {"workers": asked}}, "default")
        await world.sleep(60)
        assert await workers(world) == world.assigned("nightly-crontab")
        assert sum(world.assigned("nightly-crontab").values()) == asked


@in_world()
async def test_s1_a_copy_that_nobody_counts_keeps_its_replicas_while_another_cluster_cannot_be_seen(
    world: World,
) -> None:
    await uncounted_copies(world)
    see_again = blind(world, "member2")
    await world.until(lambda: not_observed(world, "member2") is not None, 60)
    await world.client.patch(CRON_TABS, "nightly", {"spec": {"workers": 3}}, "default")
    await world.sleep(60)
    assert world.assigned("nightly-crontab") == {"member1": 2, "member2": 1}
    there = await appears(world, "member1", CRON_TABS, "nightly", "default")
    assert there["spec"]["workers"] == 4
    see_again()
    await world.until(lambda: not_observed(world, "member2") is None, 60)
    await world.sleep(60)
    assert await workers(world) == world.assigned("nightly-crontab")


@in_world()
async def test_what_the_member_owns_is_kept_by_a_script(world: World) -> None:
    await given_a_scripted_kind(world)
    there = world.member("member1").client
    await appears(world, "member1", CRON_TABS, "nightly", "default")
    await there.patch(CRON_TABS, "nightly", {"spec": {"node": "node-7"}}, "default")
    await world.client.patch(CRON_TABS, "nightly", {"spec": {"workers": 9}}, "default")
    await world.sleep(10)
    spec = (await there.get(CRON_TABS, "nightly", "default"))["spec"]
    assert (spec["workers"], spec["node"]) == (6, "node-7")


@pytest.mark.long
@in_world()
async def test_s7_with_directly_no_scripted_copy_grows_before_the_old_one_is_gone(world: World) -> None:
    await given_a_scripted_kind(world)
    directly: Manifest = {"spec": {"failover": {"cluster": {"purgeMode": "Directly"}}}}
    await world.client.patch(POLICIES, "nightly", directly, "default")
    await appears(world, "member1", CRON_TABS, "nightly", "default")
    there = world.member("member2").client
    world.member("member1").pause()
    await world.until(lambda: world.assigned("nightly-crontab") == {"member2": 6}, 1_000)
    await world.sleep(1_500)
    assert (await there.get(CRON_TABS, "nightly", "default"))["spec"]["workers"] == 2
    world.member("member1").resume()
    await world.sleep(120)
    assert (await there.get(CRON_TABS, "nightly", "default"))["spec"]["workers"] == 6


@in_world()
async def test_an_endless_script_is_unknown_and_holds_up_no_other_object(world: World) -> None:
    await given_a_scripted_kind(world, healthInterpretation=ENDLESS)
    await apply(world.client, deployment("web", 2), policy("web", by_weight({"member1": 1, "member2": 1})))
    await appears(world, "member1", CRON_TABS, "nightly", "default")
    await report(world, "member1", 4)
    await world.sleep(30)
    assert await health(world, "member1") == ["Unknown"]
    assert await ready_replicas(world, "member1", "web") == 1


@in_world()
async def test_a_script_that_counts_wrong_makes_no_binding_and_says_why(world: World) -> None:
    await given_a_scripted_kind(world, replicaResource="function GetReplicas(o) return 'many' end")
    await world.sleep(10)
    assert (await world.client.list(RESOURCE_BINDINGS, "default")).items == ()
    told = [event.message for event in (await world.client.list(EVENTS, "default")).items]
    assert any("GetReplicas must return a number" in message for message in told), told


@in_world()
async def test_what_is_no_text_of_lua_is_not_admitted(world: World) -> None:
    broken = {**CUSTOMIZATION["spec"], "customizations": {"retention": {"luaScript": "function Retain("}}}
    with pytest.raises(Invalid, match=r"spec\.customizations\.retention\.luaScript"):
        await world.client.create(RESOURCE_INTERPRETER_CUSTOMIZATIONS, {**CUSTOMIZATION, "spec": broken})


@in_world()
async def test_s1_a_copy_keeps_its_replicas_while_nobody_can_say_how_many_its_next_manifest_asks_for(
    world: World,
) -> None:
    """More is to move to member2, which does not serve it yet. The script cannot read manifests that are paused."""
    reads = "function GetReplicas(o) if o.spec.paused then error('paused') end return o.spec.workers end"
    await given_a_scripted_kind(world, **COUNTED, replicaResource=reads)
    await world.sleep(30)
    await serve(world, "member1", 4)
    await serve(world, "member2", 2)
    paused = overriding("nightly", {"name": "nightly"}, only("member1"), plaintext=replacing("/spec/paused", True))
    paused["spec"]["resourceSelectors"] = [{"apiVersion": "stable.example.com/v1", "kind": "CronTab"}]
    paused["spec"]["overrideRules"][0]["overriders"]["plaintext"][0]["operator"] = "add"
    await world.client.create(OVERRIDES, paused, "default")
    await world.sleep(10)
    evenly = by_weight({"member1": 1, "member2": 1})
    await world.client.patch(POLICIES, "nightly", {"spec": {"placement": evenly}}, "default")
    await world.sleep(30)
    assert world.assigned("nightly-crontab") == {"member1": 3, "member2": 3}
    assert await workers(world) == {"member1": 4, "member2": 3}
    await world.client.delete(OVERRIDES, "nightly", "default")
    await world.sleep(10)
    assert await workers(world) == {"member1": 4, "member2": 3}
    await serve(world, "member2", 3)
    await world.sleep(30)
    assert await workers(world) == {"member1": 3, "member2": 3}
