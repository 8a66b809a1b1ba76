"""Users for whom the cluster proxy may speak in a member that has no role of its own for that: Works tell it there."""

from dataclasses import replace

import pytest

from kubeapi.core import EVENTS
from kubeapi.meta import Manifest
from kubeapi.transport import Request
from kubeclient import NotFound
from kubecluster.network import LinkedTransport
from kubeserver.handler import User
from leeward.api.names import IMPERSONATOR_ROLE_ANNOTATION, RENDERED_ANNOTATION, SYSTEM_LABEL, execution_space
from leeward.api.resource import CLUSTERS, WORKS
from leeward.app.config import SPEAKER_ACCESS
from leeward.controllers.unified_auth.unified_auth import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from leeward.core.impersonation import EVERYBODY, IMPERSONATOR
from leeward.manager.proxy_headers import headers_to_member
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import World
from tests.world.stories import in_world, play

SPACE = execution_space("member3")
REFERENCE: Manifest = {"namespace": SPACE, "name": "member3-impersonator"}
ACCOUNT: Manifest = {"kind": "ServiceAccount", "name": IMPERSONATOR, "namespace": "karmada-cluster"}
SPEAKER = User("system:serviceaccount:karmada-cluster:karmada-impersonator", ("system:authenticated",))
ADMIN = User("system:admin", ("system:masters", "system:authenticated"))
BY_GROUP = User("jane", ("ops", "dev", "system:authenticated"))
SUCCEEDED = "SyncImpersonationConfigSucceed"
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


async def is_reached(world: World, reference: Manifest | None = REFERENCE, name: str = "member3") -> None:
    await world.client.patch(CLUSTERS, name, {"spec": {"impersonatorSecretRef": reference}})
    await world.sleep(SETTLED)


async def spoken_for(world: World, name: str = "member3") -> list[str] | None:
    """Users whom the impersonator may be in the member; None where there is no such role."""
    try:
        role = await world.member(name).client.get(CLUSTER_ROLES, IMPERSONATOR)
    except NotFound:
        return None
    rules: list[Manifest] = role["rules"] or []
    return [name for rule in rules for name in rule.get("resourceNames", ["everybody"])]


async def own_works(world: World, name: str = "member3") -> list[str]:
    works = (await world.client.list(WORKS, execution_space(name))).items
    return sorted(work.spec.workload.manifests[0]["kind"] for work in works if IMPERSONATOR in work.name)


@pytest.mark.long
@in_world(manager=ASKED_FOR)
async def test_the_users_of_the_proxy_are_told_to_a_pull_member_and_follow_their_rights(world: World) -> None:
    await may_use_proxies(world, "jane")
    assert await spoken_for(world) is None
    await is_reached(world)
    assert await spoken_for(world) == ["jane"]
    member = world.member("member3").client
    bound = await member.get(CLUSTER_ROLE_BINDINGS, IMPERSONATOR)
    assert bound["roleRef"]["name"] == IMPERSONATOR
    assert bound["subjects"] == [ACCOUNT]
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


@in_world(manager=ASKED_FOR)
async def test_what_was_made_for_the_proxy_goes_when_the_member_is_not_reached_any_more(world: World) -> None:
    await may_use_proxies(world, "jane")
    await is_reached(world)
    assert await spoken_for(world) == ["jane"]
    await is_reached(world, None)
    assert await spoken_for(world) is None
    assert await own_works(world) == []


@in_world(manager=ASKED_FOR)
async def test_l5_an_impersonator_of_nobody_is_written_once(world: World) -> None:
    await is_reached(world)
    assert await spoken_for(world) == []
    member = world.member("member3").client
    version = (await member.get(CLUSTER_ROLES, IMPERSONATOR))["metadata"]["resourceVersion"]
    await world.sleep(900)
    assert (await member.get(CLUSTER_ROLES, IMPERSONATOR))["metadata"]["resourceVersion"] == version


@in_world(manager=ASKED_FOR)
async def test_s6_a_role_of_somebody_else_stays_as_it_is_and_is_told_of(world: World) -> None:
    member = world.member("member3").client
    foreign: Manifest = {"metadata": {"name": IMPERSONATOR}, "rules": []}
    uid = (await member.create(CLUSTER_ROLES, foreign))["metadata"]["uid"]
    await may_use_proxies(world, "jane")
    await is_reached(world)
    found = await member.get(CLUSTER_ROLES, IMPERSONATOR)
    assert (found["metadata"]["uid"], found["rules"] or []) == (uid, [])
    told = [event.message for event in (await world.client.list(EVENTS, SPACE)).items]
    assert any("is not managed by this Work" in message for message in told), told


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


