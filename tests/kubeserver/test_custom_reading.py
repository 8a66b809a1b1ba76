"""Custom objects that were stored under another schema than the one that holds now."""

import asyncio
from typing import Any

import pytest

from kubeapi import codec
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeserver.apiextensions.schema import StructuralSchema
from kubeserver.kinds.schema_views import PairOfSchemas, form_of
from kubeserver.store.memory import MemoryMedium
from tests.kubeserver.api_world import DEFINITIONS, TABLE, WIDGETS, ApiWorld, api_world, tell, widget, widgets
from tests.kubeserver.webhooks import MUTATING, InProcessWebhooks, allow, mutating, rule, webhook

DEFINITION = f"{DEFINITIONS}/widgets.example.com"
SECOND = WIDGETS.replace("/v1/", "/v2/")


def schema(**properties: Any) -> Manifest:
    spec = {"type": "object", "properties": properties}
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}


def version(name: str, *, storage: bool = False, **properties: Any) -> Manifest:
    return {"name": name, "served": True, "storage": storage, "schema": schema(**properties)}


def definition(*versions: Manifest) -> Manifest:
    made = widgets()
    made["spec"]["versions"] = list(versions)
    return made


INTEGER, TEXT = {"type": "integer"}, {"type": "string"}
BEFORE = definition(version("v1", storage=True, size=INTEGER, color=TEXT))
AFTER = definition(version("v1", storage=True, size=INTEGER, shape={"type": "string", "default": "round"}))


async def redefine(world: ApiWorld, wanted: Manifest) -> None:
    answer = await world.patch(DEFINITION, {"spec": wanted["spec"]})
    assert answer.code == 200, answer.body


def test_what_was_stored_under_an_older_schema_is_shown_under_the_one_of_now():
    async def story(world: ApiWorld) -> None:
        made = await world.create(WIDGETS, widget("a", size=1, color="red"))
        await redefine(world, AFTER)
        shown = {"size": 1, "shape": "round"}
        got = (await world.get(f"{WIDGETS}/a")).body
        assert got["spec"] == shown
        assert got["metadata"] == made.body["metadata"]
        assert [item["spec"] for item in (await world.get(WIDGETS)).body["items"]] == [shown]
        initial = await world.watch(WIDGETS, 1)
        assert [(event, found["spec"]) for event, found in initial] == [("ADDED", shown)]
        since = await world.watch(WIDGETS, 1, resourceVersion=str(int(made.version) - 1))
        assert [(event, found["spec"]) for event, found in since] == [("ADDED", shown)]
        deleted = await world.delete(f"{WIDGETS}/a")
        assert deleted.code == 200
        gone = await world.watch(WIDGETS, 1, resourceVersion=str(world.store.revision - 1))
        assert [(event, found["spec"]) for event, found in gone] == [("DELETED", shown)]

    tell(story, [BEFORE])


def test_who_changes_an_old_object_begins_with_what_is_shown():
    async def story(world: ApiWorld) -> None:
        await world.create(WIDGETS, widget("a", size=1, color="red"))
        await redefine(world, AFTER)
        refused = await world.patch(
            f"{WIDGETS}/a", [{"op": "test", "path": "/spec/color", "value": "red"}], "application/json-patch+json"
        )
        assert refused.code == 422
        patched = await world.patch(f"{WIDGETS}/a", {"spec": {"size": 2}})
        assert patched.body["spec"] == {"size": 2, "shape": "round"}
        await redefine(world, BEFORE)
        assert (await world.get(f"{WIDGETS}/a")).body["spec"] == {"size": 2}

    tell(story, [BEFORE])


def test_an_update_that_changes_nothing_brings_what_is_stored_under_the_schema_of_now():
    async def story(world: ApiWorld) -> None:
        made = await world.create(WIDGETS, widget("a", size=1, color="red"))
        await redefine(world, AFTER)
        first = await world.update(f"{WIDGETS}/a", (await world.get(f"{WIDGETS}/a")).body)
        assert first.version != made.version
        assert first.body["metadata"]["generation"] == made.body["metadata"]["generation"]
        again = await world.update(f"{WIDGETS}/a", first.body)
        assert again.version == first.version
        await redefine(world, BEFORE)
        assert (await world.get(f"{WIDGETS}/a")).body["spec"] == {"size": 1}

    tell(story, [BEFORE])


def test_webhooks_are_shown_old_objects_under_the_schema_of_now():
    hooks = InProcessWebhooks(look=allow)

    async def story(world: ApiWorld) -> None:
        await world.create(WIDGETS, widget("a", size=1, color="red"))
        await redefine(world, AFTER)
        await world.create(MUTATING, mutating("m", webhook("look", rule("widgets", "example.com"))))
        await world.patch(f"{WIDGETS}/a", {"spec": {"size": 2}})
        assert hooks.requests["look"][0]["oldObject"]["spec"] == {"size": 1, "shape": "round"}

    tell(story, [BEFORE], hooks)


