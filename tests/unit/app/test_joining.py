"""A cluster joins in Push mode and leaves again: two API servers, and the token controller of the member."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Literal

import pytest

from kubeapi.core import NAMESPACES, SECRETS
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import ObjectMeta
from kubeapi.transport import Request
from kubeclient import Client, NotFound
from kubeclient.connection import Connection
from leeward.api.cluster import Cluster, ClusterSpec
from leeward.api.resource import CLUSTERS
from leeward.api.schema import custom_resource_definitions
from leeward.app.config import REPORTS, Report
from leeward.app.joining import Joining, forget_cluster, join_cluster, own_identity
from leeward.app.leaving import Mode, unjoin_cluster
from leeward.app.local.errors import FleetError
from leeward.app.member_accounts import accounts_of, beside, close_account, open_account
from leeward.app.reported_secrets import SecretReporter, with_secrets
from leeward.controllers.agents.agent_roles import JOINING_SUFFIX, roles_of_agent
from tests.kubeserver.api_world import ApiWorld, api_world

AUTHORITY = b"authority"
JOINING = Joining("member1", Connection(server="https://member1", certificate_authority=AUTHORITY), region="north")
ACCOUNTS = "/api/v1/namespaces/karmada-cluster/serviceaccounts"
MEMBER_SECRETS = "/api/v1/namespaces/karmada-cluster/secrets"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
ROLE_BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


def bearer(member: ApiWorld, token: bytes) -> str:
    """User for whom the member takes the bearer of `token`."""
    request = Request("GET", "/", {}, {"authorization": f"Bearer {token.decode()}"})
    return member.server.authenticator.authenticate(request, None).name


def tell(story: Callable[[ApiWorld, ApiWorld], Awaitable[None]], *, tokens: bool = True) -> None:
    async def play() -> None:
        async with AsyncExitStack() as stack:
            plane = await stack.enter_async_context(api_world(crds=custom_resource_definitions()))
            member = await stack.enter_async_context(api_world(seed=8))
            supervisor = await stack.enter_async_context(Supervisor("token controller"))
            for world, name in ((plane, "karmada-cluster"), (member, "kube-system")):
                await world.create("/api/v1/namespaces", {"metadata": {"name": name}})
            if tokens:
                supervisor.start(member.server.token_secrets(AUTHORITY).run(), "tokens")
            await story(plane, member)

    run_virtual(play())


async def approve_agents(client: Client, *names: str) -> None:
    namespace = await client.get(NAMESPACES, "karmada-cluster")
    owner = {"apiVersion": "v1", "kind": "Namespace", "name": namespace.name, "uid": namespace.metadata.uid}
    for name in names:
        for resource, manifest in roles_of_agent(name, owner, "karmada-cluster", [], JOINING_SUFFIX):
            await client.create(resource, manifest, "karmada-cluster")


async def approved_agents(client: Client) -> set[str]:
    """Names of their roles and bindings."""
    kinds = [resource for resource, _ in roles_of_agent("", {}, "karmada-cluster", [])]
    return {each["metadata"]["name"] for kind in kinds for each in (await client.list(kind, "karmada-cluster")).items}


async def reported(plane: ApiWorld, member: ApiWorld, *reports: Report) -> Cluster:
    """Cluster `member3` that its agent has joined, when that has reported these Secrets."""
    client = Client(plane.transport)
    spec = with_secrets(ClusterSpec(sync_mode="Pull", api_endpoint="https://member3"), "member3", reports)
    joined = await client.create(CLUSTERS, Cluster(metadata=ObjectMeta(name="member3"), spec=spec))
    await SecretReporter("member3", client, Client(member.transport), AUTHORITY, reports).run()
    return joined


def test_an_agent_reports_by_what_the_verbs_of_karmadactl_reach_its_member() -> None:
    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        joined = await reported(plane, member, *REPORTS)
        client = Client(plane.transport)
        for reference, user in (
            (joined.spec.secret_ref, "karmada-member3"),
            (joined.spec.impersonator_secret_ref, "karmada-impersonator"),
        ):
            assert reference is not None
            secret = await client.get(SECRETS, reference.name, reference.namespace)
            assert bearer(member, secret.data["token"]) == f"system:serviceaccount:karmada-cluster:{user}"
            assert [owner.uid for owner in secret.metadata.owner_references] == [joined.metadata.uid]
        assert (await client.get(SECRETS, "member3", "karmada-cluster")).data["caBundle"] == AUTHORITY
        await SecretReporter("member3", client, Client(member.transport), b"renewed", REPORTS).run()
        assert (await client.get(SECRETS, "member3", "karmada-cluster")).data["caBundle"] == b"renewed"

    tell(story)


def test_an_agent_that_is_to_report_the_impersonator_alone_makes_no_other_account() -> None:
    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        await reported(plane, member, "KubeImpersonator")
        client = Client(plane.transport)
        assert (await client.get(SECRETS, "member3", "karmada-cluster")).data.keys() == {"caBundle"}
        assert "token" in (await client.get(SECRETS, "member3-impersonator", "karmada-cluster")).data
        with pytest.raises(NotFound):
            await Client(member.transport).get(SECRETS, "karmada-member3", "karmada-cluster")

    tell(story)


def test_an_agent_reports_nothing_of_a_cluster_that_says_other_secrets() -> None:
    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        client = Client(plane.transport)
        await client.create(CLUSTERS, Cluster(metadata=ObjectMeta(name="member3"), spec=ClusterSpec(sync_mode="Pull")))
        await SecretReporter("member3", client, Client(member.transport), AUTHORITY, REPORTS).run()
        assert (await client.list(SECRETS, "karmada-cluster")).items == ()

    tell(story)


def test_an_agent_that_was_approved_under_the_name_reads_none_of_the_credentials() -> None:
    """The agent's role lasts as long as its certificate request is kept (decision 99)."""

    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        client = Client(plane.transport)
        await approve_agents(client, "member1", "member2")
        await join_cluster(client, Client(member.transport), JOINING)
        assert await approved_agents(client) == {"system:karmada:agent:member2:joining"}

    tell(story)


