"""Questions to the webhook: none are about Works that bring their identity, which are most of all creations, nor about
updates that change nothing which is judged."""

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import pytest

from kubeapi.loop.clock import SystemClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, Request, Response, Transport
from kubeclient.client import MERGE_PATCH
from kubeserver.handler import User
from kubeserver.inprocess import ADMIN
from leeward.api.names import (
    AGENT_GROUP,
    AGENT_USER_PREFIX,
    ALLOW_HTTP_ANNOTATION,
    BINDING_ID_LABEL,
    NOT_READY_TAINT,
    WORK_ID_LABEL,
)
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS, WORKS
from leeward.api.rules.bindings import DEPENDENCIES_ANNOTATION
from leeward.api.schema import custom_resource_definitions
from leeward.webhook import Endpoint, Webhook, WebhookSettings
from leeward.webhook.conditions import CONDITIONS
from leeward.webhook.configurations import MUTATING, configurations
from tests.certificates import Authority
from tests.kubeserver.api_world import api_world
from tests.kubeserver.webhooks import InProcessWebhooks, allow, url_of

ENDPOINT = Endpoint("https://webhook.example")
AUTHORITIES = Authority("one").certificate, Authority("another").certificate


@pytest.mark.parametrize(
    ("labels", "asked"),
    [({WORK_ID_LABEL: "an-id"}, False), ({WORK_ID_LABEL: ""}, True), ({"other": "x"}, True), (None, True)],
)
def test_a_work_that_brings_its_identity_asks_nobody(labels: dict[str, str] | None, asked: bool) -> None:
    hooks = InProcessWebhooks(defaults=allow)

    async def story() -> None:
        async with api_world(crds=custom_resource_definitions(), webhook_client=hooks) as world:
            ((resource, wanted),) = [each for each in configurations(ENDPOINT, b"") if each[0] is MUTATING]
            wanted["webhooks"][0]["clientConfig"] = {"url": url_of("defaults")}
            assert (await world.create(resource.path(), wanted)).code == 201
            manifest: Manifest = {
                "apiVersion": WORKS.api_version,
                "kind": WORKS.kind,
                "metadata": {"name": "a", **({} if labels is None else {"labels": labels})},
                "spec": {"workload": {"manifests": []}},
            }
            created = await world.create(WORKS.path("default"), manifest)
            assert created.code == 201, created.body
            assert len(hooks.requests["defaults"]) == asked

    run_virtual(story())


class OlderServer:
    """Drops what it does not know, as servers before 1.28 do. `written` are the methods of what was written."""

    def __init__(self, inner: Transport, *, knows: bool) -> None:
        self._inner = inner
        self._knows = knows
        self.written: list[str] = []

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        if request.body:
            self.written.append(request.method)
            body = json.loads(request.body)
            for hook in body["webhooks"]:
                if not self._knows:
                    hook.pop(CONDITIONS, None)
            request = msgspec.structs.replace(request, body=json.dumps(body).encode())
        return await self._inner.send(request, timeout_seconds=timeout_seconds)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


@pytest.mark.parametrize(("knows", "written"), [(True, ["POST", "POST"]), (False, ["POST", "POST", "PATCH"])])
def test_a_server_that_drops_the_condition_is_told_once_more_and_then_left_alone(
    knows: bool, written: list[str]
) -> None:
    async def story() -> None:
        async with api_world() as world:
            server = OlderServer(world.transport, knows=knows)
            settings = WebhookSettings(endpoint=ENDPOINT, host="127.0.0.1", port=0)
            webhook = Webhook(Client(server), SystemClock(), Randomness(1), settings)
            for _ in range(4):
                await webhook._configure(AUTHORITIES[0])  # pyright: ignore[reportPrivateUsage]
            assert server.written == written
            await webhook._configure(AUTHORITIES[1])  # pyright: ignore[reportPrivateUsage]
            assert server.written == [*written, "PATCH", "PATCH"]

    run_virtual(story())


