"""Conversion by webhook: objects of a custom kind in another version than the one that is stored."""

import asyncio
from typing import Any

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.transport import Request
from kubeserver.apiextensions.conversion.conversion_cache import ConversionCache
from tests.kubeserver.api_world import CONFIG_MAPS, DEFINITIONS, TABLE, ApiWorld, config_map, tell
from tests.kubeserver.conversion import FIRST, SECOND, Convert, InProcessConversion, gadget, gadgets, rename
from tests.kubeserver.webhooks import MUTATING, mutating, rule, webhook

DEFINITION = f"{DEFINITIONS}/widgets.example.com"


def test_an_object_is_converted_when_it_is_read_in_another_version():
    client = InProcessConversion()

    async def story(world: ApiWorld) -> None:
        made = await world.create(FIRST, gadget("v1", size=3))
        assert client.reviews == []
        got = (await world.get(f"{SECOND}/g")).body
        assert (got["apiVersion"], got["spec"]) == ("example.com/v2", {"length": 3, "color": "red"})
        assert got["metadata"] == made.body["metadata"]
        [review] = client.reviews
        assert (review["apiVersion"], review["kind"]) == ("apiextensions.k8s.io/v1", "ConversionReview")
        assert review["request"]["desiredAPIVersion"] == "example.com/v2"
        assert review["request"]["objects"] == [made.body]
        table = (await world.call("GET", SECOND, accept=TABLE)).body
        assert [row["cells"] for row in table["rows"]] == [["g", 3]]

    tell(story, [gadgets()], client)


def test_an_object_is_converted_to_the_version_that_is_stored_when_it_is_written_in_another():
    client = InProcessConversion()

    async def story(world: ApiWorld) -> None:
        made = await world.create(SECOND, gadget("v2", length=3))
        assert made.body["spec"] == {"length": 3, "color": "red"}
        assert b'"size":3' in world.store.list("/example.com/widgets/").records[0].value
        assert (await world.get(f"{FIRST}/g")).body["spec"] == {"size": 3, "color": "red"}
        patched = await world.patch(f"{SECOND}/g", {"spec": {"length": 4}})
        assert (patched.code, patched.body["spec"]["length"]) == (200, 4)
        status = await world.patch(f"{SECOND}/g/status", {"status": {}})
        assert (status.code, status.body["spec"]["length"]) == (200, 4)
        assert (await world.get(f"{FIRST}/g")).body["spec"]["size"] == 4
        assert (await world.delete(f"{SECOND}/g")).code == 200

    tell(story, [gadgets()], client)