@in_world(manager=ASKED_FOR)
async def test_the_works_of_a_karmada_are_left_as_they_are_until_other_users_have_the_right(world: World) -> None:
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


@in_world()
async def test_the_works_of_a_karmada_are_not_opened_by_default(world: World) -> None:
    """A switch writes no object of a member; and what names users there was not narrowed by us to be widened by us."""
    await is_reached(world)
    await switched_from_karmada(world, "member3")
    named: Manifest = {"rules": [{**EVERYBODY[0], "resourceNames": ["system:admin"]}]}
    (work,) = (
        w
        for w in (await world.client.list(WORKS, SPACE)).items
        if w.spec.workload.manifests[0]["kind"] == "ClusterRole"
    )
    manifest = {**work.spec.workload.manifests[0], **named}
    await world.client.patch(WORKS, work.name, {"spec": {"workload": {"manifests": [manifest]}}}, SPACE)
    await world.sleep(SETTLED)
    before = await versions(world)
    await is_reached(world, None)
    await is_reached(world)
    assert await versions(world) == before
    assert await spoken_for(world) == ["system:admin"]


@in_world(manager=ASKED_FOR)
async def test_s6_the_works_of_another_cluster_of_that_name_stay_somebody_elses(world: World) -> None:
    await may_use_proxies(world, "jane")
    await is_reached(world)
    await switched_from_karmada(world, "member1")
    before = await versions(world)
    await may_use_proxies(world, "john")
    assert (await versions(world), await spoken_for(world)) == (before, ["jane"])


@in_world()
async def test_a_member_that_karmadactl_has_joined_is_told_by_default_of_everybody_push_and_pull(world: World) -> None:
    """`karmadactl join` and Karmada's agent make the account, and no role: `system:masters` may be spoken for, too."""
    for name in ("member1", "member3"):
        await is_reached(world, {"namespace": "karmada-cluster", "name": f"{name}-impersonator"}, name)
        role = await world.member(name).client.get(CLUSTER_ROLES, IMPERSONATOR)
        assert role["rules"] == EVERYBODY
        bound = await world.member(name).client.get(CLUSTER_ROLE_BINDINGS, IMPERSONATOR)
        assert bound["subjects"] == [ACCOUNT]
        assert await own_works(world, name) == ["ClusterRole", "ClusterRoleBinding"]
    told = [event for event in (await world.client.list(EVENTS)).items if event.reason == SUCCEEDED]
    assert sorted(event.involved_object.name for event in told) == ["member1", "member3"]
    await world.client.delete(CLUSTERS, "member1")
    await world.sleep(60)
    with pytest.raises(NotFound):
        await world.member("member1").client.get(CLUSTER_ROLES, IMPERSONATOR)


async def answers_to(world: World, member: str, user: User) -> int:
    """The member's answer to what the cluster proxy asks for this user, with the impersonator's token."""
    transport = LinkedTransport(world.member(member).place, SPEAKER)
    headers = {"accept": "application/json", **headers_to_member({}, user)}
    return (await transport.send(Request("GET", "/version", {}, headers), timeout_seconds=10)).code


@in_world()
async def test_an_administrator_reaches_a_member_that_karmadactl_has_joined_push_and_pull(world: World) -> None:
    for name in ("member1", "member3"):
        assert await answers_to(world, name, ADMIN) == 403
        await is_reached(world, {"namespace": "karmada-cluster", "name": f"{name}-impersonator"}, name)
        assert await answers_to(world, name, ADMIN) == 200
        assert await answers_to(world, name, BY_GROUP) == 200, "who has the right by a group is named nowhere"


@in_world()
async def test_the_account_is_where_karmadactl_has_made_it(world: World) -> None:
    """`karmadactl join --cluster-namespace` names that of the Secret, and that of the account."""
    await is_reached(world, {"namespace": "clusters", "name": "member1-impersonator"}, "member1")
    bound = await world.member("member1").client.get(CLUSTER_ROLE_BINDINGS, IMPERSONATOR)
    assert bound["subjects"] == [{**ACCOUNT, "namespace": "clusters"}]


