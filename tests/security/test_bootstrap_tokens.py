"""A bootstrap token makes one new agent, and not any.

The attacker has a bootstrap token: one that was given to them for a cluster of theirs, one that leaked from a script,
or one that Karmada's own tools made. With it they may create CertificateSigningRequests, and nothing else.

They ask for the identity of the agent of another cluster, of one that has joined already (its Works, its status, the
Secrets of its execution space), of Karmada's `rbac-generator`, which may write any RBAC object, or of names and groups
that no agent has; they use the token again and again, twice at once, and after its end.

They must not get: an approved request for anything but the agent of one cluster that had not joined. Told twice: of the
embedded API server, which approves by itself, and of the controller that approves on a real kube-apiserver.
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

import pytest

from controller_runtime.events import EventRecorder
from kubeapi.certificate_requests import Subject, make_request
from kubeapi.core import EVENTS, NAMESPACES, SECRETS, Namespace
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest, ObjectMeta
from kubeapi.resource import Resource
from kubeclient import Client
from kubeclient.connection import Connection
from kubeserver.handler import User
from kubeserver.inprocess import InProcessTransport
from leeward.api.cluster import Cluster, ClusterSpec
from leeward.api.names import AGENT_GROUP, AGENT_MADE_ANNOTATION, AGENT_USER_PREFIX
from leeward.api.resource import CLUSTERS
from leeward.api.schema import custom_resource_definitions
from leeward.app.bootstrap_tokens import BootstrapToken, create_token, list_tokens
from leeward.app.local.errors import FleetError
from leeward.app.registering import obtain_certificate
from leeward.controllers.agents.agent_certificates import REQUESTS, AgentCertificateController
from leeward.controllers.agents.agent_roles import roles_of_agent
from leeward.controllers.agents.approved_agents import ApprovedAgentController
from leeward.core.registration import SIGNER, USAGES
from leeward.manager.agents import AGENT_ACCESS, approve_agents
from leeward.runtime.controller_context import ControlPlane, Server
from leeward.runtime.metrics import Metrics
from tests.certificates import client_authority
from tests.kubeserver.api_world import ApiWorld, api_world

Mode = Literal["Push", "Pull"]
LOOKED_AT_SECONDS = 10.0
UNTYPED_SECRETS: Resource[Manifest] = Resource.of_manifests("v1", "secrets", "Secret", True)


@dataclass
class Desk:
    """A control plane that approves, and who asks it."""

    world: ApiWorld
    clock: VirtualClock

    @property
    def admin(self) -> Client:
        return Client(self.world.transport)

    async def token(self, cluster: str = "", *, single_use: bool = False) -> BootstrapToken:
        ends = self.clock.now() + timedelta(hours=1)
        return await create_token(self.admin, ends, "", cluster, single_use=single_use)

    def known(self, token: BootstrapToken) -> User | None:
        return self.world.server.authenticator.known_user(str(token))

    def client(self, token: BootstrapToken) -> Client:
        user = self.known(token)
        assert user is not None
        return Client(InProcessTransport(self.world.server, user))

    async def ask(self, token: BootstrapToken, cluster: str, group: str = AGENT_GROUP) -> str:
        """Outcome of a request for the identity of the agent of `cluster`: Approved, Denied: why, or waits."""
        return await self.ask_as(self.client(token), cluster, group)

    async def ask_as(self, client: Client, cluster: str, group: str = AGENT_GROUP) -> str:
        """Outcome of a request by a client whose token may have gone meanwhile."""
        name = await self.send(client, make_request(Subject(AGENT_USER_PREFIX + cluster, (group,))).request)
        await asyncio.sleep(LOOKED_AT_SECONDS)
        return await self.verdict(name)

    async def ask_at_once(self, token: BootstrapToken, *wanted: tuple[str, ...]) -> list[str]:
        requests = [
            make_request(Subject(user, groups)).request for user, *groups_ in wanted for groups in [tuple(groups_)]
        ]
        client = self.client(token)
        names = [await self.send(client, request) for request in requests]
        await asyncio.sleep(LOOKED_AT_SECONDS)
        return [await self.verdict(name) for name in names]

    async def send(self, client: Client, request: bytes) -> str:
        spec = {"signerName": SIGNER, "request": base64.b64encode(request).decode(), "usages": list(USAGES)}
        made = await client.create(REQUESTS, {"metadata": {"generateName": "agent-"}, "spec": spec})
        return made["metadata"]["name"]

    async def requests(self) -> list[str]:
        return [request["metadata"]["name"] for request in (await self.admin.list(REQUESTS)).items]

    async def verdict(self, name: str) -> str:
        status: Any = (await self.admin.get(REQUESTS, name)).get("status") or {}
        conditions: list[Any] = status.get("conditions") or []
        assert bool(status.get("certificate")) <= ([each["type"] for each in conditions] == ["Approved"])
        said = [each["type"] + (f": {each['message']}" if each["type"] == "Denied" else "") for each in conditions]
        return said[0] if said else "waits"

    async def join(self, name: str, mode: Mode = "Push") -> None:
        spec = ClusterSpec(sync_mode=mode, api_endpoint="https://member.example")
        await self.admin.create(CLUSTERS, Cluster(metadata=ObjectMeta(name=name), spec=spec))


Story = Callable[[Desk], Awaitable[None]]


async def play(story: Story, approver: str) -> None:
    clock = VirtualClock()
    async with (
        api_world(crds=custom_resource_definitions(), clock=clock, objects=AGENT_ACCESS) as world,
        Supervisor("approver") as supervisor,
    ):
        if approver == "server":
            supervisor.start(world.server.certificate_signer(*client_authority(), approve_agents).run(), "signer")
        else:
            client, randomness = Client(world.transport), Randomness(7)
            server, events = Server.of(client, randomness, supervisor), EventRecorder(client, clock, randomness)
            supervisor.start(events.run(), "events")
            plane = ControlPlane(server, clock, randomness, Metrics(), events, supervisor)
            for controller in (AgentCertificateController(plane), ApprovedAgentController(plane)):
                controller.start()
        await story(Desk(world, clock))


@pytest.fixture(params=["server", "controller"])
def tell(request: pytest.FixtureRequest) -> Callable[[Story], None]:
    return lambda story: run_virtual(play(story, request.param))


Tell = Callable[[Story], None]


def test_a_token_for_a_cluster_makes_the_agent_of_that_one_and_of_no_other(tell: Tell) -> None:
    async def story(desk: Desk) -> None:
        token = await desk.token("member1")
        refused = await desk.ask(token, "member2")
        assert refused.startswith("Denied: the bootstrap token is for the cluster member1, and not for member2")
        assert "leeward token create --cluster member2" in refused
        assert await desk.ask(token, "member1") == "Approved"
        assert await desk.ask(token, "member1") == "Approved", "whoever lost the answer may ask again"

    tell(story)


@pytest.mark.parametrize("mode", ["Push", "Pull"])
def test_a_cluster_that_has_joined_gets_no_second_agent(tell: Tell, mode: Mode) -> None:
    async def story(desk: Desk) -> None:
        bound, unbound = await desk.token("member1"), await desk.token()
        await desk.join("member1", mode)
        for token in (bound, unbound):
            assert (await desk.ask(token, "member1")).startswith("Denied: there is a cluster member1 already")

    tell(story)


def test_a_token_for_any_cluster_is_for_the_first_one_that_it_is_used_for(tell: Tell) -> None:
    async def story(desk: Desk) -> None:
        token = await desk.token()
        assert await desk.ask(token, "member1") == "Approved"
        assert (await desk.ask(token, "member2")).startswith(
            "Denied: the bootstrap token was used for the cluster member1"
        )
        assert [listed.cluster for listed in await list_tokens(desk.admin)] == ["member1"]

    tell(story)


def test_an_agent_has_rights_before_its_cluster_that_go_with_its_request() -> None:
    """Rights as on a real kube-apiserver: the two Secrets that Karmada's agent makes first, none of another cluster."""
    roles = Resource.of_manifests("rbac.authorization.k8s.io/v1", "roles", "Role", True)

    async def story(desk: Desk) -> None:
        await desk.admin.create(NAMESPACES, Namespace(metadata=ObjectMeta(name="karmada-cluster")))
        assert await desk.ask(await desk.token("member1"), "member1") == "Approved"
        role = await desk.admin.get(roles, "system:karmada:agent:member1:joining", "karmada-cluster")
        (rule,), (owner,) = role["rules"], role["metadata"]["ownerReferences"]
        assert (rule["verbs"], rule["resourceNames"]) == (["get", "patch"], ["member1", "member1-impersonator"])
        assert owner["name"] in await desk.requests()
        await desk.join("other", "Pull")
        assert await desk.ask(await desk.token("other-impersonator"), "other-impersonator") == "Approved"
        await asyncio.sleep(3_700)
        assert await desk.requests() == []
        assert [each["metadata"]["name"] for each in (await desk.admin.list(roles, "karmada-cluster")).items] == []

    run_virtual(play(story, "controller"))


