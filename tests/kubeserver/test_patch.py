"""Merge patch and JSON patch, with the examples of their documents."""

import json
from pathlib import Path
from typing import Any

import pytest

from kubeapi import jsonpatch
from kubeapi.diff import is_equal
from kubeserver.patch import merge, strategic
from kubeserver.patch.apply import typed
from kubeserver.structures.structure import Structure

RECORDED = Path("tests/data/jsonpatch/answers.jsonl")
RFC_7396: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]

RFC_6902: list[tuple[Any, Any, Any]] = [
    ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux"}], {"baz": "qux", "foo": "bar"}),
    ({"foo": ["bar", "baz"]}, [{"op": "add", "path": "/foo/1", "value": "qux"}], {"foo": ["bar", "qux", "baz"]}),
    ({"baz": "qux", "foo": "bar"}, [{"op": "remove", "path": "/baz"}], {"foo": "bar"}),
    ({"foo": ["bar", "qux", "baz"]}, [{"op": "remove", "path": "/foo/1"}], {"foo": ["bar", "baz"]}),
    ({"baz": "qux"}, [{"op": "replace", "path": "/baz", "value": "boo"}], {"baz": "boo"}),
    (
        {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
        [{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}],
        {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
    ),
    (
        {"foo": ["all", "grass", "cows", "eat"]},
        [{"op": "move", "from": "/foo/1", "path": "/foo/3"}],
        {"foo": ["all", "cows", "eat", "grass"]},
    ),
    (
        {"baz": "qux", "foo": ["a", 2, "c"]},
        [{"op": "test", "path": "/baz", "value": "qux"}, {"op": "test", "path": "/foo/1", "value": 2.0}],
        {"baz": "qux", "foo": ["a", 2, "c"]},
    ),
    ({"foo": "bar"}, [{"op": "add", "path": "/child", "value": {"g": {}}}], {"foo": "bar", "child": {"g": {}}}),
    ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}], {"foo": "bar", "baz": "qux"}),
    ({"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": 10}], {"/": 9, "~1": 10}),
    ({"foo": ["bar"]}, [{"op": "add", "path": "/foo/-", "value": ["abc"]}], {"foo": ["bar", ["abc"]]}),
    ({"a": {"b": 1}}, [{"op": "copy", "from": "/a", "path": "/c"}], {"a": {"b": 1}, "c": {"b": 1}}),
    ({"a": 1}, [{"op": "replace", "path": "", "value": {"b": 2}}], {"b": 2}),
    ({"a": 1}, [{"op": "replace", "path": "/a", "value": None}], {"a": None}),
    ({"a": 1}, [{"op": "replace", "path": "/b", "value": 2}], {"a": 1, "b": 2}),
    ({"a": 1}, [{"op": "add", "path": "/b"}], {"a": 1, "b": None}),
    ({"a": 1}, [{"op": "test", "path": "/b", "value": None}], {"a": 1}),
    ({"a": 1}, [{"op": "copy", "from": "/b", "path": "/c"}], {"a": 1, "c": None}),
    ({"": 1}, [{"op": "remove", "path": "/"}], {}),
    ({"a": 1}, [{"op": "move", "from": "/a", "path": "/a"}], {"a": 1}),
    ({"a": [{"b": 1}]}, [{"op": "add", "path": "/a/0/c", "value": 2}], {"a": [{"b": 1, "c": 2}]}),
]

REFUSED: list[tuple[Any, str]] = [
    ({"op": "add"}, "a JSON patch is a list of operations"),
    (["add"], "operation 0: is not an object"),
    ([{"path": "/a"}], r"operation 0 \(None /a\): has no op"),
    ([{"op": "increment", "path": "/a"}], "unknown op; known are add, remove, replace, move, copy, test"),
    ([{"op": "remove", "path": "/a"}, {"op": "remove", "path": "/a"}], r"operation 1 \(remove /a\): /a does not exist"),
    ([{"op": "add", "path": "a", "value": 1}], "the path 'a' has no /"),
    ([{"op": "add", "path": "/b/c", "value": 1}], "/b does not exist"),
    ([{"op": "add", "path": "/a/b", "value": 1}], "parent of the path is neither"),
    ([{"op": "add", "path": "/l/3", "value": 1}], "outside of the list: 3"),
    ([{"op": "add", "path": "/l/1.0", "value": 1}], "no index of a list: '1.0'"),
    ([{"op": "add", "path": "/l/-4", "value": 1}], "outside of the list: -4"),
    ([{"op": "remove", "path": "/l/2"}], "/l/2 is outside of the list: 2"),
    ([{"op": "remove", "path": "/l/-"}], "no index of a list"),
    ([{"op": "remove", "path": ""}], "whole document cannot be removed"),
    ([{"op": "replace", "path": "/b/c", "value": 1}], "/b does not exist"),
    ([{"op": "test", "path": "/a", "value": True}], "the value is another one"),
    ([{"op": "copy", "path": "/b"}], "has no from"),
    ([{"op": "move", "from": "/d", "path": "/d/e"}], "cannot be moved into itself"),
]


