"""Two members and a control plane, all real API servers in this process: what all clusters answer as one."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import pytest

from kubeapi.codec import decode_manifest
from kubeapi.core import Secret
from kubeapi.loop.virtual import run_virtual
from kubeclient import Client, Request, Unreachable
from kubeclient.forwarding import Forwarded
from kubeserver.handler import StreamResponse, User
from kubeserver.handlers.connecting import PROXY
from leeward.api.cluster import Cluster
from leeward.api.resource import CLUSTERS
from leeward.api.schema import custom_resource_definitions
from leeward.manager.cluster_proxy import ClusterProxy
from tests.kubeserver.api_world import CONFIG_MAPS, TABLE, Answer, ApiWorld, api_world, config_map

CLUSTER = "/apis/cluster.karmada.io/v1alpha1/clusters"
ALL = f"{CLUSTER}/*/proxy"
ADMIN = User("admin", ("system:masters",))


@dataclass
class Way:
    """A `Member`: an API server in this process, spoken to as an administrator."""

    scene: "Scene"
    name: str

    async def forward(self, request: Request) -> Forwarded:
        if self.name in self.scene.cut:
            raise Unreachable("no route")
        if self.name in self.scene.hanging:
            await asyncio.Event().wait()
        if self.name == "member1" and self.scene.lie is not None:
            return Forwarded(200, {"content-type": "application/json"}, _whole(self.scene.lie))
        answer = await self.scene.members[self.name].server.handle(request, ADMIN)
        assert not isinstance(answer, StreamResponse)
        return Forwarded(answer.code, answer.headers, _whole(answer.body))

    async def close(self) -> None:
        """Does nothing: there is nothing to let go of."""


async def _whole(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body


@dataclass
class Scene:
    plane: ApiWorld
    members: dict[str, ApiWorld]
    cut: set[str] = field(default_factory=set[str])
    hanging: set[str] = field(default_factory=set[str])
    lie: bytes | None = None

    def reach(self, cluster: Cluster, authority: Secret | None, impersonator: Secret) -> Way:
        return Way(self, cluster.name)

    async def join(self, name: str) -> None:
        reference = {"namespace": "default", "name": "speaker"}
        spec = {"syncMode": "Push", "apiEndpoint": f"https://{name}", "impersonatorSecretRef": reference}
        body = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name}}
        assert (await self.plane.create(CLUSTER, {**body, "spec": spec})).code == 201

    async def get(self, path: str, accept: str = "application/json", **query: str) -> Answer:
        return await self.plane.call("GET", ALL + path, accept=accept, query=query)


def tell(story: Callable[[Scene], Awaitable[None]]) -> None:
    async def play() -> None:
        async with AsyncExitStack() as stack:
            plane = await stack.enter_async_context(api_world(crds=custom_resource_definitions()))
            names = ("member1", "member2")
            members = {name: await stack.enter_async_context(api_world()) for name in names}
            scene = Scene(plane, members)
            proxy = ClusterProxy(Client(plane.transport), scene.reach, plane.server)
            plane.server.connect(CLUSTERS.group, CLUSTERS.plural, PROXY, proxy.connect)
            secret = {"metadata": {"name": "speaker"}, "stringData": {"token": "x"}}
            await plane.create("/api/v1/namespaces/default/secrets", secret)
            for name in names:
                await scene.join(name)
                await members[name].create(CONFIG_MAPS, config_map(f"of-{name}", key=name))
                await members[name].create(CONFIG_MAPS, config_map("of-both", key=name))
            await story(scene)
            await proxy.close()

    run_virtual(play())


def test_lists_are_one_list_without_a_version_or_pages() -> None:
    async def story(scene: Scene) -> None:
        listed = await scene.get(CONFIG_MAPS, limit="1")
        assert (listed.body["kind"], listed.body["metadata"]) == ("ConfigMapList", {"resourceVersion": ""})
        assert listed.names == ["of-both", "of-member1", "of-both", "of-member2"]
        assert (await scene.get(CONFIG_MAPS, fieldSelector="metadata.name=of-member2")).names == ["of-member2"]

    tell(story)


def test_a_table_says_in_which_cluster_each_is() -> None:
    async def story(scene: Scene) -> None:
        table = (await scene.get(CONFIG_MAPS, accept=TABLE)).body
        assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Cluster", "Data", "Age"]
        assert [row["cells"][:2] for row in table["rows"]] == [
            ["of-both", "member1"],
            ["of-member1", "member1"],
            ["of-both", "member2"],
            ["of-member2", "member2"],
        ]

    tell(story)


def test_who_cannot_be_reached_is_named_and_not_taken_for_empty() -> None:
    async def story(scene: Scene) -> None:
        scene.cut.add("member2")
        listed = await scene.get(CONFIG_MAPS)
        assert listed.names == ["of-both", "of-member1"]
        assert listed.headers["warning"] == '299 - "cluster member2 cannot be reached: no route"'
        missing = await scene.get(f"{CONFIG_MAPS}/of-member2")
        assert missing.code == 503
        assert "cluster member2 cannot be reached" in missing.body["message"]
        scene.cut.add("member1")
        assert (await scene.get(CONFIG_MAPS)).code == 503

    tell(story)


def test_a_cluster_that_hangs_holds_up_the_others_only_for_a_while() -> None:
    async def story(scene: Scene) -> None:
        scene.hanging.add("member1")
        request = Request("GET", ALL + CONFIG_MAPS, {}, {"accept": "application/json"})
        answer = await scene.plane.server.handle(request, ADMIN)
        assert not isinstance(answer, StreamResponse)
        assert "cluster member1 does not answer within 15 s" in answer.headers["warning"]
        assert len(decode_manifest(answer.body)["items"]) == 2

    tell(story)


def test_an_object_is_found_where_it_is_and_then_everything_goes_there() -> None:
    async def story(scene: Scene) -> None:
        path = f"{ALL}{CONFIG_MAPS}/of-member2"
        assert (await scene.get(f"{CONFIG_MAPS}/of-member2")).body["data"] == {"key": "member2"}
        await scene.plane.patch(path, {"data": {"key": "new"}})
        assert (await scene.members["member2"].get(f"{CONFIG_MAPS}/of-member2")).body["data"] == {"key": "new"}
        assert (await scene.plane.delete(path)).code == 200
        assert (await scene.get(f"{CONFIG_MAPS}/of-member2")).code == 404
        ambiguous = await scene.get(f"{CONFIG_MAPS}/of-both")
        assert (ambiguous.code, "more than one cluster: member1, member2" in ambiguous.body["message"]) == (409, True)

    tell(story)


def test_a_subresource_goes_to_the_cluster_that_has_the_object() -> None:
    async def story(scene: Scene) -> None:
        pods = "/api/v1/namespaces/default/pods"
        pod = {"metadata": {"name": "log"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        await scene.members["member1"].create(pods, pod)
        assert (await scene.get(f"{pods}/log/log")).code == 204
        assert (await scene.get(f"{pods}/other/log")).code == 404

    tell(story)


def test_what_is_no_resource_is_answered_by_the_control_plane_and_the_rest_is_refused() -> None:
    async def story(scene: Scene) -> None:
        assert "gitVersion" in (await scene.get("/version")).body
        assert "cluster.karmada.io" in str((await scene.get("/apis")).body)
        refused = await scene.plane.create(ALL + CONFIG_MAPS, config_map("a"))
        assert (refused.code, refused.body["message"].startswith("create is not supported")) == (405, True)
        assert (await scene.get(CONFIG_MAPS, watch="true")).code == 405
        assert (await scene.plane.delete(ALL + CONFIG_MAPS)).code == 405
        assert (await scene.get("/apis/nope.io/v1/things")).code == 404

    tell(story)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"kind":"ConfigMapList","items":{}}',
        b'{"kind":"ConfigMapList","items":[1]}',
        b'{"kind":"Table","rows":[{}]}',
        b'{"kind":"Table","rows":[{"cells":1}],"columnDefinitions":7}',
        b"\x1f\x8b junk",
        b'{"a":' * 50_000,
    ],
)
def test_a_cluster_that_answers_no_list_is_named_and_keeps_nothing_of_the_others_back(body: bytes) -> None:
    async def story(scene: Scene) -> None:
        scene.lie = body
        for accept in ("application/json", TABLE):
            listed = await scene.get(CONFIG_MAPS, accept=accept)
            assert listed.code == 200
            assert "cluster member1 has answered what is no list" in listed.headers["warning"]
            assert len(listed.body["rows" if accept == TABLE else "items"]) == 2

    tell(story)