@pytest.mark.parametrize("secret", ["member1", "member1-impersonator"])
def test_an_approved_agent_loses_its_rights_when_somebody_else_writes_secrets_of_its_name(secret: str) -> None:
    """Writes as of `karmadactl join`, which knows of no such role; before the Cluster of the Push member is there."""

    async def story(desk: Desk) -> None:
        await two_approved(desk)
        for name, maker in (("member2", "member2"), (secret, "")):
            metadata = {"name": name, **({"annotations": {AGENT_MADE_ANNOTATION: maker}} if maker else {})}
            await desk.admin.create(UNTYPED_SECRETS, {"metadata": metadata, "data": {}}, "karmada-cluster")
        await asyncio.sleep(1)
        assert await roles_of_approved(desk) == {"system:karmada:agent:member2:joining"}

    run_virtual(play(story, "controller"))


def test_an_approved_agent_loses_its_rights_when_a_push_member_joins_under_its_name() -> None:
    async def story(desk: Desk) -> None:
        await two_approved(desk)
        await desk.join("member1", "Push")
        await desk.join("member2", "Pull")
        await asyncio.sleep(1)
        assert await roles_of_approved(desk) == {"system:karmada:agent:member2:joining"}

    run_virtual(play(story, "controller"))


def test_secrets_that_come_while_an_agent_is_approved_deny_it(monkeypatch: pytest.MonkeyPatch) -> None:
    let_join = AgentCertificateController._let_join  # pyright: ignore[reportPrivateUsage]

    async def meanwhile(self: AgentCertificateController, cluster: str, request: Manifest) -> None:
        await let_join(self, cluster, request)
        secret = {"metadata": {"name": cluster}, "data": {}}
        await self._plane.client.create(UNTYPED_SECRETS, secret, "karmada-cluster")  # pyright: ignore[reportPrivateUsage]

    async def story(desk: Desk) -> None:
        await desk.admin.create(NAMESPACES, Namespace(metadata=ObjectMeta(name="karmada-cluster")))
        monkeypatch.setattr(AgentCertificateController, "_let_join", meanwhile)
        assert (await desk.ask(await desk.token("member1"), "member1")).startswith("Denied: the namespace karmada-clu")
        assert await roles_of_approved(desk) == set()

    run_virtual(play(story, "controller"))