def test_a_list_goes_out_in_batches_and_comes_back_in_its_order(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("kubeserver.apiextensions.conversion.webhook.MOST_OBJECTS", 4)
    client = InProcessConversion()

    async def story(world: ApiWorld) -> None:
        for number in range(10):
            await world.create(FIRST, gadget("v1", f"g{number}", size=number))
        items = (await world.get(SECOND)).body["items"]
        assert [item["spec"]["length"] for item in items] == list(range(10))
        assert [len(review["request"]["objects"]) for review in client.reviews] == [4, 4, 2]
        page = (await world.get(SECOND, limit="3")).body
        assert [item["metadata"]["name"] for item in page["items"]] == ["g0", "g1", "g2"]

    tell(story, [gadgets()], client)


def test_watch_frames_are_converted_once_for_all_who_watch():
    client = InProcessConversion()

    async def story(world: ApiWorld) -> None:
        await world.create(FIRST, gadget("v1", size=1))
        watching = [asyncio.ensure_future(world.watch(SECOND, 3)) for _ in range(20)]
        client.delay_seconds = 0.1
        await asyncio.sleep(1)
        await world.patch(f"{FIRST}/g", {"spec": {"size": 2}})
        await world.delete(f"{FIRST}/g")
        for each in watching:
            frames = [(event, shown["spec"]["length"]) for event, shown in await each]
            assert frames == [("ADDED", 1), ("MODIFIED", 2), ("DELETED", 2)]
        assert len(client.reviews) == 3

    tell(story, [gadgets()], client)


def test_labels_that_a_webhook_gives_are_selected_by():
    def labelled(manifest: Manifest, target: str) -> Manifest:
        metadata = {**manifest["metadata"], "labels": {"version": target.rpartition("/")[2]}}
        return {**rename(manifest, target), "metadata": metadata}

    async def story(world: ApiWorld) -> None:
        await world.create(FIRST, gadget("v1", size=1))
        assert (await world.get(SECOND, labelSelector="version=v2")).names == ["g"]
        assert (await world.get(FIRST, labelSelector="version=v2")).names == []
        assert [event for event, _ in await world.watch(SECOND, 1, labelSelector="version=v2")] == ["ADDED"]

    tell(story, [gadgets()], InProcessConversion(labelled))


def test_what_a_webhook_makes_of_other_metadata_is_put_back_and_unknown_fields_go():
    def meddle(manifest: Manifest, target: str) -> Manifest:
        made = rename(manifest, target)
        metadata = {**manifest["metadata"], "generation": 77, "annotations": {"a": "b"}, "finalizers": ["x/y"]}
        return {**made, "metadata": metadata, "spec": {**made["spec"], "odd": 1}}

    async def story(world: ApiWorld) -> None:
        made = await world.create(FIRST, gadget("v1", size=1))
        got = (await world.get(f"{SECOND}/g")).body
        assert got["spec"] == {"length": 1, "color": "red"}
        assert got["metadata"] == {**made.body["metadata"], "annotations": {"a": "b"}}

    tell(story, [gadgets()], InProcessConversion(meddle))


def test_a_storage_version_that_has_changed_is_taken_on_with_the_next_write():
    client = InProcessConversion()

    async def story(world: ApiWorld) -> None:
        await world.create(FIRST, gadget("v1", size=3))
        await world.patch(DEFINITION, {"spec": gadgets("v2")["spec"]})
        await asyncio.sleep(1)
        assert (await world.get(DEFINITION)).body["status"]["storedVersions"] == ["v1", "v2"]
        assert (await world.get(f"{FIRST}/g")).body["spec"] == {"size": 3, "color": "red"}
        assert client.reviews == []
        shown = (await world.get(f"{SECOND}/g")).body
        assert shown["spec"] == {"length": 3, "color": "red"}
        assert (await world.update(f"{SECOND}/g", shown)).version != shown["metadata"]["resourceVersion"]
        assert b'"length":3' in world.store.list("/example.com/widgets/").records[0].value

    tell(story, [gadgets()], client)


def test_owners_of_fields_are_compared_in_the_version_in_which_they_own_them():
    async def story(world: ApiWorld) -> None:
        apply = "application/apply-patch+yaml"
        await world.patch(f"{FIRST}/g", gadget("v1", size=3), apply, fieldManager="old")
        refused = await world.patch(f"{SECOND}/g", gadget("v2", length=4), apply, fieldManager="new")
        assert refused.code == 409
        assert [cause["field"] for cause in refused.body["details"]["causes"]] == [".spec.size"]
        forced = await world.patch(f"{SECOND}/g", gadget("v2", length=4), apply, fieldManager="new", force="true")
        owners = forced.body["metadata"]["managedFields"]
        assert {entry["manager"]: entry["fieldsV1"].get("f:spec") for entry in owners} == {"new": {"f:length": {}}}
        shared = await world.patch(f"{FIRST}/g", gadget("v1", size=4), apply, fieldManager="old")
        assert shared.code == 200
        gone = await world.patch(f"{SECOND}/g", gadget("v2"), apply, fieldManager="new")
        assert gone.body["spec"]["length"] == 4

    tell(story, [gadgets()], InProcessConversion())


def _unchanged(manifest: Manifest, target: str) -> Manifest:
    return manifest


def _odd(manifest: Manifest, target: str) -> Manifest:
    return {**rename(manifest, target), "kind": "Odd"}


def _misnamed(manifest: Manifest, target: str) -> Manifest:
    return {**rename(manifest, target), "metadata": {**manifest["metadata"], "name": "other"}}


def _mislabelled(manifest: Manifest, target: str) -> Manifest:
    return {**rename(manifest, target), "metadata": {**manifest["metadata"], "labels": {"a b": "c"}}}


@pytest.mark.parametrize(
    ("convert", "response", "said"),
    [
        (rename, {"uid": "other"}, 'failed: expected response.uid="'),
        (rename, {"convertedObjects": []}, "returned 0 objects, expected 1"),
        (rename, {"convertedObjects": [1]}, "returned invalid object at index 0: Expected `object`, got `int`"),
        (rename, {"result": {"status": "Failure", "message": "no such thing"}}, "failed: no such thing"),
        (rename, {"result": {}}, "failed: response.result.status was '', not 'Success'"),
        (
            _unchanged,
            {},
            "returned invalid object at index 0: "
            "invalid groupVersion (expected example.com/v2, received example.com/v1)",
        ),
        (
            _odd,
            {},
            "returned invalid object at index 0: invalid kind (expected Widget, received Odd)",
        ),
        (_misnamed, {}, "returned invalid object: must have the same name: g != other"),
        (_mislabelled, {}, 'returned invalid metadata: metadata.labels: Invalid value: "a b"'),
    ],
)
def test_an_answer_that_is_none_is_told_to_who_asked(convert: Convert, response: dict[str, Any], said: str):
    async def story(world: ApiWorld) -> None:
        await world.create(FIRST, gadget("v1", size=1))
        refused = await world.get(f"{SECOND}/g")
        assert (refused.code, "reason" in refused.body) == (500, False)
        assert refused.body["message"].startswith(f"conversion webhook for example.com/v1, Kind=Widget {said}")
        assert (await world.get(f"{FIRST}/g")).code == 200

    tell(story, [gadgets()], InProcessConversion(convert, **response))


def test_a_fault_within_a_batch_names_the_object():
    async def story(world: ApiWorld) -> None:
        await world.create(FIRST, gadget("v1", "a", size=1))
        await world.create(FIRST, gadget("v1", "b", size=1))
        refused = await world.get(SECOND)
        said = "returned invalid converted object at index 0: must have the same name: a != other"
        assert refused.body["message"] == f"conversion webhook for example.com/v1, Kind=Widget {said}"

    tell(story, [gadgets()], InProcessConversion(_misnamed))


def test_a_webhook_that_cannot_be_reached_fails_reads_writes_and_watches_in_its_versions_alone():
    client = InProcessConversion()

    async def story(world: ApiWorld) -> None:
        await world.create(FIRST, gadget("v1", size=1))
        client.fault = "nobody at home"
        said = "conversion webhook for example.com/{}, Kind=Widget failed: nobody at home"
        assert (await world.get(SECOND)).body["message"] == said.format("v1")
        assert (await world.create(SECOND, gadget("v2", "h", length=1))).body["message"] == said.format("v2")
        [(event, status)] = await world.watch(SECOND, 1)
        assert (event, status["code"], status["message"]) == ("ERROR", 500, said.format("v1"))
        assert (await world.delete(f"{FIRST}/g")).code == 200
        assert (await world.get(f"{FIRST}/g")).code == 404

    tell(story, [gadgets()], client)


def test_namespaces_and_definitions_end_without_the_webhook():
    client = InProcessConversion()

    async def story(world: ApiWorld) -> None:
        await world.create("/api/v1/namespaces", {"metadata": {"name": "short"}})
        await world.create(SECOND.replace("default", "short"), gadget("v2", length=1))
        await world.create(SECOND, gadget("v2", length=1))
        client.fault = "nobody at home"
        await world.delete("/api/v1/namespaces/short")
        await asyncio.sleep(1)
        assert (await world.get("/api/v1/namespaces/short")).code == 404
        await world.delete(DEFINITION)
        await asyncio.sleep(1)
        assert (await world.get(DEFINITION)).code == 404
        assert world.store.list("/example.com/widgets/").records == []

    tell(story, [gadgets("v2")], client)


def test_dependents_are_collected_without_the_webhook():
    client = InProcessConversion()

    async def story(world: ApiWorld) -> None:
        owner = (await world.create(CONFIG_MAPS, config_map("owner"))).body["metadata"]
        dependent = gadget("v2", length=1)
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
        dependent["metadata"]["ownerReferences"] = [reference]
        await world.create(SECOND, dependent)
        client.fault = "nobody at home"
        await world.delete(f"{CONFIG_MAPS}/owner")
        await asyncio.sleep(1)
        assert (await world.get(f"{SECOND}/g")).code == 404

    tell(story, [gadgets("v2")], client)


def test_a_webhook_has_half_a_minute():
    client = InProcessConversion()
    client.delay_seconds = 31

    async def story(world: ApiWorld) -> None:
        await world.create(FIRST, gadget("v1", size=1))
        loop = asyncio.get_running_loop()
        before = loop.time()
        request = Request("GET", f"{SECOND}/g", {}, {"accept": "application/json"})
        refused = await world.transport.send(request, timeout_seconds=60)
        assert b"https://webhooks.example/convert: no answer within 30 s" in refused.body
        assert loop.time() - before == pytest.approx(30, abs=0.1)  # pyright: ignore[reportUnknownMemberType]

    tell(story, [gadgets()], client)


def test_nothing_is_created_in_a_namespace_that_ended_while_a_webhook_converted():
    client = InProcessConversion()
    client.delay_seconds = 2

    async def story(world: ApiWorld) -> None:
        await world.create("/api/v1/namespaces", {"metadata": {"name": "short"}})
        path = SECOND.replace("default", "short")
        creation = asyncio.create_task(world.create(path, gadget("v2", length=1)))
        await asyncio.sleep(1)
        await world.delete("/api/v1/namespaces/short")
        assert (await creation).code == 404
        assert world.store.list("/example.com/widgets/").records == []

    tell(story, [gadgets()], client)


def test_a_change_that_comes_while_a_webhook_converts_is_not_lost():
    client = InProcessConversion()

    async def story(world: ApiWorld) -> None:
        await world.create(FIRST, gadget("v1", size=1))
        client.delay_seconds = 0.5
        changing = asyncio.create_task(world.patch(f"{SECOND}/g", {"spec": {"length": 5}}))
        await asyncio.sleep(0.25)
        await world.patch(f"{FIRST}/g", {"spec": {"color": "blue"}})
        assert (await changing).code == 200
        assert (await world.get(f"{FIRST}/g")).body["spec"] == {"size": 5, "color": "blue"}

    tell(story, [gadgets()], client)


def test_the_first_version_of_the_review_is_spoken_where_it_is_offered_first():
    client = InProcessConversion(uid="whatever")

    async def story(world: ApiWorld) -> None:
        await world.create(FIRST, gadget("v1", size=1))
        assert (await world.get(f"{SECOND}/g")).body["spec"]["length"] == 1
        assert client.reviews[0]["apiVersion"] == "apiextensions.k8s.io/v1beta1"

    tell(story, [gadgets(reviews=("v7", "v1beta1", "v1"))], client)


def test_admission_sees_objects_in_the_version_that_it_asks_for():
    client = InProcessConversion()

    async def story(world: ApiWorld) -> None:
        hook = webhook("judge", rule("widgets", "example.com", "v2"))
        await world.create(MUTATING, mutating("m", hook))
        assert (await world.create(FIRST, gadget("v1", size=1))).code == 201
        [seen] = client.admitted
        assert (seen["object"]["apiVersion"], seen["object"]["spec"]["length"]) == ("example.com/v2", 1)
        client.fault = "nobody at home"
        refused = await world.create(FIRST, gadget("v1", "h", size=2))
        assert (refused.code, refused.body["reason"]) == (500, "InternalError")
        said = "conversion webhook for example.com/v1, Kind=Widget failed: nobody at home"
        assert refused.body["message"] == f"Internal error occurred: {said}"

    tell(story, [gadgets()], client)


def test_a_webhook_behind_a_service_is_reached_as_those_of_admission_are():
    client = InProcessConversion()
    definition = gadgets()
    reference = {"name": "hook", "namespace": "default", "path": "/convert"}
    definition["spec"]["conversion"]["webhook"]["clientConfig"] = {"service": reference}

    async def story(world: ApiWorld) -> None:
        await world.create(FIRST, gadget("v1", size=1))
        lost = await world.get(f"{SECOND}/g")
        assert lost.body["message"].endswith('failed: service "hook" not found in the namespace "default"')
        spec = {"type": "ExternalName", "externalName": "hooks.example"}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook"}, "spec": spec}
        await world.create("/api/v1/namespaces/default/services", service)
        assert (await world.get(f"{SECOND}/g")).code == 200
        [address] = client.addresses
        assert (address.url, address.server_name) == ("https://hooks.example:443/convert", "hook.default.svc")

    tell(story, [definition], client)


CLIENT = {"url": "https://webhooks.example/convert"}


@pytest.mark.parametrize(
    ("conversion", "said"),
    [
        ({}, "spec.conversion.strategy: Required value"),
        (
            {"strategy": "Odd"},
            'spec.conversion.strategy: Unsupported value: "Odd": supported values: "None", "Webhook"',
        ),
        (
            {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}},
            "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
        ),
        (
            {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {}}},
            "spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required",
        ),
        (
            {
                "strategy": "Webhook",
                "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "http://x"}},
            },
            "spec.conversion.webhookClientConfig.url: Invalid value",
        ),
        (
            {"strategy": "Webhook", "webhook": {"clientConfig": CLIENT}},
            "spec.conversion.conversionReviewVersions: Required value",
        ),
        (
            {"strategy": "Webhook", "webhook": {"clientConfig": CLIENT, "conversionReviewVersions": ["v7"]}},
            'spec.conversion.conversionReviewVersions: Invalid value: ["v7"]: must include at least one of v1, v1beta1',
        ),
        (
            {"strategy": "Webhook", "webhook": {"clientConfig": CLIENT, "conversionReviewVersions": ["v1", "v1"]}},
            'spec.conversion.conversionReviewVersions[1]: Invalid value: "v1": duplicate version',
        ),
        (
            {"strategy": "None", "webhook": {"clientConfig": CLIENT}},
            "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
        ),
    ],
)
def test_a_conversion_that_cannot_work_is_refused_with_the_definition(conversion: Manifest, said: str):
    async def story(world: ApiWorld) -> None:
        definition = gadgets()
        definition["spec"]["conversion"] = conversion
        refused = await world.create(DEFINITIONS, definition)
        assert (refused.code, refused.body["reason"]) == (422, "Invalid")
        assert said in refused.body["message"]

    tell(story)


