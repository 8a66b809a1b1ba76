"""Custom resources: served from the moment of their definition to that of its end."""

import asyncio

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeserver.store.memory import MemoryMedium
from tests.kubeserver.api_world import DEFINITIONS, TABLE, WIDGETS, ApiWorld, api_world, tell, widget, widgets

OLD = WIDGETS.replace("/v1/", "/v1beta1/")


def test_a_definition_is_served_as_soon_as_it_is_created():
    async def story(world: ApiWorld) -> None:
        assert (await world.get(WIDGETS)).code == 404
        await world.create(DEFINITIONS, widgets())
        assert (await world.create(WIDGETS, widget("a", size=3))).code == 201
        await asyncio.sleep(1)
        settled = (await world.get(f"{DEFINITIONS}/widgets.example.com")).body["status"]
        assert {c["type"]: c["status"] for c in settled["conditions"]} == {
            "NamesAccepted": "True",
            "Established": "True",
        }
        assert settled["acceptedNames"]["singular"] == "widget"

    tell(story)


def test_defaults_come_and_unknown_fields_go():
    async def story(world: ApiWorld) -> None:
        made = await world.create(WIDGETS, widget("a", size=3, nope=1, free={"any": {"thing": 1}}))
        assert made.body["spec"] == {"size": 3, "color": "red", "replicas": 1, "free": {"any": {"thing": 1}}}
        assert made.headers["warning"] == '299 - "unknown field \\"spec.nope\\""'

    tell(story, [widgets()])


def test_what_was_not_understood_is_told_of_a_refused_object_too():
    async def story(world: ApiWorld) -> None:
        refused = await world.create(OLD, {**widget("a", size=0, nope=1), "apiVersion": "example.com/v1beta1"})
        assert refused.code == 422
        deprecated, unknown = refused.headers["warning"].split(", 299 - ")
        assert "example.com/v1beta1 Widget is deprecated" in deprecated
        assert unknown == '"unknown field \\"spec.nope\\""'

    tell(story, [widgets()])


def test_strict_validation_refuses_unknown_fields_and_ignore_is_silent():
    async def story(world: ApiWorld) -> None:
        strict = await world.create(WIDGETS, widget("a", size=3, nope=1), fieldValidation="Strict")
        assert (strict.code, 'unknown field "spec.nope"' in strict.body["message"]) == (400, True)
        silent = await world.create(WIDGETS, widget("a", size=3, nope=1), fieldValidation="Ignore")
        assert "warning" not in silent.headers

    tell(story, [widgets()])


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"size": 0}, "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"),
        ({"size": 101}, "spec.size: Invalid value: 101: spec.size in body should be less than or equal to 100"),
        ({}, "spec.size: Required value"),
        ({"size": "3"}, 'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"'),
        ({"size": 1, "color": "pink"}, 'spec.color: Unsupported value: "pink": supported values: "red", "green"'),
        ({"size": 1, "tags": ["a", "a"]}, 'spec.tags[1]: Duplicate value: "a"'),
        ({"size": 1, "when": "soon"}, 'spec.when: Invalid value: "soon": spec.when in body must be of type date-time'),
        ({"size": 1, "port": 1.5}, "spec.port"),
        ({"size": 1, "color": 5}, 'spec.color: Unsupported value: 5: supported values: "red", "green"'),
    ],
)
def test_limits_are_checked_and_named(spec: Manifest, said: str):
    async def story(world: ApiWorld) -> None:
        refused = await world.create(WIDGETS, widget("a", **spec))
        assert (refused.code, refused.body["reason"]) == (422, "Invalid")
        assert said in refused.body["message"]
        assert refused.body["message"].startswith('Widget.example.com "a" is invalid: ')

    tell(story, [widgets()])


def with_limits(**limits: object) -> Manifest:
    definition = widgets()
    for version in definition["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"]["properties"]["spec"] |= limits
    return definition


