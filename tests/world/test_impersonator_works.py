"""Users for whom the cluster proxy may speak in a Pull member: Works tell it there, and nothing else."""

from dataclasses import replace

import pytest

from kubeapi.meta import Manifest
from leeward.api.names import RENDERED_ANNOTATION, SYSTEM_LABEL, execution_space
from leeward.api.resource import CLUSTERS, EVENTS, WORKS
from leeward.client import NotFound
from leeward.controllers.unified_auth import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from leeward.core.impersonation import IMPERSONATOR
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import World
from tests.world.stories import play

SPACE = execution_space("member3")
REFERENCE: Manifest = {"namespace": SPACE, "name": "member3-impersonator"}
SETTLED = 15
ASKED_FOR = ManagerSettings(controllers=replace(ManagerSettings().controllers, patterns=("*", "unifiedAuth")))


async def may_use_proxies(world: World, *users: str) -> None:
    """Gives these users, and nobody else any more, the right to the proxies of all members."""
    rule = {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/proxy"], "verbs": ["*"]}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "users"}
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name} for name in users]
    role: Manifest = {"metadata": {"name": "users"}, "rules": [rule]}
    binding: Manifest = {"metadata": {"name": "users"}, "roleRef": reference, "subjects": subjects}
    for resource, manifest in ((CLUSTER_ROLES, role), (CLUSTER_ROLE_BINDINGS, binding)):
        await world.client.apply(resource, manifest, field_manager="test")
    await world.sleep(SETTLED)


async def is_reached(world: World, reference: Manifest | None = REFERENCE) -> None:
    await world.client.patch(CLUSTERS, "member3", {"spec": {"impersonatorSecretRef": reference}})
    await world.sleep(SETTLED)


async def spoken_for(world: World) -> list[str] | None:
    """Users whom the impersonator may be in the member; None where there is no such role."""
    try:
        role = await world.member("member3").client.get(CLUSTER_ROLES, IMPERSONATOR)
    except NotFound:
        return None
    rules: list[Manifest] = role["rules"] or []
    return [name for rule in rules for name in rule.get("resourceNames", ["everybody"])]


async def own_works(world: World) -> list[str]:
    works = (await world.client.list(WORKS, SPACE)).items
    return sorted(work.spec.workload.manifests[0]["kind"] for work in works if IMPERSONATOR in work.name)


