"""Copies whose end was decided while their cluster was away, or which their member deletes: what is relied upon."""

import pytest

from kubeapi.core import PODS
from kubeapi.meta import Manifest
from leeward.api.meta import find_condition
from leeward.api.names import REMOVAL_BLOCKED_CONDITION, work_name
from leeward.api.resource import CLUSTERS, RESOURCE_INTERPRETER_CUSTOMIZATIONS
from leeward.sim.world import Mode, World
from tests.world.stories import (
    DEPLOYMENTS,
    POLICIES,
    apply,
    deployment,
    identities,
    in_world,
    play,
    policy,
    ready_replicas,
    tasks,
    with_room,
    without_room,
)
from tests.world.test_kinds import CRON_TAB_DEFINITION, CRON_TABS, DEFINITIONS
from tests.world.test_overrides import OVERRIDES, failure, only, overriding, replacing
from tests.world.test_restored import ONE_COPY, PULLED, PUSHED, WEB, moved, placed
from tests.world.test_scripted_kinds import CUSTOMIZATION, report

TWO: dict[str, Mode] = {"member1": "Push", "member2": "Push"}
NIGHTLY = "nightly-crontab"


@pytest.mark.parametrize("members", [PUSHED, PULLED], ids=["Push", "Pull"])
def test_s1_a_copy_that_was_away_stays_until_its_replacement_serves_again(members: dict[str, Mode]) -> None:
    """The replacement was healthy, and its cluster is well; when the old cluster is back it serves nothing."""

    async def story(world: World) -> None:
        old = await placed(world)
        new = await moved(world, old)
        await world.until(lambda: not tasks(world, WEB), 900)
        await world.sleep(60)
        before = await identities(world, "web", [new])
        await without_room(world, new)
        there = world.member(new).client
        for pod in (await there.list(PODS, "default")).items:
            await there.delete(PODS, pod.metadata.name, "default")
        await world.sleep(60)
        assert await ready_replicas(world, new, "web") == 0
        await world.member(old).start()
        for _ in range(180):
            await world.sleep(1)
            assert await ready_replicas(world, old, "web") == 3
        binding = world.binding(WEB)
        assert binding is not None
        blocked = find_condition(binding.status.conditions, REMOVAL_BLOCKED_CONDITION)
        assert blocked is not None
        assert blocked.reason == "ReplacementLost"
        await with_room(world, new)
        await world.sleep(60)
        assert await ready_replicas(world, new, "web") == 3
        assert await ready_replicas(world, old, "web") == -1
        assert await identities(world, "web", [new]) == before

    play(story, members)


async def tainted(world: World, name: str, *, evicts: bool) -> None:
    taints = [{"key": "maintenance", "effect": "NoExecute"}]
    await world.client.patch(CLUSTERS, name, {"spec": {"taints": taints if evicts else None}})


async def one_judged_copy(world: World) -> str:
    """Cluster of a custom resource of which a script says that it is healthy when it is done."""
    healthy = "function InterpretHealth(o) return o.status ~= nil and o.status.done == 1 end"
    scripts: Manifest = {"healthInterpretation": {"luaScript": healthy}}
    spec = {**CUSTOMIZATION["spec"], "customizations": scripts}
    await world.client.create(RESOURCE_INTERPRETER_CUSTOMIZATIONS, {**CUSTOMIZATION, "spec": spec})
    for client in (world.client, *(member.client for member in world.members.values())):
        await client.create(DEFINITIONS, CRON_TAB_DEFINITION)
    await world.sleep(60)
    await world.client.create(CRON_TABS, {"metadata": {"name": "nightly"}, "spec": {}}, "default")
    await apply(world.client, policy("nightly", ONE_COPY, "CronTab", CRON_TABS.api_version))
    await world.until(lambda: len(world.assigned(NIGHTLY)) == 1, 60)
    (name,) = world.assigned(NIGHTLY)
    await world.sleep(20)
    await report(world, name, 1)
    return name