@pytest.mark.parametrize(
    ("limits", "spec", "said"),
    [
        ({"anyOf": [{"required": ["color"]}, {"required": ["note"]}]}, {"color": "red"}, []),
        ({"anyOf": [{"required": ["code"]}, {"required": ["note"]}]}, {},
         ['<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)', "spec.code: Required value"]),
        ({"oneOf": [{"required": ["size"]}, {"required": ["color"]}]}, {},
         ['<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid']),
        ({"not": {"required": ["size"]}}, {}, ['<nil>: Invalid value: "": "spec" must not validate the schema (not)']),
        ({"allOf": [{"required": ["code"]}]}, {},
         ["spec.code: Required value", '<nil>: Invalid value: "": "spec" must validate all the schemas (allOf). None']),
    ],
)  # fmt: skip
def test_limits_that_are_joined_are_told_of_as_a_whole(limits: Manifest, spec: Manifest, said: list[str]):
    async def story(world: ApiWorld) -> None:
        await world.create(DEFINITIONS, with_limits(**limits))
        answer = await world.create(WIDGETS, widget("a", size=1, **spec))
        causes = [f"{cause['field']}: {cause['message']}" for cause in answer.body.get("details", {}).get("causes", [])]
        assert [found for found in causes if not any(found.startswith(text) for text in said)] == []
        assert len(causes) >= len(said)

    tell(story)


def test_what_is_as_it_was_is_let_be_when_the_schema_has_become_narrower():
    async def story(world: ApiWorld) -> None:
        await world.create(WIDGETS, widget("a", size=1, color="red", tags=["x"]))
        narrow = widgets()
        for version in narrow["spec"]["versions"]:
            fields = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
            fields["size"]["minimum"] = 5
            fields["color"] = {"type": "string", "enum": ["blue"]}
        await world.patch(f"{DEFINITIONS}/widgets.example.com", {"spec": narrow["spec"]})
        assert (await world.patch(f"{WIDGETS}/a", {"metadata": {"labels": {"a": "b"}}})).code == 200
        assert (await world.patch(f"{WIDGETS}/a", {"spec": {"tags": ["y"]}})).code == 200
        refused = await world.patch(f"{WIDGETS}/a", {"spec": {"size": 2}})
        assert [cause["field"] for cause in refused.body["details"]["causes"]] == ["spec.size"]

    tell(story, [widgets()])


def test_a_whole_number_fits_into_its_format():
    definition = widgets()
    for version in definition["spec"]["versions"]:
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec["properties"] = {**spec["properties"], "count": {"type": "integer", "format": "int32"}}

    async def story(world: ApiWorld) -> None:
        await world.create(DEFINITIONS, definition)
        assert (await world.create(WIDGETS, widget("small", size=1, count=2_147_483_647))).code == 201
        refused = await world.create(WIDGETS, widget("large", size=1, count=3_000_000_000))
        assert "must be of type integer with format int32 in spec.count" in refused.body["message"]
        refused = await world.create(WIDGETS, widget("half", size=1, count=1.5))
        assert 'spec.count in body must be of type int32: "float64"' in refused.body["message"]

    tell(story)


def test_an_object_without_replicas_has_no_scale_to_show_and_gets_one_when_it_is_scaled():
    definition = widgets()
    for version in definition["spec"]["versions"]:
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec["properties"] = {**spec["properties"], "replicas": {"type": "integer"}}

    async def story(world: ApiWorld) -> None:
        await world.create(DEFINITIONS, definition)
        await world.create(WIDGETS, widget("a", size=1))
        missing = await world.get(f"{WIDGETS}/a/scale")
        assert missing.code == 500
        assert missing.body["details"]["causes"] == [
            {"message": 'the spec replicas field ".spec.replicas" does not exist'}
        ]
        assert (await world.patch(f"{WIDGETS}/a/scale", {"spec": {"replicas": 2}})).code == 200
        assert (await world.get(f"{WIDGETS}/a/scale")).body["spec"] == {"replicas": 2}

    tell(story)


def test_null_is_a_value_where_it_may_be_one():
    async def story(world: ApiWorld) -> None:
        made = await world.create(WIDGETS, widget("a", size=1, note=None, color=None))
        assert made.body["spec"] == {"size": 1, "note": None, "color": "red", "replicas": 1}

    tell(story, [widgets()])


def test_each_version_shows_the_same_objects():
    async def story(world: ApiWorld) -> None:
        body = {**widget("a", size=1), "apiVersion": "example.com/v1beta1"}
        made = await world.create(OLD, body)
        assert made.body["apiVersion"] == "example.com/v1beta1"
        assert made.headers["warning"] == '299 - "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget"'
        assert (await world.get(f"{WIDGETS}/a")).body == {**made.body, "apiVersion": "example.com/v1"}
        assert (await world.get(WIDGETS)).body["items"][0]["apiVersion"] == "example.com/v1"

    tell(story, [widgets()])


