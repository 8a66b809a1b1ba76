"""Answers to requests that no recorded conversation has, in the words of kube-apiserver."""

from typing import Any

import pytest

from kubeapi.status import quoted
from tests.kubeserver.api_world import (
    CONFIG_MAPS,
    DEFINITIONS,
    MERGE,
    PODS,
    WIDGETS,
    Answer,
    ApiWorld,
    config_map,
    pod,
    tell,
    widget,
    widgets,
)

JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
SECRETS = "/api/v1/namespaces/default/secrets"
EXISTING = f"{CONFIG_MAPS}/cm"
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "1", "controller": True}
GO_MAP = "Go value of type map[string]interface {}"


async def _apply(world: ApiWorld, path: str, config: Any) -> Answer:
    return await world.patch(path, config, "application/apply-patch+yaml", fieldManager="m")


async def prepare(world: ApiWorld) -> None:
    await world.create(CONFIG_MAPS, config_map("cm", key="value"))
    await world.create(DEFINITIONS, widgets())
    await world.create(WIDGETS, widget("w", size=1))


QUERIES = [
    ({"limit": "9" * 19}, 'strconv.ParseInt: parsing "9999999999999999999": value out of range'),
    ({"limit": "x"}, 'strconv.ParseInt: parsing "x": invalid syntax'),
    ({"limit": "9" * 5000}, f'strconv.ParseInt: parsing "{"9" * 5000}": value out of range'),
    ({"continue": "é"}, "invalid continue token: continue key is not valid: illegal base64 data at input byte 0"),
    ({"continue": "x"}, "invalid continue token: continue key is not valid: illegal base64 data at input byte 0"),
    (
        {"continue": "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiIifQ"},
        "invalid continue token: continue key is not valid: encoded start key empty (version meta.k8s.io/v1)",
    ),
    (
        {"continue": "e30"},
        "invalid continue token: continue key is not valid: server does not recognize this encoded version ",
    ),
    ({"fieldSelector": "metadata.name=a=b"}, "invalid field selector: unescaped character in value: 61"),
]


@pytest.mark.parametrize(("query", "said"), QUERIES)
def test_a_list_says_what_is_wrong_with_its_options(query: dict[str, str], said: str) -> None:
    async def story(world: ApiWorld) -> None:
        refused = await world.get(CONFIG_MAPS, **query)
        assert (refused.code, refused.body["message"]) == (400, said)

    tell(story)


@pytest.mark.parametrize("seconds", ["9" * 18, "9" * 30])
def test_a_deletion_may_be_asked_for_after_any_time(seconds: str) -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(PODS, pod("p", nodeName="n"))
        answer = await world.delete(f"{PODS}/p", gracePeriodSeconds=seconds)
        if len(seconds) > 18:
            assert (answer.code, "value out of range" in answer.body["message"]) == (400, True)
        else:
            assert answer.body["metadata"]["deletionGracePeriodSeconds"] == int(seconds)
            assert answer.body["metadata"]["deletionTimestamp"].startswith("2057-")

    tell(story)


@pytest.mark.parametrize(
    ("group", "kind", "spec", "said"),
    [
        ("authentication", "TokenReview", {"token": 1}, "number into Go struct field TokenReviewSpec.spec.token of"),
        ("authentication", "TokenReview", True, "bool into Go struct field TokenReview.spec of"),
        ("authorization", "SelfSubjectRulesReview", {"namespace": []}, "array into Go struct field SelfSubjectRules"),
    ],
)
def test_a_review_says_which_field_is_of_another_type(group: str, kind: str, spec: Any, said: str) -> None:
    async def story(world: ApiWorld) -> None:
        refused = await world.create(f"/apis/{group}.k8s.io/v1/{kind.lower()}s", {"spec": spec})
        assert (refused.code, f"json: cannot unmarshal {said}" in refused.body["message"]) == (400, True), refused.body

    tell(story)


def test_warnings_are_few_enough_for_a_header_and_break_none() -> None:
    async def story(world: ApiWorld) -> None:
        answer = await world.create(CONFIG_MAPS, {**config_map("a"), "x\r\nset-cookie: y": 1, "b": 2})
        assert (answer.code, answer.headers["warning"]) == (201, '299 - "unknown field \\"b\\""')
        many = {f"{number:x>1000}": 1 for number in range(1_000)}
        answer = await world.create(CONFIG_MAPS, {**config_map("b"), **many})
        assert answer.code == 201
        assert 4_000 < len(answer.headers["warning"]) < 5_000

    tell(story)


