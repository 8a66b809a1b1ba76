"""Interpreter webhooks: which one is asked, what and where, and what is made of an answer."""

import base64
from typing import Any

import pytest

from kubeapi.codec import decode_any, encode, from_wire
from kubeapi.jsonpatch import MAX_OPERATIONS
from kubeapi.meta import Manifest
from leeward.api.interpreter_config import ResourceInterpreterWebhook, ResourceInterpreterWebhookConfiguration
from leeward.core.interpreter.rules import InterpretationError
from leeward.core.interpreter.scripts import Operation
from leeward.core.interpreter.webhook_exchange import (
    address_of,
    answer_in,
    components_in,
    dependencies_in,
    health_in,
    hook_for,
    patched,
    question,
    replicas_in,
    seconds_of,
    status_in,
)

FARM: Manifest = {
    "apiVersion": "example.com/v1",
    "kind": "Farm",
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"size": 4},
}


def rule(**fields: list[str]) -> Manifest:
    whole = {"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["v1"], "kinds": ["Farm"]}
    return {**whole, **fields}


def hook(
    name: str = "h", url: str | None = "https://h.example/farms", seconds: int | None = None, **client: Any
) -> Manifest:
    where = {**({"url": url} if url else {}), **client}
    return {
        "name": name,
        "clientConfig": where,
        "interpreterContextVersions": ["v1alpha1"],
        "timeoutSeconds": seconds,
    }


def typed(wire: Manifest) -> ResourceInterpreterWebhook:
    return from_wire(wire, ResourceInterpreterWebhook)


def configuration(name: str, *hooks: Manifest) -> ResourceInterpreterWebhookConfiguration:
    wire = {"metadata": {"name": name}, "webhooks": list(hooks)}
    return from_wire(wire, ResourceInterpreterWebhookConfiguration)


def asked(*rules: Manifest, api_version: str = "example.com/v1", kind: str = "Farm") -> bool:
    configurations = [configuration("c", {**hook(), "rules": list(rules)})]
    return hook_for(configurations, api_version, kind, Operation.HEALTH) is not None


@pytest.mark.parametrize(
    ("fields", "answers"),
    [
        ({}, True),
        ({"operations": ["InterpretHealth"]}, True),
        ({"operations": ["Retain", "InterpretHealth"]}, True),
        ({"operations": ["Retain"]}, False),
        ({"operations": []}, False),
        ({"apiGroups": ["*"]}, True),
        ({"apiGroups": ["other.com"]}, False),
        ({"apiVersions": ["*"]}, True),
        ({"apiVersions": ["v2"]}, False),
        ({"kinds": ["*"]}, True),
        ({"kinds": ["Barn"]}, False),
    ],
)
def test_a_rule_names_operation_group_version_and_kind(fields: dict[str, list[str]], *, answers: bool) -> None:
    assert asked(rule(**fields)) is answers
    assert asked(rule(kinds=["Other"]), rule(**fields)) is answers, "one of the rules is enough"


def test_the_core_group_is_the_empty_one() -> None:
    assert asked(rule(apiGroups=[""], kinds=["Pod"]), api_version="v1", kind="Pod")
    assert not asked(rule(kinds=["Pod"]), api_version="v1", kind="Pod")


def test_the_first_by_the_name_of_its_configuration_answers() -> None:
    named = {"rules": [rule()]}
    configurations = [
        configuration("b", {**hook("b1"), **named}),
        configuration("a", {**hook("a1"), "rules": []}, {**hook("a2"), **named}, {**hook("a3"), **named}),
    ]
    found = hook_for(configurations, "example.com/v1", "Farm", Operation.HEALTH)
    assert found is not None
    assert found.name == "a2"
    assert hook_for([], "example.com/v1", "Farm", Operation.HEALTH) is None


@pytest.mark.parametrize(("given", "seconds"), [(None, 10), (0, 10), (-3, 1), (1, 1), (7, 7), (30, 30), (31, 30)])
def test_an_answer_is_waited_for_within_bounds(given: int | None, seconds: int) -> None:
    assert seconds_of(typed(hook(seconds=given))) == seconds


NO_QUERY: dict[str, str] = {}


@pytest.mark.parametrize(
    ("wire", "address"),
    [
        (hook(), ("https://h.example", "/farms", NO_QUERY)),
        (hook(url="https://h.example:8443"), ("https://h.example:8443", "/", NO_QUERY)),
        (hook(url="https://h.example/a/b?x=1&y=2"), ("https://h.example", "/a/b", {"x": "1", "y": "2"})),
        (hook(url=None, service={"name": "s", "namespace": "n"}), ("https://s.n.svc:443", "/", NO_QUERY)),
        (
            hook(url=None, service={"name": "s", "namespace": "n", "port": 8443, "path": "/a"}),
            ("https://s.n.svc:8443", "/a", NO_QUERY),
        ),
        (hook(url=None, service={"name": "s", "namespace": "n", "path": "a"}), ("https://s.n.svc:443", "/a", NO_QUERY)),
    ],
)
def test_a_webhook_is_where_its_address_or_its_service_says(
    wire: Manifest, address: tuple[str, str, dict[str, str]]
) -> None:
    assert address_of(typed(wire)) == address


def test_a_question_names_the_object_and_what_belongs_to_the_operation() -> None:
    assert decode_any(question("u", Operation.RETAIN, FARM, observedObject={"a": 1})) == {
        "apiVersion": "config.karmada.io/v1alpha1",
        "kind": "ResourceInterpreterContext",
        "request": {
            "uid": "u",
            "kind": {"group": "example.com", "version": "v1", "kind": "Farm"},
            "name": "a",
            "namespace": "default",
            "operation": "Retain",
            "object": FARM,
            "replicas": 0,
            "observedObject": {"a": 1},
        },
    }
    bare = decode_any(question("u", Operation.HEALTH, {}))["request"]
    assert (bare["kind"], bare["name"], bare["namespace"]) == ({"group": "", "version": "", "kind": ""}, "", "")


HEAD = {"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterContext"}


def test_a_question_about_a_kind_of_the_core_group_has_no_group() -> None:
    asked = decode_any(question("u", Operation.HEALTH, {"apiVersion": "v1", "kind": "Pod"}))["request"]
    assert asked["kind"] == {"group": "", "version": "v1", "kind": "Pod"}


def answered(**response: Any) -> bytes:
    return encode({**HEAD, "response": {"uid": "u", "successful": True, **response}})


def test_an_answer_is_its_response() -> None:
    assert answer_in(200, answered(replicas=3), "u") == {"uid": "u", "successful": True, "replicas": 3}


@pytest.mark.parametrize(
    ("code", "body", "problem"),
    [
        (500, answered(), "it answered with code 500"),
        (199, answered(), "it answered with code 199"),
        (207, answered(), "it answered with code 207"),
        (404, b"404 page not found\n", "it answered with code 404: 404 page not found"),
        (503, b"", "it answered with code 503: nothing"),
        (502, b"x" * 300, f"it answered with code 502: {'x' * 200}"),
        (200, b"", "its answer is no JSON: "),
        (200, b"null", "its answer is no object"),
        (200, b"{", "its answer is no JSON: "),
        (200, b"[" * 100_000, "its answer is no JSON: nested too deeply"),
        (200, b"[]", "its answer is no object"),
        (
            200,
            encode({"apiVersion": "v1", "kind": "Status", "message": "no such farm"}),
            "its answer must be a ResourceInterpreterContext of config.karmada.io/v1alpha1, not "
            '{"apiVersion":"v1","kind":"Status","message":"no such farm"}',
        ),
        (200, encode({**HEAD, "kind": "Other", "response": {}}), "its answer must be a ResourceInterpreterContext of"),
        (200, encode({**HEAD, "apiVersion": "v2"}), "its answer must be a ResourceInterpreterContext of"),
        (200, encode(HEAD), "its answer has no response"),
        (200, encode({"response": None}), "its answer has no response"),
        (200, encode({"response": {}}), "it did not succeed: it does not say why"),
        (200, encode({**HEAD, "response": []}), "its answer has no response"),
        (200, answered(uid="v"), "response.uid must be 'u', not 'v'"),
        (200, answered(uid=None), "response.uid must be 'u', not None"),
        (200, answered(successful=False), "it did not succeed: it does not say why"),
        (200, answered(successful=False, replicas=0, healthy=False), "it did not succeed: it does not say why"),
        (200, answered(successful=False, uid="", status={"message": "no JSON"}), "it did not succeed: no JSON"),
        (200, answered(successful=False, status={"code": 403}), "it did not succeed: it does not say why (code 403)"),
        (200, answered(successful="true"), "it did not succeed: it does not say why"),
        (200, answered(successful=False, status={"message": "no farm"}), "it did not succeed: no farm"),
        (200, answered(successful=False, status="no farm"), "it did not succeed: it does not say why"),
    ],
)
def test_an_answer_that_makes_no_sense_says_so(code: int, body: bytes, problem: str) -> None:
    with pytest.raises(InterpretationError) as refused:
        answer_in(code, body, "u")
    assert str(refused.value).startswith(problem)


@pytest.mark.parametrize("head", [HEAD, {}, {"kind": HEAD["kind"]}, {"apiVersion": HEAD["apiVersion"], "kind": ""}])
@pytest.mark.parametrize("code", [200, 201, 206])
def test_an_answer_need_not_name_its_kind(head: Manifest, code: int) -> None:
    body = encode({**head, "response": {"uid": "u", "successful": True, "status": {"code": 500}, "replicas": 3}})
    assert answer_in(code, body, "u")["replicas"] == 3


def test_replicas_components_health_and_dependencies_are_read_from_their_fields() -> None:
    needs = {"resourceRequest": {"cpu": "1"}}
    found = replicas_in({"replicas": 3, "replicaRequirements": needs})
    assert found.replicas == 3
    assert found.requirements is not None
    assert found.requirements.resource_request == {"cpu": "1"}
    assert replicas_in({"replicas": 0}).requirements is None
    (component,) = components_in({"components": [{"name": "worker", "replicas": 2}]})
    assert (component.name, component.replicas) == ("worker", 2)
    assert components_in({}) == ()
    assert health_in({"healthy": True})
    assert not health_in({"healthy": False})
    (secret,) = dependencies_in({"dependencies": [{"apiVersion": "v1", "kind": "Secret", "name": "key"}]})
    assert (secret.api_version, secret.kind, secret.name) == ("v1", "Secret", "key")
    assert dependencies_in({}) == dependencies_in({"dependencies": None}) == []
    assert status_in({"rawStatus": {"grown": 3}}) == {"grown": 3}
    assert status_in({"rawStatus": {}}) == {}


@pytest.mark.parametrize(
    ("read", "field"), [(replicas_in, "replicas"), (health_in, "healthy"), (status_in, "rawStatus")]
)
def test_what_is_missing_is_not_nothing(read: Any, field: str) -> None:
    for response in ({}, {field: None}):
        with pytest.raises(InterpretationError) as refused:
            read(response)
        assert str(refused.value) == f"response.{field} is missing"


def patch(operations: Any, **more: Any) -> Manifest:
    return {"patch": base64.b64encode(encode(operations)).decode(), "patchType": "JSONPatch", **more}


def grown(size: int) -> list[Manifest]:
    return [{"op": "replace", "path": "/spec/size", "value": size}]


def test_an_object_is_changed_by_the_patch_and_what_was_given_stays() -> None:
    assert patched(patch(grown(5)), FARM) == {**FARM, "spec": {"size": 5}}
    assert FARM["spec"] == {"size": 4}
    for response in ({}, {"patch": ""}, {"patch": None, "patchType": None}, patch([]), patch(None)):
        same = patched(response, FARM)
        assert same == FARM
        assert same is not FARM
    assert patched(patch(grown(5) * MAX_OPERATIONS), FARM)["spec"] == {"size": 5}


@pytest.mark.parametrize(
    ("response", "problem"),
    [
        (patch(grown(5), patchType="MergePatch"), "response.patchType must be JSONPatch, not 'MergePatch'"),
        ({"patchType": "JSONPatch"}, "response.patch is missing"),
        ({"patch": "", "patchType": "JSONPatch"}, "response.patch is missing"),
        ({"patch": "", "patchType": "Other"}, "response.patchType must be JSONPatch, not 'Other'"),
        (patch(grown(5), patchType=None), "response.patchType must be JSONPatch, not None"),
        ({"patch": "no base64", "patchType": "JSONPatch"}, "response.patch cannot be applied: "),
        ({"patch": "W10=!", "patchType": "JSONPatch"}, "response.patch cannot be applied: "),
        ({"patch": "ew==", "patchType": "JSONPatch"}, "response.patch cannot be applied: "),
        (
            patch({"op": "add"}),
            f"response.patch cannot be applied: it must be a list of at most {MAX_OPERATIONS} operations",
        ),
        (
            patch(grown(5) * (MAX_OPERATIONS + 1)),
            f"response.patch cannot be applied: it must be a list of at most {MAX_OPERATIONS} operations",
        ),
        (patch([{"op": "remove", "path": "/none"}]), "response.patch cannot be applied: "),
        (patch([{"op": "replace", "path": "", "value": []}]), "response.patch leaves no object"),
    ],
)
def test_a_patch_that_cannot_be_applied_says_why(response: Manifest, problem: str) -> None:
    with pytest.raises(InterpretationError) as refused:
        patched(response, FARM)
    assert str(refused.value).startswith(problem)
