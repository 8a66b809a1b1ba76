"""ValidatingAdmissionPolicies: whom they judge, with what, and what comes of it."""

import json
from typing import Any

import pytest

from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.meta import Manifest
from kubeapi.transport import Request
from kubeserver.handler import User
from kubeserver.handlers.audit import Audit
from kubeserver.inprocess import ADMIN
from tests.kubeserver.api_world import CONFIG_MAPS, DEPLOYMENTS, ApiWorld, config_map, deployment, tell

GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES, BINDINGS = f"{GROUP}/validatingadmissionpolicies", f"{GROUP}/validatingadmissionpolicybindings"
NAMESPACES = "/api/v1/namespaces"
FORBIDDEN = {"expression": "!has(object.data) || !('bad' in object.data)"}


def policy(*validations: Manifest, resource: str = "configmaps", group: str = "", **spec: Any) -> Manifest:
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": [resource]}
    constraints = {"resourceRules": [rule], **spec.pop("constraints", {})}
    return {
        "metadata": {"name": "policy"},
        "spec": {"matchConstraints": constraints, "validations": list(validations), **spec},
    }


def binding(*actions: str, name: str = "binding", **spec: Any) -> Manifest:
    chosen = {"policyName": "policy", "validationActions": list(actions or ("Deny",)), **spec}
    return {"metadata": {"name": name}, "spec": chosen}


async def install(world: ApiWorld, one: Manifest, *bindings: Manifest) -> None:
    for path, manifest in ((POLICIES, one), *((BINDINGS, each) for each in bindings or (binding(),))):
        answer = await world.create(path, manifest)
        assert answer.code == 201, answer.body


def test_what_a_policy_forbids_is_denied_in_its_words():
    async def story(world: ApiWorld) -> None:
        await install(world, policy(FORBIDDEN))
        assert (await world.create(CONFIG_MAPS, config_map("fine", good="1"))).code == 201
        refused = await world.create(CONFIG_MAPS, config_map("cm", bad="1"))
        why = (
            "ValidatingAdmissionPolicy 'policy' with binding 'binding' denied request: "
            "failed expression: !has(object.data) || !('bad' in object.data)"
        )
        assert (refused.code, refused.body["reason"]) == (422, "Invalid")
        assert refused.body["message"] == f'configmaps "cm" is forbidden: {why}'
        assert refused.body["details"]["causes"] == [{"message": why}]
        changed = await world.patch(f"{CONFIG_MAPS}/fine", {"data": {"bad": "1"}})
        assert changed.code == 422
        assert (await world.delete(f"{CONFIG_MAPS}/fine")).code == 200

    tell(story)


def test_a_policy_without_a_binding_judges_nothing_and_one_that_went_no_more():
    async def story(world: ApiWorld) -> None:
        await world.create(POLICIES, policy(FORBIDDEN))
        assert (await world.create(CONFIG_MAPS, config_map("a", bad="1"))).code == 201
        await world.create(BINDINGS, binding())
        assert (await world.create(CONFIG_MAPS, config_map("b", bad="1"))).code == 422
        await world.delete(f"{POLICIES}/policy")
        assert (await world.create(CONFIG_MAPS, config_map("b", bad="1"))).code == 201

    tell(story)


@pytest.mark.parametrize(
    ("validation", "code", "said"),
    [
        ({"expression": "false", "message": "no."}, 422, "no."),
        ({"expression": "false", "message": "no.", "reason": "Forbidden"}, 403, "no."),
        ({"expression": "false", "messageExpression": "'not ' + object.metadata.name"}, 422, "not cm"),
        ({"expression": "false", "messageExpression": "object.nothing", "message": "else"}, 422, "else"),
        ({"expression": "object.nothing > 1"}, 422, "expression 'object.nothing > 1' resulted in error: "),
        ({"expression": "request.operation == 'UPDATE' && oldObject != null"}, 422, "failed expression: "),
        ({"expression": "namespaceObject.metadata.name != 'default'"}, 422, "failed expression: "),
        ({"expression": "request.userInfo.username != 'admin'"}, 422, "failed expression: "),
        ({"expression": "variables.large <= 0"}, 422, "failed expression: "),
        ({"expression": "has(object.nothing) || variables.broken"}, 422, "variable broken: "),
    ],
)
def test_expressions_see_the_request_and_say_why(validation: Manifest, code: int, said: str):
    variables = [
        {"name": "size", "expression": "object.data.size()"},
        {"name": "large", "expression": "variables.size * 10"},
        {"name": "broken", "expression": "object.nothing.at.all"},
    ]

    async def story(world: ApiWorld) -> None:
        await install(world, policy(validation, variables=variables))
        refused = await world.create(CONFIG_MAPS, config_map("cm", key="1"))
        assert refused.code == code
        assert said in refused.body["message"]

    tell(story)