PATCHES: list[tuple[str, Any, int, str]] = [
    (JSON_PATCH, b"{}", 400, "error decoding patch: json: cannot unmarshal object into Go value of type []handlers."),
    (JSON_PATCH, [5], 400, "error decoding patch: json: cannot unmarshal number into Go value of type handlers."),
    (JSON_PATCH, [{"op": 5}], 400, "error decoding patch: json: cannot unmarshal number into Go struct field"),
    (JSON_PATCH, [{"op": "remove", "path": "/nope"}], 422, "the server rejected our request due to an error in our"),
    (JSON_PATCH, [{"op": "test", "path": "/kind"}] * 10_001, 413, "Request entity too large: The allowed maximum"),
    (MERGE, b"null", 400, "Invalid JSON Patch"),
    (MERGE, b"[]", 400, f"error decoding patch: json: cannot unmarshal array into {GO_MAP}"),
    (STRATEGIC, b"[]", 400, f"json: cannot unmarshal array into {GO_MAP}"),
    (STRATEGIC, b"{", 400, "unexpected end of JSON input"),
    (
        STRATEGIC,
        {"data": {"b": 1, "a": None}},
        422,
        ' "" is invalid: patch: Invalid value: "map[data:map[a:<nil> b:1]]": cannot convert int64 to string',
    ),
    (STRATEGIC, {"data": []}, 422, ' "" is invalid: patch: Invalid value: "map[data:[]]": cannot restore map from'),
    (STRATEGIC, {"metadata": 5}, 422, ' "" is invalid: patch: Invalid value: "map[metadata:5]": cannot restore struct'),
    (
        STRATEGIC,
        {"immutable": "x"},
        422,
        ' "" is invalid: patch: Invalid value: "map[immutable:x]": unrecognized type:',
    ),
]


@pytest.mark.parametrize(("content_type", "patch", "code", "said"), PATCHES)
def test_a_patch_is_refused_with_what_is_wrong_with_it(content_type: str, patch: Any, code: int, said: str) -> None:
    async def story(world: ApiWorld) -> None:
        await prepare(world)
        refused = await world.patch(EXISTING, patch, content_type)
        assert refused.code == code
        assert refused.body["message"].startswith(said)
        assert not refused.body.get("details") or code == 422

    tell(story)


def test_a_json_patch_of_null_changes_nothing() -> None:
    async def story(world: ApiWorld) -> None:
        await prepare(world)
        assert (await world.patch(EXISTING, b"null", JSON_PATCH)).body["data"] == {"key": "value"}

    tell(story)


REMARKS = [
    (JSON_PATCH, b'[{"op":"test","path":"/kind","value":"ConfigMap","x":1}]', 'json patch unknown field "[0].x"'),
    (MERGE, b'{"data":{"a":"1","a":"2"}}', 'duplicate field "data.a"'),
    (STRATEGIC, b'{"data":{"a":"1","a":"2"}}', 'duplicate field "data.a"'),
]


@pytest.mark.parametrize(("content_type", "patch", "said"), REMARKS)
def test_what_is_odd_about_a_patch_is_warned_of_or_refused(content_type: str, patch: bytes, said: str) -> None:
    async def story(world: ApiWorld) -> None:
        await prepare(world)
        quoted = said.replace('"', '\\"')
        assert (await world.patch(EXISTING, patch, content_type)).headers["warning"] == f'299 - "{quoted}"'
        refused = await world.patch(EXISTING, patch, content_type, fieldValidation="Strict")
        assert (refused.code, said in refused.body["message"]) == (422, True)

    tell(story)


def test_an_owner_that_is_said_twice_is_kept_once() -> None:
    async def story(world: ApiWorld) -> None:
        body = config_map("a")
        body["metadata"]["ownerReferences"] = [OWNER, OWNER, {**OWNER, "controller": False}]
        created = await world.create(CONFIG_MAPS, body)
        assert created.body["metadata"]["ownerReferences"] == [OWNER, {**OWNER, "controller": False}]
        assert f"duplicate UID(s) observed: {OWNER['uid']}" in created.headers["warning"]

    tell(story)


TIMEOUTS = [
    ("abc", 'time: invalid duration "abc"'),
    ("5", 'time: missing unit in duration "5"'),
    ("5x", 'time: unknown unit "x" in duration "5x"'),
    ("+", 'time: invalid duration "+"'),
]