@in_world(TWO)
async def test_s1_what_its_member_deletes_is_no_replacement_though_it_says_that_it_is_healthy(world: World) -> None:
    """The copy in `first` waits for a finalizer when the application is to be there again."""
    first = await one_judged_copy(world)
    (second,) = set(TWO) - {first}
    there = world.member(first).client
    finalizers: Manifest = {"metadata": {"finalizers": ["operator.example.com/backup"]}}
    await there.patch(CRON_TABS, "nightly", finalizers, "default")
    await tainted(world, first, evicts=True)
    await world.until(lambda: list(world.assigned(NIGHTLY)) == [second], 60)
    await world.sleep(20)
    await report(world, second, 1)
    await world.until(lambda: not tasks(world, NIGHTLY), 60)
    await world.sleep(20)
    assert "deletionTimestamp" in (await there.get(CRON_TABS, "nightly", "default"))["metadata"]
    before = await identities(world, "nightly", [second], CRON_TABS)
    await tainted(world, first, evicts=False)
    await tainted(world, second, evicts=True)
    await world.until(lambda: list(world.assigned(NIGHTLY)) == [first], 60)
    await world.sleep(60)
    assert await identities(world, "nightly", [second], CRON_TABS) == before
    await there.patch(CRON_TABS, "nightly", {"metadata": {"finalizers": None}}, "default")
    await world.sleep(20)
    assert await identities(world, "nightly", [second], CRON_TABS) == before, "its successor is not done yet"
    await report(world, first, 1)
    await world.sleep(20)
    assert set(await identities(world, "nightly", resource=CRON_TABS)) == {first}


def tolerated(*names: str) -> Manifest:
    tolerations = [{"key": f"cluster.karmada.io/{key}", "operator": "Exists"} for key in ("not-ready", "unreachable")]
    return {"clusterAffinity": {"clusterNames": list(names)}, "clusterTolerations": tolerations}


async def patch_policy(world: World, **spec: object) -> None:
    await world.client.patch(POLICIES, "web", {"spec": spec}, "default")


def unrenderable() -> Manifest:
    return overriding("ours", {"name": "web"}, only("member1"), plaintext=replacing("/spec/nothing/there", 1))


@in_world(TWO)
async def test_s14_a_copy_that_is_wanted_again_and_cannot_be_rendered_stays_as_it_was(world: World) -> None:
    """A copy was to leave while its cluster was away, and is to stay by now; then an override policy breaks."""
    await apply(world.client, deployment("web", 2), policy("web", tolerated("member1")))
    await world.sleep(60)
    before = await identities(world, "web", ["member1"])
    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"), 120)
    await patch_policy(world, placement=tolerated("member2"))
    await world.sleep(60)
    await world.client.create(OVERRIDES, unrenderable(), "default")
    await patch_policy(world, placement=tolerated("member1"))
    await world.sleep(30)
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"), 120)
    await world.sleep(60)
    assert failure(world).startswith("Left as it is in member1: ")
    assert await identities(world, "web", ["member1"]) == before
    await world.client.delete(OVERRIDES, "ours", "default")
    await world.sleep(60)
    work = world.work("member1", work_name("Deployment", "web", "default"))
    assert work is not None
    assert work.metadata.deletion_timestamp is None
    assert await identities(world, "web", ["member1"]) == before


async def uids(world: World, member: str) -> dict[str, str]:
    """Uid of `web` in the member, where it is."""
    return {name: uid for name, (uid, _) in (await identities(world, "web", [member])).items()}


@pytest.mark.parametrize("is_back", [False, True], ids=["its cluster is tainted", "its cluster was away"])
@in_world(PUSHED)
async def test_s1_what_is_preserved_stays_where_it_serves_in_the_middle_of_an_eviction(
    world: World, *, is_back: bool
) -> None:
    """A replacement has no room when the template is given up."""
    made = policy("web", ONE_COPY)
    made["spec"]["preserveResourcesOnDeletion"] = True
    await apply(world.client, deployment("web", 3), made)
    await world.until(lambda: len(world.assigned(WEB)) == 1, 60)
    await world.sleep(60)
    (old,) = world.assigned(WEB)
    before = await uids(world, old)
    for name in set(PUSHED) - {old}:
        await without_room(world, name)
    await (world.member(old).stop() if is_back else tainted(world, old, evicts=True))
    await world.until(lambda: old not in world.assigned(WEB), 900)
    await world.sleep(30)
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.sleep(20)
    if is_back:
        await world.member(old).start()
    await world.sleep(60)
    assert await uids(world, old) == before
    assert await ready_replicas(world, old, "web") == 3


@in_world(TWO)
async def test_what_is_preserved_stays_though_it_could_not_be_rendered_since_that_was_asked_for(world: World) -> None:
    await apply(world.client, deployment("web", 3), policy("web", tolerated("member1")))
    await world.sleep(60)
    before = await uids(world, "member1")
    await world.client.create(OVERRIDES, unrenderable(), "default")
    await world.sleep(10)
    await patch_policy(world, preserveResourcesOnDeletion=True)
    await world.sleep(10)
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.sleep(60)
    assert await uids(world, "member1") == before