def test_the_generation_ignores_the_status_and_a_version_is_needed_to_replace():
    async def story(world: ApiWorld) -> None:
        await world.create(WIDGETS, widget("a", size=1))
        status = await world.patch(f"{WIDGETS}/a/status", {"status": {"phase": "x"}, "spec": {"size": 9}})
        assert (status.body["metadata"]["generation"], status.body["spec"]["size"]) == (1, 1)
        assert (await world.patch(f"{WIDGETS}/a", {"spec": {"size": 2}})).body["metadata"]["generation"] == 2
        refused = await world.update(f"{WIDGETS}/a", widget("a", size=3))
        assert "metadata.resourceVersion" in refused.body["message"]

    tell(story, [widgets()])


def test_a_custom_kind_scales():
    async def story(world: ApiWorld) -> None:
        await world.create(WIDGETS, widget("a", size=1))
        await world.patch(f"{WIDGETS}/a/scale", {"spec": {"replicas": 4}})
        assert (await world.get(f"{WIDGETS}/a")).body["spec"]["replicas"] == 4

    tell(story, [widgets()])


def test_strategic_patches_are_for_built_in_kinds():
    async def story(world: ApiWorld) -> None:
        await world.create(WIDGETS, widget("a", size=1))
        refused = await world.patch(f"{WIDGETS}/a", {}, "application/strategic-merge-patch+json")
        assert refused.code == 415

    tell(story, [widgets()])


def test_tables_have_the_columns_of_the_definition():
    async def story(world: ApiWorld) -> None:
        await world.create(WIDGETS, widget("a", size=3))
        table = (await world.call("GET", WIDGETS, accept=TABLE)).body
        assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size", "Ready"]
        assert table["rows"][0]["cells"] == ["a", 3, None]

    tell(story, [widgets()])


def test_a_second_definition_of_the_same_kind_is_not_served_until_the_first_is_gone():
    async def story(world: ApiWorld) -> None:
        other = DEFINITIONS + "/gizmos.example.com"
        await world.create(DEFINITIONS, widgets("gizmos"))
        await asyncio.sleep(1)
        conditions = (await world.get(other)).body["status"]["conditions"]
        assert conditions[0]["reason"] == "ListKindConflict"
        assert (await world.get(WIDGETS.replace("widgets", "gizmos"))).code == 404
        await world.delete(f"{DEFINITIONS}/widgets.example.com")
        await asyncio.sleep(1)
        assert (await world.get(WIDGETS.replace("widgets", "gizmos"))).code == 200

    tell(story, [widgets()])


def test_a_number_that_becomes_a_boolean_is_written_and_its_type_is_checked():
    """Kubernetes 1.36 compares JSON values by type: 1 is not true, whoever writes, and however."""

    async def story(world: ApiWorld) -> None:
        path, apply = f"{WIDGETS}/a", "application/apply-patch+yaml"
        await world.create(WIDGETS, widget("a", size=3, free={"n": 1, "list": [0]}))
        put = await world.get(path)
        put.body["spec"]["free"] = {"n": True, "list": [False]}
        replacing = [{"op": "replace", "path": "/spec/free/n", "value": True}]
        writes = [
            await world.update(path, put.body),
            await world.patch(path, {"spec": {"free": {"n": 1, "list": [0]}}}),
            await world.patch(path, replacing, "application/json-patch+json"),
            await world.patch(path, widget("a", size=3, free={"n": 1}), apply, fieldManager="m", force="true"),
            await world.patch(path, widget("a", size=3, free={"n": True}), apply, fieldManager="m"),
        ]
        assert [repr(each.body["spec"]["free"]["n"]) for each in writes] == ["True", "1", "True", "1", "True"]
        generations = [each.body["metadata"]["generation"] for each in writes]
        assert generations == [2, 3, 4, 5, 6]
        stored = await world.get(path)
        assert repr(stored.body["spec"]["free"]) == "{'n': True, 'list': [0]}"
        assert (await world.patch(path, {"spec": {"size": 1}})).code == 200
        refused = [await world.patch(path, {"spec": change}) for change in ({"size": True}, {"replicas": True})]
        assert [each.code for each in refused] == [422, 422]
        as_before = await world.patch(path, {"spec": {"size": 1.0}})
        assert as_before.body["metadata"]["generation"] == 7

    tell(story, [widgets()])


