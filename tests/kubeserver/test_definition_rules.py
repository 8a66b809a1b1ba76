"""Rules of a CustomResourceDefinition, and the fields to which its messages point."""

import copy
from typing import Any
from unittest import mock

import pytest

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest
from kubeserver.apiextensions.definition_rules import default_definition, validate_definition, versions
from tests.kubeserver.api_world import DEFINITIONS, ApiWorld, tell

ROOT = "spec.validation.openAPIV3Schema"
SPEC = f"{ROOT}.properties[spec]"
FIELD = f"{SPEC}.properties[a]"
LABEL = "a DNS-1035 label must consist of lower case"
ITEM = {"type": "object", "properties": {"x": {"type": "string"}}}
MAP = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["x"]}


def schema(spec: Manifest) -> Manifest:
    return {"type": "object", "properties": {"spec": spec}}


def field(**keywords: Any) -> Manifest:
    """A schema with one field under `spec`; `_` stands for `-` in the names of extensions, and `not_` for `not`."""
    named = {
        ("x-kubernetes-" + key[2:].replace("_", "-") if key[:2] == "x_" else key): v for key, v in keywords.items()
    }
    return schema({"type": "object", "properties": {"a": named}})


def version(name: str = "v1", *, storage: bool = True, **parts: Any) -> Manifest:
    plain = {"openAPIV3Schema": schema({"type": "object", "properties": {"a": {"type": "string"}}})}
    return {"name": name, "served": True, "storage": storage, "schema": plain, **parts}


def definition(**spec: Any) -> Manifest:
    names = {"plural": "things", "kind": "Thing"}
    whole: Manifest = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version()], **spec}
    name = f"{whole['names'].get('plural', '')}.{whole['group']}"
    return {"kind": "CustomResourceDefinition", "metadata": {"name": name}, "spec": whole}


def told(manifest: Manifest, old: Manifest | None = None) -> list[str]:
    manifest = copy.deepcopy(manifest)
    default_definition(manifest)
    return [str(problem) for problem in validate_definition(manifest, old)]


NOT_STRUCTURAL: list[tuple[Manifest, str, str]] = [
    ({"properties": {}}, f"{ROOT}.type", "Required value: must not be empty at the root"),
    ({"type": "string"}, f"{ROOT}.type", 'Invalid value: "string": must be object at the root'),
    ({"type": "object", "nullable": True}, f"{ROOT}.nullable", "Forbidden: nullable cannot be true at the root"),
    (field(), f"{FIELD}.type", "Required value: must not be empty for specified object fields"),
    (field(type="array"), f"{FIELD}.items", "Required value: must be specified"),
    (field(type="array", items={}), f"{FIELD}.items.type", "Required value: must not be empty for specified array"),
    (field(type="text"), f"{FIELD}.type", 'Unsupported value: "text": supported values: "array", "boolean", '),
    (field(type="string", anyOf=[{"type": "string"}]), f"{FIELD}.anyOf[0].type", "Forbidden: must be empty to be"),
    (field(x_int_or_string=True, x_preserve_unknown_fields=True),
     f"{FIELD}.x-kubernetes-preserve-unknown-fields", "Invalid value: true: must be false if"),
    (field(type="object", x_embedded_resource=True), f"{FIELD}.properties", "Required value: must not be empty if"),
    ({"type": "object", "anyOf": [{"required": ["q"], "properties": {"q": {}}}]}, f"{ROOT}.properties[q]",
     f"Required value: because it is defined in {ROOT}.anyOf[0].properties[q]"),
    ({"type": "object", "properties": {"metadata": {"type": "object", "required": ["name"]}}},
     f"{ROOT}.properties[metadata]", "Forbidden: must not specify anything other than name and generateName"),
    (field(**{"$ref": "#/x"}), f"{FIELD}.$ref", "Forbidden: $ref is not supported"),
    (field(type="array", items={"type": "string"}, uniqueItems=True), f"{FIELD}.uniqueItems", "Forbidden: unique"),
    (field(type="object", properties={"b": {"type": "string"}}, additionalProperties={"type": "string"}),
     f"{FIELD}.additionalProperties", "Forbidden: additionalProperties and properties are mutual exclusive"),
    (field(type="string", default=5), f"{FIELD}.default", 'Invalid value: "integer":  in body must be of type str'),
    (field(type="object", default={"b": 1}), f"{FIELD}.default", 'Invalid value: {"b":1}: must not have unknown'),
    (field(type="object", x_list_type="set"), f"{FIELD}.type", 'Invalid value: "object": must be array if'),
    (field(**MAP, items=ITEM), f"{FIELD}.items.properties[x].default", "Required value: this property is in"),
    (field(**MAP, items={**ITEM, "properties": {}}), f"{FIELD}.x-kubernetes-list-map-keys",
     'Invalid value: ["x"]: entries must all be names of item properties'),
    (field(type="array", items=ITEM, x_list_type="set"), f"{FIELD}.items.x-kubernetes-map-type",
     "Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set"),
    (field(type="string", x_validations=[{"rule": ""}]), f"{FIELD}.x-kubernetes-validations[0].rule",
     "Required value: rule is not specified"),
    (field(type="array", items={"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}),
     f"{FIELD}.items.x-kubernetes-validations[0].rule", 'Invalid value: "self == oldSelf": oldSelf cannot be used'),
    (field(type="string", x_validations=[{"rule": "true", "optionalOldSelf": True}]),
     f"{FIELD}.x-kubernetes-validations[0].optionalOldSelf", "Invalid value: true: may not be set if oldSelf"),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "where", "said"), NOT_STRUCTURAL)
def test_a_schema_is_structural_and_its_messages_say_where_it_is_not(raw: Manifest, where: str, said: str):
    (found,) = told(definition(versions=[version(schema={"openAPIV3Schema": raw})]))
    assert found.startswith(f"{where}: {said}")


@pytest.mark.parametrize(
    "raw",
    [
        field(x_int_or_string=True, anyOf=[{"type": "integer"}, {"type": "string"}]),
        field(type="object", x_embedded_resource=True, x_preserve_unknown_fields=True),
        field(**MAP, items={**ITEM, "required": ["x"]}),
        field(type="object", additionalProperties=True),
        {"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string"}}}}},
    ],
)
def test_what_is_structural_is_taken(raw: Manifest):
    assert told(definition(versions=[version(schema={"openAPIV3Schema": raw})])) == []


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"group": "nodot"}, 'spec.group: Invalid value: "nodot": should be a domain with at least one dot'),
        ({"scope": ""}, "spec.scope: Required value"),
        ({"names": {"plural": "things", "kind": "Thing", "listKind": "Thing"}}, "spec.names.listKind: Invalid value"),
        ({"names": {"plural": "things", "kind": "T_x"}}, f'spec.names.kind: Invalid value: "T_x": may have mixed case, '
         f"but should otherwise match: {LABEL}"),
        ({"names": {"plural": "things", "kind": "T", "shortNames": ["A"]}}, "spec.names.shortNames[0]: Invalid value"),
        ({"versions": [version("V")]}, f'spec.version: Invalid value: "V": {LABEL}'),
        ({"versions": [version(schema={})]}, "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are"),
        ({"versions": [version(storage=False)]}, 'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":f'
         'alse,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns'
         '":null,"SelectableFields":null}]: must have exactly one version marked as storage version'),
        ({"versions": [version(storage=False)]}, "status.storedVersions: Invalid value: null: must have at least one"),
        ({"versions": [version("v1"), version("v2")]}, 'status.storedVersions: Invalid value: ["v1"]: must have the'),
        ({"versions": [version(), version(storage=False)]}, "must contain unique version names"),
        ({"versions": [version(deprecationWarning="x")]}, "deprecationWarning: Invalid value: \"x\": can only be set"),
        ({"versions": [version(subresources={"scale": {"specReplicasPath": ".x", "statusReplicasPath": ".status.r"}})]},
         'spec.subresources.scale.specReplicasPath: Invalid value: ".x": should be a json path under .spec'),
        ({"versions": [version(additionalPrinterColumns=[{"name": "A", "type": "text", "jsonPath": "a"}])]},
         'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .'),
        ({"versions": [version(selectableFields=[{"jsonPath": ".spec.b"}])]},
         'spec.selectableFields[0].jsonPath: Invalid value: ".spec.b": is an invalid path'),
        ({"group": "x.k8s.io"}, "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups"),
    ],
)  # fmt: skip
def test_the_rest_of_a_definition_is_checked_too(spec: Manifest, said: str):
    assert any(said in found for found in told(definition(**spec)))