@pytest.mark.long
def test_the_users_of_the_proxy_are_told_to_a_pull_member_and_follow_their_rights() -> None:
    async def story(world: World) -> None:
        await may_use_proxies(world, "jane")
        assert await spoken_for(world) is None
        await is_reached(world)
        assert await spoken_for(world) == ["jane"]
        member = world.member("member3").client
        bound = await member.get(CLUSTER_ROLE_BINDINGS, IMPERSONATOR)
        assert bound["roleRef"]["name"] == IMPERSONATOR
        account = {"kind": "ServiceAccount", "name": IMPERSONATOR, "namespace": "karmada-cluster"}
        assert bound["subjects"] == [account]
        await may_use_proxies(world, "jane", "john")
        assert await spoken_for(world) == ["jane", "john"]
        everybody = [{"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]}]
        await member.patch(CLUSTER_ROLES, IMPERSONATOR, {"rules": everybody})
        await world.sleep(SETTLED)
        assert await spoken_for(world) == ["jane", "john"]
        await world.client.delete(WORKS, (await world.client.list(WORKS, SPACE)).items[0].name, SPACE)
        await world.sleep(SETTLED)
        assert await own_works(world) == ["ClusterRole", "ClusterRoleBinding"]
        before = {work.name: work.metadata.generation for work in (await world.client.list(WORKS, SPACE)).items}
        await world.sleep(1_800)
        after = {work.name: work.metadata.generation for work in (await world.client.list(WORKS, SPACE)).items}
        assert after == before, "L5"

    play(story, manager=ASKED_FOR)


def test_what_was_made_for_the_proxy_goes_when_the_member_is_not_reached_any_more() -> None:
    async def story(world: World) -> None:
        await may_use_proxies(world, "jane")
        await is_reached(world)
        assert await spoken_for(world) == ["jane"]
        await is_reached(world, None)
        assert await spoken_for(world) is None
        assert await own_works(world) == []

    play(story, manager=ASKED_FOR)


def test_l5_an_impersonator_of_nobody_is_written_once() -> None:
    async def story(world: World) -> None:
        await is_reached(world)
        assert await spoken_for(world) == []
        member = world.member("member3").client
        version = (await member.get(CLUSTER_ROLES, IMPERSONATOR))["metadata"]["resourceVersion"]
        await world.sleep(900)
        assert (await member.get(CLUSTER_ROLES, IMPERSONATOR))["metadata"]["resourceVersion"] == version

    play(story, manager=ASKED_FOR)


def test_s6_a_role_of_somebody_else_stays_as_it_is_and_is_told_of() -> None:
    async def story(world: World) -> None:
        member = world.member("member3").client
        foreign: Manifest = {"metadata": {"name": IMPERSONATOR}, "rules": []}
        uid = (await member.create(CLUSTER_ROLES, foreign))["metadata"]["uid"]
        await may_use_proxies(world, "jane")
        await is_reached(world)
        found = await member.get(CLUSTER_ROLES, IMPERSONATOR)
        assert (found["metadata"]["uid"], found["rules"] or []) == (uid, [])
        told = [event.message for event in (await world.client.list(EVENTS, SPACE)).items]
        assert any("is not managed by this Work" in message for message in told), told

    play(story, manager=ASKED_FOR)


async def switched_from_karmada(world: World, cluster: str) -> None:
    """The Works are as Karmada makes them: they belong to the Cluster, and carry no label of ours."""
    uid = (await world.client.get(CLUSTERS, cluster)).metadata.uid
    owner = {"apiVersion": CLUSTERS.api_version, "kind": "Cluster", "name": cluster, "uid": uid, "controller": True}
    for work in (await world.client.list(WORKS, SPACE)).items:
        metadata = {"labels": {SYSTEM_LABEL: None}, "ownerReferences": [owner]}
        metadata |= {"annotations": {RENDERED_ANNOTATION: None}}
        await world.client.patch(WORKS, work.name, {"metadata": metadata}, SPACE)


async def versions(world: World) -> dict[str, str]:
    works = (await world.client.list(WORKS, SPACE)).items
    return {work.name: work.metadata.resource_version for work in works}


def test_the_works_of_a_karmada_are_left_as_they_are_until_other_users_have_the_right() -> None:
    async def story(world: World) -> None:
        await may_use_proxies(world, "jane")
        await is_reached(world)
        member = world.member("member3").client
        uid = (await member.get(CLUSTER_ROLES, IMPERSONATOR))["metadata"]["uid"]
        await switched_from_karmada(world, "member3")
        before = await versions(world)
        await may_use_proxies(world, "jane")
        await is_reached(world, None)
        await is_reached(world)
        assert await versions(world) == before, "nothing is written, and nothing deleted"
        await may_use_proxies(world, "john")
        assert await spoken_for(world) == ["john"]
        assert (await member.get(CLUSTER_ROLES, IMPERSONATOR))["metadata"]["uid"] == uid
        marked = [RENDERED_ANNOTATION in w.metadata.annotations for w in (await world.client.list(WORKS, SPACE)).items]
        assert sorted(marked) == [False, True], "the binding of the role says the same as before"

    play(story, manager=ASKED_FOR)


def test_s6_the_works_of_another_cluster_of_that_name_stay_somebody_elses() -> None:
    async def story(world: World) -> None:
        await may_use_proxies(world, "jane")
        await is_reached(world)
        await switched_from_karmada(world, "member1")
        before = await versions(world)
        await may_use_proxies(world, "john")
        assert (await versions(world), await spoken_for(world)) == (before, ["jane"])

    play(story, manager=ASKED_FOR)


def test_nothing_is_told_to_a_pull_member_where_the_controller_does_not_run() -> None:
    async def story(world: World) -> None:
        await may_use_proxies(world, "jane")
        await is_reached(world)
        assert await own_works(world) == []

    play(story)
