"""Rules and patterns that an earlier version took, and this one not: what is stored is kept, and can be deleted."""

import asyncio
from typing import Any

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeserver.registry.objects import restamped
from kubeserver.store.memory import MemoryMedium
from tests.kubeserver.api_world import CONFIG_MAPS, DEFINITIONS, WIDGETS, ApiWorld, api_world, config_map, tell

DEFINITION = f"{DEFINITIONS}/widgets.example.com"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
RULE, NO_RULE = "self.a > 0", "math.greatest(self.a, 1) > 0"
OPTIONAL = "string(dyn(self.?a)) != ''"
PATTERN, NO_PATTERN = "^x+$", "^x(?!y)+$"


def definition() -> Manifest:
    spec = {"a": {"type": "integer"}, "b": {"type": "string", "pattern": PATTERN}}
    rules = [{"rule": RULE}]
    schema: dict[str, Any] = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    schema["properties"]["spec"]["x-kubernetes-validations"] = rules
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "widgets", "kind": "Widget"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def widget(name: str) -> Manifest:
    metadata = {"name": name, "finalizers": ["example.com/hold"]}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": {"a": 1, "b": "x"}}


async def store_as_before(world: ApiWorld, key: str, text: str, earlier: str) -> None:
    record = world.store.head(key)
    assert record is not None
    value = record.value.replace(text.encode(), earlier.encode())
    assert value != record.value
    await world.store.put(key, record, lambda revision: restamped(value, revision))


@pytest.mark.parametrize(
    ("text", "earlier", "said"),
    [
        (RULE, NO_RULE, "compilation failed"),
        (RULE, OPTIONAL, "compilation failed: an optional value"),
        (PATTERN, NO_PATTERN, "which is none"),
    ],
    ids=["rule", "optional", "pattern"],
)
def test_objects_of_a_definition_of_an_earlier_version_are_kept_and_deleted(text: str, earlier: str, said: str) -> None:
    async def play() -> None:
        medium = MemoryMedium()
        async with api_world(medium) as world:
            assert (await world.create(DEFINITIONS, definition())).code == 201
            await asyncio.sleep(2)
            assert (await world.create(WIDGETS, widget("one"))).code == 201
            key = "/apiextensions.k8s.io/customresourcedefinitions//widgets.example.com"
            await store_as_before(world, key, text, earlier)
        async with api_world(medium) as world:
            refused = await world.create(WIDGETS, widget("two"))
            assert refused.code == 422
            assert said in refused.body["message"]
            assert (await world.patch(f"{WIDGETS}/one", {"metadata": {"labels": {"a": "b"}}})).code == 200
            assert (await world.patch(DEFINITION, {"metadata": {"labels": {"a": "b"}}})).code == 200
            assert (await world.delete(DEFINITION)).code == 200
            await asyncio.sleep(5)
            assert (await world.patch(f"{WIDGETS}/one", {"metadata": {"finalizers": None}})).code == 200
            await asyncio.sleep(30)
            assert (await world.get(DEFINITION)).code == 404

    run_virtual(play())


@pytest.mark.parametrize("earlier", ["math.least(1, 2) < 2", "string(dyn(object.?kind)) != ''"])
@pytest.mark.parametrize(("failure_policy", "code"), [("Ignore", 201), ("Fail", 422)])
def test_a_policy_of_an_earlier_version_fails_as_it_says(failure_policy: str, code: int, earlier: str) -> None:
    async def story(world: ApiWorld) -> None:
        api = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "p"}}
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
        spec = {
            "failurePolicy": failure_policy,
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "1 < 2"}],
        }
        binding = {"policyName": "p", "validationActions": ["Deny"]}
        assert (await world.create(POLICIES, {**api, "kind": "ValidatingAdmissionPolicy", "spec": spec})).code == 201
        bound = {**api, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding}
        assert (await world.create(POLICIES.replace("policies", "policybindings"), bound)).code == 201
        key = "/admissionregistration.k8s.io/validatingadmissionpolicies//p"
        await store_as_before(world, key, "1 < 2", earlier)
        assert (await world.create(CONFIG_MAPS, config_map("a"))).code == code

    tell(story)
