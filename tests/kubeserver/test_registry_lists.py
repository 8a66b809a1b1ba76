"""Lists and watches: pages, selectors, resource versions, and streams of changes."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import cast

import pytest

from kubeapi import codec
from kubeapi.loop.lives import Life
from kubeapi.meta import Manifest
from kubeapi.transport import Request
from kubeserver.handler import StreamResponse
from kubeserver.inprocess import ADMIN
from kubeserver.registry.watch_frame_cache import SharedPieces, View
from tests.kubeserver.api_world import CONFIG_MAPS, PODS, TABLE, ApiWorld, config_map, pod, tell


def _template() -> Manifest:
    return {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def job(name: str) -> Manifest:
    template = _template()
    template["spec"]["restartPolicy"] = "Never"
    return {"metadata": {"name": name}, "spec": {"template": template}}


def replica_set(name: str) -> Manifest:
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": _template()}}


async def _make(world: ApiWorld, *names: str) -> None:
    for name in names:
        labels = {"app": name, "even": str(ord(name) % 2 == 0).lower()}
        await world.create(CONFIG_MAPS, {"metadata": {"name": name, "labels": labels}})


def test_pages_come_from_one_revision():
    async def story(world: ApiWorld) -> None:
        await _make(world, "a", "b", "c", "d", "e")
        first = await world.get(CONFIG_MAPS, limit="2")
        assert (first.names, first.body["metadata"]["remainingItemCount"]) == (["a", "b"], 3)
        await world.create(CONFIG_MAPS, config_map("bb"))
        second = await world.get(CONFIG_MAPS, limit="2", **{"continue": first.body["metadata"]["continue"]})
        last = await world.get(CONFIG_MAPS, limit="2", **{"continue": second.body["metadata"]["continue"]})
        assert (second.names, last.names) == (["c", "d"], ["e"])
        assert second.body["metadata"]["resourceVersion"] == first.body["metadata"]["resourceVersion"]
        assert "continue" not in last.body["metadata"]

    tell(story)


def test_any_state_comes_in_one_page_and_a_page_has_its_own_revision():
    async def story(world: ApiWorld) -> None:
        await _make(world, "a", "b")
        assert (await world.get(CONFIG_MAPS, limit="1", resourceVersion="0")).names == ["a", "b"]
        token = (await world.get(CONFIG_MAPS, limit="1")).body["metadata"]["continue"]
        assert (await world.get(CONFIG_MAPS, resourceVersion="0", **{"continue": token})).names == ["b"]
        refused = await world.get(CONFIG_MAPS, resourceVersion="1", **{"continue": token})
        assert refused.body["message"] == "specifying resource version is not allowed when using continue"

    tell(story)


def test_pages_of_a_selection_hold_only_what_is_selected():
    async def story(world: ApiWorld) -> None:
        await _make(world, "a", "b", "c", "d")
        first = await world.get(CONFIG_MAPS, limit="1", labelSelector="even=true")
        token = first.body["metadata"]["continue"]
        rest = await world.get(CONFIG_MAPS, labelSelector="even=true", **{"continue": token})
        assert (first.names, rest.names) == (["b"], ["d"])

    tell(story)


def test_a_page_of_a_forgotten_revision_is_gone():
    async def story(world: ApiWorld) -> None:
        await _make(world, "a", "b")
        token = (await world.get(CONFIG_MAPS, limit="1")).body["metadata"]["continue"]
        await _make(world, "c", "d")
        world.store.compact(world.store.revision)
        assert (await world.get(CONFIG_MAPS, limit="1", **{"continue": token})).code == 410
        assert (await world.get(CONFIG_MAPS, **{"continue": "nonsense"})).code == 400

    tell(story)


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ({"labelSelector": "app in (a,c)"}, ["a", "c"]),
        ({"labelSelector": "app!=a,even"}, ["b", "c"]),
        ({"fieldSelector": "metadata.name=b"}, ["b"]),
        ({"fieldSelector": "metadata.name!=b,metadata.namespace=default"}, ["a", "c"]),
    ],
)
def test_selectors_choose(selector: dict[str, str], names: list[str]):
    async def story(world: ApiWorld) -> None:
        await _make(world, "a", "b", "c")
        assert (await world.get(CONFIG_MAPS, **selector)).names == names

    tell(story)


@pytest.mark.parametrize(
    "selector",
    [{"labelSelector": "a in"}, {"fieldSelector": "data.k=v"}, {"fieldSelector": "nonsense"}, {"limit": "x"}],
)
def test_selectors_that_cannot_be_read_are_refused(selector: dict[str, str]):
    async def story(world: ApiWorld) -> None:
        assert (await world.get(CONFIG_MAPS, **selector)).code == 400

    tell(story)


def test_pods_are_selected_by_node_and_phase():
    async def story(world: ApiWorld) -> None:
        await world.create(PODS, pod("a", nodeName="node1"))
        await world.create(PODS, pod("b", nodeName="node2"))
        assert (await world.get(PODS, fieldSelector="spec.nodeName=node1")).names == ["a"]
        assert (await world.get(PODS, fieldSelector="status.phase=Running")).names == []

    tell(story)


EVENT = {"metadata": {"name": "e", "namespace": "default"}, "involvedObject": {"namespace": "default"}}
SELECTED = [
    (PODS, pod("a"), {"spec.host=", "status.podIPs=", "spec.hostNetwork=false"}, {"spec.hostNetwork=true"}),
    ("/api/v1/nodes", {"metadata": {"name": "n"}}, {"spec.unschedulable=false"}, {"spec.unschedulable="}),
    (
        "/api/v1/nodes",
        {"metadata": {"name": "n"}, "spec": {"unschedulable": True}},
        {"spec.unschedulable=true"},
        {"spec.unschedulable=True"},
    ),
    (
        "/api/v1/namespaces/default/events",
        {**EVENT, "source": {"component": "c"}},
        {"source=c", "reportingComponent="},
        {"source="},
    ),
    ("/apis/batch/v1/namespaces/default/jobs", job("j"), {"status.successful=0"}, {"status.successful="}),
    ("/apis/apps/v1/namespaces/default/replicasets", replica_set("r"), {"status.replicas=0"}, {"status.replicas="}),
]


@pytest.mark.parametrize(("path", "made", "found", "missed"), SELECTED)
def test_what_is_not_said_is_selected_by_the_empty_value_of_its_type(
    path: str, made: Manifest, found: set[str], missed: set[str]
) -> None:
    async def story(world: ApiWorld) -> None:
        answer = await world.create(path, made)
        assert answer.code == 201, answer.body
        for selector in found | missed:
            names = (await world.get(path, fieldSelector=selector)).names
            assert names == ([answer.name] if selector in found else []), selector

    tell(story)


def test_a_list_can_be_exact_about_its_revision():
    async def story(world: ApiWorld) -> None:
        first = await world.create(CONFIG_MAPS, config_map("a"))
        await world.create(CONFIG_MAPS, config_map("b"))
        exact = await world.get(CONFIG_MAPS, resourceVersion=first.version, resourceVersionMatch="Exact")
        newer = await world.get(CONFIG_MAPS, resourceVersion=first.version)
        assert (exact.names, newer.names) == (["a"], ["a", "b"])

    tell(story)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"resourceVersion": "999999"}, 504),
        ({"resourceVersion": "abc"}, 400),
        ({"resourceVersionMatch": "Exact"}, 422),
        ({"resourceVersion": "0", "resourceVersionMatch": "Exact"}, 422),
        ({"sendInitialEvents": "true"}, 422),
    ],
)
def test_versions_that_make_no_sense_are_refused(query: dict[str, str], code: int):
    async def story(world: ApiWorld) -> None:
        assert (await world.get(CONFIG_MAPS, **query)).code == code

    tell(story)


def test_a_watch_tells_every_change_since_a_revision_in_order():
    async def story(world: ApiWorld) -> None:
        first = await world.create(CONFIG_MAPS, config_map("a"))
        await world.patch(f"{CONFIG_MAPS}/a", {"data": {"k": "v"}})
        await world.create(CONFIG_MAPS, config_map("b"))
        await world.delete(f"{CONFIG_MAPS}/a")
        frames = await world.watch(CONFIG_MAPS, 3, resourceVersion=first.version)
        assert [(kind, obj["metadata"]["name"]) for kind, obj in frames] == [
            ("MODIFIED", "a"),
            ("ADDED", "b"),
            ("DELETED", "a"),
        ]
        versions = [int(obj["metadata"]["resourceVersion"]) for _, obj in frames]
        assert versions == sorted(versions)
        assert frames[0][1]["kind"] == "ConfigMap"

    tell(story)


def test_an_object_that_moves_out_of_a_selection_is_deleted_there_and_added_when_it_comes_back():
    async def story(world: ApiWorld) -> None:
        made = await world.create(CONFIG_MAPS, {"metadata": {"name": "a", "labels": {"x": "1"}}})
        await world.patch(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"x": "2"}}})
        await world.patch(f"{CONFIG_MAPS}/a", {"data": {"unseen": "1"}})
        await world.patch(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"x": "1"}}})
        frames = await world.watch(CONFIG_MAPS, 2, resourceVersion=made.version, labelSelector="x=1")
        assert [kind for kind, _ in frames] == ["DELETED", "ADDED"]
        assert frames[0][1]["metadata"]["labels"] == {"x": "1"}

    tell(story)


def test_a_watch_without_a_revision_begins_with_what_is_there():
    async def story(world: ApiWorld) -> None:
        await _make(world, "a", "b")
        frames = await world.watch(CONFIG_MAPS, 2)
        assert [(kind, obj["metadata"]["name"]) for kind, obj in frames] == [("ADDED", "a"), ("ADDED", "b")]

    tell(story)


def test_initial_events_end_with_a_bookmark():
    async def story(world: ApiWorld) -> None:
        await _make(world, "a")
        query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
        frames = await world.watch(CONFIG_MAPS, 2, **query)
        assert [kind for kind, _ in frames] == ["ADDED", "BOOKMARK"]
        assert frames[1][1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}

    tell(story)


def test_a_bookmark_is_an_object_that_says_nothing_but_a_revision():
    async def bookmark(world: ApiWorld, path: str, accept: str) -> Manifest:
        query = {"watch": "true", "resourceVersion": "1", "allowWatchBookmarks": "true", "timeoutSeconds": "5"}
        async with world.transport.stream(Request("GET", path, query, {"accept": accept})) as lines:
            frames = [codec.decode_manifest(line) async for line in lines]
        return frames[-1]["object"]

    async def story(world: ApiWorld) -> None:
        path = "/apis/apps/v1/namespaces/default/deployments"
        plain = await bookmark(world, path, "application/json")
        assert plain == {
            "kind": "Deployment",
            "apiVersion": "apps/v1",
            "metadata": {"resourceVersion": str(world.store.revision)},
            "spec": {
                "selector": None,
                "strategy": {},
                "template": {"metadata": {}, "spec": {"containers": None}},
            },
            "status": {},
        }
        partial = await bookmark(world, path, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
        assert (partial["kind"], partial["metadata"]) == ("PartialObjectMetadata", plain["metadata"])

    tell(story)


def test_bookmarks_come_every_minute_and_at_the_end_and_are_as_new_as_the_store():
    async def story(world: ApiWorld) -> None:
        await world.create(PODS, pod("elsewhere"))
        query = {"resourceVersion": "1", "allowWatchBookmarks": "true", "timeoutSeconds": "150"}
        frames = await world.watch(CONFIG_MAPS, 9, **query)
        assert [kind for kind, _ in frames] == ["BOOKMARK"] * 3
        assert {obj["metadata"]["resourceVersion"] for _, obj in frames} == {str(world.store.revision)}

    tell(story)


def test_who_asks_for_no_bookmarks_is_woken_by_what_happens_alone():
    async def story(world: ApiWorld) -> None:
        first = await world.create(CONFIG_MAPS, config_map("a"))
        pieces, reader = await _pieces(world, first.version), Life("reader")

        async def next_piece() -> bytes:
            return await anext(pieces)

        waiting = asyncio.get_running_loop().create_task(next_piece(), context=reader.context())
        await asyncio.sleep(1)
        steps = reader.steps
        await asyncio.sleep(1_200)
        assert reader.steps == steps
        await world.create(CONFIG_MAPS, config_map("b"))
        assert _names(await waiting) == ["b"]
        await pieces.aclose()

    tell(story)


def test_a_watch_from_a_forgotten_revision_says_that_it_is_gone():
    async def story(world: ApiWorld) -> None:
        await _make(world, "a", "b", "c")
        world.store.compact(world.store.revision)
        ((kind, status),) = await world.watch(CONFIG_MAPS, 9, resourceVersion="1")
        assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")

    tell(story)


def test_what_is_ready_together_is_one_piece_and_the_same_one_for_all_who_watch_alike():
    async def story(world: ApiWorld) -> None:
        first = await world.create(CONFIG_MAPS, config_map("a"))
        opened = [await _pieces(world, first.version) for _ in range(2)]
        waiting = [asyncio.ensure_future(anext(pieces)) for pieces in opened]
        await asyncio.gather(*(world.create(CONFIG_MAPS, config_map(name)) for name in ("b", "c", "d")))
        one, other = [await piece for piece in waiting]
        assert _names(one) == ["b", "c", "d"]
        assert one is other
        for pieces in opened:
            await pieces.aclose()

    tell(story)


def test_those_who_watch_in_another_way_get_pieces_of_their_own():
    async def story(world: ApiWorld) -> None:
        await _make(world, "a", "b")
        everything = await _pieces(world, "1")
        selecting = await _pieces(world, "1", labelSelector="even=true")
        elsewhere = await _pieces(world, "1", path="/api/v1/configmaps", fieldSelector="metadata.name=a")
        table = await _pieces(world, "1", accept=TABLE)
        assert _names(await anext(everything)) == ["a", "b"]
        assert _names(await anext(selecting)) == ["b"]
        assert _names(await anext(elsewhere)) == ["a"]
        assert b'"columnDefinitions":[' in await anext(table)
        for pieces in (everything, selecting, elsewhere, table):
            await pieces.aclose()

    tell(story)


def test_a_large_state_comes_in_pieces():
    async def story(world: ApiWorld) -> None:
        for number in range(5):
            await world.create(CONFIG_MAPS, {**config_map(f"a{number}"), "data": {"text": "x" * 100_000}})
        pieces = await _pieces(world, "")
        assert [_names(await anext(pieces)) for _ in range(2)] == [["a0", "a1", "a2"], ["a3", "a4"]]
        await pieces.aclose()

    tell(story)


def test_only_the_newest_pieces_are_kept_for_others():
    shared = SharedPieces(limit_bytes=25)
    view = View("//pods/", "v1", "Pod", "", "object", "v1", "", "", None)
    for number in range(3):
        shared.keep((view, number, number), b"%d" % number * 10)
    found = [shared.find((view, number, number)) for number in range(3)]
    assert found == [None, b"1" * 10, b"2" * 10]


async def _pieces(
    world: ApiWorld, version: str, path: str = CONFIG_MAPS, accept: str = "application/json", **query: str
) -> AsyncGenerator[bytes, None]:
    asked = {"watch": "true", "resourceVersion": version, **query}
    answer = await world.server.handle(Request("GET", path, asked, {"accept": accept}), ADMIN)
    assert isinstance(answer, StreamResponse)
    return cast(AsyncGenerator[bytes, None], answer.lines)


def _names(piece: bytes) -> list[str]:
    return [json.loads(line)["object"]["metadata"]["name"] for line in piece.splitlines()]


def test_built_in_list_items_leave_out_what_the_list_says():
    async def story(world: ApiWorld) -> None:
        await _make(world, "a")
        page = (await world.get(CONFIG_MAPS)).body
        assert (page["kind"], page["apiVersion"]) == ("ConfigMapList", "v1")
        assert "kind" not in page["items"][0]

    tell(story)