async def roles_of_approved(desk: Desk) -> set[str]:
    """Names of the roles and the bindings of approved agents."""
    kinds = [resource for resource, _ in roles_of_agent("", {}, "karmada-cluster", [])]
    found = [each for kind in kinds for each in (await desk.admin.list(kind, "karmada-cluster")).items]
    return {each["metadata"]["name"] for each in found}


async def two_approved(desk: Desk) -> None:
    await desk.admin.create(NAMESPACES, Namespace(metadata=ObjectMeta(name="karmada-cluster")))
    for name in ("member1", "member2"):
        assert await desk.ask(await desk.token(name), name) == "Approved"
    assert len(await roles_of_approved(desk)) == 2


def test_of_many_requests_at_once_one_cluster_gets_an_agent(tell: Tell) -> None:
    async def story(desk: Desk) -> None:
        wanted = [(f"{AGENT_USER_PREFIX}member{number}", AGENT_GROUP) for number in range(8)]
        verdicts = await desk.ask_at_once(await desk.token(), *wanted)
        assert sorted(verdict.partition(":")[0] for verdict in verdicts) == ["Approved", *["Denied"] * 7]

    tell(story)


def test_a_token_for_a_single_use_is_used_up_by_one_certificate(tell: Tell) -> None:
    async def story(desk: Desk) -> None:
        token = await desk.token("member1", single_use=True)
        same = (AGENT_USER_PREFIX + "member1", AGENT_GROUP)
        verdicts = await desk.ask_at_once(token, same, same, same)
        assert sorted(verdict.partition(":")[0] for verdict in verdicts) == ["Approved", "Denied", "Denied"]
        assert (await desk.ask(token, "member1")).startswith("Denied: the bootstrap token was for a single use")

    tell(story)


def test_karmadas_rbac_generator_is_no_agent(tell: Tell) -> None:
    """The request waits for a person, as `karmadactl register` says, who knows what rights the name has there."""

    async def story(desk: Desk) -> None:
        for token in (await desk.token(), await desk.token("member1")):
            assert await desk.ask(token, "rbac-generator") == "waits"
        with pytest.raises(FleetError, match="a cluster cannot be called 'rbac-generator'"):
            await desk.token("rbac-generator")

    tell(story)


@pytest.mark.parametrize("cluster", ["", "member1"])
def test_what_was_asked_for_with_a_token_that_was_deleted_waits_for_a_person(tell: Tell, cluster: str) -> None:
    """Nobody knows any more what it was used for: whoever deletes a token that leaked has no agents made by it."""

    async def story(desk: Desk) -> None:
        token = await desk.token(cluster)
        thief = desk.client(token)
        await desk.admin.delete(SECRETS, f"bootstrap-token-{token.id}", "kube-system")
        assert await desk.ask_as(thief, "member1") == "waits"
        assert await desk.ask_as(thief, "member2") != "Approved"

    tell(story)


