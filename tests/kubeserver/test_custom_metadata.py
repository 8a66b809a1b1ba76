"""Custom objects are checked as a whole: schemas and rules may speak of metadata, and of what is embedded."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from tests.kubeserver.api_world import DEFINITIONS, WIDGETS, ApiWorld, tell, widgets

APPLY = "application/apply-patch+yaml"
METADATA = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5, "pattern": "^[a-z]+$"}}}


def whole(root: Manifest, **properties: Any) -> Manifest:
    """A definition whose schema says `root` of the whole object."""
    definition = widgets()
    for version in definition["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        schema |= root
        schema["properties"] |= {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, **properties}
    return definition


def widget(name: str, **fields: Any) -> Manifest:
    body = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": 1}}
    return body | fields


def ruled(rule: str) -> Manifest:
    return whole({"x-kubernetes-validations": [{"rule": rule}]}, metadata={"type": "object"})


def test_a_schema_may_require_what_every_object_has() -> None:
    async def story(world: ApiWorld) -> None:
        required = ["apiVersion", "kind", "metadata", "spec"]
        assert (await world.create(DEFINITIONS, whole({"required": required}, metadata={"type": "object"}))).code == 201
        assert (await world.create(WIDGETS, widget("made"))).code == 201
        assert (await world.patch(f"{WIDGETS}/applied", widget("applied"), APPLY, fieldManager="me")).code == 201
        assert (await world.patch(f"{WIDGETS}/made", {"metadata": {"labels": {"a": "b"}}})).code == 200
        status = {**widget("made"), "status": {"phase": "Ready"}}
        assert (await world.patch(f"{WIDGETS}/made/status", status)).code == 200

    tell(story)


@pytest.mark.parametrize(
    ("root", "metadata", "said"),
    [
        ({}, METADATA, "metadata.name: Too long"),
        ({"maxProperties": 3}, {"type": "object"}, "Too many: 4: must have at most 3 items"),
        ({"not": {"required": ["kind"]}}, {"type": "object"}, "must not validate the schema (not)"),
        ({"allOf": [{"required": ["status"]}]}, {"type": "object"}, "status: Required value"),
    ],
)
def test_limits_of_the_whole_object_count_its_metadata(root: Manifest, metadata: Manifest, said: str) -> None:
    async def story(world: ApiWorld) -> None:
        assert (await world.create(DEFINITIONS, whole(root, metadata=metadata))).code == 201
        refused = await world.create(WIDGETS, widget("longer"))
        assert refused.code == 422
        assert said in refused.body["message"]

    tell(story)


@pytest.mark.parametrize(
    ("rule", "fits"),
    [
        ("self.metadata.name == 'made'", True),
        ("self.metadata.name.startsWith('other')", False),
        ("size(self.metadata.name) < 5 && self.kind == 'Widget' && self.apiVersion == 'example.com/v1'", True),
        ("!has(self.metadata.generateName) && self.spec.size == 1", True),
        ("oldSelf.metadata.name == self.metadata.name", True),
    ],
)
def test_rules_of_the_whole_object_see_its_name(rule: str, fits: bool) -> None:
    async def story(world: ApiWorld) -> None:
        assert (await world.create(DEFINITIONS, ruled(rule))).code == 201
        assert (await world.create(WIDGETS, widget("made"))).code == (201 if fits else 422)
        if fits:
            assert (await world.patch(f"{WIDGETS}/made", {"spec": {"color": "green"}})).code == 200

    tell(story)


def test_rules_see_the_beginning_of_a_name_that_is_made() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(DEFINITIONS, ruled("self.metadata.generateName == 'a-' && self.metadata.name.size() == 7"))
        assert (await world.create(WIDGETS, widget("", metadata={"generateName": "a-"}))).code == 201
        assert (await world.create(WIDGETS, widget("", metadata={"generateName": "b-"}))).code == 422

    tell(story)


def test_a_change_of_labels_asks_no_rule_of_the_whole_object_again() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(DEFINITIONS, whole({}, metadata={"type": "object"}))
        assert (await world.create(WIDGETS, widget("made"))).code == 201
        changed = ruled("self.metadata.name == 'other'")
        assert (await world.patch(f"{DEFINITIONS}/widgets.example.com", {"spec": changed["spec"]})).code == 200
        assert (await world.patch(f"{WIDGETS}/made", {"metadata": {"labels": {"a": "b"}}})).code == 200
        assert (await world.patch(f"{WIDGETS}/made", {"spec": {"color": "green"}})).code == 422

    tell(story)


def carrier(**schema: Any) -> Manifest:
    """A definition of which an object carries another one, as its schema says."""
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    return whole({}, carried={**embedded, **schema})


def carrying(**resource: Any) -> Manifest:
    carried = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "inside", "labels": {"a": "b"}}, **resource}
    return widget("made", carried={name: value for name, value in carried.items() if value is not None})


def test_an_embedded_resource_is_checked_as_a_whole() -> None:
    async def story(world: ApiWorld) -> None:
        required = ["apiVersion", "kind", "metadata"]
        rule = {"rule": "self.metadata.name.startsWith('in') && self.kind in ['Secret', 'ConfigMap']"}
        schema = carrier(required=required, properties={"metadata": METADATA}, **{"x-kubernetes-validations": [rule]})
        assert (await world.create(DEFINITIONS, schema)).code == 201
        sent = carrying(metadata={"name": "in", "creationTimestamp": None, "labels": {"a": "b"}}, data={"x": "eA=="})
        made = await world.create(WIDGETS, sent)
        assert (made.code, made.body["carried"]["metadata"]) == (201, {"name": "in", "labels": {"a": "b"}})
        assert (await world.create(WIDGETS, widget("none"))).code == 201
        for resource, said in (
            ({"metadata": None}, "carried.metadata: Required value"),
            ({"kind": None}, "carried.kind: Required value"),
            ({"apiVersion": "a/b/c"}, "carried.apiVersion: Invalid value"),
            ({"kind": "No Kind"}, "carried.kind: Invalid value"),
            ({"metadata": {"name": "in", "labels": {"a b": "c"}}}, "carried.metadata.labels: Invalid value"),
            ({"metadata": {"name": "in/side"}}, "carried.metadata.name: Invalid value"),
            ({"metadata": {"name": "other"}}, "failed rule"),
            ({"metadata": {"name": "inside"}}, "carried.metadata.name: Too long"),
        ):
            refused = await world.create(WIDGETS, {**carrying(**resource), "metadata": {"name": "refused"}})
            assert (refused.code, said in refused.body["message"]) == (422, True), (said, refused.body["message"])

    tell(story)


def test_metadata_of_an_embedded_resource_has_the_types_of_metadata() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(DEFINITIONS, carrier())
        assert (await world.create(WIDGETS, carrying(metadata={"labels": "none"}))).code == 400
        made = await world.create(WIDGETS, carrying(metadata={"name": "inside", "nope": 1}))
        assert (made.code, made.body["carried"]["metadata"]) == (201, {"name": "inside"})
        assert 'unknown field \\"carried.metadata.nope\\"' in made.headers["warning"]

    tell(story)


def test_defaults_fill_in_what_an_embedded_resource_lacks() -> None:
    async def story(world: ApiWorld) -> None:
        version = {"apiVersion": {"type": "string", "default": "v1"}, "kind": {"type": "string", "default": "Secret"}}
        assert (await world.create(DEFINITIONS, carrier(properties=version))).code == 201
        made = await world.create(WIDGETS, carrying(apiVersion=None, kind=None))
        assert (made.code, made.body["carried"]["kind"], made.body["carried"]["apiVersion"]) == (201, "Secret", "v1")

    tell(story)


def test_what_was_embedded_before_is_let_be() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(
            DEFINITIONS, whole({}, carried={"type": "object", "x-kubernetes-preserve-unknown-fields": True})
        )
        assert (await world.create(WIDGETS, carrying(kind=None))).code == 201
        await world.patch(f"{DEFINITIONS}/widgets.example.com", {"spec": carrier()["spec"]})
        assert (await world.patch(f"{WIDGETS}/made", {"metadata": {"labels": {"a": "b"}}})).code == 200
        assert (await world.patch(f"{WIDGETS}/made", {"carried": {"apiVersion": "v2"}})).code == 422

    tell(story)
