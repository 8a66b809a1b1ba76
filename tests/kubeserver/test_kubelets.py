"""Additions of whoever composes the server: kubelets behind Pods, kinds that are made when they are asked for, and
the admission of ServiceAccounts."""

from collections.abc import Iterator
from typing import Any

from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.transport import Response
from kubeserver.admission.service_accounts import ServiceAccountAdmission
from kubeserver.handler import StreamResponse, User
from kubeserver.handlers.pods import PodRequest
from kubeserver.kinds.kind import Kind
from tests.kubeserver.api_world import PODS, TABLE, ApiWorld, api_world, tell

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
READINGS = Kind("measuring.example.com", "v1", "Reading", "readings", True, derived=True)
PATH = "/apis/measuring.example.com/v1"


def pod(name: str = "web", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "nginx"}], **spec}}


def test_a_kubelet_answers_for_pods_that_are_on_a_node() -> None:
    asked: list[tuple[str, str, str]] = []

    async def kubelet(request: PodRequest) -> Response | StreamResponse:
        asked.append((request.action, request.pod["metadata"]["name"], request.request.query.get("tailLines", "")))
        return Response(200, b"a line\n", {"content-type": "text/plain"})

    async def story(world: ApiWorld) -> None:
        await world.create(PODS, pod("nowhere"))
        await world.create(PODS, pod("web", nodeName="node-1"))
        assert (await world.get(f"{PODS}/web/log")).body["message"].endswith("there is no kubelet on node node-1")
        world.server.reach_kubelet(kubelet)
        assert (await world.get(f"{PODS}/web/log", tailLines="1")).body == "a line\n"
        assert (await world.get(f"{PODS}/nowhere/log")).code == 204
        assert (await world.get(f"{PODS}/none/log")).code == 404
        assert (await world.call("GET", f"{PODS}/web/log", user=User("bob"))).code == 403
        assert asked == [("log", "web", "1")]

    tell(story)


def readings() -> Iterator[Manifest]:
    for namespace, name in (("default", "a"), ("default", "b"), ("other", "a")):
        metadata = {"name": name, "namespace": namespace, "labels": {"own": name}}
        yield {"apiVersion": READINGS.api_version, "kind": READINGS.kind, "metadata": metadata, "value": 7}


def test_a_kind_may_be_made_when_it_is_asked_for() -> None:
    async def story(world: ApiWorld) -> None:
        assert (await world.get(f"{PATH}/readings")).code == 404
        revision = world.store.revision
        world.server.derive(READINGS, readings)
        assert (await world.get(f"{PATH}/namespaces/default/readings/b")).body["value"] == 7
        assert (await world.get(f"{PATH}/namespaces/default/readings/c")).code == 404
        assert len((await world.get(f"{PATH}/readings")).names) == 3
        assert (await world.get(f"{PATH}/namespaces/default/readings")).names == ["a", "b"]
        assert (await world.get(f"{PATH}/readings", labelSelector="own=b")).names == ["b"]
        table = (await world.call("GET", f"{PATH}/readings", accept=TABLE)).body
        assert [row["cells"][0] for row in table["rows"]] == ["a", "b", "a"]
        [resource] = (await world.get(PATH)).body["resources"]
        assert (resource["name"], resource["verbs"]) == ("readings", ["get", "list"])
        assert "measuring.example.com" in [group["name"] for group in (await world.get("/apis")).body["groups"]]
        assert (await world.get(f"{PATH}/readings", watch="true")).code == 405
        assert (await world.create(f"{PATH}/namespaces/default/readings", {})).code == 405
        assert (await world.get("/openapi/v2")).code == 200
        assert world.store.revision == revision

    tell(story)


def test_a_pod_runs_as_an_account_that_is_there() -> None:
    async def story(world: ApiWorld) -> None:
        refused = await world.create(PODS, {**pod(), "metadata": {"generateName": "web-"}})
        why = 'error looking up service account default/default: serviceaccount "default" not found'
        assert (refused.code, refused.body["message"]) == (403, f'pods "web-" is forbidden: {why}')
        await world.create(ACCOUNTS, {"metadata": {"name": "default"}, "imagePullSecrets": [{"name": "registry"}]})
        spec = (await world.create(PODS, pod())).body["spec"]
        given = spec["serviceAccountName"], spec["serviceAccount"], spec["imagePullSecrets"]
        assert given == ("default", "default", [{"name": "registry"}])
        own = (await world.create(PODS, pod("own", imagePullSecrets=[{"name": "mine"}]))).body["spec"]
        assert own["imagePullSecrets"] == [{"name": "mine"}]
        assert (await world.create(PODS, pod("robot", serviceAccountName="robot"))).code == 403

    async def play() -> None:
        async with api_world(admission_over=lambda store: (ServiceAccountAdmission(store),)) as world:
            await story(world)

    run_virtual(play())