def test_a_table_and_a_label_selector_work_on_what_is_shown():
    async def story(world: ApiWorld) -> None:
        labelled = widget("a", size=1, color="red")
        labelled["metadata"]["labels"] = {"app": "x"}
        await world.create(WIDGETS, labelled)
        columned = definition({**AFTER["spec"]["versions"][0]})
        columned["spec"]["versions"][0]["additionalPrinterColumns"] = [
            {"name": "Shape", "type": "string", "jsonPath": ".spec.shape"}
        ]
        await redefine(world, columned)
        table = (await world.call("GET", WIDGETS, accept=TABLE, query={"labelSelector": "app=x"})).body
        assert [row["cells"] for row in table["rows"]] == [["a", "round"]]
        assert (await world.get(WIDGETS, labelSelector="app=y")).names == []

    tell(story, [BEFORE])


def test_defaults_are_those_of_the_version_that_is_stored_and_fields_those_of_both():
    stored = version("v1", storage=True, size=INTEGER, shape={"type": "string", "default": "round"})
    other = version("v2", size=INTEGER, color={"type": "string", "default": "blue"})

    async def story(world: ApiWorld) -> None:
        await world.create(WIDGETS, widget("a", size=1))
        assert (await world.get(f"{SECOND}/a")).body["spec"] == {"size": 1}
        made = await world.create(SECOND, {**widget("b", size=2), "apiVersion": "example.com/v2"})
        assert made.body["spec"] == {"size": 2}
        stored = codec.decode_manifest(world.store.list("/example.com/widgets/").records[1].value)
        assert (stored["apiVersion"], stored["spec"]) == ("example.com/v1", {"size": 2})
        assert (await world.get(f"{WIDGETS}/b")).body["spec"] == {"size": 2, "shape": "round"}

    tell(story, [definition(stored, other)])


def test_objects_of_an_older_storage_version_are_shown_until_their_version_is_gone():
    first = version("v1", storage=True, size=INTEGER)
    second = version("v2", storage=True, size=INTEGER)

    async def story(world: ApiWorld) -> None:
        await world.create(WIDGETS, widget("a", size=1))
        await redefine(world, definition({**first, "storage": False, "served": False}, second))
        await asyncio.sleep(1)
        assert (await world.get(f"{SECOND}/a")).body["apiVersion"] == "example.com/v2"
        refused = await world.patch(DEFINITION, {"spec": definition(second)["spec"]})
        assert refused.code == 422
        assert 'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions' in refused.body["message"]

    tell(story, [definition(first)])


def test_a_null_where_none_may_be_is_nothing_unless_there_is_a_default():
    note = {"type": "string", "nullable": True}
    map_of_texts = {"type": "object", "additionalProperties": {"type": "string"}}
    shape = {"type": "string", "default": "round"}

    async def story(world: ApiWorld) -> None:
        made = await world.create(WIDGETS, widget("a", size=None, shape=None, note=None, texts={"a": None, "b": "x"}))
        assert made.body["spec"] == {"shape": "round", "note": None, "texts": {"b": "x"}}

    tell(story, [definition(version("v1", storage=True, size=INTEGER, note=note, texts=map_of_texts, shape=shape))])


def test_a_watch_ends_when_its_kind_is_defined_anew_and_goes_on_when_only_the_status_changes():
    async def story(world: ApiWorld) -> None:
        watching = asyncio.ensure_future(world.watch(WIDGETS, 9, timeoutSeconds="3000"))
        await asyncio.sleep(1)
        await world.patch(DEFINITION, {"metadata": {"labels": {"a": "b"}}})
        await asyncio.sleep(1)
        assert not watching.done()
        await redefine(world, AFTER)
        assert await asyncio.wait_for(watching, 1) == []
        watching = asyncio.ensure_future(world.watch(WIDGETS, 9, timeoutSeconds="3000"))
        await asyncio.sleep(1)
        await world.delete(DEFINITION)
        assert await asyncio.wait_for(watching, 5) == []

    tell(story, [BEFORE])


def test_after_a_restart_what_is_stored_is_looked_at_once():
    async def play() -> None:
        medium = MemoryMedium()
        async with api_world(medium, [BEFORE]) as world:
            await world.create(WIDGETS, widget("a", size=1))
        async with api_world(medium, [BEFORE]) as world:
            record = world.store.list("/example.com/widgets/").records[0]
            assert record.form is None
            await world.get(WIDGETS)
            assert record.form is not None

    run_virtual(play())


def test_an_object_that_needs_nothing_is_handed_out_as_the_bytes_that_are_stored():
    raw = schema(size=INTEGER)["openAPIV3Schema"]
    form = form_of(one := StructuralSchema(raw), one)
    value = b'{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"a"},"spec":{"size":1}}'
    assert form.show(value) is value
    assert form is form_of(one, one)
    assert form.show(value.replace(b'"size"', b'"colour"')) == value.replace(b'{"size":1}', b"{}")


def test_what_a_write_stores_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch):
    def look(form: PairOfSchemas, value: bytes) -> bytes:
        raise AssertionError(f"looked at {value!r}")

    monkeypatch.setattr(PairOfSchemas, "show", look)

    async def story(world: ApiWorld) -> None:
        assert (await world.create(WIDGETS, widget("a", size=1))).code == 201
        assert (await world.patch(f"{WIDGETS}/a", {"spec": {"size": 2}})).code == 200
        assert (await world.get(WIDGETS)).body["items"][0]["spec"] == {"size": 2}
        assert len(await world.watch(WIDGETS, 1)) == 1
        assert (await world.delete(f"{WIDGETS}/a")).code == 200

    tell(story, [BEFORE])