@pytest.mark.parametrize(("timeout", "said"), TIMEOUTS)
def test_a_time_that_is_none_is_refused(timeout: str, said: str) -> None:
    async def story(world: ApiWorld) -> None:
        refused = await world.get(CONFIG_MAPS, timeout=timeout)
        said_before = "invalid timeout specified in the request URL - "
        assert (refused.code, refused.body["message"]) == (400, said_before + said)
        assert (await world.get(CONFIG_MAPS, timeout="1m30.5s")).code == 200

    tell(story)


METADATA: list[tuple[dict[str, Any], list[str]]] = [
    ({"ownerReferences": [{"name": "x"}]}, ['apiVersion: Invalid value: "": version must not be empty', "kind", "uid"]),
    (
        {"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "x", "uid": "u"}]},
        [': Invalid value: {"apiVersion":"v1","kind":"Event","name":"x","uid":"u"}: /v1, Kind=Event is disallowed'],
    ),
    (
        {"ownerReferences": [OWNER, {**OWNER, "name": "b", "uid": "2"}]},
        ['Only one reference can have Controller set to true. Found "true" in references for Pod/a and Pod/b'],
    ),
    (
        {"ownerReferences": [{"apiVersion": "a/b/c", "kind": "X", "name": "x", "uid": "u"}]},
        ['apiVersion: Invalid value: "a/b/c": version must not be empty'],
    ),
    ({"generation": -1}, ["metadata.generation: Invalid value: -1: must be greater than or equal to 0"]),
]


@pytest.mark.parametrize(("metadata", "said"), METADATA)
def test_what_is_wrong_with_the_metadata_is_told(metadata: dict[str, Any], said: list[str]) -> None:
    async def story(world: ApiWorld) -> None:
        refused = await world.create(CONFIG_MAPS, {"metadata": {"name": "a", **metadata}})
        assert refused.code == 422
        assert len(refused.body["details"]["causes"]) == len(said)
        assert all(text in refused.body["message"] for text in said)

    tell(story)


def test_an_update_names_a_wrong_label_as_often_as_kube_apiserver_looks_at_it() -> None:
    async def story(world: ApiWorld) -> None:
        await prepare(world)
        for path, times in ((EXISTING, 4), (f"{WIDGETS}/w", 3)):
            refused = await world.patch(path, {"metadata": {"labels": {"a": "b c"}}})
            assert len(refused.body["details"]["causes"]) == times
            assert refused.body["message"].count("b c") == 1

    tell(story)


def test_a_name_that_is_still_being_deleted_is_told() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, {"metadata": {"name": "a", "finalizers": ["example.com/wait"]}})
        await world.delete(f"{CONFIG_MAPS}/a")
        refused = await world.create(CONFIG_MAPS, config_map("a"))
        assert (refused.code, refused.body["reason"]) == (409, "AlreadyExists")
        assert refused.body["message"] == 'object is being deleted: configmaps "a" already exists'

    tell(story)


SECRET_PROBLEMS: list[tuple[str, dict[str, str], list[str]]] = [
    ("kubernetes.io/basic-auth", {}, ["data[username]", "data[password]"]),
    ("kubernetes.io/basic-auth", {"username": ""}, []),
    ("kubernetes.io/dockercfg", {}, ["data[.dockercfg]"]),
    ("kubernetes.io/dockerconfigjson", {".dockerconfigjson": "eA=="}, ["data[.dockerconfigjson]"]),
    ("kubernetes.io/dockerconfigjson", {".dockerconfigjson": "W1tb" * 30_000}, ["data[.dockerconfigjson]"]),
    ("kubernetes.io/dockerconfigjson", {".dockerconfigjson": "e30="}, []),
    ("kubernetes.io/service-account-token", {}, ["metadata.annotations[kubernetes.io/service-account.name]"]),
    ("kubernetes.io/tls", {"tls.crt": ""}, ["data[tls.key]"]),
]


@pytest.mark.parametrize(("of_type", "data", "fields"), SECRET_PROBLEMS)
def test_a_secret_has_what_its_type_asks_for(of_type: str, data: dict[str, str], fields: list[str]) -> None:
    async def story(world: ApiWorld) -> None:
        made = await world.create(SECRETS, {"metadata": {"name": "a"}, "type": of_type, "data": data})
        causes = made.body.get("details", {}).get("causes", [])
        assert [cause["field"] for cause in causes] == fields
        assert "eA==" not in made.body.get("message", ""), "what is in it is not told"

    tell(story)


def test_all_namespaces_cannot_be_deleted_at_once() -> None:
    async def story(world: ApiWorld) -> None:
        assert (await world.delete("/api/v1/namespaces")).code == 405
        assert (await world.get("/api/v1/namespaces/default")).code == 200

    tell(story)