def test_an_agent_keeps_its_role_when_another_cluster_cannot_join_under_its_name() -> None:
    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        client = Client(plane.transport)
        await approve_agents(client, "member1")
        with pytest.raises(FleetError):
            await join_cluster(client, Client(member.transport), JOINING)
        assert await approved_agents(client) == {"system:karmada:agent:member1:joining"}

    tell(story, tokens=False)


def test_the_control_plane_gets_a_token_to_act_with_and_one_to_speak_for_users() -> None:
    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        client = Client(plane.transport)
        for _ in range(2):
            await join_cluster(client, Client(member.transport), JOINING)
        spec = (await client.get(CLUSTERS, "member1")).spec
        acting, speaking = spec.secret_ref, spec.impersonator_secret_ref
        assert acting is not None
        assert speaking is not None
        secret = await client.get(SECRETS, acting.name, acting.namespace)
        assert secret.data["caBundle"] == AUTHORITY
        assert bearer(member, secret.data["token"]) == "system:serviceaccount:karmada-cluster:karmada-member1"
        secret = await client.get(SECRETS, speaking.name, speaking.namespace)
        assert (secret.metadata.name, list(secret.data)) == ("member1-impersonator", ["token"])
        assert bearer(member, secret.data["token"]) == "system:serviceaccount:karmada-cluster:karmada-impersonator"
        (rule,) = (await member.get(f"{ROLES}/karmada-impersonator")).body["rules"]
        assert rule["verbs"] == ["impersonate"], "it may do nothing else"

    tell(story)


def test_a_cluster_is_spoken_to_in_the_clear_only_when_somebody_says_so() -> None:
    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        client = Client(plane.transport)
        clear = replace(JOINING, connection=replace(JOINING.connection, server="http://member1"))
        with pytest.raises(FleetError, match=r"http://member1: over http:// .*, or --allow-http"):
            await join_cluster(client, Client(member.transport), clear)
        assert (await client.list(CLUSTERS)).items == ()
        assert (await member.get(ACCOUNTS)).body["items"] == [], "nothing is made where nothing joins"
        await join_cluster(client, Client(member.transport), replace(clear, allow_http=True))
        joined = await client.get(CLUSTERS, "member1")
        assert joined.spec.api_endpoint == "http://member1"
        assert joined.metadata.annotations["leeward.dev/allow-http"] == "true"

    tell(story)


def test_nothing_of_it_is_left_when_it_leaves() -> None:
    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        client = Client(plane.transport)
        before = [(await member.get(path)).names for path in (ACCOUNTS, ROLES, ROLE_BINDINGS)]
        await join_cluster(client, Client(member.transport), JOINING)
        await unjoin_cluster(client, "member1", VirtualClock(), force=False, wait_seconds=10)
        assert await forget_cluster(Client(member.transport), "member1", await own_identity(client)) == []
        for name in ("member1", "member1-impersonator"):
            with pytest.raises(NotFound):
                await client.get(SECRETS, name, "karmada-cluster")
        assert [(await member.get(path)).names for path in (ACCOUNTS, ROLES, ROLE_BINDINGS)] == before
        assert (await member.get(MEMBER_SECRETS)).names == []

    tell(story)


