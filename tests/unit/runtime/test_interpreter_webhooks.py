"""A kind that only a webhook understands, over HTTPS; and what becomes of answers that make no sense."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from kubeapi.codec import from_wire
from kubeapi.loop.clock import SystemClock
from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import Manifest
from leeward.api.interpreter_config import (
    DependentObjectReference,
    ResourceInterpreterCustomization,
    ResourceInterpreterWebhookConfiguration,
)
from leeward.core.interpreter.resource_health import ResourceHealth
from leeward.lua.jail import LocalJail
from leeward.runtime.interpreter import Interpreter, NotInterpreted
from leeward.runtime.interpreter_webhooks import HttpsCalls, InterpreterWebhooks
from leeward.runtime.webhook_queue import NotAnsweredYet
from tests.certificates import Authority
from tests.https_server import Answer, Asked, https_server

GROUP_VERSION = "example.com/v1"
OBJECT: Manifest = {
    "apiVersion": GROUP_VERSION,
    "kind": "Farm",
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"size": 4, "labels": {}},
    "status": {"grown": 3},
}
Says = Callable[[dict[str, Any]], dict[str, Any]]
"""Function from the request to the response, without its uid."""


Ask = Callable[[Interpreter], Awaitable[Any]]


def interpreted(
    directory: Path, says: Says, ask: Ask, scripts: dict[str, str] | None = None
) -> tuple[Any, list[dict[str, Any]]]:
    """Answer of the interpreter when a webhook says this, and what the webhook was asked."""
    requests = list[dict[str, Any]]()

    def answer(asked: Asked) -> tuple[int, bytes]:
        assert (asked.method, asked.path, asked.content_type) == ("POST", "/farms?timeout=29s", "application/json")
        context = json.loads(asked.body)
        requests.append(context["request"])
        response = {"uid": context["request"]["uid"], "successful": True, **says(context["request"])}
        head = {"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterContext"}
        return 200, json.dumps({**head, "response": response}).encode()

    return over_https(directory, answer, ask, scripts), requests


def over_https(directory: Path, answer: Answer, ask: Ask, scripts: dict[str, str] | None = None) -> Any:
    """Answer of an interpreter that asks a webhook over HTTPS."""
    authority = Authority()

    async def main(port: int) -> Any:
        calls = HttpsCalls()
        client = {
            "url": f"https://127.0.0.1:{port}/farms",
            "caBundle": base64.b64encode(authority.certificate).decode(),
        }
        rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "kinds": ["Farm", "Workload"]}
        hook = {"name": "farms.example.com", "clientConfig": client, "rules": [rule], "timeoutSeconds": 29}
        configuration = from_wire(
            {"metadata": {"name": "farms"}, "webhooks": [{**hook, "interpreterContextVersions": ["v1alpha1"]}]},
            ResourceInterpreterWebhookConfiguration,
        )
        rules = {field: {"luaScript": text} for field, text in (scripts or {}).items()}
        target = {"apiVersion": GROUP_VERSION, "kind": "Farm"}
        customization = from_wire(
            {"metadata": {"name": "farms"}, "spec": {"target": target, "customizations": rules}},
            ResourceInterpreterCustomization,
        )

        async def configurations() -> list[ResourceInterpreterWebhookConfiguration]:
            return [configuration]

        async def customizations() -> list[ResourceInterpreterCustomization]:
            return [customization]

        async with Supervisor("webhooks") as supervisor:
            webhooks = InterpreterWebhooks(configurations, calls, SystemClock(), supervisor)
            try:
                return await answered(Interpreter(customizations, LocalJail(), SystemClock(), webhooks), ask)
            finally:
                await calls.close()

    with https_server(answer, authority.server_context(directory)) as port:
        return asyncio.run(main(port))


async def answered(interpreter: Interpreter, ask: Ask) -> Any:
    """Asks again, as controllers do, until there is an answer: on a busy machine a webhook may be slow."""
    while True:
        try:
            return await ask(interpreter)
        except NotAnsweredYet:
            await asyncio.sleep(0.05)


def patch(*operations: dict[str, Any]) -> dict[str, Any]:
    return {"patch": base64.b64encode(json.dumps(operations).encode()).decode(), "patchType": "JSONPatch"}


def test_replicas_and_requirements_are_those_of_the_webhook(tmp_path: Path) -> None:
    def says(request: dict[str, Any]) -> dict[str, Any]:
        return {"replicas": request["object"]["spec"]["size"], "replicaRequirements": {"resourceRequest": {"cpu": "1"}}}

    found, [request] = interpreted(tmp_path, says, lambda interpreter: interpreter.replicas(OBJECT))
    assert (found.replicas, dict(found.requirements.resource_request)) == (4, {"cpu": "1"})
    assert request["kind"] == {"group": "example.com", "version": "v1", "kind": "Farm"}
    assert (request["operation"], request["name"], request["namespace"]) == ("InterpretReplica", "a", "default")


def test_the_object_is_changed_by_the_patch_and_no_empty_map_is_lost(tmp_path: Path) -> None:
    def says(request: dict[str, Any]) -> dict[str, Any]:
        return patch({"op": "replace", "path": "/spec/size", "value": request["replicas"]})

    found, _ = interpreted(tmp_path, says, lambda interpreter: interpreter.revise(OBJECT, 2))
    assert found == {**OBJECT, "spec": {"size": 2, "labels": {}}}


def test_what_the_member_has_is_sent_along_for_retention(tmp_path: Path) -> None:
    def says(request: dict[str, Any]) -> dict[str, Any]:
        return patch({"op": "add", "path": "/spec/node", "value": request["observedObject"]["spec"]["node"]})

    observed = {**OBJECT, "spec": {"size": 9, "node": "n-1"}}
    found, _ = interpreted(tmp_path, says, lambda interpreter: interpreter.retain(OBJECT, observed))
    assert found["spec"] == {"size": 4, "labels": {}, "node": "n-1"}


def test_statuses_health_and_dependencies_are_those_of_the_webhook(tmp_path: Path) -> None:
    answers = {
        "AggregateStatus": patch({"op": "replace", "path": "/status/grown", "value": 8}),
        "InterpretStatus": {"rawStatus": {"grown": 3}},
        "InterpretHealth": {"healthy": False},
        "InterpretDependency": {"dependencies": [{"apiVersion": "v1", "kind": "Secret", "name": "key"}]},
    }

    async def ask(interpreter: Interpreter) -> tuple[Any, ...]:
        return (
            await interpreter.aggregate(OBJECT, []),
            await interpreter.status(OBJECT),
            await interpreter.health(OBJECT),
            await interpreter.dependencies(OBJECT),
            await interpreter.has_dependencies(OBJECT),
        )

    (aggregated, *others), _ = interpreted(tmp_path, lambda request: answers[request["operation"]], ask)
    assert aggregated["status"] == {"grown": 8}
    secret = DependentObjectReference(api_version="v1", kind="Secret", name="key")
    assert others == [{"grown": 3}, ResourceHealth.UNHEALTHY, [secret], True]


def test_a_script_answers_before_the_webhook(tmp_path: Path) -> None:
    script = {"healthInterpretation": "function InterpretHealth(o) return true end"}
    found, requests = interpreted(tmp_path, lambda _: {}, lambda interpreter: interpreter.health(OBJECT), script)
    assert (found, requests) == (ResourceHealth.HEALTHY, [])


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"successful": False, "status": {"message": "no such farm"}}, "did not succeed: no such farm"),
        ({"uid": "another"}, "response.uid must be '1'"),
        ({}, "response.replicas is missing"),
        ({"replicas": "many"}, "must return a number"),
    ],
)
def test_an_answer_that_makes_no_sense_is_none(tmp_path: Path, said: dict[str, Any], problem: str) -> None:
    with pytest.raises(NotInterpreted, match=problem):
        interpreted(tmp_path, lambda _: said, lambda interpreter: interpreter.replicas(OBJECT))


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (patch({"op": "replace", "path": "/metadata/name", "value": "b"}), "has changed metadata.name"),
        (patch({"op": "remove", "path": "/spec/none"}), "response.patch cannot be applied"),
        ({"patch": "W10=", "patchType": "MergePatch"}, "response.patchType must be JSONPatch"),
        ({"patch": "no base64", "patchType": "JSONPatch"}, "response.patch cannot be applied"),
    ],
)
def test_a_patch_reaches_no_other_object(tmp_path: Path, said: dict[str, Any], problem: str) -> None:
    """Holds: S6."""
    with pytest.raises(NotInterpreted, match=problem):
        interpreted(tmp_path, lambda _: said, lambda interpreter: interpreter.revise(OBJECT, 2))
