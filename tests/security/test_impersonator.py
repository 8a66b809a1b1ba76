"""Token of the impersonator: whoever has it may be the users of the proxy in that member, and nobody else.

The attacker has the token with which the cluster proxy speaks for users in one member: from a backup, from a Secret,
or from the proxy's own memory.

They say that they are an administrator there, in `system:masters`, a controller of kube-system, or somebody whom the
control plane has never heard of.

They must not get: an answer as anybody but those whom the control plane's RBAC names as users of that member's proxy.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

import pytest

from controller_runtime.events import EventRecorder
from kubeapi.core import EVENTS
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest, ObjectMeta
from kubeapi.transport import Request
from kubeclient import Client
from kubeserver.handler import User
from kubeserver.inprocess import InProcessTransport
from leeward.api.cluster import Cluster, ClusterSpec
from leeward.api.resource import CLUSTERS
from leeward.api.schema import custom_resource_definitions
from leeward.app.access import OURS, SPEAKING, grant_member_access
from leeward.app.local.errors import FleetError
from leeward.app.member_accounts import FIELD_MANAGER, accounts_of, open_account
from leeward.controllers.unified_auth.unified_auth import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, UnifiedAuthController
from leeward.manager.proxy_headers import headers_to_member
from leeward.manager.settings import ManagerSettings
from leeward.runtime.controller_context import ControlPlane, Member, Server
from leeward.runtime.metrics import Metrics
from leeward.sim.world import World
from tests.kubeserver.api_world import ApiWorld, api_world
from tests.transports import Deaf
from tests.world.stories import play

IMPERSONATOR = User(
    "system:serviceaccount:karmada-cluster:karmada-impersonator", ("system:serviceaccounts", "system:authenticated")
)
LOCAL = User("karmada-impersonator", ("karmada-impersonator", "system:authenticated"))
PROXY = {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/proxy"], "verbs": ["*"]}
SETTLED_SECONDS = 10.0


@dataclass
class Fleet:
    plane: ApiWorld
    member: ApiWorld
    speaker: User

    @property
    def admin(self) -> Client:
        return Client(self.plane.transport)

    async def bind(self, name: str, rule: Manifest, *subjects: tuple[str, str]) -> None:
        """ "kind", "name" of each; a service account is NAMESPACE/NAME."""
        await self.admin.create(CLUSTER_ROLES, {"metadata": {"name": name}, "rules": [rule]})
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        bound = {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject_of(*each) for each in subjects]}
        await self.admin.create(CLUSTER_ROLE_BINDINGS, bound)
        await asyncio.sleep(SETTLED_SECONDS)

    async def says_to_be(self, name: str, *groups: str) -> bool:
        """Tells whether the member believes whoever has the token, and says that they are so."""
        as_them = {"impersonate-user": name, **({"impersonate-group": "\n".join(groups)} if groups else {})}
        return await self._asks(as_them)

    async def goes_through(self, user: User) -> bool:
        """Tells whether the proxy gets this user through to the member."""
        return await self._asks(headers_to_member({}, user))

    async def _asks(self, headers: dict[str, str]) -> bool:
        transport = InProcessTransport(self.member.server, self.speaker)
        request = Request("GET", "/version", {}, {"accept": "application/json", **headers})
        answer = await transport.send(request, timeout_seconds=60)
        assert answer.code == 200 or b"cannot impersonate" in answer.body, answer
        return answer.code == 200


def subject_of(kind: str, name: str) -> Manifest:
    if kind == "ServiceAccount":
        namespace, _, name = name.partition("/")
        return {"kind": kind, "name": name, "namespace": namespace}
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}


Story = Callable[[Fleet], Awaitable[None]]


def tell(story: Story, speaker: User = IMPERSONATOR, *, runs: bool = True) -> None:
    async def play() -> None:
        clock = VirtualClock()
        async with AsyncExitStack() as stack:
            plane = await stack.enter_async_context(api_world(crds=custom_resource_definitions(), clock=clock))
            member = await stack.enter_async_context(api_world(seed=8, clock=clock))
            supervisor = await stack.enter_async_context(Supervisor("controllers"))
            await open_accounts(Client(member.transport))
            spec = ClusterSpec(sync_mode="Push", api_endpoint="https://member1.example")
            await Client(plane.transport).create(CLUSTERS, Cluster(metadata=ObjectMeta(name="member1"), spec=spec))
            control_plane = plane_of(plane, clock, supervisor)
            if runs:
                cut(control_plane, Client(member.transport), supervisor)
            await asyncio.sleep(SETTLED_SECONDS)
            await story(Fleet(plane, member, speaker))

    run_virtual(play())


async def open_accounts(member: Client) -> None:
    """Makes what `leeward join` makes there, and what a local member has of itself."""
    await member.create(
        CLUSTER_ROLES, {"metadata": {"name": "karmada-impersonator", "labels": OURS}, "rules": SPEAKING}
    )
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "karmada-impersonator"}
    account = subject_of("ServiceAccount", "karmada-cluster/karmada-impersonator")
    bound = {"metadata": {"name": "karmada-impersonator"}, "roleRef": reference, "subjects": [account]}
    await member.create(CLUSTER_ROLE_BINDINGS, bound)
    await grant_member_access(member)


def plane_of(world: ApiWorld, clock: VirtualClock, supervisor: Supervisor) -> ControlPlane:
    client, randomness = Client(world.transport), Randomness(7)
    events = EventRecorder(client, clock, randomness)
    supervisor.start(events.run(), "events")
    server = Server.of(client, randomness, supervisor)
    return ControlPlane(server, clock, randomness, Metrics(), events, supervisor)


def cut(plane: ControlPlane, member: Client, supervisor: Supervisor) -> None:
    server = Server.of(member, plane.randomness, supervisor)
    UnifiedAuthController(plane, Member("member1", server, supervisor)).start()


STRANGERS = (
    ("mallory",),
    ("admin", "system:masters"),
    ("system:admin", "system:masters"),
    ("system:serviceaccount:kube-system:generic-garbage-collector", "system:serviceaccounts"),
    ("jane", "system:masters"),
)


def test_without_the_controller_the_token_is_worth_everybody() -> None:
    async def story(fleet: Fleet) -> None:
        assert [await fleet.says_to_be(*stranger) for stranger in STRANGERS] == [True] * len(STRANGERS)

    tell(story, runs=False)


def test_the_token_is_worth_the_users_of_the_proxy_and_nobody_else() -> None:
    async def story(fleet: Fleet) -> None:
        await fleet.bind("proxy", PROXY, ("User", "jane"), ("Group", "dev"), ("ServiceAccount", "ci/deployer"))
        await fleet.bind("everything", {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, ("User", "root"))
        assert [await fleet.says_to_be(*stranger) for stranger in STRANGERS] == [False] * len(STRANGERS)
        assert not await fleet.says_to_be("root"), "who has everything is not thereby a user of the proxy"
        assert await fleet.goes_through(User("jane", ("system:authenticated",)))
        assert await fleet.goes_through(User("jane", ("dev", "system:authenticated")))
        account = "system:serviceaccount:ci:deployer"
        groups = ("system:serviceaccounts", "system:serviceaccounts:ci", "system:authenticated")
        assert await fleet.goes_through(User(account, groups))
        assert not await fleet.goes_through(User("jane", ("dev", "ops", "system:authenticated")))

    for speaker in (IMPERSONATOR, LOCAL):
        tell(story, speaker)


def test_who_loses_the_right_to_the_proxy_cannot_be_impersonated_any_more() -> None:
    async def story(fleet: Fleet) -> None:
        await fleet.bind("one", {**PROXY, "resourceNames": ["member1"]}, ("User", "jane"))
        await fleet.bind("other", {**PROXY, "resourceNames": ["member2"]}, ("User", "john"))
        assert (await fleet.says_to_be("jane"), await fleet.says_to_be("john")) == (True, False)
        await fleet.admin.patch(CLUSTER_ROLES, "one", {"rules": []})
        await asyncio.sleep(SETTLED_SECONDS)
        assert not await fleet.says_to_be("jane")

    tell(story)


def test_what_is_widened_in_the_member_is_cut_again_and_nothing_is_written_meanwhile() -> None:
    async def story(fleet: Fleet) -> None:
        await fleet.bind("proxy", PROXY, ("User", "jane"))
        member = Client(fleet.member.transport)
        before = await member.get(CLUSTER_ROLES, "karmada-impersonator")
        await fleet.bind("unrelated", {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}, ("User", "john"))
        await asyncio.sleep(1_800)
        assert await member.get(CLUSTER_ROLES, "karmada-impersonator") == before
        told = [e for e in (await fleet.admin.list(EVENTS)).items if e.reason == "SyncImpersonationConfigSucceed"]
        assert len(told) == 2, "once for nobody, and once for jane"
        await member.patch(CLUSTER_ROLES, "karmada-impersonator", {"rules": SPEAKING})
        assert await fleet.says_to_be("mallory")
        await asyncio.sleep(301)
        assert not await fleet.says_to_be("mallory")

    tell(story)


def test_roles_that_are_not_there_are_not_made() -> None:
    async def story(fleet: Fleet) -> None:
        member = Client(fleet.member.transport)
        await member.delete(CLUSTER_ROLES, "karmada-impersonator")
        await fleet.bind("proxy", PROXY, ("User", "jane"))
        roles = [role["metadata"]["name"] for role in (await member.list(CLUSTER_ROLES)).items]
        assert "karmada-impersonator" not in roles

    tell(story)


@pytest.mark.parametrize(
    ("labels", "is_ours"),
    [
        ({}, False),
        ({"app.kubernetes.io/managed-by": "Helm"}, False),
        ({"karmada.io/system": "false"}, False),
        ({"karmada.io/system": "true"}, True),
        ({"karmada.io/managed": "true"}, True),
    ],
)
def test_s6_a_role_of_somebody_else_is_left_as_it_is_and_that_is_said(labels: dict[str, str], *, is_ours: bool) -> None:
    """Somebody in the member has a role of that name, for purposes of their own."""

    async def story(fleet: Fleet) -> None:
        member = Client(fleet.member.transport)
        await member.delete(CLUSTER_ROLES, "karmada-impersonator")
        theirs = {"metadata": {"name": "karmada-impersonator", "labels": labels}, "rules": SPEAKING}
        made = await member.create(CLUSTER_ROLES, theirs)
        await fleet.bind("proxy", PROXY, ("User", "jane"))
        await asyncio.sleep(1_800)
        found = await member.get(CLUSTER_ROLES, "karmada-impersonator")
        assert (found["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]) is not is_ours
        assert (found["rules"] == SPEAKING) is not is_ours
        other = await member.get(CLUSTER_ROLES, "system:karmada:impersonator")
        assert other["rules"][0]["resourceNames"] == ["jane"], "what is ours is kept up beside it"
        told = [e for e in (await fleet.admin.list(EVENTS)).items if e.reason == "SyncImpersonationConfigFailed"]
        assert len(told) == (0 if is_ours else 2), "again once the other role was written"
        assert all("karmada-impersonator was not made by joining" in event.message for event in told)

    tell(story)


def test_joining_again_marks_the_role_that_an_earlier_version_made() -> None:
    async def story(fleet: Fleet) -> None:
        member = Client(fleet.member.transport)
        await member.delete(CLUSTER_ROLES, "karmada-impersonator")
        made = {"metadata": {"name": "karmada-impersonator"}, "rules": SPEAKING}
        await member.apply(CLUSTER_ROLES, made, field_manager=FIELD_MANAGER)
        await fleet.bind("proxy", PROXY, ("User", "jane"))
        assert await fleet.says_to_be("mallory")
        _, speaker = accounts_of("member1")
        with pytest.raises(FleetError, match="has put no token"):
            await open_account(member, speaker)
        await asyncio.sleep(301)
        assert not await fleet.says_to_be("mallory")

    tell(story)


def test_a_member_that_does_not_answer_holds_up_no_other() -> None:
    async def play() -> None:
        clock = VirtualClock()
        async with AsyncExitStack() as stack:
            plane = await stack.enter_async_context(api_world(crds=custom_resource_definitions(), clock=clock))
            member = await stack.enter_async_context(api_world(seed=8, clock=clock))
            supervisor = await stack.enter_async_context(Supervisor("controllers"))
            await open_accounts(Client(member.transport))
            for name in ("member0", "member1"):
                spec = ClusterSpec(sync_mode="Push", api_endpoint=f"https://{name}.example")
                await Client(plane.transport).create(CLUSTERS, Cluster(metadata=ObjectMeta(name=name), spec=spec))
            control_plane = plane_of(plane, clock, supervisor)
            deaf = Server.of(Client(Deaf(hangs=True)), control_plane.randomness, supervisor)
            UnifiedAuthController(control_plane, Member("member0", deaf, supervisor)).start()
            cut(control_plane, Client(member.transport), supervisor)
            await asyncio.sleep(SETTLED_SECONDS)
            assert not await Fleet(plane, member, IMPERSONATOR).says_to_be("mallory")

    run_virtual(play())


def test_every_push_member_is_cut_where_the_controller_is_asked_for_also_one_that_was_away() -> None:
    async def story(world: World) -> None:
        for member in world.members.values():
            await open_accounts(member.client)
        await world.member("member1").stop()
        await world.client.create(CLUSTER_ROLES, {"metadata": {"name": "proxy"}, "rules": [PROXY]})
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "proxy"}
        bound = {"metadata": {"name": "proxy"}, "roleRef": reference, "subjects": [subject_of("User", "jane")]}
        await world.client.create(CLUSTER_ROLE_BINDINGS, bound)
        await world.sleep(30)
        assert await named(world, "member2") == ["jane"]
        assert await named(world, "member3") is None, "a Pull member lets the control plane write nothing"
        await world.member("member1").start()
        await world.sleep(120)
        assert await named(world, "member1") == ["jane"]

    manager = ManagerSettings(controllers=replace(ManagerSettings().controllers, patterns=("*", "unifiedAuth")))
    play(story, manager=manager)


async def named(world: World, member: str) -> list[str] | None:
    """The users that the impersonator may be there; None for all."""
    (rule,) = (await world.member(member).client.get(CLUSTER_ROLES, "karmada-impersonator"))["rules"]
    return rule.get("resourceNames")