@in_world()
async def test_a_local_member_that_karmadactl_has_joined_is_told_of_everybody(world: World) -> None:
    """The role that a local member has is for the fleet that it is of, and not for an account that joining made."""
    member = world.member("member1").client
    own: Manifest = {"metadata": {"name": SPEAKER_ACCESS, "labels": {SYSTEM_LABEL: "true"}}, "rules": EVERYBODY}
    await member.create(CLUSTER_ROLES, own)
    await is_reached(world, {"namespace": "karmada-cluster", "name": "member1-impersonator"}, "member1")
    assert (await member.get(CLUSTER_ROLE_BINDINGS, IMPERSONATOR))["subjects"] == [ACCOUNT]
    assert await answers_to(world, "member1", ADMIN) == 200


@pytest.mark.parametrize("labels", [{SYSTEM_LABEL: "true"}, {}])
@in_world()
async def test_s6_a_role_that_is_there_in_a_push_member_stays_as_its_administrator_has_it(
    world: World, labels: dict[str, str]
) -> None:
    """`leeward join` has made it, and somebody there has cut it down; or it is somebody else's."""
    member = world.member("member1").client
    rules = [{"apiGroups": [""], "resources": ["users"], "resourceNames": ["jane"], "verbs": ["impersonate"]}]
    made = await member.create(CLUSTER_ROLES, {"metadata": {"name": IMPERSONATOR, "labels": labels}, "rules": rules})
    await is_reached(world, REFERENCE, "member1")
    await world.sleep(900)
    assert await member.get(CLUSTER_ROLES, IMPERSONATOR) == made
    assert await own_works(world, "member1") == []


async def times_told(world: World, name: str) -> int:
    events = (await world.client.list(EVENTS)).items
    return sum(e.count for e in events if (e.reason, e.involved_object.name) == (SUCCEEDED, name))


@pytest.mark.parametrize("name", ["member1", "member3"])
@in_world()
async def test_a_member_that_gives_its_impersonator_the_rights_itself_gets_no_works_and_is_told_of(
    world: World, name: str
) -> None:
    """Local members do, as the annotation of their Cluster says. As in Karmada, a new right to the proxy is told."""
    annotations = {IMPERSONATOR_ROLE_ANNOTATION: SPEAKER_ACCESS}
    await world.client.patch(CLUSTERS, name, {"metadata": {"annotations": annotations}})
    assert await times_told(world, name) == 0
    await is_reached(world, REFERENCE, name)
    assert await times_told(world, name) == 1
    await may_use_proxies(world, "jane")
    assert await times_told(world, name) == 2
    await may_use_proxies(world, "jane", "john")
    assert await times_told(world, name) == 3
    await world.client.patch(CLUSTER_ROLES, "users", {"metadata": {"labels": {"a": "b"}}})
    await world.sleep(900)
    assert await times_told(world, name) == 3, "nobody else may use it"
    assert await own_works(world, name) == []


@in_world()
async def test_the_role_that_joining_has_made_is_told_of(world: World) -> None:
    labels = {SYSTEM_LABEL: "true"}
    role: Manifest = {"metadata": {"name": IMPERSONATOR, "labels": labels}, "rules": EVERYBODY}
    await world.member("member1").client.create(CLUSTER_ROLES, role)
    await is_reached(world, REFERENCE, "member1")
    assert await times_told(world, "member1") == 1
    await may_use_proxies(world, "jane")
    assert await times_told(world, "member1") == 2


def test_nothing_is_made_where_no_secret_is_named_or_the_controller_is_switched_off() -> None:
    async def unnamed(world: World) -> None:
        await is_reached(world, None)
        assert await own_works(world) == []

    async def switched_off(world: World) -> None:
        await is_reached(world)
        assert await own_works(world) == []

    play(unnamed)
    off = ManagerSettings(controllers=replace(ManagerSettings().controllers, patterns=("*", "-unifiedAuth")))
    play(switched_off, manager=off)


@in_world(manager=ASKED_FOR)
async def test_a_push_member_without_a_role_is_told_of_the_users_of_its_proxy_alone_where_that_is_asked_for(
    world: World,
) -> None:
    await may_use_proxies(world, "jane")
    await is_reached(world, REFERENCE, "member1")
    assert await spoken_for(world, "member1") == ["jane"]
    await may_use_proxies(world, "john")
    assert await spoken_for(world, "member1") == ["john"]