def test_a_definition_takes_its_objects_along_and_waits_for_their_finalizers():
    async def story(world: ApiWorld) -> None:
        held = widget("held", size=1)
        held["metadata"]["finalizers"] = ["example.com/hold"]
        await world.create(WIDGETS, held)
        await world.create(WIDGETS, widget("free", size=1))
        await world.delete(f"{DEFINITIONS}/widgets.example.com")
        await asyncio.sleep(1)
        assert (await world.get(WIDGETS)).names == ["held"]
        assert (await world.create(WIDGETS, widget("new", size=1))).code == 403
        await world.patch(f"{WIDGETS}/held", {"metadata": {"finalizers": []}})
        await asyncio.sleep(1)
        assert (await world.get(f"{DEFINITIONS}/widgets.example.com")).code == 404
        assert (await world.get(WIDGETS)).code == 404

    tell(story, [widgets()])


def test_a_large_object_that_comes_together_with_the_end_of_its_definition_does_not_outlive_it():
    async def story(world: ApiWorld) -> None:
        large = widget("large", size=1, note="x" * 140_000)
        _, ended = await asyncio.gather(
            world.create(WIDGETS, large), world.delete(f"{DEFINITIONS}/widgets.example.com")
        )
        assert ended.code == 200
        await asyncio.sleep(1)
        assert (await world.get(WIDGETS)).code == 404
        await world.create(DEFINITIONS, widgets())
        await asyncio.sleep(1)
        assert (await world.get(WIDGETS)).names == []

    tell(story, [widgets()])


def test_definitions_are_served_again_after_a_restart():
    async def play() -> None:
        medium = MemoryMedium()
        async with api_world(medium, [widgets()]) as world:
            await world.create(WIDGETS, widget("a", size=1))
            revision = world.store.revision
        async with api_world(medium, [widgets()]) as world:
            assert (await world.get(WIDGETS)).names == ["a"]
            await asyncio.sleep(1)
            assert world.store.revision == revision

    run_virtual(play())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"scope": "Odd"}, "spec.scope"),
        ({"names": {"plural": "others", "kind": "Widget"}}, "metadata.name"),
        ({"preserveUnknownFields": True}, "spec.preserveUnknownFields: Invalid value: true: cannot set to true"),
    ],
)
def test_a_broken_definition_is_refused(change: Manifest, said: str):
    async def story(world: ApiWorld) -> None:
        definition = widgets()
        definition["spec"] |= change
        refused = await world.create(DEFINITIONS, definition)
        assert (refused.code, said in refused.body["message"]) == (422, True)

    tell(story)


def with_pattern(pattern: str) -> Manifest:
    definition = widgets()
    for version in definition["spec"]["versions"]:
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec["properties"] = {**spec["properties"], "code": {"type": "string", "pattern": pattern}}
    return definition


def test_a_pattern_takes_time_in_proportion_to_the_text_however_it_is_written():
    async def story(world: ApiWorld) -> None:
        await world.create(DEFINITIONS, with_pattern("^(a+)+$"))
        assert (await world.create(WIDGETS, widget("good", size=1, code="a" * 10_000))).code == 201
        refused = await world.create(WIDGETS, widget("bad", size=1, code="a" * 10_000 + "b"))
        assert refused.code == 422
        assert "spec.code in body should match '^(a+)+$'" in refused.body["message"]

    tell(story)


@pytest.mark.parametrize("pattern", ["(", "(?<!a)b", r"(a)\1", "((x{100}){100}){100}"])
def test_a_pattern_that_cannot_be_held_in_linear_time_is_refused_with_the_definition(pattern: str):
    async def story(world: ApiWorld) -> None:
        refused = await world.create(DEFINITIONS, with_pattern(pattern))
        assert refused.code == 422
        field = "spec.validation.openAPIV3Schema.properties[spec].properties[code].pattern"
        assert field in {cause["field"] for cause in refused.body["details"]["causes"]}

    tell(story)