def test_a_variable_without_a_value_harms_only_those_who_need_it():
    variables = [{"name": "broken", "expression": "object.nothing"}]

    async def story(world: ApiWorld) -> None:
        await install(world, policy({"expression": "true || variables.broken"}, variables=variables))
        assert (await world.create(CONFIG_MAPS, config_map("cm"))).code == 201

    tell(story)


def test_a_policy_that_ignores_failures_lets_pass_what_it_cannot_judge():
    async def story(world: ApiWorld) -> None:
        wrong = policy({"expression": "object.nothing > 1"}, {"expression": "object.metadata.name != 'b'"})
        await install(world, {**wrong, "spec": {**wrong["spec"], "failurePolicy": "Ignore"}})
        assert (await world.create(CONFIG_MAPS, config_map("a"))).code == 201
        assert (await world.create(CONFIG_MAPS, config_map("b"))).code == 422

    tell(story)


def test_match_conditions_rules_and_selectors_say_who_is_meant():
    conditions = [{"name": "not-mine", "expression": "object.metadata.name != 'mine'"}]
    excluded = {
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"],
        "resourceNames": ["spared"],
    }  # fmt: skip
    constraints = {
        "objectSelector": {"matchExpressions": [{"key": "skip", "operator": "DoesNotExist"}]},
        "excludeResourceRules": [excluded],
    }
    elsewhere = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}

    async def story(world: ApiWorld) -> None:
        judge = policy({"expression": "false"}, matchConditions=conditions, constraints=constraints)
        await install(world, judge, binding(matchResources=elsewhere))
        codes = {name: (await world.create(CONFIG_MAPS, config_map(name))).code for name in ("mine", "spared", "other")}
        assert codes == {"mine": 201, "spared": 201, "other": 422}
        labelled = {"metadata": {"name": "labelled", "labels": {"skip": ""}}}
        assert (await world.create(CONFIG_MAPS, labelled)).code == 201
        assert (await world.create(f"{NAMESPACES}/kube-public/configmaps", config_map("other"))).code == 201
        assert (await world.create(DEPLOYMENTS, deployment("other"))).code == 201

    tell(story)


def test_a_warning_lets_the_write_through_and_says_so():
    async def story(world: ApiWorld) -> None:
        await install(world, policy({"expression": "false", "message": "think again"}), binding("Warn"))
        made = await world.create(CONFIG_MAPS, config_map("cm"))
        assert made.code == 201
        said = "Validation failed for ValidatingAdmissionPolicy 'policy' with binding 'binding': think again"
        assert said in made.headers["warning"]

    tell(story)


