"""Merge patches and JSON patches: what they turn one object into, told by the API server's own patching."""

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from kubeapi import jsonpatch
from kubeapi.diff import is_equal, is_one_of, json_patch, merge_patch, status_patch
from kubeapi.meta import Manifest, Object
from kubeserver.patch import merge

SCALARS = st.integers(0, 3) | st.booleans() | st.sampled_from([0.0, 1.0, 1.5]) | st.text("ab", max_size=2)
KEYS = st.sampled_from("abc")


class Replica(Object, frozen=True):
    node_name: str


class Progress(Object, frozen=True):
    observed_generation: int = 0
    replicas: tuple[Replica, ...] = ()


def manifests(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    values = st.recursive(
        leaves | st.lists(SCALARS, max_size=2), lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
    )
    return st.dictionaries(KEYS, values, max_size=3)


def without_nulls(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: without_nulls(inner) for key, inner in cast(Manifest, value).items() if inner is not None}


@given(manifests(SCALARS), manifests(SCALARS))
def test_applying_the_patch_gives_the_target(old: dict[str, Any], new: dict[str, Any]) -> None:
    patch = merge_patch(old, new)
    assert merge.apply(old, patch) == new
    assert bool(patch) == (old != new)


@given(manifests(SCALARS), manifests(SCALARS | st.none()))
def test_a_null_in_the_target_is_an_absence_and_is_not_asked_for_twice(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    result = merge.apply(old, merge_patch(old, new))
    assert result == without_nulls(new)
    assert merge_patch(result, new) == {}


def test_a_status_is_patched_field_by_field() -> None:
    old = Progress(observed_generation=1)
    new = Progress(replicas=(Replica("node-1"),))
    assert status_patch(old, old) == {}
    assert status_patch(old, new) == {"status": {"observedGeneration": None, "replicas": [{"nodeName": "node-1"}]}}


@given(manifests(SCALARS), manifests(SCALARS))
def test_applying_the_json_patch_gives_the_target(old: dict[str, Any], new: dict[str, Any]) -> None:
    operations = json_patch(old, new)
    assert jsonpatch.apply(old, operations) == new
    assert bool(operations) == (old != new)


def test_a_json_patch_points_to_keys_with_slashes_and_tildes() -> None:
    old, new = {"labels": {"a/b": "1"}}, {"labels": {"a/b": "2", "c~d": "3"}}
    assert jsonpatch.apply(old, json_patch(old, new)) == new


def spelled(value: Any) -> str:
    """Text that says the JSON types of all of a value; a whole number is one however it was written."""
    match value:
        case dict():
            return repr(sorted((key, spelled(item)) for key, item in cast(Manifest, value).items()))
        case list():
            return repr([spelled(item) for item in cast(list[Any], value)])
        case float() if value.is_integer():
            return repr(int(value))
        case _:
            return repr(value)


@given(manifests(SCALARS), manifests(SCALARS))
def test_equal_are_those_that_json_writes_alike(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert is_equal(one, other) == (spelled(one) == spelled(other))
    assert is_one_of(one, [other]) == is_equal(one, other)


@given(manifests(SCALARS))
def test_a_number_that_becomes_a_boolean_is_a_change_wherever_it_stands(old: dict[str, Any]) -> None:
    """JSON (RFC 8259) has numbers and booleans as different types. Python holds 1 and True for equal."""

    def swapped(value: Any) -> Any:
        match value:
            case dict():
                return {key: swapped(item) for key, item in cast(Manifest, value).items()}
            case list():
                return [swapped(item) for item in cast(list[Any], value)]
            case bool():
                return int(value)
            case 0 | 1:
                return bool(value)
            case _:
                return value

    new = swapped(old)
    if spelled(new) == spelled(old):
        return
    assert old == new
    assert not is_equal(old, new)
    assert spelled(merge.apply(old, merge_patch(old, new))) == spelled(new)
    assert spelled(jsonpatch.apply(old, json_patch(old, new))) == spelled(new)