def test_messages_point_into_the_versions_where_these_differ():
    bad = version("v2", storage=False, schema={"openAPIV3Schema": {"type": "array"}})
    found = told(definition(versions=[version(), bad]))
    assert found[0].startswith("spec.versions[1].schema.openAPIV3Schema.items: Required value")


def test_what_is_stored_decides_what_may_change():
    old = definition()
    default_definition(old)
    other = definition(scope="Cluster", names={"plural": "things", "kind": "Other"})
    new = {**other, "status": old["status"]}
    assert told(new, old) == []
    old["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    assert told(new, old) == [
        'spec.scope: Invalid value: "Cluster": field is immutable',
        'spec.names.kind: Invalid value: "Other": field is immutable',
    ]


def test_a_new_storage_version_is_remembered_until_the_status_forgets_the_old_one():
    things = "/apis/example.com/v2/namespaces/default/things"

    async def story(world: ApiWorld) -> None:
        path = f"{DEFINITIONS}/things.example.com"
        await world.create(DEFINITIONS, definition())
        moved = await world.patch(path, {"spec": {"versions": [version(storage=False), version("v2")]}})
        assert moved.body["status"]["storedVersions"] == ["v1", "v2"]
        gone = {"spec": {"versions": [version("v2")]}}
        assert "status.storedVersions[0]" in (await world.patch(path, gone)).body["message"]
        await world.patch(f"{path}/status", {"status": {"storedVersions": ["v2"]}})
        assert (await world.patch(path, gone)).body["status"]["storedVersions"] == ["v2"]
        assert (await world.get(things)).code == 200

    tell(story)


def test_lists_select_by_the_fields_that_the_definition_names():
    things = "/apis/example.com/v1/namespaces/default/things"
    thing = {"apiVersion": "example.com/v1", "kind": "Thing"}

    async def story(world: ApiWorld) -> None:
        await world.create(DEFINITIONS, definition(versions=[version(selectableFields=[{"jsonPath": ".spec.a"}])]))
        for name in ("x", "y"):
            await world.create(things, {**thing, "metadata": {"name": name}, "spec": {"a": name}})
        assert (await world.get(things, fieldSelector="spec.a=y")).names == ["y"]
        assert (await world.get(things, fieldSelector="spec.b=y")).code == 400

    tell(story)


def test_versions_are_compared_with_the_first_once() -> None:
    """A definition of 750 versions kept the server for a second while each was asked what all have alike."""
    most = 50
    with mock.patch.object(versions, is_equal.__name__, wraps=is_equal) as compared:
        assert not told(definition(versions=[version(f"v{n}", storage=n == 1) for n in range(1, most + 1)]))
    assert compared.call_count < 20 * most
