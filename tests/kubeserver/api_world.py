"""An API server on virtual time, for tests: requests in, decoded answers out."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry

from kubeapi import codec
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.transport import Request, Response
from kubeserver.admission import Admission
from kubeserver.auth.authentication import BadCredential
from kubeserver.handler import User
from kubeserver.handlers.server import ApiServer
from kubeserver.inprocess import ADMIN, InProcessTransport
from kubeserver.starting import start_apiserver
from kubeserver.store import Store
from kubeserver.store.memory import MemoryMedium
from kubeserver.webhooks.calling import PassedOver, WebhookClient, nobody

ANSWER_SECONDS = 60
"""Ends what would hang, on a busy machine, too."""
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


class Answer(NamedTuple):
    code: int
    body: Any
    headers: dict[str, str]

    @property
    def name(self) -> str:
        return self.body["metadata"]["name"]

    @property
    def version(self) -> str:
        return self.body["metadata"]["resourceVersion"]

    @property
    def names(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.body["items"]]


class ApiWorld:
    """One server and how to talk to it."""

    def __init__(self, server: ApiServer, store: Store) -> None:
        self.server = server
        self.store = store
        self.transport = InProcessTransport(server)

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: dict[str, str] | None = None,
        accept: str = "application/json",
        content_type: str = "application/json",
        user: User = ADMIN,
    ) -> Answer:
        data = body if isinstance(body, bytes) else codec.encode(body) if body is not None else b""
        headers = {"accept": accept, "content-type": content_type}
        transport = InProcessTransport(self.server, user)
        request = Request(method, path, query or {}, headers, data)
        response = await transport.send(request, timeout_seconds=ANSWER_SECONDS)
        return Answer(response.code, _decoded(response), dict(response.headers))

    async def get(self, path: str, **query: str) -> Answer:
        return await self.call("GET", path, query=query)

    async def create(self, path: str, body: Any, **query: str) -> Answer:
        return await self.call("POST", path, body, query=query)

    async def update(self, path: str, body: Any) -> Answer:
        return await self.call("PUT", path, body)

    async def patch(self, path: str, body: Any, content_type: str = MERGE, **query: str) -> Answer:
        return await self.call("PATCH", path, body, query=query, content_type=content_type)

    async def delete(self, path: str, body: Any = None, **query: str) -> Answer:
        return await self.call("DELETE", path, body, query=query)

    async def watch(self, path: str, count: int, **query: str) -> list[tuple[str, Any]]:
        """The first `count` frames, or all until the stream ends."""
        frames: list[tuple[str, Any]] = []
        request = Request(
            "GET", path, {"watch": "true", "timeoutSeconds": "5", **query}, {"accept": "application/json"}
        )
        async with self.transport.stream(request) as lines:
            async for line in lines:
                frame = codec.decode_manifest(line)
                frames.append((frame["type"], frame["object"]))
                if len(frames) == count:
                    break
        return frames


def _decoded(response: Response) -> Any:
    content_type = response.headers.get("content-type", "")
    if content_type.endswith("+protobuf"):
        return response.body
    if "json" not in content_type:
        return response.body.decode(errors="replace")
    return codec.decode(response.body, dict[str, Any])


@asynccontextmanager
async def api_world(
    medium: MemoryMedium | None = None,
    crds: Sequence[Manifest] = (),
    admission: Sequence[Admission] = (),
    webhook_client: WebhookClient | None = None,
    clock: VirtualClock | None = None,
    seed: int = 7,
    objects: Sequence[Manifest] = (),
    admission_over: Callable[[Store], Sequence[Admission]] = lambda _: (),
    passed_over: PassedOver = nobody,
) -> AsyncGenerator[ApiWorld, None]:
    """`admission_over` makes admission that looks into the server's own store."""
    async with AsyncExitStack() as stack:
        supervisor = await stack.enter_async_context(Supervisor("test"))
        store = await Store.open(medium or MemoryMedium(), supervisor)
        stack.push_async_callback(store.close)
        server = await start_apiserver(
            store,
            clock or VirtualClock(),
            Randomness(seed),
            supervisor,
            (*admission, *admission_over(store)),
            crds,
            objects,
            metrics=CollectorRegistry(),
            webhook_client=webhook_client,
            passed_over=passed_over,
        )
        yield ApiWorld(server, store)


def tell(
    story: Callable[[ApiWorld], Awaitable[None]],
    crds: Sequence[Manifest] = (),
    webhook_client: WebhookClient | None = None,
    admission: Sequence[Admission] = (),
    objects: Sequence[Manifest] = (),
    passed_over: PassedOver = nobody,
) -> None:
    """Plays `story` on a fresh server, on virtual time."""

    async def play() -> None:
        async with api_world(None, crds, admission, webhook_client, objects=objects, passed_over=passed_over) as world:
            await story(world)

    run_virtual(play())


def who(world: ApiWorld, token: str) -> str:
    """The name of the user that a token stands for; empty for one that is worth nothing."""
    request = Request("GET", "/", {}, {"authorization": f"Bearer {token}"})
    try:
        return world.server.authenticator.authenticate(request, None).name
    except BadCredential:
        return ""


def config_map(name: str, **data: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def pod(name: str, **spec: Any) -> Manifest:
    containers = [{"name": "main", "image": "image:1"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def deployment(name: str, replicas: int = 1) -> Manifest:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "image:1"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def widget(name: str, **spec: Any) -> Manifest:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def widgets(plural: str = "widgets", kind: str = "Widget") -> Manifest:
    """A definition with two served versions, subresources, limits, defaults and columns."""
    size = {"type": "integer", "minimum": 1, "maximum": 100}
    spec = {
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": size,
            "color": {"type": "string", "enum": ["red", "green"], "default": "red"},
            "port": {"x-kubernetes-int-or-string": True},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "replicas": {"type": "integer", "default": 1},
            "when": {"type": "string", "format": "date-time"},
            "note": {"type": "string", "nullable": True},
        },
    }
    status = {"type": "object", "properties": {"phase": {"type": "string"}, "replicas": {"type": "integer"}}}
    root: Manifest = {"type": "object", "required": ["spec"], "properties": {"spec": spec, "status": status}}
    version = {
        "served": True,
        "schema": {"openAPIV3Schema": root},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        },
        "additionalPrinterColumns": [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
        ],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "shortNames": [plural[:2]]},
            "versions": [
                {**version, "name": "v1", "storage": True},
                {**version, "name": "v1beta1", "storage": False, "deprecated": True},
            ],
        },
    }