def test_what_is_asked_for_by_several_is_asked_once_and_only_the_newest_is_kept():
    asked: list[bytes] = []

    async def ask(values: Any, target: str) -> list[bytes]:
        asked.extend(values)
        await asyncio.sleep(1)
        return [value.upper() for value in values]

    async def play() -> None:
        remembered = ConversionCache(ask, limit_bytes=4)
        first = asyncio.ensure_future(remembered.get([b"a", b"b"], "v2"))
        second = asyncio.ensure_future(remembered.get([b"b", b"c"], "v2"))
        assert await first == [b"A", b"B"]
        assert await second == [b"B", b"C"]
        assert asked == [b"a", b"b", b"c"]
        assert [remembered.known(value, "v2") for value in (b"a", b"b", b"c")] == [None, b"B", b"C"]

    run_virtual(play())


def test_who_waits_for_one_who_gives_up_asks_alone():
    async def ask(values: Any, target: str) -> list[bytes]:
        await asyncio.sleep(1)
        return list(values)

    async def play() -> None:
        remembered = ConversionCache(ask)
        first = asyncio.ensure_future(remembered.get([b"a"], "v2"))
        second = asyncio.ensure_future(remembered.get([b"a"], "v2"))
        await asyncio.sleep(0.5)
        first.cancel()
        assert await second == [b"a"]

    run_virtual(play())
