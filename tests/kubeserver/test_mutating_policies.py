"""MutatingAdmissionPolicies: what they make of objects, in which order, and what becomes of those that fail."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeserver.cel import Unwritable, compile_program
from kubeserver.cel.objects import Unfitting, name_of, read_object, with_maps
from tests.kubeserver.api_world import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    PODS,
    TABLE,
    ApiWorld,
    config_map,
    deployment,
    pod,
    tell,
)
from tests.kubeserver.webhooks import MUTATING, InProcessWebhooks, configuration, patch, webhook

GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES, BINDINGS = f"{GROUP}/mutatingadmissionpolicies", f"{GROUP}/mutatingadmissionpolicybindings"
LABELLED = 'Object{metadata: Object.metadata{labels: {"team": "a"}}}'


def applying(expression: str) -> Manifest:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patching(expression: str) -> Manifest:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def policy(*mutations: Manifest, name: str = "policy", resource: str = "configmaps", **spec: Any) -> Manifest:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": [resource]}
    common = {"matchConstraints": {"resourceRules": [rule]}, "reinvocationPolicy": "Never", **spec}
    return {"metadata": {"name": name}, "spec": {**common, "mutations": list(mutations)}}


async def install(world: ApiWorld, one: Manifest, **binding: Any) -> None:
    name = one["metadata"]["name"]
    bound = {"metadata": {"name": f"{name}-binding"}, "spec": {"policyName": name, **binding}}
    for path, manifest in ((POLICIES, one), (BINDINGS, bound)):
        answer = await world.create(path, manifest)
        assert answer.code == 201, answer.body


def test_an_apply_configuration_is_merged_into_the_object():
    sidecar = """Object{
        spec: Object.spec{
            initContainers: [
                Object.spec.initContainers{
                    name: "proxy", image: "proxy:" + object.metadata.labels.app, restartPolicy: "Always"
                }
            ]
        }
    }"""
    not_there = "!has(object.spec.initContainers)"

    async def story(world: ApiWorld) -> None:
        conditions = [{"name": "once", "expression": not_there}]
        await install(world, policy(applying(sidecar), resource="pods", matchConditions=conditions))
        wanted = pod("a")
        wanted["metadata"]["labels"] = {"app": "web"}
        made = (await world.create(PODS, wanted)).body["spec"]
        assert [c["image"] for c in (*made["initContainers"], *made["containers"])] == ["proxy:web", "image:1"]
        assert made["initContainers"][0]["imagePullPolicy"] == "IfNotPresent"

    tell(story)


def test_a_json_patch_is_applied_and_one_whose_test_fails_is_not():
    added = """[
        JSONPatch{op: "add", path: "/metadata/annotations", value: {}},
        JSONPatch{
            op: "add",
            path: "/metadata/annotations/" + jsonpatch.escapeKey("example.com/size"),
            value: string(object.data.size())
        }
    ]"""
    tested = '[JSONPatch{op: "test", path: "/data/x", value: "2"}, JSONPatch{op: "remove", path: "/data/x"}]'

    async def story(world: ApiWorld) -> None:
        await install(world, policy(patching(added), patching(tested)))
        one, two = [(await world.create(CONFIG_MAPS, config_map(name, x=name, y=""))).body for name in ("1", "2")]
        assert one["metadata"]["annotations"] == two["metadata"]["annotations"] == {"example.com/size": "2"}
        assert (one["data"], two["data"]) == ({"x": "1", "y": ""}, {"y": ""})

    tell(story)


def test_each_sees_what_those_before_it_made_and_nobody_owns_it():
    counted = 'Object{data: {"labels": string(object.metadata.labels.size())}}'

    async def story(world: ApiWorld) -> None:
        await install(world, policy(applying(LABELLED), name="a"))
        await install(world, policy(applying(counted), name="b"))
        made = (await world.create(CONFIG_MAPS, config_map("one", x="1"))).body
        assert made["metadata"]["labels"] == {"team": "a"}
        assert made["data"] == {"x": "1", "labels": "1"}
        owned = made["metadata"]["managedFields"][0]["fieldsV1"]
        assert "f:metadata" not in owned
        assert "f:labels" not in owned["f:data"]

    tell(story)


def test_parameters_and_variables_are_there():
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("defaults", replicas="3"))
        variables = [{"name": "wanted", "expression": "int(params.data.replicas)"}]
        scaled = applying("Object{spec: Object.spec{replicas: variables.wanted}}")
        kind = {"apiVersion": "v1", "kind": "ConfigMap"}
        one = policy(scaled, resource="deployments", paramKind=kind, variables=variables)
        await install(world, one, paramRef={"name": "defaults", "parameterNotFoundAction": "Deny"})
        assert (await world.create(DEPLOYMENTS, deployment("web"))).body["spec"]["replicas"] == 3
        await world.delete(f"{CONFIG_MAPS}/defaults")
        refused = await world.create(DEPLOYMENTS, deployment("api"))
        assert (refused.code, refused.body["reason"]) == (403, "Invalid")
        assert "no params found for policy binding" in refused.body["message"]

    tell(story)


@pytest.mark.parametrize(
    ("mutation", "said"),
    [
        (applying("Object{data: object.nothing}"), "Key not found"),
        (applying('{"data": {"a": "b"}}'), "must evaluate to Object"),
        (applying("Object{data: Object.spec{}}"), 'type mismatch: unexpected type name "Object.spec"'),
        (applying("Object{spec: Object.spec{}}"), ".spec: field not declared in schema"),
        (
            applying('Object{metadata: Object.metadata{ownerReferences: [], finalizers: [1]}, binaryData: "x"}'),
            "expected map",
        ),
        (patching("[1]"), "must evaluate to a list of JSONPatch"),
        (patching('[JSONPatch{op: "remove", path: "/data/none"}]'), "/data/none does not exist"),
        (patching('[JSONPatch{op: "add", path: "/data", value: "x"}]'), "the result is no ConfigMap"),
    ],
)
def test_what_cannot_be_followed_refuses_the_request_unless_it_may_be_ignored(mutation: Manifest, said: str):
    async def story(world: ApiWorld) -> None:
        await install(world, policy(mutation))
        refused = await world.create(CONFIG_MAPS, config_map("one", x="1"))
        assert (refused.code, refused.body["reason"]) == (403, "Invalid")
        assert refused.body["message"].startswith("policy 'policy' with binding 'policy-binding' denied request: ")
        assert said in refused.body["message"]
        await world.patch(f"{POLICIES}/policy", {"spec": {"failurePolicy": "Ignore"}})
        assert (await world.create(CONFIG_MAPS, config_map("one", x="1"))).body["data"] == {"x": "1"}

    tell(story)


def test_what_can_only_be_replaced_as_a_whole_is_not_merged():
    chosen = "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{%s}}}}"

    async def story(world: ApiWorld) -> None:
        await install(world, policy(applying(chosen % 'nodeSelector: {"disk": "ssd"}'), resource="deployments"))
        refused = await world.create(DEPLOYMENTS, deployment("web"))
        said = "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
        assert refused.body["message"].endswith(f"{said}.spec.template.spec.nodeSelector")

    tell(story)


@pytest.mark.parametrize(("again", "labels"), [("IfNeeded", "2"), ("Never", "1")])
def test_who_asks_for_it_is_asked_again_after_a_webhook(again: str, labels: str):
    counted = (
        'Object{data: {"labels": string(has(object.metadata.labels) ? object.metadata.labels.size() : 0)},'
        ' metadata: Object.metadata{labels: {"policy": "yes"}}}'
    )
    added = patch({"op": "add", "path": "/metadata/labels/webhook", "value": "yes"})

    async def story(world: ApiWorld) -> None:
        await world.create(MUTATING, configuration("Mutating", "labels", webhook("added")))
        await install(world, policy(applying(counted), reinvocationPolicy=again))
        wanted = config_map("one")
        wanted["metadata"]["labels"] = {"own": "yes"}
        made = (await world.create(CONFIG_MAPS, wanted)).body
        assert made["metadata"]["labels"] == {"own": "yes", "policy": "yes", "webhook": "yes"}
        assert made["data"]["labels"] == ("3" if again == "IfNeeded" else labels)

    tell(story, webhook_client=InProcessWebhooks(added=added))


def test_it_holds_for_updates_and_scales_but_never_for_policies_themselves():
    bounded = applying("Object{spec: Object.spec{replicas: object.spec.replicas > 5 ? 5 : object.spec.replicas}}")

    async def story(world: ApiWorld) -> None:
        await install(world, policy(bounded, name="scales", resource="deployments/scale"))
        await install(world, policy(applying(LABELLED), name="all", resource="*"))
        await world.create(DEPLOYMENTS, deployment("web"))
        scaled = await world.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 9}})
        assert scaled.body["spec"]["replicas"] == 5
        changed = await world.patch(f"{DEPLOYMENTS}/web", {"metadata": {"labels": {"team": "b"}}})
        assert changed.body["metadata"]["labels"] == {"team": "a"}
        broken = policy(applying("Object{spec: object.nothing}"), name="broken", resource="*")
        await install(world, broken)
        assert (await world.delete(f"{POLICIES}/broken")).code == 200
        assert "labels" not in (await world.get(f"{POLICIES}/all")).body["metadata"]

    tell(story)


USELESS: list[tuple[dict[str, Any], str]] = [
    ({"mutations": []}, "spec.mutations: Required value: mutations must contain at least one item"),
    ({"reinvocationPolicy": None}, "spec.reinvocationPolicy: Required value"),
    ({"reinvocationPolicy": "Often"}, 'spec.reinvocationPolicy: Unsupported value: "Often"'),
    ({"mutations": [{}]}, "spec.mutations[0].patchType: Required value"),
    (
        {"mutations": [{"patchType": "JSONPatch", "applyConfiguration": {"expression": "Object{}"}}]},
        "spec.mutations[0].applyConfiguration: Invalid value: "
        '"{applyConfiguration}": must not be specified when patchType is JSONPatch',
    ),
    (
        {"mutations": [{"patchType": "JSONPatch"}]},
        "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
    ),
    ({"mutations": [applying("Object{")]}, "compilation failed"),
    (
        {
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]}
                ]
            }
        },
        'operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
    ),
]


@pytest.mark.parametrize(("fields", "said"), USELESS)
def test_a_policy_that_could_not_be_followed_is_refused(fields: dict[str, Any], said: str):
    async def story(world: ApiWorld) -> None:
        one = policy(applying(LABELLED))
        refused = await world.create(POLICIES, {**one, "spec": {**one["spec"], **fields}})
        assert refused.code == 422
        assert said in refused.body["message"]

    tell(story)


def test_policies_are_listed_with_what_they_do():
    async def story(world: ApiWorld) -> None:
        await install(world, policy(applying(LABELLED)))
        rows = [
            (await world.call("GET", path, accept=TABLE)).body["rows"][0]["cells"][:3] for path in (POLICIES, BINDINGS)
        ]
        assert rows == [["policy", 1, "<unset>"], ["policy-binding", "policy", "<unset>"]]

    tell(story)


@pytest.mark.parametrize(
    ("expression", "made"),
    [
        ("Object{}", {}),
        ('Object { a : Object.a { b: [Object.a.b{c: "}{,"}] } }', {"a": {"b": [{"c": "}{,"}]}}),
        ("Object{?a: object.?none, b: 1}", {"b": 1}),
        ('true ? Object{a: 1} : Object{b: "x"}', {"a": 1}),
        ('Object{a: {"x": Object.a{b: 1}}}', {"a": {"x": {"b": 1}}}),
    ],
)
def test_objects_are_written_in_cel(expression: str, made: dict[str, Any]):
    value = compile_program(with_maps(expression), ("object",)).evaluate({"object": {}})
    assert name_of(value) == "Object"
    assert read_object(value) == made


def test_an_object_that_is_not_closed_or_misnamed_has_no_value():
    with pytest.raises(Unwritable):
        compile_program(with_maps("Object{a: "), ("object",))
    value = compile_program(with_maps("Object{a: Object.b{}}"), ("object",)).evaluate({"object": {}})
    with pytest.raises(Unfitting, match=r'expected "Object\.a"'):
        read_object(value)
