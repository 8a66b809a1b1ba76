"""Objects that are sent to the server and not stored as they are: bindings, evictions, requests for tokens, reviews."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from tests.kubeserver.api_world import CONFIG_MAPS, PODS, ApiWorld, pod, tell

BIND, EVICT = f"{PODS}/p/binding", f"{PODS}/p/eviction"
BINDINGS = "/api/v1/namespaces/default/bindings"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
TOKEN = f"{ACCOUNTS}/robot/token"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"
OWN_ACCESS, ACCESS = f"{AUTHORIZATION}/selfsubjectaccessreviews", f"{AUTHORIZATION}/subjectaccessreviews"
LOCAL_ACCESS = f"{AUTHORIZATION}/namespaces/default/localsubjectaccessreviews"
OWN_RULES = f"{AUTHORIZATION}/selfsubjectrulesreviews"
TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
CAN_LIST = {"verb": "list", "resource": "pods", "namespace": "default"}


def named(name: str = "p", **more: Any) -> Manifest:
    return {"metadata": {"name": name}, **more}


def to(node: str = "n1", **metadata: Any) -> Manifest:
    return {"metadata": {"name": "p", **metadata}, "target": {"name": node}}


async def refusal(world: ApiWorld, path: str, body: Any, **query: str) -> tuple[int, str]:
    answer = await world.create(path, body, **query)
    return answer.code, answer.body["message"]


WRONG: list[tuple[str, Any, str]] = [
    (BIND, named(target={"name": 1}), "Go struct field ObjectReference.target.name of type string"),
    (BIND, [], "must be of type Binding"),
    (BIND, None, "must be of type Binding"),
    (BIND, {"kind": "Pod", "apiVersion": "v1"}, "converting (v1.Pod) to (core.Binding): unknown conversion"),
    (BIND, named("q", target={"name": "n1"}), "name in URL does not match name in Binding object"),
    (BIND, to(namespace="other"), "the namespace of the provided object does not match"),
    (EVICT, named(deleteOptions=1.5), "Go struct field Eviction.deleteOptions of type v1.DeleteOptions"),
    (EVICT, named(apiVersion="v1", kind="Eviction"), 'no kind "Eviction" is registered for version "v1"'),
    (EVICT, {"kind": "Pod", "apiVersion": "v1"}, "converting (v1.Pod) to (policy.Eviction): unknown conversion"),
    (EVICT, {}, "name in URL does not match name in Eviction object"),
    (TOKEN, {"spec": {"audiences": "x"}}, "Go struct field TokenRequestSpec.spec.audiences of type []string"),
    (TOKEN, {"spec": {"boundObjectRef": {}}}, "cannot bind token to object of type /, Kind="),
    (TOKEN, {"spec": {"boundObjectRef": {"kind": "Foo", "apiVersion": "v1"}}}, "of type /v1, Kind=Foo"),
    (OWN_ACCESS, {"spec": "x"}, "of type v1.SelfSubjectAccessReviewSpec"),
    (ACCESS, {"spec": {"groups": "u"}}, "Go struct field SubjectAccessReviewSpec.spec.groups of type []string"),
    (TOKENS, {"spec": {"token": 1}}, "Go struct field TokenReviewSpec.spec.token of type string"),
    (CONFIG_MAPS, {"kind": 1}, "json: cannot unmarshal number into Go struct field .kind of type string"),
    (CONFIG_MAPS, {"apiVersion": ["v1"]}, "cannot unmarshal array into Go struct field .apiVersion of type string"),
]


@pytest.mark.parametrize(("path", "body", "said"), WRONG, ids=[said for _, _, said in WRONG])
def test_what_is_sent_is_read_as_the_kind_that_it_has_to_be(path: str, body: Any, said: str) -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(PODS, pod("p"))
        await world.create(ACCOUNTS, {"metadata": {"name": "robot"}})
        code, message = await refusal(world, path, body)
        assert (code, said in message) == (400, True), message
        assert (await world.get(f"{PODS}/p")).body["spec"].get("nodeName") is None

    tell(story)


def test_a_dry_run_binds_and_evicts_nothing() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(PODS, pod("p"))
        assert (await world.create(BIND, to(), dryRun="All")).code == 201
        assert (await world.create(EVICT, named(), dryRun="All")).code == 201
        assert (await world.create(EVICT, named(deleteOptions={"dryRun": ["All"]}))).code == 201
        assert "nodeName" not in (await world.get(f"{PODS}/p")).body["spec"]
        assert (await world.create(BIND, to(), dryRun="x")).code == 422

    tell(story)


def test_a_binding_names_its_pod_by_path_or_by_itself_and_brings_its_annotations() -> None:
    async def story(world: ApiWorld) -> None:
        for name in "pq":
            await world.create(PODS, pod(name))
        assert (await world.create(BINDINGS, to(annotations={"a": "b"}))).code == 201
        bound = (await world.get(f"{PODS}/p")).body
        assert (bound["spec"]["nodeName"], bound["metadata"]["annotations"]) == ("n1", {"a": "b"})
        assert await refusal(world, BIND, to("n2")) == (
            409,
            'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"',
        )
        assert (await world.create(BINDINGS, named("none", target={"name": "n1"}))).code == 404
        assert (await world.get(BINDINGS)).code == 405
        assert (await world.create("/api/v1/bindings", to())).code == 404
        code, message = await refusal(world, f"{PODS}/q/binding", named("q", target={"kind": "Pod"}))
        assert code == 500
        assert message == (
            '[target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>", target.name: Required value]'
        )
        code, message = await refusal(world, f"{PODS}/q/binding", to() | {"metadata": {"name": "q", "uid": "u"}})
        assert (code, "Precondition failed: UID in precondition: u, UID in object meta: " in message) == (409, True)

    tell(story)


def test_a_pod_that_waits_for_its_gates_is_not_bound() -> None:
    async def story(world: ApiWorld) -> None:
        gated = pod("p")
        gated["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
        await world.create(PODS, gated)
        code, message = await refusal(world, BIND, to())
        assert (code, message.rpartition(": ")[2]) == (409, "pod p has non-empty .spec.schedulingGates")

    tell(story)


def test_an_eviction_deletes_as_its_options_say() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(PODS, pod("p"))
        for options, code in (
            ({"preconditions": {"uid": "x"}}, 409),
            ({"preconditions": {"resourceVersion": "1"}}, 409),
            ({"propagationPolicy": "x"}, 422),
            ({"dryRun": ["x"]}, 422),
        ):
            assert (await world.create(EVICT, named(deleteOptions=options))).code == code
        for method in ("GET", "PUT", "PATCH", "DELETE"):
            assert (await world.call(method, EVICT, {})).code == 405
        assert (await world.create(EVICT, named(apiVersion="policy/v1beta1", kind="Eviction"))).code == 201
        assert (await world.get(f"{PODS}/p")).code == 404

    tell(story)


def test_a_pod_is_looked_into_by_certain_methods_only() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(PODS, pod("p"))
        for action, methods in (("log", ("POST", "PUT")), ("exec", ("PUT", "DELETE")), ("attach", ("PATCH",))):
            for method in methods:
                assert (await world.call(method, f"{PODS}/p/{action}", {})).code == 405

    tell(story)


def test_a_token_is_asked_for_in_the_name_of_its_account() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(ACCOUNTS, {"metadata": {"name": "robot"}})
        assert await refusal(world, TOKEN, named("zz")) == (
            422,
            'TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: Invalid value: "zz": '
            "must match the service account name if specified",
        )
        answer = await world.create(TOKEN, {"metadata": {"name": "robot", "labels": {"a": "b"}}})
        assert (answer.code, answer.body["metadata"]["labels"]) == (201, {"a": "b"})

    tell(story)


REVIEWS: list[tuple[str, Manifest, int, str]] = [
    (OWN_ACCESS, {"metadata": {"name": "x"}, "spec": {"resourceAttributes": {}}}, 422, "must be empty"),
    (ACCESS, {"spec": {"resourceAttributes": {}}}, 422, "at least one of user or group must be specified"),
    (LOCAL_ACCESS, {"spec": {"resourceAttributes": {}, "user": "u"}}, 422, "must match metadata.namespace"),
    (LOCAL_ACCESS, {"spec": {"nonResourceAttributes": {}, "user": "u"}}, 422, "disallowed on this kind of request"),
    (f"{AUTHORIZATION}/localsubjectaccessreviews", {"spec": {}}, 404, "the server could not find"),
    (f"{TOKENS}/x", {}, 404, "the server could not find"),
]


@pytest.mark.parametrize(("path", "body", "code", "said"), REVIEWS, ids=[said + path for path, _, _, said in REVIEWS])
def test_a_review_that_cannot_be_answered_is_refused(path: str, body: Manifest, code: int, said: str) -> None:
    async def story(world: ApiWorld) -> None:
        found, message = await refusal(world, path, body)
        assert (found, said in message) == (code, True), message

    tell(story)


def test_a_review_shows_the_namespace_that_it_is_about_but_not_the_question_about_rules() -> None:
    async def story(world: ApiWorld) -> None:
        local = await world.create(LOCAL_ACCESS, {"spec": {"resourceAttributes": CAN_LIST, "user": "u"}})
        assert local.body["metadata"] == {"namespace": "default"}
        rules = await world.create(OWN_RULES, {"spec": {"namespace": "default"}})
        assert (rules.code, rules.body["spec"]) == (201, {})

    tell(story)


def test_null_in_a_list_or_a_map_is_the_empty_value_of_its_type() -> None:
    async def story(world: ApiWorld) -> None:
        sent = {"metadata": {"name": "c", "labels": {"a": None}}, "data": {"k": None}, "binaryData": {"b": None}}
        made = (await world.create(CONFIG_MAPS, sent)).body
        assert (made["metadata"]["labels"], made["data"], made["binaryData"]) == ({"a": ""}, {"k": ""}, {"b": ""})
        started = pod("p")
        started["spec"]["containers"][0] |= {"args": [None, "x"], "resources": {"limits": {"cpu": None}}}
        [container] = (await world.create(PODS, started)).body["spec"]["containers"]
        assert (container["args"], container["resources"]["limits"]) == (["", "x"], {"cpu": "0"})
        started["metadata"]["name"], started["spec"]["containers"] = "q", [container, None]
        code, message = await refusal(world, PODS, started)
        assert (code, "spec.containers[1].name: Required value" in message) == (422, True)

    tell(story)