@pytest.mark.parametrize("content_type", ["text/plain", "application/yml", "nonsense", MERGE])
def test_a_body_of_another_media_type_is_not_read(content_type: str) -> None:
    async def story(world: ApiWorld) -> None:
        body = config_map("a")
        for method, path in (("POST", CONFIG_MAPS), ("PUT", f"{CONFIG_MAPS}/a"), ("DELETE", f"{CONFIG_MAPS}/a")):
            refused = await world.call(method, path, body, content_type=content_type)
            assert (refused.code, refused.body["reason"]) == (415, "UnsupportedMediaType")
            assert refused.body["message"].endswith("json, application/yaml, application/vnd.kubernetes.protobuf")

    tell(story)


def test_null_is_an_object_that_says_nothing() -> None:
    async def story(world: ApiWorld) -> None:
        await prepare(world)
        refused = await world.call("POST", CONFIG_MAPS, b"null", content_type="application/json")
        assert refused.code == 422
        assert "metadata.name: Required value: name or generateName is required" in refused.body["message"]
        refused = await world.call("POST", WIDGETS, b"null", content_type="application/json")
        assert (refused.code, "Object 'Kind' is missing in 'null'" in refused.body["message"]) == (400, True)

    tell(story)


def test_a_list_is_not_shown_as_one_object_nor_an_object_as_a_list() -> None:
    async def story(world: ApiWorld) -> None:
        await prepare(world)
        one, many = (f"application/json;as=PartialObjectMetadata{s};v=v1;g=meta.k8s.io" for s in ("", "List"))
        refused = await world.call("GET", CONFIG_MAPS, accept=one)
        said = "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)"
        assert (refused.code, refused.body["message"]) == (406, said)
        refused = await world.call("GET", EXISTING, accept=many)
        assert refused.body["message"].endswith("but the requested object is not a list (*core.ConfigMap)")
        assert (await world.call("GET", CONFIG_MAPS, accept=many)).body["kind"] == "PartialObjectMetadataList"

    tell(story)


@pytest.mark.parametrize(
    ("metadata", "code", "said"),
    [
        ({"managedFields": []}, 400, "metadata.managedFields must be nil"),
        ({}, 400, "the name of the object (new based on URL) was undeterminable: name must be provided"),
        (
            {"name": "new", "uid": "u"},
            409,
            'Operation cannot be fulfilled on configmaps "new": uid mismatch: '
            "the provided object specified uid u, and no existing object was found",
        ),
    ],
)
def test_an_applied_configuration_names_what_it_creates(metadata: dict[str, Any], code: int, said: str) -> None:
    async def story(world: ApiWorld) -> None:
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        refused = await _apply(world, f"{CONFIG_MAPS}/new", config)
        assert (refused.code, refused.body["message"]) == (code, said)

    tell(story)


def test_what_is_applied_to_an_object_need_not_name_it_nor_own_anything() -> None:
    async def story(world: ApiWorld) -> None:
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}}
        made = await _apply(world, f"{CONFIG_MAPS}/new", config)
        assert made.code == 201
        assert "managedFields" not in made.body["metadata"]
        again = await _apply(world, f"{CONFIG_MAPS}/new", {**config, "metadata": {}, "data": {"a": "1"}})
        assert (again.code, again.body["data"]) == (200, {"a": "1"})
        assert again.body["metadata"]["managedFields"][0]["operation"] == "Apply"
        emptied = await _apply(world, f"{CONFIG_MAPS}/new", config)
        assert "data" not in emptied.body
        assert "managedFields" not in emptied.body["metadata"]

    tell(story)


@pytest.mark.parametrize(
    ("element", "said"),
    [("x", "associative list with keys may not have non-map elements"), (None, "may not have a null element")],
)
def test_an_element_of_a_list_with_keys_is_a_map(element: Any, said: str) -> None:
    async def story(world: ApiWorld) -> None:
        config = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [element]}}
        refused = await _apply(world, "/api/v1/namespaces/default/pods/p", config)
        assert refused.code == 500
        assert said in refused.body["message"]

    tell(story)


@pytest.mark.parametrize(("text", "written"), [("a\x01\x7f", r"a\x01\x7f"), ("\a\n", r"\a\n"), ("\u0085é", r"\u0085é")])
def test_a_text_is_quoted_as_go_quotes_it(text: str, written: str) -> None:
    assert quoted(text) == f'"{written}"'