@pytest.mark.parametrize("again", ["joined", "about to join"])
def test_a_cluster_that_joins_anew_while_its_predecessor_leaves_keeps_its_credentials(again: str) -> None:
    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        client, told = Client(plane.transport), list[str]()
        await join_cluster(client, Client(member.transport), JOINING)
        held = {"metadata": {"finalizers": ["example.com/hold"]}}
        await client.patch(CLUSTERS, "member1", held)
        leaving = unjoin_cluster(client, "member1", VirtualClock(), force=False, wait_seconds=10, tell=told.append)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(leaving)
            await asyncio.sleep(1.1)
            if again == "about to join":
                await client.patch(SECRETS, "member1", {"data": {"token": "bmV3"}}, "karmada-cluster")
            await client.patch(CLUSTERS, "member1", {"metadata": {"finalizers": None}})
            if again == "joined":
                await join_cluster(client, Client(member.transport), JOINING)
        left = {secret.name for secret in (await client.list(SECRETS, "karmada-cluster")).items}
        assert left == ({"member1", "member1-impersonator"} if again == "joined" else {"member1"})
        waits, kept = told
        assert waits == "member1 is not ready: waiting 10 s for it to let go of what runs there"
        assert "meanwhile" in kept or "was changed" in kept

    tell(story)


async def versions(member: ApiWorld) -> dict[str, str]:
    """Versions by path: the uid and resourceVersion of what bears the name of the impersonator."""
    paths = [f"{each}/karmada-impersonator" for each in (ACCOUNTS, ROLES, ROLE_BINDINGS)]
    found = {path: (await member.get(path)).body["metadata"] for path in paths}
    return {path: f"{metadata['uid']} {metadata['resourceVersion']}" for path, metadata in found.items()}


@pytest.mark.parametrize("by", ["another control plane", "Karmada"])
def test_s6_the_impersonator_of_another_control_plane_is_used_and_stays(by: str) -> None:
    """Two control planes have joined one cluster, under two names; the second leaves."""

    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        client, there = Client(plane.transport), Client(member.transport)
        _, speaker = accounts_of("theirs")
        if by == "Karmada":
            await as_karmada_joins(member)
        else:
            await open_account(there, speaker, "another")
        before = await versions(member)
        await join_cluster(client, there, JOINING)
        assert await versions(member) == before
        secret = await client.get(SECRETS, "member1-impersonator", "karmada-cluster")
        assert bearer(member, secret.data["token"]) == "system:serviceaccount:karmada-cluster:karmada-impersonator"
        kept = await forget_cluster(there, "member1", await own_identity(client))
        assert kept == [
            f"{kind} karmada-impersonator" for kind in ("ClusterRoleBinding", "ClusterRole", "Secret", "ServiceAccount")
        ]
        assert await versions(member) == before
        assert "karmada-member1" not in (await member.get(ACCOUNTS)).names

    tell(story)


def test_another_control_plane_that_calls_the_member_alike_takes_no_credential_of_ours_along() -> None:
    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        client, there = Client(plane.transport), Client(member.transport)
        steward, _ = accounts_of("member1")
        await open_account(there, steward, "another")
        await join_cluster(client, there, JOINING)
        hub = await own_identity(client)
        token = (await client.get(SECRETS, "member1", "karmada-cluster")).data["token"]
        assert bearer(member, token) == f"system:serviceaccount:karmada-cluster:karmada-member1-{hub[:8]}"
        assert await close_account(there, steward, "another") == []
        assert bearer(member, token) == f"system:serviceaccount:karmada-cluster:karmada-member1-{hub[:8]}"
        await join_cluster(client, there, JOINING)
        assert await forget_cluster(there, "member1", hub) == []
        left = {name for path in (ACCOUNTS, ROLES, ROLE_BINDINGS) for name in (await member.get(path)).names}
        assert not {name for name in left if "karmada-member1" in name}, beside(steward, hub)

    tell(story)


