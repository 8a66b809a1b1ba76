"""The cluster proxy: a control plane and a member, both real API servers in this process, and a way between them."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from kubeapi.core import Secret
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeclient import Client, Request, Unreachable
from kubeclient.forwarding import Forwarded
from kubeserver.handler import StreamResponse, User
from kubeserver.handlers.connecting import PROXY
from leeward.api.cluster import Cluster
from leeward.api.resource import CLUSTERS
from leeward.api.schema import custom_resource_definitions
from leeward.core.hub_generation import ANOTHER_HUB, HUB_FENCE_CONDITION, NOT_FENCED
from leeward.manager.cluster_proxy import ClusterProxy
from tests.kubeserver.api_world import Answer, ApiWorld, api_world

CLUSTER = "/apis/cluster.karmada.io/v1alpha1/clusters"
PODS = f"{CLUSTER}/member1/proxy/api/v1/namespaces/default/pods"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
SPEAKER = User("speaker", ("speakers", "system:authenticated"))
JANE = User("jane", ("dev", "system:authenticated"))


@dataclass
class Way:
    """A `Member`: an API server in this process, as the user that the token stands for."""

    server: ApiWorld
    token: str
    closed: bool = False
    cut: bool = False

    async def forward(self, request: Request) -> Forwarded:
        if self.cut:
            raise Unreachable("no route")
        answer = await self.server.server.handle(request, SPEAKER)
        if isinstance(answer, StreamResponse):
            return Forwarded(200, {"content-type": answer.content_type}, _ended(answer))
        return Forwarded(answer.code, answer.headers, _whole(answer.body))

    async def close(self) -> None:
        self.closed = True


async def _whole(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body


async def _ended(answer: StreamResponse) -> AsyncGenerator[bytes, None]:
    async for line in answer.lines:
        yield line + b"\n"


@dataclass
class Scene:
    plane: ApiWorld
    member: ApiWorld
    ways: list[Way] = field(default_factory=list[Way])

    def reach(self, cluster: Cluster, authority: Secret | None, impersonator: Secret) -> Way:
        token = impersonator.data.get("token", b"").decode()
        if not token:
            raise ValueError("no data.token")
        self.ways.append(Way(self.member, token))
        return self.ways[-1]

    async def join(self, **spec: Any) -> None:
        reference = {"namespace": "default", "name": "speaker"}
        spec = {"syncMode": "Push", "apiEndpoint": "https://member1", "impersonatorSecretRef": reference} | spec
        await self.plane.create(CLUSTER, {**_named("member1", "cluster.karmada.io/v1alpha1", "Cluster"), "spec": spec})

    async def give_token(self, token: str) -> None:
        secret = {**_named("speaker", "v1", "Secret"), "stringData": {"token": token}}
        path = "/api/v1/namespaces/default/secrets"
        made = await self.plane.create(path, secret)
        if made.code == 409:
            await self.plane.patch(f"{path}/speaker", {"stringData": {"token": token}})

    async def ask(self, path: str = PODS, user: User = JANE, **query: str) -> Answer:
        return await self.plane.call("GET", path, user=user, query=query)


def _named(name: str, api_version: str, kind: str) -> Manifest:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}


async def allow(world: ApiWorld, group: str, verb: str, api_group: str, resource: str) -> None:
    """A ClusterRole for `group`, and its binding."""
    name = f"{group}-{verb}"
    rule = {"apiGroups": [api_group], "resources": resource.split(","), "verbs": [verb]}
    api = "rbac.authorization.k8s.io"
    await world.create(f"{RBAC}/clusterroles", {**_named(name, f"{api}/v1", "ClusterRole"), "rules": [rule]})
    binding = {
        **_named(name, f"{api}/v1", "ClusterRoleBinding"),
        "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": api, "kind": "Group", "name": group}],
    }
    await world.create(f"{RBAC}/clusterrolebindings", binding)


def tell(story: Callable[[Scene], Awaitable[None]]) -> None:
    async def play() -> None:
        async with AsyncExitStack() as stack:
            plane = await stack.enter_async_context(api_world(crds=custom_resource_definitions()))
            scene = Scene(plane, await stack.enter_async_context(api_world()))
            proxy = ClusterProxy(Client(plane.transport), scene.reach, plane.server)
            plane.server.connect(CLUSTERS.group, CLUSTERS.plural, PROXY, proxy.connect)
            await allow(scene.member, "speakers", "impersonate", "", "users,groups")
            await story(scene)
            await proxy.close()
            assert all(way.closed for way in scene.ways)

    run_virtual(play())


def test_the_gate_asks_for_the_subresource_and_the_member_for_the_rest() -> None:
    async def story(scene: Scene) -> None:
        await scene.give_token("secret")
        await scene.join()
        refused = await scene.ask()
        assert refused.code == 403
        assert 'cannot get resource "clusters/proxy"' in refused.body["message"]
        await allow(scene.plane, "dev", "get", "cluster.karmada.io", "clusters/proxy")
        refused = await scene.ask()
        assert refused.body["message"].startswith('pods is forbidden: User "jane" cannot list resource "pods"')
        await allow(scene.member, "dev", "list", "", "pods")
        assert (await scene.ask()).body["kind"] == "PodList"
        assert len(scene.ways) == 1, "the way is kept"

    tell(story)


def test_a_version_that_is_none_leads_nowhere() -> None:
    """The request that the gate and webhooks are asked about is the one that is carried out."""

    async def story(scene: Scene) -> None:
        await scene.give_token("t")
        await scene.join()
        await allow(scene.plane, "dev", "get", "cluster.karmada.io", "clusters/proxy")
        assert (await scene.ask(PODS.replace("v1alpha1", "v7"))).code == 404
        assert scene.ways == []

    tell(story)


def test_the_member_knows_the_one_who_asks_as_the_control_plane_does() -> None:
    async def story(scene: Scene) -> None:
        await scene.give_token("secret")
        await scene.join()
        path = f"{CLUSTER}/member1/proxy/apis/authentication.k8s.io/v1/selfsubjectreviews"
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        await allow(scene.plane, "dev", "create", "cluster.karmada.io", "clusters/proxy")
        told = await scene.plane.call("POST", path, review, user=JANE)
        assert told.body["status"]["userInfo"] == {"username": "jane", "groups": ["dev", "system:authenticated"]}

    tell(story)


def test_a_watch_streams_through() -> None:
    async def story(scene: Scene) -> None:
        await scene.give_token("secret")
        await scene.join()
        path = f"{CLUSTER}/member1/proxy/api/v1/namespaces"
        frames = await scene.plane.watch(path, 2)
        assert [kind for kind, _ in frames] == ["ADDED", "ADDED"]

    tell(story)


def test_what_is_missing_is_named() -> None:
    async def story(scene: Scene) -> None:
        admin = User("admin", ("system:masters",))
        assert (await scene.ask(user=admin)).body["message"] == 'clusters.cluster.karmada.io "member1" not found'
        await scene.join()
        message = "cluster member1 cannot be reached: the Secret default/speaker, its spec.impersonatorSecretRef"
        missing = await scene.ask(user=admin)
        assert (missing.code, missing.body["message"]) == (503, f"{message}, does not exist")
        await scene.plane.patch(f"{CLUSTER}/member1", {"spec": {"impersonatorSecretRef": None}})
        assert "spec.impersonatorSecretRef of the Cluster is not set" in (await scene.ask(user=admin)).body["message"]

    tell(story)


def test_a_new_token_makes_a_new_way_and_an_outage_is_a_503() -> None:
    async def story(scene: Scene) -> None:
        admin = User("admin", ("system:masters",))
        await scene.give_token("first")
        await scene.join()
        assert (await scene.ask(user=admin)).code == 200
        await scene.plane.patch(f"{CLUSTER}/member1", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}})
        assert (await scene.ask(user=admin)).code == 200
        await scene.give_token("second")
        assert (await scene.ask(user=admin)).code == 200
        assert [(way.token, way.closed) for way in scene.ways] == [("first", True), ("second", False)]
        scene.ways[-1].cut = True
        refused = await scene.ask(user=admin)
        assert (refused.code, refused.body["message"]) == (503, "cluster member1 cannot be reached: no route")

    tell(story)


def test_a_member_that_obeys_another_hub_is_not_asked() -> None:
    async def story(scene: Scene) -> None:
        admin = User("admin", ("system:masters",))
        await scene.give_token("first")
        await scene.join()
        told = {"type": HUB_FENCE_CONDITION, "status": "False", "reason": ANOTHER_HUB, "message": "it obeys another"}
        await scene.plane.patch(f"{CLUSTER}/member1/status", {"status": {"conditions": [told]}})
        refused = await scene.ask(user=admin)
        assert (refused.code, refused.body["message"]) == (503, "cluster member1 cannot be reached: it obeys another")
        assert not scene.ways
        told["reason"] = NOT_FENCED
        await scene.plane.patch(f"{CLUSTER}/member1/status", {"status": {"conditions": [told]}})
        assert (await scene.ask(user=admin)).code == 200

    tell(story)