@pytest.mark.parametrize("name", ["kubelet-bootstrap", "system:bootstrap:"])
def test_who_is_only_in_the_group_of_tokens_has_none(tell: Tell, name: str) -> None:
    async def story(desk: Desk) -> None:
        groups = ("system:bootstrappers", "system:bootstrappers:karmada:default-cluster-token", "system:authenticated")
        somebody = Client(InProcessTransport(desk.world.server, User(name, groups)))
        assert await desk.ask_as(somebody, "member1") == "waits"
        assert await desk.ask_as(somebody, "member2") == "waits"

    tell(story)


def test_a_request_whose_token_is_unknown_says_so_and_is_looked_at_again() -> None:
    async def story(desk: Desk) -> None:
        token = await desk.token()
        agent, name = desk.client(token), f"bootstrap-token-{token.id}"
        secret = await desk.admin.get(UNTYPED_SECRETS, name, "kube-system")
        await desk.admin.delete(SECRETS, name, "kube-system")
        assert await desk.ask_as(agent, "member1") == "waits"
        (event,) = [event for event in (await desk.admin.list(EVENTS)).items if event.reason == "TokenUnknown"]
        assert f"the Secret kube-system/{name} of the bootstrap token is gone or cannot be read" in event.message
        assert "leeward token create --cluster member1" in event.message
        metadata = {"name": name, "namespace": "kube-system"}
        await desk.admin.create(UNTYPED_SECRETS, {**secret, "metadata": metadata}, "kube-system")
        await asyncio.sleep(LOOKED_AT_SECONDS + 60)
        assert [await desk.verdict(name) for name in await desk.requests()] == ["Approved"]

    run_virtual(play(story, "controller"))


@pytest.mark.parametrize(
    "wanted",
    [
        ("admin", AGENT_GROUP),
        ("system:karmada:agent:", AGENT_GROUP),
        ("system:karmada:agent:Member1", AGENT_GROUP),
        ("system:karmada:agent:member1:rbac-generator", AGENT_GROUP),
        ("system:karmada:agent:../member1", AGENT_GROUP),
        ("system:karmada:agent:" + "a" * 43, AGENT_GROUP, "system:nodes"),
        ("system:karmada:agent:member1", "system:nodes"),
        ("system:karmada:agent:member1", AGENT_GROUP, AGENT_GROUP),
        ("system:karmada:agent:member1",),
        ("system:node:member1", "system:nodes"),
        ("system:kube-controller-manager", AGENT_GROUP),
    ],
)
def test_what_no_agent_is_called_waits_for_a_person(tell: Tell, wanted: tuple[str, ...]) -> None:
    async def story(desk: Desk) -> None:
        assert await desk.ask_at_once(await desk.token(), wanted) == ["waits"]

    tell(story)


def test_a_token_ends(tell: Tell) -> None:
    async def story(desk: Desk) -> None:
        token = await desk.token("member1")
        assert desk.known(token) is not None
        await asyncio.sleep(3_601)
        assert desk.known(token) is None

    tell(story)


def test_no_token_is_made_for_a_cluster_that_has_joined_or_that_none_can_be_called(tell: Tell) -> None:
    async def story(desk: Desk) -> None:
        await desk.join("member1")
        with pytest.raises(FleetError, match="there is a cluster member1 already"):
            await desk.token("member1")
        for name in ("../x", "Member", "a,system:masters", "a" * 49):
            with pytest.raises(FleetError, match="a cluster cannot be called"):
                await desk.token(name)
        assert (await desk.admin.list(SECRETS, "kube-system")).items == ()

    tell(story)


def test_an_agent_renews_its_certificate_after_it_has_joined() -> None:
    async def story(desk: Desk) -> None:
        token = await desk.token("member1", single_use=True)
        server = Connection(server="https://control-plane.example")
        first = await obtain_certificate(desk.client(token), server, "member1")
        await desk.join("member1", "Pull")
        agent = User(AGENT_USER_PREFIX + "member1", (AGENT_GROUP, "system:authenticated"))
        renewed = await obtain_certificate(Client(InProcessTransport(desk.world.server, agent)), server, "member1")
        assert renewed.client_certificate != first.client_certificate
        with pytest.raises(FleetError, match="is denied: the bootstrap token was for a single use"):
            await obtain_certificate(desk.client(token), server, "member1")

    run_virtual(play(story, "server"))