READY_TAINT, OTHER_TAINT = ({"key": key, "effect": "NoExecute"} for key in (NOT_READY_TAINT, "example.com/mine"))
REFERENCE: Manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}
CLUSTER: Manifest = {"syncMode": "Push", "apiEndpoint": "https://one.example", "taints": [OTHER_TAINT]}
BINDING: Manifest = {"resource": REFERENCE, "clusters": [{"name": "member1"}]}
AGENT = User(AGENT_USER_PREFIX + "member1", (AGENT_GROUP, "system:masters"))
MOVED: Manifest = {
    "metadata": {"annotations": {"policy.karmada.io/applied-placement": "{}"}},
    "spec": {
        "clusters": [{"name": "member2"}],
        "gracefulEvictionTasks": [{"fromCluster": "member1", "producer": "p", "reason": "r"}],
        "requiredBy": [{"namespace": "default", "name": "other"}],
    },
}


@pytest.mark.parametrize(
    ("resource", "spec", "patch", "user", "asked"),
    [
        (CLUSTERS, CLUSTER, {"spec": {"taints": [READY_TAINT, OTHER_TAINT]}}, ADMIN, False),
        (CLUSTERS, {**CLUSTER, "taints": None}, {"spec": {"taints": [READY_TAINT]}}, ADMIN, False),
        (CLUSTERS, {**CLUSTER, "taints": [READY_TAINT]}, {"spec": {"taints": None}}, ADMIN, False),
        (CLUSTERS, CLUSTER, {"metadata": {"annotations": {"example.com/noted": "yes"}}}, ADMIN, False),
        (CLUSTERS, CLUSTER, {"spec": {"taints": [READY_TAINT]}}, ADMIN, True),
        (CLUSTERS, CLUSTER, {"spec": {"apiEndpoint": "https://other.example"}}, ADMIN, True),
        (CLUSTERS, CLUSTER, {"spec": {"apiEndpoint": None}}, ADMIN, True),
        (CLUSTERS, CLUSTER, {"spec": {"proxyURL": "https://other.example"}}, ADMIN, True),
        (CLUSTERS, CLUSTER, {"metadata": {"annotations": {ALLOW_HTTP_ANNOTATION: "true"}}}, ADMIN, True),
        (CLUSTERS, CLUSTER, {"metadata": {"labels": {"example.com/noted": "yes"}}}, ADMIN, True),
        (CLUSTERS, CLUSTER, {"spec": {"taints": [READY_TAINT, OTHER_TAINT]}}, AGENT, True),
        (RESOURCE_BINDINGS, BINDING, MOVED, ADMIN, False),
        (RESOURCE_BINDINGS, BINDING, {"spec": {"resource": {"name": "other"}}}, ADMIN, True),
        (RESOURCE_BINDINGS, BINDING, {"spec": {"components": [{"name": "a", "replicas": 1}]}}, ADMIN, True),
        (RESOURCE_BINDINGS, BINDING, {"metadata": {"labels": {BINDING_ID_LABEL: "other"}}}, ADMIN, True),
        (RESOURCE_BINDINGS, BINDING, {"metadata": {"annotations": {DEPENDENCIES_ANNOTATION: "{"}}}, ADMIN, True),
    ],
)
def test_an_update_asks_nobody_that_changes_nothing_which_is_judged(
    resource: Resource[Any], spec: Manifest, patch: Manifest, user: User, asked: bool
) -> None:
    assert bool(questions_about(resource, spec, patch, user)) is asked


def test_where_quotas_are_enforced_each_placement_is_judged() -> None:
    assert len(questions_about(RESOURCE_BINDINGS, BINDING, MOVED, ADMIN, quotas=True)) == 1


def questions_about(
    resource: Resource[Any], spec: Manifest, patch: Manifest, user: User, *, quotas: bool = False
) -> list[Any]:
    """Questions to the webhook about an update of an object with this spec."""
    hooks = InProcessWebhooks(hook=allow)

    async def story() -> None:
        async with api_world(crds=custom_resource_definitions(), webhook_client=hooks) as world:
            path = resource.path("default" if resource.namespaced else "")
            wanted = {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": {"name": "a"},
                "spec": spec,
            }
            made = await world.create(path, wanted)
            assert made.code == 201, made.body
            for kind, configuration in configurations(ENDPOINT, b"", quotas=quotas):
                for each in configuration["webhooks"]:
                    each["clientConfig"] = {"url": url_of("hook")}
                assert (await world.create(kind.path(), configuration)).code == 201
            answer = await world.call("PATCH", f"{path}/a", patch, content_type=MERGE_PATCH, user=user)
            assert answer.code == 200, answer.body

    run_virtual(story())
    return hooks.requests["hook"]