async def as_karmada_joins(member: ApiWorld) -> None:
    """Makes what versions of Karmada make that give no labels."""
    name = "karmada-impersonator"
    metadata = {"name": name, "namespace": "karmada-cluster"}
    rule = {"apiGroups": [""], "resources": ["users", "groups", "serviceaccounts"], "verbs": ["impersonate"]}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    annotations = {"kubernetes.io/service-account.name": name}
    token = {"metadata": {**metadata, "annotations": annotations}, "type": "kubernetes.io/service-account-token"}
    await member.create("/api/v1/namespaces", {"metadata": {"name": "karmada-cluster"}})
    await member.create(ACCOUNTS, {"metadata": metadata})
    await member.create(MEMBER_SECRETS, token)
    await member.create(ROLES, {"metadata": {"name": name}, "rules": [rule]})
    subjects = [{"kind": "ServiceAccount", **metadata}]
    await member.create(ROLE_BINDINGS, {"metadata": {"name": name}, "roleRef": role, "subjects": subjects})


def test_s6_a_role_of_somebody_else_is_not_taken_over_and_nothing_is_made() -> None:
    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        client, there = Client(plane.transport), Client(member.transport)
        rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
        theirs = await member.create(ROLES, {"metadata": {"name": "karmada-impersonator"}, "rules": [rule]})
        with pytest.raises(FleetError, match="ClusterRole karmada-impersonator is somebody else's"):
            await join_cluster(client, there, JOINING)
        assert (await member.get(f"{ROLES}/karmada-impersonator")).body == theirs.body
        assert "karmada-impersonator" not in (await member.get(ACCOUNTS)).names
        assert await names(plane) == []
        await forget_cluster(there, "member1", await own_identity(client))
        assert (await member.get(f"{ROLES}/karmada-impersonator")).body == theirs.body

    tell(story)


def test_what_an_earlier_version_has_made_without_saying_for_whom_goes_with_it() -> None:
    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        client, there = Client(plane.transport), Client(member.transport)
        for account in accounts_of("member1"):
            await open_account(there, account)
        assert await forget_cluster(there, "member1", await own_identity(client)) == []
        assert "karmada-impersonator" not in (await member.get(ROLES)).names

    tell(story)


def test_a_member_that_gives_no_token_is_asked_about_its_controller_manager() -> None:
    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        with pytest.raises(FleetError, match="does its kube-controller-manager run"):
            await join_cluster(Client(plane.transport), Client(member.transport), JOINING)

    tell(story, tokens=False)


async def names(plane: ApiWorld) -> list[str]:
    return [cluster.name for cluster in (await Client(plane.transport).list(CLUSTERS)).items]


def test_a_cluster_joins_once_and_is_known_by_its_namespace_kube_system() -> None:
    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        client = Client(plane.transport)
        await join_cluster(client, Client(member.transport), JOINING)
        own = await member.get("/api/v1/namespaces/kube-system")
        assert (await client.get(CLUSTERS, "member1")).spec.id == own.body["metadata"]["uid"]
        accounts = (await member.get(ACCOUNTS)).names
        with pytest.raises(FleetError, match=r"joined already, as member1: .*`leeward unjoin member1` first"):
            await join_cluster(client, Client(member.transport), replace(JOINING, name="again"))
        assert await names(plane) == ["member1"]
        assert (await member.get(ACCOUNTS)).names == accounts, "it was refused before anything was written"
        await unjoin_cluster(client, "member1", VirtualClock(), force=False, wait_seconds=10, mode="Push")
        await join_cluster(client, Client(member.transport), replace(JOINING, name="again"))
        assert await names(plane) == ["again"]

    tell(story)


def test_a_control_plane_does_not_join_itself() -> None:
    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        client = Client(plane.transport)
        with pytest.raises(FleetError, match="is the control plane itself"):
            await join_cluster(client, client, JOINING)
        assert await names(plane) == []

    tell(story)


@pytest.mark.parametrize(("there", "asked", "verb"), [("Push", "Pull", "unjoin"), ("Pull", "Push", "unregister")])
def test_each_mode_leaves_by_its_own_verb(there: Literal["Push", "Pull"], asked: Mode, verb: str) -> None:
    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        client = Client(plane.transport)
        spec = ClusterSpec(sync_mode=there, id="its-id")
        made = await client.create(CLUSTERS, Cluster(metadata=ObjectMeta(name="member1"), spec=spec))
        with pytest.raises(FleetError, match=f"is in {there} mode: use `leeward {verb} member1`; nothing was done"):
            await unjoin_cluster(client, "member1", VirtualClock(), force=True, wait_seconds=10, mode=asked)
        assert await client.get(CLUSTERS, "member1") == made
        await unjoin_cluster(client, "member1", VirtualClock(), force=False, wait_seconds=10, mode=there)
        assert await names(plane) == []

    tell(story)