def test_a_json_patch_does_what_json_patch_v4_of_kube_apiserver_1_36_does() -> None:
    """tests/data/jsonpatch: negative indices, `00`, `+1`, paths without a leading slash, missing places."""
    wrong: list[tuple[Any, Any, Any]] = []
    for document, patch, expected, _ in map(json.loads, RECORDED.read_text().splitlines()):
        try:
            result = jsonpatch.apply(document, patch)
        except ValueError:
            result = None
        if not is_equal(result, expected):
            wrong.append((patch, result, expected))
    assert wrong == []


@pytest.mark.parametrize(("target", "patch", "expected"), RFC_7396)
def test_merge_patch_does_what_rfc_7396_shows(target: Any, patch: Any, expected: Any) -> None:
    assert merge.apply(target, patch) == expected


def test_merge_patch_leaves_its_arguments_alone() -> None:
    target = {"a": {"b": 1}, "c": {"d": 1}}
    patched = merge.apply(target, {"a": {"b": 2}})
    assert target == {"a": {"b": 1}, "c": {"d": 1}}
    assert patched["c"] is target["c"]


def test_a_merge_patch_drops_nulls_in_what_it_replaces_also_within_lists() -> None:
    assert merge.apply({"a": 1}, {"a": [{"b": None, "c": 1}, None]}) == {"a": [{"c": 1}]}


def test_a_merge_patch_that_is_too_deep_is_refused() -> None:
    patch: dict[str, Any] = {}
    for _ in range(100_000):
        patch = {"a": patch}
    with pytest.raises(ValueError, match="nested too deeply"):
        merge.apply({}, patch)


@pytest.mark.parametrize(("target", "operations", "expected"), RFC_6902)
def test_json_patch_does_what_rfc_6902_shows(target: Any, operations: Any, expected: Any) -> None:
    before = repr(target)
    assert jsonpatch.apply(target, operations) == expected
    assert repr(target) == before


@pytest.mark.parametrize(("operations", "message"), REFUSED)
def test_a_wrong_operation_is_refused_by_its_number(operations: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        jsonpatch.apply({"a": 1, "l": [1, 2], "d": {"x": 1}}, operations)


def test_copies_of_copies_are_bounded() -> None:
    doubling = [{"op": "copy", "from": "", "path": f"/c{n}"} for n in range(64)]
    with pytest.raises(ValueError, match="copies more than 3145728 bytes"):
        jsonpatch.apply({"a": "x" * 100}, doubling)


def test_many_steps_cost_no_more_than_what_they_change() -> None:
    """Each of these took minutes when every step looked at, or copied, all of the document."""
    many = {f"k{number}": number for number in range(200_000)}
    steps = [{"op": "replace", "path": "/data/k0", "value": number} for number in range(jsonpatch.MAX_OPERATIONS)]
    assert jsonpatch.apply({"data": many}, steps)["data"]["k0"] == jsonpatch.MAX_OPERATIONS - 1
    ports = [{"port": number, "name": str(number)} for number in range(30_000)]
    moved = [{**port, "name": "x"} for port in reversed(ports)]
    patched = strategic.apply({"spec": {"ports": ports}}, {"spec": {"ports": moved}}, "v1", "Service")
    assert patched["spec"]["ports"] == moved
    gone = [{"port": port["port"], "$patch": "delete"} for port in ports]
    assert strategic.apply({"spec": {"ports": ports}}, {"spec": {"ports": gone}}, "v1", "Service") == {
        "spec": {"ports": []}
    }
    names = Structure("list", element=Structure("scalar", "string"))
    wanted = [f"n{number}" for number in range(30_000)]
    assert typed.merge(names, ["a", *reversed(wanted)], wanted) == ["a", *wanted]