def test_what_is_only_noted_stands_in_the_audit_log():
    async def story(world: ApiWorld) -> None:
        annotations = [
            {"key": "name", "valueExpression": "'created ' + object.metadata.name"},
            {"key": "nothing", "valueExpression": "null"},
        ]
        judge = policy({"expression": "true"}, {"expression": "false", "message": "odd"}, auditAnnotations=annotations)
        await install(world, judge, binding("Audit"))
        events: list[Any] = []
        body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm"}}).encode()
        audit = Audit(world.server, events.append, VirtualClock(), Randomness(1))
        await audit.handle(Request("POST", CONFIG_MAPS, {}, {"content-type": "application/json"}, body), ADMIN)
        noted = json.loads(events[-1])["annotations"]
        assert noted["policy/name"] == "created cm"
        assert "policy/nothing" not in noted
        assert json.loads(noted["validation.policy.admission.k8s.io/validation_failure"]) == [
            {
                "message": "odd",
                "policy": "policy",
                "binding": "binding",
                "expressionIndex": 1,
                "validationActions": ["Audit"],
            }
        ]

    tell(story)


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("authorizer.requestResource.check('create').allowed()", True),
        ("authorizer.requestResource.check('delete').allowed()", False),
        ("authorizer.group('').resource('configmaps').namespace('default').check('create').allowed()", True),
        ("authorizer.group('').resource('configmaps').namespace('kube-public').check('create').allowed()", False),
        ("authorizer.group('').resource('pods').subresource('log').name('a').check('get').allowed()", False),
        ("authorizer.path('/healthz').check('get').allowed()", True),
        ("authorizer.serviceAccount('default', 'robot').group('').resource('pods').check('get').allowed()", False),
        ("authorizer.group('').check('get').allowed()", False),
        ("authorizer.requestResource.check('create').reason().contains('RoleBinding')", True),
        ("[1, 2, 3].all(x, [1, 2].all(y, authorizer.path('/healthz').check('get').allowed()))", True),
    ],
)
def test_the_authorizer_says_what_the_user_may_do(expression: str, allowed: bool):
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]
    alice = User("alice", ("system:authenticated",))
    subjects = [{"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"}]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "maker"}

    async def story(world: ApiWorld) -> None:
        rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
        await world.create(f"{rbac}/roles", {"metadata": {"name": "maker"}, "rules": rules})
        bound = {"metadata": {"name": "maker"}, "roleRef": reference, "subjects": subjects}
        await world.create(f"{rbac}/rolebindings", bound)
        await install(world, policy({"expression": expression}))
        made = await world.call("POST", CONFIG_MAPS, config_map("cm"), user=alice)
        assert made.code == (201 if allowed else 422), made.body

    tell(story)


def test_the_authorizer_is_not_asked_without_end():
    many = "[0,1,2,3,4,5,6,7,8,9]"
    expression = f"{many}.all(a, {many}.all(b, {many}.all(c, authorizer.path('/healthz').check('get').allowed())))"

    async def story(world: ApiWorld) -> None:
        await install(world, policy({"expression": expression}))
        refused = await world.create(CONFIG_MAPS, config_map("cm"))
        assert "more than 100 checks of the authorizer" in refused.body["message"]

    tell(story)


def test_a_policy_is_evaluated_with_each_parameter_of_its_binding():
    message = "'at most ' + params.data.max"
    validation = {"expression": "object.spec.replicas <= int(params.data.max)", "messageExpression": message}
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    judge = policy(validation, resource="deployments", group="apps", paramKind=kind)
    named = {"name": "limit", "namespace": "kube-public", "parameterNotFoundAction": "Deny"}
    chosen = {"selector": {"matchLabels": {"limit": "yes"}}, "parameterNotFoundAction": "Allow"}

    async def story(world: ApiWorld) -> None:
        await install(world, judge, binding(paramRef=named), binding(name="own", paramRef=chosen))
        lost = await world.create(DEPLOYMENTS, deployment("a", replicas=1))
        assert "failed to configure binding: no params found for policy binding" in lost.body["message"]
        await world.create(f"{NAMESPACES}/kube-public/configmaps", config_map("limit", max="5"))
        assert (await world.create(DEPLOYMENTS, deployment("a", replicas=5))).code == 201
        assert "at most 5" in (await world.create(DEPLOYMENTS, deployment("b", replicas=6))).body["message"]
        stricter = config_map("mine", max="2")
        await world.create(CONFIG_MAPS, {**stricter, "metadata": {"name": "mine", "labels": {"limit": "yes"}}})
        assert "at most 2" in (await world.create(DEPLOYMENTS, deployment("b", replicas=3))).body["message"]

    tell(story)


