"""Choices of a field, by the path that a decoding error names."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

import msgspec
import pytest

from kubeapi.choices import choices_of, fields_of, path_of


class Color(StrEnum):
    RED = "Red"
    BLUE = "Blue"


class Leaf(msgspec.Struct, rename="camel"):
    leaf_color: Color | None = None
    size: Annotated[Literal["", "Small"], msgspec.Meta(title="size")] = ""
    count: int = 0


class Tree(msgspec.Struct, rename="camel"):
    leaves: tuple[Leaf, ...] = ()
    by_name: Mapping[str, Leaf] = {}


WRONG: list[tuple[object, list[str | int], list[str]]] = [
    ({"leaves": [{}, {"leafColor": "Green"}]}, ["leaves", 1, "leafColor"], ["Red", "Blue"]),
    ({"leaves": [{"size": "Large"}]}, ["leaves", 0, "size"], ["", "Small"]),
    ({"byName": {"a.b": {"leafColor": "Green"}}}, ["byName", "...", "leafColor"], ["Red", "Blue"]),
    ({"leaves": [{"count": "x"}]}, ["leaves", 0, "count"], []),
]


@pytest.mark.parametrize(("value", "path", "choices"), WRONG)
def test_the_field_that_an_error_names_has_these_choices(
    value: object, path: list[str | int], choices: list[str]
) -> None:
    with pytest.raises(msgspec.ValidationError) as error:
        msgspec.convert(value, Tree)
    found = path_of(str(error.value).partition("`$")[2].rstrip("`"))
    assert found == path
    assert choices_of(Tree, found) == choices


def test_a_struct_has_these_fields() -> None:
    assert fields_of(Tree, []) == ["leaves", "byName"]
    assert fields_of(Tree, ["leaves", 0]) == ["leafColor", "size", "count"]
    assert fields_of(Tree, ["leaves", 0, "count"]) == []