def test_a_parameter_of_an_unknown_kind_denies_unless_failures_are_ignored():
    unknown = {"apiVersion": "example.com/v1", "kind": "Nothing"}
    reference = {"name": "x", "parameterNotFoundAction": "Deny"}

    async def story(world: ApiWorld) -> None:
        await install(world, policy(FORBIDDEN, paramKind=unknown), binding(paramRef=reference))
        refused = await world.create(CONFIG_MAPS, config_map("cm"))
        why = "failed to find resource referenced by paramKind: 'example.com/v1, Kind=Nothing'"
        assert why in refused.body["message"]
        await world.patch(f"{POLICIES}/policy", {"spec": {"failurePolicy": "Ignore"}})
        assert (await world.create(CONFIG_MAPS, config_map("cm"))).code == 201

    tell(story)


def test_policies_are_not_judged_so_that_a_broken_one_can_be_removed():
    async def story(world: ApiWorld) -> None:
        everything = policy({"expression": "false"}, resource="*", group="*")
        rule = everything["spec"]["matchConstraints"]["resourceRules"][0]
        rule |= {"apiVersions": ["*"], "operations": ["*"]}
        await install(world, everything)
        assert (await world.create(CONFIG_MAPS, config_map("cm"))).code == 422
        assert (await world.delete(f"{BINDINGS}/binding")).code == 200
        assert (await world.create(CONFIG_MAPS, config_map("cm"))).code == 201

    tell(story)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"validations": []}, "spec.validations"),
        ({"matchConstraints": None}, "spec.matchConstraints"),
        ({"matchConstraints": {}}, "spec.matchConstraints.resourceRules"),
        ({"failurePolicy": "Maybe"}, "spec.failurePolicy"),
        ({"paramKind": {"kind": "ConfigMap"}}, "spec.paramKind.apiVersion"),
        ({"validations": [{"expression": "1 +"}]}, "spec.validations[0].expression"),
        ({"validations": [{"expression": "unknown"}]}, "spec.validations[0].expression"),
        ({"validations": [{"expression": "true", "reason": "Because"}]}, "spec.validations[0].reason"),
        ({"validations": [{"expression": "true", "message": "a\nb"}]}, "spec.validations[0].message"),
        ({"variables": [{"name": "1x", "expression": "1"}]}, "spec.variables[0].name"),
        ({"variables": [{"name": "x", "expression": "1"}] * 2}, "spec.variables[1].name"),
        ({"auditAnnotations": [{"key": "a b", "valueExpression": "''"}]}, "spec.auditAnnotations[0].key"),
        ({"matchConditions": [{"name": "x", "expression": ""}]}, "spec.matchConditions[0].expression"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_by_its_field(spec: Manifest, field: str):
    async def story(world: ApiWorld) -> None:
        right = policy(FORBIDDEN)
        refused = await world.create(POLICIES, {**right, "spec": {**right["spec"], **spec}})
        assert refused.code == 422, refused.body
        assert field in [cause["field"] for cause in refused.body["details"]["causes"]]

    tell(story)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"policyName": ""}, "spec.policyName"),
        ({"validationActions": []}, "spec.validationActions"),
        ({"validationActions": ["Deny", "Warn"]}, "spec.validationActions"),
        ({"validationActions": ["Shout"]}, "spec.validationActions[0]"),
        ({"paramRef": {"name": "x"}}, "spec.paramRef.parameterNotFoundAction"),
        ({"paramRef": {"parameterNotFoundAction": "Deny"}}, "spec.paramRef.name"),
        ({"matchResources": {"matchPolicy": "Rough"}}, "spec.matchResources.matchPolicy"),
    ],
)
def test_a_binding_that_makes_no_sense_is_refused_by_its_field(spec: Manifest, field: str):
    async def story(world: ApiWorld) -> None:
        right = binding()
        refused = await world.create(BINDINGS, {**right, "spec": {**right["spec"], **spec}})
        assert refused.code == 422, refused.body
        assert field in [cause["field"] for cause in refused.body["details"]["causes"]]

    tell(story)
